#pragma once
// Fourier transforms on Cartesian grids, on the CPU (FFTW). Larger transforms are made of many short ones in
// cache-sized buffers, so that padded zeros are skipped, threads share the work without FFTW's own threading,
// and the result does not depend on the number of threads or on timing (plans are estimated, not measured).
#include <memory>

#include "recon/array/array.hpp"

namespace fhd {

/// The smallest size >= n whose prime factors are 2, 3, 5 and 7.
int good_fft_size(int n);

/// Unnormalised transforms of `columns` interleaved sequences of length n, in place: data[i * columns +
/// column], 64-byte aligned. forward: exp(-i 2 pi j l / n), backward: exp(+i ...). Safe to call from several
/// threads.
template <class T>
class Fft1d {
 public:
  Fft1d(int n, int columns);
  ~Fft1d();
  Fft1d(Fft1d&&) noexcept;
  Fft1d& operator=(Fft1d&&) noexcept;

  int size() const { return n_; }
  int columns() const { return columns_; }
  void forward(Complex<T>* data) const;
  void backward(Complex<T>* data) const;

  /// Columns of a buffer that fill two cache lines: FFTW then works on whole vectors.
  static constexpr int wide = 128 / sizeof(Complex<T>);

 private:
  struct Plans;
  int n_, columns_;
  std::unique_ptr<Plans> plans_;
};

/// In-place transform of grid [z][y][x] along all axes, unnormalised; sign -1 (forward) or +1 (backward).
template <class T>
void fft_3d(Array<Complex<T>>& grid, int sign);

}  // namespace fhd
