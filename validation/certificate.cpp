#include "validation/certificate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include "recon/array/thread_limit.hpp"
#include "validation/exact_sums.hpp"
#include "validation/verdict/centre_model.hpp"
#include "validation/verdict/verdict.hpp"

namespace fhd::validation {
namespace {

/// Complex multiply-adds of a check of F^H, and of one of F: as many as a thread does in a few milliseconds. Of n places that
/// errors are spread over evenly, the root mean square is known to 1 / (2 sqrt(n)) of itself: 17 % with the fewest.
constexpr double multiply_adds = 1.2e7;
// A sine and a cosine in double precision cost as much as this many multiply-adds.
constexpr double sine_cost = 12;
constexpr std::int64_t fewest = 9, most = 256;
/// Places in all combinations.
constexpr std::int64_t fewest_combined = 9 * combinations, most_combined = 32 * combinations;

/// Returns as many places, each of so many multiply-adds, as the work allows within these limits.
std::int64_t place_count(double work, double cost, std::int64_t at_least, std::int64_t at_most) {
  return static_cast<std::int64_t>(
      std::clamp(work / cost, static_cast<double>(at_least), static_cast<double>(at_most)));
}

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

/// Returns a sub-grid of random voxels, at most so many.
VoxelIndices random_voxels(const std::array<std::int64_t, 3>& size, bool has_two_sets, std::int64_t wanted,
                           std::mt19937_64& generator) {
  std::array<std::int64_t, 3> count{1, 1, has_two_sets ? std::min<std::int64_t>(size[2], 2) : 1};
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t product = count[0] * count[1] * count[2];
      if (count[axis] < size[axis] && product / count[axis] * (count[axis] + 1) <= wanted)
        ++count[axis], grown = true;
    }
  }
  VoxelIndices index;
  for (std::size_t axis = 0; axis < 3; ++axis)
    index[axis] = random_indices(size[axis], count[axis], generator);
  return index;
}

/// Returns random samples, each of a random coil, sorted by coil, at most so many.
std::vector<Place> random_places(std::int64_t samples, std::int64_t coils, std::int64_t wanted,
                                 std::mt19937_64& generator) {
  std::vector<Place> places;
  for (const auto m : random_indices(samples, wanted, generator)) places.push_back({0, m});
  for (auto& place : places)
    place.coil = static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(coils));
  std::ranges::stable_sort(places, {}, &Place::coil);
  return places;
}

double positive(double x) { return x > 0 ? x : 1; }

/// Returns the root of the mean of `square` of so many values; of none 0.
double root_of_mean(double square, std::int64_t count) {
  return std::sqrt(square / static_cast<double>(std::max<std::int64_t>(count, 1)));
}

/// Returns work(samples), those before rounding where there are.
template <class T, class Work>
auto with_samples(const VerifierInput<T>& e, const Work& work) {
  if constexpr (std::is_same_v<T, double>)
    if (e.samples_in_double) return work(e.samples_in_double);
  return work(e.samples);
}

/// Return products with samples in the unit of the file, in that of the prediction.
InnerProducts in_unit(InnerProducts products, double scale) {
  products.re *= scale, products.im *= scale, products.of_d *= scale * scale;
  return products;
}
CombinedProducts in_unit(CombinedProducts products, double scale) {
  products.own = in_unit(products.own, scale);
  for (auto& product : products.of_d) product *= scale;
  return products;
}

/// The sums over all voxels of an image.
struct VoxelSums {
  InnerProducts image_adjoint;  ///< of rho and E^H d
  double normal = 0;            ///< |E^H E rho|^2
  double residual = 0;          ///< |E^H d - (E^H E + lambda W^H W) rho|^2 with the operators as solved
  VoxelSums& operator+=(const VoxelSums& other) {
    image_adjoint += other.image_adjoint, normal += other.normal, residual += other.residual;
    return *this;
  }
};

template <class T>
VoxelSums voxel_sums(const VerifierInput<T>& e) {
  return sum_of_parts(e.adjoint.size(), VoxelSums{},
                      [&](std::int64_t begin, std::int64_t end, VoxelSums& sums) {
                        const std::int64_t count = end - begin;
                        const auto* adjoint = e.adjoint.data() + begin;
                        if (e.predicted.empty()) {  // a method without a system
                          sums.image_adjoint = inner_products(count, adjoint, adjoint);
                          return;
                        }
                        sums.image_adjoint = inner_products(count, e.image.data() + begin, adjoint);
                        sums.normal = inner_products(count, e.normal.data() + begin, adjoint).of_f;
                        sums.residual = squared_difference(count, adjoint, e.regularized.data() + begin);
                      });
}

