// F, F^H and Q in single precision as products of matrices on tensor cores. The arithmetic is in matrix_adjoint_cuda.cuh and
// matrix_forward_cuda.cuh, how the sums are shared out in matrix_plan.hpp. On Hopper its own instructions do the products
// and the copies, elsewhere those of compute capability 8.0.
#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/matrix_adjoint_cuda.cuh"
#include "recon/transform/direct/matrix_forward_cuda.cuh"
#include "recon/transform/direct/matrix_sums.hpp"

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
__global__ void make_phases_kernel(const double* k, std::int64_t count, int n, std::uint32_t* half_voxel) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m < count) half_voxel[m] = phase_of_ratio<float>(k[m], 2.0 * n);
}

// largest[coil] = bits of the largest |re|, |im| of the coil; the bits of numbers >= 0 are in their order, NaN beyond all.
// Maxima do not depend on their order. One thread per value, in turns.
__global__ void find_largest_kernel(const float2* values, std::int64_t size, unsigned* largest) {
  const float2* of_coil = values + blockIdx.y * size;
  unsigned bits = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x)
    bits = max(bits, max(__float_as_uint(fabsf(of_coil[i].x)), __float_as_uint(fabsf(of_coil[i].y))));
  bits = __reduce_max_sync(~0u, bits);
  if (threadIdx.x % 32 == 0) atomicMax(largest + blockIdx.y, bits);
}

// scale[coil]: the power of two that brings the largest value below 2^data_exponent; 1 for zeros and for what is not finite.
__global__ void make_scales_kernel(const unsigned* largest, std::int64_t coils, float* scale) {
  const std::int64_t coil = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (coil >= coils) return;
  const float value = __uint_as_float(largest[coil]);
  constexpr int most = 120;  // a power of two and its inverse are normal numbers
  int exponent = 0;
  frexpf(value, &exponent);
  scale[coil] = value > 0 && isfinite(value) ? ldexpf(1, max(-most, min(most, data_exponent - exponent))) : 1;
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

}  // namespace

MatrixSums::MatrixSums(const Trajectory& trajectory, std::array<int, 3> matrix_size, const VoxelGrid& grid,
                       Device device, Parts parts)
    : grid_(grid),
      samples_(trajectory.sample_count()),
      device_(device),
      parts_(parts),
      has_hopper_code_(device_runs_hopper_code()),
      half_voxel_({3, samples_}, device) {
  const auto k = trajectory.k.to(device);
  for (int axis = 0; axis < 3; ++axis) {
    make_phases_kernel<<<blocks_for(samples_), small_block>>>(k.data() + axis * samples_, samples_,
                                                              matrix_size[static_cast<std::size_t>(axis)],
                                                              half_voxel_.data() + axis * samples_);
    device::check_launch("make_phases_kernel");
  }
}

PlanSizes MatrixSums::sizes_for(std::int64_t coils) const {
  return plan_sizes(samples_, coils, parts_, device_);
}

const float* MatrixSums::scales(const float2* values, std::int64_t coils, std::int64_t size) {
  float* scale = memory_for(scale_, 2 * coils, device_);
  auto* largest = reinterpret_cast<unsigned*>(scale + coils);
  device::check(cudaMemsetAsync(largest, 0, static_cast<std::size_t>(coils) * sizeof(unsigned),
                                device::cuda::default_stream()),
                "clearing an array");
  const unsigned blocks = std::min(blocks_for(size), 1024u);
  find_largest_kernel<<<dim3(blocks, static_cast<unsigned>(coils)), small_block>>>(values, size, largest);
  device::check_launch("find_largest_kernel");
  make_scales_kernel<<<blocks_for(coils), small_block>>>(largest, coils, scale);
  device::check_launch("make_scales_kernel");
  return scale;
}

template <Parts parts>
void MatrixSums::adjoint_pass(const AdjointPlan& plan, const float2* data, std::int64_t coils,
                              float2* values) {
  const auto& cut = plan.cut;
  unsigned char* const workspace = workspace_.data();
  const float* scale = scales(data, coils, samples_);
  float2* const sums = plan.splits == 1 ? values : reinterpret_cast<float2*>(workspace + plan.partial);
  const std::int64_t size = coils * cut.points();
  device::check(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(plan.splits * size) * sizeof(float2),
                                device::cuda::default_stream()),
                "clearing an array");
  const SamplePhases phases{half_voxel_.data(), samples_};
  const dim3 grid(static_cast<unsigned>(cut.tiles() * coils), static_cast<unsigned>(plan.splits));
  for (std::int64_t first = 0; first < samples_; first += plan.blocks * block_samples) {
    const std::int64_t count = std::min(plan.blocks * block_samples, samples_ - first),
                       blocks = (count + block_samples - 1) / block_samples;
    const unsigned makers = blocks_for(cut.groups(cut.outer_axis[0]) * blocks * factor_threads) +
                            blocks_for(cut.groups(cut.outer_axis[1]) * blocks * factor_threads) +
                            blocks_for(coils * cut.inner_tiles() * blocks * moving_threads);
    make_matrices_kernel<parts><<<makers, small_block>>>(
        cut, phases, data, scale, first, count, static_cast<int>(coils), workspace + plan.factors[0],
        workspace + plan.factors[1], workspace + plan.images);
    device::check_launch("make_matrices_kernel");
    const auto multiply = [&](auto kernel, int threads, std::size_t shared_bytes) {
      launch("adjoint_matrix_kernel", kernel, grid, threads, shared_bytes, cut, blocks,
             static_cast<int>(coils), workspace + plan.images, workspace + plan.factors[0],
             workspace + plan.factors[1], scale, sums);
    };
    constexpr int ahead = adjoint_hopper_stages<parts>;
    if (has_hopper_code_)
      multiply(adjoint_matrix_hopper_kernel<parts, ahead>, hopper_threads,
               ahead * stage_bytes<parts> + barrier_bytes<ahead>);
    else
      multiply(adjoint_matrix_kernel<parts, stages>, consumer_threads, stages * stage_bytes<parts>);
  }
  if (plan.splits > 1)
    device::for_each_index(size, SumOfParts<float>{reinterpret_cast<Complex<float>*>(sums), plan.splits, size,
                                                   reinterpret_cast<Complex<float>*>(values)});
}

