// F, F^H and Q as products of matrices on tensor cores. The arithmetic is in matrix_adjoint_cuda.cuh and
// matrix_forward_cuda.cuh, how the sums are shared out in separable.hpp. On Hopper its own instructions do the products of
// single precision and the copies, elsewhere those of compute capability 8.0.
#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/coil_scales_cuda.cuh"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/matrix_adjoint_cuda.cuh"
#include "recon/transform/direct/matrix_forward_cuda.cuh"
#include "recon/transform/direct/separable.hpp"

namespace fhd::matrix_sums {
namespace {

constexpr int small_block = 256;
/// Blocks of a matrix that are on their way: as many as go into shared memory on Hopper; elsewhere the next one comes while
/// one is multiplied.
constexpr int stages = 2;
template <Parts parts>
constexpr int adjoint_hopper_stages = parts == Parts::two ? 5 : 8;
template <Parts parts>
constexpr int forward_hopper_stages = parts == Parts::two ? 3 : 8;

// Which machine code runs: set where it is compiled.
#ifdef FHD_HOPPER
__device__ const int hopper_code = 1;
#else
__device__ const int hopper_code = 0;
#endif
bool device_runs_hopper_code() {
  int found = 0;
  device::check(cudaMemcpyFromSymbol(&found, hopper_code, sizeof found),
                "asking for the machine code of the device");
  return found != 0;
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + small_block - 1) / small_block);
}

// half_voxel[m] = phase of k[m] / 2 n turns: half a voxel along an axis. One thread per sample.
template <class T>
__global__ void make_phases_kernel(const double* k, std::int64_t count, int n, Phase<T>* half_voxel) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m < count) half_voxel[m] = phase_of_ratio<T>(k[m], 2.0 * n);
}

template <class Kernel>
void allow_shared_memory(Kernel kernel, std::size_t bytes) {
  device::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "asking for shared memory");
}

/// Launches `kernel` with that much shared memory.
template <class Kernel, class... Arguments>
void launch(const char* name, Kernel kernel, dim3 blocks, int threads, std::size_t shared_bytes,
            Arguments... arguments) {
  allow_shared_memory(kernel, shared_bytes);
  kernel<<<blocks, threads, shared_bytes>>>(arguments...);
  device::check_launch(name);
}

/// f(first sample, count, blocks, thread blocks that make the matrices) for every pass over the samples.
template <Parts parts, class F>
void for_each_pass(const AdjointPlan& plan, std::int64_t samples, std::int64_t coils, const F& f) {
  const auto& cut = plan.cut;
  constexpr int length = block_length(parts);
  for (std::int64_t first = 0; first < samples; first += plan.blocks * length) {
    const std::int64_t count = std::min(plan.blocks * length, samples - first),
                       blocks = (count + length - 1) / length;
    f(first, count, blocks,
      blocks_for(cut.groups(cut.outer_axis[0]) * blocks * factor_threads) +
          blocks_for(cut.groups(cut.outer_axis[1]) * blocks * factor_threads) +
          blocks_for(coils * cut.inner_tiles() * blocks * moving_threads));
  }
}

dim3 forward_grid(std::int64_t samples, int rows, int splits, std::int64_t coils) {
  return {static_cast<unsigned>((samples + rows - 1) / rows), static_cast<unsigned>(splits),
          static_cast<unsigned>(coils)};
}

/// Where a call works: its device is current.
struct Place {
  Device device;
  bool has_hopper_code;
  Array<float>& scale;
  unsigned char* workspace;
};

/// Adds up a pass in several shares: values = the sum of theirs.
template <class T, class Value>
void add_splits(int splits, std::int64_t size, const Value* sums, Value* values) {
  if (splits > 1)
    device::for_each_index(size, SumOfParts<T>{reinterpret_cast<const Complex<T>*>(sums), splits, size,
                                               reinterpret_cast<Complex<T>*>(values)});
}

