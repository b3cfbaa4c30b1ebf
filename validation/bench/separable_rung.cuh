#pragma once
// The adjoint sum as a product of matrices, on CUDA cores: the form of recon/transform/direct/separable.hpp without tensor cores,
// in single precision throughout. Of grids with even extents along y and z.
#include "recon/transform/direct/pair_arithmetic.hpp"

namespace fhd::ladder {

constexpr int separable_pairs = 16, separable_columns = 8, separable_tile = 32;
constexpr int separable_block = separable_pairs * separable_pairs;

/// cos and sin of 16 pairs of steps along y and along z, and the data moved to 8 columns, of 32 samples.
struct SeparableTile {
  float2 along_y[separable_tile][separable_pairs], along_z[separable_tile][separable_pairs],
      moved[separable_tile][separable_columns];
};

/// Copies samples from `first` on. All threads of a block call it.
__device__ inline void fill_tile(SeparableTile& tile, int nx, int first_x, int first_a, int first_b,
                                 const std::uint32_t* half_voxel, const float2* data, int samples,
                                 int first) {
  const auto phasor = [](std::uint32_t phase) {
    const auto value = unit_phasor<float>(half_turns<float>(phase));
    return make_float2(value.re, value.im);
  };
  constexpr int of_sample = 2 * separable_pairs + separable_columns;
  for (int i = threadIdx.x; i < separable_tile * of_sample; i += separable_block) {
    const int m = i / of_sample, what = i % of_sample, sample = first + m;
    const auto phase = [&](int axis) { return sample < samples ? half_voxel[axis * samples + sample] : 0; };
    if (what < separable_pairs) {
      tile.along_y[m][what] = phasor(static_cast<std::uint32_t>(2 * (first_a + what) + 1) * phase(1));
    } else if (what < 2 * separable_pairs) {
      const int pair = what - separable_pairs;
      tile.along_z[m][pair] = phasor(static_cast<std::uint32_t>(2 * (first_b + pair) + 1) * phase(2));
    } else {
      const int column = what - 2 * separable_pairs;
      const auto x = static_cast<std::uint32_t>(2 * (first_x + column - nx / 2));
      const float2 p = phasor(x * phase(0) - phase(1) - phase(2)),
                   d = sample < samples ? data[sample] : make_float2(0, 0);
      tile.moved[m][column] = make_float2(d.x * p.x - d.y * p.y, d.x * p.y + d.y * p.x);
    }
  }
}

// image(p) = sum_m d(m) exp(+i 2 pi k_m . r_p). Steps +-(a + 1/2) along y and +-(b + 1/2) along z share four products of cos
// and sin; a thread has one (a, b) and 8 columns along x: 64 multiply-adds a sample for 32 pairs of point and sample, and
// no sine. half_voxel [axis][sample]; grid {x / 8, pairs of y / 16, pairs of z / 16}.
// Floor: 2 multiply-adds a pair, where pair by pair they are 2 and 1/8 of a sine and a cosine.
__global__ void __launch_bounds__(separable_block, 2)
    separable_adjoint_kernel(int nx, int ny, int nz, const std::uint32_t* half_voxel, const float2* data,
                             int samples, float2* image) {
  __shared__ SeparableTile tile;
  const int a = threadIdx.x / separable_pairs, b = threadIdx.x % separable_pairs;
  const int first_x = blockIdx.x * separable_columns, first_a = blockIdx.y * separable_pairs,
            first_b = blockIdx.z * separable_pairs;
  float sums[4][separable_columns][2] = {};
  for (int first = 0; first < samples; first += separable_tile) {
    __syncthreads();
    fill_tile(tile, nx, first_x, first_a, first_b, half_voxel, data, samples, first);
    __syncthreads();
#pragma unroll 4
    for (int m = 0; m < separable_tile; ++m) {
      const float2 y = tile.along_y[m][a], z = tile.along_z[m][b];
      const float products[4] = {y.x * z.x, y.y * z.y, y.x * z.y, y.y * z.x};
#pragma unroll
      for (int column = 0; column < separable_columns; ++column) {
        const float2 moved = tile.moved[m][column];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[i][column][0] += products[i] * moved.x;
          sums[i][column][1] += products[i] * moved.y;
        }
      }
    }
  }
  const auto write = [&](int column, int sign_y, int sign_z, float re, float im) {
    const int x = first_x + column, y = sign_y > 0 ? ny / 2 + first_a + a : ny / 2 - 1 - first_a - a,
              z = sign_z > 0 ? nz / 2 + first_b + b : nz / 2 - 1 - first_b - b;
    if (x < nx && y >= 0 && y < ny && z >= 0 && z < nz)
      image[(std::int64_t{z} * ny + y) * nx + x] = make_float2(re, im);
  };
#pragma unroll
  for (int column = 0; column < separable_columns; ++column) {
    const auto s = [&](int i, int part) { return sums[i][column][part]; };
    write(column, 1, 1, s(0, 0) - s(1, 0) - (s(2, 1) + s(3, 1)), s(0, 1) - s(1, 1) + (s(2, 0) + s(3, 0)));
    write(column, 1, -1, s(0, 0) + s(1, 0) + (s(2, 1) - s(3, 1)), s(0, 1) + s(1, 1) + (s(3, 0) - s(2, 0)));
    write(column, -1, 1, s(0, 0) + s(1, 0) - (s(2, 1) - s(3, 1)), s(0, 1) + s(1, 1) + (s(2, 0) - s(3, 0)));
    write(column, -1, -1, s(0, 0) - s(1, 0) + (s(2, 1) + s(3, 1)), s(0, 1) - s(1, 1) - (s(2, 0) + s(3, 0)));
  }
}

}  // namespace fhd::ladder
