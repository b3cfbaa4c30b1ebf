// F, F^H and Q as direct sums on the device. The formulas are in pair_arithmetic.hpp.
//
// Method: Stone, Haldar, Tsao, Hwu, Sutton, Liang, "Accelerating advanced MRI reconstructions on GPUs", J.
// Parallel Distrib. Comput. 68:1307 (2008): what all threads read lies in constant memory, tile after tile,
// each thread keeps its sums in registers. Here two halves of the constant bank alternate, so that a tile is
// uploaded while the one before it is computed, and voxels are taken in symmetric runs (pair_arithmetic.hpp),
// which takes sin and cos out of the inner loop: what is left of a pair are 2 multiply-adds.
//
// Sums of a tile are added to the result at its end: with at most `tile_bytes` of data the rounding errors of
// a single-precision sum stay near 1e-6. Every element of a result belongs to one thread; where the grid is
// too small to fill the device, parts of a tile go to parts of a buffer that are then added in order. No
// atomics: two runs give the same bits.
#include <algorithm>
#include <mutex>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/direct/direct_cuda.hpp"
#include "recon/transform/direct/pair_arithmetic.hpp"

namespace fhd {
namespace {

constexpr int tile_bytes = 32768;  // half of the constant bank
constexpr int forward_block = 128, small_block = 128;
template <class T>
constexpr int adjoint_block = std::is_same_v<T, float> ? 256 : 128;
constexpr int tiles_per_chunk = 256;             // packed at once: 8 MiB
constexpr int items_per_part = 32;               // at least: the end of a part has its price
constexpr int threads_per_multiprocessor = 512;  // fewer leave it idle: then the work is split in parts

// Two halves of constant memory. Global, because constant memory is: `bank_mutex` and the order of the
// default stream keep one transform at a time in it.
__constant__ __align__(32) unsigned char tile_bank[2][tile_bytes];
std::mutex bank_mutex;

// --- What a tile holds ---

// Chosen by measurement on an H100 (validation/results): what is read from constant memory is used as often
// as the registers allow, with two blocks of 256 threads on a multiprocessor.
template <class T>
constexpr int coils_per_pass = std::is_same_v<T, float> ? 4 : 1;  // as many, or one
template <int coils>
constexpr int half_run = coils == 1 ? longest_half_run : 4;
template <class T, int coils>
constexpr int rows_per_thread = (std::is_same_v<T, float> && coils == 1) ? 2 : 1;
template <class T>
constexpr int samples_per_thread = std::is_same_v<T, float> ? 4 : 2;

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

template <class T, SinCos variant>
__device__ inline Complex<T> phasor(Phase<T> phase) {
  if constexpr (variant == SinCos::fast && std::is_same_v<T, float>)
    return unit_phasor_fast(phase);
  else
    return unit_phasor<T>(half_turns<T>(phase));
}

// --- Kernels ---

// position(m) = sample_position(k_m). One thread per sample; k is [3][sample].
template <class T>
__global__ void prepare_positions_kernel(const double* k, std::int64_t samples, int nx, int ny, int nz,
                                         SamplePosition<T>* positions) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  const double position[3] = {k[m], k[samples + m], k[2 * samples + m]};
  const int matrix_size[3] = {nx, ny, nz};
  positions[m] = sample_position<T>(position, matrix_size);
}

// point(m) = {position(m), data_0(m) ... data_{coils-1}(m)} for m = first ... first + count. data is
// [coil][sample].
template <class T, int coils>
__global__ void pack_scan_points_kernel(const SamplePosition<T>* positions, const Complex<T>* data,
                                        std::int64_t samples, std::int64_t first, int count,
                                        ScanPoint<T, coils>* points) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  ScanPoint<T, coils> point{};
  const SamplePosition<T>& position = positions[first + i];
  for (int axis = 0; axis < 3; ++axis) point.half_voxel[axis] = position.half_voxel[axis];
  for (int j = 0; j < half_run<coils>; ++j) point.step[j] = position.step[j];
  for (int coil = 0; coil < coils; ++coil) point.data[coil] = data[coil * samples + first + i];
  points[i] = point;
}

