#include "data/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "data/full_equation.hpp"
#include "recon/array/central_part.hpp"
#include "recon/array/execution.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/array/random_numbers.hpp"
#include "recon/domain/text.hpp"

namespace fhd::data {
namespace {

template <class T>
Image as_image(const Array<T>& values, const Geometry& geometry) {
  Image image{Array<Complex<float>>(values.shape()), geometry};
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i)
    image.values.data()[i] = static_cast<Complex<float>>(Complex<double>(values.data()[i]));
  return image;
}

/// The object that is measured, its coils and its field.
struct Subject {
  Phantom phantom;  ///< one that moves: in the middle of the scan, or of a breath
  CoilArray coils;
  WaveField field;
  double height_mm = 0;  ///< of the slice
};

double largest_norm(const Image& image) {
  double largest = 0;
#pragma omp parallel for reduction(max : largest) schedule(static)
  for (std::int64_t voxel = 0; voxel < image.values.size(); ++voxel)
    largest = std::max(largest, norm(Complex<double>(image.values.data()[voxel])));
  return largest;
}

/// A sum of |rho| RSS over voxels.
struct SignalSum {
  double sum = 0;
  std::int64_t voxels = 0;
};

/// Returns the signal of the voxels with |rho|^2 above 1e-4 `largest`, summed in an order that does not depend on the threads.
SignalSum signal_of(const Image& ideal, const CoilArray& coils, double largest) {
  const auto& n = ideal.geometry.matrix_size;
  const std::int64_t nx = n[0], rows = std::int64_t{n[1]} * n[2], coil_count = coils.coil_count();
  std::vector<double> sums(static_cast<std::size_t>(rows));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows));
  const MapRows map_rows(coils, n);
  for_each_with_scratch(
      rows, [&] { return map_rows.scratch(); },
      [&](std::int64_t row, MapRows::Scratch& maps) {
        const auto* values = ideal.values.data() + row * nx;
        const auto in_object = [&](std::int64_t x) {
          return norm(Complex<double>(values[x])) > 1e-4 * largest;
        };
        std::int64_t first = 0;
        while (first < nx && !in_object(first)) ++first;
        if (first == nx) return;
        map_rows.fill(row, maps);
        for (std::int64_t x = first; x < nx; ++x) {
          if (!in_object(x)) continue;
          double square = 0;
          for (std::int64_t i = x; i < coil_count * nx; i += nx)
            square += maps.real[i] * maps.real[i] + maps.imaginary[i] * maps.imaginary[i];
          sums[row] += abs(values[x]) * std::sqrt(square);
          ++counts[row];
        }
      });
  return {std::accumulate(sums.begin(), sums.end(), 0.0),
          std::accumulate(counts.begin(), counts.end(), std::int64_t{0})};
}

/// Mean of |rho| RSS over the object: the voxels of all slices above 1 % of the largest |rho|.
double mean_signal(const std::vector<Simulation>& slices, const std::vector<Subject>& subjects) {
  double largest = 0;
  for (const auto& slice : slices) largest = std::max(largest, largest_norm(slice.ideal));
  SignalSum all;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto [sum, voxels] = signal_of(slices[i].ideal, subjects[i].coils, largest);
    all.sum += sum, all.voxels += voxels;
  }
  return all.voxels == 0 ? 0 : all.sum / static_cast<double>(all.voxels);
}

/// band_limited_image of a phantom that may exceed the FOV, up to twice: from a matrix of twice the size.
Array<Complex<double>> band_limited_beyond_fov(const Phantom& phantom,
                                               const std::array<int, 3>& matrix_size) {
  std::array<int, 3> twice{};
  for (int axis = 0; axis < 3; ++axis) twice[axis] = matrix_size[axis] == 1 ? 1 : 2 * matrix_size[axis];
  return central_part(band_limited_image(phantom.scaled(0.5), twice),
                      {matrix_size[2], matrix_size[1], matrix_size[0]});
}

