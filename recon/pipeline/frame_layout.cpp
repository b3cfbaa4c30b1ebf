#include "recon/pipeline/frame_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "recon/array/execution.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/array/linear_operator.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"

namespace fhd {

namespace {

template <class Subject>
std::int64_t readouts_of(const Subject& subject, std::int64_t samples, std::int64_t readout_length) {
  if (readout_length < 1 || samples % readout_length != 0)
    throw Error(subject, "a scan made of readouts of equal length",
                "one that does not say where its readouts begin",
                "convert it to ISMRMRD, or add the attribute readout_length (samples) to an fhd HDF5 file");
  return samples / readout_length;
}
std::int64_t readouts_of(const Scan& scan, std::int64_t readout_length) {
  return readouts_of(Field{"gate"}, scan.trajectory.sample_count(), readout_length);
}

}  // namespace

FrameLayout lay_out_frames(std::int64_t samples, std::int64_t readout_length, const FrameChoice& choice) {
  FrameLayout layout;
  layout.readout_length = readout_length;
  const std::int64_t readouts = layout.readouts = readouts_of("frames", samples, readout_length);
  const auto whole_number = [](Field field, std::int64_t least, std::int64_t most, const std::string& why,
                               std::int64_t value) {
    if (value < least || value > most)
      throw Error(field, std::to_string(least) + " ... " + std::to_string(most) + why, std::to_string(value));
  };
  const std::string of_scan = ", of the " + std::to_string(readouts) + " readouts of the scan";
  if (readouts < 2) throw Error("frames", "a scan of at least two readouts", std::to_string(readouts));
  const auto in_order = [&] {
    layout.order.resize(readouts);
    std::iota(layout.order.begin(), layout.order.end(), std::int64_t{0});
    return layout;
  };
  if (choice.readouts_per_frame == 0) {
    whole_number(Field{"frames"}, 2, readouts, of_scan, choice.frames);
    layout.frames = choice.frames;
    layout.step = layout.readouts_per_frame = readouts / choice.frames;
    return in_order();
  }
  layout.readouts_per_frame = choice.readouts_per_frame;
  whole_number(Field{"spokes-per-frame"}, 1, readouts - 1, of_scan, layout.readouts_per_frame);
  layout.step = choice.step == 0 ? layout.readouts_per_frame : choice.step;
  whole_number(Field{"sliding"}, 1, layout.readouts_per_frame, ", the readouts of a frame", layout.step);
  layout.frames = (readouts - layout.readouts_per_frame) / layout.step + 1;
  if (layout.frames < 2)
    throw Error(Field{"spokes-per-frame"}, "room for two frames" + of_scan,
                std::to_string(layout.readouts_per_frame) + " to a frame",
                "take fewer readouts to a frame, or let frames overlap with " + option_words("sliding"));
  return in_order();
}

std::vector<std::int64_t> FrameLayout::samples_of(std::int64_t frame) const {
  std::vector<std::int64_t> samples;
  samples.reserve(samples_per_frame());
  for (std::int64_t i = 0; i < readouts_per_frame; ++i)
    for (std::int64_t s = 0; s < readout_length; ++s)
      samples.push_back(readout(frame, i) * readout_length + s);
  return samples;
}

void require_layout_of(const Scan& scan, const FrameLayout& layout) {
  const auto is_readout = [&](std::int64_t number) { return number >= 0 && number < layout.readouts; };
  if (layout.frames < 1 || layout.step < 1 || layout.readouts_per_frame < 1 || layout.unused() < 0 ||
      layout.readouts * layout.readout_length != scan.trajectory.sample_count() ||
      static_cast<std::int64_t>(layout.order.size()) != layout.readouts ||
      !std::all_of(layout.order.begin(), layout.order.end(), is_readout))
    throw Error("frames", "a layout of this scan: lay_out_frames", "another one");
}

std::string doubt_of_frames(const Trajectory& trajectory, const FrameLayout& layout) {
  constexpr double enough = 0.5;
  const std::int64_t samples = trajectory.sample_count(), length = layout.readout_length;
  for (int axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * samples;
    const auto [least, most] = std::minmax_element(k, k + samples);
    const double all = *most - *least;
    double of_frames = 0;
    for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
      double low = INFINITY, high = -INFINITY;
      for (std::int64_t i = 0; i < layout.readouts_per_frame; ++i) {
        const double* first = k + layout.readout(frame, i) * length;
        const auto [lowest, highest] = std::minmax_element(first, first + length);
        low = std::min(low, *lowest), high = std::max(high, *highest);
      }
      of_frames += (high - low) / static_cast<double>(layout.frames);
    }
    if (all > 0 && of_frames < enough * all)
      return "frames reach over " + std::to_string(std::lround(100 * of_frames / all)) +
             " % of the scan's k-space along " + std::string(1, "xyz"[axis]) +
             " on average: readouts that go through k-space plane by plane make no frames";
  }
  return {};
}

