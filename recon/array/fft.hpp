#pragma once
// Fourier transforms on Cartesian grids, on the CPU. Larger transforms are made of many short ones in cache-sized
// buffers, so that padded zeros are skipped, threads share the work without FFTW's own threading, and the result does
// not depend on the number of threads or on timing (plans are estimated, not measured).
//
// Columns of two cache lines take ColumnFft, where their length has small prime factors: 3 ... 6 times as fast as FFTW's
// estimated plans, and 2 ... 4 times as its best ones. What remains is FFTW's.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "recon/array/array.hpp"
#include "recon/array/column_fft.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// The smallest size >= n whose prime factors are 2, 3, 5 and 7.
int good_fft_size(int n);

/// Unnormalised transforms of `columns` interleaved sequences of length n, in place: data[i * columns +
/// column], 64-byte aligned, as `scratch` is, which holds as much. forward: exp(-i 2 pi j l / n), backward: exp(+i ...).
/// Safe to call from several threads.
template <class T>
class Fft1d {
 public:
  Fft1d(int n, int columns);
  int size() const { return n_; }
  void forward(Complex<T>* data, Complex<T>* scratch) const { run(data, scratch, false); }
  void backward(Complex<T>* data, Complex<T>* scratch) const { run(data, scratch, true); }

  /// Columns of a buffer that fill two cache lines: whole vectors.
  static constexpr int wide = ColumnFft<T>::columns;

 private:
  void run(Complex<T>* data, Complex<T>* scratch, bool backward) const;

  int n_;
  std::optional<ColumnFft<T>> columns_;       ///< where it fits, else:
  std::shared_ptr<void> forward_, backward_;  ///< plans of FFTW
};

/// Unnormalised transforms of lines of n numbers in place, `wide` of them side by side as the columns of Fft1d; few ones
/// are FFTW's. Safe to call from several threads.
template <class T>
class LineFft {
 public:
  static constexpr std::int64_t wide = Fft1d<T>::wide;

  /// For groups of `count` lines at most.
  LineFft(int n, std::int64_t count);
  /// Numbers of the memory that a call takes.
  std::int64_t scratch_elements() const { return (side_by_side_ ? 2 : 1) * columns_; }
  /// count <= wide lines, `pitch` apart; sign -1 (forward) or +1 (backward); `scratch` 64-byte aligned.
  void operator()(Complex<T>* lines, std::int64_t pitch, std::int64_t count, int sign,
                  Complex<T>* scratch) const;

  /// Fewer lines are transformed one after the other.
  static constexpr int least_columns = 4;

 private:
  bool side_by_side_;     ///< one line a lane
  std::int64_t columns_;  ///< numbers of the columns, whole cache lines
  Fft1d<T> fft_;
};

/// In-place transforms of grids [z][y][x] along all axes, unnormalised; planned, and with their scratch, once. One call at
/// a time.
template <class T>
class GridFft {
 public:
  explicit GridFft(const Shape& grid);
  /// Transforms `count` grids, one after the other in memory: a grid a thread where there are enough of them, else all threads
  /// for each, with the same digits. sign -1 (forward) or +1 (backward).
  void operator()(Complex<T>* grids, std::int64_t count, int sign) const;

 private:
  template <class Units>
  void transform(Complex<T>* grid, int sign, const Units& for_units) const;

  std::int64_t nz_, ny_, nx_;
  LineFft<T> x_;
  Fft1d<T> y_, z_;
  std::int64_t scratch_elements_;
  mutable Array<Complex<T>> scratch_;  ///< [thread]
};

/// One such transform.
template <class T>
void fft_3d(Array<Complex<T>>& grid, int sign);

/// Transforms `count` images [z][y][x], one after the other, along all their axes, in place, unnormalised: exp(sign i ...),
/// of all images, or of fewer where a stack begins with `used` that count. Plans and work areas are made once. Of a GPU:
/// to be used by the thread that made it.
template <class T>
using StackFft = std::function<void(Array<Complex<T>>& stack, std::int64_t used, int sign)>;

/// `image` is [z][y][x].
template <class T>
StackFft<T> make_stack_fft(const Shape& image, std::int64_t count, Device device);

namespace device {

/// The CUDA side, in cufft.cu.
template <class T>
StackFft<T> make_stack_fft(const Shape& image, std::int64_t count, Device device);

}  // namespace device
// --- What FFTs cost, counted as WorkUnit counts them. ---

/// Operations of FFTs of `count` sequences of length n: 5 n log2 n each. Lengths with large prime factors
/// take some three times as many.
inline double fft_operations(double n, double count) {
  const bool is_good = ColumnFft<float>::supports(static_cast<int>(std::min(n, 0x1p30)));
  return 5 * n * std::log2(std::max(n, 2.0)) * count * (is_good ? 1 : 3);
}

/// Returns the operations of a whole grid, every row along every axis.
inline double full_fft_operations(const std::array<double, 3>& size) {
  double operations = 0;
  for (const double n : size)
    if (n > 1) operations += fft_operations(n, size[0] * size[1] * size[2] / n);
  return operations;
}

/// Returns the extra time of FFTs of a grid of `bytes` that comes from memory, forth and back on every axis: the
/// rates of a CPU are those of a grid in the caches; a GPU is measured with large ones.
inline Work beyond_cache(double bytes, Device device) {
  constexpr double cached = 8 << 20;
  return {WorkUnit::byte, device.is_cuda() ? 0.0 : 6 * std::max(0.0, bytes - cached)};
}

}  // namespace fhd
