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
#include <array>
#include <memory>
#include <mutex>

#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/direct/tiles.hpp"

namespace fhd {
namespace {

constexpr int forward_block = 128, small_block = 128;
template <class T>
constexpr int adjoint_block = std::is_same_v<T, float> ? 256 : 128;

// Two halves of constant memory. Global, because constant memory is, once on every device.
__constant__ __align__(32) unsigned char tile_bank[2][tile_bytes];

/// Lets threads take turns with the constant memory of a device: the work of one starts after that of the thread before.
class BankTurn {
 public:
  /// The device is current.
  explicit BankTurn(Device device) : bank_(bank_of(device)), lock_(bank_.mutex) {
    if (!bank_.last_use) bank_.last_use = std::make_unique<device::Event>();
    bank_.last_use->hold_default_stream();
  }
  /// An exception, too, leaves work behind that uses the bank.
  ~BankTurn() {
    try {
      bank_.last_use->record();
    } catch (const Error&) {  // the device is lost, and every later call says so
    }
  }
  BankTurn(const BankTurn&) = delete;
  BankTurn& operator=(const BankTurn&) = delete;

 private:
  struct Bank {
    std::mutex mutex;
    std::unique_ptr<device::Event> last_use;
  };
  static Bank& bank_of(Device device) {
    static std::array<Bank, 64> of_device;  // as many as device::state_of() knows
    return of_device.at(static_cast<std::size_t>(device.number()));
  }
  Bank& bank_;
  std::lock_guard<std::mutex> lock_;
};

template <class T, SinCos sin_cos>
__device__ inline Complex<T> phasor(Phase<T> phase) {
  if constexpr (sin_cos == SinCos::fast && std::is_same_v<T, float>)
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

// images (+)= the sums of one thread per run of `rows` rows from (y, z) on. Neighbours in x belong to one thread:
// a warp turns its runs in shared memory, so that it reads and writes whole lines of the image. Each warp has its
// own buffer; the pitch spreads the runs over the banks.
template <class T, int coils, int rows, int half>
__device__ __forceinline__ void write_runs(VoxelGrid grid, const RunSum<T> (&sums)[coils][rows][half],
                                           int run, int y, std::int64_t z, bool first_tile,
                                           Complex<T>* images) {
  constexpr int warp = 32, length = 2 * half, pitch = length + 1;
  __shared__ __align__(16) unsigned char shared[adjoint_block<T> * pitch * sizeof(Complex<T>)];
  const int lane = threadIdx.x % warp;
  auto* turned = reinterpret_cast<Complex<T>*>(shared) + (threadIdx.x - lane) * pitch;
  const std::int64_t voxels = std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2];
  const std::int64_t own_begin = (z * grid.extent[1] + y) * grid.extent[0] + run * length;
  const int own_length = z < grid.extent[2] ? min(length, grid.extent[0] - run * length) : 0;
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

enum class PointSource { constant_memory, memory };

/// A scan point that all threads of a warp read, in words of 16 or 8 bytes.
template <class T, int coils>
__device__ __forceinline__ ScanPoint<T, coils> point_in_memory(const ScanPoint<T, coils>* points, int m) {
  using Point = ScanPoint<T, coils>;
  using Word = std::conditional_t<sizeof(Point) % sizeof(uint4) == 0, uint4, uint2>;
  static_assert(sizeof(Point) % sizeof(Word) == 0);
  union {
    Word words[sizeof(Point) / sizeof(Word)];
    unsigned char bytes[sizeof(Point)];
  } loaded;
  const auto* words = reinterpret_cast<const Word*>(points + m);
#pragma unroll
  for (int i = 0; i < int(sizeof(Point) / sizeof(Word)); ++i) loaded.words[i] = __ldg(words + i);
  return *reinterpret_cast<const Point*>(loaded.bytes);
}

// The adjoint over one tile:  image_c(p) += sum_m d_c(m) exp(+i 2 pi k_m . r_p)  (= for the first tile).
// One thread owns a run of 2 H voxels along x in `rows` rows, for all coils of the pass, and is their only
// writer. blockIdx.y takes one part of the tile's scan points and writes images + part x part_stride,
// [coil][z][y][x]. Floor per run, row and sample: 4 + 4 H multiply-adds per coil and 2 special functions. The tile is
// a half of the bank, or as many scan points as there are at `in_memory`.
template <class T, int coils, SinCos sin_cos, PointSource source>
__global__ void __launch_bounds__(adjoint_block<T>)
    adjoint_tile_kernel(VoxelGrid grid, int bank_half, const ScanPoint<T, coils>* __restrict__ in_memory,
                        int tile_points, int points_per_part, bool first_tile, std::int64_t part_stride,
                        Complex<T>* images) {
  constexpr int rows = rows_per_thread<T, coils>, half = half_run<coils>;
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
    const auto& point = [&]() -> decltype(auto) {
      if constexpr (source == PointSource::memory)
        return point_in_memory(in_memory, m);
      else
        return (points[m]);
    }();
    Phase<T> phase = phase_at<T>(point.half_voxel, centre_x, first_y, centre_z);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const Complex<T> at_centre = phasor<T, sin_cos>(phase);
      phase += 2 * point.half_voxel[1];
#pragma unroll
      for (int coil = 0; coil < coils; ++coil) {
        const Complex<T> c = point.data[coil] * at_centre;
#pragma unroll
        for (int j = 0; j < half; ++j) sums[coil][row][j].add(c, point.step[j]);
      }
    }
  }