// run(i) holds the voxels of run first + i of the grid, runs ordered [z][y][run]; voxels beyond the row are
// zero. One thread per run and coil.
template <class T, int coils>
__global__ void pack_voxel_runs_kernel(VoxelGrid grid, const Complex<T>* images, std::int64_t first,
                                       int count, VoxelRun<T, coils>* runs) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = thread / coils, coil = thread % coils;
  if (i >= count) return;
  constexpr int half = half_run<coils>;
  const int runs_per_row = grid.runs_per_row(half);
  const std::int64_t row = (first + i) / runs_per_row;
  const int begin = static_cast<int>((first + i) % runs_per_row) * 2 * half;
  const std::int64_t rows = std::int64_t{grid.extent[1]} * grid.extent[2];
  const Complex<T>* voxels = images + (coil * rows + row) * grid.extent[0];
  const auto voxel = [&](int x) { return x < grid.extent[0] ? voxels[x] : Complex<T>{}; };
  for (int j = 0; j < half; ++j) {
    const Complex<T> upper = voxel(begin + half + j), lower = voxel(begin + half - 1 - j);
    runs[i].total[coil][j] = upper + lower;
    runs[i].difference[coil][j] = upper - lower;
  }
}

// The adjoint over one tile:  image_c(p) += sum_m d_c(m) exp(+i 2 pi k_m . r_p)  (= for the first tile).
// One thread owns a run of 2 H voxels along x in `rows` rows, for all coils of the pass, and is their only
// writer. blockIdx.y takes one part of the tile's scan points and writes images + part x part_stride,
// [coil][z][y][x]. Floor per run, row and sample: 4 + 4 H multiply-adds per coil and 2 special functions.
template <class T, int coils, SinCos variant>
__global__ void __launch_bounds__(adjoint_block<T>)
    adjoint_tile_kernel(VoxelGrid grid, int bank_half, int tile_points, int points_per_part, bool first_tile,
                        std::int64_t part_stride, Complex<T>* images) {
  constexpr int rows = rows_per_thread<T, coils>, half = half_run<coils>, length = 2 * half;
  const int runs = grid.runs_per_row(half), row_groups = (grid.extent[1] + rows - 1) / rows;
  const std::int64_t thread = std::int64_t{blockIdx.x} * adjoint_block<T> + threadIdx.x;
  const int run = static_cast<int>(thread % runs);
  const int y = static_cast<int>(thread / runs % row_groups) * rows;
  const std::int64_t z =
      thread / runs / row_groups;  // beyond the grid in the last block: computed, not written
  const int centre_x = grid.run_centre(run, half), first_y = grid.row(y),
            centre_z = grid.plane(static_cast<int>(z));

  const auto* points = reinterpret_cast<const ScanPoint<T, coils>*>(tile_bank[bank_half]);
  const int begin = blockIdx.y * points_per_part, end = min(begin + points_per_part, tile_points);
  RunSum<T> sums[coils][rows][half];
#pragma unroll 4
  for (int m = begin; m < end; ++m) {
    const ScanPoint<T, coils>& point = points[m];
    Phase<T> phase = phase_at<T>(point.half_voxel, centre_x, first_y, centre_z);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const Complex<T> at_centre = phasor<T, variant>(phase);
      phase += 2 * point.half_voxel[1];
#pragma unroll
      for (int coil = 0; coil < coils; ++coil) {
        const Complex<T> c = point.data[coil] * at_centre;
#pragma unroll
        for (int j = 0; j < half; ++j) sums[coil][row][j].add(c, point.step[j]);
      }
    }
  }

  // Neighbours in x belong to one thread: a warp turns its runs in shared memory, so that it reads and writes
  // whole lines of the image. Each warp has its own buffer; the pitch spreads the runs over the banks.
  constexpr int warp = 32, pitch = length + 1;
  __shared__ __align__(16) unsigned char shared[adjoint_block<T> * pitch * sizeof(Complex<T>)];
  const int lane = threadIdx.x % warp;
  auto* turned = reinterpret_cast<Complex<T>*>(shared) + (threadIdx.x - lane) * pitch;
  const std::int64_t voxels = std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2];
  const std::int64_t own_begin = (z * grid.extent[1] + y) * grid.extent[0] + run * length;
  const int own_length = z < grid.extent[2] ? min(length, grid.extent[0] - run * length) : 0;
  images += blockIdx.y * part_stride;
