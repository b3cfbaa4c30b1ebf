#include "recon/transform/toeplitz/toeplitz_cpu.hpp"

#include <omp.h>

#include <algorithm>

#include "recon/transform/toeplitz/toeplitz_cuda.hpp"

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
    : matrix_{maps.extent(3), maps.extent(2), maps.extent(1)},
      grid_{point_spread.extent(2), point_spread.extent(1), point_spread.extent(0)},
      maps_(std::move(maps)),
      transfer_(packed_transfer(point_spread)),
      fft_x_(static_cast<int>(grid_[0]), 1),
      fft_y_(static_cast<int>(grid_[1]), Fft1d<T>::wide),
      fft_z_(static_cast<int>(grid_[2]), Fft1d<T>::wide) {
  for (int axis = 0; axis < 3; ++axis)
    if (grid_[axis] < 2 * matrix_[axis] - 1)
      throw Error("point-spread kernel", "a grid of at least twice the matrix size",
                  point_spread.shape().text());
  // Rows one cache line longer than needed: columns of a power-of-two pitch would all fall into one cache
  // set.
  constexpr std::int64_t line = 64 / sizeof(Complex<T>);
  pitch_ = (grid_[0] + line - 1) / line * line + line;
  rows_ = grid_[2] > 1 ? grid_[1] : matrix_[1];
  work_ = Array<Complex<T>>(Shape{matrix_[2], rows_, pitch_});
  const std::int64_t buffer = std::max({grid_[0], grid_[1] * Fft1d<T>::wide, grid_[2] * Fft1d<T>::wide});
  buffers_ = Array<Complex<T>>(Shape{omp_get_max_threads(), (buffer + line - 1) / line * line + line});
}

template <class T>
void ToeplitzNormalCpu<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  require_shape(in, domain(), "image");
  require_shape(out, domain(), "image");
  constexpr std::int64_t wide = Fft1d<T>::wide;
  const auto [nx, ny, nz] = matrix_;
  const auto [gx, gy, gz] = grid_;
  const std::int64_t coils = maps_.extent(0), voxels = nx * ny * nz, chunks = (gx + wide - 1) / wide;
  const bool along_y = gy > 1, along_z = gz > 1;
  double fft_seconds = 0, thread_seconds = 0;

