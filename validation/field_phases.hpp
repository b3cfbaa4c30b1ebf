#pragma once
// Phases beside k . r and decay of the full signal equation (recon/domain/scan.hpp), in double precision at chosen voxels and
// samples. Of the certificate alone: positions and functions are written again here.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/pipeline/context.hpp"

namespace fhd::validation {

/// The phases as terms: sum_l kappa_l(m) b_l(p) in turns, and decay D(p, t_m).
class FieldPhases {
 public:
  template <class T>
  explicit FieldPhases(const VerifierInput<T>& input)
      : FieldPhases(input.full_equation, input.field_map, input.sample_time_s, input.trajectory) {}

  bool are_any() const { return !rows_.empty() || decays(); }
  bool decays() const { return scan_ != nullptr && scan_->decay_per_s; }
  std::int64_t term_count() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Returns kappa_l(m); in rad per unit of b.
  double coefficient(std::int64_t term, std::int64_t m) const {
    return rows_[static_cast<std::size_t>(term)][m];
  }
  /// Sets basis[term * stride + i] to b_l of voxels p + i, i < count, over 2 pi.
  void set_basis(std::int64_t p, std::int64_t count, double* basis, std::int64_t stride) const;

  /// Sets turns[j] to those of a voxel, whose basis has this stride, at samples m + j, j < count.
  void set_turns_of_voxel(const double* basis, std::int64_t stride, std::int64_t m, std::int64_t count,
                          double* turns) const;
  /// Sets turns[i] to minus those of a sample at `count` voxels, whose basis has this stride.
  void set_turns_of_sample(const double* basis, std::int64_t stride, std::int64_t m, std::int64_t count,
                           double* turns) const;
  /// Multiplies exponentials of a voxel at samples m + j by D.
  void decay_voxel(std::int64_t p, std::int64_t m, std::int64_t count, double* re, double* im) const;
  /// Multiplies exponentials of a sample at voxels p + i by D.
  void decay_sample(std::int64_t p, std::int64_t m, std::int64_t count, double* re, double* im) const;

  /// Returns voxels where an approximation is likely worst: of the largest phases, off-resonance and decay, and the edges of
  /// the object along each axis; `is_object(p)` says whether a voxel shows it.
  template <class IsObject>
  std::vector<std::int64_t> worst_voxels(const std::array<int, 3>& matrix_size,
                                         const IsObject& is_object) const;
  /// Returns samples of the largest coefficient of each term, at most `most`.
  std::vector<std::int64_t> worst_samples(std::int64_t most) const;

 private:
  FieldPhases(const Scan* scan, const Array<float>* field_map, const Array<double>* time_s,
              const Trajectory& trajectory);
  std::vector<double> largest_coefficients() const;
  std::array<double, 3> position_m(std::int64_t p) const;
  /// Returns D of a voxel, and its rate at t = 0.
  double decay(std::int64_t p, double time_s) const;
  double first_rate(std::int64_t p) const;

  const Scan* scan_;
  const Array<float>* field_map_;
  const double* time_s_;
  std::int64_t samples_, voxels_ = 1;
  std::int64_t function_count_ = 0;
  bool is_displaced_ = false;
  Array<double> of_displacement_{};  ///< 2 pi k along the magnet's axes, rad/m, [axis][sample]
  std::vector<const double*> rows_{};
};

template <class IsObject>
std::vector<std::int64_t> FieldPhases::worst_voxels(const std::array<int, 3>& n,
                                                    const IsObject& is_object) const {
  const auto largest = largest_coefficients();
  const std::int64_t nx = n[0], ny = n[1], voxels = nx * ny * n[2], width = nx;
  std::vector<double> basis(static_cast<std::size_t>(std::max<std::int64_t>(term_count(), 1) * width));
  // The voxels of the largest phase, of the largest share of each term and of the largest decay so far; then the outermost
  // ones of the object along -x, x, -y, y, -z, z.
  const auto terms = static_cast<std::size_t>(term_count());
  std::vector<double> most(terms + 2, -1.0);
  std::vector<std::int64_t> chosen(terms + 2, 0), edges(6, -1);
  std::array<std::int64_t, 6> reach{};
  reach.fill(-largest_matrix);
  for (std::int64_t first = 0; first < voxels; first += width) {
    set_basis(first, width, basis.data(), width);
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t p = first + i;
      double phase = 0;
      const auto take = [&](std::size_t which, double value) {
        if (value > most[which]) most[which] = value, chosen[which] = p;
      };
      for (std::size_t term = 0; term < terms; ++term) {
        const double value =
            largest[term] *
            std::abs(basis[term * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)]);
        phase += value;
        take(term, value);
      }
      take(terms, phase);
      if (decays()) take(terms + 1, first_rate(p));
      if (!is_object(p)) continue;
      const std::array<std::int64_t, 6> at{-i, i, -(p / nx % ny), p / nx % ny, -(p / nx / ny), p / nx / ny};
      for (std::size_t side = 0; side < 6; ++side)
        if (at[side] > reach[side]) reach[side] = at[side], edges[side] = p;
    }
  }
  for (const auto p : edges)
    if (p >= 0) chosen.push_back(p);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace fhd::validation