#pragma unroll
  for (int coil = 0; coil < coils; ++coil)
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < half; ++j) {
        turned[lane * pitch + half + j] = sums[coil][row][j].upper();
        turned[lane * pitch + half - 1 - j] = sums[coil][row][j].lower();
      }
      __syncwarp();
      const int row_length = y + row < grid.extent[1] ? own_length : 0;
#pragma unroll
      for (int i = 0; i < length; ++i) {
        const int owner = (i * warp + lane) / length, x = (i * warp + lane) % length;
        const std::int64_t first = __shfl_sync(~0u, own_begin, owner);
        if (x < __shfl_sync(~0u, row_length, owner)) {
          Complex<T>& out = images[coil * voxels + first + row * grid.extent[0] + x];
          const Complex<T> sum = turned[owner * pitch + x];
          out = first_tile ? sum : out + sum;
        }
      }
    }
}

// The forward sum over one tile:  d_c(m) += sum_p rho_c(p) exp(-i 2 pi k_m . r_p)  (= for the first tile).
// One thread owns `samples_per_thread` samples, forward_block apart, for all coils of the pass, and is their
// only writer. The tile holds the runs first_run ... first_run + tile_runs of the grid; blockIdx.y takes one
// part of them and writes samples + part x part_stride, [coil][sample]. Floor per run and sample: 4 + 4 H
// multiply-adds per coil and 2 special functions.
template <class T, int coils, SinCos variant>
__global__ void __launch_bounds__(forward_block)
    forward_tile_kernel(VoxelGrid grid, const SamplePosition<T>* positions, std::int64_t sample_count,
                        int bank_half, std::int64_t first_run, int tile_runs, int runs_per_part,
                        bool first_tile, std::int64_t part_stride, Complex<T>* samples) {
  constexpr int count = samples_per_thread<T>, half = half_run<coils>;
  const std::int64_t first_sample = std::int64_t{blockIdx.x} * (forward_block * count) + threadIdx.x;
  SamplePosition<T> position[count];
#pragma unroll
  for (int s = 0; s < count; ++s)
    if (first_sample + s * forward_block < sample_count)
      position[s] = positions[first_sample + s * forward_block];

  const auto* tile = reinterpret_cast<const VoxelRun<T, coils>*>(tile_bank[bank_half]);
  const int begin = blockIdx.y * runs_per_part, end = min(begin + runs_per_part, tile_runs);
  const int runs = grid.runs_per_row(half);
  const std::int64_t row = (first_run + begin) / runs;
  int run = static_cast<int>((first_run + begin) % runs);
  int y = static_cast<int>(row % grid.extent[1]), z = static_cast<int>(row / grid.extent[1]);

  Phase<T> phase[count];
  const auto enter_row = [&] {
#pragma unroll
    for (int s = 0; s < count; ++s)
      phase[s] = phase_at<T>(position[s].half_voxel, grid.run_centre(run, half), grid.row(y), grid.plane(z));
  };
  enter_row();
  Complex<T> sums[coils][count];
  for (int i = begin; i < end; ++i) {
    Complex<T> at_centre[count];
#pragma unroll
    for (int s = 0; s < count; ++s) at_centre[s] = conj(phasor<T, variant>(phase[s]));
#pragma unroll
    for (int coil = 0; coil < coils; ++coil) {
      Complex<T> about_centre[count];
#pragma unroll
      for (int j = 0; j < half; ++j)
#pragma unroll
        for (int s = 0; s < count; ++s)
          add_voxel_pair(tile[i].total[coil][j], tile[i].difference[coil][j], position[s].step[j],
                         about_centre[s]);
#pragma unroll
      for (int s = 0; s < count; ++s) multiply_add(about_centre[s], at_centre[s], sums[coil][s]);
    }
    if (++run < runs) {
#pragma unroll
      for (int s = 0; s < count; ++s) phase[s] += 4 * half * position[s].half_voxel[0];
    } else {
      run = 0;
      if (++y == grid.extent[1]) y = 0, ++z;
      enter_row();
    }
  }

#pragma unroll
  for (int coil = 0; coil < coils; ++coil)
#pragma unroll
    for (int s = 0; s < count; ++s) {
      const std::int64_t m = first_sample + s * forward_block;
      if (m >= sample_count) continue;
      Complex<T>& out = samples[blockIdx.y * part_stride + coil * sample_count + m];
      out = first_tile ? sums[coil][s] : out + sums[coil][s];
    }
}

