#include "recon/transform/toeplitz/toeplitz_cpu.hpp"

#include <omp.h>

#include <algorithm>

namespace fhd {

template <class T>
Array<T> transfer_function(const Array<Complex<T>>& point_spread) {
  if (point_spread.shape().rank() != 3)
    throw Error("point-spread kernel", "[z][y][x]", point_spread.shape().text());
  Array<Complex<T>> spectrum(point_spread);
  fft_3d(spectrum, -1);
  Array<T> transfer(spectrum.shape());
  const T scale = T(1) / static_cast<T>(spectrum.size());
  for (std::int64_t i = 0; i < spectrum.size(); ++i) transfer[i] = spectrum[i].re * scale;
  return transfer;
}

namespace {

/// The transfer function in the order in which forward() meets it: [unit][n][wide columns] for the units of
/// the last axis with extent (a column chunk of x; along z for every y), zero beyond the last column.
template <class T>
Array<T> packed_transfer(const Array<Complex<T>>& point_spread) {
  const Array<T> transfer = transfer_function(point_spread);
  const std::int64_t gz = transfer.extent(0), gy = transfer.extent(1), gx = transfer.extent(2);
  if (gy == 1 && gz == 1) return transfer;
  constexpr std::int64_t wide = Fft1d<T>::wide;
  const std::int64_t chunks = (gx + wide - 1) / wide, n = gz > 1 ? gz : gy, rows = gz > 1 ? gy : 1;
  Array<T> packed(Shape{rows * chunks, n, wide});
#pragma omp parallel for schedule(static)
  for (std::int64_t unit = 0; unit < rows * chunks; ++unit)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t first = unit % chunks * wide, line = gz > 1 ? i * gy + unit / chunks : i;
      std::copy_n(transfer.data() + line * gx + first, std::min(wide, gx - first),
                  packed.data() + (unit * n + i) * wide);
    }
  return packed;
}

}  // namespace

template <class T>
ToeplitzNormalCpu<T>::ToeplitzNormalCpu(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps)
    : ToeplitzNormal<T>(point_spread, std::move(maps), 0),
      matrix_{maps_.extent(3), maps_.extent(2), maps_.extent(1)},
      grid_{point_spread.extent(2), point_spread.extent(1), point_spread.extent(0)},
      transfer_(packed_transfer(point_spread)),
      fft_x_(static_cast<int>(grid_[0]), 1),
      fft_y_(static_cast<int>(grid_[1]), Fft1d<T>::wide),
      fft_z_(static_cast<int>(grid_[2]), Fft1d<T>::wide) {
  // Rows one cache line longer than needed: columns of a power-of-two pitch would all fall into one cache
  // set.
  constexpr std::int64_t line = 64 / sizeof(Complex<T>);
  pitch_ = (grid_[0] + line - 1) / line * line + line;
  rows_ = grid_[2] > 1 ? grid_[1] : matrix_[1];
  work_ = Array<Complex<T>>(Shape{matrix_[2], rows_, pitch_});
  const std::int64_t buffer = std::max({grid_[0], grid_[1] * Fft1d<T>::wide, grid_[2] * Fft1d<T>::wide});
  buffers_ = Array<Complex<T>>(Shape{omp_get_max_threads(), (buffer + line - 1) / line * line + line});
}

namespace {

template <class Transform>
void timed(double& seconds, const Transform& transform) {
  const double start = omp_get_wtime();
  transform();
  seconds += omp_get_wtime() - start;
}

}  // namespace

/// S rho, zero-padded, FFT along x.
template <class T>
void ToeplitzNormalCpu<T>::pad_rows(const Complex<T>* image, const Complex<T>* map, Thread& own) const {
  const auto [nx, ny, nz] = matrix_;
  const std::int64_t gx = grid_[0];
  const bool along_x_only = grid_[1] == 1 && grid_[2] == 1;
#pragma omp for schedule(static)
  for (std::int64_t row = 0; row < nz * ny; ++row) {
    Complex<T>* at = work_.data() + (row / ny * rows_ + row % ny) * pitch_;
    for (std::int64_t x = 0; x < nx; ++x) at[x] = map[row * nx + x] * image[row * nx + x];
    std::fill(at + nx, at + gx, Complex<T>());
    timed(own.fft_seconds, [&] { fft_x_.forward(at); });
    if (along_x_only)
      for (std::int64_t x = 0; x < gx; ++x) at[x] *= transfer_.data()[x];
  }
}

