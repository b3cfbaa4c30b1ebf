#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/array/linear_algebra.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/arm_tests.hpp"

namespace fhd::validation {
namespace {

using Shift = std::array<double, 3>;  ///< FOVs

constexpr double two_pi = 2 * std::numbers::pi;
constexpr Index most_times = 30;

/// Shifts of the object in spans of time, by Gauss and Newton, beside an image that follows (variable projection).
class ArmMotion {
 public:
  ArmMotion(const ArmModel& model, const Matrix& data)
      : model_(model), axes_(model.arms().axes), spans_(std::min(most_times, model.arms().arms)) {
    told_ = model.arranged(data);
    shifts_.resize(static_cast<std::size_t>(spans_));
  }

  bool solve() {
    constexpr int iterations = 8;
    misfit_ = model_.misfit(told_);
    for (int i = 0; i < iterations; ++i) {
      auto next = step();
      if (next.empty()) return i > 0;
      bool is_better = false;
      for (double length = 1; length > 0.1 && !is_better; length /= 2) {
        auto tried = shifts_;
        for (std::size_t s = 0; s < tried.size(); ++s)
          for (std::size_t axis = 0; axis < 3; ++axis) tried[s][axis] += length * next[s][axis];
        const double misfit = model_.misfit(placed(tried));
        if (misfit < misfit_) {
          is_better = misfit < 0.999 * misfit_;
          misfit_ = misfit, shifts_ = std::move(tried);
          break;
        }
      }
      if (!is_better) break;
    }
    return true;
  }

  const std::vector<Shift>& shifts() const { return shifts_; }
  double misfit() const { return misfit_; }
  Index unknowns() const { return axes_ * (spans_ - 1); }
  Index span_of(Index arm) const { return arm * spans_ / model_.arms().arms; }

 private:
  Index arm_count() const { return model_.arms().arms; }
  const std::array<double, 3>& k(Index arm, Index row) const {
    return model_.arms().k[model_.arms().at(arm, model_.place(row))];
  }
  /// Returns the samples as they are where the object does not move.
  Matrix placed(const std::vector<Shift>& shifts) const {
    Matrix w(told_);
    const Index coils = model_.arms().coils;
    for (Index arm = 0; arm < arm_count(); ++arm)
      for (Index row = model_.first_row(arm); row < model_.end_row(arm); ++row) {
        double phase = 0;
        for (std::size_t axis = 0; axis < 3; ++axis)
          phase += two_pi * k(arm, row)[axis] * shifts[static_cast<std::size_t>(span_of(arm))][axis];
        for (Index c = 0; c < coils; ++c) w[row * coils + c] = phasor(phase) * w[row * coils + c];
      }
    return w;
  }
  /// Returns changes of the shifts; empty where there are none.
  std::vector<Shift> step() const {
    const Index coils = model_.arms().coils, voxels = model_.voxels(), unknowns = axes_ * spans_;
    const auto w = placed(shifts_), p = model_.predicted(model_.folded(w));
    // Changes v of the prediction by a shift, -i 2 pi k p; A^H v, [voxel][unknown and coil]; products with each other and r.
    Matrix y({voxels, unknowns * coils}), v({model_.rows(), coils});
    std::vector<double> onto(static_cast<std::size_t>(unknowns)),
        bare(static_cast<std::size_t>(unknowns * axes_));
    for (Index arm = 0; arm < arm_count(); ++arm)
      for (Index axis = 0; axis < axes_; ++axis) {
        const Index u = span_of(arm) * axes_ + axis;
        for (Index row = model_.first_row(arm); row < model_.end_row(arm); ++row) {
          const double factor = two_pi * k(arm, row)[static_cast<std::size_t>(axis)];
          for (Index i = row * coils; i < (row + 1) * coils; ++i) {
            v[i] = {factor * p[i].im, -factor * p[i].re};
            onto[static_cast<std::size_t>(u)] += real_product(v[i], w[i] - p[i]);
            for (Index other = 0; other < axes_; ++other)
              bare[static_cast<std::size_t>(u * axes_ + other)] +=
                  factor * two_pi * k(arm, row)[static_cast<std::size_t>(other)] * norm(p[i]);
          }
        }
        model_.add_adjoint(
            arm, [&](Index row) { return v.data() + row * coils; }, 1, u * coils, y);
      }
    Matrix folded({unknowns, voxels * coils});
    for (Index q = 0; q < voxels; ++q)
      for (Index u = 0; u < unknowns; ++u)
        for (Index c = 0; c < coils; ++c)
          folded[u * voxels * coils + q * coils + c] = y[(q * unknowns + u) * coils + c];
    const auto gram = matrix_product(folded, adjoint(folded));
    System system(static_cast<std::size_t>(unknowns));
    system.right = onto;
    double trace = 0;
    for (Index u = 0; u < unknowns; ++u)
      for (Index other = 0; other < unknowns; ++other) {
        const bool same = u / axes_ == other / axes_;
        const double own = same ? bare[static_cast<std::size_t>(u * axes_ + other % axes_)] : 0;
        system(static_cast<std::size_t>(u), static_cast<std::size_t>(other)) =
            own - gram[u * unknowns + other].re;
        if (u == other) trace += own - gram[u * (unknowns + 1)].re;
      }
    // All shifts together move the object alone, and a readout through the centre tells but one direction.
    constexpr double regular = 0.01;
    for (std::size_t u = 0; u < system.count; ++u)
      system(u, u) += regular * trace / static_cast<double>(unknowns);
    const auto solution = solved(system);
    if (!solution) return {};
    std::vector<Shift> change(static_cast<std::size_t>(spans_));
    for (std::size_t u = 0; u < system.count; ++u)
      change[u / static_cast<std::size_t>(axes_)][u % static_cast<std::size_t>(axes_)] = solution->sizes[u];
    return change;
  }