std::string doubt_of_gaps(const FrameLayout& layout) {
  if (layout.gate) return {};
  const auto& numbers = layout.readout_numbers;
  std::int64_t missing = 0, first = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == numbers[i - 1] + 1) continue;
    if (missing == 0) first = numbers[i - 1] + 1;
    missing += numbers[i] - numbers[i - 1] - 1;
  }
  if (missing == 0) return {};
  return std::to_string(missing) + (missing == 1 ? " readout is" : " readouts are") +
         " left out between others, from number " + std::to_string(first) +
         " on: frames do not follow each other evenly, and some may hold readouts from both sides of a gap";
}

Scan with_samples(const Scan& scan, const std::vector<std::int64_t>& samples) {
  Scan part;
  part.geometry = scan.geometry;
  part.cropped_matrix_size = scan.cropped_matrix_size;
  part.trajectory.k = columns_of(scan.trajectory.k, samples);
  part.kspace.values = columns_of(scan.kspace.values, samples);
  part.kspace.in_double = columns_of(scan.kspace.in_double, samples);
  const auto view_of = [](const auto& values) { return one_of(values, values.shape(), 0); };
  if (scan.sensitivity_maps) {
    auto& maps = part.sensitivity_maps.emplace();
    maps.values = view_of(scan.sensitivity_maps->values);
    if (!scan.sensitivity_maps->in_double.empty()) maps.in_double = view_of(scan.sensitivity_maps->in_double);
  }
  if (scan.noise) part.noise.emplace(view_of(*scan.noise));
  if (scan.field_map) part.field_map.emplace(view_of(*scan.field_map));
  if (scan.decay_per_s) part.decay_per_s.emplace(view_of(*scan.decay_per_s));
  if (scan.second_decay)
    part.second_decay.emplace(
        SecondDecay{view_of(scan.second_decay->per_s), view_of(scan.second_decay->fraction)});
  if (scan.fields) {
    const auto& [functions, coefficients, axes, displacement_mm] = *scan.fields;
    part.fields.emplace(Fields{functions, columns_of(coefficients, samples), axes});
    if (!displacement_mm.empty()) part.fields->displacement_mm = view_of(displacement_mm);
  }
  if (scan.sample_time_s) part.sample_time_s.emplace(columns_of(*scan.sample_time_s, samples));
  return part;
}

namespace {

using Course = std::vector<double>;  ///< [readout], or [frequency]

double dot(const Course& a, const Course& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Returns the distance of a sample from the centre of k-space, cycles/FOV.
double distance(const Scan& scan, std::int64_t m) {
  const std::int64_t count = scan.trajectory.sample_count();
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.geometry.matrix_size[axis] > 1) square += std::pow(scan.trajectory.k[axis * count + m], 2);
  return std::sqrt(square);
}

/// Returns the samples of a readout at the centre of k-space; throws Error where it stays away from it.
std::vector<std::int64_t> central_samples(const Scan& scan, std::int64_t readout, std::int64_t length) {
  constexpr double near = 0.5 * edge_rounding, within = 1;  // cycles/FOV
  std::vector<std::int64_t> samples;
  std::int64_t nearest = readout * length;
  for (std::int64_t m = readout * length; m < (readout + 1) * length; ++m) {
    const double away = distance(scan, m);
    if (away <= near) samples.push_back(m);
    if (away < distance(scan, nearest)) nearest = m;
  }
  if (!samples.empty()) return samples;
  if (!(distance(scan, nearest) <= within))
    throw Error(Field{"gate"}, "readouts that all pass the centre of k-space, for self",
                "readout " + std::to_string(readout) + " that stays " +
                    short_number(distance(scan, nearest)) + " cycles/FOV away",
                "give a signal of another source, a file with one number for each readout");
  return {nearest};
}

/// Returns the real and imaginary part of the centre of k-space of every coil.
std::vector<Course> central_courses(const Scan& scan, std::int64_t length, std::int64_t readouts) {
  const std::int64_t coils = scan.kspace.coil_count(), count = scan.kspace.sample_count();
  std::vector<Course> courses(static_cast<std::size_t>(2 * coils), Course(readouts));
  for (std::int64_t r = 0; r < readouts; ++r) {
    const auto samples = central_samples(scan, r, length);
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      Complex<double> sum;
      for (const auto m : samples) sum += Complex<double>(scan.kspace.values[coil * count + m]);
      courses[2 * coil][r] = sum.re / static_cast<double>(samples.size());
      courses[2 * coil + 1][r] = sum.im / static_cast<double>(samples.size());
    }
  }
  return courses;
}

