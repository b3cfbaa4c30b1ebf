#include "recon/transform/toeplitz/toeplitz.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "recon/array/fft.hpp"
#include "recon/array/interruption.hpp"
#include "recon/array/rows.hpp"
#include "recon/transform/toeplitz/toeplitz_backends.hpp"

namespace fhd {

template <class T>
ToeplitzNormal<T>::ToeplitzNormal(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps)
    : maps_(std::move(maps)) {
  for (int axis = 0; axis < 3; ++axis)
    if (point_spread.extent(axis) < 2 * domain()[axis] - 1)
      throw Error("point-spread kernel", "a grid of at least twice the matrix size",
                  point_spread.shape().text());
}

template <class T>
void ToeplitzNormal<T>::check_images(const Array<Complex<T>>& in, const Array<Complex<T>>& out) const {
  const Shape one = domain();
  const bool is_stack = in.shape().rank() == 4;
  require_shape(in, is_stack ? Shape{in.extent(0), one[0], one[1], one[2]} : one, "image");
  require_shape(out, in.shape(), "image");
  if (in.device() != device() || out.device() != device())
    throw Error("Toeplitz operator", "images on the device of the operator", "an image on another device");
}

// --- Cost ---

namespace {

using Sizes = std::array<double, 3>;  // x, y, z

/// Operations of one coil: rows of zeros are skipped.
double pruned_operations(const Sizes& n, const Sizes& g) {
  double operations = 2 * fft_operations(g[0], n[1] * n[2]);
  if (g[1] > 1) operations += 2 * fft_operations(g[1], g[0] * n[2]);
  if (g[2] > 1) operations += 2 * fft_operations(g[2], g[0] * g[1]);
  return operations;
}

double whole(double size, double unit) { return std::ceil(size / unit) * unit; }

/// The members of ToeplitzNormalCpu; the spectrum of q and its real part are gone before work_ is made.
void add_cpu_bytes(const Sizes& n, const Sizes& g, double element, OperatorCost& cost) {
  const double line = 64 / element, wide = 128 / element, points = g[0] * g[1] * g[2];
  const double transfer = (g[1] * g[2] > 1 ? whole(g[0], wide) * g[1] * g[2] : g[0]) * element / 2;
  const double rows = g[2] > 1 ? g[1] : n[1], work = n[2] * rows * (whole(g[0], line) + line) * element;
  const double along_x = n[1] >= LineFft<float>::least_columns ? 2 * g[0] * wide : whole(g[0], wide),
               buffers = omp_get_max_threads() * element *
                         (std::max(along_x, 2 * wide * std::max(g[1], g[2])) + line);
  cost.bytes += whole_bytes(transfer + work + buffers);
  cost.making_bytes = whole_bytes(std::max(1.5 * points * element - work - buffers, 0.0));
}

/// The members of the operators on a device; what FFT(q) takes is gone before the others are made.
void add_cuda_bytes(const ToeplitzExtents& e, std::int64_t coils, std::int64_t coils_at_once,
                    std::int64_t images_at_once, double element, Device device, OperatorCost& cost) {
  std::int64_t cache = 0;
  if constexpr (built_with_cuda) cache = cache_bytes_of(device);
  const ToeplitzBatch batch(e, coils, coils_at_once, images_at_once, static_cast<std::int64_t>(element),
                            cache > 0 ? cache : std::int64_t{50} << 20);
  const double grid = static_cast<double>(e.grid()), group = static_cast<double>(batch.group(e));
  if (e.by_passes) {
    double twiddles = 0;
    for (const std::int64_t n : e.n)
      twiddles += static_cast<double>(BlockFftPlan(static_cast<int>(n)).twiddles());
    const double coil = static_cast<double>(batch.planes() * e.coil()) + twiddles;
    cost.bytes += whole_bytes((grid / 2 + coil) * element);
    cost.making_bytes = whole_bytes(std::max(grid - coil, 0.0) * element);
    return;
  }
  const bool planes_need = cufft_needs_work(e.g[0]) || cufft_needs_work(e.g[1]);
  const double planes =
                   planes_need ? static_cast<double>(e.flat() ? batch.planes() * e.grid() : e.padded()) : 0,
               columns = cufft_needs_work(e.g[2]) ? group : 0, work = std::max(planes, columns),
               work_of_q = planes_need || columns > 0 ? grid : 0;
  cost.bytes +=
      whole_bytes((grid / 2 + static_cast<double>(batch.planes() * e.coil()) + group + work) * element);
  cost.making_bytes = whole_bytes(std::max(work_of_q - work, 0.0) * element);
}

}  // namespace

OperatorCost toeplitz_cost(std::array<int, 3> matrix_size, std::int64_t coils, Precision precision,
                           Device device, std::int64_t coils_at_once, std::int64_t images_at_once) {
  Sizes n, g;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    n[axis] = matrix_size[axis];
    g[axis] = n[axis] == 1 ? 1 : 2 * n[axis];
    if (device.is_cpu()) g[axis] = double(convolution_points(std::int64_t(g[axis]), matrix_size[2] == 1));
  }
  const double element = static_cast<double>(bytes_of_complex(precision)), points = g[0] * g[1] * g[2],
               maps = n[0] * n[1] * n[2] * static_cast<double>(coils) * element;
  OperatorCost cost;
  cost.forward = static_cast<double>(coils) * (Work(WorkUnit::fft, pruned_operations(n, g), precision) +
                                               beyond_cache(points * element, device)) +
                 Work(WorkUnit::region, device.is_cuda() ? 2 : 6 * static_cast<double>(coils));
  cost.bytes = whole_bytes(maps);
  if (device.is_cpu())
    add_cpu_bytes(n, g, element, cost);
  else
    add_cuda_bytes({{matrix_size[0], matrix_size[1], matrix_size[2]},
                    {std::int64_t(g[0]), std::int64_t(g[1]), std::int64_t(g[2])},
                    precision},
                   coils, coils_at_once, images_at_once, element, device, cost);
  constexpr double plans = 500;  // cuFFT's take some 5 ms
  cost.making =
      Work(WorkUnit::fft, full_fft_operations(g), precision) +
      Work(WorkUnit::byte, 2 * points * element + static_cast<double>(cost.bytes + cost.making_bytes)) +
      Work(WorkUnit::region, device.is_cuda() ? plans : 6);
  return cost;
}

