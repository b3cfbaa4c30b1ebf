#include "validation/verdict/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "validation/verdict/data_findings.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;
using Index = std::int64_t;

template <class T>
Value value_of(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

/// Outer radii of the shells: 1 at the middle of a face of k-space.
constexpr std::array<double, 6> shell_radii{1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};

/// Residual up to this factor of the noise in a shell counts as noise: the estimate is uncertain, and at the edge of
/// k-space maps of voxels are not those of tissue.
constexpr double noise_tolerance = 1.2;

/// Returns the volume of k-space, in voxels (1 cycle/FOV along every axis of more than one voxel), inside the ellipsoid of
/// this normalised radius, cut at the box |k| <= N/2.
double cells_within(double radius, const std::array<int, 3>& matrix_size) {
  constexpr double unit_ball[] = {1, 2, std::numbers::pi, 4 * std::numbers::pi / 3};
  int axes = 0;
  double box = 1;
  for (const int n : matrix_size)
    if (n > 1) ++axes, box *= n;
  return std::min(box, unit_ball[axes] * std::pow(radius / 2, axes) * box);
}

double positive(double x) { return x > 0 ? x : 1; }

/// |d|^2, |r|^2, |p|^2 and <p, r> of some samples.
struct Energies {
  double data = 0, rest = 0, prediction = 0, count = 0;
  Value product;
  void add(const Value& d, const Value& p) {
    const Value r = d - p;
    data += std::norm(d), rest += std::norm(r), prediction += std::norm(p), ++count;
    product += std::conj(p) * r;
  }
  Energies& operator+=(const Energies& other) {
    data += other.data, rest += other.rest, prediction += other.prediction, count += other.count;
    product += other.product;
    return *this;
  }
  double shrinkage = 0;  ///< of |r|^2, explained by what lambda takes off the image (take_off_shrinkage)
  /// |r|^2 without what one factor of p explains: lambda makes the image a little darker than the data.
  double rest_of_shape() const {
    const double dimming = prediction > 0 ? std::norm(product) / prediction : 0;
    return std::max(0.0, rest - std::max(dimming, shrinkage));
  }
};

/// <p, r>, |p|^2, |r|^2 and the number of samples of one readout or one coil.
struct Gain {
  Value product;
  double prediction = 0, rest = 0, count = 0;
  Gain& operator+=(const Gain& other) {
    product += other.product, prediction += other.prediction, rest += other.rest, count += other.count;
    return *this;
  }
};

/// Returns the times of the samples, s, about their mean; without sample times the share of the readout behind a sample.
template <class T>
std::vector<double> times(const VerifierInput<T>& e, const std::vector<Index>& starts) {
  const Index samples = e.trajectory.sample_count();
  std::vector<double> time(static_cast<std::size_t>(samples));
  double mean = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (Index m = starts[j]; m < starts[j + 1]; ++m) {
      auto& t = time[static_cast<std::size_t>(m)];
      t = e.sample_time_s
              ? (*e.sample_time_s)[m]
              : static_cast<double>(m - starts[j]) / static_cast<double>(starts[j + 1] - starts[j]);
      mean += t / static_cast<double>(samples);
    }
  for (double& t : time) t -= mean;
  return time;
}

/// Measures border, air and centre of the image.
template <class T>
void look_at_image(const VerifierInput<T>& e, Verdict& v) {
  const auto& n = e.matrix_size;
  const Index voxels = Index{n[0]} * n[1] * n[2];
  const auto power = [&](Index p) {  // of all sets of maps
    double sum = 0;
    for (Index i = p; i < e.image.size(); i += voxels) sum += std::norm(value_of(e.image[i]));
    return sum;
  };
  const auto is_end = [](Index at, int length) { return length > 1 && (at == 0 || at == length - 1); };
  const auto is_near = [](Index at, int length) { return std::abs(at - length / 2) < 2; };
  double all = 0, border = 0, at_border = 0, elsewhere = 0;  // elsewhere: the largest away from the centre
#pragma omp parallel for schedule(static) reduction(+ : all, border, at_border) reduction(max : elsewhere)
  for (Index row = 0; row < Index{n[1]} * n[2]; ++row) {
    const Index y = row % n[1], z = row / n[1];
    const bool edge = is_end(y, n[1]) || is_end(z, n[2]), near = is_near(y, n[1]) && is_near(z, n[2]);
    for (Index x = 0; x < n[0]; ++x) {
      const double of = power(row * n[0] + x);
      all += of;
      if (edge || is_end(x, n[0])) border += of, ++at_border;
      if (!(near && is_near(x, n[0]))) elsewhere = std::max(elsewhere, of);
    }
  }
  const double mean = positive(all / static_cast<double>(voxels));
  v.border = std::sqrt(border / positive(at_border) / mean);
  const double centre = power((Index{n[2] / 2} * n[1] + n[1] / 2) * n[0] + n[0] / 2);
  v.centre = elsewhere > 0 ? std::sqrt(centre / elsewhere) : 0;
  std::vector<double> some;  // the darkest tenth of a hundred thousand voxels is that of all
  for (Index p = 0; p < voxels; p += 1 + voxels / 100'000) some.push_back(power(p));
  const auto tenth = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 10);
  std::nth_element(some.begin(), tenth, some.end());
  const double air = std::accumulate(some.begin(), tenth, 0.0);
  v.air = std::sqrt(air / positive(static_cast<double>(tenth - some.begin())) / mean);
}

template <class T>
class Judge {
 public:
  explicit Judge(const VerifierInput<T>& input)
      : e_(input), samples_(input.trajectory.sample_count()), coils_(input.coil_count) {}

  Verdict operator()() {
    Verdict v;
    shell_of_.resize(static_cast<std::size_t>(samples_));
    for (Index m = 0; m < samples_; ++m) shell_of_[static_cast<std::size_t>(m)] = shell(m);
    starts_ = readout_starts(e_.trajectory);
    sum_up();
    weigh_shells(v);
    if (v.unexplained > unexplained_limit / 2 && e_.encode && e_.maps != nullptr) {
      take_off_shrinkage();
      weigh_shells(v);
    }
    divide_by_readouts(v);
    v.offset = offset();
    if (const double share = v.offset * v.offset * total_.data / positive(total_.rest); share > 0.1)
      v.changes.push_back(
          {"offset",
           fmt::format("a constant offset of the receiver of {:.2g} % of the signal", 100 * v.offset),
           100 * v.offset, 0, "%", std::min(1.0, share)});
    compare_gains(v);
    if (total_.rest > 0 && e_.encode) try_changes(v);
    for (auto& finding : findings_in_data(e_, starts_, v)) v.changes.push_back(std::move(finding));
    look_at_image(e_, v);
    return v;
  }

 private:
  Value data(Index coil, Index m) const {
    const Index i = coil * samples_ + m;
    return e_.sample_scale *
           (e_.samples_in_double ? value_of(e_.samples_in_double[i]) : value_of(e_.samples[i]));
  }
  Value rest(Index coil, Index m) const {
    return data(coil, m) - value_of(e_.predicted[coil * samples_ + m]);
  }
  double k(int axis, Index m) const { return e_.trajectory.k[axis * samples_ + m]; }
  bool is_long(int axis) const { return e_.matrix_size[static_cast<std::size_t>(axis)] > 1; }

  std::uint8_t shell(Index m) const {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (is_long(axis))
        square += std::pow(2 * k(axis, m) / e_.matrix_size[static_cast<std::size_t>(axis)], 2);
    const auto found = std::lower_bound(shell_radii.begin(), shell_radii.end() - 1, std::sqrt(square));
    return static_cast<std::uint8_t>(found - shell_radii.begin());
  }

  void sum_up() {
    of_coils_.resize(static_cast<std::size_t>(coils_));
    std::vector<std::array<Energies, shell_radii.size()>> of_shells(of_coils_.size());
    readout_gains_.resize(starts_.size() - 1);
    coil_gains_.resize(of_coils_.size());
    std::vector<std::vector<Gain>> of_readouts(of_coils_.size(), std::vector<Gain>(readout_gains_.size()));
#pragma omp parallel for schedule(static)
    for (Index coil = 0; coil < coils_; ++coil) {
      const auto c = static_cast<std::size_t>(coil);
      for (std::size_t j = 0; j + 1 < starts_.size(); ++j) {
        Gain& gain = of_readouts[c][j];
        for (Index m = starts_[j]; m < starts_[j + 1]; ++m) {
          const Value d = data(coil, m), p = value_of(e_.predicted[coil * samples_ + m]);
          of_shells[c][shell_of_[static_cast<std::size_t>(m)]].add(d, p);
          gain += {std::conj(p) * (d - p), std::norm(p), std::norm(d - p), 1};
        }
      }
    }
    for (std::size_t c = 0; c < of_coils_.size(); ++c) {
      for (std::size_t j = 0; j < readout_gains_.size(); ++j)
        for (Gain* to : {&readout_gains_[j], &coil_gains_[c]}) *to += of_readouts[c][j];
      for (std::size_t s = 0; s < shell_radii.size(); ++s)
        of_coils_[c] += of_shells[c][s], shells_[s] += of_shells[c][s];
      total_ += of_coils_[c];
    }
  }

  /// Returns the share of sum |d|^2 of one value in all samples of a coil, found where the object has little signal.
  double offset() const {
    double square = 0;
    for (Index coil = 0; coil < coils_; ++coil) {
      Value sum;
      double outer = 0;
      for (Index m = 0; m < samples_; ++m)
        if (shell_radii[shell_of_[static_cast<std::size_t>(m)]] >= 1) sum += data(coil, m), ++outer;
      square += std::norm(sum / positive(outer)) * static_cast<double>(samples_);
    }
    return std::sqrt(square / positive(total_.data));
  }

  Misfit misfit(double where, const Energies& of) const {
    return {where, of.data / positive(total_.data), std::sqrt(of.rest / positive(of.data)), 0, of.count};
  }

  /// Fills what is left over of at most 48 groups of readouts: enough for a picture.
  void divide_by_readouts(Verdict& v) const {
    constexpr std::size_t most = 48;
    const std::size_t count = readout_gains_.size(), group = (count + most - 1) / most;
    if (count < 2) return;
    v.readouts_per_group = static_cast<Index>(group);
    for (std::size_t first = 0; first < count; first += group) {
      Gain sum;
      for (std::size_t j = first; j < std::min(count, first + group); ++j) sum += readout_gains_[j];
      v.by_readout.push_back(
          std::sqrt(sum.rest / positive(sum.count) * total_.count / positive(total_.data)));
    }
  }

  /// Returns how many more values than unknowns a shell has; with few the shell says nothing.
  double freedom(std::size_t s) const {
    const double cells = cells_within(shell_radii[s], e_.matrix_size) -
                         (s > 0 ? cells_within(shell_radii[s - 1], e_.matrix_size) : 0);
    return shells_[s].count - std::min(cells, shells_[s].count);
  }
  /// Corners are left out: maps carry what is measured there beyond the edge of the matrix, and beyond.
  bool tells(std::size_t s) const {
    return shell_radii[s] <= 1 && freedom(s) >= std::max(32.0, (1 - 1 / 1.2) * shells_[s].count) &&
           shells_[s].data > 0;
  }

  /// lambda takes more off the image where the coils see little: nearly lambda rho / sum_c |S_c|^2. What of r lies
  /// along p and along v, the samples of that image, is no mistake of the model: shell by shell,
  /// |<p, r>|^2 / |p|^2 + |<v', r>|^2 / |v'|^2, v' = v - p <p, v> / |p|^2.
  void take_off_shrinkage() {
    const Index voxels = Index{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    std::vector<double> seen(static_cast<std::size_t>(e_.image.size()));
    const auto add_set = [&](const Complex<float>* maps, Index first) {
      for (Index coil = 0; coil < coils_; ++coil)
        for (Index p = 0; p < voxels; ++p)
          seen[static_cast<std::size_t>(first + p)] += std::norm(value_of(maps[coil * voxels + p]));
    };
    add_set(e_.maps, 0);
    if (e_.second_maps != nullptr) add_set(e_.second_maps, voxels);
    const double most = *std::max_element(seen.begin(), seen.end());
    const auto taken =
        encoded([&](Index p) { return most / std::max(seen[static_cast<std::size_t>(p)], 1e-3 * most); });
    struct Products {
      Value pv, vr;
      double vv = 0;
    };
    std::array<Products, shell_radii.size()> of_shells;
    for (Index coil = 0; coil < coils_; ++coil)
      for (Index m = 0; m < samples_; ++m) {
        auto& of = of_shells[shell_of_[static_cast<std::size_t>(m)]];
        const Value v = value_of(taken[coil * samples_ + m]), p = value_of(e_.predicted[coil * samples_ + m]);
        of.pv += std::conj(p) * v, of.vr += std::conj(v) * rest(coil, m), of.vv += std::norm(v);
      }
    for (std::size_t s = 0; s < shell_radii.size(); ++s) {
      auto& shell = shells_[s];
      const auto& [pv, vr, vv] = of_shells[s];
      if (shell.prediction <= 0 || vv <= 0) continue;
      const double left = vv - std::norm(pv) / shell.prediction;
      const Value onto = vr - std::conj(pv) / shell.prediction * shell.product;
      shell.shrinkage =
          std::norm(shell.product) / shell.prediction + (left > 1e-9 * vv ? std::norm(onto) / left : 0);
    }
  }

  void estimate_noise(Verdict& v) const {
    v.noise_variance = 0, v.noise_is_measured = false;
    if (e_.noise != nullptr && !e_.noise->empty()) {
      double sum = 0;
      for (const auto& n : *e_.noise) sum += std::norm(value_of(n));
      v.noise_variance = sum * e_.sample_scale * e_.sample_scale / static_cast<double>(e_.noise->size());
      v.noise_is_measured = true;
    }
    double least = std::numeric_limits<double>::infinity(), all = 0;
    for (std::size_t s = 0; s < shell_radii.size(); ++s) all += freedom(s);
    for (std::size_t s = 0; s < shell_radii.size(); ++s)
      if (tells(s) && freedom(s) > 0.1 * all)
        least = std::min(least, shells_[s].rest_of_shape() / freedom(s));
    if (least < (v.noise_is_measured ? v.noise_variance : std::numeric_limits<double>::infinity()))
      v.noise_variance = least, v.noise_is_measured = false;
  }

  void weigh_shells(Verdict& v) {
    estimate_noise(v);
    v.by_radius.clear(), v.by_coil.clear();
    double data = 0, above = 0, rest = 0, noise = 0, counted = 0;
    for (std::size_t s = 0; s < shell_radii.size(); ++s) {
      if (shells_[s].count == 0) continue;
      Misfit found = misfit(shell_radii[s], shells_[s]);
      if (tells(s)) {
        const double left = v.noise_variance * freedom(s), of_shape = shells_[s].rest_of_shape();
        if (left > 0) found.chi_squared = of_shape / left;
        data += shells_[s].data, rest += of_shape, noise += left, counted += shells_[s].count;
        const double beyond = std::max(0.0, of_shape - noise_tolerance * left);
        found.beyond_noise = std::sqrt(beyond / shells_[s].data);
        above += beyond;
      }
      v.by_radius.push_back(found);
    }
    for (std::size_t c = 0; c < of_coils_.size(); ++c) {
      v.by_coil.push_back(misfit(static_cast<double>(c), of_coils_[c]));
      if (noise > 0) v.by_coil[c].chi_squared = of_coils_[c].rest / (noise / counted * of_coils_[c].count);
    }
    v.tested = data / positive(total_.data);
    v.unexplained = std::sqrt(above / positive(data));
    for (std::size_t s = 0; s < shell_radii.size(); ++s)
      if (tells(s)) {  // where even the centre of k-space is not explained by half, it is no noise
        const double left = std::sqrt(shells_[s].rest_of_shape() / positive(shells_[s].data));
        if (!(left <= 0.5)) v.unexplained = std::max(v.unexplained, left);
        break;
      }
    v.chi_squared = noise > 0 ? rest / noise : 0;
    v.noise_share = std::sqrt(v.noise_variance * total_.count / positive(total_.data));
    if (!(rest == rest)) v.unexplained = rest;  // NaN, which max passes over
  }

  /// Shares of what is above the noise.
  double share(double explained, double parameters, const Verdict& v) const {
    return std::max(0.0, explained - parameters * v.noise_variance) / positive(total_.rest);
  }

  void compare_gains(Verdict& v) const {
    double amplitude = 0, phase = 0, coils = 0, a = 0, b = 0, weight = 0, largest = 0, count = 0;
    for (const Gain& g : readout_gains_) {
      if (g.prediction <= 0) continue;
      ++count, weight += g.prediction;
      amplitude += std::pow(g.product.real(), 2) / g.prediction;
      phase += std::pow(g.product.imag(), 2) / g.prediction;
    }
    a = std::sqrt(amplitude / positive(weight)), b = std::sqrt(phase / positive(weight));
    if (count > 1) {
      v.changes.push_back({"signal", fmt::format("the signal of the readouts differs by {:.2g} %", 100 * a),
                           100 * a, 0, "%", share(amplitude, count / 2, v)});
      const double degrees = b * 180 / std::numbers::pi;
      v.changes.push_back({"phase",
                           fmt::format("the phase of the readouts differs by {:.2g} degrees", degrees),
                           degrees, 0, "degrees", share(phase, count / 2, v)});
    }
    for (const Gain& g : coil_gains_) {
      if (g.prediction <= 0) continue;
      coils += std::norm(g.product) / g.prediction;
      largest = std::max(largest, std::abs(g.product) / g.prediction);
    }
    if (coil_gains_.size() > 1)
      v.changes.push_back({"gain", fmt::format("the gain of a coil differs by {:.2g} %", 100 * largest),
                           100 * largest, 0, "%", share(coils, 1, v)});
  }

  /// Re <v, r> and |v|^2 of v = weight(m) values(c, m).
  struct Projection {
    double onto = 0, square = 0;
  };
  template <class Weight>
  Projection project(const Array<Complex<T>>& values, const Weight& weight) const {
    double onto = 0, square = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(+ : onto, square)
    for (Index coil = 0; coil < coils_; ++coil)
      for (Index m = 0; m < samples_; ++m) {
        const Value v = weight(m) * value_of(values[coil * samples_ + m]), r = rest(coil, m);
        onto += v.real() * r.real() + v.imag() * r.imag();
        square += std::norm(v);
      }
    return {onto, square};
  }
  void add_change(Verdict& v, const char* code, const char* what, const Projection& p, double unit_factor,
                  const char* unit) const {
    if (p.square <= 0) return;
    const double amount = p.onto / p.square * unit_factor,
                 uncertainty = std::sqrt(v.noise_variance / 2 / p.square) * std::abs(unit_factor);
    v.changes.push_back({code, fmt::format("{} of {:.2g} \u00b1 {:.1g} {}", what, amount, uncertainty, unit),
                         amount, uncertainty, unit, share(p.onto * p.onto / p.square, 1, v)});
  }

  Array<Complex<T>> encoded(const std::function<double(Index)>& factor) const {
    Array<Complex<T>> image(e_.image.shape());
#pragma omp parallel for schedule(static)
    for (Index p = 0; p < image.size(); ++p) {
      const auto f = static_cast<T>(factor(p));
      image[p] = {f * e_.image[p].re, f * e_.image[p].im};
    }
    return e_.encode(image);
  }

  /// Only what is needed for a judgement: each takes one or more products with E.
  void try_changes(Verdict& v) const {
    const Value i(0, 1);
    if (!(v.unexplained <= unexplained_limit)) {
      try_delays(v);
      const auto time = times(e_, starts_);
      add_change(v, "frequency", "a frequency offset",
                 project(e_.predicted, [&](Index m) { return -i * time[static_cast<std::size_t>(m)]; }),
                 0.5 / std::numbers::pi, e_.sample_time_s ? "Hz" : "turns per readout");
    }
    if (e_.field_map == nullptr) return;
    const auto turned = encoded([&](Index p) { return (*e_.field_map)[p]; });
    add_change(v, "field_map", "a change of the field map",
               project(turned, [&](Index m) { return -i * (*e_.sample_time_s)[m]; }), 100, "%");
  }

  /// Delays of the readouts along every axis at once: sum_b <v_a, v_b> tau_b = <v_a, r>.
  void try_delays(Verdict& v) const {
    const auto steps = steps_along_readouts(e_.trajectory, starts_);
    const Value i(0, 1);
    const auto& n = e_.matrix_size;
    double explained = 0, largest = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double* step = steps.data() + axis * samples_;
      if (!is_long(axis) || std::all_of(step, step + samples_, [](double x) { return x == 0; })) continue;
      const Index stride = axis == 0 ? 1 : axis == 1 ? n[0] : Index{n[0]} * n[1];
      const int length = n[static_cast<std::size_t>(axis)];
      const auto moment =
          encoded([&](Index p) { return static_cast<double>(p / stride % length - length / 2) / length; });
      const auto found = project(moment, [&](Index m) { return -i * (2 * std::numbers::pi * step[m]); });
      if (found.square <= 0) continue;
      explained += found.onto * found.onto / found.square;
      if (std::abs(found.onto / found.square) > std::abs(largest)) largest = found.onto / found.square;
    }
    v.changes.push_back({codes::delays, fmt::format("a gradient delay of {:.2g} samples", largest), largest,
                         0, "samples", share(explained, 2, v)});
  }

  const VerifierInput<T>& e_;
  Index samples_, coils_;
  std::vector<std::uint8_t> shell_of_;
  std::vector<Index> starts_;
  std::array<Energies, shell_radii.size()> shells_{};
  std::vector<Energies> of_coils_;
  std::vector<Gain> readout_gains_, coil_gains_;
  Energies total_;
};

}  // namespace

template <class T>
Verdict judge(const VerifierInput<T>& input) {
  const auto begin = std::chrono::steady_clock::now();
  Judge<T> judge(input);
  Verdict verdict = judge();
  decide(verdict, input.solver_residual, input.iterations);
  verdict.noise_variance = verdict.noise_variance / input.sample_scale / input.sample_scale;
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return verdict;
}

template Verdict judge<float>(const VerifierInput<float>&);
template Verdict judge<double>(const VerifierInput<double>&);

}  // namespace fhd::validation
