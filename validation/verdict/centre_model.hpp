#pragma once
// The centre of k-space as a least-squares problem small enough to be solved at once: few voxels, few samples, at
// most four (virtual) coils, dense matrices. With E the encoding, x the image, H = E (E^H E + lambda)^-1 E^H:
//
//     misfit  Q(d) = min over x of |d - E x|^2 + lambda |x|^2 = d^H (1 - H) d
//     a change of the model by theta: d ~ E x + theta v;  what no image absorbs of it: v^H (1 - H) v, Re v^H (1 - H) d
//
// (variable projection: Golub and Pereyra, Inverse Problems 19:R1 (2003)). An element is a kind of change, such as "the
// object moved along x", in one group of samples: the readouts of even or of odd numbers in one of a few blocks of
// time. One Gram matrix of all elements holds every hypothesis that is a pattern of them.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Kinds of changes of the model by a size theta, of sample m at k with prediction p; those of an axis follow each
/// other as x, y, z:
///
///   shift    the object lies theta FOVs further along an axis        p exp(-i 2 pi k theta)
///   phase    radians                                                 p exp(i theta)
///   gain                                                             p (1 + theta)
///   offset   of the frequency, radians/s (or radians per readout)    p exp(-i theta t)
///   turn     of k about an axis, radians                             k + theta n x k
///   delay    along an axis, samples                                  k(m - theta)
///   scale    of k along an axis                                      (1 + theta) k
///   shear    in the plane across an axis                             k_a + theta k_b, k_b + theta k_a
///   drift    along an axis, cycles/FOV per s (or per readout)        k + theta t
namespace change {
inline constexpr std::size_t shift = 0, phase = 3, gain = 4, offset = 5, turn = 6, delay = 9, scale = 12,
                             shear = 15, drift = 18, count = 21;
/// Returns whether a kind concerns a plane: its axis is that across the plane.
constexpr bool is_of_plane(std::size_t kind) {
  return (kind >= turn && kind < delay) || (kind >= shear && kind < drift);
}
}  // namespace change
using Sizes = std::array<double, change::count>;
/// Sizes for each group of samples.
using Pattern = std::vector<Sizes>;

/// Samples near the centre of k-space, ordered by groups.
struct CentralSamples {
  const Trajectory* trajectory = nullptr;
  Index readout_count = 0;
  int blocks = 0;
  std::vector<Index> block_starts;    ///< first readouts of blocks of time; the end as well
  std::vector<Index> numbers;         ///< in the scan
  std::vector<Index> readouts;        ///< of each sample
  std::vector<Index> readout_starts;  ///< of all readouts; the end as well
  std::vector<Index> group_starts;    ///< of the groups' samples here; the end as well
  std::vector<double> times;          ///< s about the mean, or shares of the readout
  Array<Complex<double>> data, rest;  ///< d, and d - E rho of the whole image, [sample][coil]
  Array<Complex<double>> maps;        ///< [coil][voxel]
  std::vector<double> field;          ///< off-resonance of the voxels, radians/s; empty: none
  std::vector<double> time_s;         ///< of the samples, for it
  SmallGrid grid{};
  bool has_maps = false;  ///< without maps, a scale or a turn of all of k-space is another object

  double radius = 0;  ///< cycles/FOV
  double lasting_rest =
      0;  ///< |r'| / |d| of all samples inside, r' = d - (1 + a) E rho, without what looks like noise
  double lasting_share = 0;  ///< its square over |r'|^2

  bool empty() const { return numbers.empty(); }
  Index count() const { return static_cast<Index>(numbers.size()); }
  std::size_t group_count() const { return 2 * static_cast<std::size_t>(blocks); }
  /// Returns the group of a readout.
  std::size_t group_of(Index readout) const {
    const auto after = std::upper_bound(block_starts.begin(), block_starts.end() - 1, readout);
    return static_cast<std::size_t>(2 * (after - block_starts.begin() - 1) + readout % 2);
  }
};

/// Returns the samples within `radius` cycles/FOV of the centre (0: 6, in 3D 3), `most` of them at most; none where
/// they are too few, or where the model is not one image with maps (or one coil). `time` as
/// VerifierInput::sample_time_s, of every sample.
CentralSamples central_samples(const VerifierInput<float>& input, const std::vector<Index>& starts,
                               const std::vector<double>& time, int radius = 0, std::size_t most = 1200);

