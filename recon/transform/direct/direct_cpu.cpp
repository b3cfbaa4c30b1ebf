#include "recon/transform/direct/direct_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_kernels_cpu.hpp"
#include "recon/transform/direct/sample_groups.hpp"

namespace fhd {
namespace {

using direct_cpu::Axis;
using direct_cpu::Kernels;
using direct_cpu::Positions;
using direct_cpu::positions_of;
using direct_cpu::RowFactors;

/// Coils are taken in groups, so that the sums of one group stay below this size.
constexpr std::int64_t group_bytes = std::int64_t{1} << 28;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// exp(i 2 pi k shift) of every sample, planar: what the half-voxel shift of an even axis x costs.
template <class T>
void shift_phase(const double* k, std::int64_t samples, double shift, std::vector<T>& c, std::vector<T>& s) {
  c.resize(samples);
  s.resize(samples);
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < samples; ++m) {
    const double turns = k[m] * shift;
    const double angle = 2 * std::numbers::pi * (turns - std::rint(turns));
    c[m] = static_cast<T>(std::cos(angle));
    s[m] = static_cast<T>(std::sin(angle));
  }
}

/// Rows (z, y) of the image on the grid of `axes`; a row is z * axes[1].count + y.
struct Rows {
  std::array<Axis, 3> axes;
  std::int64_t begin, end;  ///< rows that are computed
};

/// What the direct adjoint makes of some blocks of groups before the product, by all threads for all threads.
template <class T>
class AdjointTables {
  static constexpr int unit = 32;  // groups tabled by one thread at a time; divides the block

 public:
  AdjointTables(const Trajectory& trajectory, const SampleGroups& groups, const Rows& rows, int coils,
                const Kernels<T>& kernels)
      : k_(trajectory.k.data()),
        samples_(trajectory.sample_count()),
        groups_(groups),
        axes_(rows.axes),
        first_z_(static_cast<int>(rows.begin / rows.axes[1].count)),
        planes_(rows.axes[2].count - first_z_),
        first_y_(planes_ == 1 ? static_cast<int>(rows.begin % rows.axes[1].count) : 0),
        lines_(rows.axes[1].count - first_y_),
        coils_(coils),
        kernels_(kernels) {
    // b of some slots stays in the cache; the slots of larger groups are taken in parts.
    constexpr std::int64_t cache_bytes = 1 << 22;
    const std::int64_t slot_bytes = std::int64_t{planes_} * coils * block * std::int64_t{2 * sizeof(T)};
    const int slots_at_once =
        static_cast<int>(std::clamp<std::int64_t>(cache_bytes / slot_bytes, 1, most_slots));
    for (const auto& whole : groups.blocks())
      for (int slot = 0; slot < whole.slots; slot += slots_at_once)
        parts_.push_back({whole.groups, std::min(slots_at_once, whole.slots - slot), whole.single,
                          whole.first + std::int64_t{slot} * block});
    for (std::size_t first = 0; first < parts_.size();) {
      int slots = 0;
      std::size_t used = 0;
      while (first + used < parts_.size() && used < most_blocks &&
             (used == 0 || slots + parts_[first + used].slots <= slots_at_once))
        slots += parts_[first + used++].slots;
      steps_.push_back({first, used});
      first += used;
      stride_ = std::max(stride_, std::int64_t{slots} * block + 16);
    }
    panel_size_ = ceil_div(axes_[0].half_count(), kernels.lanes) * block * 2 * kernels.lanes;
    panel_ = Array<T>(Shape{most_blocks, panel_size_});
    y_real_ = Array<T>(Shape{lines_, stride_});
    y_imag_ = Array<T>(Shape{lines_, stride_});
    b_real_ = Array<T>(Shape{planes_ * coils, stride_});
    b_imag_ = Array<T>(Shape{planes_ * coils, stride_});
    sign_ = Array<T>(Shape{stride_});
  }

  /// Blocks, or parts of the slots of one, that are tabled together.
  struct Step {
    std::size_t first, count;
  };
  const std::vector<Step>& steps() const { return steps_; }
  const SampleGroups::Block& part(std::size_t i) const { return parts_[i]; }

