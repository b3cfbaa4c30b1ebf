#include "recon/transform/gridded/gridded_cost.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "recon/array/fft.hpp"
#include "recon/error.hpp"
#include "recon/transform/toeplitz/block_fft_plan.hpp"

namespace fhd {
namespace {

double product(const std::array<int, 3>& n) { return static_cast<double>(n[0]) * n[1] * n[2]; }

}  // namespace

GridTiles::GridTiles(const Gridding& gridding) : grid(gridding.grid), largest_volume(1) {
  const bool volume = grid[2] > 1;
  const int width = gridding.kernel.width, wanted[3] = {volume ? 16 : 64, volume ? 16 : 32, 16};
  for (int axis = 0; axis < 3; ++axis) {
    count[axis] = std::max<std::int64_t>(1, grid[axis] / (2 * std::max(wanted[axis], width)) * 2);
    margin[axis] = gridding.points[axis] - 1;
    largest_volume *= (grid[axis] + count[axis] - 1) / count[axis] + margin[axis];
  }
}

// --- Runs ---

GridShape grid_shape(const Gridding& gridding) {
  GridShape shape;
  for (int axis = 0; axis < 3; ++axis) {
    shape.size[axis] = static_cast<int>(gridding.grid[axis]);
    shape.points[axis] = gridding.points[axis];
    const int width = gridding.kernel.width;
    if (axis < 2) shape.tiles[axis] = shape.points[axis] == 1 ? 1 : (shape.size[axis] + width) / (width + 1);
  }
  return shape;
}

RunSizes::RunSizes(const GridShape& shape, std::int64_t samples, int multiprocessors) {
  constexpr int longest = 384, shortest = 64;  // aimed at, when there are too few samples to fill the device
  constexpr int runs_per_multiprocessor = 16;
  length = static_cast<int>(std::clamp<std::int64_t>(
      samples / (std::int64_t{runs_per_multiprocessor} * multiprocessors), shortest, longest));
  const std::int64_t columns = std::int64_t{shape.tiles[0]} * shape.tiles[1], reach = shape.points[2];
  const std::int64_t of_planes = shape.size[2] + reach - 1, of_samples = reach * samples / length + 1;
  const std::int64_t most = std::int64_t{1} << 40;  // more than any machine holds count as that
  runs = std::min(samples, samples / length + columns);
  rows = std::min(columns, most / of_planes) * of_planes + of_samples;
  rows_of_a_line = shape.tiles[0] * of_planes + of_samples;
}

RunPlan::RunPlan(const std::int32_t* begins, const GridShape& shape, int run_length)
    : depth(shape.size[2] + shape.points[2] - 1) {
  const int planes = shape.size[2];
  const std::int64_t columns = std::int64_t{shape.tiles[0]} * shape.tiles[1];
  rows_begin.assign(columns * depth + 1, 0);
  const auto begin_line = [&] {
    first_run.push_back(static_cast<std::int64_t>(runs.size()));
    first_row.push_back(static_cast<std::int32_t>(row_count_));
  };
  for (std::int64_t column = 0; column < columns; ++column) {
    if (column % shape.tiles[0] == 0) begin_line();
    const std::size_t first_of_column = runs.size();
    cut_column(begins + column * planes, planes, static_cast<int>(column), shape.points[2], run_length);
    place_rows(column, first_of_column);
  }
  rows_begin.back() = static_cast<std::int32_t>(row_count_);
  begin_line();
}

/// Planes whose samples reach each other are one stretch; a gap in between starts a new run.
void RunPlan::cut_column(const std::int32_t* begin, int planes, int column, int reach, int run_length) {
  for (int plane = 0; plane < planes; ++plane) {
    if (begin[plane + 1] == begin[plane]) continue;
    int last = plane;
    for (int next = plane + 1; next < planes && next < last + reach; ++next)
      if (begin[next + 1] > begin[next]) last = next;
    cut_stretch(begin, plane, last, column, reach, run_length);
    plane = last;
  }
}

/// The samples of planes first ... last into runs of nearly equal length.
void RunPlan::cut_stretch(const std::int32_t* begin, int first, int last, int column, int reach,
                          int run_length) {
  const std::int64_t from = begin[first], count = begin[last + 1] - from;
  const std::int64_t pieces = (count + run_length - 1) / run_length;
  int plane = first;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    SampleRun run{};
    run.begin = from + count * piece / pieces;
    const std::int64_t end = from + count * (piece + 1) / pieces;
    run.count = static_cast<std::int32_t>(end - run.begin);
    run.column = column;
    while (begin[plane + 1] <= run.begin) ++plane;
    run.first_plane = plane;
    while (begin[plane + 1] < end) ++plane;
    run.plane_count = plane - run.first_plane + reach;
    run.row_list = static_cast<std::int64_t>(row_lists.size());
    row_lists.resize(row_lists.size() + static_cast<std::size_t>(run.plane_count));
    runs.push_back(run);
  }
}

