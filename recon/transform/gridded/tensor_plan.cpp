#include "recon/transform/gridded/tensor_plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "recon/array/thread_limit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

/// Groups of one zone in a run, unless it is short: no sum in a tensor core, which truncates, has many terms.
constexpr int most_of_zone = 64;

int whole(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

void require_32_bits(std::int64_t count, const char* what) {
  if (count >= std::int64_t{1} << 31)
    throw Error("gridded transform", std::string("a trajectory of less than 2^31 ") + what,
                std::to_string(count), "use " + option_words("transform", "direct") + " or fewer samples");
}

/// Groups of a zone that has `mean` entries at random: the mean of their number over 16, rounded up.
double groups_of_zone(double mean) {
  constexpr double many = 300;  // the last group is half full
  if (mean > many) return mean / TensorShape::group + 0.5 - 0.5 / TensorShape::group;
  double probability = std::exp(-mean), sum = 0;
  for (int n = 1; n < 2 * many; ++n) {
    probability *= mean / n;
    sum += probability * whole(n, TensorShape::group);
  }
  return sum;
}

}  // namespace

TensorShape::TensorShape(const Gridding& gridding) {
  const bool volume = gridding.grid[2] > 1;
  const int axes[3] = {0, volume ? 1 : -1, volume ? 2 : 1};
  for (int i = 0; i < 3; ++i) {
    axis[i] = axes[i];
    size[i] = axes[i] < 0 ? 1 : static_cast<int>(gridding.grid[axes[i]]);
    points[i] = axes[i] < 0 ? 1 : gridding.points[axes[i]];
  }
  tiles[0] = whole(size[0], tile_x);
  tiles[1] = whole(size[1], tile_y);
  zone_planes = points[2] > 1 ? window + 1 - points[2] : 1;
  window_planes = zone_planes + points[2] - 1;
  zones = whole(size[2], zone_planes);
}

TensorSizes::TensorSizes(const TensorShape& shape, std::int64_t samples, int multiprocessors) {
  // Warps that a multiprocessor holds, and turns that each of them gets: runs end at different times.
  constexpr int warps = 8, turns = 6, longest = 192, shortest = 8;
  entries = static_cast<double>(samples);
  for (int i = 0; i < 2; ++i)
    entries *= 1 + static_cast<double>(shape.tiles[i]) * (shape.points[i] - 1) / shape.size[i];
  const auto columns = static_cast<double>(shape.columns()), keys = columns * shape.zones;
  groups = keys * groups_of_zone(entries / keys);
  const double per_warp = groups / (double(std::max(multiprocessors, 1)) * warps * turns);
  longest_run = static_cast<int>(std::clamp<double>(std::ceil(per_warp), shortest, longest));

  // Zones that reach each other are a stretch, which is cut into runs. Two neighbours share the planes behind the zones of
  // the first, across the periodic edge as well; several runs of one zone share all. Of zones and columns some have no
  // entries.
  const double filled = -keys * std::expm1(-entries / keys),
               occupied = -columns * std::expm1(-entries / columns),
               reach = std::ceil(double(shape.window_planes) / shape.zone_planes),
               gap = std::pow(1 - filled / keys, reach - 1),  // probability that a zone ends its stretch
      stretches = occupied + (filled - occupied) * gap;
  runs = stretches + std::max(0.0, groups / longest_run - 0.5 * stretches);
  const double size = shape.size[2], shared = std::min<double>(shape.window_planes - shape.zone_planes, size),
               reached =
                   -columns * size * std::expm1(-entries / keys * shape.window_planes / shape.zone_planes),
               cuts = runs - stretches + occupied * (1 - gap);
  listed_rows = reached + cuts * shared;
  rows = cuts * std::min(2 * shared, listed_rows / runs);
  sums = columns * size - reached + std::min(cuts * shared, reached);
  if (groups / filled > 1.5 * std::min(longest_run, most_of_zone)) {
    listed_rows = rows = runs * shape.window_planes;
    sums = columns * size;
  }
}

