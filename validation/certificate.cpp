#include "validation/certificate.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include "recon/array/parallel_failure.hpp"
#include "validation/phase_sums.hpp"
#include "validation/verdict/centre_model.hpp"
#include "validation/verdict/verdict.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

// Assumed complex multiply-adds per second of a thread: deliberately low, so that a check with wide vectors takes a
// fraction of its budget.
constexpr double multiply_adds_per_s = 2e8;
// A sine and a cosine in double precision cost as much as this many multiply-adds.
constexpr double sine_cost = 12;
constexpr std::int64_t fewest = 9, most = 256;
/// Places for each of several volumes that the same operators have solved together; together they are checked at many.
constexpr std::int64_t fewest_of_many = 4;
/// Samples, or voxels along x, whose exponentials are in memory at once.
constexpr std::int64_t block = 256;

/// Returns `count` different indices below `size`, in order, of `count` random numbers (Floyd's algorithm; Bentley (1987),
/// doi:10.1145/30401.315746).
std::vector<std::int64_t> random_indices(std::int64_t size, std::int64_t count, std::mt19937_64& generator) {
  std::set<std::int64_t> chosen;
  for (std::int64_t last = size - std::min(count, size); last < size; ++last) {
    const auto index = static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(last + 1));
    if (!chosen.insert(index).second) chosen.insert(last);
  }
  return {chosen.begin(), chosen.end()};
}

template <class T>
Value value_of(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

template <class T>
double root_mean_square(const Array<Complex<T>>& values) {
  double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (std::int64_t i = 0; i < values.size(); ++i) sum += std::norm(value_of(values.data()[i]));
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(values.size(), 1)));
}

/// Returns the sums that add(begin, end, sums) makes of the items below `count`; each thread adds a share of them.
template <class Add>
std::vector<Value> sums_of_parts(std::int64_t count, std::int64_t sum_count, Add add) {
  const int threads = omp_get_max_threads();
  std::vector<std::vector<Value>> parts(static_cast<std::size_t>(threads));
  ParallelFailure failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int part = 0; part < threads; ++part)
    failure.guard([&] {
      auto& own = parts[static_cast<std::size_t>(part)];
      own.resize(static_cast<std::size_t>(sum_count));
      add(count * part / threads, count * (part + 1) / threads, own.data());
    });
  failure.rethrow();
  for (std::size_t part = 1; part < parts.size(); ++part)  // in their order: the same digits in every run
    for (std::size_t i = 0; i < parts[0].size(); ++i) parts[0][i] += parts[part][i];
  return std::move(parts[0]);
}

/// The voxels where the operators are checked: indices along x, y and z, a sub-grid of the image.
using VoxelIndices = std::array<std::vector<std::int64_t>, 3>;
std::int64_t count_of(const VoxelIndices& index) {
  return static_cast<std::int64_t>(index[0].size() * index[1].size() * index[2].size());
}

/// A sample to check, as one coil sees it.
struct Place {
  std::int64_t coil, sample;
};

