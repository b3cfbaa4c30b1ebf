#pragma once
// How kernels share out the lines of an axis among blocks of threads that transform them by block_fft.cuh.
#include <array>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/transform/toeplitz/block_fft.cuh"

namespace fhd::toeplitz {

constexpr int row_threads = 256;  // of a block, at most

/// Columns that a block takes side by side: 128 bytes where its threads are few enough.
FHD_HOST_DEVICE constexpr int columns_of(int line_threads) {
  return line_threads <= 32 ? 16 : line_threads <= 64 ? 8 : 4;
}
/// Threads of a block of columns, at most, and how many blocks a multiprocessor shall hold at once: with 128 registers
/// a thread, or `more` with 80, where that hardly spills; with 64 where radices are below 9.
template <class Stages>
struct ColumnBlock {
  static constexpr int threads = 512, blocks = 1, more = 1;
};
template <int... list>
struct ColumnBlock<FixedStages<list...>> {
  using Stages = FixedStages<list...>;
  static constexpr int threads = Stages::most_threads * columns_of(Stages::most_threads),
                       blocks = (Stages::most_radix > 8 ? 512 : 1024) / threads,
                       more = (Stages::most_radix > 8 ? 768 : 1024) / threads;
};

FHD_HOST_DEVICE constexpr Value exchanged(Value v) { return {v.im, v.re}; }

/// Transforms the lines of a block in rows: threads of a line are neighbours.
template <class Stages>
__device__ __forceinline__ BlockFft<Stages, true> row_fft(const Stages& plan, const Value* twiddles,
                                                          unsigned char* memory) {
  const int threads = plan.line_threads(), line = static_cast<int>(threadIdx.x) / threads;
  return {plan,
          twiddles,
          {reinterpret_cast<Value*>(memory) + line * row_places(plan.length()), 1},
          static_cast<int>(threadIdx.x) - line * threads};
}

/// Transforms `columns` columns: threads of neighbouring columns are neighbours.
template <class Stages>
__device__ __forceinline__ BlockFft<Stages, false> column_fft(const Stages& plan, const Value* twiddles,
                                                              unsigned char* memory) {
  const int columns = columns_of(plan.line_threads());
  return {plan,
          twiddles,
          {reinterpret_cast<Value*>(memory) + threadIdx.x % columns, columns},
          static_cast<int>(threadIdx.x) / columns};
}

/// Stages of usual lengths, as constants.
template <class... Known>
struct KnownStages {
  static constexpr std::array lengths{Known::points...};
  /// f(the stages of the plan), as constants where its length is one of these.
  template <class F>
  static void with(const BlockFftPlan& plan, const F& f) {
    if (!((Known().is(plan) && (f(Known()), true)) || ...)) f(AnyStages(plan));
  }
};
using FastStages =
    KnownStages<FixedStages<8, 8>, FixedStages<12, 8>, FixedStages<16, 8>, FixedStages<16, 10>,
                FixedStages<16, 12>, FixedStages<14, 14>, FixedStages<16, 14>, FixedStages<16, 15>,
                FixedStages<16, 16>, FixedStages<8, 6, 6>, FixedStages<8, 8, 5>, FixedStages<10, 6, 6>,
                FixedStages<8, 8, 6>, FixedStages<8, 8, 7>, FixedStages<8, 8, 8>>;
static_assert(FastStages::lengths == fast_lengths);

/// An axis of n voxels: how its lines are transformed, and with which numbers on the device.
struct Axis {
  BlockFftPlan plan;
  Array<Value> twiddles;

  Axis(std::int64_t n, Device device) : plan(static_cast<int>(n)) {
    if (!plan.is_taken()) return;  // of one voxel
    std::vector<Value> table = twiddles_of(plan);
    twiddles = Array<Value>::view(table.data(), Shape{plan.twiddles()}).to(device);
  }
  int columns() const { return columns_of(plan.threads); }
  /// For columns [point][width].
  std::int64_t column_tiles(std::int64_t width) const { return (width + columns() - 1) / columns(); }
  dim3 column_threads() const { return dim3(static_cast<unsigned>(plan.threads * columns())); }
  std::size_t column_bytes() const { return bytes(columns(), column_places(plan.points, columns())); }
  std::size_t row_bytes(std::int64_t lines) const { return bytes(lines, row_places(plan.points)); }

 private:
  static std::size_t bytes(std::int64_t lines, int places) {
    return static_cast<std::size_t>(lines * places) * sizeof(Value);
  }
};

}  // namespace fhd::toeplitz
