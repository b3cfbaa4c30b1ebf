// How gridding is shared out over tensor cores.
#include "recon/transform/gridded/tensor_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "recon/transform/gridded/gridded_cost.hpp"

namespace {

using namespace fhd;

Gridding gridding_of(std::array<int, 3> matrix, std::int64_t samples, double accuracy) {
  const auto gridding = choose_tensor_gridding(
      {matrix, {samples, samples, samples}, Precision::single_precision, Device::cuda()}, accuracy);
  EXPECT_TRUE(gridding.has_value());
  return *gridding;
}

/// Where the entries of each key begin, `count` of them at random in the first `share` of the keys.
std::vector<std::int32_t> random_begins(const TensorShape& shape, std::int64_t count, double share) {
  std::mt19937 generator(5);
  std::uniform_int_distribution<std::int64_t> key(0, std::int64_t(share * double(shape.keys() - 1)));
  std::vector<std::int32_t> begins(shape.keys() + 1);
  for (std::int64_t e = 0; e < count; ++e) ++begins[key(generator) + 1];
  for (std::int64_t i = 0; i < shape.keys(); ++i) begins[i + 1] += begins[i];
  return begins;
}

const std::array<int, 3> matrices[] = {{20, 20, 20}, {33, 20, 1}, {30, 1, 30}, {1, 1, 40},
                                       {50, 1, 1},   {1, 1, 1},   {50, 6, 9}};

/// A plan, and what it was made of.
struct Planned {
  Planned(std::array<int, 3> matrix, std::int64_t entries, double share)
      : shape(gridding_of(matrix, entries, 1e-3)),
        begins(random_begins(shape, entries, share)),
        plan(begins.data(), shape, longest_run) {}
  static constexpr int longest_run = 24;
  int zone_of(int group) const { return plan.groups[static_cast<std::size_t>(group)].zone_count / 32; }

  TensorShape shape;
  std::vector<std::int32_t> begins;
  TensorPlan plan;
};

template <class Check>
void for_each_plan(Check check) {
  for (const auto& matrix : matrices)
    for (const std::int64_t entries : {1, 7, 300, 5000, 100000})
      for (const double share : {0.01, 0.3, 1.0}) check(Planned(matrix, entries, share));
}

TEST(TensorPlan, takes_every_entry_once_in_groups_of_one_zone) {
  for_each_plan([](const Planned& p) {
    std::int64_t taken = 0, groups = 0;
    for (const auto& run : p.plan.runs) {
      EXPECT_EQ(run.first_group, groups);
      EXPECT_GE(run.group_count, 1);
      EXPECT_LE(run.group_count, Planned::longest_run * 3 / 2);  // it ends at the nearest edge of a zone
      groups += run.group_count;
      for (int i = run.first_group; i < run.first_group + run.group_count; ++i) {
        const std::int32_t begin = p.plan.groups[i].begin, size = p.plan.groups[i].zone_count % 32;
        const std::int64_t key = std::int64_t{run.column} * p.shape.zones + p.zone_of(i);
        EXPECT_EQ(begin, taken);
        EXPECT_GE(size, 1);
        EXPECT_LE(size, TensorShape::group);
        EXPECT_GE(begin, p.begins[key]);
        EXPECT_LE(begin + size, p.begins[key + 1]);
        taken += size;
      }
    }
    EXPECT_EQ(taken, p.begins.back());
    EXPECT_EQ(groups, static_cast<std::int64_t>(p.plan.groups.size()));
  });
}

TEST(TensorPlan, every_plane_of_a_tile_has_one_writer_or_a_sum_of_its_rows) {
  for_each_plan([](const Planned& p) {
    // [tile column][plane]: how often it is written to the grid; [row]: where it belongs
    std::vector<int> written(p.shape.columns() * p.shape.size[2]), of_row(p.plan.row_count, -1);
    for (const auto& run : p.plan.runs) {
      const int first = p.zone_of(run.first_group), last = p.zone_of(run.first_group + run.group_count - 1),
                planes = (last - first) * p.shape.zone_planes + p.shape.window_planes;
      for (int i = 0; i < planes; ++i) {
        const int at = run.column * p.shape.size[2] + (first * p.shape.zone_planes + i) % p.shape.size[2];
        const std::int32_t row = p.plan.row_lists[run.row_list + i];
        if (row < 0) {
          ++written[at];
        } else {
          EXPECT_EQ(of_row[row], -1);  // a row has one writer
          of_row[row] = at;
        }
      }
    }
    for (const auto& sum : p.plan.sums) {
      const int at = sum.column * p.shape.size[2] + sum.plane;
      ++written[at];
      EXPECT_NE(sum.row_count, 1);
      for (int i = 0; i < sum.row_count; ++i) EXPECT_EQ(of_row[sum.first_row + i], at);
    }
    EXPECT_EQ(std::count(written.begin(), written.end(), 1), static_cast<std::int64_t>(written.size()));
    EXPECT_EQ(std::count(of_row.begin(), of_row.end(), -1), 0);
  });
}

TEST(TensorSizes, are_those_of_samples_at_random) {
  for (const auto& [matrix, samples] :
       std::vector<std::pair<std::array<int, 3>, std::int64_t>>{{{64, 64, 64}, 300000},
                                                                {{64, 64, 64}, 20000},
                                                                {{64, 64, 64}, 3000},
                                                                {{200, 200, 1}, 40000},
                                                                {{30, 40, 50}, 60000}})
    for (const double accuracy : {1e-3, 1e-5}) {
      SCOPED_TRACE(std::to_string(samples) + " samples, accuracy " + std::to_string(accuracy));
      const auto gridding = gridding_of(matrix, samples, accuracy);
      const TensorShape shape(gridding);
      const TensorSizes sizes(shape, samples, 132);
      const TensorPlan plan(random_begins(shape, std::int64_t(sizes.entries), 1).data(), shape,
                            sizes.longest_run);
      const auto within = [](std::int64_t found, double said, double share) {
        EXPECT_NEAR(static_cast<double>(found), said, share * said);
      };
      within(static_cast<std::int64_t>(plan.groups.size()), sizes.groups, 0.1);
      within(static_cast<std::int64_t>(plan.row_lists.size()), sizes.listed_rows, 0.15);
      // Rows are a small part of the scratch unless samples are few: what they and the values take is what counts.
      const double rows = static_cast<double>(plan.row_count) * TensorShape::tile_columns;
      within(std::int64_t(rows + sizes.entries + static_cast<double>(gridding.grid_points())),
             sizes.scratch_elements(1) + static_cast<double>(gridding.grid_points()), 0.15);
    }
}

}  // namespace
