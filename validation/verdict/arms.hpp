#pragma once
// Arms: the parts of the readouts near the centre of k-space, where the readouts of radial and spiral scans meet. Each coil has a
// small image of its own there, so that no map takes part: arms that agree are explained by these images, whatever the maps are.
//
//     E^H E + lambda = L L^H, H = E (E^H E + lambda)^-1 E^H
//     misfit(w) = min over x of |w - E x|^2 + lambda |x|^2 = w^H (1 - H) w = |w|^2 - |z|^2, z = L^-1 E^H w
//
// E and L depend on positions alone: another order, another factor of a readout and a moved object change only the samples w.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/pipeline/context.hpp"

namespace fhd::validation {

/// Arms of one length: the same places of all readouts that have the commonest length.
struct ArmSamples {
  std::int64_t coils = 0, arms = 0, places = 0;
  int axes = 2;                          ///< of more than one voxel
  std::vector<std::int64_t> numbers;     ///< of the readouts, among all of the scan
  std::vector<std::array<double, 3>> k;  ///< cycles/FOV, [arm][place]; 0 along axes of one voxel
  Array<Complex<double>> data;           ///< [arm][place][coil], in the unit of the prediction
  std::size_t at(std::int64_t arm, std::int64_t place) const {
    return static_cast<std::size_t>(arm * places + place);
  }
  double radius(std::int64_t arm, std::int64_t place) const;
};

/// Returns the arms within `radius` cycles/FOV, of some `values` samples and at most four virtual coils, which hold most of the
/// data; none where fewer than 4 readouts are of one length. `delays`: samples by which gradients are late along each axis.
template <class T>
ArmSamples arms_of(const VerifierInput<T>& input, const std::vector<std::int64_t>& starts, double radius,
                   const std::array<double, 3>& delays = {}, std::int64_t values = 2000);

class ArmModel {
 public:
  using Matrix = Array<Complex<double>>;

  /// The model of the places within `radius`. `arms` must outlive it.
  ArmModel(const ArmSamples& arms, double radius);

  /// Returns whether samples overlap enough to contradict each other: half of them are more than images need.
  bool is_tested() const { return freedom_ > 0.5 * static_cast<double>(rows()); }
  double freedom() const { return freedom_; }  ///< values of a coil less those that an image explains
  std::int64_t rows() const { return static_cast<std::int64_t>(places_.size()); }
  std::int64_t first_row(std::int64_t arm) const { return starts_[static_cast<std::size_t>(arm)]; }
  std::int64_t end_row(std::int64_t arm) const { return starts_[static_cast<std::size_t>(arm) + 1]; }
  std::int64_t place(std::int64_t row) const { return places_[static_cast<std::size_t>(row)]; }
  std::int64_t voxels() const { return encoding_.extent(1); }
  const ArmSamples& arms() const { return arms_; }
  const Matrix& encoding() const { return encoding_; }  ///< E, [row][voxel]

  /// Returns data with the samples of arm source[l] at the place of arm l, [row][coil].
  Matrix arranged(const Matrix& data, const std::vector<std::int64_t>& source) const;
  Matrix arranged(const Matrix& data) const;
  Matrix folded(const Matrix& w) const;     ///< z = L^-1 E^H w, [voxel][coil]
  Matrix solved(const Matrix& y) const;     ///< L^-1 y, [voxel][column]
  Matrix predicted(const Matrix& z) const;  ///< E L^-H z, what the images explain, [row][coil]
  Matrix rest(const Matrix& w) const;       ///< (1 - H) w
  double misfit(const Matrix& w) const;
  /// Returns the misfit without the rows M of some arms, of z and |w|^2 where w is 0 in these rows:
  /// |w|^2 - |z|^2 - r^H (1 - H_MM)^-1 r, r = E_M L^-H z.
  double misfit_without(const std::vector<std::int64_t>& missing, const Matrix& z, double energy) const;
  /// Adds E_l^H d, times a factor, of rows of arm l to y [voxel][columns], where d(row) points to `coils` values, from `column` on.
  template <class Data>
  void add_adjoint(std::int64_t arm, const Data& d, double factor, std::int64_t column, Matrix& y) const {
    const std::int64_t coils = arms_.coils, width = y.extent(1);
    for (std::int64_t row = first_row(arm); row < end_row(arm); ++row) {
      const Complex<double>*of = d(row), *e = encoding_.data() + row * voxels();
      for (std::int64_t p = 0; p < voxels(); ++p) {
        const Complex<double> weight = factor * conj(e[p]);
        for (std::int64_t c = 0; c < coils; ++c) y[p * width + column + c] += weight * of[c];
      }
    }
  }

 private:
  const ArmSamples& arms_;
  std::vector<std::int64_t> starts_, places_;  ///< rows of arms, and the end; of each row
  Matrix encoding_, factor_, back_;            ///< E, L^-1, L^-H
  double freedom_ = 0;
};

double energy(const Array<Complex<double>>& a);

}  // namespace fhd::validation
