#include "recon/field_map/field_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <queue>
#include <utility>

#include "recon/array/linear_operator.hpp"
#include "recon/domain/geometry.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

using Images = std::vector<const Array<Complex<float>>*>;
constexpr double turn = 2 * std::numbers::pi;
constexpr double object_share = 1e-2;  ///< of the largest weight: |rho| above a tenth of the largest

/// f(neighbour) of the voxels beside voxel p.
template <class Function>
void for_each_neighbour(const Shape& shape, std::int64_t p, const Function& f) {
  std::int64_t stride = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const std::int64_t n = shape[axis], at = p / stride % n;
    if (at > 0) f(p - stride);
    if (at + 1 < n) f(p + stride);
    stride *= n;
  }
}

/// Returns W + length^4 sum over axes of D2^T D2.
std::shared_ptr<const HermitianOperator<double>> smoothing(const Array<double>& weights, double length) {
  const auto apply = [&weights, factor = std::pow(length, 4)](const auto& in, auto& out) {
    const Shape& shape = weights.shape();
    for (std::int64_t p = 0; p < in.size(); ++p) out[p] = weights[p] * in[p];
    std::int64_t stride = 1;
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t n = shape[axis];
      for (std::int64_t p = 0; p < in.size(); ++p) {
        const std::int64_t at = p / stride % n;
        if (at == 0 || at + 1 >= n) continue;
        const double bend = factor * (in[p - stride].re - 2 * in[p].re + in[p + stride].re);
        out[p - stride].re += bend, out[p].re -= 2 * bend, out[p + stride].re += bend;
      }
      stride *= n;
    }
  };
  return hermitian_operator<double>(weights.shape(), Device::cpu(), apply);
}

/// Weighted means of pairs of voxels along every axis of eight or more, and the means of the weights.
void make_coarse(Array<double>& values, Array<double>& weights) {
  const Shape fine = weights.shape();
  std::array<std::int64_t, 3> factor{}, n{};
  for (int axis = 0; axis < 3; ++axis) {
    factor[axis] = fine[axis] >= 8 ? 2 : 1;
    n[axis] = (fine[axis] + factor[axis] - 1) / factor[axis];
  }
  Array<double> sums({n[0], n[1], n[2]}), means({n[0], n[1], n[2]});
  std::int64_t p = 0;
  for (std::int64_t z = 0; z < fine[0]; ++z)
    for (std::int64_t y = 0; y < fine[1]; ++y)
      for (std::int64_t x = 0; x < fine[2]; ++x, ++p) {
        const auto at = (z / factor[0] * n[1] + y / factor[1]) * n[2] + x / factor[2];
        sums[at] += weights[p] * values[p];
        means[at] += weights[p];
      }
  for (p = 0; p < means.size(); ++p) {
    sums[p] = means[p] > 0 ? sums[p] / means[p] : 0;
    means[p] /= static_cast<double>(factor[0] * factor[1] * factor[2]);
  }
  values = std::move(sums), weights = std::move(means);
}

/// Values of make_coarse at the voxels that they are made of, linear between them.
Array<Complex<double>> made_fine(const Array<double>& coarse, const Shape& shape) {
  const auto place = [&](int axis, std::int64_t i) {
    return shape[axis] == coarse.extent(axis) ? double(i) : (double(i) - 0.5) / 2;
  };
  Array<Complex<double>> fine(shape);
  auto* to = fine.data();
  for (std::int64_t z = 0; z < shape[0]; ++z)
    for (std::int64_t y = 0; y < shape[1]; ++y)
      for (std::int64_t x = 0; x < shape[2]; ++x)
        *to++ = {interpolated(coarse, {place(2, x), place(1, y), place(0, z)}), 0};
  return fine;
}

/// The minimum over omega: from that of half as many voxels on every axis, which tells what is smooth. Far from signal
/// conjugate gradient alone would take as many iterations as an axis has voxels, squared.
Array<double> smoothed(const Array<double>& values, const Array<double>& weights, double length) {
  const Shape& shape = values.shape();
  Array<Complex<double>> solution(shape), right_hand_side(shape);
  if (std::max({shape[0], shape[1], shape[2]}) >= 8) {
    auto fewer_values = values, fewer_weights = weights;
    make_coarse(fewer_values, fewer_weights);
    solution = made_fine(smoothed(fewer_values, fewer_weights, length / 2), shape);
  }
  for (std::int64_t p = 0; p < values.size(); ++p) right_hand_side[p] = {weights[p] * values[p], 0};
  ConjugateGradientSettings settings;
  settings.iterations = 100;
  settings.tolerance = 1e-6;
  settings.kept_residuals = 0;
  conjugate_gradient(*smoothing(weights, length), right_hand_side, solution, settings);
  Array<double> result(shape);
  for (std::int64_t p = 0; p < values.size(); ++p) result[p] = solution[p].re;
  return result;
}

/// -arg(conj(a) b), and the inverse of its variance in units of the noise.
struct PhaseStep {
  Array<double> phase, weight;
};
PhaseStep phase_step(const Array<Complex<float>>& a, const Array<Complex<float>>& b) {
  PhaseStep step{Array<double>(a.shape()), Array<double>(a.shape())};
  for (std::int64_t p = 0; p < a.size(); ++p) {
    const Complex<double> from(a[p]), to(b[p]), product = conj(from) * to;
    const double sum = norm(from) + norm(to);
    step.phase[p] = -std::atan2(product.im, product.re);
    step.weight[p] = sum > 0 ? norm(from) * norm(to) / sum : 0;
  }
  return step;
}

