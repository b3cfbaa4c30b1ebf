#include "validation/field_phases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fhd::validation {
namespace {

/// Returns the functions of recon/domain/fields.hpp at a place, in their order.
std::array<double, 20> harmonics_at(const std::array<double, 3>& place) {
  const auto [x, y, z] = place;
  const double r2 = x * x + y * y + z * z;
  return {1,
          x,
          y,
          z,
          x * y,
          z * y,
          3 * z * z - r2,
          x * z,
          x * x - y * y,
          3 * y * x * x - y * y * y,
          x * y * z,
          (5 * z * z - r2) * y,
          5 * z * z * z - 3 * z * r2,
          (5 * z * z - r2) * x,
          x * x * z - y * y * z,
          x * x * x - 3 * x * y * y,
          z * z,
          x * x + y * y,
          x * z,
          y * z};
}

double product(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

}  // namespace

FieldPhases::FieldPhases(const Scan* scan, const Array<float>* field_map, const Array<double>* time_s,
                         const Trajectory& trajectory)
    : scan_(scan),
      field_map_(field_map),
      time_s_(time_s != nullptr                        ? time_s->data()
              : scan != nullptr && scan->sample_time_s ? scan->sample_time_s->data()
                                                       : nullptr),
      samples_(trajectory.sample_count()) {
  if (scan_ != nullptr) voxels_ = scan_->geometry.voxel_count();
  if (field_map_ != nullptr) voxels_ = field_map_->size();
  if (scan_ != nullptr && scan_->fields) {
    const auto& [functions, coefficients, axes, displacement_mm] = *scan_->fields;
    function_count_ = static_cast<std::int64_t>(functions.size());
    for (std::int64_t term = 0; term < function_count_; ++term)
      rows_.push_back(coefficients.data() + term * samples_);
    is_displaced_ = !displacement_mm.empty();
    if (is_displaced_) {
      const auto& g = scan_->geometry;
      const std::array directions{g.read_direction, g.phase_direction, g.slice_direction};
      of_displacement_ = Array<double>({3, samples_});
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if (!(g.fov_mm[axis] > 0) || g.matrix_size[axis] == 1) continue;
          const double unit =
              2 * std::numbers::pi * product(axes[j], directions[axis]) / (1e-3 * g.fov_mm[axis]);
          for (std::int64_t m = 0; m < samples_; ++m)
            of_displacement_[static_cast<std::int64_t>(j) * samples_ + m] +=
                unit * trajectory.k.data()[static_cast<std::int64_t>(axis) * samples_ + m];
        }
      for (std::int64_t j = 0; j < 3; ++j) rows_.push_back(of_displacement_.data() + j * samples_);
    }
  }
  if (field_map_ != nullptr) rows_.push_back(time_s_);
}

std::array<double, 3> FieldPhases::position_m(std::int64_t p) const {
  const auto& g = scan_->geometry;
  const std::array<std::int64_t, 3> at{p % g.matrix_size[0], p / g.matrix_size[0] % g.matrix_size[1],
                                       p / g.matrix_size[0] / g.matrix_size[1]};
  const std::array directions{g.read_direction, g.phase_direction, g.slice_direction};
  auto lps = g.position_mm;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int n = g.matrix_size[axis];
    const double along = g.fov_mm[axis] * static_cast<double>(at[axis] - n / 2) / n;
    for (std::size_t i = 0; i < 3; ++i) lps[i] += along * directions[axis][i];
  }
  std::array<double, 3> position{};
  for (std::size_t j = 0; j < 3; ++j) position[j] = 1e-3 * product(scan_->fields->axes[j], lps);
  return position;
}