/// Returns |<E rho, d> - <rho, E^H d>| / (|E rho| |d|).
double adjointness_of(const InnerProducts& samples, const InnerProducts& voxels) {
  return std::hypot(samples.re - voxels.re, samples.im - voxels.im) /
         positive(std::sqrt(samples.of_f * samples.of_d));
}

/// `error` becomes the larger of both; NaN where one is.
void take_larger(double other, double& error) {
  if (!(other <= error)) error = error == error ? other : error;
}

/// Returns whether the largest error of a single place is no more than errors of the size asked for would leave: of some 60
/// complex normal errors one in 1e9 checks exceeds five times their root mean square (60 e^-25).
bool worst_holds(const Certificate& c) {
  constexpr double of_rms = 5;
  return c.worst_error <= of_rms * c.requested;
}

/// Fills the true residual, from that of the operators as solved, which the solver must know, and how far the exact sums are
/// from it; decides whether the certificate passes.
void conclude(double found, double overlooked, Certificate& c) {
  c.true_residual = found + overlooked;
  const bool residual_holds =
      found <= 2 * c.solver_residual + 3 * c.requested && overlooked <= 3 * c.requested;
  c.passed = std::isfinite(c.error()) && std::isfinite(c.true_residual) && c.error() <= c.requested &&
             residual_holds && worst_holds(c);
}

/// Checks the operators with one volume, at voxels and samples.
template <class T>
class Check {
 public:
  explicit Check(const VerifierInput<T>& input)
      : e_(input),
        exact_(input),
        samples_(input.trajectory.sample_count()),
        coils_(input.coil_count),
        voxels_(voxel_sums(input)) {
    const double sets = e_.predicted.empty() ? 1 : 2;
    const double cost =
        static_cast<double>(samples_) * (sets * static_cast<double>(coils_) + 1 + cost_of_others());
    index_ = random_voxels({e_.matrix_size[0], e_.matrix_size[1], exact_.planes()}, e_.second_maps != nullptr,
                           place_count(multiply_adds, cost, fewest, most), generator_);
  }

  Certificate operator()() {
    Certificate c;
    c.requested = e_.requested;
    c.solver_residual = e_.solver_residual;
    c.voxels = count_of(index_);
    const bool solved = !e_.predicted.empty();
    const auto sums = exact_.adjoint(index_, solved ? 2 : 1);
    const double scale = positive(root_of_mean(voxels_.image_adjoint.of_d, e_.adjoint.size()));
    c.adjoint_error = difference(e_.adjoint, sums[0]) / scale;
    const double normal_scale = solved ? positive(root_of_mean(voxels_.normal, e_.normal.size())) : 1;
    if (exact_.others().are_any()) look_at_worst_voxels(sums, scale, normal_scale, c);
    if (!solved) {
      c.passed = std::isfinite(c.error()) && c.error() <= c.requested && worst_holds(c);
      return c;
    }
    c.normal_error = difference(e_.normal, sums[1]) / normal_scale;
    const auto samples = sum_of_parts(
        e_.predicted.size(), InnerProducts{}, [&](std::int64_t begin, std::int64_t end, InnerProducts& sum) {
          sum = with_samples(e_, [&](const auto* d) {
            return inner_products(end - begin, e_.predicted.data() + begin, d + begin);
          });
        });
    c.adjointness = adjointness_of(in_unit(samples, e_.sample_scale), voxels_.image_adjoint);
    forward(root_of_mean(samples.of_f, e_.predicted.size()), c);
    conclude(root_of_mean(voxels_.residual, e_.adjoint.size()) / scale,
             residual_difference(sums[0], sums[1]) / scale, c);
    return c;
  }

 private:
  /// Returns the multiply-adds that the phases beside k . r of a voxel and a sample cost.
  double cost_of_others() const {
    return exact_.others().are_any() ? sine_cost + static_cast<double>(exact_.others().term_count()) : 0;
  }

