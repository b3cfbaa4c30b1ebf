#include "validation/certificate.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "validation/verdict/verdict.hpp"

namespace fhd::validation {
namespace {

using Value = std::complex<double>;

// Complex multiply-adds a thread does in a second, without vector extensions; deliberately low.
constexpr double multiply_adds_per_s = 2e8;
// A sine and a cosine in double precision cost as much as this many multiply-adds.
constexpr double sine_cost = 12;
constexpr std::int64_t fewest = 16, most = 256;
/// Of volumes that the same operators have solved together, each: together they are checked at many places.
constexpr std::int64_t fewest_of_many = 4;

/// exp(i 2 pi turns); the phase is reduced to half a turn first.
Value turned(double turns) { return std::polar(1.0, 2 * std::numbers::pi * (turns - std::rint(turns))); }

/// `count` different indices below `size`, in order.
std::vector<std::int64_t> random_indices(std::int64_t size, std::int64_t count, std::mt19937_64& generator) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0, left = count; i < size && left > 0; ++i)
    if (static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(size - i)) < left)
      chosen.push_back(i), --left;
  return chosen;
}

template <class T>
Value value_of(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

template <class T>
double root_mean_square(const Array<Complex<T>>& values) {
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::int64_t i = 0; i < values.size(); ++i) sum += std::norm(value_of(values[i]));
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(values.size(), 1)));
}

/// to += d e, for the widest vectors of the processor.
__attribute__((target_clones("avx512f", "avx2", "default"))) void add_products(double d_re, double d_im,
                                                                               const double* e_re,
                                                                               const double* e_im,
                                                                               std::size_t count,
                                                                               double* to_re, double* to_im) {
  for (std::size_t i = 0; i < count; ++i) {
    to_re[i] += d_re * e_re[i] - d_im * e_im[i];
    to_im[i] += d_re * e_im[i] + d_im * e_re[i];
  }
}

