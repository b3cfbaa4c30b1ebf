#pragma once
// Arms: the parts of the readouts near the centre of k-space, where the readouts of radial and spiral scans meet.
// Each coil has a small image of its own there, so that no map takes part: arms that agree are explained by these
// images, whatever the maps are. The images are wider than the FOV, for objects that go on beyond it.
//
//     E^H E + lambda = L L^H, A = E L^-H, H = A A^H
//     misfit(w) = min over x of |w - E x|^2 + lambda |x|^2 = w^H (1 - H) w = |w|^2 - |z|^2, z = A^H w
//
// A depends on positions alone: another order, another factor of a readout and a moved object change only the samples w.
#include <array>
#include <optional>
#include <vector>

#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Arms of one length: the same places of all readouts that have the commonest length.
struct ArmSamples {
  Index coils = 0, arms = 0, places = 0;
  int axes = 2;                          ///< of more than one voxel
  std::vector<Index> numbers;            ///< of the readouts, among all of the scan
  std::vector<Index> samples;            ///< [place]: sample of the readout
  std::vector<Index> all;                ///< numbers of all readouts of this length, of which ...
  Index stride = 1;                      ///< ... every so many is an arm
  std::vector<std::array<double, 3>> k;  ///< cycles/FOV, [arm][place]; 0 along axes of one voxel
  Array<Complex<double>> data;           ///< [arm][place][coil], in the unit of the prediction
  Array<Complex<double>> mix;            ///< [coil of the scan][coil]; empty: the same coils
  std::size_t at(Index arm, Index place) const { return static_cast<std::size_t>(arm * places + place); }
  double radius(Index arm, Index place) const;
};

/// Returns the arms within `radius` cycles/FOV, of some `values` samples and at most four virtual coils, which hold
/// most of the data; none where fewer than 4 readouts are of one length, of more than 400 readouts every n-th.
ArmSamples arms_of(const VerifierInput<float>& input, const std::vector<Index>& starts, double radius,
                   Index values = 1500);

/// Returns the samples of some readouts at the places of the arms, [readout][place][coil] as `data`.
Matrix samples_at_places(const ArmSamples& arms, const VerifierInput<float>& input,
                         const std::vector<Index>& starts, const std::vector<Index>& readouts);

/// Returns the positions of the arms if gradients are late by some samples along each axis, as k of ArmSamples.
std::vector<std::array<double, 3>> positions_of(const ArmSamples& arms, const VerifierInput<float>& input,
                                                const std::vector<Index>& starts,
                                                const std::array<double, 3>& delays);

/// Images of the positions within a radius, as many voxels as these need.
struct ArmImages {
  Matrix encoding, factor;  ///< E, [row][voxel]; L^-1, empty: too few rows
  double freedom = 0;       ///< values of a coil less those that an image explains
  /// Computes E and L. `weights`: factors of the rows of E; empty: 1. `field`: length of the images, in FOVs; 0: as
  /// wide as time allows.
  ArmImages(const std::vector<std::array<double, 3>>& k, int axes, double radius,
            const std::vector<double>& weights = {}, double field = 0);
  /// Returns |w|^2 - |L^-1 E^H w|^2 of w [row][coil].
  double misfit(const Matrix& w) const;
};

class ArmModel {
 public:
  /// The model of the places within `radius`. `arms` must outlive it. `weights` [arm and place], `field`: as of
  /// ArmImages.
  ArmModel(const ArmSamples& arms, double radius, const std::vector<double>& weights = {}, double field = 0);

  /// Returns whether samples overlap enough to contradict each other: half of them are more than images need.
  bool is_tested() const { return freedom_ > 0.5 * static_cast<double>(rows()); }
  double freedom() const { return freedom_; }  ///< as of ArmImages
  Index rows() const { return static_cast<Index>(places_.size()); }
  Index first_row(Index arm) const { return starts_[static_cast<std::size_t>(arm)]; }
  Index end_row(Index arm) const { return starts_[static_cast<std::size_t>(arm) + 1]; }
  Index place(Index row) const { return places_[static_cast<std::size_t>(row)]; }
  Index voxels() const { return a().extent(1); }
  const ArmSamples& arms() const { return arms_; }

  /// Returns data with the samples of arm source[l] at the place of arm l, [row][coil].
  Matrix arranged(const Matrix& data, const std::vector<Index>& source) const;
  Matrix arranged(const Matrix& data) const;
  Matrix folded(const Matrix& w) const;     ///< z = A^H w, [voxel][coil]
  Matrix predicted(const Matrix& z) const;  ///< A z, what the images explain, [row][coil]
  Matrix rest(const Matrix& w) const;       ///< (1 - H) w
  double misfit(const Matrix& w) const;
  /// Returns the misfit without the rows M of some arms, of z and |w|^2 where w is 0 in these rows:
  /// |w|^2 - z^H (1 - A_M^H A_M)^-1 z = |w|^2 - |z|^2 - r^H (1 - A_M A_M^H)^-1 r, r = A_M z.
  double misfit_without(const std::vector<Index>& missing, const Matrix& z, double energy) const;
  /// Adds A_l^H d, times a factor, of rows of arm l to y [voxel][columns], where d(row) points to `coils` values,
  /// from `column` on.
  template <class Data>
  void add_adjoint(Index arm, const Data& d, double factor, Index column, Matrix& y) const {
    const Index coils = arms_.coils, width = y.extent(1), count = voxels();
    const Complex<double>* all = a().data();
    Complex<double>* to = y.data() + column;
    for (Index row = first_row(arm); row < end_row(arm); ++row) {
      const Complex<double>*of = d(row), *e = all + row * count;
      for (Index p = 0; p < count; ++p) {
        const Complex<double> weight = factor * conj(e[p]);
        for (Index c = 0; c < coils; ++c) to[p * width + c] += weight * of[c];
      }
    }
  }

 private:
  /// Returns A, [row][voxel], which is made when it is first asked for: most arms agree, and a misfit is all they need.
  const Matrix& a() const;

  const ArmSamples& arms_;
  std::vector<Index> starts_, places_;  ///< rows of arms, and the end; of each row
  std::optional<ArmImages> images_;     ///< none: too few rows
  mutable Matrix a_;
  double freedom_ = 0;
};

}  // namespace fhd::validation