/// Takes off what the orthonormal `basis` explains.
void take_off(const std::vector<Course>& basis, Course& course) {
  for (const auto& each : basis) {
    const double share = dot(each, course);
    for (std::size_t r = 0; r < course.size(); ++r) course[r] -= share * each[r];
  }
}

/// Returns polynomials in time and in the direction from the first to the last sample of a readout, orthonormal;
/// those that others explain are left out.
std::vector<Course> nuisances(const Scan& scan, std::int64_t length, std::int64_t readouts) {
  constexpr double explained = 1e-6;  // of a course of entries up to 1: rounding
  const Trajectory& trajectory = scan.trajectory;
  const std::int64_t count = trajectory.sample_count();
  std::vector<Course> courses(12, Course(readouts));
  for (std::int64_t r = 0; r < readouts; ++r) {
    const double time = 2 * (static_cast<double>(r) + 0.5) / static_cast<double>(readouts) - 1;
    std::array<double, 3> u{};
    for (int axis = 0; axis < (scan.geometry.matrix_size[2] > 1 ? 3 : 2); ++axis)
      u[axis] = trajectory.k[axis * count + (r + 1) * length - 1] - trajectory.k[axis * count + r * length];
    const double size = std::hypot(u[0], u[1], u[2]);
    for (double& each : u) each = size > 0 ? each / size : 0;
    const std::array<double, 12> values{1,           time,        time * time, u[0],
                                        u[1],        u[2],        u[0] * u[0], u[1] * u[1],
                                        u[2] * u[2], u[0] * u[1], u[0] * u[2], u[1] * u[2]};
    for (std::size_t i = 0; i < values.size(); ++i) courses[i][r] = values[i];
  }
  std::vector<Course> basis;
  for (auto& course : courses) {
    take_off(basis, course);
    take_off(basis, course);  // what rounding left
    const double size = std::sqrt(dot(course, course));
    if (!(size > explained * std::sqrt(static_cast<double>(readouts)))) continue;
    for (double& value : course) value /= size;
    basis.push_back(std::move(course));
  }
  return basis;
}

/// Cosines over the scan: number j has j / (2 n) cycles a readout.
struct Band {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first + 1; }
};

Band band_of(std::int64_t readouts, double readout_time_s) {
  constexpr double slowest_hz = 0.1, fastest_hz = 0.6, unknown_fastest = 1.0 / 16;
  const double n = static_cast<double>(readouts),
               low = std::max(2 / n, readout_time_s > 0 ? slowest_hz * readout_time_s : 0),
               high = readout_time_s > 0 ? fastest_hz * readout_time_s : unknown_fastest;
  const Band band{static_cast<std::int64_t>(std::ceil(2 * n * low)),
                  static_cast<std::int64_t>(std::floor(2 * n * high))};
  if (high > 0.5 || band.count() < 8)
    throw Error(Field{"gate"}, "a scan of several breaths with many readouts in each, for self",
                std::to_string(readouts) + " readouts" +
                    (readout_time_s > 0 ? ", " + short_number(readout_time_s) + " s apart" : ""),
                "give a signal of another source, a file with one number for each readout");
  return band;
}