/// `factor` times the k-space at every position of a trajectory, [coil][sample].
Array<Complex<float>> sampled(const CoilKSpace& kspace, const Trajectory& trajectory, std::int64_t coil_count,
                              double factor) {
  constexpr std::int64_t block = 1024;
  const std::int64_t sample_count = trajectory.sample_count();
  const double* k = trajectory.k.data();
  Array<Complex<float>> samples({coil_count, sample_count});
  for_each_with_scratch(
      (sample_count + block - 1) / block,
      [&] { return std::vector<Complex<double>>(static_cast<std::size_t>(coil_count * block)); },
      [&](std::int64_t number, std::vector<Complex<double>>& values) {
        const auto first = number * block, count = std::min(block, sample_count - first);
        const auto axis = [&](int i) {
          return std::span(k + i * sample_count + first, static_cast<std::size_t>(count));
        };
        kspace.values({axis(0), axis(1), axis(2)}, std::span(values).first(coil_count * count));
        for (std::int64_t coil = 0; coil < coil_count; ++coil)
          for (std::int64_t m = 0; m < count; ++m)
            samples.data()[coil * sample_count + first + m] =
                Complex<float>(factor * values[coil * count + m]);
      });
  return samples;
}

bool moves(const SimulationSettings& settings) {
  return settings.readouts_per_frame > 0 || settings.breaths > 0;
}

bool has_full_equation(const SimulationSettings& settings) {
  return settings.add_fields || settings.decay_per_s > 0;
}

void check(const SimulationSettings& settings) {
  const auto require = [](bool good, const char* what, const char* expected, const std::string& found,
                          const char* remedy = "") {
    if (!good) throw Error(what, expected, found, remedy);
  };
  const auto is_in = [](double value, double least, double most) { return value >= least && value <= most; };
  const auto snr = settings.snr.value_or(1);
  require(snr > 0 && std::isfinite(snr), "SNR", "a number > 0", std::to_string(snr),
          "leave the noise out with --snr none");
  require(is_in(settings.object_scale, 0.1, 2), "scale of the object", "0.1 ... 2",
          std::to_string(settings.object_scale));
  require(is_in(settings.field_hz, 0, 1000), "off-resonance", "0 ... 1000 Hz",
          short_number(settings.field_hz));
  require(settings.echo_times_s.empty() || settings.repetition_count <= 1, "simulated scan",
          "several repetitions or several echoes", "both", "leave one of them out");
  require(is_in(settings.decay_per_s, 0, 1e5), "decay", "0 ... 100000 1/s",
          short_number(settings.decay_per_s));
  const auto two = settings.two_components.value_or(TwoComponents{});
  require(is_in(two.fraction, 0, 1), "fraction of the first component of decay", "0 ... 1",
          short_number(two.fraction));
  for (const double rate : {two.fast_per_s, two.slow_per_s})
    require(is_in(rate, 0, 1e5), "decay", "0 ... 100000 1/s", short_number(rate));
  require(!(has_full_equation(settings) || settings.two_components) ||
              (!moves(settings) && settings.object_scale <= 1.08),
          "simulated scan", "an object at rest within the field of view, for fields or decay", "another one",
          "leave the motion or the scale out");
  require(is_in(settings.breaths, 0, 1000), "breaths", "0 ... 1000", short_number(settings.breaths));
  require(!(settings.breaths > 0 && settings.readouts_per_frame > 0), "simulated scan",
          "a chest that breathes or one that beats", "both", "leave one of them out");
  if (settings.slice_count == 0) return;
  require(is_in(static_cast<double>(settings.slice_count), 1, 65535), "slices", "1 ... 65535",
          std::to_string(settings.slice_count));
  require(!moves(settings), "slices", "an object at rest", "one that moves",
          "leave the slices or the motion out");
  require(settings.trajectory.matrix_size[2] <= 1, "slices", "a 2D scan", "a 3D one", "leave the slices out");
  require(is_in(settings.slice_spacing_mm, 0, 1e4), "distance of slices", "0 ... 10000 mm",
          short_number(settings.slice_spacing_mm));
}

/// From the start of a readout to its sample nearest the centre of k-space, of the first readout.
double time_to_centre(const DesignedTrajectory& design) {
  const std::int64_t samples = design.trajectory.sample_count();
  const auto distance = [&](std::int64_t m) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) square += std::pow(design.trajectory.k[axis * samples + m], 2);
    return square;
  };
  std::int64_t nearest = 0;
  for (std::int64_t m = 1; m < design.readout_length; ++m)
    if (distance(m) < distance(nearest)) nearest = m;
  return design.sample_time_s[nearest];
}