  images += blockIdx.y * part_stride;
  write_runs(grid, sums, run, y, z, first_tile, images);
}

// The forward sum over one tile:  d_c(m) += sum_p rho_c(p) exp(-i 2 pi k_m . r_p)  (= for the first tile).
// One thread owns `samples_per_thread` samples, forward_block apart, for all coils of the pass, and is their
// only writer. The tile holds the runs first_run ... first_run + tile_runs of the grid; blockIdx.y takes one
// part of them and writes samples + part x part_stride, [coil][sample]. Floor per run and sample: 4 + 4 H
// multiply-adds per coil and 2 special functions.
template <class T, int coils, SinCos sin_cos>
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
    for (int s = 0; s < count; ++s) at_centre[s] = conj(phasor<T, sin_cos>(phase[s]));
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

unsigned blocks_for(std::int64_t threads, int size = small_block) {
  return static_cast<unsigned>((threads + size - 1) / size);
}

// --- The pipeline ---

/// One trajectory and one grid: plans, buffers and events of the direct sums, made once.
template <class T>
class DirectSums final : public GridSums<T> {
 public:
  /// `device` is current.
  DirectSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, VoxelGrid grid, Device device,
             SinCos sin_cos)
      : grid_(grid),
        samples_(trajectory.sample_count()),
        voxels_(std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2]),
        device_(device),
        sin_cos_(sin_cos),
        full_threads_(std::int64_t{threads_per_multiprocessor} * device::multiprocessor_count(device)),
        positions_({samples_}, device),
        packed_({std::int64_t{tiles_per_chunk} * tile_bytes}, device),
        partial_({static_cast<std::int64_t>(partial_elements<T>(grid, samples_, full_threads_))}, device) {
    // k goes through the buffer for tiles, [3][count] at a time.
    auto* k = reinterpret_cast<double*>(packed_.data());
    const std::int64_t most = packed_.size() / static_cast<std::int64_t>(3 * sizeof(double));
    for (std::int64_t first = 0; first < samples_; first += most) {
      const std::int64_t count = std::min(most, samples_ - first);
      for (int axis = 0; axis < 3; ++axis)
        device::check(cudaMemcpy(k + axis * count, trajectory.k.data() + axis * samples_ + first,
                                 static_cast<std::size_t>(count) * sizeof(double), cudaMemcpyHostToDevice),
                      "copying a trajectory to the device");
      prepare_positions_kernel<T><<<blocks_for(count), small_block>>>(
          k, count, matrix_size[0], matrix_size[1], matrix_size[2], positions_.data() + first);
      device::check_launch("prepare_positions_kernel");
    }
  }

  void adjoint(const Complex<T>* data, std::int64_t coil_count, Complex<T>* values) override {
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
        adjoint_kernel<coils>(sin_cos_)<<<blocks, (adjoint_block<T>)>>>(grid_, bank_half, nullptr, count,
                                                                        per_part, first_tile, stride, out);
        device::check_launch("adjoint_tile_kernel");
      };
      if (reads_points_from_memory(full_threads_, adjoint_threads<T, coils>(grid_)))
        return adjoint_from_memory<coils>(pack, values + coil * voxels_);
      run_tiles(samples_, sizeof(ScanPoint<T, coils>), adjoint_threads<T, coils>(grid_), adjoint_block<T>,
                coils * voxels_, values + coil * voxels_, pack, launch);
    });
  }

  void forward(const Complex<T>* values, std::int64_t coil_count, Complex<T>* data) override {
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
        forward_kernel<coils>(sin_cos_)<<<blocks, forward_block>>>(
            grid_, positions_.data(), samples_, bank_half, first, count, per_part, first_tile, stride, out);
        device::check_launch("forward_tile_kernel");
      };
      run_tiles(runs, sizeof(VoxelRun<T, coils>), forward_threads<T>(samples_), forward_block,
                coils * samples_, data + coil * samples_, pack, launch);
    });
  }

 private:
  template <int coils, PointSource source = PointSource::constant_memory>
  static auto adjoint_kernel(SinCos sin_cos) {
    return sin_cos == SinCos::fast ? adjoint_tile_kernel<T, coils, SinCos::fast, source>
                                   : adjoint_tile_kernel<T, coils, SinCos::accurate, source>;
  }
  /// The sums of a pass over few voxels: as many scan points at once as are packed at once.
  template <int coils, class Pack>
  void adjoint_from_memory(const Pack& pack, Complex<T>* out) {
    using Point = ScanPoint<T, coils>;
    const std::int64_t threads = adjoint_threads<T, coils>(grid_), size = coils * voxels_,
                       chunk = packed_.size() / static_cast<std::int64_t>(sizeof(Point));
    const int part_count = parts_of_points(full_threads_, threads, samples_);
    Complex<T>* sums = part_count == 1 ? out : partial_.data();
    for (std::int64_t first = 0; first < samples_; first += chunk) {
      const int count = static_cast<int>(std::min(chunk, samples_ - first));
      pack(first, count);
      const dim3 blocks(blocks_for(threads, adjoint_block<T>), static_cast<unsigned>(part_count));
      adjoint_kernel<coils, PointSource::memory>(sin_cos_)<<<blocks, (adjoint_block<T>)>>>(
          grid_, 0, reinterpret_cast<const Point*>(packed_.data()), count,
          (count + part_count - 1) / part_count, first == 0, size, sums);
      device::check_launch("adjoint_tile_kernel");
    }
    if (part_count > 1) add_parts(part_count, size, out);
  }
  void add_parts(int part_count, std::int64_t size, Complex<T>* out) {
    device::for_each_index(size, SumOfParts<T>{partial_.data(), part_count, size, out});
  }
  template <int coils>
  static auto forward_kernel(SinCos sin_cos) {
    return sin_cos == SinCos::fast ? forward_tile_kernel<T, coils, SinCos::fast>
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
  /// Packs, uploads and computes `count` items of `item_bytes` tile after tile; `size` elements of output.
  template <class Pack, class Launch>
  void run_tiles(std::int64_t count, std::size_t item_bytes, std::int64_t threads, int block_size,
                 std::int64_t size, Complex<T>* out, const Pack& pack, const Launch& launch) {
    const int tile_items = static_cast<int>(tile_bytes / item_bytes);
    const int chunk_items = tile_items * tiles_per_chunk;
    const int part_count = parts_of_tile(full_threads_, threads, item_bytes);
    Complex<T>* sums = part_count == 1 ? out : partial_.data();
    const BankTurn turn(device_);
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
    if (part_count > 1) add_parts(part_count, size, out);
  }

  VoxelGrid grid_;
  std::int64_t samples_, voxels_;
  Device device_;
  SinCos sin_cos_;
  std::int64_t full_threads_;
  Array<SamplePosition<T>> positions_;
  Array<unsigned char> packed_;
  Array<Complex<T>> partial_;
  device::Stream upload_;
  device::Event packed_event_, uploaded_[2], computed_[2];
};

