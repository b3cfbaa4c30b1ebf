#include "recon/transform/gridded/run_plan.hpp"

#include <algorithm>

#include "recon/error.hpp"

namespace fhd {

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

}  // namespace fhd
