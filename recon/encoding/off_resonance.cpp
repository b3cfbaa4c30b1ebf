#include "recon/encoding/off_resonance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/encoding/sense.hpp"

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

/// Least-squares weights for the frequencies given; see time_segments.
TimeSegments fit(const std::vector<double>& frequencies, const Array<double>& sample_time_s,
                 double accuracy) {
  if (!(accuracy >= 1e-6 && accuracy <= 0.1))
    throw Error("accuracy of the time segments", "1e-6 ... 0.1", std::to_string(accuracy));
  // Readouts repeat their times: each distinct time is fitted once.
  std::vector<double> times(sample_time_s.begin(), sample_time_s.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const double begin = times.front(), duration = times.back() - begin;
  const auto [low, high] = std::minmax_element(frequencies.begin(), frequencies.end());
  const double turns = (*high - *low) * duration / (2 * std::numbers::pi);

  constexpr int most_segments = 256;
  const auto time_count = static_cast<std::int64_t>(times.size());
  TimeSegments segments;
  Array<Phasor> weights;  // [segment][distinct time]
  for (int count = static_cast<int>(turns) + 1;; ++count) {
    if (count > most_segments)
      throw Error("off-resonance", "a map and readout that 256 time segments can follow",
                  std::to_string(turns) + " turns between the slowest and the fastest voxel",
                  "check the unit of the field map (rad/s) and of the sample times (s)");
    segments.time_s.clear();
    for (int l = 0; l < count; ++l)
      segments.time_s.push_back(count == 1 ? begin + duration / 2 : begin + duration * l / (count - 1));

    // Normal equations G b(t) = g(t), G_ll' = sum exp(i omega (tau_l - tau_l')), g_l(t) = sum exp(i omega
    // (tau_l - t)), solved through the eigenvectors of G: its smallest eigenvalues vanish as the segments get
    // dense.
    Array<Phasor> gram(Shape{count, count});
    for (int l = 0; l < count; ++l)
      for (int other = 0; other < count; ++other)
        for (double omega : frequencies)
          gram[l * count + other] += phasor(omega * (segments.time_s[l] - segments.time_s[other]));
    const auto eigen = hermitian_eigen(gram);
    weights = Array<Phasor>(Shape{count, time_count});
    double error = 0;
#pragma omp parallel for schedule(static) reduction(max : error)
    for (std::int64_t i = 0; i < time_count; ++i) {
      std::vector<Phasor> right(count), solution(count);
      for (double omega : frequencies)
        for (int l = 0; l < count; ++l) right[l] += phasor(omega * (segments.time_s[l] - times[i]));
      for (int j = 0; j < count; ++j) {
        if (eigen.values[j] < 1e-13 * eigen.values[0]) break;
        const Phasor* vector = eigen.vectors.data() + std::int64_t{j} * count;
        Phasor projection;
        for (int l = 0; l < count; ++l) projection += conj(vector[l]) * right[l];
        for (int l = 0; l < count; ++l) solution[l] += (1 / eigen.values[j]) * (projection * vector[l]);
      }
      for (double omega : frequencies) {
        Phasor sum = phasor(-omega * times[i]);
        for (int l = 0; l < count; ++l) sum -= solution[l] * phasor(-omega * segments.time_s[l]);
        error = std::max(error, std::sqrt(norm(sum)));
      }
      for (int l = 0; l < count; ++l) weights.data()[l * time_count + i] = solution[l];
    }
    segments.error = error;
    if (error <= accuracy) break;
  }

  const std::int64_t samples = sample_time_s.size(),
                     count = static_cast<std::int64_t>(segments.time_s.size());
  segments.weights = Array<Phasor>(Shape{count, samples});
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto at = std::lower_bound(times.begin(), times.end(), sample_time_s.data()[m]) - times.begin();
    for (std::int64_t l = 0; l < count; ++l)
      segments.weights.data()[l * samples + m] = weights.data()[l * time_count + at];
  }
  return segments;
}

/// values[coil][sample] weight[sample] or its conjugate. Host arrays.
template <class T>
void multiply_samples(Array<Complex<T>>& values, const Complex<double>* weights, bool conjugate) {
  const std::int64_t samples = values.extent(1);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const Complex<T> w(weights[i % samples]);
    values.data()[i] = (conjugate ? conj(w) : w) * values.data()[i];
  }
}

