#pragma once
// How direct sums on a device are cut into tiles of constant memory and threads: the one rule of the kernels in
// direct_cuda.cu and of what they take of memory.
#include <algorithm>
#include <array>

#include "recon/transform/direct/pair_arithmetic.hpp"

namespace fhd {

inline constexpr int tile_bytes = 32768;     // half of the constant bank
inline constexpr int tiles_per_chunk = 256;  // packed at once: 8 MiB
inline constexpr int items_per_part = 32;    // at least: the end of a part has its price
inline constexpr int threads_per_multiprocessor =
    512;  // fewer leave it idle: then the work is split in parts

// Chosen by measurement on an H100 (validation/results): what is read from constant memory is used as often
// as the registers allow, with two blocks of 256 threads on a multiprocessor.
template <class T>
inline constexpr int coils_per_pass = std::is_same_v<T, float> ? 4 : 1;  // as many, or one
template <int coils>
inline constexpr int half_run = coils == 1 ? longest_half_run : 4;
template <class T, int coils>
inline constexpr int rows_per_thread = (std::is_same_v<T, float> && coils == 1) ? 2 : 1;
template <class T>
inline constexpr int samples_per_thread = std::is_same_v<T, float> ? 4 : 2;

/// A scan point: {kx, ky, kz, data}, with the phasors of a run.
template <class T, int coils>
struct ScanPoint {
  Phase<T> half_voxel[3];
  Phase<T> padding;
  Complex<T> step[half_run<coils>];
  Complex<T> data[coils];
};

/// The voxels of a run, upper + lower and upper - lower, for the forward sum.
template <class T, int coils>
struct VoxelRun {
  Complex<T> total[coils][half_run<coils>];
  Complex<T> difference[coils][half_run<coils>];
};

template <class T, int coils>
std::int64_t adjoint_threads(const VoxelGrid& grid) {
  constexpr int rows = rows_per_thread<T, coils>;
  return std::int64_t{grid.runs_per_row(half_run<coils>)} * ((grid.extent[1] + rows - 1) / rows) *
         grid.extent[2];
}
template <class T>
std::int64_t forward_threads(std::int64_t samples) {
  return (samples + samples_per_thread<T> - 1) / samples_per_thread<T>;
}
/// Returns whether scan points are read from memory in place of constant memory: where the voxels keep less than half of a
/// device busy, a tile is done before the next one is there, and points are shared out in parts.
inline bool reads_points_from_memory(std::int64_t full_threads, std::int64_t threads) {
  return 2 * threads <= full_threads;
}
/// How many parts of that many scan points are computed side by side then. By the trajectory and the matrix alone: sums
/// have one order.
inline int parts_of_points(std::int64_t full_threads, std::int64_t threads, std::int64_t points) {
  constexpr std::int64_t most_parts = 4096;  // a dimension of a launch has 65535
  const auto most = std::clamp<std::int64_t>(points / items_per_part, 1, most_parts);
  return static_cast<int>(std::clamp<std::int64_t>(full_threads / threads, 1, most));
}
/// How many parts of a tile are computed side by side so that `full_threads` are busy.
inline int parts_of_tile(std::int64_t full_threads, std::int64_t threads, std::size_t item_bytes) {
  const auto most =
      std::max<std::int64_t>(tile_bytes / static_cast<std::int64_t>(item_bytes) / items_per_part, 1);
  return static_cast<int>(std::clamp<std::int64_t>(full_threads / threads, 1, most));
}

/// Elements of the buffer of partial sums.
template <class T, int coils = coils_per_pass<T>>
double partial_elements(const VoxelGrid& grid, std::int64_t samples, std::int64_t full_threads) {
  const double voxels = static_cast<double>(grid.extent[0]) * grid.extent[1] * grid.extent[2];
  const int of_image = parts_of_points(full_threads, adjoint_threads<T, coils>(grid), samples),
            of_samples = parts_of_tile(full_threads, forward_threads<T>(samples), sizeof(VoxelRun<T, coils>));
  const double elements = std::max(of_image > 1 ? of_image * coils * voxels : 0.0,
                                   of_samples > 1 ? of_samples * coils * static_cast<double>(samples) : 0.0);
  if constexpr (coils == 1)
    return elements;
  else
    return std::max(elements, partial_elements<T, 1>(grid, samples, full_threads));
}

/// Returns the bytes of one trajectory and one grid on a device.
template <class T>
double direct_device_bytes(const VoxelGrid& grid, std::int64_t samples, std::int64_t full_threads) {
  return static_cast<double>(samples) * sizeof(SamplePosition<T>) + double{tiles_per_chunk} * tile_bytes +
         partial_elements<T>(grid, samples, full_threads) * sizeof(Complex<T>);
}

inline VoxelGrid image_grid(std::array<int, 3> matrix_size) {
  VoxelGrid grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid.extent[axis] = matrix_size[axis];
    grid.first[axis] = -2 * (matrix_size[axis] / 2);
  }
  return grid;
}

/// The slowest axis that has more than one voxel.
inline int half_axis_of(std::array<int, 3> matrix_size) {
  return matrix_size[2] > 1 ? 2 : matrix_size[1] > 1 ? 1 : 0;
}
/// Half of the differences of voxels, |n| <= N - 1: those with n >= 0 along half_axis_of.
inline VoxelGrid half_difference_grid(std::array<int, 3> matrix_size) {
  VoxelGrid grid;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = matrix_size[static_cast<std::size_t>(axis)];
    const bool half = axis == half_axis_of(matrix_size);
    grid.extent[axis] = half ? n : 2 * n - 1;
    grid.first[axis] = half ? 0 : -2 * (n - 1);
  }
  return grid;
}

}  // namespace fhd