/// Computes the defining sums term by term.
template <class T>
class ExactSums {
 public:
  explicit ExactSums(const VerifierInput<T>& input)
      : e_(input), samples_(input.trajectory.sample_count()), coils_(input.coil_count) {}

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
        sums_of_parts(samples_, voxels * rows, [&](std::int64_t begin, std::int64_t end, Value* to) {
          BlockOfSamples of_block(index, rows);
          for (std::int64_t m = begin; m < end; m += block)
            add_samples(index, m, std::min(block, end - m), sets, of_block, to);
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
  std::vector<Value> forward(const std::vector<Place>& places) const {
    const std::int64_t nx = e_.matrix_size[0];
    std::vector<Value> sums(places.size());
    for (std::int64_t x = 0; x < nx; x += block) add_columns(x, std::min(block, nx - x), places, sums);
    return sums;
  }

 private:
  /// Returns r_p along an axis, in fractions of the FOV.
  double position(int axis, std::int64_t n) const {
    return static_cast<double>(n % e_.matrix_size[axis] - e_.matrix_size[axis] / 2) / e_.matrix_size[axis];
  }
  double k(int axis, std::int64_t m) const { return e_.trajectory.k[axis * samples_ + m]; }
  Value map(std::int64_t coil, std::int64_t p) const {
    if (!e_.maps) return 1;
    const std::int64_t voxels = std::int64_t{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    if (p >= voxels) return value_of(e_.second_maps[(coil - 1) * voxels + p]) * e_.map_scale;
    const std::int64_t i = coil * voxels + p;
    return (e_.maps_in_double ? value_of(e_.maps_in_double[i]) : value_of(e_.maps[i])) * e_.map_scale;
  }
  /// Returns omega t in turns.
  double off_resonance(std::int64_t p, std::int64_t m) const {
    return static_cast<double>((*e_.field_map)[p]) * (*e_.sample_time_s)[m] / (2 * std::numbers::pi);
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
    const int axes = e_.matrix_size[2] > 1 ? 3 : 2;
    auto& [d, e, of_field, of_axes, turns] = of_block;
    for (std::int64_t row = 0; row < rows; ++row)
      if (row < coils_)
        set_data(row, begin, count, d.re(row), d.im(row));
      else
        set_values(count, e_.predicted.data() + (row - coils_) * samples_ + begin, 1, d.re(row), d.im(row));
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
      if (e_.field_map) {
        for (std::int64_t j = 0; j < count; ++j)
          turns[static_cast<std::size_t>(j)] = off_resonance(p, begin + j);
        set_exponentials(count, turns.data(), of_field.re(0), of_field.im(0));
        multiply(count, of_field.re(0), of_field.im(0), e.re(0), e.im(0));
      }
      for (std::int64_t first = 0; first < rows; first += 4)
        add_inner_products(d, first, std::min<std::int64_t>(4, rows - first), count, e.re(0), e.im(0),
                           sums + static_cast<std::int64_t>(i) * rows + first);
    });
  }

  /// Adds the terms of `width` <= block voxels of every row from x on to the sum of each place; places are sorted by coil.
  void add_columns(std::int64_t x, std::int64_t width, const std::vector<Place>& places,
                   std::vector<Value>& sums) const {
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
    const std::int64_t lines = e_.matrix_size[1] * planes();
    const auto parts = sums_of_parts(lines, count, [&](std::int64_t begin, std::int64_t end, Value* to) {
      for (std::int64_t line = begin; line < end; line += 4)
        add_lines(line, std::min<std::int64_t>(4, end - line), x, places, of_x, to);
    });
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += parts[i];
  }

  /// Adds the terms of `count` <= 4 rows of voxels.
  void add_lines(std::int64_t first, std::int64_t count, std::int64_t x, const std::vector<Place>& places,
                 const ComplexRows& of_x, Value* sums) const {
    const std::int64_t width = of_x.length, place_count = static_cast<std::int64_t>(places.size());
    ComplexRows of_line(count, place_count), v(count, width), e(1, width);
    std::vector<double> turns(static_cast<std::size_t>(std::max(place_count, width)));
    for (std::int64_t line = 0; line < count; ++line) {
      const double y = position(1, (first + line) % e_.matrix_size[1]),
                   z = position(2, (first + line) / e_.matrix_size[1]);
      for (std::size_t i = 0; i < places.size(); ++i)
        turns[i] = -(k(1, places[i].sample) * y + k(2, places[i].sample) * z);
      set_exponentials(place_count, turns.data(), of_line.re(line), of_line.im(line));
    }
    for (std::int64_t i = 0; i < place_count; ++i) {
      const auto [coil, m] = places[static_cast<std::size_t>(i)];
      if (i == 0 || places[static_cast<std::size_t>(i - 1)].coil != coil) seen_by(coil, first, count, x, v);
      Value of_lines[4]{};
      if (!e_.field_map) add_inner_products(v, 0, count, width, of_x.re(i), of_x.im(i), of_lines);
      for (std::int64_t line = 0; line < count; ++line) {
        if (e_.field_map) {
          const std::int64_t p = (first + line) * e_.matrix_size[0] + x;
          for (std::int64_t j = 0; j < width; ++j)
            turns[static_cast<std::size_t>(j)] = -off_resonance(p + j, m);
          set_exponentials(width, turns.data(), e.re(0), e.im(0));
          multiply(width, of_x.re(i), of_x.im(i), e.re(0), e.im(0));
          add_inner_products(v, line, 1, width, e.re(0), e.im(0), of_lines + line);
        }
        sums[i] += of_lines[line] * Value(of_line.re(line)[i], of_line.im(line)[i]);
      }
    }
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
};

template <class T>
class Check {
 public:
  explicit Check(const VerifierInput<T>& input)
      : e_(input),
        exact_(input),
        samples_(input.trajectory.sample_count()),
        coils_(input.coil_count),
        generator_(20081121 + static_cast<unsigned>(input.volume)) {
    const double budget_s = std::max(least_certificate_budget_s, 0.05 * e_.elapsed_s);
    work_ = budget_s * multiply_adds_per_s * omp_get_max_threads() / e_.volume_count;
    if (e_.volume_count > 1) fewest_ = std::max(fewest_of_many, fewest / e_.volume_count);
    if (!e_.predicted.empty()) work_ /= 2;  // half for F^H, half for F
    choose_voxels();
  }

  Certificate operator()() {
    Certificate c;
    c.requested = e_.requested;
    c.solver_residual = e_.solver_residual;
    c.voxels = count_of(index_);
    const bool solved = !e_.predicted.empty();
    bool residual_holds = true;
    const auto sums = exact_.adjoint(index_, solved ? 2 : 1);
    const double scale = root_mean_square(e_.adjoint);
    c.adjoint_error = difference(e_.adjoint, sums[0]) / positive(scale);
    if (solved) {
      c.normal_error = difference(e_.normal, sums[1]) / positive(root_mean_square(e_.normal));
      const double found = root_mean_square_residual() / positive(scale);
      const double overlooked = residual_difference(sums[0], sums[1]) / positive(scale);
      c.true_residual = found + overlooked;
      // The residual with the operators as solved, which the solver must know, and what they make of it.
      residual_holds = found <= 2 * c.solver_residual + 3 * c.requested && overlooked <= 3 * c.requested;
      c.adjointness = adjointness();
      forward(c);
    }
    const bool finite = std::isfinite(c.error()) && std::isfinite(c.true_residual);
    c.passed = finite && c.error() <= c.requested && residual_holds;
    return c;
  }

 private:
  static double positive(double x) { return x > 0 ? x : 1; }

  void choose_voxels() {
    const double data_sets = e_.predicted.empty() ? 1 : 2;
    const double cost = static_cast<double>(samples_) *
                        (data_sets * static_cast<double>(coils_) + 1 + (e_.field_map ? sine_cost : 0));
    const auto wanted = static_cast<std::int64_t>(
        std::clamp(work_ / cost, static_cast<double>(fewest_), static_cast<double>(most)));
    const std::array<std::int64_t, 3> size{e_.matrix_size[0], e_.matrix_size[1], exact_.planes()};
    std::array<std::int64_t, 3> count{1, 1, 1};
    if (e_.second_maps) count[2] = std::min<std::int64_t>(size[2], 2);
    for (bool grown = true; grown;) {
      grown = false;
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t product = count[0] * count[1] * count[2];
        if (count[axis] < size[axis] && product / count[axis] * (count[axis] + 1) <= wanted)
          ++count[axis], grown = true;
      }
    }
    for (int axis = 0; axis < 3; ++axis) index_[axis] = random_indices(size[axis], count[axis], generator_);
  }

  /// Returns the root mean square of found - expected over the chosen voxels.
  double difference(const Array<Complex<T>>& found, const std::vector<Value>& expected) const {
    double sum = 0;
    exact_.for_each_voxel(
        index_, [&](std::size_t i, std::int64_t p) { sum += std::norm(value_of(found[p]) - expected[i]); });
    return std::sqrt(sum / static_cast<double>(expected.size()));
  }

  /// Returns |E^H d - (E^H E + lambda W^H W) rho| with the operators as solved, over all voxels.
  double root_mean_square_residual() const {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t p = 0; p < e_.adjoint.size(); ++p)
      sum += std::norm(value_of(e_.adjoint.data()[p]) - value_of(e_.regularized.data()[p]));
    return std::sqrt(sum / static_cast<double>(e_.adjoint.size()));
  }