#pragma omp parallel num_threads(static_cast<int>(buffers_.extent(0))) reduction(+ : fft_seconds, thread_seconds)
  {
    const double began = omp_get_wtime();
    Complex<T>* buffer = buffers_.data() + omp_get_thread_num() * buffers_.extent(1);
    const auto timed = [&](auto&& transform) {
      const double start = omp_get_wtime();
      transform();
      fft_seconds += omp_get_wtime() - start;
    };
    // Columns [n][wide] of the buffer from and to rows of work_ that lie `stride` apart.
    const auto load = [&](const Complex<T>* from, std::int64_t stride, std::int64_t n, std::int64_t size,
                          std::int64_t used) {
      for (std::int64_t i = 0; i < n; ++i) {
        std::copy_n(from + i * stride, used, buffer + i * wide);
        std::fill(buffer + i * wide + used, buffer + (i + 1) * wide, Complex<T>());
      }
      std::fill(buffer + n * wide, buffer + size * wide, Complex<T>());
    };
    const auto store = [&](Complex<T>* to, std::int64_t stride, std::int64_t n, std::int64_t used) {
      for (std::int64_t i = 0; i < n; ++i) std::copy_n(buffer + i * wide, used, to + i * stride);
    };
    const auto multiply = [&](std::int64_t unit, std::int64_t n) {
      const T* transfer = transfer_.data() + unit * n * wide;
      for (std::int64_t i = 0; i < n * wide; ++i) buffer[i] *= transfer[i];
    };

    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const Complex<T>* map = maps_.data() + coil * voxels;
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < nz * ny; ++row) {  // S rho, zero-padded, FFT along x
        Complex<T>* at = work_.data() + (row / ny * rows_ + row % ny) * pitch_;
        for (std::int64_t x = 0; x < nx; ++x) at[x] = map[row * nx + x] * in.data()[row * nx + x];
        std::fill(at + nx, at + gx, Complex<T>());
        timed([&] { fft_x_.forward(at); });
        if (!along_y && !along_z)
          for (std::int64_t x = 0; x < gx; ++x) at[x] *= transfer_.data()[x];
      }
      if (along_y) {
#pragma omp for schedule(static)
        for (std::int64_t unit = 0; unit < nz * chunks; ++unit) {
          const std::int64_t first = unit % chunks * wide, used = std::min(wide, gx - first);
          Complex<T>* at = work_.data() + unit / chunks * rows_ * pitch_ + first;
          load(at, pitch_, ny, gy, used);
          timed([&] { fft_y_.forward(buffer); });
          if (along_z) {
            store(at, pitch_, gy, used);
          } else {
            multiply(unit % chunks, gy);
            timed([&] { fft_y_.backward(buffer); });
            store(at, pitch_, ny, used);
          }
        }
      }
      if (along_z) {
#pragma omp for schedule(static)
        for (std::int64_t unit = 0; unit < rows_ * chunks; ++unit) {
          const std::int64_t first = unit % chunks * wide, used = std::min(wide, gx - first),
                             y = unit / chunks;
          Complex<T>* at = work_.data() + y * pitch_ + first;
          load(at, rows_ * pitch_, nz, gz, used);
          timed([&] { fft_z_.forward(buffer); });
          multiply(unit, gz);
          timed([&] { fft_z_.backward(buffer); });
          store(at, rows_ * pitch_, nz, used);
        }
        if (along_y) {
#pragma omp for schedule(static)
          for (std::int64_t unit = 0; unit < nz * chunks; ++unit) {
            const std::int64_t first = unit % chunks * wide, used = std::min(wide, gx - first);
            Complex<T>* at = work_.data() + unit / chunks * rows_ * pitch_ + first;
            load(at, pitch_, gy, gy, used);
            timed([&] { fft_y_.backward(buffer); });
            store(at, pitch_, ny, used);
          }
        }
      }
      // Same rows, same threads as the first loop: the next coil may start without waiting.
#pragma omp for schedule(static) nowait
      for (std::int64_t row = 0; row < nz * ny; ++row) {  // IFFT along x, crop, sum conj(S) over coils
        Complex<T>* at = work_.data() + (row / ny * rows_ + row % ny) * pitch_;
        timed([&] { fft_x_.backward(at); });
        Complex<T>* sum = out.data() + row * nx;
        const Complex<T>* s = map + row * nx;
        if (coil == 0)
          for (std::int64_t x = 0; x < nx; ++x) sum[x] = conj(s[x]) * at[x];
        else
          for (std::int64_t x = 0; x < nx; ++x) sum[x] += conj(s[x]) * at[x];
      }
    }
    thread_seconds += omp_get_wtime() - began;
  }
  fft_seconds_ += fft_seconds;
  thread_seconds_ += thread_seconds;
}

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal(const Array<Complex<T>>& point_spread,
                                                           const Array<Complex<T>>& maps,
                                                           std::int64_t coils_at_once) {
  if (maps.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps.shape().text());
  if (maps.device() != point_spread.device())
    throw Error("Toeplitz operator", "maps and point-spread kernel on one device", "two devices");
  if (maps.device().is_cuda()) return make_toeplitz_normal_cuda(point_spread, maps, coils_at_once);
  return std::make_unique<ToeplitzNormalCpu<T>>(point_spread, maps);
}

#define FHD_INSTANTIATE(T)                                                \
  template class ToeplitzNormalCpu<T>;                                    \
  template Array<T> transfer_function<T>(const Array<Complex<T>>&);       \
  template std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal<T>( \
      const Array<Complex<T>>&, const Array<Complex<T>>&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
