// Spreading and interpolation by tensor cores: the tables of the samples, and the launches.
#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <string>
#include <utility>

#include "recon/transform/gridded/sample_grid_cuda.cuh"
#include "recon/transform/gridded/tensor_grid_cuda.cuh"
#include "recon/transform/gridded/tensor_interpolate.cuh"
#include "recon/transform/gridded/tensor_samples.cuh"
#include "recon/transform/gridded/tensor_spread.cuh"

namespace fhd {

using namespace tensor_gridding;
using gridded_cuda::blocks_for;
using gridded_cuda::on_device;
using gridded_cuda::small_block;

namespace {

TileGeometry geometry_of(const TensorShape& shape, const std::array<int, 3>& matrix_size) {
  TileGeometry geometry;
  for (int i = 0; i < 3; ++i) {
    geometry.axis[i] = shape.axis[i];
    geometry.size[i] = shape.size[i];
    geometry.points[i] = shape.points[i];
    geometry.matrix_size[i] = shape.axis[i] < 0 ? 1 : matrix_size[shape.axis[i]];
  }
  std::copy_n(shape.tiles, 2, geometry.tiles);
  geometry.zones = shape.zones;
  geometry.zone_planes = shape.zone_planes;
  return geometry;
}

/// Returns the layout of grids [z][coil][y][x] for so many coils; a grid of one plane is swept along y.
GridLayout layout_of(const TensorShape& shape, const Gridding& gridding, int coils) {
  GridLayout layout;
  std::copy_n(shape.size, 3, layout.size);
  layout.tiles_x = shape.tiles[0];
  layout.zone_planes = shape.zone_planes;
  layout.window_planes = shape.window_planes;
  const std::int64_t line = gridding.grid[0], plane = line * gridding.grid[1];
  const bool along_z = shape.axis[2] == 2;
  layout.stride_y = along_z ? line : 0;
  layout.stride_z = along_z ? coils * plane : line;
  layout.stride_coil = plane;
  return layout;
}

template <bool split>
TileKernel<kernel_terms<split>> kernel_of(const TensorShape& shape, const KaiserBessel& kernel) {
  TileKernel<kernel_terms<split>> result;
  const auto coefficients = kernel.even_polynomial(kernel_terms<split>);
  std::copy(coefficients.begin(), coefficients.end(), result.coefficients);
  for (int i = 0; i < 3; ++i)
    result.per_point[i] = shape.points[i] > 1 ? 2.0f / static_cast<float>(kernel.width) : 2;
  return result;
}

/// counts, the last of them 0, become where each one's entries begin; returns their number.
std::int64_t exclusive_sum(Array<std::int32_t>& counts) {
  std::size_t bytes = 0;
  const auto scan = [&](void* buffer) {
    device::check(cub::DeviceScan::ExclusiveSum(buffer, bytes, counts.data(), counts.data(), counts.size()),
                  "counting the entries of the samples");
  };
  scan(nullptr);
  Array<unsigned char> buffer({static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))}, counts.device());
  scan(buffer.data());
  const auto last = Array<std::int32_t>::view(counts.data() + counts.size() - 1, {1}, counts.device());
  return last.to(Device::cpu())[0];
}

}  // namespace

TensorGridCuda::TensorGridCuda(const Trajectory& trajectory, const GriddedCost& cost)
    : device_(cost.sizes().device),
      gridding_(cost.gridding()),
      shape_(cost.gridding()),
      samples_(trajectory.sample_count()) {
  enter_samples(trajectory.k.to(device_), cost);
}

/// The entries of the samples, sorted by tile and zone, and the plan of their runs.
void TensorGridCuda::enter_samples(const Array<double>& k, const GriddedCost& cost) {
  if (shape_.keys() >= std::int64_t{1} << 31)
    throw Error("gridded transform", "a grid of fewer than 2^31 tiles and zones",
                std::to_string(shape_.keys()), "use a smaller matrix");
  const TileGeometry geometry = geometry_of(shape_, gridding_.matrix_size);
  first_entry_ = Array<std::int32_t>({samples_ + 1}, device_);
  count_entries_kernel<<<blocks_for(samples_ + 1), small_block>>>(k.data(), samples_, geometry,
                                                                  first_entry_.data());
  device::check_launch("count_entries_kernel");
  entries_ = exclusive_sum(first_entry_);

  Array<std::uint32_t> keys({entries_}, device_);
  Array<std::int32_t> order({entries_}, device_);
  prepare_entry_keys_kernel<<<blocks_for(samples_), small_block>>>(
      k.data(), samples_, geometry, first_entry_.data(), keys.data(), order.data());
  device::check_launch("prepare_entry_keys_kernel");
  const auto sorted = gridded_cuda::sort_keys(std::move(keys), std::move(order), shape_.keys());
  place_ = Array<std::int32_t>({entries_}, device_);
  invert_order_kernel<<<blocks_for(entries_), small_block>>>(sorted.order.data(), entries_, place_.data());
  device::check_launch("invert_order_kernel");
  distances_ = Array<float>({3, entries_}, device_);
  sample_ = Array<std::int32_t>({entries_}, device_);
  write_entries_kernel<<<blocks_for(samples_), small_block>>>(k.data(), samples_, geometry,
                                                              first_entry_.data(), place_.data(), entries_,
                                                              distances_.data(), sample_.data());
  device::check_launch("write_entries_kernel");

  const TensorPlan plan(sorted.begins.to(Device::cpu()).data(), shape_, cost.tensors()->longest_run);
  groups_ = plan.groups.to(device_);
  runs_ = plan.runs.to(device_);
  row_lists_ = plan.row_lists.to(device_);
  sums_ = plan.sums.to(device_);
  rows_ = plan.row_count;
}