/// Returns sqrt(2 / n) sum_i values[i] cos(pi j (2 r + 1) / (2 n)) with (j, r) = at(number, i), [number] of `count`: the
/// coefficients of a course of orthonormal cosines, or the course of coefficients.
template <class At>
Course cosine_sums(const Course& values, std::int64_t n, std::int64_t count, const At& at) {
  Course table(4 * n), sums(count);
  for (std::int64_t i = 0; i < 4 * n; ++i)
    table[i] = std::cos(std::numbers::pi * static_cast<double>(i) / static_cast<double>(2 * n));
#pragma omp parallel for schedule(static)
  for (std::int64_t number = 0; number < count; ++number) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto [j, r] = at(number, static_cast<std::int64_t>(i));
      sum += values[i] * table[j * (2 * r + 1) % (4 * n)];
    }
    sums[number] = std::sqrt(2 / static_cast<double>(n)) * sum;
  }
  return sums;
}

/// Returns the coefficients of a course, [frequency of the band], of orthonormal cosines.
Course coefficients(const Course& course, const Band& band) {
  return cosine_sums(course, static_cast<std::int64_t>(course.size()), band.count(),
                     [&](auto j, auto r) { return std::pair(band.first + j, r); });
}

/// Returns the course of the coefficients [frequency] of cosines from `first` on.
Course course_of(const Course& spectrum, std::int64_t first, std::int64_t readouts) {
  return cosine_sums(spectrum, readouts, readouts, [&](auto r, auto i) { return std::pair(first + i, r); });
}

/// Returns the weights of the courses in their first principal component, [course].
Course principal_weights(const std::vector<Course>& courses, std::int64_t first, std::int64_t last) {
  const auto count = static_cast<std::int64_t>(courses.size());
  Array<Complex<double>> covariance(Shape{count, count});
  for (std::int64_t a = 0; a < count; ++a)
    for (std::int64_t b = 0; b < count; ++b)
      covariance[a * count + b] = std::inner_product(courses[a].begin() + first, courses[a].begin() + last,
                                                     courses[b].begin() + first, 0.0);
  const auto eigen = hermitian_eigen(std::move(covariance));
  // Eigenvectors of a real matrix are real, but for one common phase.
  std::int64_t largest = 0;
  for (std::int64_t a = 1; a < count; ++a)
    if (norm(eigen.vectors[a]) > norm(eigen.vectors[largest])) largest = a;
  const Complex<double> turn = (1 / abs(eigen.vectors[largest])) * conj(eigen.vectors[largest]);
  Course weights(courses.size());
  for (std::int64_t a = 0; a < count; ++a) weights[a] = (turn * eigen.vectors[a]).re;
  return weights;
}

Course combined(const std::vector<Course>& courses, const Course& weights) {
  Course sum(courses.front().size());
  for (std::size_t c = 0; c < courses.size(); ++c)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[c] * courses[c][i];
  return sum;
}

/// Returns the number of the cosine about which (3/4 ... 4/3 of it) there is most power, weighted by that.
std::int64_t strongest_frequency(const Course& spectrum, const Band& band) {
  double most = -1, strongest = 0;
  for (std::int64_t j = band.first; j <= band.last; ++j) {
    double power = 0, moment = 0;
    for (std::int64_t i = std::max(band.first, 3 * j / 4); i <= std::min(band.last, 4 * j / 3); ++i) {
      const double square = std::pow(spectrum[i - band.first], 2);
      power += square, moment += square * static_cast<double>(i);
    }
    if (power > most) most = power, strongest = power > 0 ? moment / power : static_cast<double>(j);
  }
  return std::lround(strongest);
}

/// Returns the variance of what changes from readout to readout: white noise n has E (n1 - 2 n2 + n3)^2 = 6 E n^2.
double noise_variance(const Course& course) {
  double sum = 0;
  for (std::size_t r = 1; r + 1 < course.size(); ++r)
    sum += std::pow(course[r - 1] - 2 * course[r] + course[r + 1], 2) / 6;
  return sum / static_cast<double>(course.size() - 2);
}