  /// Returns the root mean square, over the chosen voxels, of the difference between that residual and the one of the exact
  /// sums. A few voxels suffice, because the error of the residual is spread out; the residual itself is not.
  double residual_difference(const std::vector<Value>& fhd, const std::vector<Value>& normal) const {
    double sum = 0;
    exact_.for_each_voxel(index_, [&](std::size_t i, std::int64_t p) {
      sum += std::norm(fhd[i] - value_of(e_.adjoint[p]) - normal[i] + value_of(e_.normal[p]));
    });
    return std::sqrt(sum / static_cast<double>(fhd.size()));
  }

  /// Also sets the root mean square of the predicted samples.
  double adjointness() {
    double samples_re = 0, samples_im = 0, voxels_re = 0, voxels_im = 0, predicted = 0, measured = 0;
#pragma omp parallel for schedule(static) reduction(+ : samples_re, samples_im, predicted, measured)
    for (std::int64_t coil = 0; coil < coils_; ++coil) {
      std::array<double, block> f_re, f_im, d_re, d_im;
      InnerProducts sums;
      for (std::int64_t begin = 0; begin < samples_; begin += block) {
        const std::int64_t count = std::min(block, samples_ - begin);
        set_values(count, e_.predicted.data() + coil * samples_ + begin, 1, f_re.data(), f_im.data());
        exact_.set_data(coil, begin, count, d_re.data(), d_im.data());
        add_inner_products(count, f_re.data(), f_im.data(), d_re.data(), d_im.data(), sums);
      }
      samples_re += sums.re, samples_im += sums.im, predicted += sums.of_f, measured += sums.of_d;
    }
    predicted_ = std::sqrt(predicted / static_cast<double>(std::max<std::int64_t>(e_.predicted.size(), 1)));
#pragma omp parallel for schedule(static) reduction(+ : voxels_re, voxels_im)
    for (std::int64_t p = 0; p < e_.image.size(); ++p) {
      const Value rho = value_of(e_.image.data()[p]), a = value_of(e_.adjoint.data()[p]);
      voxels_re += rho.real() * a.real() + rho.imag() * a.imag();
      voxels_im += rho.real() * a.imag() - rho.imag() * a.real();
    }
    return std::hypot(samples_re - voxels_re, samples_im - voxels_im) /
           positive(std::sqrt(predicted * measured));
  }