std::int64_t TensorGridCuda::scratch_elements(std::int64_t coils) const {
  const CoilBlocks blocks(static_cast<int>(coils));
  return entries_ * blocks.blocks * blocks.slots + rows_ * TensorShape::tile_columns * coils;
}

float* TensorGridCuda::bounds(int coils) const { return memory_for(bounds_, coils, device_); }

/// Returns the entries that the sweeps read.
TileEntries TensorGridCuda::entries() const {
  const float* distances = distances_.data();
  return {{distances, distances + entries_, distances + 2 * entries_},
          groups_.data(),
          runs_.data(),
          row_lists_.data(),
          sample_.data(),
          entries_,
          samples_};
}

template <bool split>
void TensorGridCuda::spread_products(const Complex<float>* values, std::int64_t value_stride,
                                     const CoilBlocks& coils, Complex<float>* scratch,
                                     Complex<float>* grid) const {
  const auto coil_blocks = static_cast<unsigned>(coils.blocks);
  auto* packed = reinterpret_cast<PackedValue<split>*>(scratch);
  pack_values_kernel<split><<<dim3(blocks_for(samples_ * coils.slots), coil_blocks), small_block>>>(
      values, value_stride, samples_, coils, bounds_.data(), packed);
  device::check_launch("pack_values_kernel");
  Complex<float>* rows = scratch + samples_ * coils.blocks * coils.slots;
  spread_tiles_kernel<split><<<dim3(static_cast<unsigned>(runs_.size()), coil_blocks), warp_size>>>(
      kernel_of<split>(shape_, gridding_.kernel), layout_of(shape_, gridding_, coils.coils), entries(), coils,
      packed, SpreadOutput{bounds_.data(), rows, grid});
  device::check_launch("spread_tiles_kernel");
  if (sums_.empty()) return;
  add_tile_rows_kernel<<<dim3(blocks_for(sums_.size(), warps_of_block), static_cast<unsigned>(coils.coils)),
                         dim3(warp_size, warps_of_block)>>>(
      sums_.data(), sums_.size(), layout_of(shape_, gridding_, coils.coils), rows, grid);
  device::check_launch("add_tile_rows_kernel");
}

void TensorGridCuda::spread(const Complex<float>* values, std::int64_t value_stride, int coils,
                            Complex<float>* scratch, Complex<float>* grid) const {
  constexpr std::int64_t most_blocks = 256;  // a coil's maximum is found by so many
  float* largest = bounds(coils);
  device::check(cudaMemsetAsync(largest, 0, sizeof(float) * coils, nullptr),
                "zeroing the maxima of the coils");
  find_largest_kernel<<<dim3(static_cast<unsigned>(std::min<std::int64_t>(blocks_for(samples_), most_blocks)),
                             static_cast<unsigned>(coils)),
                        small_block>>>(values, value_stride, samples_, reinterpret_cast<unsigned*>(largest));
  device::check_launch("find_largest_kernel");
  if (gridding_.products == Products::split_half)
    spread_products<true>(values, value_stride, CoilBlocks(coils), scratch, grid);
  else
    spread_products<false>(values, value_stride, CoilBlocks(coils), scratch, grid);
}

void TensorGridCuda::set_bounds(const float* lines, int line_count, int coils) const {
  constexpr int block = 1024;  // one to a coil
  add_line_bounds_kernel<<<static_cast<unsigned>(coils), block>>>(lines, line_count, bounds(coils));
  device::check_launch("add_line_bounds_kernel");
}

void TensorGridCuda::interpolate(const Complex<float>* grid, int coils, Complex<float>* scratch,
                                 Complex<float>* values, std::int64_t value_stride) const {
  const CoilBlocks blocks(coils);
  const auto sweep = [&]<bool split>() {
    auto* parts = reinterpret_cast<SamplePart<split>*>(scratch);
    interpolate_tiles_kernel<split>
        <<<dim3(static_cast<unsigned>(runs_.size()), static_cast<unsigned>(blocks.blocks)), warp_size>>>(
            kernel_of<split>(shape_, gridding_.kernel), layout_of(shape_, gridding_, coils), entries(),
            blocks, grid, bounds_.data(), parts);
    device::check_launch("interpolate_tiles_kernel");
    gather_values_kernel<split>
        <<<dim3(blocks_for(samples_ * blocks.slots), static_cast<unsigned>(blocks.blocks)), small_block>>>(
            parts, samples_, blocks, first_entry_.data(), place_.data(), entries_, bounds_.data(), values,
            value_stride);
    device::check_launch("gather_values_kernel");
  };
  if (gridding_.products == Products::split_half)
    sweep.template operator()<true>();
  else
    sweep.template operator()<false>();
}

}  // namespace fhd
