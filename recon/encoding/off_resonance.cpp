#include "recon/encoding/off_resonance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

using Phasor = Complex<double>;
Phasor phasor(double angle) { return {std::cos(angle), std::sin(angle)}; }

/// The frequencies that occur, as centres of bins narrow enough for the accuracy, each counted once: a small
/// hot spot of the map is fitted as well as its large background.
std::vector<double> occupied_frequencies(const Array<float>& field_map, double& bin_width) {
  constexpr int bins = 256;
  const auto [low, high] = std::minmax_element(field_map.begin(), field_map.end());
  bin_width = (static_cast<double>(*high) - *low) / bins;
  if (bin_width == 0) return {*low};
  std::vector<bool> occupied(bins + 1);
  for (float omega : field_map)
    occupied[static_cast<std::size_t>(std::rint((static_cast<double>(omega) - *low) / bin_width))] = true;
  std::vector<double> frequencies;
  for (int bin = 0; bin <= bins; ++bin)
    if (occupied[bin]) frequencies.push_back(*low + bin * bin_width);
  return frequencies;
}

/// Equidistant tau_l over the readout; one of them in its middle.
std::vector<double> equidistant(double begin, double duration, int count) {
  std::vector<double> time_s;
  for (int l = 0; l < count; ++l)
    time_s.push_back(count == 1 ? begin + duration / 2 : begin + duration * l / (count - 1));
  return time_s;
}

/// Least-squares weights [segment][time] of segments at tau for the frequencies given, and the largest error.
/// Normal equations G b(t) = g(t),
///
///     G_ll' = sum exp(i omega (tau_l - tau_l')),   g_l(t) = sum exp(i omega (tau_l - t)),
///
/// solved through the eigenvectors of G: its smallest eigenvalues vanish as the segments get dense.
Array<Phasor> fitted_weights(const std::vector<double>& frequencies, const std::vector<double>& times,
                             const std::vector<double>& tau, double& error) {
  const auto count = static_cast<std::int64_t>(tau.size()),
             time_count = static_cast<std::int64_t>(times.size());
  Array<Phasor> gram(Shape{count, count}), weights(Shape{count, time_count});
  for (std::int64_t l = 0; l < count; ++l)
    for (std::int64_t other = 0; other < count; ++other)
      for (double omega : frequencies) gram[l * count + other] += phasor(omega * (tau[l] - tau[other]));
  const auto eigen = hermitian_eigen(gram);
  /// The error of one time, whose weights it sets.
  const auto fit = [&](std::int64_t i) {
    std::vector<Phasor> right(count), solution(count);
    for (double omega : frequencies)
      for (std::int64_t l = 0; l < count; ++l) right[l] += phasor(omega * (tau[l] - times[i]));
    for (std::int64_t j = 0; j < count && eigen.values.data()[j] >= 1e-13 * eigen.values.data()[0]; ++j) {
      const Phasor* vector = eigen.vectors.data() + j * count;
      Phasor projection;
      for (std::int64_t l = 0; l < count; ++l) projection += conj(vector[l]) * right[l];
      const double inverse = 1 / eigen.values.data()[j];
      for (std::int64_t l = 0; l < count; ++l) solution[l] += inverse * (projection * vector[l]);
    }
    double worst = 0;
    for (double omega : frequencies) {
      Phasor sum = phasor(-omega * times[i]);
      for (std::int64_t l = 0; l < count; ++l) sum -= solution[l] * phasor(-omega * tau[l]);
      worst = std::max(worst, std::sqrt(norm(sum)));
    }
    for (std::int64_t l = 0; l < count; ++l) weights.data()[l * time_count + i] = solution[l];
    return worst;
  };
  double largest = 0;
  ParallelFailure failure;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::int64_t i = 0; i < time_count; ++i) failure.guard([&] { largest = std::max(largest, fit(i)); });
  failure.rethrow();
  error = largest;
  return weights;
}

