#pragma once
// The transform of fields by their factors (field_factors.hpp), F' = sum_j diag(u_j) F diag(v_j), and E^H E as a sum of Toeplitz
// operators, one a term, with the kernel q_l(D) = sum_m a_l(m) exp(i 2 pi k_m . D):
//
//     E^H E ~ sum_l diag(v_l)^H S^H T_l S diag(v_l).
#include <functional>
#include <memory>
#include <vector>

#include "recon/array/linear_operator.hpp"
#include "recon/encoding/field_factors.hpp"

namespace fhd {

/// Factors on a device, which transforms of one scan share.
template <class T>
struct HeldFactors {
  Array<Complex<T>> turns;    ///< v_j(p), [j][voxel]
  Array<Complex<T>> weights;  ///< u_j(m), [j][sample]
};
template <class T>
std::shared_ptr<const HeldFactors<T>> held_factors(const PhaseTerms& terms, const PhaseFactors& factors,
                                                   Device device);
/// Makes F' of another transform F of the samples.
template <class T>
std::shared_ptr<const FourierTransform<T>> make_field_transform(
    std::shared_ptr<const FourierTransform<T>> plain, std::shared_ptr<const HeldFactors<T>> factors);

/// The cost of F', with the factors that it holds.
class FieldCost final : public TransformCost {
 public:
  /// `plain` outlives the cost.
  FieldCost(const TransformCost& plain, const TransformSizes& sizes, std::int64_t terms)
      : plain_(plain), sizes_(sizes), terms_(static_cast<double>(terms)) {}
  Work making() const override;
  Work forward(std::int64_t coils) const override;
  Work adjoint(std::int64_t coils) const override;
  std::size_t bytes() const override;
  std::size_t scratch_bytes(std::int64_t coils) const override;
  double accuracy() const override { return plain_.accuracy(); }  ///< beside the error of the factors
  Work point_spread() const override { return plain_.point_spread(); }
  std::size_t point_spread_scratch_bytes() const override { return plain_.point_spread_scratch_bytes(); }

 private:
  double voxels() const;
  /// Returns the work of weighting images and samples for each term.
  Work weighting(std::int64_t coils) const;

  const TransformCost& plain_;
  TransformSizes sizes_;
  double terms_;
};

/// S_c v_l of every term l, [coil][z][y][x] on the device of the maps.
template <class T>
using TurnedMaps = std::vector<Array<Complex<T>>>;
template <class T>
std::shared_ptr<const TurnedMaps<T>> turned_maps(const Array<Complex<T>>& maps, const PhaseTerms& terms,
                                                 const PhaseFactors& differences);

/// Makes E^H E with the maps of each term, which operators of several trajectories may share; `point_spread(weights)` makes the
/// kernel of q_l for real weights [sample] on the device. coils_at_once: see make_toeplitz_normal.
template <class T>
std::shared_ptr<const HermitianOperator<T>> make_field_normal(
    const std::function<Array<Complex<T>>(const Array<double>&)>& point_spread,
    std::shared_ptr<const TurnedMaps<T>> maps, const PhaseFactors& differences,
    std::int64_t coils_at_once = 0);

}  // namespace fhd
