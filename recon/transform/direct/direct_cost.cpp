#include "recon/transform/direct/direct_cost.hpp"

#include <omp.h>

#include <cmath>

#include "recon/transform/direct/direct_kernels_cpu.hpp"
#include "recon/transform/direct/sample_groups.hpp"
#include "recon/transform/direct/tiles.hpp"

namespace fhd {
namespace {

constexpr double block = SampleGroups::block_size;

double doubled(double n) { return n == 1 ? 1 : 2 * n; }

double tiles_bytes(Precision precision, const VoxelGrid& grid, std::int64_t samples, Device device) {
  const auto threads = std::int64_t{threads_per_multiprocessor} * device::multiprocessor_count(device);
  return precision == Precision::single_precision ? direct_device_bytes<float>(grid, samples, threads)
                                                  : direct_device_bytes<double>(grid, samples, threads);
}

}  // namespace

SampleCount count_samples(const Trajectory& trajectory) { return SampleGroups::count_of(trajectory); }

// --- The way

// Rounding to half precision leaves 3.6e-4 in one part; in two, the sums of the tensor cores 3.6e-6.
constexpr double one_part_accuracy = 5e-4, two_parts_accuracy = 4e-6;

bool suits_tensor_cores(DirectChoice choice, Precision precision) {
  if (precision == Precision::double_precision)
    return choice.sums == GpuSums::tensor_cores || choice.sums == GpuSums::automatic;
  return choice.sums == GpuSums::tensor_cores ||
         (choice.sums == GpuSums::automatic && choice.accuracy >= two_parts_accuracy);
}

DirectWay direct_way(DirectChoice choice, const VoxelGrid& grid, Precision precision, Device device) {
  using namespace matrix_sums;
  DirectWay way{{}, choice.sums == GpuSums::accurate ? SinCos::accurate : SinCos::fast};
  if (device.is_cpu() || !suits_tensor_cores(choice, precision)) return way;
  const Parts parts = precision == Precision::double_precision ? Parts::whole
                      : choice.accuracy >= one_part_accuracy   ? Parts::one
                                                               : Parts::two;
  // Beyond these, pairs one by one are sooner done: tensor cores take so many times as many (validation/results).
  const double points = static_cast<double>(grid.extent[0]) * grid.extent[1] * grid.extent[2],
               more_points = separable(grid, parts).computed_points() / points,
               faster = parts == Parts::one   ? 24
                        : parts == Parts::two ? 8
                                              : 2;
  if (choice.sums == GpuSums::tensor_cores || more_points < faster) way.matrices = parts;
  return way;
}

DirectWay direct_way_of_point_spread(DirectChoice choice, std::array<int, 3> matrix_size, Precision precision,
                                     Device device) {
  return direct_way(choice, half_difference_grid(matrix_size), precision, device);
}

double DirectWay::accuracy(Precision precision) const {
  return matrices == matrix_sums::Parts::one ? one_part_accuracy : direct_accuracy(precision);
}

std::string DirectWay::text() const {
  if (matrices == matrix_sums::Parts::whole) return "by matrices";
  if (matrices) return matrices == matrix_sums::Parts::one ? "in 1 part" : "in 2 parts";
  return sin_cos == SinCos::fast ? "fast" : "accurate";
}

// --- Sizes

DirectCost::DirectCost(const TransformSizes& sizes, DirectChoice choice)
    : sizes_(sizes),
      way_(direct_way(choice, image_grid(sizes.matrix_size), sizes.precision, sizes.device)),
      point_spread_way_(direct_way_of_point_spread(choice, sizes.matrix_size, sizes.precision, sizes.device)),
      nx_(sizes.matrix_size[0]),
      ny_(sizes.matrix_size[1]),
      nz_(sizes.matrix_size[2]),
      all_(static_cast<double>(sizes.samples.all)),
      x_(static_cast<double>(sizes.samples.x)),
      xy_(static_cast<double>(sizes.samples.xy)),
      element_(static_cast<double>(bytes_of_complex(sizes.precision))) {
  if (sizes.device.is_cuda() || x_ == 0) x_ = xy_ = all_;
  if (sizes.device.is_cuda()) return;
  const auto use = [&](const auto& kernels) { lanes_ = kernels.lanes, tile_rows_ = kernels.tile_rows; };
  sizes.precision == Precision::single_precision ? use(direct_cpu::kernels<float>())
                                                 : use(direct_cpu::kernels<double>());
}

// --- Work ---

/// Rows are computed in whole vector registers of positions x >= 0; on the CPU a row costs a sample as much as so many
/// pairs. A GPU computes the voxels that there are.
Work DirectCost::adjoint_of(double rows, double row_length) const {
  const double pairs_of_a_row = sizes_.device.is_cpu() ? 10 : 0;
  return Work(WorkUnit::pair, rows * (x_ * padded(row_length) + pairs_of_a_row * xy_), sizes_.precision) +
         Work(WorkUnit::region, 4);
}

Work DirectCost::adjoint(std::int64_t coils) const {
  const double count = static_cast<double>(coils);
  if (way_.matrices)
    return Work(WorkUnit::matrix_product,
                count * matrix_sums::adjoint_products(image_grid(sizes_.matrix_size), sizes_.samples.all,
                                                      *way_.matrices),
                sizes_.precision) +
           Work(WorkUnit::region, 4);
  return adjoint_of(ny_ * nz_ * count, nx_) +
         Work(WorkUnit::byte, nx_ * ny_ * nz_ * count * element_);  // sums from zero to the image
}

Work DirectCost::forward(std::int64_t coils) const {
  if (way_.matrices)
    return Work(
               WorkUnit::matrix_product,
               static_cast<double>(coils) * matrix_sums::forward_products(image_grid(sizes_.matrix_size),
                                                                          sizes_.samples.all, *way_.matrices),
               sizes_.precision) +
           Work(WorkUnit::region, 4);
  const double rows = ny_ * nz_ * static_cast<double>(coils);
  const double pairs_of_a_row = sizes_.device.is_cpu() ? 10 : 0;
  return Work(WorkUnit::pair, all_ * rows * (padded(nx_) + pairs_of_a_row), sizes_.precision) +
         Work(WorkUnit::region, 3) + Work(WorkUnit::byte, nx_ * rows * element_);
}

Work DirectCost::point_spread() const {
  const double gx = doubled(nx_), points = gx * doubled(ny_) * doubled(nz_);
  const Work sums = point_spread_way_.matrices
                        ? Work(WorkUnit::matrix_product,
                               matrix_sums::adjoint_products(half_difference_grid(sizes_.matrix_size),
                                                             sizes_.samples.all, *point_spread_way_.matrices),
                               sizes_.precision)
                        : adjoint_of(std::ceil(points / gx / 2), gx);
  return sums + making() + Work(WorkUnit::byte, 3 * points * element_);
}

Work DirectCost::making() const {
  const Work held(WorkUnit::byte, static_cast<double>(bytes()));
  return held + (sizes_.device.is_cuda() ? Work(WorkUnit::transferred_byte, 24 * all_)
                                         : Work(WorkUnit::byte, bytes_of_sorting * all_));
}

double DirectCost::padded(double row_length) const {
  if (sizes_.device.is_cuda()) return row_length;
  return 2 * lanes_ * std::ceil(std::ceil(row_length / 2) / lanes_);
}

// --- Bytes ---

/// SampleGroups: the order, and the places in whole blocks.
double DirectCost::groups_bytes() const {
  return 8 * all_ + sizeof(SampleGroups::Place) * xy_ * (block * std::ceil(x_ / block) / x_);
}

double DirectCost::device_bytes(const VoxelGrid& grid, const DirectWay& way) const {
  return way.matrices ? 3 * element_ / 2 * all_
                      : tiles_bytes(sizes_.precision, grid, sizes_.samples.all, sizes_.device);
}

double DirectCost::device_scratch_bytes(const VoxelGrid& grid, const DirectWay& way, std::int64_t coils,
                                        bool forward) const {
  if (!way.matrices) return 0;
  const auto sizes = matrix_sums::plan_sizes(sizes_.samples.all, coils, *way.matrices, sizes_.device);
  const double scales = 8 * static_cast<double>(coils);
  return scales + static_cast<double>(std::max(matrix_sums::adjoint_plan(grid, sizes).bytes,
                                               forward ? matrix_sums::forward_plan(grid, sizes).bytes : 0));
}

std::size_t DirectCost::bytes() const {
  if (sizes_.device.is_cuda()) return whole_bytes(device_bytes(image_grid(sizes_.matrix_size), way_));
  return whole_bytes(24 * all_ + groups_bytes());  // the trajectory
}

/// AdjointSums and ForwardSums of direct_cpu.cpp: sums of rows or packed images, whichever is larger; the tables
/// of a step; what each thread has for itself.
double DirectCost::sums_bytes(double nx, double ny, double nz, double rows, double coils,
                              bool forward) const {
  const double value = element_ / 2, blocks = std::ceil(x_ / block), slots_of_block = std::ceil(xy_ / x_),
               slots_at_once = std::clamp(std::floor(0x1p22 / (nz * coils * block * element_)), 1.0,
                                          double{SampleGroups::most_slots}),
               together = std::clamp(std::floor(slots_at_once / slots_of_block), 1.0, std::min(4.0, blocks)),
               stride = std::min(slots_at_once, together * slots_of_block) * block + 16;
  double sums = 2 * padded(nx) * rows * coils;
  double thread = 4 * tile_rows_ * direct_cpu::adjoint_stride + 64 * (nz + coils + 1);
  if (forward) {
    const double packed_rows = std::ceil(ny / tile_rows_) * tile_rows_, threads = omp_get_max_threads(),
                 group = 2 * lanes_, samples = std::min(256.0, std::ceil(all_ / threads / group) * group);
    sums = std::max(sums, 4 * std::ceil(nx / 2) * packed_rows * nz * coils);
    thread += samples * (2 * std::ceil(nx / 2) + 2 * (ny + nz + coils + 1));
  }
  const double tables = together * block * padded(nx) + (2 * (ny + nz * coils) + 1) * stride;
  return value * (sums + tables + thread * omp_get_max_threads());
}

std::size_t DirectCost::scratch_bytes(std::int64_t coils) const {
  if (sizes_.device.is_cuda())
    return whole_bytes(device_scratch_bytes(image_grid(sizes_.matrix_size), way_, coils, true));
  const double image = nx_ * ny_ * nz_ * element_;
  const auto together = std::min(coils, image < 0x1p62 ? direct_coils_at_once(std::int64_t(image)) : 1);
  return whole_bytes(sums_bytes(nx_, ny_, nz_, ny_ * nz_, static_cast<double>(together), true));
}

/// Sums and groups are gone before the whole grid is made of its half.
std::size_t DirectCost::point_spread_scratch_bytes() const {
  const double gx = doubled(nx_), gy = doubled(ny_), gz = doubled(nz_), rows = gy * gz / 2,
               grid = gx * gy * gz * element_;
  if (sizes_.device.is_cuda()) {
    const VoxelGrid half = half_difference_grid(sizes_.matrix_size);
    const double voxels = double(half.extent[0]) * half.extent[1] * half.extent[2],
                 sums = device_bytes(half, point_spread_way_) +
                        device_scratch_bytes(half, point_spread_way_, 1, false);
    return whole_bytes((all_ + voxels) * element_ + std::max(sums - grid, 0.0));
  }
  const double sums = sums_bytes(gx, gz == 1 ? gy / 2 : gy, std::ceil(gz / 2), rows, 1, false);
  return whole_bytes(gx * rows * element_ + std::max(groups_bytes() + sums - grid, 0.0));
}

}  // namespace fhd