// out(i) = sum over parts, in order. One thread per element.
template <class T>
__global__ void add_parts_kernel(const Complex<T>* parts, int part_count, std::int64_t part_stride,
                                 std::int64_t size, Complex<T>* out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= size) return;
  Complex<T> sum;
  for (int part = 0; part < part_count; ++part) sum += parts[part * part_stride + i];
  out[i] = sum;
}

// q on the periodic grid from its half: half holds q at the differences n with n >= 0 along `half_axis` and
// |n| <= N - 1 along the others (differences along x, y, z, row-major [z][y][x]). q(-n) = conj q(n); n = -N
// is zero. One thread per element of the periodic grid.
template <class T>
__global__ void unfold_point_spread_kernel(VoxelGrid half, int half_axis, int nx, int ny, int nz,
                                           const Complex<T>* values, Complex<T>* q) {
  const int matrix_size[3] = {nx, ny, nz};
  std::int64_t rest = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t element = rest;
  int difference[3];
  bool reached = true;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = matrix_size[axis], size = n == 1 ? 1 : 2 * n;
    const int index = static_cast<int>(rest % size);
    rest /= size;
    difference[axis] = index < n ? index : index - size;
    reached = reached && difference[axis] > -n;
  }
  if (rest > 0) return;
  Complex<T> value;
  if (reached) {
    const int sign = difference[half_axis] < 0 ? -1 : 1;
    std::int64_t index = 0;
    for (int axis = 2; axis >= 0; --axis)
      index = index * half.extent[axis] + sign * difference[axis] - half.first[axis] / 2;
    value = sign < 0 ? conj(values[index]) : values[index];
  }
  q[element] = value;
}

unsigned blocks_for(std::int64_t threads, int size = small_block) {
  return static_cast<unsigned>((threads + size - 1) / size);
}

// --- The pipeline ---