  /// One thread's e_z, data and shifts of a few samples.
  struct Scratch {
    explicit Scratch(const AdjointTables& tables)
        : z_real(Shape{tables.planes_, unit}),
          z_imag(z_real.shape()),
          d_real(Shape{tables.coils_, unit}),
          d_imag(d_real.shape()) {}
    Array<T> z_real, z_imag, d_real, d_imag;
    T shift_real[unit], shift_imag[unit];
  };

  /// Inside a parallel region; ends with a barrier.
  template <class Value>
  void fill(const Step& step, const Value& value, Scratch& scratch) {
    std::int64_t column = 0;
    for (std::size_t b = 0; b < step.count; ++b) {
      const auto& part = parts_[step.first + b];
      const int units = static_cast<int>(ceil_div(part.groups, unit));
#pragma omp for schedule(static) nowait
      for (int i = 0; i < part.slots * units; ++i) {
        const int slot = i / units, m = i % units * unit;
        const auto* place = groups_.places().data() + part.first + slot * block + m;
        const int used = std::min(unit, part.groups - m);
        const std::int64_t at = column + slot * block + m;
        double kx[unit] = {}, ky[unit] = {}, kx_of_group[unit] = {};
        for (int j = 0; j < used; ++j) {
          sign_[at + j] = static_cast<T>(place[j].sign);
          if (place[j].count == 0) continue;
          const std::int64_t sample = groups_.order()[static_cast<std::size_t>(place[j].begin)];
          kx[j] = k_[sample];
          kx_of_group[j] = place[j].sign * kx[j];
          ky[j] = k_[samples_ + sample];
        }
        if (slot == 0)
          kernels_.fill_adjoint_panel(kx_of_group, used, axes_[0], block,
                                      panel_.data() + static_cast<std::int64_t>(b) * panel_size_ +
                                          std::int64_t{m} * 2 * kernels_.lanes);
        kernels_.fill_axis_table(ky, used, positions_of(axes_[1], first_y_, lines_), y_real_.data() + at,
                                 y_imag_.data() + at, static_cast<int>(stride_));
        kernels_.fill_axis_table(kx, used, Positions{-axes_[0].shift(), 0, 1}, scratch.shift_real,
                                 scratch.shift_imag, unit);
        sum_places(place, used, at, value, scratch);
      }
      column += part.slots * block;
    }
#pragma omp barrier
  }

  /// cos and sin along x of the `b`-th block of a step.
  const T* panel(std::size_t b) const { return panel_.data() + static_cast<std::int64_t>(b) * panel_size_; }
  /// Of a row of a coil, from the `slot`-th slot of a step on.
  RowFactors<T> row(std::int64_t coil, std::int64_t y, std::int64_t z, int slot) const {
    const std::int64_t column = std::int64_t{slot} * block,
                       at_b = ((z - first_z_) * coils_ + coil) * stride_ + column,
                       at_y = (y - first_y_) * stride_ + column;
    return {b_real_.data() + at_b, b_imag_.data() + at_b, y_real_.data() + at_y, y_imag_.data() + at_y,
            sign_.data() + column};
  }

 private:
  static constexpr int block = SampleGroups::block_size;
  static constexpr int most_slots = SampleGroups::most_slots;
  static constexpr std::size_t most_blocks = 4;
  static_assert(block == direct_cpu::adjoint_block);

