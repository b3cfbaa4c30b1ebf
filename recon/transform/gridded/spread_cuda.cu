// Spreading on the device: partial sums of each run ("rows"), then their sum over each grid point. The
// picture is in sample_grid_cuda.cuh.
#include <algorithm>

#include "recon/transform/gridded/sample_grid_cuda.cuh"

namespace fhd {

using namespace gridded_cuda;

namespace {

/// Samples whose weights lie in shared memory.
constexpr int spread_chunk = 32;

/// sums(column, plane) += value phi(x) phi(y) phi(z), for the four columns of a thread.
template <class T, int planes, class Pair>
__device__ __forceinline__ void add_sample(const Pair x, const Pair y, const T (&z)[planes],
                                           const Complex<T> value, Complex<T> (&sums)[4][planes]) {
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    const Complex<T> part = (y.of[half / 2] * x.of[half % 2]) * value;
#pragma unroll
    for (int i = 0; i < planes; ++i) {
      sums[half][i].re += z[i] * part.re;
      sums[half][i].im += z[i] * part.im;
    }
  }
}

/// The window moves on by one plane.
template <class T, int planes>
__device__ __forceinline__ void shift_planes(Complex<T> (&sums)[4][planes]) {
#pragma unroll
  for (int half = 0; half < 4; ++half) {
#pragma unroll
    for (int i = 0; i + 1 < planes; ++i) sums[half][i] = sums[half][i + 1];
    sums[half][planes - 1] = {};
  }
}

/// The sums of plane i into a thread's place `out` in a row, or added to what an earlier launch wrote.
template <class T, int columns, int planes>
__device__ __forceinline__ void write_row(const Complex<T> (&sums)[4][planes], int i, bool add,
                                          Complex<T>* out) {
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    Complex<T> value = sums[half][i];
    if (add) value += out[half * columns];
    out[half * columns] = value;
  }
}

// Spreading:  row(plane; x, y) = sum over the samples of the run of value phi(x) phi(y) phi(z).
// blockIdx.x is the run; threads as in ColumnOwner. `values` is [coil][sample] of the scan, `rows`
// [row][coil][half of y][half of x][jy][jx]. Planes of the kernel before `first_point` were written by an
// earlier launch, which this one adds to. Floor per sample and coil: 8 planes width^2 multiply-adds, four
// times those of the definition.
template <class T, int width, int planes>
__global__ void __launch_bounds__(most_threads)
    spread_runs_kernel(const __grid_constant__ Polynomials<T, width> kernel, const GridShape shape,
                       const SortedSamples<T> samples, const SampleRun* runs, const std::int32_t* row_lists,
                       std::int32_t first_row, int first_point, int coil_count, int coils_per_block,
                       const Complex<T>* values, std::int64_t value_stride, Complex<T>* rows) {
  constexpr int columns = width * width, chunk = spread_chunk;
  __shared__ ChunkWeights<T, width, planes, chunk> weights;
  __shared__ Complex<T> chunk_values[most_coils_per_block][chunk];
  const SampleRun run = runs[blockIdx.x];
  const ColumnOwner<width> owner(coil_count, coils_per_block);

  Complex<T> sums[4][planes];
  int plane = run.first_plane + first_point;
  const int written = run.first_plane + run.plane_count - shape.points[2] + first_point;  // by a pass before
  const std::int32_t* row_list = row_lists + (run.row_list - run.first_plane);
  const auto write = [&](const Complex<T>(&values_of)[4][planes], int i, int of_plane) {
    const std::int64_t row = row_list[of_plane] - first_row;
    if (!owner.is_one) return;
    write_row<T, columns>(
        values_of, i, in_passes<width, planes> && first_point > 0 && of_plane < written,
        rows + (row * coil_count + owner.first_coil + owner.coil) * (4 * columns) + owner.column);
  };

  for (int first = 0; first < run.count; first += chunk) {
    const int count = min(chunk, run.count - first);
    __syncthreads();
    evaluate_chunk(kernel, shape, samples, run.begin + first, count, first_point, weights);
    for (int item = threadIdx.x; item < owner.coils * chunk; item += blockDim.x)
      if (const int m = item % chunk; m < count)
        chunk_values[item / chunk][m] =
            values[(owner.first_coil + item / chunk) * value_stride + samples.index[run.begin + first + m]];
    __syncthreads();
    const auto* x_weights = &weights.columns[0][0][owner.jx];
    const auto* y_weights = &weights.columns[1][0][owner.jy];
    const auto* z_weights = &weights.z[0];
    const Complex<T>* value = &chunk_values[owner.coil][0];
    for (int m = 0;;) {
      // The samples that begin at this plane.
#pragma unroll 1
      for (; planes > 1 ? weights.first_plane[m] == plane : m < count; ++m) {
        T z[planes];
#pragma unroll
        for (int i = 0; i < planes; ++i) z[i] = planes > 1 ? (*z_weights)[i] : T(1);
        add_sample(*x_weights, *y_weights, z, *value, sums);
        x_weights += width + 1;
        y_weights += width + 1;
        ++z_weights;
        ++value;
      }
      if (m == count) break;
      write(sums, 0, plane++);
      shift_planes(sums);
    }
  }
#pragma unroll
  for (int i = 0; i < planes; ++i) write(sums, i, plane + i);
}

