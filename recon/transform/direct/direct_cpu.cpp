#include <omp.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "recon/array/interruption.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_backends.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/direct/direct_kernels_cpu.hpp"
#include "recon/transform/direct/sample_groups.hpp"

namespace fhd {

using namespace direct_cpu;

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Rows (z, y) of the image on the grid of `axes`; a row is z * axes[1].count + y.
struct Rows {
  std::array<Axis, 3> axes;
  std::int64_t begin, end;  ///< rows that are computed
};

/// The adjoint sums of one trajectory. Before the product, the tables of some blocks of groups are made by all
/// threads for all threads. Threads own rows, so that no two write the same sum: the result does not depend on
/// the number of threads.
template <class T>
class AdjointSums {
 public:
  AdjointSums(const Trajectory& trajectory, const SampleGroups& groups, const Rows& rows)
      : k_(trajectory.k.data()),
        samples_(trajectory.sample_count()),
        groups_(groups),
        rows_(rows),
        first_z_(static_cast<int>(rows.begin / rows.axes[1].count)),
        planes_(rows.axes[2].count - first_z_),
        first_y_(planes_ == 1 ? static_cast<int>(rows.begin % rows.axes[1].count) : 0),
        lines_(rows.axes[1].count - first_y_) {}

  /// out[coil][row][x] for the rows asked for; `value(coil, m)` is the data. `memory` is for the sums.
  template <class Value>
  void run(int coils, const Value& value, Complex<T>* out, Array<T>& memory) {
    plan(coils);
    sums_ = memory_for(memory, row_count_ * row_size_);
    threads_.resize(std::max<std::size_t>(threads_.size(), static_cast<std::size_t>(omp_get_max_threads())));
    ParallelFailure failure;
#pragma omp \
    parallel  // each its own: near its processor, and before the sums, whose threads wait for each other
    failure.guard([&] { take_memory(threads_[static_cast<std::size_t>(omp_get_thread_num())]); });
    failure.rethrow();
    checkpoint_ = {};
#pragma omp parallel
    {
      Thread& own = threads_[static_cast<std::size_t>(omp_get_thread_num())];
      clear_rows();
      for (const Step& step : steps_) {
        fill(step, value, own);
        accumulate(step, own);
      }
      write_rows(out);
    }
    checkpoint_.rethrow();
  }

 private:
  static constexpr int unit = 32;  // groups tabled by one thread at a time; divides the block
  static constexpr int block = SampleGroups::block_size;
  static constexpr int most_slots = SampleGroups::most_slots;
  static constexpr std::size_t most_blocks = 4;
  static_assert(block == adjoint_block);

  /// Blocks, or parts of the slots of one, that are tabled together.
  struct Step {
    std::size_t first, count;
  };
  /// One thread's factor a, and e_z, data and shifts of a few samples.
  struct Thread {
    Array<T> a, z_real, z_imag, d_real, d_imag;
    T shift_real[unit], shift_imag[unit];
  };

  /// Steps and tables for so many coils.
  void plan(int coils) {
    const Kernels<T>* kernels = &direct_cpu::kernels<T>();
    if (coils == coils_ && kernels == kernels_) return;
    coils_ = coils;
    kernels_ = kernels;
    chunks_ = static_cast<int>(ceil_div(rows_.axes[0].half_count(), kernels->lanes));
    row_size_ = std::int64_t{chunks_} * 4 * kernels->lanes;
    row_count_ = (rows_.end - rows_.begin) * coils;
    // b of some slots stays in the cache; the slots of larger groups are taken in parts.
    constexpr std::int64_t cache_bytes = 1 << 22;
    const std::int64_t slot_bytes = std::int64_t{planes_} * coils * block * std::int64_t{2 * sizeof(T)};
    const int slots_at_once =
        static_cast<int>(std::clamp<std::int64_t>(cache_bytes / slot_bytes, 1, most_slots));
    parts_.clear();
    for (const auto& whole : groups_.blocks())
      for (int slot = 0; slot < whole.slots; slot += slots_at_once)
        parts_.push_back({whole.groups, std::min(slots_at_once, whole.slots - slot), whole.single,
                          whole.first + std::int64_t{slot} * block});
    steps_.clear();
    std::size_t blocks = 0;
    stride_ = 0;
    for (std::size_t first = 0; first < parts_.size();) {
      int slots = 0;
      std::size_t used = 0;
      while (first + used < parts_.size() && used < most_blocks &&
             (used == 0 || slots + parts_[first + used].slots <= slots_at_once))
        slots += parts_[first + used++].slots;
      steps_.push_back({first, used});
      first += used;
      blocks = std::max(blocks, used);
      stride_ = std::max(stride_, std::int64_t{slots} * block + 16);
    }
    panel_size_ = std::int64_t{chunks_} * block * 2 * kernels->lanes;
    memory_for(panel_, static_cast<std::int64_t>(blocks) * panel_size_);
    memory_for(y_real_, lines_ * stride_), memory_for(y_imag_, lines_ * stride_);
    memory_for(b_real_, planes_ * coils * stride_), memory_for(b_imag_, planes_ * coils * stride_);
    memory_for(sign_, stride_);
  }

