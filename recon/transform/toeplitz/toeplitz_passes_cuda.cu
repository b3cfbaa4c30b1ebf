// E^H E on the device by the passes of toeplitz_passes.cuh, where their floor is told.
//
// The passes of a group of coils follow each other through memory, not through the cache: what is between them,
// 4 V a coil, is larger than the cache for every scan where it would pay, and pieces that fit are launches of a
// single wave of blocks.
#include <algorithm>
#include <utility>

#include "recon/array/cuda_check.hpp"
#include "recon/transform/toeplitz/block_fft_axis.cuh"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"
#include "recon/transform/toeplitz/toeplitz_passes.cuh"

namespace fhd {
namespace {

using toeplitz::Axis;
using toeplitz::Value;
using toeplitz::FastStages;

dim3 blocks(std::int64_t x, std::int64_t y = 1) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y)};
}

class ToeplitzPasses final : public ToeplitzOnDevice<float> {
 public:
  /// The device of the maps is current.
  ToeplitzPasses(const Array<Value>& point_spread, Array<Value> maps, std::int64_t coils_at_once,
                 std::int64_t images_at_once)
      : ToeplitzOnDevice<float>(point_spread, std::move(maps), coils_at_once, images_at_once),
        x_(extents_.n[0], device()),
        y_(extents_.n[1], device()),
        z_(extents_.n[2], device()),
        rows_(extents_.n[1] * extents_.n[2]) {
    transfer_ = Array<float>({extents_.grid()}, device());
    store_transfer(point_spread);
    along_x_ = Array<Value>({batch_.planes(), 2 * extents_.voxels()}, device());
    if (!extents_.flat()) along_y_ = Array<Value>({batch_.planes(), 4 * extents_.voxels()}, device());
  }

 private:
  /// Coils [first, first + coils) of so many images.
  struct Batch {
    std::int64_t images, first, coils;
  };

  void store_transfer(const Array<Value>& point_spread) {
    Array<Value> spectrum(point_spread.shape(), device());
    transform_point_spread(point_spread, spectrum.data());
    const auto& g = extents_.g;
    const std::int64_t count = (extents_.grid() + toeplitz::row_threads - 1) / toeplitz::row_threads;
    toeplitz::store_halves_kernel<<<blocks(count), toeplitz::row_threads>>>(spectrum.data(), g[0], g[1], g[2],
                                                                            transfer_.data());
    device::check_launch("store_halves_kernel");
  }

  void add_coils(const Value* in, std::int64_t images, std::int64_t first, Value* out) const override {
    const Batch batch{images, first, batch_coils(first)};
    queue_rows(batch, in);
    if (!extents_.flat()) queue_columns(batch);
    queue_convolution(batch);
    if (!extents_.flat()) queue_columns_back(batch);
    queue_combination(batch, out);
  }

  // The passes of a batch.

  void queue_rows(const Batch& batch, const Value* in) const {
    const std::int64_t lines = std::max(1, toeplitz::row_threads / x_.plan.threads);
    const dim3 grid = blocks((rows_ + lines - 1) / lines * batch.coils, batch.images);
    FastStages::with(x_.plan, [&](auto stages) {
      toeplitz::rows_kernel<<<grid, static_cast<unsigned>(lines * x_.plan.threads), x_.row_bytes(lines)>>>(
          stages, x_.twiddles.data(), in, maps_.data() + batch.first * extents_.voxels(),
          static_cast<unsigned>(rows_), static_cast<unsigned>(batch.coils), along_x_.data());
    });
    device::check_launch("rows_kernel");
  }

  void queue_columns(const Batch& batch) const {
    const dim3 grid = blocks(y_.column_tiles(extents_.g[0]) * extents_.n[2] * batch.coils * batch.images);
    FastStages::with(y_.plan, [&](auto stages) {
      toeplitz::columns_kernel<<<grid, y_.column_threads(), y_.column_bytes()>>>(
          stages, y_.twiddles.data(), along_x_.data(), static_cast<unsigned>(extents_.g[0]), along_y_.data());
    });
    device::check_launch("columns_kernel");
  }

  void queue_convolution(const Batch& batch) const {
    const Axis& last = extents_.flat() ? y_ : z_;
    Array<Value>& values = extents_.flat() ? along_x_ : along_y_;
    const std::int64_t rows = extents_.flat() ? 1 : extents_.g[1], volumes = batch.coils * batch.images;
    const dim3 grid = blocks(last.column_tiles(extents_.g[0]) * rows * volumes);
    FastStages::with(last.plan, [&](auto stages) {
      toeplitz::convolve_kernel<<<grid, last.column_threads(), last.column_bytes()>>>(
          stages, last.twiddles.data(), transfer_.data(), static_cast<unsigned>(extents_.g[0]),
          static_cast<unsigned>(rows), static_cast<unsigned>(volumes), values.data());
    });
    device::check_launch("convolve_kernel");
  }

  void queue_columns_back(const Batch& batch) const {
    const dim3 grid = blocks(y_.column_tiles(extents_.g[0]) * extents_.n[2] * batch.coils * batch.images);
    FastStages::with(y_.plan, [&](auto stages) {
      toeplitz::back_kernel<<<grid, y_.column_threads(), y_.column_bytes()>>>(
          stages, y_.twiddles.data(), along_y_.data(), static_cast<unsigned>(extents_.g[0]), along_x_.data());
    });
    device::check_launch("back_kernel");
  }

  /// Small blocks: a flat image has few rows, and a block goes through all coils.
  void queue_combination(const Batch& batch, Value* out) const {
    const std::int64_t threads = x_.plan.threads, few = toeplitz::row_threads / 2,
                       together =
                           std::min(batch.coils, std::max<std::int64_t>(1, toeplitz::row_threads / threads)),
                       rows = std::max<std::int64_t>(1, few / (threads * together)), lines = together * rows;
    const dim3 grid = blocks((rows_ + rows - 1) / rows, batch.images);
    FastStages::with(x_.plan, [&](auto stages) {
      toeplitz::combine_kernel<<<grid, static_cast<unsigned>(lines * threads), x_.row_bytes(lines)>>>(
          stages, x_.twiddles.data(), along_x_.data(), maps_.data() + batch.first * extents_.voxels(),
          static_cast<unsigned>(rows_), static_cast<unsigned>(batch.coils), static_cast<unsigned>(together),
          batch.first > 0, out);
    });
    device::check_launch("combine_kernel");
  }

  Axis x_, y_, z_;
  std::int64_t rows_;             // of an image
  Array<float> transfer_;         // [half z][half y][half x]
  mutable Array<Value> along_x_,  // [image][coil][z][y][half x]
      along_y_;                   // [image][coil][z][half y][half x], not of a flat image
};

}  // namespace

std::unique_ptr<ToeplitzNormal<float>> make_toeplitz_passes(const Array<Complex<float>>& point_spread,
                                                            Array<Complex<float>> maps,
                                                            std::int64_t coils_at_once,
                                                            std::int64_t images_at_once) {
  return std::make_unique<ToeplitzPasses>(point_spread, std::move(maps), coils_at_once, images_at_once);
}

}  // namespace fhd