// grid(p) = sum of the rows over p, in the order of their tiles and runs (+= with `accumulate`); only of
// tiles first_tile_y ... end_tile_y, for `y_count` lines from first_y on (periodic). One thread per point of
// `planes` planes and `coils` coils; their only writer. rows_begin is [tile column][plane] -> first row;
// `depth` planes per column. Bytes per point: about three rows' points read, one written.
template <class T, int width, int planes, int coils>
__global__ void add_rows_kernel(const GridShape shape, const std::int32_t* rows_begin, int depth,
                                std::int32_t first_row, int first_tile_y, int end_tile_y, int first_y,
                                int y_count, bool accumulate, int coil_count, const Complex<T>* rows,
                                Complex<T>* grid) {
  constexpr int columns = width * width;
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int line_blocks = (y_count + blockDim.y - 1) / blockDim.y;
  const int line = blockIdx.y % line_blocks * blockDim.y + threadIdx.y;
  const int first_coil = blockIdx.y / line_blocks * coils, first_z = blockIdx.z * planes;
  if (x >= shape.size[0] || line >= y_count) return;
  const int y = (first_y + line) % shape.size[1];

  // visit(tile, distance from its corner) for the tiles whose margin reaches a point, the nearest first.
  const auto for_each_tile = [&shape](int axis, int point, auto visit) {
    if (shape.points[axis] == 1) return visit(0, 0);
    int tile = point / (width + 1);
    for (int distance = point - tile * (width + 1); distance < 2 * width;) {
      visit(tile, distance);
      distance =
          tile > 0 ? distance + width + 1 : point + shape.size[axis] - (shape.tiles[axis] - 1) * (width + 1);
      tile = tile > 0 ? tile - 1 : shape.tiles[axis] - 1;
    }
  };
  Complex<T> sums[planes][coils];
  for_each_tile(1, y, [&](int tile_y, int from_y) {
    if (tile_y < first_tile_y || tile_y >= end_tile_y) return;
    for_each_tile(0, x, [&](int tile_x, int from_x) {
      const int half = (from_y >= width ? 2 : 0) + (from_x >= width ? 1 : 0);
      const int column = from_y % width * width + from_x % width;
      const Complex<T>* points = rows + (std::int64_t{first_coil} * 4 + half) * columns + column;
      const std::int32_t* begins = rows_begin + std::int64_t{tile_y * shape.tiles[0] + tile_x} * depth;
#pragma unroll
      for (int p = 0; p < planes; ++p)
        for (int plane = first_z + p; plane < depth && first_z + p < shape.size[2]; plane += shape.size[2])
          for (std::int32_t row = begins[plane], end = begins[plane + 1]; row < end; ++row) {
            const Complex<T>* at = points + std::int64_t{row - first_row} * coil_count * (4 * columns);
#pragma unroll
            for (int c = 0; c < coils; ++c)
              if (c == 0 || first_coil + c < coil_count) sums[p][c] += at[c * 4 * columns];
          }
    });
  });
#pragma unroll
  for (int p = 0; p < planes; ++p)
#pragma unroll
    for (int c = 0; c < coils; ++c)
      if (first_z + p < shape.size[2] && first_coil + c < coil_count) {
        const std::int64_t plane = std::int64_t{first_z + p} * coil_count + first_coil + c;
        Complex<T>& out = grid[(plane * shape.size[1] + y) * shape.size[0] + x];
        out = accumulate ? out + sums[p][c] : sums[p][c];
      }
}

}  // namespace