void FieldPhases::set_basis(std::int64_t p, std::int64_t count, double* basis, std::int64_t stride) const {
  constexpr double turns = 1 / (2 * std::numbers::pi);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t voxel = (p + i) % voxels_;
    std::int64_t term = 0;
    if (function_count_ > 0 || is_displaced_) {
      auto at = position_m(voxel);
      std::array<double, 3> moved{};
      for (std::int64_t j = 0; is_displaced_ && j < 3; ++j)
        moved[static_cast<std::size_t>(j)] =
            1e-3 * static_cast<double>(scan_->fields->displacement_mm.data()[j * voxels_ + voxel]);
      for (std::size_t j = 0; j < 3; ++j) at[j] += moved[j];
      const auto values = harmonics_at(at);
      for (; term < function_count_; ++term)
        basis[term * stride + i] =
            turns *
            values[static_cast<std::size_t>(scan_->fields->functions[static_cast<std::size_t>(term)])];
      for (std::size_t j = 0; is_displaced_ && j < 3; ++j) basis[term++ * stride + i] = turns * moved[j];
    }
    if (field_map_ != nullptr)
      basis[term * stride + i] = turns * static_cast<double>(field_map_->data()[voxel]);
  }
}

void FieldPhases::set_turns_of_voxel(const double* basis, std::int64_t stride, std::int64_t m,
                                     std::int64_t count, double* turns) const {
  std::fill_n(turns, count, 0.0);
  for (std::size_t term = 0; term < rows_.size(); ++term) {
    const double b = basis[static_cast<std::int64_t>(term) * stride];
    const double* const kappa = rows_[term] + m;
    for (std::int64_t j = 0; j < count; ++j) turns[j] += b * kappa[j];
  }
}

void FieldPhases::set_turns_of_sample(const double* basis, std::int64_t stride, std::int64_t m,
                                      std::int64_t count, double* turns) const {
  std::fill_n(turns, count, 0.0);
  for (std::size_t term = 0; term < rows_.size(); ++term) {
    const double kappa = rows_[term][m];
    const double* const b = basis + static_cast<std::int64_t>(term) * stride;
    for (std::int64_t i = 0; i < count; ++i) turns[i] -= kappa * b[i];
  }
}

double FieldPhases::decay(std::int64_t p, double time_s) const {
  const auto rate = [&](const Array<float>& of) { return static_cast<double>(of.data()[p]); };
  const double first = std::exp(-rate(*scan_->decay_per_s) * time_s);
  if (!scan_->second_decay) return first;
  const double share = rate(scan_->second_decay->fraction);
  return share * first + (1 - share) * std::exp(-rate(scan_->second_decay->per_s) * time_s);
}

double FieldPhases::first_rate(std::int64_t p) const {
  const double first = static_cast<double>(scan_->decay_per_s->data()[p]);
  if (!scan_->second_decay) return first;
  const double share = static_cast<double>(scan_->second_decay->fraction.data()[p]);
  return share * first + (1 - share) * static_cast<double>(scan_->second_decay->per_s.data()[p]);
}

void FieldPhases::decay_voxel(std::int64_t p, std::int64_t m, std::int64_t count, double* re,
                              double* im) const {
  for (std::int64_t j = 0; j < count; ++j) {
    const double size = decay(p % voxels_, time_s_[m + j]);
    re[j] *= size, im[j] *= size;
  }
}

void FieldPhases::decay_sample(std::int64_t p, std::int64_t m, std::int64_t count, double* re,
                               double* im) const {
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = decay((p + i) % voxels_, time_s_[m]);
    re[i] *= size, im[i] *= size;
  }
}

std::vector<double> FieldPhases::largest_coefficients() const {
  std::vector<double> largest;
  for (const double* row : rows_) {
    auto& value = largest.emplace_back(0);
    for (std::int64_t m = 0; m < samples_; ++m) value = std::max(value, std::abs(row[m]));
  }
  return largest;
}

std::vector<std::int64_t> FieldPhases::worst_samples(std::int64_t most) const {
  std::vector<std::int64_t> chosen;
  // From the last term on, off-resonance: its largest time is where decay is largest too.
  for (auto row = rows_.rbegin(); row != rows_.rend() && std::ssize(chosen) < most; ++row) {
    const auto at =
        std::max_element(*row, *row + samples_, [](double a, double b) { return std::abs(a) < std::abs(b); });
    chosen.push_back(at - *row);
  }
  if (decays() && field_map_ == nullptr)
    chosen.push_back(std::max_element(time_s_, time_s_ + samples_) - time_s_);
  std::ranges::sort(chosen);
  const auto [last, end] = std::ranges::unique(chosen);
  chosen.erase(last, end);
  return chosen;
}

}  // namespace fhd::validation