/// How much later than designed the samples of each echo are; 0 of one without a time.
std::vector<double> echo_shifts(const SimulationSettings& settings, const DesignedTrajectory& design) {
  if (settings.echo_times_s.empty()) return {0};
  const double centre = time_to_centre(design);
  std::vector<double> shifts;
  for (const double time : settings.echo_times_s) {
    if (!(time >= centre && time <= 10))
      throw Error("echo times",
                  "at least " + std::to_string(centre * 1e3) + " ms, when readouts reach the centre",
                  std::to_string(time * 1e3) + " ms");
    shifts.push_back(time - centre);
  }
  return shifts;
}

/// The k-space of an echo, of the positions as played.
Array<Complex<float>> echo_of(const CoilKSpace& kspace, const WaveField& field, const Trajectory& played,
                              Array<double> time_s, double shift_s, std::int64_t coil_count, double factor) {
  if (field.largest_hz == 0) return sampled(kspace, played, coil_count, factor);
  for (double& t : time_s) t += shift_s;
  return sampled_in_field(kspace, field, played, time_s, coil_count, factor);
}

/// At a time of the scan, 0 ... 1.
Phantom phantom_at(const SimulationSettings& settings, int dimensions, double time) {
  const auto phantom = settings.breaths > 0
                           ? breathing_phantom(dimensions, depth_of_breath(settings.breaths, time))
                           : moving_phantom(dimensions, time);
  return phantom.scaled(settings.object_scale);
}

/// In the middle of a readout's time.
double time_of(std::int64_t readout, std::int64_t readouts) {
  return (static_cast<double>(readout) + 0.5) / static_cast<double>(readouts);
}

/// Computes the samples of an object that each readout sees in the middle of its time; the field rests.
Array<Complex<float>> sampled_in_time(const SimulationSettings& settings, const Subject& subject,
                                      const DesignedTrajectory& design, const Array<double>& time_s,
                                      double shift_s, double factor) {
  const std::int64_t count = design.readout_length, all = design.trajectory.sample_count(),
                     coil_count = subject.coils.coil_count();
  const int dimensions = subject.phantom.dimensions();
  Array<Complex<float>> samples({coil_count, all});
  const auto sample = [&](std::int64_t readout) {
    const CoilKSpace kspace(phantom_at(settings, dimensions, time_of(readout, design.readout_count)),
                            subject.coils);
    std::vector<std::int64_t> of_readout(static_cast<std::size_t>(count));
    std::iota(of_readout.begin(), of_readout.end(), readout * count);
    const auto values = echo_of(kspace, subject.field, {columns_of(design.trajectory.k, of_readout)},
                                columns_of(time_s, of_readout), shift_s, coil_count, factor);
    for (std::int64_t coil = 0; coil < coil_count; ++coil)
      std::copy_n(values.data() + coil * count, count, samples.data() + coil * all + readout * count);
  };
  ParallelFailure failure;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t readout = 0; readout < design.readout_count; ++readout)
    failure.guard([&] { sample(readout); });
  failure.rethrow();
  return samples;
}

Image band_limited_of(const Phantom& phantom, const SimulationSettings& settings, const Geometry& geometry) {
  return as_image(settings.object_scale > 1 ? band_limited_beyond_fov(phantom, geometry.matrix_size)
                                            : band_limited_image(phantom, geometry.matrix_size),
                  geometry);
}

/// At the middle of the time of every whole frame.
std::vector<Image> true_frames(int dimensions, std::int64_t readouts, const SimulationSettings& settings,
                               const Geometry& geometry) {
  std::vector<Image> frames;
  const std::int64_t length = settings.readouts_per_frame;
  for (std::int64_t first = 0; first + length <= readouts; first += length) {
    const double middle = static_cast<double>(first) + 0.5 * static_cast<double>(length);
    const auto phantom = phantom_at(settings, dimensions, middle / static_cast<double>(readouts));
    frames.push_back(band_limited_of(phantom, settings, geometry));
  }
  return frames;
}

