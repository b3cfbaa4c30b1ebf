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
class ToeplitzNormalCpu final : public ToeplitzNormal<T> {
 public:
  ToeplitzNormalCpu(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps);
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override;

  /// Seconds spent inside FFTW so far, summed over threads, and seconds of all threads in forward().
  double fft_seconds() const { return fft_seconds_; }
  double thread_seconds() const { return thread_seconds_; }

 private:
  /// One thread's buffer and its seconds in FFTW.
  struct Thread {
    Complex<T>* buffer;
    double fft_seconds = 0;
  };
  /// Columns of work_ along y or z: `slices` of them, elements of a column `stride` apart.
  struct Columns {
    const Fft1d<T>& fft;
    std::int64_t slices, slice_stride, stride;
  };
  // The passes of one coil; each is called by all threads.
  void pad_rows(const Complex<T>* image, const Complex<T>* map, Thread& own) const;
  template <class Transform>
  void for_columns(const Columns& columns, std::int64_t loaded, std::int64_t stored, Thread& own,
                   const Transform& transform) const;
  void convolve(const Fft1d<T>& fft, std::int64_t unit, Thread& own) const;
  void combine_rows(const Complex<T>* map, bool first, Complex<T>* image, Thread& own) const;

  using ToeplitzNormal<T>::maps_;
  std::array<std::int64_t, 3> matrix_, grid_;  // x, y, z
  Array<T> transfer_;                          // in the order of use, see packed_transfer
  Fft1d<T> fft_x_, fft_y_, fft_z_;
  std::int64_t pitch_, rows_;          // of work_: [z][rows_][pitch_]
  mutable Array<Complex<T>> work_;     // one coil
  mutable Array<Complex<T>> buffers_;  // [thread][...]
  mutable double fft_seconds_ = 0, thread_seconds_ = 0;
};

}  // namespace fhd
