#include "recon/transform/toeplitz/toeplitz.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "recon/array/fft.hpp"
#include "recon/transform/toeplitz/toeplitz_backends.hpp"

namespace fhd {

template <class T>
ToeplitzNormal<T>::ToeplitzNormal(const Array<Complex<T>>& point_spread, Array<Complex<T>> maps,
                                  std::int64_t coils_at_once, std::int64_t images_at_once)
    : maps_(std::move(maps)) {
  std::array<int, 3> matrix_size;
  for (int axis = 0; axis < 3; ++axis) {
    matrix_size[static_cast<std::size_t>(2 - axis)] = static_cast<int>(domain()[axis]);
    if (point_spread.extent(axis) < 2 * domain()[axis] - 1)
      throw Error("point-spread kernel", "a grid of at least twice the matrix size",
                  point_spread.shape().text());
  }
  cost_ =
      toeplitz_cost(matrix_size, maps_.extent(0), precision_of<T>(), device(), coils_at_once, images_at_once);
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
  const bool side_by_side =
      LineFft<float>::side_by_side(static_cast<int>(g[0]), static_cast<std::int64_t>(std::min(n[1], wide)));
  const double along_x = side_by_side ? 2 * g[0] * wide : whole(g[0], wide),
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
  cost.making = Work(WorkUnit::fft, full_fft_operations(g), precision) +
                Work(WorkUnit::byte, 2 * points * element + static_cast<double>(cost.bytes + cost.making_bytes)) +
                Work(WorkUnit::region, device.is_cuda() ? plans : 6);
  return cost;
}

template class ToeplitzNormal<float>;
template class ToeplitzNormal<double>;

}  // namespace fhd
