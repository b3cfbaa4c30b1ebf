#pragma once
#include <array>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

/// The CPU operator. Passes along x, y and z run over short FFTs in cache-sized buffers; rows of zeros are
/// never transformed, rows outside the image are never transformed back, and the pass along the last axis
/// multiplies by the transfer function between its two FFTs. Floor: the FFTs themselves, about 2 (1/4 + 1/2 +
/// 1) 5 (2N)^3 log2(2N) operations per coil in 3D.
template <class T>
class ToeplitzNormalCpu final : public HermitianOperator<T> {
 public:
  ToeplitzNormalCpu(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps);
  Shape domain() const override { return {maps_.extent(1), maps_.extent(2), maps_.extent(3)}; }
  Device device() const override { return Device::cpu(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

  /// Seconds spent inside FFTW so far, summed over threads, and seconds of all threads in forward().
  double fft_seconds() const { return fft_seconds_; }
  double thread_seconds() const { return thread_seconds_; }

 private:
  std::array<std::int64_t, 3> matrix_, grid_;  // x, y, z
  Array<Complex<T>> maps_;
  Array<T> transfer_;  // in the order of use, see packed_transfer
  Fft1d<T> fft_x_, fft_y_, fft_z_;
  std::int64_t pitch_, rows_;          // of work_: [z][rows_][pitch_]
  mutable Array<Complex<T>> work_;     // one coil
  mutable Array<Complex<T>> buffers_;  // [thread][...]
  mutable double fft_seconds_ = 0, thread_seconds_ = 0;
};

}  // namespace fhd