  /// Checks E rho at random samples, each of a random coil.
  void forward(Certificate& c) {
    const std::int64_t nx = e_.matrix_size[0], ny = e_.matrix_size[1], nz = exact_.planes();
    const double cost = static_cast<double>(nx * ny * nz) * (2 + (e_.field_map ? sine_cost : 0));
    const auto wanted = static_cast<std::int64_t>(
        std::clamp(work_ / cost, static_cast<double>(fewest_), static_cast<double>(most)));
    std::vector<Place> places;
    for (const auto m : random_indices(samples_, std::min(wanted, samples_), generator_))
      places.push_back({0, m});
    for (auto& place : places)
      place.coil = static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(coils_));
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.coil < b.coil; });
    const auto sums = exact_.forward(places);
    double total = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
      total += std::norm(value_of(e_.predicted[places[i].coil * samples_ + places[i].sample]) - sums[i]);
    c.samples = static_cast<std::int64_t>(places.size());
    c.forward_error = std::sqrt(total / static_cast<double>(places.size())) / positive(predicted_);
  }

  const VerifierInput<T>& e_;
  ExactSums<T> exact_;
  std::int64_t samples_, coils_;
  double work_ = 0, predicted_ = 0;
  std::int64_t fewest_ = fewest;
  std::mt19937_64 generator_;
  VoxelIndices index_;
};

class CertificateVerifier final : public Verifier {
 public:
  Certificate verify(const VerifierInput<float>& input) const override { return check(input); }
  Certificate verify(const VerifierInput<double>& input) const override { return check(input); }
  std::vector<Verdict> judge(const std::vector<VerifierInput<float>>& inputs, Beside& beside) const override {
    return validation::judge(inputs, beside);
  }
  std::vector<Verdict> judge(const std::vector<VerifierInput<double>>& inputs,
                             Beside& beside) const override {
    return validation::judge(inputs, beside);
  }
  /// Returns how many voxels and samples the budget allows, `fewest` ... `most`.
  double expected_seconds(const VerifierSizes& sizes) const override {
    const double sets = sizes.solved ? 2 : 1;
    const double budget = std::max(least_certificate_budget_s, 0.05 * sizes.elapsed_s) * multiply_adds_per_s *
                          sizes.threads / sets;
    const auto checked = [&](double cost) {
      return std::clamp(budget / cost, static_cast<double>(fewest), static_cast<double>(most)) * cost;
    };
    constexpr double voxel_rate = 3e9, sample_rate = 3e9;  // multiply-adds/s of one thread, measured
    double seconds = checked(sizes.samples * (sets * sizes.coils + 1)) / voxel_rate / sizes.threads;
    if (sizes.solved) seconds += checked(2 * sizes.voxels) / sample_rate / sizes.threads;
    return seconds;
  }

 private:
  template <class T>
  static Certificate check(const VerifierInput<T>& input) {
    const auto begin = std::chrono::steady_clock::now();
    Certificate certificate = Check<T>(input)();
    certificate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return certificate;
  }
};

}  // namespace

std::shared_ptr<const Verifier> make_verifier() { return std::make_shared<CertificateVerifier>(); }

}  // namespace fhd::validation