  std::int64_t tiles() const { return ceil_div(row_count_, kernels_->tile_rows); }

  void take_memory(Thread& own) const {
    memory_for(own.a, std::int64_t{4} * kernels_->tile_rows * adjoint_stride);
    memory_for(own.z_real, planes_ * unit), memory_for(own.z_imag, planes_ * unit);
    memory_for(own.d_real, coils_ * unit), memory_for(own.d_imag, coils_ * unit);
  }

  /// This thread's tiles; it meets the same tiles in accumulate().
  void clear_rows() {
#pragma omp for schedule(static) nowait
    for (std::int64_t tile = 0; tile < tiles(); ++tile) {
      const std::int64_t first = tile * kernels_->tile_rows;
      std::fill(sums_ + first * row_size_,
                sums_ + std::min(first + kernels_->tile_rows, row_count_) * row_size_, T(0));
    }
  }

  /// Inside a parallel region; ends with a barrier.
  template <class Value>
  void fill(const Step& step, const Value& value, Thread& own) {
    std::int64_t column = 0;
    for (std::size_t b = 0; b < step.count; ++b) {
      const auto& part = parts_[step.first + b];
      const int units = static_cast<int>(ceil_div(part.groups, unit));
#pragma omp for schedule(static) nowait
      for (int i = 0; i < part.slots * units; ++i) {
        if (checkpoint_.is_ended()) continue;
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
        const auto& [x, y, z] = rows_.axes;
        if (slot == 0)
          kernels_->fill_adjoint_panel(kx_of_group, used, x, block,
                                       panel_.data() + static_cast<std::int64_t>(b) * panel_size_ +
                                           std::int64_t{m} * 2 * kernels_->lanes);
        kernels_->fill_axis_table(ky, used, positions_of(y, first_y_, lines_), y_real_.data() + at,
                                  y_imag_.data() + at, static_cast<int>(stride_));
        kernels_->fill_axis_table(kx, used, Positions{-x.shift(), 0, 1}, own.shift_real, own.shift_imag,
                                  unit);
        sum_places(place, used, at, value, own);
      }
      column += part.slots * block;
    }
#pragma omp barrier
  }