  /// b = sum over the samples of each place of d e_z, d with the shift of an even axis x.
  template <class Value>
  void sum_places(const SampleGroups::Place* place, int used, std::int64_t at, const Value& value,
                  Scratch& scratch) {
    auto& [z_real, z_imag, d_real, d_imag, shift_real, shift_imag] = scratch;
    for (std::int64_t row = 0; row < std::int64_t{planes_} * coils_; ++row) {
      std::fill_n(b_real_.data() + row * stride_ + at, used, T(0));
      std::fill_n(b_imag_.data() + row * stride_ + at, used, T(0));
    }
    int most = 0;
    for (int j = 0; j < used; ++j) most = std::max(most, place[j].count);
    for (int i = 0; i < most; ++i) {
      double kz[unit] = {};
      for (int j = 0; j < used; ++j) {
        const bool there = i < place[j].count;
        const std::int64_t m = there ? groups_.order()[static_cast<std::size_t>(place[j].begin + i)] : 0;
        if (there) kz[j] = k_[2 * samples_ + m];
        for (int coil = 0; coil < coils_; ++coil) {
          const auto d = there ? value(coil, m) * Complex<T>(shift_real[j], shift_imag[j]) : Complex<T>();
          d_real[coil * unit + j] = d.re;
          d_imag[coil * unit + j] = d.im;
        }
      }
      kernels_.fill_axis_table(kz, used, positions_of(axes_[2], first_z_, planes_), z_real.data(),
                               z_imag.data(), unit);
      for (int z = 0; z < planes_; ++z)
        for (int coil = 0; coil < coils_; ++coil) {
          const std::int64_t row = (std::int64_t{z} * coils_ + coil) * stride_ + at;
          kernels_.add_product(d_real.data() + coil * unit, d_imag.data() + coil * unit,
                               z_real.data() + z * unit, z_imag.data() + z * unit, used, b_real_.data() + row,
                               b_imag_.data() + row);
        }
    }
  }

  const double* k_;  // [axis][sample]
  std::int64_t samples_;
  const SampleGroups& groups_;
  std::array<Axis, 3> axes_;
  int first_z_, planes_, first_y_, lines_;  // planes, and lines of each, that rows lie in
  int coils_;
  const Kernels<T>& kernels_;
  std::vector<SampleGroups::Block> parts_;
  std::vector<Step> steps_;
  // Of rows of the tables; no power of two, so that rows fall into different cache sets.
  std::int64_t stride_ = 0;
  std::int64_t panel_size_ = 0;
  Array<T> panel_, y_real_, y_imag_, b_real_, b_imag_, sign_;
};

/// out[coil][row][x] for the rows asked for; `value(coil, m)` is the data. The other rows are left as they
/// are. Threads own rows, so that no two write the same sum: the result does not depend on the number of
/// threads.
template <class T, class Value>
void direct_adjoint(const Trajectory& trajectory, const SampleGroups& groups, const Rows& rows, int coils,
                    Value value, Complex<T>* out) {
  const Kernels<T>& kernels = direct_cpu::kernels<T>();
  const auto& [x, y, z] = rows.axes;
  const int lanes = kernels.lanes, half = x.half_count();
  const int chunks = static_cast<int>(ceil_div(half, lanes));
  const std::int64_t row_size = std::int64_t{chunks} * 4 * lanes;
  const std::int64_t row_count = (rows.end - rows.begin) * coils;  // coil fastest: neighbours share e_y
  const std::int64_t tiles = ceil_div(row_count, kernels.tile_rows);

  Array<T> sums(Shape{row_count, row_size});
  AdjointTables<T> tables(trajectory, groups, rows, coils, kernels);
#pragma omp parallel
  {
    constexpr int stride = direct_cpu::adjoint_stride;
    Array<T> a(Shape{4 * kernels.tile_rows, stride});
    typename AdjointTables<T>::Scratch scratch(tables);
    for (const auto& step : tables.steps()) {
      tables.fill(step, value, scratch);
      int slot = 0;
      for (std::size_t b = 0; b < step.count; ++b) {
        const auto& part = tables.part(step.first + b);
#pragma omp for schedule(static) nowait
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
          const std::int64_t first = tile * kernels.tile_rows;
          const int tile_rows =
              static_cast<int>(std::min<std::int64_t>(kernels.tile_rows, row_count - first));
          for (int r = 0; r < tile_rows; ++r) {
            const std::int64_t row = rows.begin + (first + r) / coils, coil = (first + r) % coils;
            kernels.form_row_factor(tables.row(coil, row % y.count, row / y.count, slot), part.single,
                                    part.slots, part.groups, a.data() + std::int64_t{4} * r * stride);
          }
          kernels.accumulate_adjoint_tile(a.data(), part.single, tile_rows, tables.panel(b),
                                          direct_cpu::adjoint_block, part.groups, chunks,
                                          sums.data() + first * row_size);
        }
        slot += part.slots;
      }
#pragma omp barrier
    }

    // rho(+x_h) = (rc - is) + i (rs + ic), rho(-x_h) = (rc + is) + i (ic - rs)
    const int plus = x.count / 2, minus = x.count % 2 == 0 ? plus - 1 : plus;
    const std::int64_t image_rows = std::int64_t{y.count} * z.count;
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < row_count; ++i) {
      Complex<T>* image_row = out + (i % coils * image_rows + rows.begin + i / coils) * x.count;
      for (int h = 0; h < half; ++h) {
        const T* sum = sums.data() + i * row_size + std::int64_t{h / lanes} * 4 * lanes + h % lanes;
        const T rc = sum[0], rs = sum[lanes], ic = sum[2 * lanes], is = sum[3 * lanes];
        image_row[minus - h] = {rc + is, ic - rs};
        image_row[plus + h] = {rc - is, rs + ic};
      }
    }
  }
}