/// `phase` brought within half a turn of `expected`.
double nearest_turn(double phase, double expected) {
  return phase + turn * std::round((expected - phase) / turn);
}

void require_echoes(const Images& images, const std::vector<double>& times) {
  const auto text = [](double s) { return std::to_string(s * 1e3) + " ms"; };
  if (times.size() != images.size())
    throw Error("echo times", "one for each of the " + std::to_string(images.size()) + " echoes",
                std::to_string(times.size()));
  if (images.size() < 2)
    throw Error("echoes", "two or more, at different times", std::to_string(images.size()));
  for (std::size_t e = 0; e < times.size(); ++e) {
    if (e > 0 && !(times[e] - times[e - 1] > 1e-6))
      throw Error("echo times", "each later than the one before",
                  text(times[e - 1]) + ", then " + text(times[e]));
    require_shape(*images[e], images[0]->shape(), "image of an echo");
  }
}

/// Divides the weights by their mean over the object.
void normalise(Array<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0, count = 0;
  for (const double w : weights)
    if (w > object_share * largest) sum += w, ++count;
  if (!(sum > 0) || !std::isfinite(sum))
    throw Error("images of the echoes", "values that are finite and not all zero", "others");
  for (double& w : weights) w *= count / sum;
}

/// omega^ and its weights, from phases whose turns `expected`, rad/s, tells.
PhaseStep fitted(const Images& images, const std::vector<double>& times, const Array<double>& expected) {
  PhaseStep fit{Array<double>(expected.shape()), Array<double>(expected.shape())};
  for (std::size_t e = 1; e < images.size(); ++e) {
    const double t = times[e] - times[0];
    const auto step = phase_step(*images[0], *images[e]);
    for (std::int64_t p = 0; p < expected.size(); ++p) {
      fit.phase[p] += step.weight[p] * t * nearest_turn(step.phase[p], expected[p] * t);
      fit.weight[p] += step.weight[p] * t * t;
    }
  }
  for (std::int64_t p = 0; p < expected.size(); ++p)
    fit.phase[p] = fit.weight[p] > 0 ? fit.phase[p] / fit.weight[p] : 0;
  normalise(fit.weight);
  return fit;
}

}  // namespace

void unwrap(Array<double>& phase, const Array<double>& weight) {
  const Shape& shape = phase.shape();
  std::vector<bool> is_done(phase.size());
  std::priority_queue<std::pair<double, std::pair<std::int64_t, std::int64_t>>>
      front;  // weight, voxel, from where
  const auto seed = std::max_element(weight.begin(), weight.end()) - weight.begin();
  front.push({weight[seed], {seed, seed}});
  while (!front.empty()) {
    const auto [voxel, from] = front.top().second;
    front.pop();
    if (is_done[voxel]) continue;
    is_done[voxel] = true;
    phase[voxel] = nearest_turn(phase[voxel], phase[from]);
    for_each_neighbour(shape, voxel, [&, at = voxel](std::int64_t neighbour) {
      if (!is_done[neighbour]) front.push({weight[neighbour], {neighbour, at}});
    });
  }
  // Counts all voxels of the object alike: a bright rim at one end of the field would pull the median.
  std::vector<double> of_object;
  for (std::int64_t p = 0; p < phase.size(); ++p)
    if (weight[p] >= object_share * weight[seed]) of_object.push_back(phase[p]);
  const auto middle = of_object.begin() + static_cast<std::ptrdiff_t>(of_object.size() / 2);
  std::nth_element(of_object.begin(), middle, of_object.end());
  const double turns = turn * std::round(*middle / turn);
  for (double& value : phase) value -= turns;
}

Array<float> field_map_of_echoes(const Images& images, const std::vector<double>& times, double length) {
  require_echoes(images, times);
  if (!(length >= 0 && length <= 100))
    throw Error("smoothing length of the field map", "0 ... 100 voxels", std::to_string(length));
  std::size_t nearest = 1;
  for (std::size_t e = 2; e < times.size(); ++e)
    if (times[e] - times[e - 1] < times[nearest] - times[nearest - 1]) nearest = e;
  auto first = phase_step(*images[nearest - 1], *images[nearest]);
  normalise(first.weight);
  unwrap(first.phase, first.weight);
  for (double& value : first.phase) value /= times[nearest] - times[nearest - 1];
  Array<double> omega = smoothed(first.phase, first.weight, length);
  PhaseStep fit;
  for (int pass = 0; pass < 2; ++pass) {  // the smooth map tells the turns of voxels that noise has turned
    fit = fitted(images, times, omega);
    omega = smoothed(fit.phase, fit.weight, length);
  }
  double lowest = INFINITY, highest = -INFINITY;
  const double largest = *std::max_element(fit.weight.begin(), fit.weight.end());
  for (std::int64_t p = 0; p < omega.size(); ++p)
    if (fit.weight[p] > object_share * largest)
      lowest = std::min(lowest, omega[p]), highest = std::max(highest, omega[p]);
  Array<float> result(omega.shape());
  for (std::int64_t p = 0; p < omega.size(); ++p)
    result[p] = static_cast<float>(std::clamp(omega[p], lowest, highest));
  return result;
}

}  // namespace fhd