/// The rows of a column's runs, plane by plane, in the order of the runs.
void RunPlan::place_rows(std::int64_t column, std::size_t first_of_column) {
  std::int32_t* rows = rows_begin.data() + column * depth;
  std::vector<std::int32_t> used(depth, 0);
  for (std::size_t i = first_of_column; i < runs.size(); ++i)
    for (int p = 0; p < runs[i].plane_count; ++p) ++used[runs[i].first_plane + p];
  for (int plane = 0; plane < depth; ++plane) {
    rows[plane] = static_cast<std::int32_t>(row_count_);
    row_count_ += used[plane];
  }
  if (row_count_ >= std::int64_t{1} << 31)
    throw Error("gridded transform", "a trajectory of less than 2^31 rows", "more", "use a smaller matrix");
  std::fill(used.begin(), used.end(), 0);
  for (std::size_t i = first_of_column; i < runs.size(); ++i)
    for (int p = 0; p < runs[i].plane_count; ++p) {
      const int plane = runs[i].first_plane + p;
      row_lists[runs[i].row_list + p] = rows[plane] + used[plane]++;
    }
}

// --- Sizes ---

GriddedCost::GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch,
                         Gridding gridding)
    : sizes_(sizes),
      accuracy_(accuracy),
      gridding_(std::move(gridding)),
      most_scratch_(most_scratch > 0         ? most_scratch
                    : sizes.device.is_cuda() ? default_gridding_bytes
                                             : default_gridding_bytes_cpu),
      runs_(grid_shape(gridding_), sizes.samples.all, device::multiprocessor_count(sizes.device)) {
  if (gridding_.products != Products::full)
    tensors_.emplace(TensorShape(gridding_), sizes.samples.all, device::multiprocessor_count(sizes.device));
}

GriddedCost::GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch,
                         GriddingChoice choice)
    : GriddedCost(sizes, accuracy, most_scratch, choose_gridding(sizes, accuracy, choice)) {
  choice_ = choice;
}

GriddedCost GriddedCost::of_density(TransformSizes sizes) {
  sizes.precision = Precision::single_precision;
  return {sizes, density_accuracy, 0, density_gridding(sizes.matrix_size)};
}

// --- Work ---