  const ArmModel& model_;
  Index axes_, spans_;
  Matrix told_;
  std::vector<Shift> shifts_;
  double misfit_ = 0;
};

}  // namespace

std::optional<ArmCause> motion_of_arms(const ArmModel& model, const Matrix& data,
                                       const std::array<int, 3>& matrix_size, double noise) {
  const double before = model.misfit(model.arranged(data));
  ArmMotion motion(model, data);
  const double freedom = model.freedom() * static_cast<double>(2 * model.arms().coils),
               left = freedom - static_cast<double>(motion.unknowns());
  if (left < 0.5 * freedom || !motion.solve()) return {};
  const double misfit = motion.misfit() * freedom / left;
  if (!(misfit < beyond_noise(most_left_of_energy, before, noise))) return {};
  // The ends of most shifts along each axis, in voxels.
  std::array<double, 3> middle{}, least{}, most{};
  int axis_of_most = 0;
  for (int axis = 0; axis < model.arms().axes; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    std::vector<double> along;
    for (const auto& shift : motion.shifts()) along.push_back(shift[a] * matrix_size[a]);
    std::sort(along.begin(), along.end());
    middle[a] = along[along.size() / 2], least[a] = along.front(), most[a] = along.back();
    if (most[a] - least[a] >
        most[static_cast<std::size_t>(axis_of_most)] - least[static_cast<std::size_t>(axis_of_most)])
      axis_of_most = axis;
  }
  const auto a = static_cast<std::size_t>(axis_of_most);
  const double range = most[a] - least[a];
  constexpr double visible = 0.5;  // voxels
  if (range < visible) return {};
  // Readouts that lie apart from most: a cough.
  Index first = -1, last = -1, count = 0;
  for (Index arm = 0; arm < model.arms().arms; ++arm) {
    const double shift = motion.shifts()[static_cast<std::size_t>(motion.span_of(arm))][a] * matrix_size[a];
    if (std::abs(shift - middle[a]) < 0.4 * range) continue;
    if (first < 0) first = arm;
    last = arm, ++count;
  }
  const auto number = [&](Index arm) { return model.arms().numbers[static_cast<std::size_t>(arm)]; };
  const bool is_for_a_moment = 4 * (last - first + 1) <= model.arms().arms && count == last - first + 1;
  const auto text =
      is_for_a_moment
          ? fmt::format("the object lies {:.1f} voxels away along {} in readouts {} to {}, as in a cough",
                        range, "xyz"[axis_of_most], number(first), number(last))
          : fmt::format("motion from readout to readout over {:.1f} voxels along {}, as in breathing", range,
                        "xyz"[axis_of_most]);
  return ArmCause{{"motion", text, range, 0, "voxels", 1}, misfit};
}

}  // namespace fhd::validation