template <class T>
std::unique_ptr<GridSums<T>> make_sums(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const VoxelGrid& grid, Device device, DirectChoice choice) {
  const DirectWay way = direct_way(choice, grid, precision_of<T>(), device);
  if (way.matrices) return make_matrix_sums<T>(trajectory, matrix_size, grid, device, *way.matrices);
  return std::make_unique<DirectSums<T>>(trajectory, matrix_size, grid, device, way.sin_cos);
}

template <class T>
class DirectTransformCuda final : public FourierTransform<T> {
 public:
  DirectTransformCuda(const Trajectory& trajectory, std::array<int, 3> matrix_size, Device device,
                      DirectChoice choice)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), device),
        cost_({matrix_size, {trajectory.sample_count()}, precision_of<T>(), device}, choice),
        sums_(make_sums<T>(trajectory, matrix_size, image_grid(matrix_size), device, choice)) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const CurrentDevice guard(this->device());
    sums_->forward(images.data(), this->check_batch(images, samples), samples.data());
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const CurrentDevice guard(this->device());
    sums_->adjoint(samples.data(), this->check_batch(images, samples), images.data());
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  DirectCost cost_;
  std::unique_ptr<GridSums<T>> sums_;  // its buffers are scratch
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory& trajectory,
                                                                std::array<int, 3> matrix_size, Device device,
                                                                DirectChoice choice) {
  const CurrentDevice guard(device);
  return std::make_unique<DirectTransformCuda<T>>(trajectory, matrix_size, device, choice);
}

template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                           const Array<double>* weights, Device device, DirectChoice choice) {
  const CurrentDevice guard(device);
  const std::int64_t samples = trajectory.sample_count();
  Array<Complex<T>> values({samples});
  for (std::int64_t m = 0; m < samples; ++m) values[m] = {weights ? static_cast<T>((*weights)[m]) : T(1)};
  values = values.to(device);

  const VoxelGrid grid = half_difference_grid(matrix_size);
  Array<Complex<T>> half({grid.extent[2], grid.extent[1], grid.extent[0]}, device);
  make_sums<T>(trajectory, matrix_size, grid, device, choice)->adjoint(values.data(), 1, half.data());
  return periodic_point_spread(half, grid, matrix_size);
}

#define FHD_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda<T>(                  \
      const Trajectory&, std::array<int, 3>, Device, DirectChoice);                             \
  template Array<Complex<T>> point_spread_direct_cuda<T>(const Trajectory&, std::array<int, 3>, \
                                                         const Array<double>*, Device, DirectChoice);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd

FHD_POINTWISE_KERNEL(fhd::SumOfParts<float>)
FHD_POINTWISE_KERNEL(fhd::SumOfParts<double>)
FHD_POINTWISE_KERNEL(fhd::UnfoldPointSpread<float>)
FHD_POINTWISE_KERNEL(fhd::UnfoldPointSpread<double>)