/// Adds up the rows of the lines of tiles tile ... end - 1, of several coils or planes by each thread:
/// finding the rows of a point costs as much as adding them.
template <class T>
template <int width>
void SampleGridCuda<T>::add_rows(int tile, int end, int coils, const Complex<T>* rows,
                                 Complex<T>* grid) const {
  const bool all = end - tile == shape_.tiles[1];
  const int first_y = tile * (width + 1);
  const int lines = all ? shape_.size[1] : std::min(shape_.size[1], (end - tile) * (width + 1) + width - 1);
  const auto add = [&]<int planes_per_thread, int coils_per_thread>() {
    const dim3 block(warp, small_block / warp);
    const dim3 blocks(blocks_for(shape_.size[0], block.x),
                      blocks_for(lines, block.y) * blocks_for(coils, coils_per_thread),
                      blocks_for(shape_.size[2], planes_per_thread));
    add_rows_kernel<T, width, planes_per_thread, coils_per_thread>
        <<<blocks, block>>>(shape_, rows_begin_.data(), depth_, first_row_[tile], tile, end, first_y, lines,
                            !all, coils, rows, grid);
    device::check_launch("add_rows_kernel");
  };
  if (coils > 2)
    add.template operator()<1, 4>();
  else if (shape_.size[2] > 1)
    add.template operator()<4, 1>();
  else
    add.template operator()<1, 1>();
}

template <class T>
template <int width, int planes>
void SampleGridCuda<T>::spread_width(const Complex<T>* values, std::int64_t value_stride, int coils,
                                     Complex<T>* rows, std::int64_t row_elements, Complex<T>* grid) const {
  constexpr int columns = width * width;
  const auto polynomials = polynomials_of<T, width>(kernel_);
  const int together = coils_per_block(coils, columns), threads = whole_warps(together * columns);
  const int tiles_y = shape_.tiles[1];
  const std::int64_t room = row_elements / (std::int64_t{4} * columns * coils);
  // Take as many lines of tiles at once as the rows have room for.
  for (int tile = 0, end; tile < tiles_y; tile = end) {
    end = tile + 1;
    while (end < tiles_y && first_row_[end + 1] - first_row_[tile] <= room) ++end;
    const bool all = end - tile == tiles_y;
    if (!all && tile == 0)
      device::check(
          cudaMemsetAsync(grid, 0,
                          sizeof(Complex<T>) * coils * shape_.size[0] * shape_.size[1] * shape_.size[2],
                          nullptr),
          "zeroing a grid");
    const std::int64_t runs = first_run_[end] - first_run_[tile];
    if (runs > 0)
      for (int first_point = 0; first_point < shape_.points[2]; first_point += planes) {
        spread_runs_kernel<T, width, planes>
            <<<dim3(static_cast<unsigned>(runs), blocks_for(coils, together)), threads>>>(
                polynomials, shape_, sorted(), runs_.data() + first_run_[tile], row_lists_.data(),
                first_row_[tile], first_point, coils, together, values, value_stride, rows);
        device::check_launch("spread_runs_kernel");
      }
    if (runs > 0 || all) add_rows<width>(tile, end, coils, rows, grid);
  }
}

template <class T>
void SampleGridCuda<T>::spread(const Complex<T>* values, std::int64_t value_stride, int coils,
                               Complex<T>* rows, std::int64_t row_elements, Complex<T>* grid) const {
  with_width<T>(kernel_.width, [&]<int width>() {
    if (shape_.points[2] > 1)
      spread_width<width, planes_at_once<T, width>>(values, value_stride, coils, rows, row_elements, grid);
    else
      spread_width<width, 1>(values, value_stride, coils, rows, row_elements, grid);
  });
}

template void SampleGridCuda<float>::spread(const Complex<float>*, std::int64_t, int, Complex<float>*,
                                            std::int64_t, Complex<float>*) const;
template void SampleGridCuda<double>::spread(const Complex<double>*, std::int64_t, int, Complex<double>*,
                                             std::int64_t, Complex<double>*) const;

}  // namespace fhd
