#pragma once
// Several sets of sensitivity maps ("soft" SENSE), each with an image of its own:
//
//     d_c = F (sum_s S_sc rho_s),    (E^H E rho)_s = sum_c conj(S_sc) T (sum_s' S_s'c rho_s')
//
// Where an object is folded within the field of view, a voxel holds two places, which coils see with two different
// sensitivities: one map cannot tell them, a second set can. Source: Uecker et al., MRM 71:990 (2014).
//
// Images are [set and z][y][x]. Each coil is transformed once, whatever the number of sets.
#include <memory>
#include <vector>

#include "recon/encoding/sense.hpp"

namespace fhd {

template <class T>
using SetsOfMaps = std::vector<std::shared_ptr<const SenseEncoding<T>>>;

/// E of several sets: those of one transform, with as many coils each. `coils_at_once`: as of SenseEncoding.
template <class T>
class MapSetsEncoding final : public Encoding<T> {
 public:
  MapSetsEncoding(SetsOfMaps<T> sets, std::int64_t coils_at_once);
  Shape domain() const override;
  Shape range() const override { return first().range(); }
  Device device() const override { return first().device(); }
  const FourierTransform<T>& transform() const override { return first().transform(); }
  void forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& image,
                       Array<Complex<T>>& samples) const override;
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const override;
  const SetsOfMaps<T>& sets() const { return sets_; }

  /// coil_images[coil] = sum_s S_sc image_s of coils [first, first + coil_images.extent(0)).
  void apply(const Array<Complex<T>>& image, std::int64_t first_coil, Array<Complex<T>>& coil_images) const;
  /// image_s += sum_c conj(S_sc) coil_images[coil] of these coils; from the first coil on, =.
  void combine(const Array<Complex<T>>& coil_images, std::int64_t first_coil, Array<Complex<T>>& image) const;
  std::int64_t coils_at_once() const { return coils_at_once_; }

 private:
  const SenseEncoding<T>& first() const { return *sets_.front(); }

  SetsOfMaps<T> sets_;
  std::int64_t coils_at_once_;
  mutable Array<Complex<T>> coil_images_;  ///< of the coils that are transformed together
};

/// E^H E with T by FFT; `point_spread` is q on the periodic difference grid.
template <class T>
class MapSetsNormal final : public HermitianOperator<T> {
 public:
  MapSetsNormal(std::shared_ptr<const MapSetsEncoding<T>> encoding, const Array<Complex<T>>& point_spread);
  Shape domain() const override { return encoding_->domain(); }
  Device device() const override { return encoding_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

 private:
  std::shared_ptr<const MapSetsEncoding<T>> encoding_;
  std::shared_ptr<const HermitianOperator<T>> of_coil_;  ///< T
  mutable Array<Complex<T>> coil_images_, products_;     ///< of the coils that are taken together
};

}  // namespace fhd
