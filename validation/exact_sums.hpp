#pragma once
// The defining sums of recon/domain/scan.hpp in double precision, at chosen voxels and samples of a reconstruction. Of the
// certificate alone; shares no code with recon/ beyond the array type.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "recon/pipeline/context.hpp"
#include "validation/field_phases.hpp"
#include "validation/ordered_sum.hpp"
#include "validation/phase_sums.hpp"

namespace fhd::validation {

using Value = std::complex<double>;

template <class T>
Value value_in_double(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

/// Sums of several numbers.
struct Sums : std::vector<Value> {
  using std::vector<Value>::vector;
  Sums& operator+=(const Sums& other) {
    for (std::size_t i = 0; i < size(); ++i) (*this)[i] += other[i];
    return *this;
  }
};

/// Samples, or voxels along x, whose exponentials are in memory at once.
inline constexpr std::int64_t block = 256;

/// The voxels where the operators are checked: indices along x, y and z, a sub-grid of the image.
using VoxelIndices = std::array<std::vector<std::int64_t>, 3>;
inline std::int64_t count_of(const VoxelIndices& index) {
  return static_cast<std::int64_t>(index[0].size() * index[1].size() * index[2].size());
}

/// Random combinations of voxels, or of samples, that the volumes of a series are checked by.
inline constexpr std::int64_t combinations = 2;

/// A sample to check, as one coil sees it.
struct Place {
  std::int64_t coil, sample;
};

/// Computes the defining sums term by term.
template <class T>
class ExactSums {
 public:
  explicit ExactSums(const VerifierInput<T>& input)
      : e_(input), samples_(input.trajectory.sample_count()), coils_(input.coil_count), others_(input) {}

  /// Returns the phases beside k . r, and decay.
  const FieldPhases& others() const { return others_; }

  /// Returns the number of planes of the image: those of the matrix, for every set of maps.
  std::int64_t planes() const { return std::int64_t{e_.matrix_size[2]} * (e_.second_maps ? 2 : 1); }

  /// Sets re + i im to d of `count` samples of a coil from `begin` on.
  void set_data(std::int64_t coil, std::int64_t begin, std::int64_t count, double* re, double* im) const {
    const std::int64_t from = coil * samples_ + begin;
    if (e_.samples_in_double)
      set_values(count, e_.samples_in_double + from, e_.sample_scale, re, im);
    else
      set_values(count, e_.samples + from, e_.sample_scale, re, im);
    if (!e_.weights) return;
    for (std::int64_t j = 0; j < count; ++j) {
      const double weight = e_.weights->data()[begin + j];
      re[j] *= weight, im[j] *= weight;
    }
  }

  /// Calls work(number, voxel) for the voxels at `index`.
  template <class Work>
  void for_each_voxel(const VoxelIndices& index, Work work) const {
    std::size_t i = 0;
    for (const auto z : index[2])
      for (const auto y : index[1])
        for (const auto x : index[0]) work(i++, (z * e_.matrix_size[1] + y) * e_.matrix_size[0] + x);
  }

  /// Returns E^H d at these voxels, and with two sets E^H E rho from the predicted samples.
  std::vector<std::vector<Value>> adjoint(const VoxelIndices& index, std::int64_t sets) const {
    const std::int64_t voxels = count_of(index), rows = sets * coils_;
    const auto parts =
        sum_of_parts(samples_, Sums(static_cast<std::size_t>(voxels * rows)),
                     [&](std::int64_t begin, std::int64_t end, Sums& to) {
                       BlockOfSamples of_block(index, rows);
                       for (std::int64_t m = begin; m < end; m += block)
                         add_samples(index, m, std::min(block, end - m), sets, of_block, to.data());
                     });
    std::vector<std::vector<Value>> sums(static_cast<std::size_t>(sets),
                                         std::vector<Value>(static_cast<std::size_t>(voxels)));
    for (std::int64_t row = 0; row < rows; ++row)
      for_each_voxel(index, [&](std::size_t i, std::int64_t p) {
        sums[static_cast<std::size_t>(row / coils_)][i] +=
            std::conj(map(row % coils_, p)) *
            parts[i * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row)];
      });
    return sums;
  }

  /// Returns E rho at these places, which are sorted by coil.
  Sums forward(const std::vector<Place>& places) const {
    const std::int64_t nx = e_.matrix_size[0];
    Sums sums(places.size());
    for (std::int64_t x = 0; x < nx; x += block) add_columns(x, std::min(block, nx - x), places, sums);
    return sums;
  }

  /// Returns E w, [combination][coil][sample], of combinations w of these voxels: voxel i has factor i in combination
  /// i % combinations, and 0 in the others.
  Array<Complex<T>> forward_of(const VoxelIndices& index, const std::vector<Value>& factors) const {
    Array<Complex<T>> seen({combinations, coils_, samples_});
#pragma omp parallel
    {
      BlockOfSamples of_block(index, combinations * coils_);
      auto& sums = of_block.d;
#pragma omp for schedule(static)
      for (std::int64_t begin = 0; begin < samples_; begin += block) {
        const std::int64_t count = std::min(block, samples_ - begin);
        std::ranges::fill(sums.all_re, 0), std::ranges::fill(sums.all_im, 0);
        for_each_exponential(index, begin, count, of_block, [&](std::size_t i, std::int64_t p) {
          const std::int64_t first = static_cast<std::int64_t>(i) % combinations * coils_;
          for (std::int64_t coil = 0; coil < coils_; ++coil)
            add_conjugates(count, factors[i] * map(coil, p), of_block.e.re(0), of_block.e.im(0),
                           sums.re(first + coil), sums.im(first + coil));
        });
        for (std::int64_t row = 0; row < combinations * coils_; ++row)
          for (std::int64_t j = 0; j < count; ++j)
            seen.data()[row * samples_ + begin + j] = rounded(sums.re(row)[j], sums.im(row)[j]);
      }
    }
    return seen;
  }

  /// Returns E^H u, [combination][z][y][x], of combinations u of these places, which are sorted by coil, as forward_of does.
  /// Where all phases are k . r.
  Array<Complex<T>> adjoint_of(const std::vector<Place>& places, const std::vector<Value>& factors) const {
    const std::int64_t nx = e_.matrix_size[0], lines = e_.matrix_size[1] * planes();
    Array<Complex<T>> seen({combinations, planes(), e_.matrix_size[1], nx});
    for (std::int64_t x = 0; x < nx; x += block) {
      const std::int64_t width = std::min(block, nx - x);
      const auto of_x = exponentials_along_x(x, width, places);
#pragma omp parallel for schedule(static)
      for (std::int64_t line = 0; line < lines; ++line) {
        const auto sums = adjoint_of_line(line, x, places, factors, of_x);
        for (std::int64_t c = 0; c < combinations; ++c)
          for (std::int64_t j = 0; j < width; ++j)
            seen.data()[(c * lines + line) * nx + x + j] = rounded(sums.re(c)[j], sums.im(c)[j]);
      }
    }
    return seen;
  }

 private:
  static Complex<T> rounded(double re, double im) { return {static_cast<T>(re), static_cast<T>(im)}; }

  /// Returns r_p along an axis, in fractions of the FOV.
  double position(int axis, std::int64_t n) const {
    return static_cast<double>(n % e_.matrix_size[axis] - e_.matrix_size[axis] / 2) / e_.matrix_size[axis];
  }
  double k(int axis, std::int64_t m) const { return e_.trajectory.k[axis * samples_ + m]; }
  Value map(std::int64_t coil, std::int64_t p) const {
    if (!e_.maps) return 1;
    const std::int64_t voxels = std::int64_t{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    if (p >= voxels) return value_in_double(e_.second_maps[(coil - 1) * voxels + p]) * e_.map_scale;
    const std::int64_t i = coil * voxels + p;
    return (e_.maps_in_double ? value_in_double(e_.maps_in_double[i]) : value_in_double(e_.maps[i])) *
           e_.map_scale;
  }
  /// Scratch for a block of samples.
  struct BlockOfSamples {
    BlockOfSamples(const VoxelIndices& index, std::int64_t rows) : d(rows, block), turns(block) {
      for (const auto& of_axis : index)
        of_axes.emplace_back(static_cast<std::int64_t>(of_axis.size()), block);
    }
    ComplexRows d, e{1, block}, of_field{1, block};
    std::vector<ComplexRows> of_axes{};  ///< exponentials of the indices along x, y and z
    std::vector<double> turns;
  };

  /// Adds sums[voxel][set, coil] += sum over `count` <= block samples from `begin` on of exp(i 2 pi k.r) d, without
  /// the maps.
  void add_samples(const VoxelIndices& index, std::int64_t begin, std::int64_t count, std::int64_t sets,
                   BlockOfSamples& of_block, Value* sums) const {
    const std::int64_t rows = sets * coils_;
    auto& d = of_block.d;
    for (std::int64_t row = 0; row < rows; ++row)
      if (row < coils_)
        set_data(row, begin, count, d.re(row), d.im(row));
      else
        set_values(count, e_.predicted.data() + (row - coils_) * samples_ + begin, 1, d.re(row), d.im(row));
    for_each_exponential(index, begin, count, of_block, [&](std::size_t i, std::int64_t) {
      const auto& e = of_block.e;
      for (std::int64_t first = 0; first < rows; first += 4)
        add_inner_products(d, first, std::min<std::int64_t>(4, rows - first), count, e.re(0), e.im(0),
                           sums + static_cast<std::int64_t>(i) * rows + first);
    });
  }

  /// Calls work(number, voxel) for the voxels at `index` with exp(i phi) of `count` <= block samples from `begin` on in
  /// of_block.e, decay included.
  template <class Work>
  void for_each_exponential(const VoxelIndices& index, std::int64_t begin, std::int64_t count,
                            BlockOfSamples& of_block, const Work& work) const {
    const int axes = e_.matrix_size[2] > 1 ? 3 : 2;
    std::vector<double> basis(static_cast<std::size_t>(others_.term_count()));
    auto& [d, e, of_field, of_axes, turns] = of_block;
    for (int axis = 0; axis < axes; ++axis)
      for (std::size_t i = 0; i < index[axis].size(); ++i) {
        const double r = position(axis, index[axis][i]);
        for (std::int64_t j = 0; j < count; ++j) turns[static_cast<std::size_t>(j)] = k(axis, begin + j) * r;
        const auto row = static_cast<std::int64_t>(i);
        set_exponentials(count, turns.data(), of_axes[axis].re(row), of_axes[axis].im(row));
      }
    const auto nx = static_cast<std::size_t>(index[0].size()), ny = index[1].size();
    for_each_voxel(index, [&](std::size_t i, std::int64_t p) {
      const std::array<std::int64_t, 3> row{static_cast<std::int64_t>(i % nx),
                                            static_cast<std::int64_t>(i / nx % ny),
                                            static_cast<std::int64_t>(i / nx / ny)};
      std::copy_n(of_axes[0].re(row[0]), count, e.re(0));
      std::copy_n(of_axes[0].im(row[0]), count, e.im(0));
      for (int axis = 1; axis < axes; ++axis)
        multiply(count, of_axes[axis].re(row[axis]), of_axes[axis].im(row[axis]), e.re(0), e.im(0));
      if (others_.term_count() > 0) {
        others_.set_basis(p, 1, basis.data(), 1);
        others_.set_turns_of_voxel(basis.data(), 1, begin, count, turns.data());
        set_exponentials(count, turns.data(), of_field.re(0), of_field.im(0));
        multiply(count, of_field.re(0), of_field.im(0), e.re(0), e.im(0));
      }
      if (others_.decays()) others_.decay_voxel(p, begin, count, e.re(0), e.im(0));
      work(i, p);
    });
  }

  /// Returns exp(-i 2 pi k_x r_x) of `width` <= block voxels from x on, [place][voxel].
  ComplexRows exponentials_along_x(std::int64_t x, std::int64_t width,
                                   const std::vector<Place>& places) const {
    const auto count = static_cast<std::int64_t>(places.size());
    ComplexRows of_x(count, width);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<double, block> turns;
      for (std::int64_t j = 0; j < width; ++j)
        turns[static_cast<std::size_t>(j)] =
            -k(0, places[static_cast<std::size_t>(i)].sample) * position(0, x + j);
      set_exponentials(width, turns.data(), of_x.re(i), of_x.im(i));
    }
    return of_x;
  }

  /// Sets exp(-i 2 pi (k_y r_y + k_z r_z)) of each place for a row of voxels.
  void set_exponentials_of_line(std::int64_t line, const std::vector<Place>& places, double* turns,
                                double* re, double* im) const {
    const double y = position(1, line % e_.matrix_size[1]), z = position(2, line / e_.matrix_size[1]);
    for (std::size_t i = 0; i < places.size(); ++i)
      turns[i] = -(k(1, places[i].sample) * y + k(2, places[i].sample) * z);
    set_exponentials(static_cast<std::int64_t>(places.size()), turns, re, im);
  }

  /// Adds the terms of `width` <= block voxels of every row from x on to the sum of each place; places are sorted by coil.
  void add_columns(std::int64_t x, std::int64_t width, const std::vector<Place>& places, Sums& sums) const {
    const auto of_x = exponentials_along_x(x, width, places);
    sums +=
        sum_of_parts(e_.matrix_size[1] * planes(), Sums(places.size()),
                     [&](std::int64_t begin, std::int64_t end, Sums& to) {
                       for (std::int64_t line = begin; line < end; line += 4)
                         add_lines(line, std::min<std::int64_t>(4, end - line), x, places, of_x, to.data());
                     });
  }

  /// Adds the terms of `count` <= 4 rows of voxels.
  void add_lines(std::int64_t first, std::int64_t count, std::int64_t x, const std::vector<Place>& places,
                 const ComplexRows& of_x, Value* sums) const {
    const std::int64_t width = of_x.length, place_count = static_cast<std::int64_t>(places.size());
    ComplexRows of_line(count, place_count), v(count, width), e(1, width);
    std::vector<double> turns(static_cast<std::size_t>(std::max(place_count, width)));
    const std::int64_t terms = others_.term_count(), nx = e_.matrix_size[0];
    std::vector<double> basis(static_cast<std::size_t>(terms * count * width));
    for (std::int64_t line = 0; line < count && terms > 0; ++line)
      others_.set_basis((first + line) * nx + x, width, basis.data() + line * width, count * width);
    for (std::int64_t line = 0; line < count; ++line)
      set_exponentials_of_line(first + line, places, turns.data(), of_line.re(line), of_line.im(line));
    for (std::int64_t i = 0; i < place_count; ++i) {
      const auto [coil, m] = places[static_cast<std::size_t>(i)];
      if (i == 0 || places[static_cast<std::size_t>(i - 1)].coil != coil) seen_by(coil, first, count, x, v);
      Value of_lines[4]{};
      if (!others_.are_any()) add_inner_products(v, 0, count, width, of_x.re(i), of_x.im(i), of_lines);
      for (std::int64_t line = 0; line < count; ++line) {
        if (others_.are_any()) {
          others_.set_turns_of_sample(basis.data() + line * width, count * width, m, width, turns.data());
          set_exponentials(width, turns.data(), e.re(0), e.im(0));
          multiply(width, of_x.re(i), of_x.im(i), e.re(0), e.im(0));
          if (others_.decays()) others_.decay_sample((first + line) * nx + x, m, width, e.re(0), e.im(0));
          add_inner_products(v, line, 1, width, e.re(0), e.im(0), of_lines + line);
        }
        sums[i] += of_lines[line] * Value(of_line.re(line)[i], of_line.im(line)[i]);
      }
    }
  }

  /// Returns E^H u, [combination][voxel], of the voxels of a row from x on that `of_x` has exponentials of.
  ComplexRows adjoint_of_line(std::int64_t line, std::int64_t x, const std::vector<Place>& places,
                              const std::vector<Value>& factors, const ComplexRows& of_x) const {
    const std::int64_t width = of_x.length, place_count = static_cast<std::int64_t>(places.size());
    ComplexRows all(combinations, width), of_coil(combinations, width), of_line(1, place_count);
    std::vector<double> turns(places.size());
    set_exponentials_of_line(line, places, turns.data(), of_line.re(0), of_line.im(0));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i), c = row % combinations;
      const Value factor = factors[i] * Value(of_line.re(0)[i], -of_line.im(0)[i]);
      add_conjugates(width, factor, of_x.re(row), of_x.im(row), of_coil.re(c), of_coil.im(c));
      const std::int64_t coil = places[i].coil;
      if (i + 1 < places.size() && places[i + 1].coil == coil) continue;
      for (std::int64_t j = 0; j < width; ++j) {
        const Value seen = std::conj(map(coil, line * e_.matrix_size[0] + x + j));
        for (std::int64_t k = 0; k < combinations; ++k) {
          const Value sum = seen * Value(of_coil.re(k)[j], of_coil.im(k)[j]);
          all.re(k)[j] += sum.real(), all.im(k)[j] += sum.imag();
        }
      }
      std::ranges::fill(of_coil.all_re, 0), std::ranges::fill(of_coil.all_im, 0);
    }
    return all;
  }

  /// Computes S_c rho of `count` rows of voxels from x on.
  void seen_by(std::int64_t coil, std::int64_t first, std::int64_t count, std::int64_t x,
               ComplexRows& v) const {
    const std::int64_t voxels = std::int64_t{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    for (std::int64_t line = 0; line < count; ++line) {
      const std::int64_t p = (first + line) * e_.matrix_size[0] + x;
      double *re = v.re(line), *im = v.im(line);
      set_values(v.length, e_.image.data() + p, e_.maps ? e_.map_scale : 1, re, im);
      if (p >= voxels)
        multiply_by(e_.second_maps + (coil * voxels + p - voxels), v.length, re, im);
      else if (e_.maps_in_double)
        multiply_by(e_.maps_in_double + coil * voxels + p, v.length, re, im);
      else if (e_.maps)
        multiply_by(e_.maps + coil * voxels + p, v.length, re, im);
    }
  }
  template <class Map>
  static void multiply_by(const Map* map, std::int64_t count, double* re, double* im) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const double map_re = static_cast<double>(map[j].re), map_im = static_cast<double>(map[j].im),
                   of_image = re[j];
      re[j] = map_re * of_image - map_im * im[j];
      im[j] = map_re * im[j] + map_im * of_image;
    }
  }

  const VerifierInput<T>& e_;
  std::int64_t samples_, coils_;
  FieldPhases others_;
};

}  // namespace fhd::validation