/// The fewest segments for the frequencies given; see time_segments.
TimeSegments fit(const std::vector<double>& frequencies, const Array<double>& sample_time_s,
                 double accuracy) {
  // Readouts repeat their times: each distinct time is fitted once.
  std::vector<double> times(sample_time_s.begin(), sample_time_s.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const double begin = times.front(), duration = times.back() - begin;
  const auto [low, high] = std::minmax_element(frequencies.begin(), frequencies.end());
  const double turns = (*high - *low) * duration / (2 * std::numbers::pi);

  constexpr int most_segments = 256;
  TimeSegments segments;
  Array<Phasor> weights;  // [segment][distinct time]
  for (int count = static_cast<int>(turns) + 1; weights.empty() || !(segments.error <= accuracy); ++count) {
    if (count > most_segments)
      throw Error("off-resonance", "a map and readout that 256 time segments can follow",
                  std::to_string(turns) + " turns between the slowest and the fastest voxel",
                  "check the unit of the field map (rad/s) and of the sample times (s)");
    segments.time_s = equidistant(begin, duration, count);
    weights = fitted_weights(frequencies, times, segments.time_s, segments.error);
  }

  const auto samples = sample_time_s.size(), count = static_cast<std::int64_t>(segments.time_s.size()),
             time_count = static_cast<std::int64_t>(times.size());
  segments.weights = Array<Phasor>(Shape{count, samples});
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto at = std::lower_bound(times.begin(), times.end(), sample_time_s.data()[m]) - times.begin();
    for (std::int64_t l = 0; l < count; ++l)
      segments.weights.data()[l * samples + m] = weights.data()[l * time_count + at];
  }
  return segments;
}

/// exp(-i omega time) [z][y][x], of a map on the device.
template <class T>
void turn_at_time(const Array<float>& field_map, double time_s, Complex<T>* turn) {
  for_each_with_coils(field_map.device(), field_map.size(), TurnAtTime<T>{field_map.data(), time_s, turn});
}

template <class T>
class OffResonanceEncoding final : public Encoding<T> {
 public:
  OffResonanceEncoding(std::shared_ptr<const SenseEncoding<T>> sense, const Array<float>& field_map,
                       const TimeSegments& segments)
      : sense_(std::move(sense)),
        segments_(static_cast<std::int64_t>(segments.time_s.size())),
        turns_(Shape{segments_, field_map.size()}, sense_->device()),
        weights_(converted<Complex<T>>(segments.weights).to(sense_->device())),
        term_(sense_->range(), sense_->device()) {
    const Array<float> omega = field_map.to(device());
    for (std::int64_t l = 0; l < segments_; ++l)
      turn_at_time(omega, segments.time_s[l], turns_.data() + l * omega.size());
  }
  Shape domain() const override { return sense_->domain(); }
  Shape range() const override { return sense_->range(); }
  Device device() const override { return sense_->device(); }
  const FourierTransform<T>& transform() const override { return sense_->transform(); }

  // samples = sum over l of diag(b_l) F S exp(-i omega tau_l) image
  void forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& image,
                       Array<Complex<T>>& samples) const override {
    samples.fill_zero();
    for (std::int64_t l = 0; l < segments_; ++l) {
      sense_->encode(transform, turn(l), image, term_);
      for_each_with_coils(
          device(), range()[1],
          WeightSamples<T, false>{weights(l), term_.data(), term_.size(), range()[1], samples.data()});
    }
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const override {
    image.fill_zero();
    for (std::int64_t l = 0; l < segments_; ++l) {
      for_each_with_coils(
          device(), range()[1],
          WeightSamples<T, true>{weights(l), samples.data(), term_.size(), range()[1], term_.data()});
      sense_->combine(sense_->transform(), term_, turn(l), true, image);
    }
  }

 private:
  const Complex<T>* turn(std::int64_t l) const { return turns_.data() + l * turns_.extent(1); }
  const Complex<T>* weights(std::int64_t l) const { return weights_.data() + l * weights_.extent(1); }

  std::shared_ptr<const SenseEncoding<T>> sense_;
  std::int64_t segments_;
  Array<Complex<T>> turns_;         ///< exp(-i omega tau_l), [segment][voxel]
  Array<Complex<T>> weights_;       ///< b_l(t_m), [segment][sample]
  mutable Array<Complex<T>> term_;  ///< samples of one segment
};

}  // namespace

TimeSegments time_segments(const Array<float>& field_map, const Array<double>& sample_time_s,
                           double accuracy) {
  double bin_width = 0;
  return fit(occupied_frequencies(field_map, bin_width), sample_time_s, accuracy);
}

TimeSegments difference_time_segments(const Array<float>& field_map, const Array<double>& sample_time_s,
                                      double accuracy) {
  double bin_width = 0;
  const auto frequencies = occupied_frequencies(field_map, bin_width);
  // All differences of occupied bins lie on the same bins: symmetric about 0, so that the weights come out
  // real.
  std::vector<double> differences;
  const int reach = bin_width == 0
                        ? 0
                        : static_cast<int>(std::rint((frequencies.back() - frequencies.front()) / bin_width));
  for (int bin = -reach; bin <= reach; ++bin) differences.push_back(bin * bin_width);
  TimeSegments segments = fit(differences, sample_time_s, accuracy);
  for (auto& w : segments.weights) w.im = 0;
  return segments;
}