template <Parts parts>
void MatrixSums::forward_pass(const ForwardPlan& plan, const float2* values, std::int64_t coils,
                              float2* data) {
  const auto& cut = plan.cut;
  unsigned char* const images = workspace_.data() + plan.images;
  const float* scale = scales(values, coils, cut.points());
  float2* const sums = plan.splits == 1 ? data : reinterpret_cast<float2*>(workspace_.data() + plan.partial);
  const SamplePhases phases{half_voxel_.data(), samples_};
  const std::int64_t all = cut.tiles(), size = coils * samples_;
  for (std::int64_t first = 0; first < all; first += plan.tiles) {
    const TileRange tiles{first, std::min(plan.tiles, all - first)};
    make_rows_kernel<parts><<<blocks_for(coils * tiles.count * cut.blocks() * moving_threads), small_block>>>(
        cut, tiles, values, scale, static_cast<int>(coils), images);
    device::check_launch("make_rows_kernel");
    const auto multiply = [&](auto kernel, int rows, int threads, std::size_t shared_bytes) {
      const dim3 grid(static_cast<unsigned>((samples_ + rows - 1) / rows), static_cast<unsigned>(plan.splits),
                      static_cast<unsigned>(coils));
      launch("forward_matrix_kernel", kernel, grid, threads,
             shared_bytes + phasor_bytes<parts>(rows, cut.blocks()), cut, tiles, phases, images, scale,
             first > 0, sums);
    };
    constexpr int ahead = forward_hopper_stages<parts>;
    if (has_hopper_code_)
      multiply(forward_matrix_hopper_kernel<parts, ahead>, forward_hopper_rows, hopper_threads,
               ahead * image_bytes(parts) + barrier_bytes<ahead>);
    else
      multiply(forward_matrix_kernel<parts, stages>, forward_rows, consumer_threads,
               stages * image_bytes(parts));
  }
  if (plan.splits > 1)
    device::for_each_index(size, SumOfParts<float>{reinterpret_cast<Complex<float>*>(sums), plan.splits, size,
                                                   reinterpret_cast<Complex<float>*>(data)});
}

DirectKernelUse MatrixSums::kernel_use(Parts parts, bool forward) {
  const bool hopper = device_runs_hopper_code();
  const auto use = [&](auto on_hopper, auto elsewhere) {
    cudaFuncAttributes attributes{};
    device::check(hopper ? cudaFuncGetAttributes(&attributes, on_hopper)
                         : cudaFuncGetAttributes(&attributes, elsewhere),
                  "reading the properties of a kernel");
    return DirectKernelUse{hopper ? hopper_threads : consumer_threads, attributes.numRegs};
  };
  const auto of = [&]<Parts p>() {
    return forward ? use(forward_matrix_hopper_kernel<p, forward_hopper_stages<p>>,
                         forward_matrix_kernel<p, stages>)
                   : use(adjoint_matrix_hopper_kernel<p, adjoint_hopper_stages<p>>,
                         adjoint_matrix_kernel<p, stages>);
  };
  return parts == Parts::two ? of.template operator()<Parts::two>() : of.template operator()<Parts::one>();
}

void MatrixSums::adjoint(const Complex<float>* data, std::int64_t coils, Complex<float>* values) {
  const AdjointPlan plan = adjoint_plan(grid_, sizes_for(coils));
  memory_for(workspace_, static_cast<std::int64_t>(plan.bytes), device_);
  for (std::int64_t coil = 0; coil < coils; coil += plan.coils) {
    const std::int64_t count = std::min(plan.coils, coils - coil);
    const auto* in = reinterpret_cast<const float2*>(data + coil * samples_);
    auto* out = reinterpret_cast<float2*>(values + coil * plan.cut.points());
    parts_ == Parts::two ? adjoint_pass<Parts::two>(plan, in, count, out)
                         : adjoint_pass<Parts::one>(plan, in, count, out);
  }
}

void MatrixSums::forward(const Complex<float>* values, std::int64_t coils, Complex<float>* data) {
  const ForwardPlan plan = forward_plan(grid_, sizes_for(coils));
  memory_for(workspace_, static_cast<std::int64_t>(plan.bytes), device_);
  for (std::int64_t coil = 0; coil < coils; coil += plan.coils) {
    const std::int64_t count = std::min(plan.coils, coils - coil);
    const auto* in = reinterpret_cast<const float2*>(values + coil * plan.cut.points());
    auto* out = reinterpret_cast<float2*>(data + coil * samples_);
    parts_ == Parts::two ? forward_pass<Parts::two>(plan, in, count, out)
                         : forward_pass<Parts::one>(plan, in, count, out);
  }
}

}  // namespace fhd::matrix_sums
