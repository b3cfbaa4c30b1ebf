#include "validation/verdict/ordinary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "validation/verdict/tissue_outside.hpp"

namespace fhd::validation {
namespace {

/// Larger changes are no ordinary ones: a source counts as if it were absent.
constexpr double most_hertz = 300, most_turns = 2, most_voxels = 1.5, most_map_error = 0.3,
                 most_contrast = 0.7;

/// Solves for real sizes of changes. A change that an image nearly absorbs stays small, and one that it absorbs is 0.
Solution fitted(System system) {
  constexpr double epsilon = 1e-3;  // of the diagonal
  for (std::size_t i = 0; i < system.count; ++i)
    system(i, i) = system(i, i) > 0 ? (1 + epsilon) * system(i, i) : 1;
  return solved(system).value_or(Solution{std::vector<double>(system.count), {}});
}

/// A polynomial in space: x, y, z and their products, at most of second order.
struct Monomial {
  int first = -1, second = -1;  ///< axes; -1: none
};
std::vector<Monomial> monomials_of(const SmallGrid& grid) {
  std::vector<Monomial> all{{}};
  for (int a = 0; a < 3; ++a) {
    if (grid.n[static_cast<std::size_t>(a)] < 3) continue;
    all.push_back({a, -1});
    for (int b = 0; b <= a; ++b)
      if (grid.n[static_cast<std::size_t>(b)] >= 3) all.push_back({a, b});
  }
  return all;
}
double value_at(const Monomial& m, const SmallGrid& grid, Index voxel) {
  double value = 1;
  for (const int axis : {m.first, m.second})
    if (axis >= 0) value *= 2 * grid.position(voxel, static_cast<std::size_t>(axis));
  return value;
}

class Sources {
 public:
  Sources(const CentralSamples& samples, const CentreModel& model, const std::array<int, 3>& matrix_size,
          bool has_times, double border, double noise_variance)
      : s_(samples),
        model_(model),
        matrix_size_(matrix_size),
        has_times_(has_times),
        border_(border),
        rest_(model.unexplained(samples.rest)),
        before_(energy(rest_)),
        beyond_(before_ - std::min(noise_variance * model.freedom(), 0.9 * before_)) {}

  OrdinaryRest operator()() {
    if (!(beyond_ > 0)) return {};
    const auto shapes = monomials_of(s_.grid);
    std::vector<Matrix> images;
    for (const auto& shape : shapes) {
      images.push_back(model_.image());
      for (Index p = 0; p < images.back().size(); ++p)
        images.back()[p] = value_at(shape, s_.grid, p) * images.back()[p];
    }
    seen_ = model_.encoded(images);
    off_resonance(shapes), maps(shapes), motion();
    if (reaches_border(border_)) outside();
    OrdinaryRest result;
    result.is_known = true;
    double left = 1;
    for (const auto& source : sources_) left *= 1 - source.share;
    result.share = 1 - left;
    std::stable_sort(sources_.begin(), sources_.end(),
                     [](const Finding& a, const Finding& b) { return a.share > b.share; });
    result.sources = std::move(sources_);
    return result;
  }

 private:
  /// Returns the share that is explained beyond what as many random changes would.
  double share(double explained, double parameters) const {
    return std::clamp((explained - before_ * parameters / (2 * model_.freedom())) / beyond_, 0.0, 0.99);
  }
  void add(const char* code, std::string text, double amount, const char* unit, double of_rest,
           bool is_small) {
    constexpr double worth_words = 0.02;
    if (is_small && of_rest > worth_words)
      sources_.push_back({code, std::move(text), amount, 0, unit, of_rest});
  }
  /// Fits real sizes of changes that are given as (1 - H) v.
  Solution fit_of(const std::vector<Matrix>& changes) const {
    System system(changes.size());
    for (std::size_t a = 0; a < changes.size(); ++a) {
      system.right[a] = real_product(changes[a], rest_);
      for (std::size_t b = 0; b <= a; ++b) system(a, b) = system(b, a) = real_product(changes[a], changes[b]);
    }
    return fitted(std::move(system));
  }
  /// Returns the root mean square of |sum_j sizes_j shape_j|^2 over the image.
  double size_over_image(const std::vector<Monomial>& shapes,
                         const std::vector<Complex<double>>& sizes) const {
    double sum = 0, weight = 0;
    for (Index p = 0; p < model_.image().size(); ++p) {
      Complex<double> value;
      for (std::size_t j = 0; j < shapes.size(); ++j) value += value_at(shapes[j], s_.grid, p) * sizes[j];
      const double w = norm(model_.image()[p]);
      sum += w * norm(value), weight += w;
    }
    return weight > 0 ? std::sqrt(sum / weight) : 0;
  }