  /// b = sum over the samples of each place of d e_z, d with the shift of an even axis x.
  template <class Value>
  void sum_places(const SampleGroups::Place* place, int used, std::int64_t at, const Value& value,
                  Thread& own) {
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
          const auto d =
              there ? value(coil, m) * Complex<T>(own.shift_real[j], own.shift_imag[j]) : Complex<T>();
          own.d_real[coil * unit + j] = d.re;
          own.d_imag[coil * unit + j] = d.im;
        }
      }
      kernels_->fill_axis_table(kz, used, positions_of(rows_.axes[2], first_z_, planes_), own.z_real.data(),
                                own.z_imag.data(), unit);
      for (int z = 0; z < planes_; ++z)
        for (int coil = 0; coil < coils_; ++coil) {
          const std::int64_t row = (std::int64_t{z} * coils_ + coil) * stride_ + at;
          kernels_->add_product(own.d_real.data() + coil * unit, own.d_imag.data() + coil * unit,
                                own.z_real.data() + z * unit, own.z_imag.data() + z * unit, used,
                                b_real_.data() + row, b_imag_.data() + row);
        }
    }
  }

  /// sums += a times the panels of a step. Inside a parallel region; ends with a barrier.
  void accumulate(const Step& step, Thread& own) {
    int slot = 0;
    for (std::size_t b = 0; b < step.count; ++b) {
      const auto& part = parts_[step.first + b];
#pragma omp for schedule(static) nowait
      for (std::int64_t tile = 0; tile < tiles(); ++tile) {
        if (checkpoint_.is_ended()) continue;
        const std::int64_t first = tile * kernels_->tile_rows;
        const int tile_rows =
            static_cast<int>(std::min<std::int64_t>(kernels_->tile_rows, row_count_ - first));
        for (int r = 0; r < tile_rows; ++r)
          kernels_->form_row_factor(factors(first + r, slot), part.single, part.slots, part.groups,
                                    own.a.data() + std::int64_t{4} * r * adjoint_stride);
        kernels_->accumulate_adjoint_tile(own.a.data(), part.single, tile_rows,
                                          panel_.data() + static_cast<std::int64_t>(b) * panel_size_, block,
                                          part.groups, chunks_, sums_ + first * row_size_);
      }
      slot += part.slots;
    }
#pragma omp barrier
  }

  /// Returns the factors of row i of the sums, coil fastest (neighbours share e_y), from the `slot`-th slot of a step on.
  RowFactors<T> factors(std::int64_t i, int slot) const {
    const std::int64_t row = rows_.begin + i / coils_, coil = i % coils_, y = row % rows_.axes[1].count,
                       z = row / rows_.axes[1].count, column = std::int64_t{slot} * block,
                       at_b = ((z - first_z_) * coils_ + coil) * stride_ + column,
                       at_y = (y - first_y_) * stride_ + column;
    return {b_real_.data() + at_b, b_imag_.data() + at_b, y_real_.data() + at_y, y_imag_.data() + at_y,
            sign_.data() + column};
  }

  /// rho(+x_h) = (rc - is) + i (rs + ic), rho(-x_h) = (rc + is) + i (ic - rs)
  void write_rows(Complex<T>* out) const {
    const Axis& x = rows_.axes[0];
    const int plus = x.count / 2, minus = x.count % 2 == 0 ? plus - 1 : plus, lanes = kernels_->lanes;
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < row_count_; ++i) {
      Complex<T>* row = out + (i % coils_ * (rows_.end - rows_.begin) + i / coils_) * x.count;
      for (int h = 0; h < x.half_count(); ++h) {
        const T* sum = sums_ + i * row_size_ + std::int64_t{h / lanes} * 4 * lanes + h % lanes;
        const T rc = sum[0], rs = sum[lanes], ic = sum[2 * lanes], is = sum[3 * lanes];
        row[minus - h] = {rc + is, ic - rs};
        row[plus + h] = {rc - is, rs + ic};
      }
    }
  }

  const double* k_;  // [axis][sample]
  std::int64_t samples_;
  const SampleGroups& groups_;
  Rows rows_;
  int first_z_, planes_, first_y_, lines_;  // planes, and lines of each, that rows lie in
  int coils_ = 0, chunks_ = 0;
  const Kernels<T>* kernels_ = nullptr;
  std::vector<SampleGroups::Block> parts_;
  std::vector<Step> steps_;
  // Stride of rows of the tables; no power of two, so that rows fall into different cache sets.
  std::int64_t stride_ = 0;
  std::int64_t panel_size_ = 0, row_size_ = 0, row_count_ = 0;
  Array<T> panel_, y_real_, y_imag_, b_real_, b_imag_, sign_;
  std::vector<Thread> threads_;
  Checkpoint checkpoint_;
  T* sums_ = nullptr;
};

/// The forward sums of one trajectory. Threads own samples.
template <class T>
class ForwardSums {
 public:
  ForwardSums(const Trajectory& trajectory, const std::array<Axis, 3>& axes)
      : k_(trajectory.k.data()), samples_(trajectory.sample_count()), axes_(axes) {}

  /// out[coil][m] from images[coil][z][y][x]; `memory` is for the packed images.
  void run(int coils, const Complex<T>* images, Complex<T>* out, Array<T>& memory) {
    kernels_ = &kernels<T>();
    coils_ = coils;
    half_ = axes_[0].half_count();
    group_ = 2 * kernels_->lanes;
    tiles_ = ceil_div(axes_[1].count, kernels_->tile_rows);
    tile_size_ = std::int64_t{half_} * 4 * kernels_->tile_rows;
    packed_ = memory_for(memory, std::int64_t{coils} * axes_[2].count * tiles_ * tile_size_);
    threads_.resize(std::max<std::size_t>(threads_.size(), static_cast<std::size_t>(omp_get_max_threads())));
    // Small problems are cut finer, so that every thread has samples.
    const std::int64_t fair = ceil_div(ceil_div(samples_, omp_get_max_threads()), group_) * group_;
    block_ = static_cast<int>(std::min<std::int64_t>(ceil_div(256, group_) * group_, fair));
    ParallelFailure failure;
#pragma omp parallel
    failure.guard([&] { take_memory(threads_[static_cast<std::size_t>(omp_get_thread_num())]); });
    failure.rethrow();
    checkpoint_ = {};
#pragma omp parallel
    {
      pack(images);
      Thread& own = threads_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
      for (std::int64_t start = 0; start < samples_; start += block_)
        if (!checkpoint_.is_ended())
          sum_block(start, static_cast<int>(std::min<std::int64_t>(block_, samples_ - start)), own, out);
    }
    checkpoint_.rethrow();
  }

