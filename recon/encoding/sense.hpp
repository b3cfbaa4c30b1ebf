#pragma once
// Sensitivity encoding: E = F S, d_c = F (S_c rho). Source: Pruessmann et al., MRM 46:638 (2001). Or with two sets of maps
// ("soft" SENSE), each with an image of its own:
//
//     d_c = F (sum_s S_sc rho_s),    (E^H E rho)_s = sum_c conj(S_sc) T (sum_s' S_s'c rho_s')
//
// Where an object is folded within the field of view, a voxel holds two places, which coils see with two different
// sensitivities: one map cannot tell them, a second set can. Source: Uecker et al., MRM 71:990 (2014).
#include <cstdint>
#include <memory>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/array/linear_operator.hpp"
#include "recon/array/work.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// coil_images[coil] = maps[coil] image; image [z][y][x], maps and coil_images [coil][z][y][x], one device.
template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images);
/// image = sum over coils of conj(maps[coil]) coil_images[coil].
template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image);
/// image /= sum |maps|^2 over coils, 0 where all maps are 0: makes of combine_coils the combination of Roemer et al., MRM
/// 16:192 (1990).
template <class T>
void divide_by_squares(const Array<Complex<T>>& maps, Array<Complex<T>>& image);
/// sqrt(sum over coils |coil_images|^2) as a real-valued image, on the device of its argument.
template <class T>
Array<Complex<T>> root_sum_of_squares(const Array<Complex<T>>& coil_images);

/// E = F S: image [z][y][x] -> samples [coil][sample], or a stack of images [image][z][y][x] -> [image and coil][sample]; F is
/// any transform of the samples, with fields or without. One thread at a time calls the encodings of one transform, and the normal
/// operators made of them (linear_operator.hpp). Images of two sets of maps are [set and z][y][x]; each coil is transformed once. Of samples that a group of
/// processes shares, forward gives the part of this process, adjoint the image of all.
template <class T>
class SenseEncoding final : public LinearOperator<T> {
 public:
  /// `maps` is [coil][z][y][x] on the device of the transform; one coil of ones when the scan has no maps.
  /// `coils_at_once` coils (a divisor of all; 0: all) are transformed together: fewer take less memory. Of a stack,
  /// `images_at_once` images with all their coils. `second_maps`: empty: one set.
  SenseEncoding(std::shared_ptr<const FourierTransform<T>> transform, Array<Complex<T>> maps,
                std::int64_t coils_at_once = 0, std::int64_t images_at_once = 1,
                Array<Complex<T>> second_maps = {},
                std::shared_ptr<const ProcessGroup> group = std::make_shared<SingleProcess>());
  Shape domain() const override { return {sets() * maps_.extent(1), maps_.extent(2), maps_.extent(3)}; }
  /// Returns the shape of the image of one set.
  Shape image() const { return {maps_.extent(1), maps_.extent(2), maps_.extent(3)}; }
  Shape range() const override { return {maps_.extent(0), transform_->sample_count()}; }
  Device device() const override { return transform_->device(); }
  std::int64_t sets() const { return second_maps_.empty() ? 1 : 2; }
  const Array<Complex<T>>& maps(std::int64_t set = 0) const { return set == 0 ? maps_ : second_maps_; }
  std::int64_t coils_at_once() const { return coils_at_once_; }
  std::int64_t images_at_once() const { return images_at_once_; }
  const std::shared_ptr<const ProcessGroup>& group() const { return group_; }
  const FourierTransform<T>& transform() const { return *transform_; }
  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    encode(*transform_, images, samples);
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    combine(*transform_, samples, images);
    sum_over(*group_, images);
  }
  /// Applies the encoding with another transform of the same sizes and device; the adjoint of the samples of this process.
  void encode(const FourierTransform<T>& transform, const Array<Complex<T>>& images,
              Array<Complex<T>>& samples) const;
  void combine(const FourierTransform<T>& transform, const Array<Complex<T>>& samples,
               Array<Complex<T>>& images) const;
  /// coil_images = sum over sets of S_c image, of `count` coils from `first` on.
  void to_coils(const Complex<T>* image, std::int64_t first, std::int64_t count,
                Complex<T>* coil_images) const;
  /// image = sum over these coils of conj(S_c) coil_images, or that much more where it `adds`.
  void from_coils(const Complex<T>* coil_images, std::int64_t first, std::int64_t count, bool adds,
                  Complex<T>* image) const;

 private:
  /// Coils, or images with their coils, that are transformed together: a view of coil_images_.
  Array<Complex<T>> together(std::int64_t count) const {
    return Array<Complex<T>>::view(coil_images_.data(), transform_->images_shape(count), device());
  }

  std::shared_ptr<const FourierTransform<T>> transform_;
  Array<Complex<T>> maps_, second_maps_;
  std::int64_t coils_at_once_, images_at_once_;
  std::shared_ptr<const ProcessGroup> group_;
  mutable Array<Complex<T>> coil_images_;  ///< of the coils, and images, that are transformed together
};

/// One pointwise loop that writes, or sums up, so many bytes.
inline Work written_pass(double bytes) { return Work(WorkUnit::byte, bytes) + Work(WorkUnit::region, 1); }
/// Returns the bytes of one image.
double image_bytes(const TransformSizes& sizes);
/// SenseEncoding, from sizes alone: its bytes are beside its maps and its transform, whose scratch is the scratch.
OperatorCost sense_cost(const TransformCost& transform, const TransformSizes& sizes, std::int64_t coils,
                        std::int64_t coils_at_once = 0, std::int64_t images_at_once = 1);

/// Returns where any of the maps, or coil images, [coil][z][y][x] on the host, is not zero, [voxel].
template <class T>
std::vector<bool> voxels_with_values(const Array<Complex<T>>& maps);
/// Returns the numbers of the true values, ascending; empty: all are true.
std::vector<std::int64_t> numbers_of(const std::vector<bool>& values);

/// Returns the samples that an image should give by the full equation of domain/scan.hpp, as [coil][sample] on the host: exact
/// sums on `device`, no factors, no gridding. `image` is [z][y][x] of the matrix of the scan, on the host; its k-space does not
/// count. A scan without maps has one coil of sensitivity 1. Relative error <= 1e-12 in double, <= 5e-6 in single precision.
template <class T>
Array<Complex<T>> exact_samples(const Array<Complex<T>>& image, const Scan& scan, Device device);

/// Returns E^H E, both transforms carried out: slow, and the reference of the Toeplitz form.
template <class T>
std::shared_ptr<const HermitianOperator<T>> explicit_normal(
    std::shared_ptr<const LinearOperator<T>> encoding) {
  const Shape image = encoding->domain();
  const Device device = encoding->device();
  Array<Complex<T>> samples(encoding->range(), device);
  return hermitian_operator<T>(
      image, device,
      [encoding = std::move(encoding), samples = std::move(samples)](const auto& in, auto& out) mutable {
        encoding->forward(in, samples);
        encoding->adjoint(samples, out);
      });
}

}  // namespace fhd