/// The problem where changes of these sizes are undone.
class CentreModel {
 public:
  /// `like` lends its matrices where the positions are the same; null: none.
  CentreModel(const CentralSamples& samples, const Matrix& data, const Pattern& undone,
              const CentreModel* like = nullptr);

  bool is_regular() const { return !operators_->factor.empty(); }
  /// |d - g E x|^2 + lambda |x|^2 with the gains g that are undone: to divide data by a gain explains nothing of them.
  double misfit() const { return misfit_; }
  double freedom() const { return operators_->freedom; }    ///< how many more (complex) values than image
  const Matrix& prediction() const { return prediction_; }  ///< E x, [sample][coil]
  const Matrix& rest() const { return rest_; }              ///< d - E x
  /// Returns d - E of another image [voxel].
  Matrix rest_of(const Matrix& image) const;
  const Matrix& image() const { return image_; }  ///< x, [voxel][1]
  /// Root mean square of r along each axis, weighted by |x|^2, in FOVs.
  std::array<double, 3> extent() const;

  /// Products of elements, number group * kinds + kind of `kinds`.
  struct Products {
    std::size_t count = 0;
    std::vector<double> gram, bare;  ///< Re v^H (1-H) v', Re v^H v', [element][element]
    std::vector<double> onto;        ///< Re v^H (1-H) r
  };
  Products products(const std::vector<std::size_t>& kinds, const Matrix& rest) const;
  /// Returns v of a pattern, [sample][coil].
  Matrix change_of(const Pattern& pattern) const;
  /// Returns (E^H E + lambda)^-1 E^H a, [voxel][1], of several a at once: they cost little more than one.
  std::vector<Matrix> images_of(const std::vector<Matrix>& a) const;
  Matrix image_of(const Matrix& a) const { return std::move(images_of({a}).front()); }
  /// Returns (1 - H) a, [sample][coil], of several a at once.
  std::vector<Matrix> unexplained(std::vector<Matrix> a) const;
  Matrix unexplained(const Matrix& a) const { return std::move(unexplained(std::vector<Matrix>{a}).front()); }
  /// Returns E of images [voxel][1], [sample][coil] each.
  std::vector<Matrix> encoded(const std::vector<Matrix>& images) const;
  const CentralSamples& samples() const { return s_; }

 private:
  void place(const Pattern& undone);
  /// Returns v of a kind for a sample and a coil.
  Complex<double> element(std::size_t kind, Index sample, Index coil) const;
  /// Returns E^H a as [column][voxel], conjugated, of a group's rows of [sample][column and coil].
  Matrix conjugate_adjoint(std::size_t group, const Matrix& rows) const;
  /// Returns E^H of columns [sample][coil], [voxel][column].
  Matrix adjoint_of(const std::vector<Matrix>& columns) const;

  const CentralSamples& s_;
  SmallPositions k_, steps_;
  struct Operators {
    std::vector<Matrix> encoding{};  ///< E of one coil without a map, [sample][voxel], of every group
    Matrix factor{};                 ///< L^-1 of E^H E + lambda = L L^H
    double freedom = 0, lambda = 0;
  };
  std::shared_ptr<const Operators> make_operators() const;
  std::shared_ptr<const Operators> operators_;
  Matrix data_, image_, prediction_, rest_;
  std::array<Matrix, 3> moments_;  ///< E (r_i x), [sample][coil]
  double misfit_ = 0;
};

/// Samples near the centre, and the problem with the model as it is told, solved when it is first asked for: it is
/// the costly part of every test that begins with it.
class Centre {
 public:
  explicit Centre(CentralSamples samples) : samples_(std::move(samples)) {}
  Centre(const Centre&) = delete;
  Centre& operator=(const Centre&) = delete;

  const CentralSamples& samples() const { return samples_; }
  /// Returns the solved problem; null where there is none.
  const CentreModel* model();

 private:
  CentralSamples samples_;
  std::optional<CentreModel> model_;
};

}  // namespace fhd::validation
