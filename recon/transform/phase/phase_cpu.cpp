// Phase sums on the CPU. Phases are formed in double whatever T is: a single-precision sum of 300 rad would err by 1e-5 rad,
// and the fraction of a turn that is left is exact to 1e-14. Sine and cosine are polynomials on whole vectors
// (phase_kernels_cpu.cpp) in T, shared by all coils.
//
// Every group of targets belongs to one thread, which adds the sources in one order; sums in T are handed over to double after
// `chunk` sources. So results do not depend on the number of threads, and the rounding of sums stays below 1e-6 (2e-15).
#include <omp.h>

#include <algorithm>
#include <numbers>

#include "recon/array/parallel_failure.hpp"
#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/phase/phase_kernels_cpu.hpp"

namespace fhd {
namespace {

using phase_cpu::tile;

constexpr int chunk = phase_cpu_chunk;
constexpr std::int64_t tiles_of_group = phase_cpu_targets / tile;
static_assert(chunk % tile == 0 && phase_cpu_targets % tile == 0);

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The factors of voxels, or samples: turns [tile][term][16] and decay [tile][16], zero beyond the last.
struct Side {
  std::int64_t count;
  Array<double> turns, decay;

  Side(const Array<double>& factors, double scale, const Array<double>& of_decay)
      : count(factors.extent(1)), turns({ceil_div(count, tile), factors.extent(0), tile}) {
    const std::int64_t terms = factors.extent(0);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t term = 0; term < terms; ++term)
        turns[(i / tile * terms + term) * tile + i % tile] = scale * factors[term * count + i];
    if (of_decay.empty()) return;
    decay = Array<double>(Shape{ceil_div(count, tile) * tile});
    std::copy(of_decay.begin(), of_decay.end(), decay.begin());
  }
  std::int64_t tiles() const { return turns.extent(0); }
  int terms() const { return static_cast<int>(turns.extent(1)); }
};

/// Holds a thread's values for a group of targets: values [source][coil] of a chunk, sums [coil][re, im][16] of a tile and totals
/// [tile][coil][re, im][16] of the group.
template <class T>
struct Scratch {
  explicit Scratch(std::int64_t coils)
      : values({chunk, coils}), sums({coils, 2, tile}), totals({tiles_of_group, coils, 2, tile}) {}
  Array<Complex<T>> values;
  Array<T> sums;
  Array<double> totals;
};

/// The sums over all sources for the targets of a group, of values [coil][source] into results [coil][target].
/// is_conjugate: with exp(-i phi), by conjugating values and results.
template <class T>
struct GroupSum {
  const Side& targets;
  const Side& sources;
  std::int64_t coils;
  bool is_conjugate;
  const Complex<T>* values;
  Complex<T>* results;

  void run(std::int64_t first_tile, std::int64_t tile_count, Scratch<T>& own) const {
    own.totals.fill_zero();
    for (std::int64_t source = 0; source < sources.count; source += chunk) {
      const std::int64_t count = std::min<std::int64_t>(chunk, sources.count - source);
      load_values(source, count, own);
      for (std::int64_t t = 0; t < tile_count; ++t) add_chunk(first_tile + t, source, count, own, t);
    }
    for (std::int64_t t = 0; t < tile_count; ++t) store(first_tile + t, own, t);
  }