/// samples[coil][m] from images[coil][z][y][x]. Threads own samples.
template <class T>
void direct_forward(const double* k, std::int64_t samples, const std::array<Axis, 3>& axes, int coils,
                    const Complex<T>* images, Complex<T>* out) {
  const Kernels<T>& kernels = direct_cpu::kernels<T>();
  const auto& [x, y, z] = axes;
  const int half = x.half_count(), tile_rows = kernels.tile_rows, group = 2 * kernels.lanes;
  const std::int64_t tiles = ceil_div(y.count, tile_rows);  // of one plane z of one coil
  const std::int64_t tile_size = std::int64_t{half} * 4 * tile_rows;
  const std::int64_t plane_count = std::int64_t{coils} * z.count;

  // packed[coil][z][tile][h][row][S', S'', D', D'']; rows beyond the last y stay zero.
  Array<T> packed(Shape{plane_count, tiles, tile_size});
  const int plus = x.count / 2, minus = x.count % 2 == 0 ? plus - 1 : plus;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < plane_count * y.count; ++row) {
    const int in_plane = static_cast<int>(row % y.count);
    T* tile =
        packed.data() + (row / y.count * tiles + in_plane / tile_rows) * tile_size + in_plane % tile_rows * 4;
    const Complex<T>* image_row = images + row * x.count;
    for (int h = 0; h < half; ++h) {
      const bool centre = minus - h == plus + h;  // the middle voxel of an odd axis is its own mirror
      const Complex<T> right = image_row[plus + h], left = centre ? Complex<T>() : image_row[minus - h];
      T* at = tile + std::int64_t{h} * 4 * tile_rows;
      at[0] = right.re + left.re;
      at[1] = right.im + left.im;
      at[2] = centre ? T(0) : left.re - right.re;
      at[3] = centre ? T(0) : left.im - right.im;
    }
  }
  std::vector<T> shift_c, shift_s;
  shift_phase<T>(k, samples, x.shift(), shift_c, shift_s);

  // Small problems are cut finer, so that every thread has samples.
  const std::int64_t fair = ceil_div(ceil_div(samples, omp_get_max_threads()), group) * group;
  const int block = static_cast<int>(std::min<std::int64_t>(ceil_div(256, group) * group, fair));