/// Returns the largest correlation of a signal with itself about a cycle later.
double repetition(const Course& signal, double cycle) {
  double best = -1;
  const auto n = static_cast<std::int64_t>(signal.size());
  for (auto lag = static_cast<std::int64_t>(0.75 * cycle);
       lag <= std::min(n / 2, static_cast<std::int64_t>(1.33 * cycle)); ++lag) {
    double product = 0, early = 0, late = 0;
    for (std::int64_t r = 0; r + lag < n; ++r) {
      const double a = signal[r], b = signal[r + lag];
      product += a * b, early += a * a, late += b * b;
    }
    if (early * late > 0) best = std::max(best, product / std::sqrt(early * late));
  }
  return best;
}

/// Normalizes a signal to mean 0 and deviation 1, with most values below the mean.
void normalize(Course& signal) {
  const double n = static_cast<double>(signal.size()),
               mean = std::accumulate(signal.begin(), signal.end(), 0.0) / n;
  for (double& value : signal) value -= mean;
  const double deviation = std::sqrt(dot(signal, signal) / n);
  Course sorted(signal);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::int64_t>(sorted.size() / 2),
                   sorted.end());
  const double factor = (sorted[sorted.size() / 2] > 0 ? -1 : 1) / (deviation > 0 ? deviation : 1);
  for (double& value : signal) value *= factor;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

GatingSignal self_gating_signal(const Scan& scan, std::int64_t readout_length, double readout_time_s) {
  constexpr double most_noise = 0.25, least_repetition = 0.3;
  const std::int64_t readouts = readouts_of(scan, readout_length);
  const Band searched = band_of(readouts, readout_time_s),
             band{searched.first, std::min(readouts - 1, 5 * searched.last / 2)};
  auto courses = central_courses(scan, readout_length, readouts);
  const auto explained = nuisances(scan, readout_length, readouts);
  std::vector<Course> spectra;
  for (auto& course : courses) {
    take_off(explained, course);
    spectra.push_back(coefficients(course, band));
  }
  const auto of_all = principal_weights(spectra, 0, searched.count());
  const std::int64_t strongest = strongest_frequency(combined(spectra, of_all), searched);
  const std::int64_t first = std::max(band.first, strongest / 2),
                     last = std::min(band.last, 5 * strongest / 2);
  const auto weights = principal_weights(spectra, first - band.first, last + 1 - band.first);
  auto spectrum = combined(spectra, weights);
  spectrum = {spectrum.begin() + (first - band.first), spectrum.begin() + (last + 1 - band.first)};
  const double power = dot(spectrum, spectrum);
  if (!(power > 0))
    throw Error(Field{"gate"}, "a centre of k-space that changes, for self", "one that does not");
  const double noise = std::min(
      1.0, noise_variance(combined(courses, weights)) * static_cast<double>(spectrum.size()) / power);

  GatingSignal signal;
  signal.values = course_of(spectrum, first, readouts);
  normalize(signal.values);
  const double repeats =
      repetition(signal.values, 2 * static_cast<double>(readouts) / static_cast<double>(strongest));
  const double cycles = 0.5 * static_cast<double>(strongest);
  const std::string percent = std::to_string(std::lround(100 * noise)) + " %";
  signal.source =
      "self-gated, " +
      (readout_time_s > 0 ? short_number(cycles / (static_cast<double>(readouts) * readout_time_s)) + " Hz"
                          : short_number(cycles) + " cycles in the scan") +
      ", " + percent + " of it noise";
  if (noise > most_noise)
    signal.doubt = "the self-gated signal is noise by " + percent + ": bins may hold any motion";
  else if (repeats < least_repetition)
    signal.doubt = "the self-gated signal does not repeat itself (correlation " + short_number(repeats) +
                   " a cycle later): it may be another change than breathing";
  return signal;
}