// --- On the CPU ---

namespace {

/// The kernel of differences of voxels -(N-1) ... N-1 on another periodic grid; z, y, x.
template <class T>
Array<Complex<T>> on_grid(const Array<Complex<T>>& point_spread, const std::array<std::int64_t, 3>& matrix,
                          const std::array<std::int64_t, 3>& grid) {
  Array<Complex<T>> result(Shape{grid[0], grid[1], grid[2]});
  const auto place = [](std::int64_t difference, std::int64_t size) { return (difference + size) % size; };
  const Shape& from = point_spread.shape();
  for (std::int64_t z = 1 - matrix[0]; z < matrix[0]; ++z)
    for (std::int64_t y = 1 - matrix[1]; y < matrix[1]; ++y)
      for (std::int64_t x = 1 - matrix[2]; x < matrix[2]; ++x)
        result.data()[(place(z, grid[0]) * grid[1] + place(y, grid[1])) * grid[2] + place(x, grid[2])] =
            point_spread
                .data()[(place(z, from[0]) * from[1] + place(y, from[1])) * from[2] + place(x, from[2])];
  return result;
}

/// FFT(q) / (number of grid points): real, [z][y][x] on the grid of q.
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

/// The CPU operator. Passes along x, y and z run over short FFTs in cache-sized buffers; rows of zeros are
/// never transformed, rows outside the image are never transformed back, and the pass along the last axis
/// multiplies by the transfer function between its two FFTs. Floor: the FFTs themselves, about 2 (1/4 + 1/2 +
/// 1) 5 (2N)^3 log2(2N) operations per coil in 3D.
template <class T>
class ToeplitzNormalCpu final : public ToeplitzNormal<T> {
 public:
  ToeplitzNormalCpu(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps)
      : ToeplitzNormal<T>(point_spread, std::move(maps)),
        matrix_{maps_.extent(3), maps_.extent(2), maps_.extent(1)},
        grid_{convolution_points(point_spread.extent(2), matrix_[2] == 1),
              convolution_points(point_spread.extent(1), matrix_[2] == 1),
              convolution_points(point_spread.extent(0), matrix_[2] == 1)},
        transfer_(packed_transfer(Shape{grid_[2], grid_[1], grid_[0]} == point_spread.shape()
                                      ? point_spread
                                      : on_grid(point_spread, {matrix_[2], matrix_[1], matrix_[0]},
                                                {grid_[2], grid_[1], grid_[0]}))),
        fft_x_(static_cast<int>(grid_[0]), std::min(matrix_[1], LineFft<T>::wide)),
        fft_y_(static_cast<int>(grid_[1]), Fft1d<T>::wide),
        fft_z_(static_cast<int>(grid_[2]), Fft1d<T>::wide) {
    // Rows one cache line longer than needed: columns of a power-of-two pitch would all fall into one cache
    // set.
    constexpr std::int64_t line = 64 / sizeof(Complex<T>);
    pitch_ = (grid_[0] + line - 1) / line * line + line;
    rows_ = grid_[2] > 1 ? grid_[1] : matrix_[1];
    work_ = Array<Complex<T>>(Shape{matrix_[2], rows_, pitch_});
    buffers_ = Array<Complex<T>>(
        Shape{omp_get_max_threads(),
              std::max(fft_x_.scratch_elements(), 2 * Fft1d<T>::wide * std::max(grid_[1], grid_[2])) + line});
  }

  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    this->check_images(in, out);
    const auto ny = matrix_[1], nz = matrix_[2];
    const auto gx = grid_[0], gy = grid_[1], gz = grid_[2];
    const std::int64_t coils = maps_.extent(0), chunks = (gx + Fft1d<T>::wide - 1) / Fft1d<T>::wide;
    const Columns y{fft_y_, nz, rows_ * pitch_, pitch_}, z{fft_z_, rows_, pitch_, rows_ * pitch_};
    const Checkpoint checkpoint;
#pragma omp parallel num_threads(static_cast <int>(buffers_.extent(0)))
    {
      Complex<T>* const buffer = buffers_.data() + omp_get_thread_num() * buffers_.extent(1);
      const Thread own{buffer, buffer + std::max(gy, gz) * Fft1d<T>::wide, checkpoint};
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        const Complex<T>* map = maps_.data() + coil * in.size();
        pad_rows(in.data(), map, own);
        if (gz > 1) {
          if (gy > 1)
            for_columns(y, ny, gy, own, [&](std::int64_t) { fft_y_.forward(own.buffer, own.scratch); });
          for_columns(z, nz, nz, own, [&](std::int64_t unit) { convolve(fft_z_, unit, own); });
          if (gy > 1)
            for_columns(y, gy, ny, own, [&](std::int64_t) { fft_y_.backward(own.buffer, own.scratch); });
        } else if (gy > 1) {
          for_columns(y, ny, ny, own, [&](std::int64_t unit) { convolve(fft_y_, unit % chunks, own); });
        }
        combine_rows(map, coil == 0, out.data(), own);
      }
    }
    checkpoint.rethrow();
  }

 private:
  struct Thread {
    Complex<T>*buffer, *scratch;
    const Checkpoint& checkpoint;
  };
  /// Columns of work_ along y or z: `slices` of them, elements of a column `stride` apart.
  struct Columns {
    const Fft1d<T>& fft;
    std::int64_t slices, slice_stride, stride;
  };

  // The passes of one coil; each is called by all threads.

  /// body(first row of the image, where it begins in work_, rows), a group of rows of a plane at a time; the same
  /// groups and threads for every caller.
  template <class Body>
  void for_rows(const Body& body) const {
    const auto ny = matrix_[1], nz = matrix_[2];
    constexpr std::int64_t wide = LineFft<T>::wide;
    const std::int64_t groups = (ny + wide - 1) / wide;
#pragma omp for schedule(static) nowait
    for (std::int64_t unit = 0; unit < nz * groups; ++unit) {
      const std::int64_t z = unit / groups, y = unit % groups * wide;
      body(z * ny + y, work_.data() + (z * rows_ + y) * pitch_, std::min(wide, ny - y));
    }
  }

  /// S rho, zero-padded, FFT along x.
  void pad_rows(const Complex<T>* image, const Complex<T>* map, const Thread& own) const {
    const std::int64_t nx = matrix_[0], gx = grid_[0];
    const bool along_x_only = grid_[1] == 1 && grid_[2] == 1;
    for_rows([&](std::int64_t first, Complex<T>* at, std::int64_t count) {
      for (std::int64_t row = 0; row < count; ++row) {
        const Complex<T>*s = map + (first + row) * nx, *rho = image + (first + row) * nx;
        Complex<T>* const to = at + row * pitch_;
        rows::kernels<T>().multiply(nx, s, rho, to);
        std::fill(to + nx, to + gx, Complex<T>());
      }
      fft_x_(at, pitch_, count, -1, own.buffer);
      if (along_x_only) rows::kernels<T>().scale(gx, transfer_.data(), at);
    });
#pragma omp barrier
  }

  /// Columns [n][wide] of the buffer, `loaded` elements and zeros, transformed; the first `stored` go back.
  template <class Transform>
  void for_columns(const Columns& columns, std::int64_t loaded, std::int64_t stored, const Thread& own,
                   const Transform& transform) const {
    constexpr std::int64_t wide = Fft1d<T>::wide;
    const std::int64_t gx = grid_[0], chunks = (gx + wide - 1) / wide, stride = columns.stride;
    Complex<T>* const buffer = own.buffer;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < columns.slices * chunks; ++unit) {
      if (own.checkpoint.is_ended()) continue;
      const std::int64_t first = unit % chunks * wide, used = std::min(wide, gx - first);
      Complex<T>* at = work_.data() + unit / chunks * columns.slice_stride + first;
      for (std::int64_t i = 0; i < loaded; ++i) {
        std::copy_n(at + i * stride, used, buffer + i * wide);
        if (used < wide) std::fill(buffer + i * wide + used, buffer + (i + 1) * wide, Complex<T>());
      }
      std::fill(buffer + loaded * wide, buffer + columns.fft.size() * wide, Complex<T>());
      transform(unit);
      for (std::int64_t i = 0; i < stored; ++i) std::copy_n(buffer + i * wide, used, at + i * stride);
    }
  }

  /// FFT, transfer function, inverse FFT.
  void convolve(const Fft1d<T>& fft, std::int64_t unit, const Thread& own) const {
    fft.forward(own.buffer, own.scratch);
    const std::int64_t size = std::int64_t{fft.size()} * Fft1d<T>::wide;
    rows::kernels<T>().scale(size, transfer_.data() + unit * size, own.buffer);
    fft.backward(own.buffer, own.scratch);
  }

  /// Inverse FFT along x, crop, sum of conj(S) over the coils. Same rows, same threads as in pad_rows: the next coil
  /// may start without waiting.
  void combine_rows(const Complex<T>* map, bool first_coil, Complex<T>* image, const Thread& own) const {
    const std::int64_t nx = matrix_[0];
    for_rows([&](std::int64_t first, Complex<T>* at, std::int64_t count) {
      fft_x_(at, pitch_, count, +1, own.buffer);
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t begin = (first + row) * nx;
        rows::kernels<T>().multiply_conjugate(nx, map + begin, at + row * pitch_, !first_coil, image + begin);
      }
    });
  }

  using ToeplitzNormal<T>::maps_;
  std::array<std::int64_t, 3> matrix_, grid_;  // x, y, z
  Array<T> transfer_;                          // in the order of use, see packed_transfer
  LineFft<T> fft_x_;
  Fft1d<T> fft_y_, fft_z_;
  std::int64_t pitch_, rows_;          // of work_: [z][rows_][pitch_]
  mutable Array<Complex<T>> work_;     // one coil
  mutable Array<Complex<T>> buffers_;  // [thread][...]
};

}  // namespace

template <class T>
std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal(const Array<Complex<T>>& point_spread,
                                                        Array<Complex<T>> maps, std::int64_t coils_at_once,
                                                        std::int64_t images_at_once) {
  if (maps.shape().rank() != 4) throw Error("sensitivity maps", "[coil][z][y][x]", maps.shape().text());
  if (maps.device() != point_spread.device())
    throw Error("Toeplitz operator", "maps and point-spread kernel on one device", "two devices");
  if (maps.device().is_cpu()) return std::make_unique<ToeplitzNormalCpu<T>>(point_spread, std::move(maps));
  if constexpr (built_with_cuda)
    return make_toeplitz_normal_cuda(point_spread, std::move(maps), coils_at_once, images_at_once);
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                             \
  template class ToeplitzNormal<T>;                                    \
  template std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal<T>( \
      const Array<Complex<T>>&, Array<Complex<T>>, std::int64_t, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