/// One trajectory and one grid: plans, buffers and events of the direct sums, made once.
template <class T>
class DirectSums {
 public:
  DirectSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, VoxelGrid grid,
             SinCos variant)
      : grid_(grid),
        samples_(trajectory.sample_count()),
        voxels_(std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2]),
        variant_(variant),
        positions_({samples_}, Device::cuda()),
        packed_({std::int64_t{tiles_per_chunk} * tile_bytes}, Device::cuda()) {
    const Array<double> k = trajectory.k.to(Device::cuda());
    prepare_positions_kernel<T><<<blocks_for(samples_), small_block>>>(
        k.data(), samples_, matrix_size[0], matrix_size[1], matrix_size[2], positions_.data());
    device::check_launch("prepare_positions_kernel");
    int ordinal = 0, multiprocessors = 0;
    device::check(cudaGetDevice(&ordinal), "finding the current device");
    device::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
                  "reading the number of multiprocessors");
    full_threads_ = std::int64_t{threads_per_multiprocessor} * multiprocessors;
    std::int64_t elements = 0;
    const auto count = [&]<int coils>() {
      const int image_parts = parts(adjoint_threads<coils>(), tile_bytes / sizeof(ScanPoint<T, coils>));
      const int sample_parts = parts(forward_threads<coils>(), tile_bytes / sizeof(VoxelRun<T, coils>));
      if (image_parts > 1) elements = std::max(elements, image_parts * coils * voxels_);
      if (sample_parts > 1) elements = std::max(elements, sample_parts * coils * samples_);
    };
    count.template operator()<1>();
    count.template operator()<coils_per_pass<T>>();
    if (elements > 0) partial_ = Array<Complex<T>>({elements}, Device::cuda());
  }

  /// data [coil][sample] -> values [coil][z][y][x] of the grid, both on the device.
  void adjoint(const Complex<T>* data, std::int64_t coil_count, Complex<T>* values) {
    for_each_pass(coil_count, [&]<int coils>(std::int64_t coil) {
      const Complex<T>* in = data + coil * samples_;
      const auto pack = [&](std::int64_t first, int count) {
        pack_scan_points_kernel<T, coils>
            <<<blocks_for(count), small_block>>>(positions_.data(), in, samples_, first, count,
                                                 reinterpret_cast<ScanPoint<T, coils>*>(packed_.data()));
        device::check_launch("pack_scan_points_kernel");
      };
      const auto launch = [&](dim3 blocks, int bank_half, std::int64_t, int count, int per_part,
                              bool first_tile, std::int64_t stride, Complex<T>* out) {
        adjoint_kernel<coils>(variant_)<<<blocks, (adjoint_block<T>)>>>(grid_, bank_half, count, per_part,
                                                                        first_tile, stride, out);
        device::check_launch("adjoint_tile_kernel");
      };
      run_tiles(samples_, sizeof(ScanPoint<T, coils>), adjoint_threads<coils>(), adjoint_block<T>,
                coils * voxels_, values + coil * voxels_, pack, launch);
    });
  }

  /// values [coil][z][y][x] of the grid -> data [coil][sample], both on the device.
  void forward(const Complex<T>* values, std::int64_t coil_count, Complex<T>* data) {
    for_each_pass(coil_count, [&]<int coils>(std::int64_t coil) {
      const std::int64_t runs =
          std::int64_t{grid_.runs_per_row(half_run<coils>)} * grid_.extent[1] * grid_.extent[2];
      const Complex<T>* in = values + coil * voxels_;
      const auto pack = [&](std::int64_t first, int count) {
        pack_voxel_runs_kernel<T, coils><<<blocks_for(std::int64_t{count} * coils), small_block>>>(
            grid_, in, first, count, reinterpret_cast<VoxelRun<T, coils>*>(packed_.data()));
        device::check_launch("pack_voxel_runs_kernel");
      };
      const auto launch = [&](dim3 blocks, int bank_half, std::int64_t first, int count, int per_part,
                              bool first_tile, std::int64_t stride, Complex<T>* out) {
        forward_kernel<coils>(variant_)<<<blocks, forward_block>>>(
            grid_, positions_.data(), samples_, bank_half, first, count, per_part, first_tile, stride, out);
        device::check_launch("forward_tile_kernel");
      };
      run_tiles(runs, sizeof(VoxelRun<T, coils>), forward_threads<coils>(), forward_block, coils * samples_,
                data + coil * samples_, pack, launch);
    });
  }

  static DirectKernelUse kernel_use(int coils, SinCos variant, bool forward) {
    const auto use = [&](auto kernel, int block_size) {
      cudaFuncAttributes attributes{};
      device::check(cudaFuncGetAttributes(&attributes, kernel), "reading the properties of a kernel");
      return DirectKernelUse{block_size, attributes.numRegs};
    };
    constexpr int most = coils_per_pass<T>;
    if (coils < most)
      return forward ? use(forward_kernel<1>(variant), forward_block)
                     : use(adjoint_kernel<1>(variant), adjoint_block<T>);
    return forward ? use(forward_kernel<most>(variant), forward_block)
                   : use(adjoint_kernel<most>(variant), adjoint_block<T>);
  }

 private:
  template <int coils>
  static auto adjoint_kernel(SinCos variant) {
    return variant == SinCos::fast ? adjoint_tile_kernel<T, coils, SinCos::fast>
                                          : adjoint_tile_kernel<T, coils, SinCos::accurate>;
  }
  template <int coils>
  static auto forward_kernel(SinCos variant) {
    return variant == SinCos::fast ? forward_tile_kernel<T, coils, SinCos::fast>
                                          : forward_tile_kernel<T, coils, SinCos::accurate>;
  }
  /// Calls f<coils>(first coil) for passes of coils_per_pass coils, and of one coil for the rest.
  template <class F>
  static void for_each_pass(std::int64_t coil_count, F&& f) {
    constexpr int most = coils_per_pass<T>;
    std::int64_t coil = 0;
    for (; coil + most <= coil_count; coil += most) f.template operator()<most>(coil);
    for (; coil < coil_count; ++coil) f.template operator()<1>(coil);
  }
  template <int coils>
  std::int64_t adjoint_threads() const {
    constexpr int rows = rows_per_thread<T, coils>;
    return std::int64_t{grid_.runs_per_row(half_run<coils>)} * ((grid_.extent[1] + rows - 1) / rows) *
           grid_.extent[2];
  }
  template <int coils>
  std::int64_t forward_threads() const {
    return (samples_ + samples_per_thread<T> - 1) / samples_per_thread<T>;
  }
  /// How many parts of a tile are computed side by side so that the device is full.
  int parts(std::int64_t threads, std::size_t tile_items) const {
    const auto most = static_cast<std::int64_t>(tile_items) / items_per_part;
    return static_cast<int>(
        std::clamp<std::int64_t>(full_threads_ / threads, 1, std::max<std::int64_t>(most, 1)));
  }

  /// Packs, uploads and computes `count` items of `item_bytes` tile after tile; `size` elements of output.
  template <class Pack, class Launch>
  void run_tiles(std::int64_t count, std::size_t item_bytes, std::int64_t threads, int block_size,
                 std::int64_t size, Complex<T>* out, const Pack& pack, const Launch& launch) {
    const std::lock_guard lock(bank_mutex);
    const int tile_items = static_cast<int>(tile_bytes / item_bytes);
    const int chunk_items = tile_items * tiles_per_chunk;
    const int part_count = parts(threads, static_cast<std::size_t>(tile_items));
    Complex<T>* sums = part_count == 1 ? out : partial_.data();
    // Whatever used the bank before is ahead on the default stream.
    for (auto& event : computed_) event.record();
    std::int64_t tile = 0;
    for (std::int64_t first = 0; first < count; first += tile_items, ++tile) {
      const std::int64_t in_chunk = first % chunk_items;
      if (in_chunk == 0) {
        pack(first, static_cast<int>(std::min<std::int64_t>(chunk_items, count - first)));
        packed_event_.record();
        upload_.wait(packed_event_);
      }
      const int items = static_cast<int>(std::min<std::int64_t>(tile_items, count - first));
      const int half = static_cast<int>(tile % 2);
      upload_.wait(computed_[half]);
      device::check(
          cudaMemcpyToSymbolAsync(tile_bank, packed_.data() + in_chunk * item_bytes, items * item_bytes,
                                  half * tile_bytes, cudaMemcpyDeviceToDevice, upload_.get()),
          "uploading a tile");
      uploaded_[half].record(upload_);
      uploaded_[half].hold_default_stream();
      const int per_part = (items + part_count - 1) / part_count;
      launch(dim3(blocks_for(threads, block_size), static_cast<unsigned>(part_count)), half, first, items,
             per_part, tile == 0, size, sums);
      computed_[half].record();
    }
    if (part_count > 1) {
      add_parts_kernel<T><<<blocks_for(size), small_block>>>(sums, part_count, size, size, out);
      device::check_launch("add_parts_kernel");
    }
  }

  VoxelGrid grid_;
  std::int64_t samples_, voxels_;
  SinCos variant_;
  std::int64_t full_threads_ = 0;
  Array<SamplePosition<T>> positions_;
  Array<unsigned char> packed_;
  Array<Complex<T>> partial_;
  device::Stream upload_;
  device::Event packed_event_, uploaded_[2], computed_[2];
};