template <class T>
class Check {
 public:
  explicit Check(const VerifierInput<T>& input)
      : e_(input), samples_(input.trajectory.sample_count()), coils_(input.coil_count) {
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
    c.voxels = voxel_count();
    const bool solved = !e_.predicted.empty();
    bool residual_holds = true;
    std::vector<std::vector<Value>> sums = adjoint_sums(solved);
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
  std::int64_t voxel_count() const {
    return static_cast<std::int64_t>(index_[0].size() * index_[1].size() * index_[2].size());
  }
  std::int64_t voxel(std::size_t x, std::size_t y, std::size_t z) const {
    return (index_[2][z] * e_.matrix_size[1] + index_[1][y]) * e_.matrix_size[0] + index_[0][x];
  }
  /// r_p along an axis, in fractions of the FOV.
  double position(int axis, std::int64_t n) const {
    return static_cast<double>(n - e_.matrix_size[axis] / 2) / e_.matrix_size[axis];
  }
  double k(int axis, std::int64_t m) const { return e_.trajectory.k[axis * samples_ + m]; }
  Value data(std::int64_t coil, std::int64_t m) const {
    const std::int64_t i = coil * samples_ + m;
    const Value d = (e_.samples_in_double ? value_of(e_.samples_in_double[i]) : value_of(e_.samples[i])) *
                    e_.sample_scale;
    return e_.weights ? d * (*e_.weights)[m] : d;
  }
  Value map(std::int64_t coil, std::int64_t p) const {
    if (!e_.maps) return 1;
    const std::int64_t voxels = std::int64_t{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    const std::int64_t i = coil * voxels + p;
    return (e_.maps_in_double ? value_of(e_.maps_in_double[i]) : value_of(e_.maps[i])) * e_.map_scale;
  }
  /// omega t in turns.
  double off_resonance(std::int64_t p, std::int64_t m) const {
    return static_cast<double>((*e_.field_map)[p]) * (*e_.sample_time_s)[m] / (2 * std::numbers::pi);
  }

  void choose_voxels() {
    const double data_sets = e_.predicted.empty() ? 1 : 2;
    const double cost = static_cast<double>(samples_) *
                        (data_sets * static_cast<double>(coils_) + 1 + (e_.field_map ? sine_cost : 0));
    const auto wanted = static_cast<std::int64_t>(
        std::clamp(work_ / cost, static_cast<double>(fewest_), static_cast<double>(most)));
    std::array<std::int64_t, 3> count{1, 1, 1};
    for (bool grown = true; grown;) {
      grown = false;
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t product = count[0] * count[1] * count[2];
        if (count[axis] < e_.matrix_size[axis] && product / count[axis] * (count[axis] + 1) <= wanted)
          ++count[axis], grown = true;
      }
    }
    for (int axis = 0; axis < 3; ++axis)
      index_[axis] = random_indices(e_.matrix_size[axis], count[axis], generator_);
  }

  /// At the chosen voxels: E^H d, and E^H E rho from the predicted samples.
  std::vector<std::vector<Value>> adjoint_sums(bool solved) const {
    const auto voxels = static_cast<std::size_t>(voxel_count());
    const std::size_t sets = solved ? 2 : 1, rows = sets * static_cast<std::size_t>(coils_);
    std::vector<double> re(rows * voxels), im(rows * voxels);  // [set][coil][voxel]
    const int threads = omp_get_max_threads();
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
    {
      std::vector<double> sum_re(rows * voxels), sum_im(rows * voxels), e_re(voxels), e_im(voxels);
      std::array<std::vector<Value>, 3> factor;
      for (int axis = 0; axis < 3; ++axis) factor[axis].resize(index_[axis].size());
#pragma omp for schedule(static)
      for (std::int64_t m = 0; m < samples_; ++m) {
        for (int axis = 0; axis < 3; ++axis)
          for (std::size_t i = 0; i < factor[axis].size(); ++i)
            factor[axis][i] = turned(k(axis, m) * position(axis, index_[axis][i]));
        std::size_t p = 0;
        for (std::size_t z = 0; z < factor[2].size(); ++z)
          for (std::size_t y = 0; y < factor[1].size(); ++y) {
            const Value zy = factor[2][z] * factor[1][y];
            for (std::size_t x = 0; x < factor[0].size(); ++x, ++p) {
              Value e = zy * factor[0][x];
              if (e_.field_map) e *= turned(off_resonance(voxel(x, y, z), m));
              e_re[p] = e.real(), e_im[p] = e.imag();
            }
          }
        for (std::size_t set = 0; set < sets; ++set)
          for (std::int64_t coil = 0; coil < coils_; ++coil) {
            const Value d = set == 0 ? data(coil, m) : value_of(e_.predicted[coil * samples_ + m]);
            const std::size_t row =
                (set * static_cast<std::size_t>(coils_) + static_cast<std::size_t>(coil)) * voxels;
            add_products(d.real(), d.imag(), e_re.data(), e_im.data(), voxels, sum_re.data() + row,
                         sum_im.data() + row);
          }
      }
      sum_re.insert(sum_re.end(), sum_im.begin(), sum_im.end());
      parts[static_cast<std::size_t>(omp_get_thread_num())] = std::move(sum_re);
    }
    for (const auto& part : parts)  // in the order of the threads: the same digits in every run
      for (std::size_t i = 0; i < part.size(); ++i) (i < re.size() ? re[i] : im[i - re.size()]) += part[i];

    std::vector<std::vector<Value>> sums(sets, std::vector<Value>(voxels));
    for (std::size_t set = 0; set < sets; ++set)
      for_each_voxel([&](std::size_t i, std::int64_t p) {
        for (std::int64_t coil = 0; coil < coils_; ++coil) {
          const std::size_t at =
              (set * static_cast<std::size_t>(coils_) + static_cast<std::size_t>(coil)) * voxels + i;
          sums[set][i] += std::conj(map(coil, p)) * Value(re[at], im[at]);
        }
      });
    return sums;
  }

  template <class Work>
  void for_each_voxel(Work work) const {
    std::size_t i = 0;
    for (std::size_t z = 0; z < index_[2].size(); ++z)
      for (std::size_t y = 0; y < index_[1].size(); ++y)
        for (std::size_t x = 0; x < index_[0].size(); ++x) work(i++, voxel(x, y, z));
  }

  /// Root mean square of found - expected over the chosen voxels.
  double difference(const Array<Complex<T>>& found, const std::vector<Value>& expected) const {
    double sum = 0;
    for_each_voxel(
        [&](std::size_t i, std::int64_t p) { sum += std::norm(value_of(found[p]) - expected[i]); });
    return std::sqrt(sum / static_cast<double>(expected.size()));
  }

  /// Of E^H d - (E^H E + lambda W^H W) rho with the operators as solved, over all voxels.
  double root_mean_square_residual() const {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t p = 0; p < e_.adjoint.size(); ++p)
      sum += std::norm(value_of(e_.adjoint.data()[p]) - value_of(e_.regularized.data()[p]));
    return std::sqrt(sum / static_cast<double>(e_.adjoint.size()));
  }

  /// Root mean square, over the chosen voxels, of how far that residual is from the one of the exact sums:
  /// the residual itself lies where it likes and is no matter for a few voxels, its error is spread out.
  double residual_difference(const std::vector<Value>& fhd, const std::vector<Value>& normal) const {
    double sum = 0;
    for_each_voxel([&](std::size_t i, std::int64_t p) {
      sum += std::norm(fhd[i] - value_of(e_.adjoint[p]) - normal[i] + value_of(e_.normal[p]));
    });
    return std::sqrt(sum / static_cast<double>(fhd.size()));
  }