/// At the mean depth of every bin of equally many readouts.
std::vector<Image> true_bins(int dimensions, std::vector<double> depths, const SimulationSettings& settings,
                             const Geometry& geometry) {
  std::vector<Image> bins;
  const auto size = static_cast<std::int64_t>(depths.size()) / settings.bins;
  depths.resize(static_cast<std::size_t>(size * settings.bins));
  std::sort(depths.begin(), depths.end());
  for (std::int64_t bin = 0; bin < settings.bins; ++bin) {
    const auto first = depths.begin() + bin * size;
    const double mean = std::accumulate(first, first + size, 0.0) / static_cast<double>(size);
    const auto phantom = breathing_phantom(dimensions, mean).scaled(settings.object_scale);
    bins.push_back(band_limited_of(phantom, settings, geometry));
  }
  return bins;
}

Phantom phantom_of(const SimulationSettings& settings, int dimensions) {
  if (settings.breaths > 0) return breathing_phantom(dimensions, 0.5);
  if (settings.readouts_per_frame > 0) return moving_phantom(dimensions, 0.5);
  return phantom_of(settings.phantom, dimensions);
}

}  // namespace

Phantom phantom_of(PhantomKind kind, int dimensions) {
  if (kind == PhantomKind::shepp_logan) return Phantom::shepp_logan(dimensions);
  if (kind == PhantomKind::sodium) return Phantom::sodium(dimensions);
  return kind == PhantomKind::resolution ? Phantom::resolution(dimensions) : Phantom::anatomy(dimensions);
}

void add_noise(Array<Complex<float>>& values, double standard_deviation, std::uint64_t seed,
               std::int64_t first) {
  const RandomNumbers random(seed);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i)
    values.data()[i] +=
        Complex<float>(random.normal(static_cast<std::uint64_t>(first + i), standard_deviation));
}