template <class T>
class OffResonanceEncoding final : public Encoding<T> {
 public:
  OffResonanceEncoding(const std::shared_ptr<const FourierTransform<T>>& transform,
                       const Array<Complex<T>>& maps, const Array<float>& field_map,
                       const TimeSegments& segments)
      : transform_(transform), weights_(segments.weights) {
    if (weights_.extent(1) != transform->sample_count())
      throw Error("off-resonance", std::to_string(transform->sample_count()) + " sample times",
                  std::to_string(weights_.extent(1)));
    for (double time : segments.time_s)
      segments_.push_back(std::make_unique<SenseEncoding<T>>(transform, maps_at_time(maps, field_map, time)));
  }
  Shape domain() const override { return segments_.front()->domain(); }
  Shape range() const override { return segments_.front()->range(); }
  Device device() const override { return segments_.front()->device(); }

  void forward(const Array<Complex<T>>& image, Array<Complex<T>>& samples) const override {
    forward_through(*transform_, image, samples);
  }

  void forward_through(const FourierTransform<T>& transform, const Array<Complex<T>>& image,
                       Array<Complex<T>>& samples) const override {
    Array<Complex<T>> term(range(), device()), sum(range());
    for (std::size_t l = 0; l < segments_.size(); ++l) {
      segments_[l]->forward_through(transform, image, term);
      Array<Complex<T>> host = term.to(Device::cpu());
      multiply_samples(host, segment_weights(l), false);
      add_scaled(sum, T(1), host);
    }
    copy(sum.to(device()), samples);
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& image) const override {
    Array<Complex<T>> term(domain(), device());
    const Array<Complex<T>> host = samples.to(Device::cpu());
    image.fill_zero();
    for (std::size_t l = 0; l < segments_.size(); ++l) {
      Array<Complex<T>> weighted = host;
      multiply_samples(weighted, segment_weights(l), true);
      segments_[l]->adjoint(weighted.to(device()), term);
      add_scaled(image, T(1), term);
    }
  }

 private:
  const Complex<double>* segment_weights(std::size_t l) const {
    return weights_.data() + static_cast<std::int64_t>(l) * weights_.extent(1);
  }

  std::shared_ptr<const FourierTransform<T>> transform_;
  std::vector<std::unique_ptr<SenseEncoding<T>>> segments_;
  Array<Complex<double>> weights_;  // [segment][sample], in host memory
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
Array<Complex<T>> maps_at_time(const Array<Complex<T>>& maps, const Array<float>& field_map, double time_s) {
  Array<Complex<T>> result = maps.to(Device::cpu());
  const std::int64_t voxels = field_map.size();
  if (result.size() % voxels != 0 || result.shape().rank() != 4)
    throw Error("field map", "the voxels of the sensitivity maps " + result.shape().text(),
                field_map.shape().text());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.data()[i] =
        Complex<T>(phasor(-static_cast<double>(field_map.data()[i % voxels]) * time_s)) * result.data()[i];
  return result.to(maps.device());
}

template <class T>
SumOfOperators<T>::SumOfOperators(std::vector<std::unique_ptr<HermitianOperator<T>>> terms)
    : terms_(std::move(terms)) {
  if (terms_.empty()) throw Error("sum of operators", "at least one", "none");
  term_ = Array<Complex<T>>(domain(), device());
}
template <class T>
void SumOfOperators<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  terms_.front()->forward(in, out);
  for (std::size_t i = 1; i < terms_.size(); ++i) {
    terms_[i]->forward(in, term_);
    add_scaled(out, T(1), term_);
  }
}

template <class T>
std::shared_ptr<const Encoding<T>> make_off_resonance_encoding(
    const std::shared_ptr<const FourierTransform<T>>& transform, const Array<Complex<T>>& maps,
    const Array<float>& field_map, const TimeSegments& segments) {
  return std::make_shared<OffResonanceEncoding<T>>(transform, maps, field_map, segments);
}

#define FHD_INSTANTIATE(T)                                                                              \
  template std::shared_ptr<const Encoding<T>> make_off_resonance_encoding<T>(                           \
      const std::shared_ptr<const FourierTransform<T>>&, const Array<Complex<T>>&, const Array<float>&, \
      const TimeSegments&);                                                                             \
  template Array<Complex<T>> maps_at_time<T>(const Array<Complex<T>>&, const Array<float>&, double);    \
  template class SumOfOperators<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