#pragma omp parallel
  {
    Array<T> panel(Shape{block / group, half, 2 * group});
    Array<T> y_real(Shape{y.count, block}), y_imag(Shape{y.count, block});
    Array<T> z_real(Shape{z.count, block}), z_imag(Shape{z.count, block});
    Array<T> g(Shape{tile_rows, 2, group}), plane_real(Shape{block}), plane_imag(Shape{block});
    Array<T> sum_real(Shape{coils, block}), sum_imag(Shape{coils, block});
#pragma omp for schedule(dynamic)
    for (std::int64_t start = 0; start < samples; start += block) {
      const int used = static_cast<int>(std::min<std::int64_t>(block, samples - start));
      kernels.fill_forward_panel(k + start, used, x, panel.data());
      kernels.fill_axis_table(k + samples + start, used, positions_of(y, 0, y.count), y_real.data(),
                              y_imag.data(), block);
      kernels.fill_axis_table(k + 2 * samples + start, used, positions_of(z, 0, z.count), z_real.data(),
                              z_imag.data(), block);
      sum_real.fill_zero();
      sum_imag.fill_zero();
      for (std::int64_t plane = 0; plane < plane_count; ++plane) {
        plane_real.fill_zero();
        plane_imag.fill_zero();
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
          const int rows = std::min<int>(tile_rows, y.count - static_cast<int>(tile) * tile_rows);
          for (int m = 0; m < used; m += group) {
            kernels.forward_tile(packed.data() + (plane * tiles + tile) * tile_size, half,
                                 panel.data() + std::int64_t{m / group} * half * 2 * group, g.data());
            for (int r = 0; r < rows; ++r) {
              const std::int64_t at_y = (tile * tile_rows + r) * block + m;
              kernels.add_conjugate_product(g.data() + r * 2 * group, g.data() + r * 2 * group + group,
                                            y_real.data() + at_y, y_imag.data() + at_y, group,
                                            plane_real.data() + m, plane_imag.data() + m);
            }
          }
        }
        const std::int64_t coil = plane / z.count, at_z = plane % z.count * block;
        kernels.add_conjugate_product(plane_real.data(), plane_imag.data(), z_real.data() + at_z,
                                      z_imag.data() + at_z, used, sum_real.data() + coil * block,
                                      sum_imag.data() + coil * block);
      }
      for (int coil = 0; coil < coils; ++coil)
        for (int m = 0; m < used; ++m) {
          const Complex<T> sum(sum_real[std::int64_t{coil} * block + m],
                               sum_imag[std::int64_t{coil} * block + m]);
          out[coil * samples + start + m] = sum * Complex<T>(shift_c[start + m], shift_s[start + m]);
        }
    }
  }
}