Work GriddedCost::making() const {
  return {WorkUnit::byte, bytes_of_sorting * static_cast<double>(sizes_.samples.all)};
}
double GriddedCost::kernel_points(std::int64_t coils) const {
  const auto samples = static_cast<double>(sizes_.samples.all);
  if (tensors_) {  // the points of the entries' windows, of whole groups and blocks of coils
    const double of_half = gridding_.products == Products::half ? 0.65 : 1;  // one product in place of three
    const CoilBlocks blocks(static_cast<int>(coils));
    return of_half * tensors_->groups * TensorShape::group * TensorShape::tile_columns * TensorShape::window *
           blocks.blocks * CoilBlocks::most;
  }
  if (sizes_.device.is_cuda())
    return samples * static_cast<double>(gridding_.kernel_points()) * static_cast<double>(coils);
  constexpr double weights_of_a_sample = 40;  // vectors in whose time they are found
  const auto of_vector = static_cast<std::int64_t>(64 / element());
  const std::int64_t block = coils_together(coils), blocks = (coils + block - 1) / block,
                     vectors = (gridding_.points[0] * block + of_vector - 1) / of_vector;
  const double rows = double(gridding_.points[1]) * gridding_.points[2];
  return static_cast<double>(blocks * of_vector) * samples *
         (rows * static_cast<double>(vectors) + weights_of_a_sample);
}
Work GriddedCost::sweep(std::int64_t coils) const {
  const double of_volume =
      sizes_.matrix_size[2] > 1 || sizes_.device.is_cuda() ? 1 : 0.4;  // tiles stay in the cache
  return {WorkUnit::kernel_point, of_volume * kernel_points(coils), sizes_.precision};
}
/// Zeros are skipped: about 3/4 (2D) or 7/12 (3D) of all rows; and filling the grid.
Work GriddedCost::grid_fft() const {
  const auto& g = gridding_.grid;
  const bool volume = sizes_.matrix_size[2] > 1;
  const double bytes = static_cast<double>(gridding_.grid_points()) * static_cast<double>(element());
  const double operations =
      full_fft_operations({static_cast<double>(g[0]), static_cast<double>(g[1]), static_cast<double>(g[2])});
  return Work(WorkUnit::fft, operations * (volume ? 7.0 / 12 : 0.75), sizes_.precision) +
         beyond_cache(bytes, sizes_.device) + Work(WorkUnit::byte, bytes) + Work(WorkUnit::region, 4);
}
/// Returns the number of grids, with the empty places of the last block.
double GriddedCost::grids(std::int64_t coils) const {
  if (sizes_.device.is_cuda()) return static_cast<double>(coils);
  const std::int64_t block = coils_together(coils);
  return static_cast<double>((coils + block - 1) / block * block);
}
Work GriddedCost::adjoint(std::int64_t coils) const { return sweep(coils) + grids(coils) * grid_fft(); }

/// On the difference grid, which has 2N points per axis.
GriddedCost GriddedCost::of_difference_grid() const {
  TransformSizes doubled = sizes_;
  for (int& n : doubled.matrix_size) n = n == 1 ? 1 : static_cast<int>(std::min(2.0 * n, 1e8));
  return {doubled, accuracy_, most_scratch_, choice_};
}
Work GriddedCost::point_spread() const {
  const GriddedCost doubled = of_difference_grid();
  const double image = product(doubled.sizes_.matrix_size),
               grid = static_cast<double>(doubled.gridding_.grid_points()),
               bytes = static_cast<double>(element());
  // The copy into the periodic order is one thread's.
  return doubled.making() + doubled.adjoint(1) + Work(WorkUnit::byte, (grid + 6 * image) * bytes);
}

// --- Bytes ---

std::size_t GriddedCost::sorted_bytes() const {
  const auto samples = static_cast<double>(sizes_.samples.all), real = static_cast<double>(element()) / 2;
  constexpr double bytes_of_tile = 80;
  if (sizes_.device.is_cpu())  // index, and first point and offset of each axis
    return whole_bytes(samples * (4 + 3 * (4 + real)) +
                       static_cast<double>(GridTiles(gridding_).all()) * bytes_of_tile);
  if (tensors_) return whole_bytes(tensors_->bytes(sizes_.samples.all));
  // Index, and AxisPosition of each axis; runs, their rows, and the first row of every plane of a column.
  const GridShape shape = grid_shape(gridding_);
  const double planes = double(shape.tiles[0]) * shape.tiles[1] * (shape.size[2] + shape.points[2] - 1);
  return whole_bytes(samples * (4 + 3 * 2 * real) + static_cast<double>(runs_.runs) * sizeof(SampleRun) +
                     (static_cast<double>(runs_.rows) + planes) * 4);
}

std::size_t GriddedCost::bytes() const {
  double bytes = static_cast<double>(sorted_bytes());
  for (int axis = 0; axis < 3; ++axis) {  // 1 / phi^; on the CPU also where voxels lie on the grid
    const double n = sizes_.matrix_size[axis], g = static_cast<double>(gridding_.grid[axis]);
    bytes += n * static_cast<double>(element()) / 2 + (sizes_.device.is_cpu() ? 4 * (n + g) : 0);
    if (!sizes_.device.is_cpu())  // twiddles of grid_passes_cuda.cu
      bytes +=
          static_cast<double>(element()) * BlockFftPlan(static_cast<int>(gridding_.grid[axis])).twiddles();
  }
  return whole_bytes(bytes);
}