// Samples do not lie at random: so much more room for what hangs on where they do.
constexpr double uneven = 1.1;

double TensorSizes::bytes(std::int64_t samples) const {
  constexpr double of_entry =
      3 * sizeof(float) + 2 * sizeof(std::int32_t);  // distances; its place, its sample
  return entries * of_entry + (static_cast<double>(samples) + 1) * sizeof(std::int32_t) +
         uneven * (groups * sizeof(TensorGroup) + runs * sizeof(TensorRun) +
                   listed_rows * sizeof(std::int32_t) + sums * sizeof(TensorSum));
}
double TensorSizes::scratch_elements(std::int64_t coils) const {
  const CoilBlocks blocks(static_cast<int>(coils));
  return entries * blocks.blocks * blocks.slots +
         uneven * rows * TensorShape::tile_columns * static_cast<double>(coils);
}

/// The plan of some tile columns, one after another.
struct TensorPlan::Part {
  const TensorShape* shape;
  int longest_run;
  std::vector<TensorGroup> groups{};
  std::vector<TensorRun> runs{};
  std::vector<std::int32_t> row_lists{};
  std::vector<TensorSum> sums{};
  std::int64_t row_count = 0;

  struct Column;
  /// Adds a column; `begins` of its zones.
  void add(std::int32_t index, const std::int32_t* begins);
  void cut(const Column& column);
  void place_rows(const Column& column);
};

/// The tile column that is being planned.
struct TensorPlan::Part::Column {
  std::int32_t index;
  const std::int32_t* begins;  ///< of its zones
  std::size_t first_run;
};

TensorPlan::TensorPlan(const std::int32_t* begins, const TensorShape& shape, int longest_run) {
  constexpr std::int64_t of_part = 128;  // columns
  const std::int64_t columns = shape.columns();
  std::vector<Part> parts(static_cast<std::size_t>((columns + of_part - 1) / of_part),
                          Part{&shape, longest_run});
  for_each_in_parallel(parts.size(), [&](std::size_t i) {
    const auto first = static_cast<std::int64_t>(i) * of_part;
    for (std::int64_t column = first; column < std::min(columns, first + of_part); ++column)
      parts[i].add(static_cast<std::int32_t>(column), begins + column * shape.zones);
  });
  join(parts);
}