  /// Returns the root mean square of found - expected over the chosen voxels.
  double difference(const Array<Complex<T>>& found, const std::vector<Value>& expected) const {
    double sum = 0;
    exact_.for_each_voxel(index_, [&](std::size_t i, std::int64_t p) {
      sum += std::norm(value_in_double(found[p]) - expected[i]);
    });
    return root_of_mean(sum, std::ssize(expected));
  }

  /// Returns the largest |found - expected| over the voxels at `index`; NaN where one is.
  double largest_difference(const VoxelIndices& index, const Array<Complex<T>>& found,
                            const std::vector<Value>& expected) const {
    double largest = 0;
    exact_.for_each_voxel(index, [&](std::size_t i, std::int64_t p) {
      const double error = std::abs(value_in_double(found[p]) - expected[i]);
      if (!(error <= largest)) largest = error;
    });
    return largest;
  }

  /// Returns whether a voxel of the first set shows the object: a tenth of the largest magnitude or more.
  std::vector<char> object_voxels() const {
    const auto& image = e_.image.empty() ? e_.adjoint : e_.image;
    const std::int64_t voxels = std::int64_t{e_.matrix_size[0]} * e_.matrix_size[1] * e_.matrix_size[2];
    double largest = 0;
    for (std::int64_t p = 0; p < voxels; ++p)
      largest = std::max(largest, std::norm(value_in_double(image.data()[p])));
    std::vector<char> shows(static_cast<std::size_t>(voxels));
    for (std::int64_t p = 0; p < voxels; ++p)
      shows[static_cast<std::size_t>(p)] = std::norm(value_in_double(image.data()[p])) >= 0.01 * largest;
    return shows;
  }

  /// Checks the voxels where phases beside k . r are approximated worst, besides those of the certificate, whose sums are
  /// `random`; errors are relative to the root mean squares of E^H d and of E^H E rho.
  void look_at_worst_voxels(const std::vector<std::vector<Value>>& random, double adjoint_scale,
                            double normal_scale, Certificate& c) const {
    const auto shows = object_voxels();
    const auto take = [&](const VoxelIndices& index, const std::vector<std::vector<Value>>& sums) {
      take_larger(largest_difference(index, e_.adjoint, sums[0]) / adjoint_scale, c.worst_error);
      if (sums.size() > 1)
        take_larger(largest_difference(index, e_.normal, sums[1]) / normal_scale, c.worst_error);
    };
    take(index_, random);
    const std::int64_t nx = e_.matrix_size[0], ny = e_.matrix_size[1];
    for (const auto p : exact_.others().worst_voxels(e_.matrix_size, [&](std::int64_t voxel) {
           return shows[static_cast<std::size_t>(voxel)] != 0;
         })) {
      const VoxelIndices at{{{p % nx}, {p / nx % ny}, {p / nx / ny}}};
      take(at, exact_.adjoint(at, std::ssize(random)));
      ++c.voxels;
    }
  }

  /// Returns the root mean square, over the chosen voxels, of the difference between the residual with the operators as
  /// solved and the one of the exact sums. A few voxels suffice, because the error of the residual is spread out; the
  /// residual itself is not.
  double residual_difference(const std::vector<Value>& fhd, const std::vector<Value>& normal) const {
    double sum = 0;
    exact_.for_each_voxel(index_, [&](std::size_t i, std::int64_t p) {
      sum += std::norm(fhd[i] - value_in_double(e_.adjoint[p]) - normal[i] + value_in_double(e_.normal[p]));
    });
    return root_of_mean(sum, std::ssize(fhd));
  }

