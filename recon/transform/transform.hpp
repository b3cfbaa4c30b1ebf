#pragma once
// The contract of every Fourier transform of a trajectory (direct, gridded):
//
//   forward  (F  rho)(c, m) = sum_p rho_c(p) exp(-i 2 pi k_m . r_p)
//   adjoint  (F^H d)(c, p)  = sum_m d_c(m)   exp(+i 2 pi k_m . r_p)
//
// with k in cycles/FOV and r_p = (n - floor(N/2)) / N per axis. No hidden scale: the adjoint is the exact
// conjugate transpose. Every coil (or image of a batch) c is transformed on its own.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "recon/array/array.hpp"
#include "recon/array/work.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// Samples of a trajectory, and how many of their positions along x, and along x and y, differ: the direct
/// adjoint on the CPU takes those that agree together (direct/sample_groups.hpp). Not known: all differ.
struct SampleCount {
  std::int64_t all = 0, x = 0, xy = 0;
};

struct TransformSizes {
  std::array<int, 3> matrix_size{1, 1, 1};
  SampleCount samples;
  Precision precision = Precision::single_precision;
  Device device;
};

/// Placing a sample in its tile or group takes about as long as copying so many bytes.
inline constexpr double bytes_of_sorting = 400;

/// The cost of a transform, its bytes and its accuracy, stated by the transform itself and known from sizes alone, so that a
/// plan asks the same rule as the transform that is made later. Bytes are those of the arrays on its device.
class TransformCost {
 public:
  virtual ~TransformCost() = default;
  /// Returns the work of the constructor, and of one call for so many coils.
  virtual Work making() const = 0;
  virtual Work forward(std::int64_t coils) const = 0;
  virtual Work adjoint(std::int64_t coils) const = 0;
  /// Held as long as the transform lives, before the first call.
  virtual std::size_t bytes() const = 0;
  /// Taken beside by a call for so many coils, the larger of forward and adjoint.
  virtual std::size_t scratch_bytes(std::int64_t coils) const = 0;
  /// Relative l2 error that is promised.
  virtual double accuracy() const = 0;
  /// Returns the work of the point-spread kernel q on the periodic difference grid with the same kind of sums, and the bytes it
  /// takes in the making beside its result.
  virtual Work point_spread() const = 0;
  virtual std::size_t point_spread_scratch_bytes() const = 0;
};

/// T is float or double. Arrays live on the device of the transform; anything else throws Error.
///
/// Threads: forward and adjoint use scratch of the transform, although they are const. Two threads must not call one
/// transform at the same time, unless it locks itself (the direct one of the CPU does); they may call two transforms, and
/// cost() at any time.
template <class T>
class FourierTransform {
 public:
  FourierTransform(std::array<int, 3> matrix_size, std::int64_t sample_count, Device device)
      : matrix_size_(matrix_size), sample_count_(sample_count), device_(device) {}
  FourierTransform(const FourierTransform&) = delete;
  FourierTransform& operator=(const FourierTransform&) = delete;
  virtual ~FourierTransform() = default;

  /// images [coil][z][y][x] -> samples [coil][sample], overwritten.
  virtual void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const = 0;
  /// samples [coil][sample] -> images [coil][z][y][x], overwritten.
  virtual void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const = 0;
  /// Returns the cost of this transform, known from its sizes.
  virtual const TransformCost& cost() const = 0;

  std::array<int, 3> matrix_size() const { return matrix_size_; }
  std::int64_t sample_count() const { return sample_count_; }
  Device device() const { return device_; }
  Shape images_shape(std::int64_t coils) const {
    return {coils, matrix_size_[2], matrix_size_[1], matrix_size_[0]};
  }
  Shape samples_shape(std::int64_t coils) const { return {coils, sample_count_}; }

 protected:
  /// Throws unless both arrays have the shapes of one batch of coils and lie on this device; returns coils.
  std::int64_t check_batch(const Array<Complex<T>>& images, const Array<Complex<T>>& samples) const {
    if (images.shape().rank() != 4) throw Error("images", "[coil][z][y][x]", images.shape().text());
    const auto coils = images.extent(0);
    require_shape(images, images_shape(coils), "images");
    require_shape(samples, samples_shape(coils), "samples");
    if (images.device() != device_ || samples.device() != device_)
      throw Error("Fourier transform", "arrays on the device of the transform", "arrays on another device");
    return coils;
  }

 private:
  std::array<int, 3> matrix_size_;
  std::int64_t sample_count_;
  Device device_;
};

/// Throws unless there are samples at positions.
inline void require_trajectory(const Trajectory& trajectory) {
  if (trajectory.k.shape().rank() != 2 || trajectory.k.extent(0) != 3 || trajectory.sample_count() < 1)
    throw Error("trajectory", "[3][sample] with at least one sample", trajectory.k.shape().text());
}

/// The direct sums that are wanted on a GPU.
struct DirectChoice {
  GpuSums sums = GpuSums::automatic;
  double accuracy = 1e-5;  ///< relative l2 error accepted
};
inline DirectChoice choice_of(const TransformSettings& settings) {
  return {settings.gpu_sums, settings.accuracy};
}

/// Exact sums over all pairs of samples and voxels: direct_cpu.cpp, direct_cuda.cu, matrix_sums_cuda.cu.
/// Error against the double-precision oracle: <= 3e-5 in single precision (N <= 256), <= 1e-12 in double; <= 5e-4 on a GPU
/// where no more than that is asked for.
template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform(const Trajectory& trajectory,
                                                           std::array<int, 3> matrix_size, Device device,
                                                           DirectChoice choice = {});

/// of_cpu: on a GPU, too, the kernel and grid that the CPU takes, so that the results of both differ by rounding
/// alone.
enum class GriddingChoice { fastest, of_cpu };

/// Convolution onto an oversampled grid and an FFT: gridded_cpu.cpp. `accuracy` is the relative l2 error that
/// the caller accepts, 1e-1 ... 1e-6 (float) or 1e-12 (double); the kernel width follows from it.
template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform(const Trajectory& trajectory,
                                                            std::array<int, 3> matrix_size, double accuracy,
                                                            Device device,
                                                            GriddingChoice choice = GriddingChoice::fastest);

}  // namespace fhd