/// Puts the plans of parts one after another, as if all columns had been planned in turn. Throws Error where
/// there are 2^31 groups or rows.
void TensorPlan::join(const std::vector<Part>& parts) {
  struct Offsets {
    std::int64_t groups = 0, runs = 0, row_lists = 0, sums = 0, rows = 0;
  };
  std::vector<Offsets> at(parts.size() + 1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    at[i + 1] = {at[i].groups + std::ssize(parts[i].groups), at[i].runs + std::ssize(parts[i].runs),
                 at[i].row_lists + std::ssize(parts[i].row_lists), at[i].sums + std::ssize(parts[i].sums),
                 at[i].rows + parts[i].row_count};
  const Offsets& all = at.back();
  require_32_bits(all.groups, "groups");
  require_32_bits(all.row_lists, "planes of runs");
  require_32_bits(all.rows, "rows");
  groups = Array<TensorGroup>({all.groups}), runs = Array<TensorRun>({all.runs});
  row_lists = Array<std::int32_t>({all.row_lists}), sums = Array<TensorSum>({all.sums});
  row_count = all.rows;
  for_each_in_parallel(parts.size(), [&](std::size_t i) {
    const Offsets& from = at[i];
    const auto first_group = static_cast<std::int32_t>(from.groups),
               row_list = static_cast<std::int32_t>(from.row_lists),
               row = static_cast<std::int32_t>(from.rows);
    std::copy(parts[i].groups.begin(), parts[i].groups.end(), groups.data() + from.groups);
    std::transform(parts[i].runs.begin(), parts[i].runs.end(), runs.data() + from.runs, [&](TensorRun run) {
      run.first_group += first_group, run.row_list += row_list;
      return run;
    });
    std::transform(parts[i].row_lists.begin(), parts[i].row_lists.end(), row_lists.data() + from.row_lists,
                   [&](std::int32_t own) { return own < 0 ? own : own + row; });
    std::transform(parts[i].sums.begin(), parts[i].sums.end(), sums.data() + from.sums, [&](TensorSum sum) {
      sum.first_row += row;
      return sum;
    });
  });
}

void TensorPlan::Part::add(std::int32_t index, const std::int32_t* begins) {
  const Column column{index, begins, runs.size()};
  cut(column);
  place_rows(column);
}

/// Runs of nearly equal length, which end where a zone does; a gap between zones that do not reach each other
/// ends one, too. Zones of many groups have runs of their own.
void TensorPlan::Part::cut(const Column& column) {
  const auto groups_of = [&](int zone) {
    return whole(column.begins[zone + 1] - column.begins[zone], TensorShape::group);
  };
  std::int64_t all = 0;
  for (int zone = 0; zone < shape->zones; ++zone) all += groups_of(zone);
  const int wanted = all > 0 ? whole(all, whole(all, longest_run)) : 0, most = std::min(wanted, most_of_zone);
  const int reach = whole(shape->window_planes, shape->zone_planes);  // zones
  int last = -1;                                                      // of the run; -1: a new one begins
  const auto add = [&](int zone, std::int32_t first, std::int32_t end) {
    if (last < 0) runs.push_back({static_cast<std::int32_t>(groups.size()), 0, column.index, 0});
    last = zone;
    for (std::int32_t begin = first; begin < end; begin += TensorShape::group, ++runs.back().group_count)
      groups.push_back({begin, zone * 32 + std::min(TensorShape::group, end - begin)});
  };
  for (int zone = 0; zone < shape->zones; ++zone) {
    const std::int32_t begin = column.begins[zone], end = column.begins[zone + 1];
    const int count = groups_of(zone), pieces = std::max(1, (2 * count + most) / std::max(2 * most, 1));
    if (count == 0) continue;
    if (last >= 0 && (zone - last >= reach || pieces > 1 || 2 * runs.back().group_count + count > 2 * wanted))
      last = -1;
    for (int piece = 0; piece < pieces; ++piece) {
      const auto cut_at = [&](int i) {
        return static_cast<std::int32_t>(begin + std::int64_t{count} * i / pieces * TensorShape::group);
      };
      add(zone, cut_at(piece), piece + 1 == pieces ? end : cut_at(piece + 1));
      if (pieces > 1) last = -1;
    }
  }
}

/// The planes of a column's runs: a plane of one row is the run's to write, the rows of others lie one after
/// another in the order of the runs.
void TensorPlan::Part::place_rows(const Column& column) {
  std::vector<std::int32_t> count(shape->size[2], 0), next(shape->size[2], 0);
  const auto for_each_plane = [&](auto visit) {
    for (std::size_t i = column.first_run; i < runs.size(); ++i) {
      const TensorRun& run = runs[i];
      const int first = groups[run.first_group].zone_count / 32,
                last = groups[run.first_group + run.group_count - 1].zone_count / 32,
                planes = (last - first) * shape->zone_planes + shape->window_planes;
      for (int i_plane = 0; i_plane < planes; ++i_plane)
        visit(runs[i], i_plane, (first * shape->zone_planes + i_plane) % shape->size[2]);
    }
  };
  for_each_plane([&](const TensorRun&, int, int plane) { ++count[plane]; });
  for (int plane = 0; plane < shape->size[2]; ++plane) {
    if (count[plane] == 1) continue;
    next[plane] = static_cast<std::int32_t>(row_count);
    sums.push_back({column.index, plane, next[plane], count[plane]});
    row_count += count[plane];
  }
  for_each_plane([&](TensorRun& run, int i_plane, int plane) {
    if (i_plane == 0) run.row_list = static_cast<std::int32_t>(row_lists.size());
    row_lists.push_back(count[plane] == 1 ? -1 : next[plane]++);
  });
}

}  // namespace fhd