 private:
  /// One thread's tables and sums of a block of samples.
  struct Thread {
    Array<T> panel, y_real, y_imag, z_real, z_imag, g, plane_real, plane_imag, sum_real, sum_imag;
  };

  void take_memory(Thread& own) const {
    memory_for(own.panel, std::int64_t{2} * half_ * block_);
    memory_for(own.y_real, axes_[1].count * block_), memory_for(own.y_imag, axes_[1].count * block_);
    memory_for(own.z_real, axes_[2].count * block_), memory_for(own.z_imag, axes_[2].count * block_);
    memory_for(own.g, kernels_->tile_rows * 2 * group_);
    memory_for(own.plane_real, block_), memory_for(own.plane_imag, block_);
    memory_for(own.sum_real, coils_ * block_), memory_for(own.sum_imag, coils_ * block_);
  }

  /// packed[coil][z][tile][h][row][S', S'', D', D'']; what rows beyond the last y hold is computed in vain.
  void pack(const Complex<T>* images) {
    const auto &x = axes_[0], &y = axes_[1], &z = axes_[2];
    const int plus = x.count / 2, minus = x.count % 2 == 0 ? plus - 1 : plus, tile_rows = kernels_->tile_rows;
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < std::int64_t{coils_} * z.count * y.count; ++row) {
      const int in_plane = static_cast<int>(row % y.count);
      T* tile =
          packed_ + (row / y.count * tiles_ + in_plane / tile_rows) * tile_size_ + in_plane % tile_rows * 4;
      const Complex<T>* image_row = images + row * x.count;
      for (int h = 0; h < half_; ++h) {
        const bool centre = minus - h == plus + h;  // the middle voxel of an odd axis is its own mirror
        const Complex<T> right = image_row[plus + h], left = centre ? Complex<T>() : image_row[minus - h];
        T* at = tile + std::int64_t{h} * 4 * tile_rows;
        at[0] = right.re + left.re;
        at[1] = right.im + left.im;
        at[2] = centre ? T(0) : left.re - right.re;
        at[3] = centre ? T(0) : left.im - right.im;
      }
    }
  }

  void sum_block(std::int64_t start, int used, Thread& own, Complex<T>* out) const {
    const auto &x = axes_[0], &y = axes_[1], &z = axes_[2];
    kernels_->fill_forward_panel(k_ + start, used, x, own.panel.data());
    kernels_->fill_axis_table(k_ + samples_ + start, used, positions_of(y, 0, y.count), own.y_real.data(),
                              own.y_imag.data(), block_);
    kernels_->fill_axis_table(k_ + 2 * samples_ + start, used, positions_of(z, 0, z.count), own.z_real.data(),
                              own.z_imag.data(), block_);
    for (int coil = 0; coil < coils_; ++coil) {
      T *sum_real = own.sum_real.data() + coil * block_, *sum_imag = own.sum_imag.data() + coil * block_;
      std::fill_n(sum_real, used, T(0)), std::fill_n(sum_imag, used, T(0));
      for (int plane = 0; plane < z.count; ++plane) {
        if (checkpoint_.is_ended()) return;
        sum_plane(packed_ + (std::int64_t{coil} * z.count + plane) * tiles_ * tile_size_, used, own);
        kernels_->add_conjugate_product(own.plane_real.data(), own.plane_imag.data(),
                                        own.z_real.data() + plane * block_,
                                        own.z_imag.data() + plane * block_, used, sum_real, sum_imag);
      }
    }
    // Apply the half-voxel shift of an even axis x.
    for (int m = 0; m < used; ++m) {
      const double turns = k_[start + m] * x.shift();
      const double angle = 2 * std::numbers::pi * (turns - std::rint(turns));
      const Complex<T> shift(static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle)));
      for (int coil = 0; coil < coils_; ++coil)
        out[coil * samples_ + start + m] =
            Complex<T>(own.sum_real[coil * block_ + m], own.sum_imag[coil * block_ + m]) * shift;
    }
  }

  /// plane(m) = sum over the rows y of one plane of g conj(e_y).
  void sum_plane(const T* packed, int used, Thread& own) const {
    std::fill_n(own.plane_real.data(), block_, T(0)), std::fill_n(own.plane_imag.data(), block_, T(0));
    for (std::int64_t tile = 0; tile < tiles_; ++tile) {
      const int first = static_cast<int>(tile) * kernels_->tile_rows,
                rows = std::min(kernels_->tile_rows, axes_[1].count - first);
      for (int m = 0; m < used; m += group_) {
        kernels_->forward_tile(packed + tile * tile_size_, half_,
                               own.panel.data() + std::int64_t{2} * half_ * m, own.g.data());
        for (int r = 0; r < rows; ++r) {
          const T* g = own.g.data() + r * 2 * group_;
          const std::int64_t at_y = std::int64_t{first + r} * block_ + m;
          kernels_->add_conjugate_product(g, g + group_, own.y_real.data() + at_y, own.y_imag.data() + at_y,
                                          group_, own.plane_real.data() + m, own.plane_imag.data() + m);
        }
      }
    }
  }

  const double* k_;  // [axis][sample]
  std::int64_t samples_;
  std::array<Axis, 3> axes_;
  const Kernels<T>* kernels_ = nullptr;
  int coils_ = 0, half_ = 0, group_ = 0, block_ = 0;
  std::int64_t tiles_ = 0, tile_size_ = 0;  // of one plane z of one coil
  T* packed_ = nullptr;
  std::vector<Thread> threads_;
  Checkpoint checkpoint_;
};