/// Columns [n][wide] of the buffer, `loaded` elements and zeros, transformed; the first `stored` go back.
template <class T>
template <class Transform>
void ToeplitzNormalCpu<T>::for_columns(const Columns& columns, std::int64_t loaded, std::int64_t stored,
                                       Thread& own, const Transform& transform) const {
  constexpr std::int64_t wide = Fft1d<T>::wide;
  const std::int64_t gx = grid_[0], chunks = (gx + wide - 1) / wide, stride = columns.stride;
  Complex<T>* const buffer = own.buffer;
#pragma omp for schedule(static)
  for (std::int64_t unit = 0; unit < columns.slices * chunks; ++unit) {
    const std::int64_t first = unit % chunks * wide, used = std::min(wide, gx - first);
    Complex<T>* at = work_.data() + unit / chunks * columns.slice_stride + first;
    for (std::int64_t i = 0; i < loaded; ++i) {
      std::copy_n(at + i * stride, used, buffer + i * wide);
      std::fill(buffer + i * wide + used, buffer + (i + 1) * wide, Complex<T>());
    }
    std::fill(buffer + loaded * wide, buffer + columns.fft.size() * wide, Complex<T>());
    transform(unit);
    for (std::int64_t i = 0; i < stored; ++i) std::copy_n(buffer + i * wide, used, at + i * stride);
  }
}

/// FFT, transfer function, inverse FFT.
template <class T>
void ToeplitzNormalCpu<T>::convolve(const Fft1d<T>& fft, std::int64_t unit, Thread& own) const {
  Complex<T>* const buffer = own.buffer;
  timed(own.fft_seconds, [&] { fft.forward(buffer); });
  const std::int64_t size = std::int64_t{fft.size()} * Fft1d<T>::wide;
  const T* transfer = transfer_.data() + unit * size;
  for (std::int64_t i = 0; i < size; ++i) buffer[i] *= transfer[i];
  timed(own.fft_seconds, [&] { fft.backward(buffer); });
}

/// Inverse FFT along x, crop, sum of conj(S) over the coils.
template <class T>
void ToeplitzNormalCpu<T>::combine_rows(const Complex<T>* map, bool first, Complex<T>* image,
                                        Thread& own) const {
  const auto [nx, ny, nz] = matrix_;
  // Same rows, same threads as in pad_rows: the next coil may start without waiting.
#pragma omp for schedule(static) nowait
  for (std::int64_t row = 0; row < nz * ny; ++row) {
    Complex<T>* at = work_.data() + (row / ny * rows_ + row % ny) * pitch_;
    timed(own.fft_seconds, [&] { fft_x_.backward(at); });
    Complex<T>* sum = image + row * nx;
    const Complex<T>* s = map + row * nx;
    if (first)
      for (std::int64_t x = 0; x < nx; ++x) sum[x] = conj(s[x]) * at[x];
    else
      for (std::int64_t x = 0; x < nx; ++x) sum[x] += conj(s[x]) * at[x];
  }
}

template <class T>
void ToeplitzNormalCpu<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  this->check_images(in, out);
  const auto [nx, ny, nz] = matrix_;
  const auto [gx, gy, gz] = grid_;
  const std::int64_t coils = maps_.extent(0), chunks = (gx + Fft1d<T>::wide - 1) / Fft1d<T>::wide;
  const Columns y{fft_y_, nz, rows_ * pitch_, pitch_}, z{fft_z_, rows_, pitch_, rows_ * pitch_};
  double fft_seconds = 0, thread_seconds = 0;
#pragma omp parallel num_threads(static_cast<int>(buffers_.extent(0))) reduction(+ : fft_seconds, thread_seconds)
  {
    const double began = omp_get_wtime();
    Thread own{buffers_.data() + omp_get_thread_num() * buffers_.extent(1)};
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const Complex<T>* map = maps_.data() + coil * in.size();
      pad_rows(in.data(), map, own);
      if (gz > 1) {
        if (gy > 1)
          for_columns(y, ny, gy, own,
                      [&](std::int64_t) { timed(own.fft_seconds, [&] { fft_y_.forward(own.buffer); }); });
        for_columns(z, nz, nz, own, [&](std::int64_t unit) { convolve(fft_z_, unit, own); });
        if (gy > 1)
          for_columns(y, gy, ny, own,
                      [&](std::int64_t) { timed(own.fft_seconds, [&] { fft_y_.backward(own.buffer); }); });
      } else if (gy > 1) {
        for_columns(y, ny, ny, own, [&](std::int64_t unit) { convolve(fft_y_, unit % chunks, own); });
      }
      combine_rows(map, coil == 0, out.data(), own);
    }
    fft_seconds += own.fft_seconds;
    thread_seconds += omp_get_wtime() - began;
  }
  fft_seconds_ += fft_seconds;
  thread_seconds_ += thread_seconds;
}

#define FHD_INSTANTIATE(T)             \
  template class ToeplitzNormalCpu<T>; \
  template Array<T> transfer_function<T>(const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