template <Parts parts, class T = Number<parts>>
void adjoint_pass(const Place& place, const AdjointPlan& plan, const SamplePhases<T>& phases,
                  const Value<T>* data, std::int64_t coils, Value<T>* sums) {
  const auto& cut = plan.cut;
  unsigned char *const factors_0 = place.workspace + plan.factors[0],
                       *const factors_1 = place.workspace + plan.factors[1],
                       *const images = place.workspace + plan.images;
  const float* scale = nullptr;
  if constexpr (parts != Parts::whole)
    scale = coil_scales(place.scale, place.device, data, coils, phases.samples, data_exponent);
  const dim3 grid(static_cast<unsigned>(cut.tiles() * coils), static_cast<unsigned>(plan.splits));
  for_each_pass<parts>(
      plan, phases.samples, coils,
      [&](std::int64_t first, std::int64_t count, std::int64_t blocks, unsigned makers) {
        make_matrices_kernel<parts><<<makers, small_block>>>(
            cut, phases, data, scale, first, count, static_cast<int>(coils), factors_0, factors_1, images);
        device::check_launch("make_matrices_kernel");
        const auto multiply = [&](auto kernel, int threads, std::size_t shared_bytes) {
          launch("adjoint_matrix_kernel", kernel, grid, threads, shared_bytes, cut, blocks,
                 static_cast<int>(coils), images, factors_0, factors_1, scale, sums);
        };
        if constexpr (parts != Parts::whole) {
          constexpr int ahead = adjoint_hopper_stages<parts>;
          if (place.has_hopper_code)
            return multiply(adjoint_matrix_hopper_kernel<parts, ahead>, hopper_threads,
                            ahead * stage_bytes<parts> + column_table_bytes + barrier_bytes<ahead>);
        }
        multiply(adjoint_matrix_kernel<parts, stages>, consumer_threads,
                 stages * stage_bytes<parts> + column_table_bytes);
      });
}

template <Parts parts, class T = Number<parts>>
void forward_pass(const Place& place, const ForwardPlan& plan, const SamplePhases<T>& phases,
                  const Value<T>* values, std::int64_t coils, Value<T>* sums) {
  const auto& cut = plan.cut;
  unsigned char* const images = place.workspace + plan.images;
  const float* scale = nullptr;
  if constexpr (parts != Parts::whole)
    scale = coil_scales(place.scale, place.device, values, coils, cut.points(), data_exponent);
  const std::int64_t all = cut.tiles();
  for (std::int64_t first = 0; first < all; first += plan.tiles) {
    const TileRange tiles{first, std::min(plan.tiles, all - first)};
    make_rows_kernel<parts>
        <<<blocks_for(coils * tiles.count * cut.blocks() * row_makers(parts)), small_block>>>(
            cut, tiles, values, scale, static_cast<int>(coils), images);
    device::check_launch("make_rows_kernel");
    const auto multiply = [&](auto kernel, int rows, int threads, std::size_t shared_bytes) {
      launch("forward_matrix_kernel", kernel, forward_grid(phases.samples, rows, plan.splits, coils), threads,
             shared_bytes + phasor_bytes<parts>(rows, cut.blocks()), cut, tiles, phases, images, scale,
             first > 0, sums);
    };
    if constexpr (parts != Parts::whole) {
      constexpr int ahead = forward_hopper_stages<parts>;
      if (place.has_hopper_code) {
        multiply(forward_matrix_hopper_kernel<parts, ahead>, forward_hopper_rows, hopper_threads,
                 ahead * image_bytes(parts) + barrier_bytes<ahead>);
        continue;
      }
    }
    multiply(forward_matrix_kernel<parts, stages>, forward_rows, consumer_threads,
             stages * image_bytes(parts));
  }
}

/// f<parts>() for what is asked of numbers of type T.
template <class T, class F>
void with_parts(Parts parts, const F& f) {
  if constexpr (std::is_same_v<T, double>)
    f.template operator()<Parts::whole>();
  else if (parts == Parts::two)
    f.template operator()<Parts::two>();
  else
    f.template operator()<Parts::one>();
}