template <class T>
class DirectTransformCuda final : public FourierTransform<T> {
 public:
  DirectTransformCuda(const Trajectory& trajectory, std::array<int, 3> matrix_size, SinCos variant)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), Device::cuda()),
        sums_(trajectory, matrix_size, image_grid(matrix_size), variant) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    sums_.forward(images.data(), this->check_batch(images, samples), samples.data());
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    sums_.adjoint(samples.data(), this->check_batch(images, samples), images.data());
  }

 private:
  static VoxelGrid image_grid(std::array<int, 3> matrix_size) {
    VoxelGrid grid;
    for (int axis = 0; axis < 3; ++axis) {
      grid.extent[axis] = matrix_size[axis];
      grid.first[axis] = -2 * (matrix_size[axis] / 2);
    }
    return grid;
  }

  mutable DirectSums<T> sums_;  // its buffers are scratch
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory& trajectory,
                                                                std::array<int, 3> matrix_size,
                                                                SinCos variant) {
  return std::make_unique<DirectTransformCuda<T>>(trajectory, matrix_size, variant);
}

DirectKernelUse direct_kernel_use(int coils, SinCos variant, bool forward) {
  return DirectSums<float>::kernel_use(coils, variant, forward);
}

template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                           const Array<double>* weights, SinCos variant) {
  const std::int64_t samples = trajectory.sample_count();
  Array<Complex<T>> values({samples});
  for (std::int64_t m = 0; m < samples; ++m) values[m] = {weights ? static_cast<T>((*weights)[m]) : T(1)};
  values = values.to(Device::cuda());

  // Half of the differences: those >= 0 along the slowest axis that has more than one voxel.
  const int half_axis = matrix_size[2] > 1 ? 2 : matrix_size[1] > 1 ? 1 : 0;
  VoxelGrid grid;
  std::array<std::int64_t, 3> size;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = matrix_size[axis];
    grid.extent[axis] = axis == half_axis ? n : 2 * n - 1;
    grid.first[axis] = axis == half_axis ? 0 : -2 * (n - 1);
    size[axis] = n == 1 ? 1 : 2 * n;
  }
  Array<Complex<T>> half({grid.extent[2], grid.extent[1], grid.extent[0]}, Device::cuda());
  DirectSums<T>(trajectory, matrix_size, grid, variant).adjoint(values.data(), 1, half.data());
  Array<Complex<T>> q({size[2], size[1], size[0]}, Device::cuda());
  unfold_point_spread_kernel<T><<<blocks_for(q.size()), small_block>>>(
      grid, half_axis, matrix_size[0], matrix_size[1], matrix_size[2], half.data(), q.data());
  device::check_launch("unfold_point_spread_kernel");
  return q;
}

#define FHD_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda<T>(                  \
      const Trajectory&, std::array<int, 3>, SinCos);                                    \
  template Array<Complex<T>> point_spread_direct_cuda<T>(const Trajectory&, std::array<int, 3>, \
                                                         const Array<double>*, SinCos);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