void require_sizes(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  require_trajectory(trajectory);
  for (int n : matrix_size)
    if (n < 1) throw Error("matrix size", "at least 1 voxel per axis", std::to_string(n));
}

std::array<Axis, 3> axes_of(std::array<int, 3> counts, std::array<int, 3> matrix_size) {
  std::array<Axis, 3> axes;
  for (std::size_t axis = 0; axis < 3; ++axis) axes[axis] = {counts[axis], 1.0 / matrix_size[axis]};
  return axes;
}

template <class T>
class DirectTransformCpu final : public FourierTransform<T> {
 public:
  DirectTransformCpu(const Trajectory& trajectory, std::array<int, 3> matrix_size)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), Device::cpu()),
        trajectory_(trajectory),
        groups_(trajectory_),
        cost_({matrix_size, groups_.count(), precision_of<T>(), Device::cpu()}),
        adjoint_(trajectory_, groups_,
                 Rows{axes_of(matrix_size, matrix_size), 0, std::int64_t{matrix_size[1]} * matrix_size[2]}),
        forward_(trajectory_, axes_of(matrix_size, matrix_size)) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    for_each_group(images, samples, [&](int coils, std::int64_t first_image, std::int64_t first_sample) {
      forward_.run(coils, images.data() + first_image, samples.data() + first_sample, memory_);
    });
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    for_each_group(images, samples, [&](int coils, std::int64_t first_image, std::int64_t first_sample) {
      const Complex<T>* data = samples.data() + first_sample;
      adjoint_.run(
          coils, [&](int coil, std::int64_t m) { return data[coil * this->sample_count() + m]; },
          images.data() + first_image, memory_);
    });
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  template <class Body>
  void for_each_group(const Array<Complex<T>>& images, const Array<Complex<T>>& samples, Body body) const {
    const std::int64_t coils = this->check_batch(images, samples), voxels = this->images_shape(1).size(),
                       group = direct_coils_at_once(voxels * std::int64_t{sizeof(Complex<T>)});
    const std::lock_guard lock(one_call_);
    for (std::int64_t coil = 0; coil < coils; coil += group)
      body(static_cast<int>(std::min(group, coils - coil)), coil * voxels, coil * this->sample_count());
  }

  Trajectory trajectory_;
  SampleGroups groups_;
  DirectCost cost_;
  // Scratch, of one call at a time.
  mutable std::mutex one_call_;
  mutable AdjointSums<T> adjoint_;
  mutable ForwardSums<T> forward_;
  mutable Array<T> memory_;
};

}  // namespace

