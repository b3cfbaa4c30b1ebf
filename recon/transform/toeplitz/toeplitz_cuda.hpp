#pragma once
// Shared by the operators of toeplitz.hpp on a device: coils and images in batches. For .cu files only.
#include "recon/array/device_cuda.hpp"
#include "recon/transform/toeplitz/toeplitz_backends.hpp"

namespace fhd {

template <class T>
class ToeplitzOnDevice : public ToeplitzNormal<T> {
 public:
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const final { forward_each(in, out); }

  void forward_each(const Array<Complex<T>>& in, Array<Complex<T>>& out) const final {
    this->check_images(in, out);
    const CurrentDevice guard(this->device());
    const std::int64_t voxels = extents_.voxels(), all = in.size() / voxels;
    for (std::int64_t image = 0; image < all; image += batch_.images) {
      const std::int64_t images = std::min(batch_.images, all - image);
      for (std::int64_t coil = 0; coil < coils(); coil += batch_.coils)
        add_coils(in.data() + image * voxels, images, coil, out.data() + image * voxels);
    }
  }

 protected:
  /// The device of the maps is current.
  ToeplitzOnDevice(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps, std::int64_t coils_at_once,
                   std::int64_t images_at_once)
      : ToeplitzNormal<T>(point_spread, std::move(maps)),
        extents_({maps_.extent(3), maps_.extent(2), maps_.extent(1)},
                 {point_spread.extent(2), point_spread.extent(1), point_spread.extent(0)}, precision_of<T>()),
        batch_(extents_, maps_.extent(0), coils_at_once, images_at_once, sizeof(Complex<T>),
               cache_bytes_of(maps_.device())) {
    if (extents_.voxels() > 0x7fffffff) throw Error("image", "fewer than 2^31 voxels", this->domain().text());
  }

  /// The part of a batch of coils, from `first` on, of so many images; the first batch is not added to anything.
  virtual void add_coils(const Complex<T>* in, std::int64_t images, std::int64_t first,
                         Complex<T>* out) const = 0;

  std::int64_t coils() const { return maps_.extent(0); }
  /// Returns the coils of the batch that begins there.
  std::int64_t batch_coils(std::int64_t first) const { return std::min(batch_.coils, coils() - first); }

  using ToeplitzNormal<T>::maps_;
  ToeplitzExtents extents_;
  ToeplitzBatch batch_;
};

/// FFT(q) of more than one point by cuFFT, into as many elements on its device; done when it returns.
template <class T>
void transform_point_spread(const Array<Complex<T>>& point_spread, Complex<T>* spectrum);

/// Makes the operator by the passes of toeplitz_passes.cuh, for sizes whose ToeplitzExtents say so. The device of the maps is
/// current.
std::unique_ptr<ToeplitzNormal<float>> make_toeplitz_passes(const Array<Complex<float>>& point_spread,
                                                            Array<Complex<float>> maps,
                                                            std::int64_t coils_at_once,
                                                            std::int64_t images_at_once);

}  // namespace fhd