  void off_resonance(const std::vector<Monomial>& shapes) {
    std::vector<Matrix> changes;
    const Index coils = s_.data.extent(1);
    for (Matrix v : seen_) {
      for (Index i = 0; i < v.size(); ++i) {
        const double t = s_.times[static_cast<std::size_t>(i / coils)];
        v[i] = {t * v[i].im, -t * v[i].re};
      }
      changes.push_back(std::move(v));
    }
    const auto fit = fit_of(model_.unexplained(std::move(changes)));
    const std::vector<Complex<double>> sizes(fit.sizes.begin(), fit.sizes.end());
    const double turns = size_over_image(shapes, sizes) * 0.5 / std::numbers::pi;
    add("off_resonance",
        has_times_ ? fmt::format("off-resonance of some {:.2g} Hz", turns)
                   : fmt::format("off-resonance of some {:.2g} turns in a readout", turns),
        turns, has_times_ ? "Hz" : "turns", share(fit.explained, static_cast<double>(shapes.size())),
        turns < (has_times_ ? most_hertz : most_turns));
  }

  void maps(const std::vector<Monomial>& shapes) {
    const Index coils = s_.data.extent(1);
    if (coils < 2) return;
    std::vector<Matrix> real, changes;
    for (Index coil = 0; coil < coils; ++coil)
      for (const auto& seen : seen_) {
        real.emplace_back(seen.shape());
        for (Index i = coil; i < seen.size(); i += coils) real.back()[i] = seen[i];
      }
    for (auto& v : model_.unexplained(std::move(real))) {
      changes.push_back(v);
      for (auto& value : v) value = {-value.im, value.re};
      changes.push_back(std::move(v));
    }
    const auto fit = fit_of(changes);
    double worst = 0;
    for (std::size_t coil = 0; coil < static_cast<std::size_t>(coils); ++coil) {
      std::vector<Complex<double>> sizes;
      for (std::size_t j = 0; j < shapes.size(); ++j) {
        const std::size_t at = 2 * (coil * shapes.size() + j);
        sizes.push_back({fit.sizes[at], fit.sizes[at + 1]});
      }
      worst += std::pow(size_over_image(shapes, sizes), 2) / static_cast<double>(coils);
    }
    const double error = std::sqrt(worst);
    add("maps", fmt::format("sensitivity maps that are off by some {:.2g} %", 100 * error), 100 * error, "%",
        share(fit.explained, static_cast<double>(changes.size())), error < most_map_error);
  }

  void motion() {
    if (s_.readout_count < 2) return;
    std::vector<std::size_t> kinds;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (s_.grid.n[axis] > 1) kinds.push_back(change::shift + axis);
    const std::size_t axes = kinds.size();
    kinds.insert(kinds.end(), {change::phase, change::gain});
    const auto products = model_.products(kinds, s_.rest);
    System system(products.count);
    system.matrix = products.gram, system.right = products.onto;
    const auto fit = fitted(std::move(system));
    const auto extent = model_.extent();
    double moved = 0, voxels = 0, phase = 0,
           gain = 0;  // squares; `moved`: of the phase that a shift gives samples
    const auto groups = static_cast<double>(s_.group_count());
    for (std::size_t g = 0; g < s_.group_count(); ++g) {
      const double* sizes = fit.sizes.data() + g * kinds.size();
      for (std::size_t a = 0; a < axes; ++a) {
        voxels += std::pow(sizes[a] * matrix_size_[kinds[a]], 2) / groups;
        moved += std::pow(2 * std::numbers::pi * s_.radius / 2 * extent[kinds[a]] * sizes[a], 2) / groups;
      }
      phase += sizes[axes] * sizes[axes] / groups, gain += sizes[axes + 1] * sizes[axes + 1] / groups;
    }
    const double of_rest = share(fit.explained, static_cast<double>(products.count));
    const bool is_small = std::sqrt(voxels) < most_voxels && std::sqrt(gain) < most_contrast;
    if (gain > std::max(moved, phase)) {
      const double percent = 100 * std::sqrt(gain);
      add("signal", fmt::format("contrast of some {:.2g} % between readouts", percent), percent, "%", of_rest,
          is_small);
    } else {
      add("motion", fmt::format("motion of some {:.2g} voxels, or contrast", std::sqrt(voxels)),
          std::sqrt(voxels), "voxels", of_rest, is_small);
    }
  }

  void outside() {
    const auto found = tissue_outside(model_, rest_, is_bright_at_border(border_));
    if (!found) return;
    const double amount = 100 * found->energy_share;
    add("outside_fov", fmt::format("tissue outside the field of view ({:.2g} % of the energy)", amount),
        amount, "%", share(before_ - found->misfit, 2 * found->unknowns), true);
  }

  const CentralSamples& s_;
  const CentreModel& model_;
  const std::array<int, 3>& matrix_size_;
  bool has_times_;
  double border_;
  Matrix rest_;
  double before_, beyond_;
  std::vector<Matrix> seen_;  ///< E (shape x)
  std::vector<Finding> sources_;
};

}  // namespace

OrdinaryRest ordinary_rest(Centre& centre, const std::array<int, 3>& matrix_size, bool has_times,
                           double border, double noise_variance) {
  const CentralSamples& samples = centre.samples();
  if (!centre.model() || centre.model()->freedom() < 0.1 * static_cast<double>(samples.data.size()))
    return {};
  return Sources(samples, *centre.model(), matrix_size, has_times, border, noise_variance)();
}

}  // namespace fhd::validation