template <class T>
class DirectTransformCpu final : public FourierTransform<T> {
 public:
  DirectTransformCpu(const Trajectory& trajectory, std::array<int, 3> matrix_size)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), Device::cpu()),
        trajectory_(trajectory),
        groups_(trajectory_) {
    for (int axis = 0; axis < 3; ++axis) axes_[axis] = {matrix_size[axis], 1.0 / matrix_size[axis]};
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    for_each_group(images, samples, [&](int coils, const Complex<T>* image, std::int64_t first_coil) {
      direct_forward(trajectory_.k.data(), this->sample_count(), axes_, coils, image,
                     samples.data() + first_coil * this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const Rows rows{axes_, 0, std::int64_t{axes_[1].count} * axes_[2].count};
    for_each_group(images, samples, [&](int coils, const Complex<T>* image, std::int64_t first_coil) {
      const Complex<T>* data = samples.data() + first_coil * this->sample_count();
      direct_adjoint(
          trajectory_, groups_, rows, coils,
          [&](int coil, std::int64_t m) { return data[coil * this->sample_count() + m]; },
          const_cast<Complex<T>*>(image));
    });
  }

 private:
  template <class Body>
  void for_each_group(const Array<Complex<T>>& images, const Array<Complex<T>>& samples, Body body) const {
    const std::int64_t coils = this->check_batch(images, samples), voxels = this->images_shape(1).size();
    const std::int64_t group =
        std::clamp<std::int64_t>(group_bytes / (voxels * std::int64_t{sizeof(Complex<T>)}), 1, 64);
    for (std::int64_t coil = 0; coil < coils; coil += group)
      body(static_cast<int>(std::min(group, coils - coil)), images.data() + coil * voxels, coil);
  }

  Trajectory trajectory_;
  SampleGroups groups_;
  std::array<Axis, 3> axes_;
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cpu(const Trajectory& trajectory,
                                                               std::array<int, 3> matrix_size) {
  return std::make_unique<DirectTransformCpu<T>>(trajectory, matrix_size);
}

template <class T>
Array<Complex<T>> point_spread_direct_cpu(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                          const Array<double>* weights) {
  const std::int64_t samples = trajectory.sample_count();
  if (weights != nullptr) require_shape(*weights, {samples}, "weights");
  const auto grid = difference_grid(matrix_size);
  Rows rows;
  for (int axis = 0; axis < 3; ++axis) rows.axes[axis] = {grid[axis], 1.0 / matrix_size[axis]};
  // The centred grid n = -N ... N-1: rows from (z, y) = (0, 0) on; the mirrored rows follow by symmetry.
  const int centre_y = grid[1] / 2, centre_z = grid[2] / 2;
  rows.begin = std::int64_t{centre_z} * grid[1] + centre_y;
  rows.end = std::int64_t{grid[2]} * grid[1];
  Array<Complex<T>> centred(Shape{grid[2], grid[1], grid[0]});
  direct_adjoint(
      trajectory, SampleGroups(trajectory), rows, 1,
      [&](int, std::int64_t m) { return Complex<T>(weights ? static_cast<T>((*weights)[m]) : T(1)); },
      centred.data());

  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  const auto wrap = [&](int n, int axis) { return n < 0 ? n + grid[axis] : n; };
  const auto reach = [&](int axis) { return matrix_size[axis] - 1; };
#pragma omp parallel for schedule(static)
  for (int z = 0; z <= reach(2); ++z)
    for (int y = z == 0 ? 0 : -reach(1); y <= reach(1); ++y)
      for (int x = -reach(0); x <= reach(0); ++x) {
        const Complex<T> value =
            centred[((std::int64_t{z} + centre_z) * grid[1] + y + centre_y) * grid[0] + x + grid[0] / 2];
        q[(std::int64_t{z} * grid[1] + wrap(y, 1)) * grid[0] + wrap(x, 0)] = value;
        if (z > 0 || y > 0)
          q[(std::int64_t{wrap(-z, 2)} * grid[1] + wrap(-y, 1)) * grid[0] + wrap(-x, 0)] = conj(value);
      }
  return q;
}

template <class T>
Array<Complex<double>> general_sum(const Array<double>& sources, const Array<double>& targets, double sign,
                                   const Array<Complex<T>>& values) {
  if (sources.shape().rank() != 2 || targets.shape().rank() != 2 || sources.extent(0) != targets.extent(0) ||
      sources.extent(0) > 8)
    throw Error("general sum", "sources and targets [axis][count] with the same 1 ... 8 axes",
                sources.shape().text() + " and " + targets.shape().text());
  const std::int64_t source_count = sources.extent(1), target_count = targets.extent(1);
  const int axes = static_cast<int>(sources.extent(0));
  if (values.shape().rank() != 2 || values.extent(1) != source_count)
    throw Error("general sum", "values [coil][" + std::to_string(source_count) + "]", values.shape().text());
  const std::int64_t coils = values.extent(0);
  std::array<const double*, 8> source_axes{};
  for (int axis = 0; axis < axes; ++axis) source_axes[axis] = sources.data() + axis * source_count;

  Array<Complex<double>> out(Shape{coils, target_count});
#pragma omp parallel
  {
    std::vector<Complex<double>> sum(coils);
#pragma omp for schedule(static)
    for (std::int64_t t = 0; t < target_count; ++t) {
      std::array<double, 8> target{};
      for (int axis = 0; axis < axes; ++axis) target[axis] = targets[axis * target_count + t];
      std::fill(sum.begin(), sum.end(), Complex<double>());
      constexpr std::int64_t block = 4096;  // stays in the L1 cache over the coils
      for (std::int64_t first = 0; first < source_count; first += block) {
        std::array<const double*, 8> at{};
        for (int axis = 0; axis < axes; ++axis) at[axis] = source_axes[axis] + first;
        direct_cpu::kernels<T>().general_sum(at.data(), axes, target.data(), sign, values.data() + first,
                                             source_count, static_cast<int>(coils),
                                             std::min(block, source_count - first), sum.data());
      }
      for (std::int64_t coil = 0; coil < coils; ++coil) out[coil * target_count + t] = sum[coil];
    }
  }
  return out;
}

#define FHD_INSTANTIATE(T)                                                                           \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform_cpu<T>(const Trajectory&,      \
                                                                             std::array<int, 3>);    \
  template Array<Complex<T>> point_spread_direct_cpu<T>(const Trajectory&, std::array<int, 3>,       \
                                                        const Array<double>*);                       \
  template Array<Complex<double>> general_sum<T>(const Array<double>&, const Array<double>&, double, \
                                                 const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
