// Samples sorted by tile and first plane on the device, and their runs: the constructor of SampleGridCuda.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "recon/transform/gridded/sample_grid_cuda.cuh"

namespace fhd {

using namespace gridded_cuda;

namespace {

/// A sample on one axis of the grid: k in cycles/FOV.
template <class T>
__device__ inline AxisPosition<T> locate(double k, int size, int matrix_size, int points) {
  if (points == 1) return {T(0), 0};
  const double begin = k * size / matrix_size - points / 2.0, up = ceil(begin);
  std::int64_t first = static_cast<std::int64_t>(up) % size;
  if (first < 0) first += size;
  return {static_cast<T>(2 * (up - begin) - 1), static_cast<std::int32_t>(first)};
}

// key(m) = tile column of the sample x planes of the grid + first plane; order(m) = m. One thread per sample;
// k is [3][sample].
__global__ void prepare_keys_kernel(const double* k, std::int64_t samples, MatrixSize matrix, GridShape shape,
                                    std::uint32_t* keys, std::int32_t* order) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  int first[3];
  for (int axis = 0; axis < 3; ++axis)
    first[axis] =
        locate<float>(k[axis * samples + m], shape.size[axis], matrix.n[axis], shape.points[axis]).first;
  const int tile_x = first[0] / (shape.points[0] + 1), tile_y = first[1] / (shape.points[1] + 1);
  keys[m] = (static_cast<std::uint32_t>(tile_y) * shape.tiles[0] + tile_x) * shape.size[2] + first[2];
  order[m] = static_cast<std::int32_t>(m);
}

// position(axis, i) of the sorted samples. One thread per sample.
template <class T>
__global__ void sort_positions_kernel(const double* k, std::int64_t samples, MatrixSize matrix,
                                      GridShape shape, const std::int32_t* order,
                                      AxisPosition<T>* positions) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  for (int axis = 0; axis < 3; ++axis) {
    auto position =
        locate<T>(k[axis * samples + order[i]], shape.size[axis], matrix.n[axis], shape.points[axis]);
    if (axis < 2) position.first %= shape.points[axis] + 1;
    positions[axis * samples + i] = position;
  }
}

// begin(key) = number of samples with smaller keys, for key = 0 ... key_count. One thread per key, by
// bisection.
__global__ void find_begins_kernel(const std::uint32_t* keys, std::int64_t samples, std::int64_t key_count,
                                   std::int32_t* begins) {
  const std::int64_t key = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (key > key_count) return;
  std::int64_t low = 0, high = samples;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  begins[key] = static_cast<std::int32_t>(low);
}

}  // namespace

gridded_cuda::SortedKeys gridded_cuda::sort_keys(Array<std::uint32_t> keys, Array<std::int32_t> order,
                                                 std::int64_t key_count) {
  const std::int64_t count = keys.size();
  const Device device = keys.device();
  SortedKeys sorted{Array<std::int32_t>({count}, device), Array<std::int32_t>({key_count + 1}, device)};
  Array<std::uint32_t> sorted_keys({count}, device);
  int bits = 1;
  while (bits < 32 && (key_count >> bits) > 0) ++bits;
  // A radix sort keeps the order of equal keys: the sums have one order, whatever the device.
  std::size_t bytes = 0;
  const auto sort_pairs = [&](void* buffer) {
    device::check(cub::DeviceRadixSort::SortPairs(buffer, bytes, keys.data(), sorted_keys.data(),
                                                  order.data(), sorted.order.data(), count, 0, bits),
                  "sorting the samples");
  };
  sort_pairs(nullptr);
  Array<unsigned char> buffer({static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))}, device);
  sort_pairs(buffer.data());
  find_begins_kernel<<<blocks_for(key_count + 1), small_block>>>(sorted_keys.data(), count, key_count,
                                                                 sorted.begins.data());
  device::check_launch("find_begins_kernel");
  return sorted;
}

template <class T>
SampleGridCuda<T>::SampleGridCuda(const Trajectory& trajectory, const GriddedCost& cost)
    : device_(cost.sizes().device),
      kernel_(cost.gridding().kernel),
      samples_(trajectory.sample_count()),
      shape_(grid_shape(cost.gridding())) {
  if (samples_ >= std::int64_t{1} << 31)
    throw Error("trajectory", "fewer than 2^31 samples", std::to_string(samples_));
  std::copy_n(cost.gridding().matrix_size.begin(), 3, matrix_.n);
  const Array<std::int32_t> begins = sort(trajectory.k.to(device_)).to(Device::cpu());
  RunPlan plan(begins.data(), shape_, cost.runs().length);
  runs_ = on_device(plan.runs, device_);
  row_lists_ = on_device(plan.row_lists, device_);
  rows_begin_ = on_device(plan.rows_begin, device_);
  depth_ = plan.depth;
  first_run_ = std::move(plan.first_run);
  first_row_ = std::move(plan.first_row);
}

/// Fills index_ and positions_; returns where the samples of each tile and first plane begin.
template <class T>
Array<std::int32_t> SampleGridCuda<T>::sort(const Array<double>& k) {
  const std::int64_t key_count = std::int64_t{shape_.tiles[0]} * shape_.tiles[1] * shape_.size[2];
  if (key_count >= std::int64_t{1} << 31)
    throw Error("gridded transform", "a grid of fewer than 2^31 tiles and planes", std::to_string(key_count),
                "use a smaller matrix");
  Array<std::uint32_t> keys({samples_}, device_);
  Array<std::int32_t> order({samples_}, device_);
  prepare_keys_kernel<<<blocks_for(samples_), small_block>>>(k.data(), samples_, matrix_, shape_, keys.data(),
                                                             order.data());
  device::check_launch("prepare_keys_kernel");
  auto sorted = sort_keys(std::move(keys), std::move(order), key_count);
  index_ = std::move(sorted.order);
  positions_ = Array<AxisPosition<T>>({3, samples_}, device_);
  sort_positions_kernel<T><<<blocks_for(samples_), small_block>>>(k.data(), samples_, matrix_, shape_,
                                                                  index_.data(), positions_.data());
  device::check_launch("sort_positions_kernel");
  return std::move(sorted.begins);
}

template class SampleGridCuda<float>;
template class SampleGridCuda<double>;

}  // namespace fhd
