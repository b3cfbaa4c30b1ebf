// How direct sums are cut into products of matrices: every point once, every sample once, within the memory that is said.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/direct/separable.hpp"
#include "recon/transform/direct/tiles.hpp"

namespace fhd::matrix_sums {
namespace {

using Matrix = std::array<int, 3>;
const Matrix shapes[] = {{1, 1, 1},    {8, 1, 1},     {1, 9, 1},      {1, 1, 6},       {16, 16, 1},
                         {17, 20, 1},  {255, 3, 1},   {256, 256, 1},  {5, 9, 7},       {12, 1, 20},
                         {33, 17, 12}, {40, 30, 3},   {70, 33, 18},   {128, 128, 128}, {256, 1, 1},
                         {64, 64, 16}, {1, 230, 180}, {100, 100, 100}};

/// The step `+-pair` of an axis: its place, and its coordinate in half voxels.
void expect_steps(const SeparableGrid& cut, int axis) {
  std::map<int, int> found;  // place, times
  for (int pair = 0; pair < cut.groups(axis) * group_pairs; ++pair) {
    const int upper = cut.upper(axis, pair), lower = cut.lower(axis, pair);
    const int begin = cut.coordinate(axis, 0);
    EXPECT_EQ(begin + cut.distance(axis, pair), cut.grid.first[axis] + 2 * cut.inner[axis] * upper);
    EXPECT_EQ(begin - cut.distance(axis, pair), cut.grid.first[axis] + 2 * cut.inner[axis] * lower);
    if (upper < cut.steps(axis)) ++found[upper];
    if (lower >= 0 && lower != upper) ++found[lower];
  }
  EXPECT_EQ(static_cast<int>(found.size()), cut.steps(axis));
  for (const auto& [place, times] : found) EXPECT_EQ(times, 1) << place;
}

TEST(MatrixPlan, every_point_of_a_grid_is_a_step_and_a_place_in_a_block_once) {
  for (const auto& shape : shapes)
    for (const auto& [grid, parts] :
         {std::pair{image_grid(shape), Parts::two}, std::pair{half_difference_grid(shape), Parts::one},
          std::pair{image_grid(shape), Parts::whole}}) {
      const auto cut = separable(grid, parts);
      SCOPED_TRACE(testing::Message() << shape[0] << "x" << shape[1] << "x" << shape[2]);
      ASSERT_NE(cut.outer_axis[0], cut.outer_axis[1]);
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_GE(cut.inner[axis], 1);
        EXPECT_GE(cut.inner[axis] * cut.steps(axis), grid.extent[axis]);
        if (axis == cut.outer_axis[0] || axis == cut.outer_axis[1])
          expect_steps(cut, axis);
        else
          EXPECT_EQ(cut.steps(axis), 1);
      }
      EXPECT_GE(cut.inner_tiles() * cut.columns, cut.inner_points());
    }
}

TEST(MatrixPlan, every_voxel_is_in_a_run_and_a_tile_once) {
  for (const auto& shape : shapes)
    for (const auto& [most_blocks, parts] : {std::pair{1, Parts::two}, {2, Parts::one}, {2, Parts::whole}}) {
      const auto cut = rows_of(image_grid(shape), most_blocks, parts);
      EXPECT_LE(cut.blocks(), most_blocks);
      EXPECT_GE(cut.runs() * 2 * cut.half_run, shape[0]);
      EXPECT_LT((cut.runs() - 1) * 2 * cut.half_run, shape[0]);
      EXPECT_EQ(cut.tile_rows[0] * cut.tile_rows[1], tile_points);
      EXPECT_EQ(cut.tile_rows[0] % 8, 0);
      EXPECT_GE(cut.tiles_along(0) * cut.tile_rows[0], shape[1]);
      EXPECT_GE(cut.tiles_along(1) * cut.tile_rows[1], shape[2]);
    }
}

TEST(MatrixPlan, large_grids_are_hardly_padded) {
  EXPECT_LE(separable(image_grid({128, 128, 128}), Parts::two).computed_points(), 1.0001 * 128 * 128 * 128);
  EXPECT_LE(separable(image_grid({256, 256, 1}), Parts::two).computed_points(), 1.0001 * 256 * 256);
  EXPECT_LE(separable(half_difference_grid({128, 128, 128}), Parts::two).computed_points(),
            1.02 * 255 * 255 * 128);
  EXPECT_LE(rows_of(image_grid({256, 256, 1}), 2, Parts::two).computed_points(), 1.0001 * 256 * 256);
  EXPECT_LE(rows_of(image_grid({128, 128, 128}), 2, Parts::two).computed_points(), 1.0001 * 128 * 128 * 128);
}

TEST(MatrixPlan, passes_cover_all_coils_and_samples_in_a_bounded_workspace) {
  constexpr std::size_t shared = 227 << 10;
  for (const auto& shape : shapes)
    for (const std::int64_t samples : {1, 64, 1000, 300000})
      for (const std::int64_t coils : {1, 3, 8, 32})
        for (const auto parts : {Parts::one, Parts::two, Parts::whole}) {
          SCOPED_TRACE(testing::Message() << shape[0] << "x" << shape[1] << "x" << shape[2] << ", " << samples
                                          << " samples, " << coils << " coils");
          const PlanSizes sizes{samples, coils, parts, 132, shared};
          const auto adjoint = adjoint_plan(image_grid(shape), sizes);
          EXPECT_GE(adjoint.coils, 1);
          EXPECT_LE(adjoint.coils, coils);
          EXPECT_GE(adjoint.blocks, 1);
          EXPECT_LE(adjoint.blocks, (samples + block_length(parts) - 1) / block_length(parts));
          EXPECT_LE(adjoint.factors[0], adjoint.factors[1]);
          EXPECT_LE(adjoint.factors[1], adjoint.images);
          EXPECT_LE(adjoint.images, adjoint.partial);
          EXPECT_LE(adjoint.partial, adjoint.bytes);
          EXPECT_LE(adjoint.partial, std::size_t{257} << 20);
          if (adjoint.splits > 1) {
            const auto sums = 8 * adjoint.splits * adjoint.coils * adjoint.cut.points();
            EXPECT_GE(adjoint.bytes - adjoint.partial, static_cast<std::size_t>(sums));
          }
          const auto forward = forward_plan(image_grid(shape), sizes);
          EXPECT_GE(forward.coils, 1);
          EXPECT_LE(forward.coils, coils);
          EXPECT_GE(forward.tiles, 1);
          EXPECT_LE(forward.tiles, forward.cut.tiles());
          EXPECT_LE(forward.partial, std::size_t{257} << 20);
          EXPECT_LE(forward.partial, forward.bytes);
        }
}

TEST(MatrixPlan, the_multiprocessors_have_work) {
  const auto busy = [](std::int64_t blocks) {
    return static_cast<double>(blocks % 132 == 0 ? 132 : blocks % 132) / 132;
  };
  for (const auto& [shape, samples, coils] : {std::tuple{Matrix{256, 256, 1}, 102912, 8},
                                              {Matrix{64, 64, 16}, 65536, 4},
                                              {Matrix{128, 128, 128}, 262144, 1}}) {
    const auto plan = adjoint_plan(image_grid(shape), {samples, coils, Parts::two, 132, 227 << 10});
    const std::int64_t blocks = plan.cut.tiles() * plan.coils * plan.splits;
    EXPECT_GE(blocks, 120);
    EXPECT_GE(busy(blocks), 0.9);
  }
}

// --- The choice

TEST(DirectWay, tensor_cores_are_taken_on_a_gpu_for_the_accuracy_asked) {
  constexpr Precision single = Precision::single_precision, in_double = Precision::double_precision;
  const VoxelGrid grid = image_grid({128, 128, 128}), row = image_grid({256, 1, 1});
  const Device gpu = Device::cuda();
  const auto parts = [](const DirectWay& way) { return way.matrices ? static_cast<int>(*way.matrices) : 0; };
  EXPECT_EQ(parts(direct_way({}, grid, single, gpu)), 2) << "the default";
  EXPECT_EQ(parts(direct_way({GpuSums::automatic, 1e-3}, grid, single, gpu)), 1);
  EXPECT_EQ(parts(direct_way({GpuSums::automatic, 4.9e-4}, grid, single, gpu)), 2);
  EXPECT_EQ(parts(direct_way({GpuSums::automatic, 1e-6}, grid, single, gpu)), 0);
  EXPECT_EQ(parts(direct_way({}, row, single, gpu)), 0) << "one axis is no product of two";
  EXPECT_EQ(parts(direct_way({GpuSums::tensor_cores}, row, single, gpu)), 2);
  EXPECT_EQ(parts(direct_way({}, grid, in_double, gpu)), 3);
  EXPECT_EQ(parts(direct_way({GpuSums::fast}, grid, in_double, gpu)), 0);
  EXPECT_EQ(parts(direct_way({}, grid, single, Device::cpu())), 0);
  for (const auto sums : {GpuSums::fast, GpuSums::accurate}) {
    const auto way = direct_way({sums, 1e-3}, grid, single, gpu);
    EXPECT_EQ(parts(way), 0);
    EXPECT_EQ(way.sin_cos, sums == GpuSums::fast ? SinCos::fast : SinCos::accurate);
  }
  EXPECT_EQ(direct_way({GpuSums::automatic, 1e-3}, grid, single, gpu).accuracy(single), 5e-4);
  EXPECT_EQ(direct_way({}, grid, single, gpu).accuracy(single), direct_accuracy(single));
}

}  // namespace
}  // namespace fhd::matrix_sums