  /// The errors of E rho at places.
  struct Errors {
    double square = 0, largest = 0;  ///< NaN where one is
  };
  Errors errors_at(const std::vector<Place>& places) const {
    const auto sums = exact_.forward(places);
    Errors errors;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double square =
          std::norm(value_in_double(e_.predicted[places[i].coil * samples_ + places[i].sample]) - sums[i]);
      errors.square += square;
      take_larger(std::sqrt(square), errors.largest);
    }
    return errors;
  }

  /// Checks E rho, of this root mean square, at random samples.
  void forward(double scale, Certificate& c) {
    const double cost = static_cast<double>(e_.image.size()) * (2 + cost_of_others());
    const auto places =
        random_places(samples_, coils_, place_count(multiply_adds, cost, fewest, most), generator_);
    c.samples = std::ssize(places);
    const auto errors = errors_at(places);
    c.forward_error = root_of_mean(errors.square, c.samples) / positive(scale);
    if (!exact_.others().are_any()) return;
    take_larger(errors.largest / positive(scale), c.worst_error);
    constexpr std::int64_t most_worst = 8;
    std::vector<Place> worst;
    for (const auto m : exact_.others().worst_samples(most_worst))
      worst.push_back({static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(coils_)), m});
    std::ranges::stable_sort(worst, {}, &Place::coil);
    c.samples += std::ssize(worst);
    take_larger(errors_at(worst).largest / positive(scale), c.worst_error);
  }

  const VerifierInput<T>& e_;
  ExactSums<T> exact_;
  std::int64_t samples_, coils_;
  VoxelSums voxels_;
  std::mt19937_64 generator_{20081121};
  VoxelIndices index_;
};

/// Checks volumes of a series: the operators with the first one, as a volume by itself, and each volume by exact sums that all
/// share. With w random combinations of voxels and u of samples,
///
///     <E w, d> = <w, E^H d>,    <E w, E rho> = <w, E^H E rho>,    <E^H u, rho> = <u, E rho>,
///
/// where E w and E^H u are computed once, in double precision. Random phases make the mean square of the differences that of
/// the errors at the voxels and samples combined, whatever these are.
template <class T>
class SeriesCheck final : public JudgedVolume {
 public:
  explicit SeriesCheck(const VerifierInput<T>& first) : of_first_(Check<T>(first)()) {
    const ExactSums<T> exact(first);
    const std::array<std::int64_t, 3> size{first.matrix_size[0], first.matrix_size[1], exact.planes()};
    const std::int64_t samples = first.trajectory.sample_count(), coils = first.coil_count;
    std::mt19937_64 generator(20090316);
    const auto at_most = [](double cost) {
      return place_count(multiply_adds, cost, fewest_combined, most_combined);
    };
    const auto index = random_voxels(size, first.second_maps != nullptr,
                                     at_most(static_cast<double>(samples * coils)), generator);
    exact.for_each_voxel(index, [&](std::size_t, std::int64_t p) { voxels_.at.push_back(p); });
    voxels_.factors = random_phases(voxels_.at.size(), generator);
    seen_voxels_ = exact.forward_of(index, voxels_.factors);
    const auto places =
        random_places(samples, coils, at_most(static_cast<double>(first.image.size())), generator);
    for (const auto& [coil, sample] : places) samples_.at.push_back(coil * samples + sample);
    samples_.factors = random_phases(places.size(), generator);
    seen_samples_ = exact.adjoint_of(places, samples_.factors);
  }

  Certificate operator()(const VerifierInput<T>& e) const {
    Certificate c = of_first_;
    c.requested = e.requested;
    c.solver_residual = e.solver_residual;
    const auto voxels = voxel_sums(e);
    const auto products = in_unit(products_of_samples(e), e.sample_scale);
    double adjoint = 0, normal = 0, forward = 0, overlooked = 0;
    for (std::int64_t i = 0; i < combinations; ++i) {
      const Value of_d = products.of_d[i] - voxels_.of(e.adjoint, i),
                  of_f = products.of_f[i] - voxels_.of(e.normal, i);
      const auto seen =
          inner_products(e.image.size(), seen_samples_.data() + i * e.image.size(), e.image.data());
      adjoint += std::norm(of_d), normal += std::norm(of_f), overlooked += std::norm(of_d - of_f);
      forward += std::norm(Value(seen.re, seen.im) - samples_.of(e.predicted, i));
    }
    const auto combined = std::ssize(voxels_.at);
    const double scale = positive(root_of_mean(voxels.image_adjoint.of_d, e.adjoint.size()));
    take_larger(root_of_mean(adjoint, combined) / scale, c.adjoint_error);
    take_larger(root_of_mean(normal, combined) / positive(root_of_mean(voxels.normal, e.normal.size())),
                c.normal_error);
    take_larger(root_of_mean(forward, std::ssize(samples_.at)) /
                    positive(root_of_mean(products.own.of_f, e.predicted.size())),
                c.forward_error);
    c.adjointness = adjointness_of(products.own, voxels.image_adjoint);
    conclude(root_of_mean(voxels.residual, e.adjoint.size()) / scale,
             root_of_mean(overlooked, combined) / scale, c);
    return c;
  }