  double adjointness() const {
    double samples_re = 0, samples_im = 0, voxels_re = 0, voxels_im = 0, predicted = 0, measured = 0;
#pragma omp parallel for schedule(static) reduction(+ : samples_re, samples_im, predicted, measured)
    for (std::int64_t i = 0; i < coils_ * samples_; ++i) {
      const Value f = value_of(e_.predicted[i]), d = data(i / samples_, i % samples_);
      samples_re += f.real() * d.real() + f.imag() * d.imag();
      samples_im += f.real() * d.imag() - f.imag() * d.real();
      predicted += std::norm(f);
      measured += std::norm(d);
    }
#pragma omp parallel for schedule(static) reduction(+ : voxels_re, voxels_im)
    for (std::int64_t p = 0; p < e_.image.size(); ++p) {
      const Value rho = value_of(e_.image[p]), a = value_of(e_.adjoint[p]);
      voxels_re += rho.real() * a.real() + rho.imag() * a.imag();
      voxels_im += rho.real() * a.imag() - rho.imag() * a.real();
    }
    return std::hypot(samples_re - voxels_re, samples_im - voxels_im) /
           positive(std::sqrt(predicted * measured));
  }

  /// E rho at random samples, each of a random coil.
  void forward(Certificate& c) {
    const std::int64_t nx = e_.matrix_size[0], ny = e_.matrix_size[1], nz = e_.matrix_size[2];
    const double cost = static_cast<double>(nx * ny * nz) * (2 + (e_.field_map ? sine_cost : 0));
    const auto wanted = static_cast<std::int64_t>(
        std::clamp(work_ / cost, static_cast<double>(fewest_), static_cast<double>(most)));
    const auto chosen = random_indices(samples_, std::min(wanted, samples_), generator_);
    std::vector<std::int64_t> coils;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      coils.push_back(static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(coils_)));
    std::vector<double> errors(chosen.size());
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::int64_t m = chosen[i], coil = coils[i];
      std::vector<Value> ex(static_cast<std::size_t>(nx));
      for (std::int64_t x = 0; x < nx; ++x)
        ex[static_cast<std::size_t>(x)] = turned(-k(0, m) * position(0, x));
      Value sum = 0;
      for (std::int64_t z = 0, p = 0; z < nz; ++z) {
        const Value ez = turned(-k(2, m) * position(2, z));
        for (std::int64_t y = 0; y < ny; ++y) {
          sum += row_sum(ex, coil, p, m) * turned(-k(1, m) * position(1, y)) * ez;
          p += nx;
        }
      }
      errors[i] = std::norm(value_of(e_.predicted[coil * samples_ + m]) - sum);
    }
    double total = 0;
    for (const double error : errors) total += error;
    c.samples = static_cast<std::int64_t>(chosen.size());
    c.forward_error =
        std::sqrt(total / static_cast<double>(chosen.size())) / positive(root_mean_square(e_.predicted));
  }

  /// sum over the voxels of a row, from voxel p on, of S_c rho exp(-i omega t_m) ex.
  Value row_sum(const std::vector<Value>& ex, std::int64_t coil, std::int64_t p, std::int64_t m) const {
    double re = 0, im = 0;
    for (const Value& of_x : ex) {
      const Value s = map(coil, p), rho = value_of(e_.image[p]);
      Value e = of_x;
      if (e_.field_map) e *= turned(-off_resonance(p, m));
      // Written out: the product of std::complex looks for infinities.
      const double v_re = s.real() * rho.real() - s.imag() * rho.imag(),
                   v_im = s.real() * rho.imag() + s.imag() * rho.real();
      re += v_re * e.real() - v_im * e.imag();
      im += v_re * e.imag() + v_im * e.real();
      ++p;
    }
    return {re, im};
  }

  const VerifierInput<T>& e_;
  std::int64_t samples_, coils_;
  double work_ = 0;
  std::int64_t fewest_ = fewest;
  std::mt19937_64 generator_{20081121};
  std::array<std::vector<std::int64_t>, 3> index_;
};

class CertificateVerifier final : public Verifier {
 public:
  Certificate verify(const VerifierInput<float>& input) const override { return check(input); }
  Certificate verify(const VerifierInput<double>& input) const override { return check(input); }
  std::optional<Verdict> judge(const VerifierInput<float>& input) const override {
    return validation::judge(input);
  }
  std::optional<Verdict> judge(const VerifierInput<double>& input) const override {
    return validation::judge(input);
  }
  /// What the budget is good for, `fewest` ... `most` voxels and samples.
  double expected_seconds(const VerifierSizes& sizes) const override {
    const double sets = sizes.solved ? 2 : 1;
    const double budget = std::max(least_certificate_budget_s, 0.05 * sizes.elapsed_s) * multiply_adds_per_s *
                          sizes.threads / sets;
    const auto checked = [&](double cost) {
      return std::clamp(budget / cost, static_cast<double>(fewest), static_cast<double>(most)) * cost;
    };
    constexpr double voxel_rate = 8e8, sample_rate = 5e8;  // multiply-adds/s of one thread, measured
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