/// One trajectory and one grid. Its workspace grows with the coils of a call and is kept.
template <class T>
class MatrixSums final : public GridSums<T> {
 public:
  MatrixSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, const VoxelGrid& grid,
             Device device, Parts parts)
      : grid_(grid),
        samples_(trajectory.sample_count()),
        device_(device),
        parts_(parts),
        has_hopper_code_(device_runs_hopper_code()),
        half_voxel_({3, samples_}, device) {
    const auto k = trajectory.k.to(device);
    for (int axis = 0; axis < 3; ++axis) {
      make_phases_kernel<T><<<blocks_for(samples_), small_block>>>(
          k.data() + axis * samples_, samples_, matrix_size[static_cast<std::size_t>(axis)],
          half_voxel_.data() + axis * samples_);
      device::check_launch("make_phases_kernel");
    }
  }

  void adjoint(const Complex<T>* data, std::int64_t coils, Complex<T>* values) override {
    const AdjointPlan plan = adjoint_plan(grid_, plan_sizes(samples_, coils, parts_, device_));
    const Place place{device_, has_hopper_code_, scale_,
                      memory_for(workspace_, static_cast<std::int64_t>(plan.bytes), device_)};
    for (std::int64_t coil = 0; coil < coils; coil += plan.coils) {
      const std::int64_t count = std::min(plan.coils, coils - coil), size = count * plan.cut.points();
      const auto* in = reinterpret_cast<const Value<T>*>(data + coil * samples_);
      auto* out = reinterpret_cast<Value<T>*>(values + coil * plan.cut.points());
      auto* sums = plan.splits == 1 ? out : reinterpret_cast<Value<T>*>(place.workspace + plan.partial);
      device::check(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(plan.splits * size) * sizeof(Value<T>),
                                    device::cuda::default_stream()),
                    "clearing an array");
      with_parts<T>(parts_, [&]<Parts parts>() {
        adjoint_pass<parts>(place, plan, {half_voxel_.data(), samples_}, in, count, sums);
      });
      add_splits<T>(plan.splits, size, sums, out);
    }
  }

  void forward(const Complex<T>* values, std::int64_t coils, Complex<T>* data) override {
    const ForwardPlan plan = forward_plan(grid_, plan_sizes(samples_, coils, parts_, device_));
    const Place place{device_, has_hopper_code_, scale_,
                      memory_for(workspace_, static_cast<std::int64_t>(plan.bytes), device_)};
    for (std::int64_t coil = 0; coil < coils; coil += plan.coils) {
      const std::int64_t count = std::min(plan.coils, coils - coil), size = count * samples_;
      const auto* in = reinterpret_cast<const Value<T>*>(values + coil * plan.cut.points());
      auto* out = reinterpret_cast<Value<T>*>(data + coil * samples_);
      auto* sums = plan.splits == 1 ? out : reinterpret_cast<Value<T>*>(place.workspace + plan.partial);
      with_parts<T>(parts_, [&]<Parts parts>() {
        forward_pass<parts>(place, plan, {half_voxel_.data(), samples_}, in, count, sums);
      });
      add_splits<T>(plan.splits, size, sums, out);
    }
  }

 private:
  VoxelGrid grid_;
  std::int64_t samples_;
  Device device_;
  Parts parts_;
  bool has_hopper_code_;
  Array<Phase<T>> half_voxel_;  ///< phases [axis][sample]
  Array<float> scale_;          ///< [coil], after the largest values
  Array<unsigned char> workspace_;
};

}  // namespace
}  // namespace fhd::matrix_sums

namespace fhd {

template <class T>
std::unique_ptr<GridSums<T>> make_matrix_sums(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                              const VoxelGrid& grid, Device device,
                                              matrix_sums::Parts parts) {
  return std::make_unique<matrix_sums::MatrixSums<T>>(trajectory, matrix_size, grid, device, parts);
}
template std::unique_ptr<GridSums<float>> make_matrix_sums<float>(const Trajectory&, std::array<int, 3>,
                                                                  const VoxelGrid&, Device,
                                                                  matrix_sums::Parts);
template std::unique_ptr<GridSums<double>> make_matrix_sums<double>(const Trajectory&, std::array<int, 3>,
                                                                    const VoxelGrid&, Device,
                                                                    matrix_sums::Parts);

}  // namespace fhd