 private:
  /// Values that are combined: value i with factor i in combination i % combinations.
  struct Combined {
    std::vector<std::int64_t> at;
    std::vector<Value> factors;
    /// Returns sum conj(factor) value.
    Value of(const Array<Complex<T>>& values, std::int64_t combination) const {
      Value sum = 0;
      for (auto i = static_cast<std::size_t>(combination); i < at.size(); i += combinations)
        sum += std::conj(factors[i]) * value_in_double(values.data()[at[i]]);
      return sum;
    }
  };

  static std::vector<Value> random_phases(std::size_t count, std::mt19937_64& generator) {
    std::vector<Value> phases(count);
    for (auto& phase : phases)
      phase = std::polar(1.0, 2 * std::numbers::pi * 0x1p-64 * static_cast<double>(generator()));
    return phases;
  }

  CombinedProducts products_of_samples(const VerifierInput<T>& e) const {
    const std::int64_t count = e.predicted.size();
    return sum_of_parts(count, CombinedProducts{},
                        [&](std::int64_t begin, std::int64_t end, CombinedProducts& sums) {
                          sums = with_samples(e, [&](const auto* d) {
                            const auto* seen = seen_voxels_.data() + begin;
                            return combined_products(end - begin, {seen, seen + count},
                                                     e.predicted.data() + begin, d + begin);
                          });
                        });
  }

  Certificate of_first_;
  Combined voxels_, samples_;
  Array<Complex<T>> seen_voxels_;   ///< E w, [combination][coil][sample]
  Array<Complex<T>> seen_samples_;  ///< E^H u, [combination][z][y][x]
};

class CertificateVerifier final : public Verifier {
 public:
  Certificate verify(const VerifierInput<float>& input) const override { return by_itself(input); }
  Certificate verify(const VerifierInput<double>& input) const override { return by_itself(input); }
  std::vector<Certificate> verify(const std::vector<VerifierInput<float>>& inputs,
                                  Kept& kept) const override {
    return checked(inputs, kept);
  }
  std::vector<Certificate> verify(const std::vector<VerifierInput<double>>& inputs,
                                  Kept& kept) const override {
    return checked(inputs, kept);
  }
  std::vector<Verdict> judge(const std::vector<VerifierInput<float>>& inputs, Kept& beside) const override {
    return validation::judge(inputs, beside);
  }
  std::vector<Verdict> judge(const std::vector<VerifierInput<double>>& inputs, Kept& beside) const override {
    return validation::judge(inputs, beside);
  }
  double expected_seconds(const VerifierSizes& sizes) const override {
    const double sets = sizes.solved ? 2 : 1;
    const auto checked = [&](double cost) {
      return cost * static_cast<double>(place_count(multiply_adds, cost, fewest, most));
    };
    constexpr double rate = 3e9;  // multiply-adds/s of one thread, measured
    const double work =
        checked(sizes.samples * (sets * sizes.coils + 1)) + (sizes.solved ? checked(2 * sizes.voxels) : 0);
    return work / rate / sizes.threads;
  }

 private:
  /// Returns check() with the time that it takes.
  static Certificate timed(const std::function<Certificate()>& check) {
    const auto begin = std::chrono::steady_clock::now();
    Certificate certificate = check();
    certificate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return certificate;
  }
  template <class T>
  static Certificate by_itself(const VerifierInput<T>& input) {
    return timed([&] { return Check<T>(input)(); });
  }
  template <class T>
  static std::vector<Certificate> checked(const std::vector<VerifierInput<T>>& inputs, Kept& kept) {
    std::vector<Certificate> certificates(inputs.size());
    if (!kept && !inputs.empty()) kept = std::make_shared<const SeriesCheck<T>>(inputs.front());
    const auto& check = static_cast<const SeriesCheck<T>&>(*kept);
    for_each_in_parallel(inputs.size(),
                         [&](std::size_t v) { certificates[v] = timed([&] { return check(inputs[v]); }); });
    return certificates;
  }
};

}  // namespace

std::shared_ptr<const Verifier> make_verifier() { return std::make_shared<CertificateVerifier>(); }

}  // namespace fhd::validation