template <class T>
std::shared_ptr<const Encoding<T>> make_off_resonance_encoding(std::shared_ptr<const SenseEncoding<T>> sense,
                                                               const Array<float>& field_map,
                                                               const TimeSegments& segments) {
  return std::make_shared<OffResonanceEncoding<T>>(std::move(sense), field_map, segments);
}

template <class T>
std::shared_ptr<const TurnedMaps<T>> turned_maps(const Array<Complex<T>>& maps, const Array<float>& field_map,
                                                 const TimeSegments& differences) {
  const Array<float> omega = field_map.to(maps.device());
  Array<Complex<T>> turn(Shape{maps.extent(1), maps.extent(2), maps.extent(3)}, maps.device());
  TurnedMaps<T> turned;
  for (const double time_s : differences.time_s) {
    turn_at_time(omega, time_s, turn.data());
    apply_maps(turn, maps, turned.emplace_back(maps.shape(), maps.device()));
  }
  return std::make_shared<const TurnedMaps<T>>(std::move(turned));
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> make_off_resonance_normal(
    const std::function<Array<Complex<T>>(const Array<double>&)>& point_spread,
    std::shared_ptr<const TurnedMaps<T>> maps, const TimeSegments& differences, std::int64_t coils_at_once) {
  const std::int64_t samples = differences.weights.extent(1);
  std::vector<std::unique_ptr<HermitianOperator<T>>> terms;  // which see the maps
  for (std::size_t l = 0; l < differences.time_s.size(); ++l) {
    Array<double> weights(Shape{samples});
    for (std::int64_t m = 0; m < samples; ++m)
      weights[m] = differences.weights[static_cast<std::int64_t>(l) * samples + m].re;
    const Array<Complex<T>>& of_segment = (*maps)[l];
    terms.push_back(make_toeplitz_normal<T>(point_spread(weights), one_of(of_segment, of_segment.shape(), 0),
                                            coils_at_once));
  }
  const Shape image = terms.front()->domain();
  const Device device = terms.front()->device();
  return hermitian_operator<T>(image, device,
                               [maps = std::move(maps), terms = std::move(terms),
                                term = Array<Complex<T>>(image, device)](const auto& in, auto& out) mutable {
                                 terms.front()->forward(in, out);
                                 for (std::size_t i = 1; i < terms.size(); ++i) {
                                   terms[i]->forward(in, term);
                                   add_scaled(out, T(1), term);
                                 }
                               });
}

OperatorCost off_resonance_cost(const TransformCost& transform, const TransformSizes& sizes,
                                std::int64_t coils, std::int64_t coils_at_once, int segments) {
  // sin and cos in double, of a voxel at the time of a segment, take about as long as copying so many bytes.
  constexpr double turn = 128;
  const OperatorCost sense = sense_cost(transform, sizes, coils, coils_at_once);
  const double element = bytes_of_complex(sizes.precision), image = image_bytes(sizes),
               weights = element * sizes.samples.all, samples = weights * coils,
               held = segments * (image + weights) + samples, voxels = image / element;
  OperatorCost cost;
  cost.making = Work(WorkUnit::byte, held) + segments * written_pass(turn * voxels);
  cost.forward = segments * (sense.forward + written_pass(samples));
  cost.adjoint = segments * (written_pass(samples) + sense.adjoint);
  cost.bytes = whole_bytes(held);
  cost.making_bytes = whole_bytes(4 * voxels);  // the field map, in float
  cost.scratch_bytes = sense.scratch_bytes;
  return cost;
}

#define FHD_INSTANTIATE(T)                                                                                 \
  template std::shared_ptr<const Encoding<T>> make_off_resonance_encoding<T>(                              \
      std::shared_ptr<const SenseEncoding<T>>, const Array<float>&, const TimeSegments&);                  \
  template std::shared_ptr<const TurnedMaps<T>> turned_maps<T>(const Array<Complex<T>>&,                   \
                                                               const Array<float>&, const TimeSegments&);  \
  template std::shared_ptr<const HermitianOperator<T>> make_off_resonance_normal<T>(                       \
      const std::function<Array<Complex<T>>(const Array<double>&)>&, std::shared_ptr<const TurnedMaps<T>>, \
      const TimeSegments&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