std::int64_t GriddedCost::coils_together(std::int64_t coils) const {
  const std::int64_t points = gridding_.grid_points(), width = gridding_.kernel.width;
  if (sizes_.device.is_cpu()) {
    const std::int64_t most = std::min<std::int64_t>(bytes_of_coils / element(),
                                                     std::max<std::int64_t>(1, most_elements() / points));
    std::int64_t block = 1;
    while (block < coils && 2 * block <= most) block *= 2;
    return block;
  }
  // Groups of nearly equal size, of as many coils as are best spread together.
  constexpr std::int64_t most = 64;
  std::int64_t fitting =
      std::clamp<std::int64_t>(most_elements() / (points + runs_.rows * 4 * width * width), 1, most);
  if (tensors_)
    for (fitting = most; fitting > 1; --fitting)
      if (static_cast<double>(points * fitting) + tensors_->scratch_elements(fitting) <=
          static_cast<double>(most_elements()))
        break;
  const std::int64_t groups = (coils + fitting - 1) / fitting;
  return (coils + groups - 1) / groups;
}

std::int64_t GriddedCost::row_elements(std::int64_t coils) const {
  const std::int64_t width = gridding_.kernel.width, row = 4 * width * width * coils,
                     points = gridding_.grid_points() * coils;
  if (tensors_)
    return std::max(static_cast<std::int64_t>(std::min(tensors_->scratch_elements(coils), 1e15)), points);
  const std::int64_t allowed = std::max<std::int64_t>(most_elements() - points, 0) / row;
  return std::max(std::max(runs_.rows_of_a_line, std::min(allowed, runs_.rows)) * row, points);
}

std::int64_t GriddedCost::fft_elements() const {
  const auto& g = gridding_.grid;
  const auto line = static_cast<std::int64_t>(128 / element());  // Fft1d::wide
  return 2 * std::max(g[0], std::max(g[1], g[2])) * line;
}

std::size_t GriddedCost::sweep_bytes(std::int64_t coils) const {
  if (sizes_.device.is_cuda())
    return whole_bytes(static_cast<double>(row_elements(coils)) * static_cast<double>(element())) +
           sizeof(float) * static_cast<std::size_t>(coils);  // their largest values
  return static_cast<std::size_t>(omp_get_max_threads() * (GridTiles(gridding_).tile_elements(coils) +
                                                           GridTiles::chunk_elements(coils))) *
         element();
}

std::size_t GriddedCost::scratch_bytes(std::int64_t coils) const {
  const std::int64_t together = coils_together(coils);
  const std::int64_t fft = sizes_.device.is_cpu() ? omp_get_max_threads() * fft_elements() : 0;
  return sweep_bytes(together) + whole_bytes(static_cast<double>(gridding_.grid_points() * together + fft) *
                                             static_cast<double>(element()));
}

/// The image with its centre in the middle is there beside the result; before that, with the transform, a
/// sample of 1 for each, and on the CPU the trajectory of twice the extent.
std::size_t GriddedCost::point_spread_scratch_bytes() const {
  const GriddedCost doubled = of_difference_grid();
  const std::size_t of_a_sample = element() + (sizes_.device.is_cpu() ? 24 : 0);
  return std::max(whole_bytes(product(doubled.sizes_.matrix_size) * static_cast<double>(element())),
                  doubled.bytes() + doubled.scratch_bytes(1) +
                      static_cast<std::size_t>(sizes_.samples.all) * of_a_sample);
}

DensityCost density_cost(const TransformSizes& sizes) {
  const GriddedCost cost = GriddedCost::of_density(sizes);
  const double samples = static_cast<double>(sizes.samples.all),
               points = static_cast<double>(cost.gridding().grid_points());
  const Work iteration =
      2 * cost.sweep(1) + Work(WorkUnit::byte, (points + samples) * 8) + Work(WorkUnit::region, 16);
  return {cost.making() + Work(WorkUnit::byte, points * 8) + double{density_iterations} * iteration,
          cost.sorted_bytes() + cost.sweep_bytes(1) + whole_bytes((points + 2 * samples) * 8)};
}

}  // namespace fhd