std::array<int, 3> difference_grid(std::array<int, 3> matrix_size) {
  for (int& n : matrix_size) n = n == 1 ? 1 : 2 * n;
  return matrix_size;
}

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform(const Trajectory& trajectory,
                                                           std::array<int, 3> matrix_size, Device device,
                                                           DirectChoice choice) {
  require_sizes(trajectory, matrix_size);
  if (device.is_cpu()) return std::make_unique<DirectTransformCpu<T>>(trajectory, matrix_size);
  if constexpr (built_with_cuda)
    return make_direct_transform_cuda<T>(trajectory, matrix_size, device, choice);
  refuse_cuda();
}

template <class T>
Array<Complex<T>> point_spread_direct(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<double>* weights, Device device, DirectChoice choice) {
  require_sizes(trajectory, matrix_size);
  if (weights != nullptr) require_shape(*weights, {trajectory.sample_count()}, "weights");
  if (device.is_cuda()) {
    if constexpr (built_with_cuda)
      return point_spread_direct_cuda<T>(trajectory, matrix_size, weights, device, choice);
    refuse_cuda();
  }
  const auto grid = difference_grid(matrix_size);
  // Compute the rows of the centred grid n = -N ... N-1 from (z, y) = (0, 0) on; the mirrored rows follow by symmetry.
  const int centre_y = grid[1] / 2, centre_z = grid[2] / 2;
  const Rows rows{axes_of(grid, matrix_size), std::int64_t{centre_z} * grid[1] + centre_y,
                  std::int64_t{grid[2]} * grid[1]};
  Array<Complex<T>> half(Shape{rows.end - rows.begin, grid[0]});
  {
    const SampleGroups groups(trajectory);
    Array<T> memory;
    AdjointSums<T>(trajectory, groups, rows)
        .run(
            1,
            [&](int, std::int64_t m) { return Complex<T>(weights ? static_cast<T>((*weights)[m]) : T(1)); },
            half.data(), memory);
  }
  return periodic_point_spread(half, {{grid[0], grid[1], grid[2]}, {-2 * (grid[0] / 2), 0, 0}}, matrix_size);
}

template <class T>
Array<Complex<T>> periodic_point_spread(const Array<Complex<T>>& values, const VoxelGrid& part,
                                        std::array<int, 3> matrix_size) {
  const auto grid = difference_grid(matrix_size);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]}, values.device());
  UnfoldPointSpread<T> unfold{q.data(), values.data(), part, {}};
  std::copy(matrix_size.begin(), matrix_size.end(), unfold.matrix_size);
  for_each_index(q.device(), q.size(), unfold);
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
  ParallelFailure failure;
#pragma omp parallel
  {
    auto own = failure.made_by([&] { return std::vector<Complex<double>>(coils); });
#pragma omp for schedule(static)
    for (std::int64_t t = 0; t < target_count; ++t) {
      if (!own) continue;
      auto& sum = *own;
      std::array<double, 8> target{};
      for (int axis = 0; axis < axes; ++axis) target[axis] = targets[axis * target_count + t];
      std::fill(sum.begin(), sum.end(), Complex<double>());
      constexpr std::int64_t block = 4096;  // stays in the L1 cache over the coils
      for (std::int64_t first = 0; first < source_count; first += block) {
        std::array<const double*, 8> at{};
        for (int axis = 0; axis < axes; ++axis) at[axis] = source_axes[axis] + first;
        kernels<T>().general_sum(at.data(), axes, target.data(), sign, values.data() + first, source_count,
                                 static_cast<int>(coils), std::min(block, source_count - first), sum.data());
      }
      for (std::int64_t coil = 0; coil < coils; ++coil) out[coil * target_count + t] = sum[coil];
    }
  }
  failure.rethrow();
  return out;
}

#define FHD_INSTANTIATE(T)                                                                           \
  template std::unique_ptr<FourierTransform<T>> make_direct_transform<T>(                            \
      const Trajectory&, std::array<int, 3>, Device, DirectChoice);                                  \
  template Array<Complex<T>> point_spread_direct<T>(const Trajectory&, std::array<int, 3>,           \
                                                    const Array<double>*, Device, DirectChoice);     \
  template Array<Complex<T>> periodic_point_spread<T>(const Array<Complex<T>>&, const VoxelGrid&,    \
                                                      std::array<int, 3>);                           \
  template Array<Complex<double>> general_sum<T>(const Array<double>&, const Array<double>&, double, \
                                                 const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
