#include "recon/transform/direct/separable.hpp"

#include <algorithm>

namespace fhd::matrix_sums {
namespace {

/// Bytes of the matrices of a pass: a pass is long beside its start and end.
constexpr double matrix_bytes = 256 << 20;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// `count` in equal passes of at most `most`.
std::int64_t even_share(std::int64_t count, std::int64_t most) {
  return quotient_up(count, quotient_up(count, std::clamp<std::int64_t>(most, 1, count)));
}

/// How many shares of a sum of `depth` steps are taken side by side, so that `blocks` of threads each keep the
/// multiprocessors busy.
int splits_of(std::int64_t blocks, std::int64_t depth, int multiprocessors) {
  constexpr std::int64_t least_depth = 8, most_splits = 64;
  constexpr double price = 1.02;  // a split more has its own sums, and their sum
  const std::int64_t most = std::clamp<std::int64_t>(depth / least_depth, 1, most_splits);
  std::int64_t best = 1;
  double best_share = 0;
  for (std::int64_t splits = 1; splits <= most && blocks * splits <= 4 * multiprocessors; ++splits) {
    const std::int64_t rounds = quotient_up(blocks * splits, multiprocessors);
    const double share = static_cast<double>(blocks * splits) / static_cast<double>(rounds * multiprocessors);
    if (share > best_share * price) best = splits, best_share = share;
  }
  return static_cast<int>(best);
}

/// Arrays of a workspace, one after the other.
class Layout {
 public:
  explicit Layout(std::size_t& bytes) : bytes_(bytes) {}
  /// Where the next one begins.
  std::size_t add(double size) {
    constexpr std::size_t alignment = 256;
    const std::size_t begin = bytes_;
    bytes_ += (static_cast<std::size_t>(size) + alignment - 1) / alignment * alignment;
    return begin;
  }

 private:
  std::size_t& bytes_;
};

/// Sums of the splits, where there are several.
double partial_bytes(int splits, std::int64_t coils, std::int64_t elements, Parts parts) {
  const double element = parts == Parts::whole ? 16 : 8;
  return splits == 1 ? 0.0 : element * splits * static_cast<double>(coils) * static_cast<double>(elements);
}

/// Blocks of the forward matrix that go into shared memory beside their phasors and two stages.
int most_forward_blocks(const PlanSizes& sizes) {
  const std::size_t stage = static_cast<std::size_t>(image_bytes(sizes.parts)),
                    phasors = stage;  // of 128 samples
  return sizes.shared_bytes >= 2 * stage + 2 * phasors ? 2 : 1;
}

}  // namespace

PlanSizes plan_sizes(std::int64_t samples, std::int64_t coils, Parts parts, Device device) {
  return {samples, coils, parts, device::multiprocessor_count(device), device::shared_bytes_of_block(device)};
}

AdjointPlan adjoint_plan(const VoxelGrid& grid, const PlanSizes& sizes) {
  AdjointPlan plan{separable(grid, sizes.parts)};
  const auto& cut = plan.cut;
  // Enough blocks of threads, without more sums at once than they need.
  plan.coils = even_share(sizes.coils, 8 * std::int64_t{sizes.multiprocessors} / cut.tiles());
  const double factors_0 = cut.groups(cut.outer_axis[0]) * 1.0 * factor_bytes(sizes.parts),
               factors_1 = cut.groups(cut.outer_axis[1]) * 1.0 * factor_bytes(sizes.parts),
               images = static_cast<double>(plan.coils) * cut.inner_tiles() *
                        image_bytes(sizes.parts, cut.columns);
  const std::int64_t all = quotient_up(sizes.samples, block_length(sizes.parts));
  plan.blocks = even_share(all, static_cast<std::int64_t>(matrix_bytes / (factors_0 + factors_1 + images)));
  plan.splits = splits_of(cut.tiles() * plan.coils, plan.blocks, sizes.multiprocessors);
  const auto count = static_cast<double>(plan.blocks);
  Layout layout(plan.bytes);
  plan.factors[0] = layout.add(count * factors_0);
  plan.factors[1] = layout.add(count * factors_1);
  plan.images = layout.add(count * images);
  plan.partial = layout.add(partial_bytes(plan.splits, plan.coils, cut.points(), sizes.parts));
  return plan;
}

ForwardPlan forward_plan(const VoxelGrid& grid, const PlanSizes& sizes) {
  ForwardPlan plan{rows_of(grid, most_forward_blocks(sizes), sizes.parts)};
  const std::int64_t tiles = plan.cut.tiles();
  const double tile_bytes = 1.0 * image_bytes(sizes.parts) * plan.cut.blocks();
  plan.coils = even_share(
      sizes.coils, static_cast<std::int64_t>(matrix_bytes / (tile_bytes * static_cast<double>(tiles))));
  plan.tiles = even_share(tiles, static_cast<std::int64_t>(matrix_bytes / tile_bytes));
  const int rows = sizes.parts == Parts::whole ? forward_rows : forward_hopper_rows;
  const std::int64_t blocks = quotient_up(sizes.samples, rows) * plan.coils;
  plan.splits = splits_of(blocks, plan.tiles * plan.cut.blocks(), sizes.multiprocessors);
  Layout layout(plan.bytes);
  plan.images = layout.add(static_cast<double>(plan.coils * plan.tiles) * tile_bytes);
  plan.partial = layout.add(partial_bytes(plan.splits, plan.coils, sizes.samples, sizes.parts));
  return plan;
}

double adjoint_products(const VoxelGrid& grid, std::int64_t samples, Parts parts) {
  return separable(grid, parts).computed_points() * static_cast<double>(samples) * products_of(parts);
}
double forward_products(const VoxelGrid& grid, std::int64_t samples, Parts parts) {
  return rows_of(grid, 2, parts).computed_points() * static_cast<double>(samples) * products_of(parts);
}

}  // namespace fhd::matrix_sums