 private:
  static std::int64_t padded(std::int64_t count) {
    return ceil_div(count, phase_cpu::source_step) * phase_cpu::source_step;
  }
  void load_values(std::int64_t source, std::int64_t count, Scratch<T>& own) const {
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const Complex<T>* from = values + coil * sources.count + source;
      for (std::int64_t i = 0; i < count; ++i)
        own.values[i * coils + coil] = is_conjugate ? conj(from[i]) : from[i];
    }
    std::fill(own.values.begin() + count * coils, own.values.begin() + padded(count) * coils, Complex<T>());
  }
  void add_chunk(std::int64_t target_tile, std::int64_t source, std::int64_t count, Scratch<T>& own,
                 std::int64_t of_group) const {
    const bool decays = !targets.decay.empty();
    const std::int64_t tile_size = std::int64_t{targets.terms()} * tile;
    own.sums.fill_zero();
    phase_cpu::kernels<T>().add_sources(
        {targets.terms(), static_cast<int>(coils), static_cast<int>(padded(count)),
         targets.turns.data() + target_tile * tile_size, sources.turns.data() + source / tile * tile_size,
         decays ? targets.decay.data() + target_tile * tile : nullptr,
         decays ? sources.decay.data() + source : nullptr, own.values.data(), own.sums.data()});
    double* totals = own.totals.data() + of_group * own.sums.size();
    for (std::int64_t i = 0; i < own.sums.size(); ++i) totals[i] += static_cast<double>(own.sums[i]);
  }
  void store(std::int64_t target_tile, const Scratch<T>& own, std::int64_t of_group) const {
    const std::int64_t first = target_tile * tile,
                       count = std::min<std::int64_t>(tile, targets.count - first);
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const double* totals = own.totals.data() + (of_group * coils + coil) * 2 * tile;
      for (std::int64_t i = 0; i < count; ++i) {
        const Complex<T> sum(static_cast<T>(totals[i]), static_cast<T>(totals[tile + i]));
        results[coil * targets.count + first + i] = is_conjugate ? conj(sum) : sum;
      }
    }
  }
};

template <class T>
class PhaseTransformCpu final : public FourierTransform<T> {
 public:
  PhaseTransformCpu(const PhaseTerms& terms, std::array<int, 3> matrix_size)
      : FourierTransform<T>(matrix_size, terms.coefficients.extent(1), Device::cpu()),
        cost_({matrix_size, {terms.coefficients.extent(1)}, precision_of<T>(), Device::cpu()},
              static_cast<double>(sizeof(double)) *
                  static_cast<double>(terms.coefficients.extent(0) + (terms.decay_per_s.empty() ? 0 : 1))),
        voxels_(terms.basis, 1, terms.decay_per_s),
        samples_(terms.coefficients, 1 / (2 * std::numbers::pi),
                 terms.decay_per_s.empty() ? Array<double>() : terms.sample_time_s) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    sum(samples_, voxels_, coils, true, images.data(), samples.data());
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    sum(voxels_, samples_, coils, false, samples.data(), images.data());
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  static void sum(const Side& targets, const Side& sources, std::int64_t coil_count, bool is_conjugate,
                  const Complex<T>* values, Complex<T>* results) {
    for (std::int64_t coil = 0; coil < coil_count; coil += phase_cpu_coils) {
      const std::int64_t coils = std::min(phase_cpu_coils, coil_count - coil);
      const GroupSum<T> group{targets,
                              sources,
                              coils,
                              is_conjugate,
                              values + coil * sources.count,
                              results + coil * targets.count};
      ParallelFailure failure;
#pragma omp parallel
      {
        auto own = failure.made_by([&] { return Scratch<T>(coils); });
#pragma omp for schedule(dynamic)
        for (std::int64_t first = 0; first < targets.tiles(); first += tiles_of_group)
          if (own)
            failure.guard([&] { group.run(first, std::min(tiles_of_group, targets.tiles() - first), *own); });
      }
      failure.rethrow();
    }
  }

  PhaseCost cost_;
  Side voxels_, samples_;
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cpu(const PhaseTerms& terms,
                                                              std::array<int, 3> matrix_size) {
  return std::make_unique<PhaseTransformCpu<T>>(terms, matrix_size);
}
template std::unique_ptr<FourierTransform<float>> make_phase_transform_cpu<float>(const PhaseTerms&,
                                                                                  std::array<int, 3>);
template std::unique_ptr<FourierTransform<double>> make_phase_transform_cpu<double>(const PhaseTerms&,
                                                                                    std::array<int, 3>);

}  // namespace fhd