GatingSignal cardiac_phase(const Scan& scan, std::int64_t readout_length, int stamp) {
  const std::int64_t readouts = readouts_of(scan, readout_length);
  const std::string name = "physiology time stamp " + std::to_string(stamp);
  if (scan.physiology_stamps.empty() || stamp < 0 || stamp > 2)
    throw Error(Field{"gate"}, name + " of the readouts of the scan", "none", "gate by self, or by a file");
  Course since, increments, lengths;
  for (std::int64_t r = 0; r < readouts; ++r) {
    const auto number = scan.readout_numbers.empty() ? r : scan.readout_numbers[r];
    if (number >= static_cast<std::int64_t>(scan.physiology_stamps.size()))
      throw Error(Field{"gate"}, name + " of every readout",
                  std::to_string(scan.physiology_stamps.size()) + " of them");
    since.push_back(scan.physiology_stamps[number][stamp]);
    if (r > 0 && since[since.size() - 1] > since[since.size() - 2])
      increments.push_back(since[since.size() - 1] - since[since.size() - 2]);
  }
  const double step = median(increments);
  std::vector<std::size_t> ends;  // behind the last readout of each heartbeat
  for (std::size_t r = 1; r < since.size(); ++r)
    if (since[r] < since[r - 1]) {
      ends.push_back(r);
      lengths.push_back(since[r - 1] + step);
    }
  if (ends.size() < 2)
    throw Error(Field{"gate"}, "two triggers or more in " + name, std::to_string(ends.size()),
                "choose another time stamp, or gate by self or a file");
  const double usual = median(lengths);
  ends.push_back(since.size());
  lengths.push_back(std::max(usual, since.back() + step));
  GatingSignal signal;
  std::size_t r = 0, odd = 0;
  for (std::size_t beat = 0; beat < ends.size(); ++beat) {
    odd += !(lengths[beat] >= 0.5 * usual && lengths[beat] <= 1.5 * usual);
    for (; r < ends[beat]; ++r) signal.values.push_back(since[r] / lengths[beat]);
  }
  signal.source = name + ", " + std::to_string(ends.size()) + " heartbeats";
  if (odd > 0)
    signal.doubt =
        std::to_string(odd) + " of " + std::to_string(ends.size()) +
        " heartbeats last less than half or more than one and a half of the median: their phases are "
        "not those of the others";
  return signal;
}

GatingSignal given_signal(const Scan& scan, std::int64_t readout_length, std::string source,
                          std::vector<double> values) {
  const std::int64_t readouts = readouts_of(scan, readout_length),
                     given = static_cast<std::int64_t>(values.size());
  const auto& numbers = scan.readout_numbers;
  if (given != readouts) {
    // Returns the readouts of the file, of which the scan leaves some out: as many as it has, as far as that is
    // known.
    const auto of_file = scan.physiology_stamps.empty() && !numbers.empty()
                             ? numbers.back() + 1
                             : static_cast<std::int64_t>(scan.physiology_stamps.size());
    if (numbers.empty() || given != of_file)
      throw Error(source, std::to_string(readouts) + " numbers, one for each readout", std::to_string(given));
    Course chosen;
    for (const auto number : numbers) chosen.push_back(values[number]);
    values = std::move(chosen);
  }
  for (const double value : values)
    if (!std::isfinite(value)) throw Error(source, "finite numbers", "NaN or infinity");
  return {std::move(source), std::move(values)};
}

FrameLayout lay_out_bins(std::int64_t samples, std::int64_t readout_length, std::int64_t bins,
                         GatingSignal signal) {
  auto layout = lay_out_frames(samples, readout_length, {.frames = bins});
  const auto& values = signal.values;
  if (static_cast<std::int64_t>(values.size()) != layout.readouts)
    throw Error(signal.source, std::to_string(layout.readouts) + " numbers, one for each readout",
                std::to_string(values.size()));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (!(*least < *most))
    throw Error(signal.source, "a signal that changes", "the same number for every readout");
  const std::int64_t size = layout.readouts_per_frame;
  const auto begin = layout.order.begin(), end = begin + bins * size;
  std::stable_sort(begin, end, [&](std::int64_t a, std::int64_t b) { return values[a] < values[b]; });
  std::int64_t parted = 0;  // borders of bins within readouts of one value
  for (std::int64_t bin = 1; bin < bins; ++bin)
    parted += values[*(begin + bin * size - 1)] == values[*(begin + bin * size)];
  if (parted > 0 && signal.doubt.empty())
    signal.doubt = std::to_string(parted) + " of " + std::to_string(bins - 1) +
                   " borders between bins lie within readouts of the same signal, which time parts";
  for (std::int64_t bin = 0; bin < bins; ++bin) std::sort(begin + bin * size, begin + (bin + 1) * size);
  layout.gate = std::move(signal);
  return layout;
}

}  // namespace fhd