namespace {

/// Adds noise of one standard deviation to all samples of all slices, in one stream of the seed; noise readouts are those
/// of the first slice.
void add_noise_of(const SimulationSettings& settings, double standard_deviation,
                  std::vector<Simulation>& slices) {
  std::int64_t first = 0;
  const auto add = [&](Array<Complex<float>>& values) {
    add_noise(values, standard_deviation, settings.seed, first);
    first += values.size();
  };
  for (auto& slice : slices) {
    slice.noise_standard_deviation = standard_deviation;
    add(slice.scan.kspace.values);
    for (auto& values : slice.further_repetitions) add(values);
  }
  if (settings.noise_samples == 0) return;
  Scan& scan = slices.front().scan;
  add(scan.noise.emplace(Shape{scan.kspace.values.extent(0), settings.noise_samples}));
  for (auto& slice : slices) slice.scan.noise = scan.noise;
}

void require_frames_of(const DesignedTrajectory& design, const SimulationSettings& settings) {
  const std::string readouts = std::to_string(design.readout_count);
  if (settings.readouts_per_frame > design.readout_count)
    throw Error("readouts of a frame", "at most the " + readouts + " of the scan",
                std::to_string(settings.readouts_per_frame));
  if (settings.breaths > 0 && (settings.bins < 1 || settings.bins > design.readout_count))
    throw Error("bins", "1 ... " + readouts + ", the readouts of the scan", std::to_string(settings.bins));
}

/// The frames of a moving object, or the bins of one that breathes, with its depths of breath.
void add_true_frames(int dimensions, const SimulationSettings& settings, Simulation& simulation) {
  const std::int64_t readouts = simulation.readout_count;
  const Geometry& geometry = simulation.scan.geometry;
  if (settings.readouts_per_frame > 0)
    simulation.frames = true_frames(dimensions, readouts, settings, geometry);
  if (!(settings.breaths > 0)) return;
  for (std::int64_t readout = 0; readout < readouts; ++readout)
    simulation.depths.push_back(depth_of_breath(settings.breaths, time_of(readout, readouts)));
  simulation.frames = true_bins(dimensions, simulation.depths, settings, geometry);
}

/// The trajectory as the file states it, and as the gradients play it.
struct Designs {
  DesignedTrajectory nominal, played;
};

Designs designs_of(const SimulationSettings& settings) {
  auto nominal = settings.trajectory;
  nominal.delay_samples = {};
  nominal.response.reset();
  const auto design = design_trajectory(nominal);
  const bool is_perfect =
      settings.trajectory.delay_samples == nominal.delay_samples && !settings.trajectory.response;
  return {design, is_perfect ? design : design_trajectory(settings.trajectory)};
}

/// Throws Error where a height, in FOV, lies above or below all that has an edge.
Phantom section_of(const Phantom& phantom, double height, double height_mm) {
  auto section = phantom.section(height);
  const auto& parts = section.parts();
  if (std::all_of(parts.begin(), parts.end(),
                  [](const PhantomPart& part) { return part.form == PhantomPart::Form::bump; }))
    throw Error("slices", "all within the object",
                "one at z = " + short_number(height_mm) + " mm outside of it",
                "take fewer, or closer ones (--slice-spacing)");
  return section;
}

/// Returns where the middle of each slice lies, from the lowest up.
std::vector<double> slice_heights_mm(const SimulationSettings& settings) {
  const double spacing_mm =
      settings.slice_spacing_mm > 0 ? settings.slice_spacing_mm : settings.trajectory.fov_mm[2];
  std::vector<double> heights;
  for (std::int64_t slice = 0; slice < settings.slice_count; ++slice)
    heights.push_back(spacing_mm * static_cast<double>(slice - settings.slice_count / 2));
  return heights;
}

/// Returns the subject of every slice, or of the one volume.
std::vector<Subject> subjects_of(const SimulationSettings& settings) {
  const int dimensions = settings.slice_count > 0 || settings.trajectory.matrix_size[2] > 1 ? 3 : 2;
  const Subject whole{phantom_of(settings, dimensions).scaled(settings.object_scale),
                      CoilArray(dimensions, settings.coil_count),
                      {settings.field_hz}};
  if (settings.slice_count == 0) return {whole};
  std::vector<Subject> slices;
  for (const double height_mm : slice_heights_mm(settings)) {
    const double height = height_mm / settings.trajectory.fov_mm[0];
    slices.push_back({section_of(whole.phantom, height, height_mm), whole.coils.section(height),
                      whole.field.section(height), height_mm});
  }
  return slices;
}

/// Sets the true maps of decay of two components: rates that are even, and the share of the first in the signal of each voxel.
void set_two_components(const TwoComponents& two, const Phantom& phantom, Simulation& simulation) {
  const auto& n = simulation.scan.geometry.matrix_size;
  const auto all = ideal_image(phantom, n), first = ideal_image(phantom.weighted(two.fraction, 0), n);
  auto& [slow, fraction] =
      simulation.second_decay.emplace(SecondDecay{Array<float>(all.shape()), Array<float>(all.shape())});
  simulation.decay = Array<float>(all.shape());
  for (std::int64_t p = 0; p < all.size(); ++p) {
    simulation.decay[p] = static_cast<float>(two.fast_per_s);
    slow[p] = static_cast<float>(two.slow_per_s);
    fraction[p] = static_cast<float>(all[p] > 1e-9 ? std::clamp(first[p] / all[p], 0.0, 1.0) : two.fraction);
  }
}

/// Returns the sums of both components of `samples_of(phantom, shift)`, at times that much later than time_s.
template <class SamplesOf>
Array<Complex<float>> with_two_components(const TwoComponents& two, const Phantom& phantom,
                                          const Array<double>& time_s, double shift_s,
                                          const SamplesOf& samples_of) {
  auto sum = samples_of(phantom.weighted(two.fraction, 0), shift_s);
  const auto slow = samples_of(phantom.weighted(1 - two.fraction, 1), shift_s);
  for (std::int64_t i = 0; i < sum.size(); ++i) {
    const double t = time_s[i % time_s.size()] + shift_s;
    sum[i] = Complex<float>(std::exp(-two.fast_per_s * t) * Complex<double>(sum[i]) +
                            std::exp(-two.slow_per_s * t) * Complex<double>(slow[i]));
  }
  return sum;
}

/// Returns a scan of the played trajectory with the fields of the settings, without samples. Throws Error where positions that
/// the fields measure lie beyond the matrix.
Scan with_fields_of(const SimulationSettings& settings, const Scan& scan, const Trajectory& played) {
  Scan made;
  made.geometry = scan.geometry;
  made.trajectory = played;
  made.sample_time_s = scan.sample_time_s;
  made.kspace.values = Array<Complex<float>>({1, played.sample_count()});
  if (settings.add_fields) settings.add_fields(made);
  if (made.trajectory.sample_count() != played.sample_count())
    throw Error("simulated scan", "fields whose positions all lie within the matrix",
                std::to_string(made.trajectory.sample_count()) + " of " +
                    std::to_string(played.sample_count()));
  return made;
}

/// Simulates one slice or volume, without noise.
Simulation measured(const SimulationSettings& settings, const Designs& designs, const Subject& subject) {
  const auto& matrix_size = settings.trajectory.matrix_size;
  const auto& design = designs.nominal;
  const auto& played = designs.played;
  Simulation simulation;
  simulation.readout_count = design.readout_count;
  simulation.readout_length = design.readout_length;
  simulation.dwell_s = design.dwell_s;
  simulation.undersampling = design.undersampling;
  Scan& scan = simulation.scan;
  scan.geometry.matrix_size = matrix_size;
  scan.geometry.fov_mm = settings.trajectory.fov_mm;
  scan.geometry.position_mm[2] = subject.height_mm;
  scan.trajectory = design.trajectory;
  scan.sample_time_s = design.sample_time_s;
  if (settings.with_maps) scan.sensitivity_maps = subject.coils.maps(matrix_size);

  const auto voxel_count = static_cast<double>(scan.geometry.voxel_count());
  Scan with_fields;  // as played
  if (has_full_equation(settings)) {
    with_fields = with_fields_of(settings, scan, played.trajectory);
    simulation.decay =
        settings.decay_per_s > 0 ? decay_of(settings.decay_per_s, matrix_size) : Array<float>();
  }
  const auto undecayed = [&](const Phantom& phantom, double shift_s) {
    if (has_full_equation(settings)) {
      auto time_s = *scan.sample_time_s;
      for (double& t : time_s) t += shift_s;
      return sampled_with_fields(phantom, subject.coils, with_fields, subject.field, settings.decay_per_s,
                                 time_s, voxel_count);
    }
    if (moves(settings))
      return sampled_in_time(settings, subject, played, *scan.sample_time_s, shift_s, voxel_count);
    return echo_of(CoilKSpace(phantom, subject.coils), subject.field, played.trajectory, *scan.sample_time_s,
                   shift_s, subject.coils.coil_count(), voxel_count);
  };
  const auto echo = [&](double shift_s) {
    return settings.two_components ? with_two_components(*settings.two_components, subject.phantom,
                                                         *scan.sample_time_s, shift_s, undecayed)
                                   : undecayed(subject.phantom, shift_s);
  };
  if (settings.two_components) set_two_components(*settings.two_components, subject.phantom, simulation);
  simulation.echo_shifts_s = echo_shifts(settings, design);
  const auto& shifts = simulation.echo_shifts_s;
  scan.kspace.values = echo(shifts.front());
  if (settings.field_hz > 0) simulation.field_map = map_of(subject.field, matrix_size);
  simulation.band_limited = band_limited_of(subject.phantom, settings, scan.geometry);
  add_true_frames(subject.phantom.dimensions(), settings, simulation);
  simulation.ideal = as_image(ideal_image(subject.phantom, matrix_size), scan.geometry);
  simulation.further_repetitions.assign(static_cast<std::size_t>(settings.repetition_count - 1),
                                        scan.kspace.values);
  for (std::size_t i = 1; i < shifts.size(); ++i) simulation.further_repetitions.push_back(echo(shifts[i]));
  return simulation;
}

}  // namespace

std::vector<Simulation> simulate_slices(const SimulationSettings& settings) {
  check(settings);
  const auto subjects = subjects_of(settings);
  const auto designs = designs_of(settings);
  require_frames_of(designs.nominal, settings);
  std::vector<Simulation> slices;
  for (const auto& subject : subjects) slices.push_back(measured(settings, designs, subject));
  if (settings.snr) {
    // An inverse DFT with 1/N turns the standard deviation s of samples into s / sqrt(N) of voxels.
    const auto voxel_count = static_cast<double>(slices.front().scan.geometry.voxel_count());
    add_noise_of(settings, mean_signal(slices, subjects) * std::sqrt(voxel_count) / *settings.snr, slices);
  }
  for (const auto& slice : slices) slice.scan.validate("simulated scan");
  return slices;
}

Simulation simulate(const SimulationSettings& settings) {
  if (settings.slice_count > 1)
    throw Error("simulated scan", "one slice", std::to_string(settings.slice_count));
  return std::move(simulate_slices(settings).front());
}

}  // namespace fhd::data
