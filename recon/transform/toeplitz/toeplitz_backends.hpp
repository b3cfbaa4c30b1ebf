#pragma once
// The CUDA side of toeplitz.hpp (not in a build without CUDA), and the sizes that the memory of the GPU follows from.
#include <algorithm>
#include <array>
#include <memory>

#include "recon/array/fft.hpp"
#include "recon/transform/toeplitz/block_fft_plan.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

template <class T>
std::unique_ptr<ToeplitzNormal<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                             Array<Complex<T>> maps,
                                                             std::int64_t coils_at_once,
                                                             std::int64_t images_at_once);
/// Returns the bytes of the device's cache; 0 where there is no such device.
std::int64_t cache_bytes_of(Device device) noexcept;

/// Image and grid of differences, x first, axes of one voxel left out (in memory nothing changes).
struct ToeplitzExtents {
  std::int64_t n[3] = {1, 1, 1}, g[3] = {1, 1, 1};
  bool by_passes = false;  ///< those of toeplitz_passes.cuh; else by cuFFT

  ToeplitzExtents(std::array<std::int64_t, 3> matrix, std::array<std::int64_t, 3> grid_size,
                  Precision precision) {
    for (std::size_t axis = 0, used = 0; axis < 3; ++axis)
      if (grid_size[axis] > 1) n[used] = matrix[axis], g[used] = grid_size[axis], ++used;
    by_passes = precision == Precision::single_precision && g[1] > 1;
    for (int axis = 0; axis < 3; ++axis)
      if (g[axis] > 1)
        by_passes = by_passes && g[axis] == 2 * n[axis] && BlockFftPlan(static_cast<int>(n[axis])).is_taken();
    by_passes = by_passes && grid() < std::int64_t{1} << 32;
  }
  std::int64_t voxels() const { return n[0] * n[1] * n[2]; }
  std::int64_t plane() const { return g[0] * g[1]; }
  std::int64_t grid() const { return plane() * g[2]; }
  bool flat() const { return g[2] == 1; }
  /// Elements that hold one coil's padded planes, and all that one coil takes.
  std::int64_t padded() const { return plane() * n[2]; }
  std::int64_t coil() const {
    if (by_passes) return (flat() ? 2 : 6) * voxels();
    return padded() + (flat() ? 1 : 2) * grid();
  }
};

/// The coils, rows and images that are taken together, in equal parts.
struct ToeplitzBatch {
  /// Most coils of a 3D scan: more gain nothing, and each takes up to 2.5 grids.
  static constexpr std::int64_t most_coils_3d = 4;
  std::int64_t coils;       ///< padded together
  std::int64_t rows;        ///< y whose columns along z are transformed together
  std::int64_t images = 1;  ///< of a stack, with all their coils; above 1 only where `coils` are all

  ToeplitzBatch(const ToeplitzExtents& e, std::int64_t all_coils, std::int64_t coils_at_once,
                std::int64_t images_at_once, std::int64_t element_bytes, std::int64_t cache_bytes) {
    const auto part = [](std::int64_t count, std::int64_t most) {
      const std::int64_t parts = (count + most - 1) / most;
      return (count + parts - 1) / parts;
    };
    // A flat scan's padded planes and spectra of a batch of coils stay in the cache. Of another, half of the
    // cache is for a group of rows: the other half streams past.
    const std::int64_t flat_bytes = e.coil() * element_bytes, row_bytes = e.g[0] * e.g[2] * element_bytes;
    const std::int64_t most = e.flat() ? std::max<std::int64_t>(cache_bytes / flat_bytes, 1) : most_coils_3d;
    coils = part(all_coils, std::min(coils_at_once > 0 ? coils_at_once : all_coils, most));
    rows = e.flat() ? e.g[1] : part(e.g[1], std::max<std::int64_t>(cache_bytes / 2 / row_bytes, 1));
    if (e.flat() && coils == all_coils)
      images = part(images_at_once, std::clamp<std::int64_t>(most / all_coils, 1, 65535));  // of a launch
  }
  /// Returns the planes: coils, or images with their coils.
  std::int64_t planes() const { return coils * images; }
  /// Elements of a group of rows; a flat grid has none, nor have passes.
  std::int64_t group(const ToeplitzExtents& e) const {
    return e.flat() || e.by_passes ? 0 : e.g[2] * rows * e.g[0];
  }
};

/// Points of an axis that the CPU convolves on, for a kernel on this many: so many that ColumnFft takes them,
/// and in planes up to the next of 64 and 128, if that is near.
inline std::int64_t convolution_points(std::int64_t points, bool is_plane) {
  for (const std::int64_t fast : {64, 128})
    if (is_plane && points <= fast && 4 * points >= 3 * fast) return fast;
  return good_fft_size(static_cast<int>(points));
}

/// Returns whether cuFFT asks for a work area, as large as what it transforms. Seen with the plans of this operator on
/// an H100 (cuFFT 12.0): never where no prime factor of a length is above 31 but for planes of 640^2 in double
/// precision, mostly where one is above 64.
inline bool cufft_needs_work(std::int64_t length) {
  for (const std::int64_t factor : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    while (length % factor == 0) length /= factor;
  return length > 1;
}

}  // namespace fhd
