#pragma once
// The system of least squares: E, E^H E and terms, of one trajectory and one set of maps.
#include <memory>
#include <optional>

#include "recon/encoding/field_transform.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/problem.hpp"

namespace fhd {

template <class T>
struct Model {
  std::shared_ptr<const SenseEncoding<T>> encoding;  ///< with the maps of all sets, or one coil of ones
  /// The first quadratic term is the regularizer; its weight, lambda, is chosen later, as those of sparse terms.
  Problem<T> problem;
  double map_unit = 1;      ///< the maps of the scan are those of E times this, a power of two
  bool has_maps = false;    ///< of the scan, or ones
  bool has_fields = false;  ///< of E, or a field map
  std::shared_ptr<const HeldFactors<T>> factors{};  ///< of E; null: none, or exact sums
  /// The maps of Toeplitz operators of factors; else null.
  std::shared_ptr<const TurnedMaps<T>> turned_maps{};
  /// Eigenvalues of E^H E, of the maps as they are here: the largest, where it is needed before the solution, else 0; the
  /// mean, of the first set.
  double largest_eigenvalue = 0, mean_eigenvalue = 0;
  Array<double> circulant{};  ///< circulant_of_point_spread, for a preconditioner; empty: there is none
  /// Images of the problem, which are then [frame and z][y][x] (solve/stack.hpp); all else is of one of them.
  std::int64_t frames = 1;
  double image_share =
      1;  ///< magnitude of images over that of the unknowns, where these are no images (frames.cpp)
  std::shared_ptr<const HermitianOperator<T>> preconditioner{};  ///< the last one, of a term of this weight
  double preconditioned_weight = -1;
  bool is_of_frames = false;  ///< even where they are one component
  bool holds =
      false;  ///< the last quadratic term is that of places where an image was unstable (stable_image.hpp)

  const Array<Complex<T>>& maps() const { return encoding->maps(); }
};

/// How E and E^H E of a scan hold what is not k . r: exact sums, or factors.
struct FieldModel {
  PhaseTerms terms;                   ///< all of them for exact sums, else those beyond k . r
  PhaseFactors factors, differences;  ///< none: exact sums; no Toeplitz form
  bool is_exact() const { return factors.count() == 0; }
  /// Returns the same for some of the samples.
  FieldModel of_samples(const std::vector<std::int64_t>& samples) const;
};
/// Finds the factors, or decides for exact sums, whose `transform` is then direct; nothing where the scan has neither a field map
/// nor fields, or where the method does not use them, which a note explains. Throws Error where neither is affordable.
std::optional<FieldModel> field_model_of(const Scan& scan, TransformSettings& transform,
                                         const Context& context);
/// Returns the factors on a device; null for exact sums.
template <class T>
std::shared_ptr<const HeldFactors<T>> factors_on(Device device, const FieldModel& fields);
/// Returns the transform of E: `plain` with the factors, or, without these, exact sums.
template <class T>
std::shared_ptr<const FourierTransform<T>> transform_in_fields(
    const FieldModel& fields, std::shared_ptr<const HeldFactors<T>> factors,
    std::shared_ptr<const FourierTransform<T>> plain);

/// Makes the model. `coils_at_once`: of operators on a GPU, a divisor of the coils; 0: all. `images_at_once`: volumes that
/// are solved together.
template <class T>
Model<T> make_model(const Scan& scan, const std::optional<FieldModel>& fields, std::int64_t coils_at_once,
                    std::int64_t images_at_once, TrajectoryOperators<T>& operators, const Context& context);

/// Returns M^-1 of the system with this weight of its quadratic term, and with A^H A of every sparse term times a penalty;
/// null where conjugate gradient goes without.
template <class T>
std::shared_ptr<const HermitianOperator<T>> preconditioner_of(const Model<T>& model, double weight,
                                                              double sparse_penalty);

/// Returns a view of all values.
template <class T>
Array<T> view_of(const Array<T>& values) {
  return one_of(values, values.shape(), 0);
}

}  // namespace fhd
