#include "recon/pipeline/noise_map.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/central_part.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/coils/lattice.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/field_phase.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/prepare.hpp"

namespace fhd {
namespace {

constexpr const char* subject = "noise map";
constexpr std::int64_t most_replicas = 100000;

/// Returns settings that do with the prepared scan what was done for the image: what was searched is found.
Settings settings_of_image(Settings settings, const Scan& prepared, const Report& report) {
  settings.coils = CoilSettings::as_they_are();
  settings.coils.maps = prepared.sensitivity_maps ? CoilMaps::file : CoilMaps::none;
  settings.outside_fov = OutsideFov::off;
  if (auto* method = std::get_if<LeastSquares>(&settings.method)) {
    const bool is_found = std::holds_alternative<FromNoise>(method->lambda) ||
                          (std::holds_alternative<StandardLambda>(method->lambda) &&
                           holds(report.messages, "lambda", Severity::note));
    if (is_found && report.largest_eigenvalue > 0)
      method->lambda = OfLargestEigenvalue{report.lambda / report.largest_eigenvalue};
    for (std::size_t j = 0; j < method->sparse.size() && j < report.terms.size(); ++j)
      method->sparse[j].strength = report.terms[j].strength;
  }
  return settings;
}

bool combines_with_maps(const Scan& scan) { return scan.sensitivity_maps || scan.kspace.coil_count() == 1; }

bool is_linear(const Settings& settings, const Scan& scan) {
  const auto* method = least_squares(settings);
  return combines_with_maps(scan) && !(method && !method->sparse.empty());
}

/// Makes images of samples of the same trajectory, coils and maps: as a series where that is possible.
class Repeater {
 public:
  Repeater(const Settings& settings, const Execution& execution,
           const std::shared_ptr<TrajectoryCache>& cache, const Scan& scan)
      : scan_(scan), reconstructor_(settings, execution, Services{cache, {}, {}}) {
    if (takes_series(settings, execution, scan)) preparation_ = reconstructor_.prepare(scan);
  }
  std::int64_t at_once() const { return preparation_ ? preparation_->volumes_at_once : 1; }
  /// Returns the images of at most at_once() volumes.
  std::vector<Image> operator()(std::vector<KSpace> samples) {
    std::vector<Image> images;
    if (!preparation_) {
      Scan scan(scan_);
      for (auto& each : samples) {
        scan.kspace = std::move(each);
        images.push_back(reconstructor_(scan).image);
      }
      return images;
    }
    std::vector<Scan> scans(samples.size());
    std::vector<const Scan*> each;
    for (std::size_t i = 0; i < scans.size(); ++i) {
      scans[i].geometry = scan_.geometry;
      scans[i].trajectory = scan_.trajectory;
      scans[i].kspace = std::move(samples[i]);
      each.push_back(&scans[i]);
    }
    for (auto& made : reconstructor_.reconstruct(preparation_, each)) images.push_back(std::move(made.image));
    return images;
  }

 private:
  const Scan& scan_;
  Reconstructor reconstructor_;
  std::shared_ptr<const Preparation> preparation_;
};

KSpace with_noise(const KSpace& kspace, const Array<Complex<float>>& noise) {
  KSpace sum = kspace;
  for (std::int64_t i = 0; i < noise.size(); ++i) sum.values[i] += noise[i];
  for (std::int64_t i = 0; i < sum.in_double.size(); ++i) {
    sum.in_double[i] += Complex<double>(noise[i]);
    sum.values[i] = Complex<float>(sum.in_double[i]);
  }
  return sum;
}

/// Returns the samples of a point of magnitude 1 at voxel x, y, z of the scan.
KSpace samples_of_point(const Scan& scan, const std::array<int, 3>& voxel) {
  const std::int64_t coils = scan.kspace.coil_count(), voxels = scan.geometry.voxel_count(),
                     at = row_major(voxel, scan.geometry.matrix_size);
  PhaseTerms terms = all_terms(scan);
  terms.basis = columns_of(terms.basis, std::vector{at});
  for (auto* map : {&terms.decay_per_s, &terms.second_decay_per_s, &terms.fraction})
    if (!map->empty()) *map = columns_of(*map, std::vector{at});
  Array<Complex<double>> seen({coils, 1, 1, 1}), samples({coils, scan.trajectory.sample_count()});
  for (std::int64_t coil = 0; coil < coils; ++coil)
    seen[coil] =
        scan.sensitivity_maps ? Complex<double>(scan.sensitivity_maps->values[coil * voxels + at]) : 1.0;
  make_phase_transform<double>(terms, {1, 1, 1}, Device::cpu())->forward(seen, samples);
  return {converted<Complex<float>>(samples)};
}

/// Returns the centre, and half of the way from there to every face.
std::vector<std::array<int, 3>> places_of_points(const std::array<int, 3>& n) {
  std::array<int, 3> centre{};
  for (int axis = 0; axis < 3; ++axis) centre[axis] = n[axis] / 2;
  std::vector<std::array<int, 3>> places{centre};
  for (int axis = 0; axis < 3; ++axis)
    for (const int side : {-1, 1}) {
      auto place = centre;
      place[axis] += side * (n[axis] / 4);
      if (place != centre) places.push_back(place);
    }
  return places;
}

/// Returns |line| between its voxels, by the trigonometric polynomial through them.
double between(const std::vector<Complex<double>>& line, double at) {
  const auto n = static_cast<double>(line.size());
  Complex<double> sum = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double x = at - static_cast<double>(i), angle = std::numbers::pi * x / n;
    const double below = line.size() % 2 == 0 ? n * std::tan(angle) : n * std::sin(angle);
    sum += (std::abs(std::sin(angle)) < 1e-12 ? 1.0 : std::sin(std::numbers::pi * x) / below) * line[i];
  }
  return abs(sum);
}

/// Returns the full width at half of the value at voxel `peak`, in voxels.
double width_of(const std::vector<Complex<double>>& line, int peak) {
  const double half = between(line, peak) / 2, furthest = static_cast<double>(line.size()) / 2;
  if (!(half > 0)) return 0;
  double width = 0;
  for (const int side : {-1, 1}) {
    constexpr double fine = 1.0 / 16;
    double outside = fine;
    while (outside < furthest && between(line, peak + side * outside) > half) outside += fine;
    double inside = outside - fine;
    for (int i = 0; i < 20; ++i) {
      const double middle = (inside + outside) / 2;
      (between(line, peak + side * middle) > half ? inside : outside) = middle;
    }
    width += outside;
  }
  return width;
}

PointWidth widths_of(const Image& image, const std::array<int, 3>& voxel) {
  const auto& n = image.geometry.matrix_size;
  PointWidth result{voxel, {}, {}};
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] == 1) continue;
    std::vector<Complex<double>> line;
    for (int i = 0; i < n[axis]; ++i) {
      auto at = voxel;
      at[axis] = i;
      line.emplace_back(image.values[row_major(at, n)]);
    }
    result.width[axis] = width_of(line, voxel[axis]);
    result.width_mm[axis] = result.width[axis] * image.geometry.fov_mm[axis] / n[axis];
  }
  return result;
}

/// Returns the voxel of the prepared scan at a voxel of the image: both have their centres at floor(N / 2).
std::array<int, 3> in_prepared(const std::array<int, 3>& voxel, const Image& image, const Scan& prepared) {
  std::array<int, 3> at{};
  for (int axis = 0; axis < 3; ++axis)
    at[axis] = voxel[axis] - image.geometry.matrix_size[axis] / 2 + prepared.geometry.matrix_size[axis] / 2;
  return at;
}

/// Returns the deviation of as many samples spread evenly, without unfolding, at a voxel of the prepared scan: with S
/// the maps there and C the covariance, sqrt(S^H C S / 2 samples) / S^H S.
double even_deviation(const Scan& scan, const Array<Complex<double>>& covariance, std::int64_t voxel) {
  const std::int64_t coils = scan.kspace.coil_count(), voxels = scan.geometry.voxel_count();
  const auto map = [&](std::int64_t coil) {
    return scan.sensitivity_maps ? Complex<double>(scan.sensitivity_maps->values[coil * voxels + voxel])
                                 : 1.0;
  };
  double square = 0, noise = 0;
  for (std::int64_t c = 0; c < coils; ++c) {
    square += norm(map(c));
    for (std::int64_t d = 0; d < coils; ++d) noise += (conj(map(c)) * covariance[c * coils + d] * map(d)).re;
  }
  return square > 0 ? std::sqrt(noise / 2 / static_cast<double>(scan.trajectory.sample_count())) / square : 0;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Returns the mean variance of the noise; throws Error where there is none.
double noise_level(const KnownNoise& noise) {
  const auto& covariance = noise.covariance.values;
  const std::int64_t coils = covariance.extent(0);
  double level = 0;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    level += covariance[coil * coils + coil].re / static_cast<double>(coils);
  if (!(level > 0))
    throw Error(
        subject, "a noise level",
        noise.is_measured ? "noise readouts of zeros" : "no noise readouts, and zeros at the edge of k-space",
        "supply noise readouts");
  return level;
}

/// Returns the covariance of the noise to draw. Without noise readouts, its level is that at the edge of k-space or
/// what the verdict found that no image explains, whichever is less: each holds signal too.
Array<Complex<double>> covariance_of(const KnownNoise& noise, const Report& report) {
  const double level = noise_level(noise);
  auto covariance = covariance_to_draw(noise);
  if (noise.is_measured || !report.verdict || !(report.verdict->noise_variance > 0)) return covariance;
  for (auto& value : covariance) value *= std::min(1.0, report.verdict->noise_variance / level);
  return covariance;
}

NoiseMaps maps_of(const Array<double>& deviation, const Image& image, const Scan& prepared,
                  const Array<Complex<double>>& covariance, bool has_g_factor) {
  NoiseMaps maps{converted<float>(deviation), Array<float>(deviation.shape()), {}};
  for (std::int64_t i = 0; i < deviation.size(); ++i)
    maps.snr[i] =
        deviation[i] > 0 ? static_cast<float>(abs(Complex<double>(image.values[i])) / deviation[i]) : 0;
  if (!has_g_factor) return maps;
  maps.g_factor = Array<float>(deviation.shape());
  const auto& n = image.geometry.matrix_size;
  for_each_position(n, [&](const Position& place) {
    const std::int64_t voxel = row_major(place, n),
                       at = row_major(in_prepared(place, image, prepared), prepared.geometry.matrix_size);
    const double even = even_deviation(prepared, covariance, at);
    maps.g_factor[voxel] = even > 0 ? static_cast<float>(deviation[voxel] / even) : 0;
  });
  return maps;
}

void summarize(const NoiseMaps& maps, const Image& image, NoiseSummary& summary) {
  double largest = 0;
  for (const auto& value : image.values) largest = std::max(largest, abs(Complex<double>(value)));
  const auto of_object = [&](const Array<float>& map, double share) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < map.size(); ++i)
      if (abs(Complex<double>(image.values[i])) > 0.1 * largest) values.push_back(map[i]);
    return percentile(std::move(values), share);
  };
  summary.deviation = of_object(maps.deviation, 0.5);
  summary.snr = of_object(maps.snr, 0.5);
  summary.g_factor = of_object(maps.g_factor, 0.5);
  summary.largest_g_factor = of_object(maps.g_factor, 0.99);
}

/// Returns the scatter of replicas about the image. All noise of roots of sums of squares is in the real part.
Array<double> replica_deviation(Repeater& repeat, const Image& image, const Scan& prepared,
                                const Array<Complex<double>>& covariance, std::int64_t replicas,
                                const ProgressCallback& progress) {
  Array<Complex<double>> sums(image.values.shape());
  Array<double> squares(sums.shape());
  const std::int64_t samples = prepared.trajectory.sample_count();
  for (std::int64_t first = 0; first < replicas; first += repeat.at_once()) {
    const std::int64_t count = std::min(repeat.at_once(), replicas - first);
    std::vector<KSpace> batch;
    for (std::int64_t i = 0; i < count; ++i)
      batch.push_back(with_noise(prepared.kspace,
                                 noise_like(covariance, samples, static_cast<std::uint64_t>(first + i))));
    for (const auto& replica : repeat(std::move(batch)))
      for (std::int64_t i = 0; i < sums.size(); ++i) {
        const auto away = Complex<double>(replica.values[i]) - Complex<double>(image.values[i]);
        sums[i] += away;
        squares[i] += norm(away);
      }
    if (progress) progress({"noise map", first + count, replicas, -1});
  }
  const double n = static_cast<double>(replicas), parts = combines_with_maps(prepared) ? 2 : 1;
  for (std::int64_t i = 0; i < squares.size(); ++i)
    squares[i] = std::sqrt(std::max(0.0, squares[i] - norm(sums[i]) / n) / (n - 1) / parts);
  return squares;
}

std::vector<PointWidth> point_widths(Repeater& repeat, const Image& image, const Scan& prepared) {
  std::vector<PointWidth> widths;
  for (const auto& voxel : places_of_points(image.geometry.matrix_size)) {
    std::vector<KSpace> samples;
    samples.push_back(samples_of_point(prepared, in_prepared(voxel, image, prepared)));
    widths.push_back(widths_of(repeat(std::move(samples)).front(), voxel));
  }
  return widths;
}

/// Returns "12 %", the uncertainty of a deviation from so many complex numbers: 1 / (2 sqrt(n)).
std::string uncertainty(std::int64_t numbers) {
  return short_number(std::round(50 / std::sqrt(static_cast<double>(std::max<std::int64_t>(numbers, 1))))) +
         " %";
}

void report(const NoiseMapRequest& request, std::int64_t noise_samples, bool linear, bool has_g_factor,
            NoiseMapResult& result) {
  const NoiseSummary& summary = result.summary;
  constexpr std::int64_t enough_samples = 100;
  if (noise_samples < enough_samples)
    result.note("noise map: the level of the noise is from " + std::to_string(noise_samples) +
                (noise_samples == 1 ? " sample" : " samples") +
                " of each coil, which tell its deviation to " + uncertainty(noise_samples) +
                ": so uncertain are all maps");
  if (!summary.noise_is_measured)
    result.note(
        "noise map: the scan has no noise readouts; the noise is taken from the edge of k-space, or from "
        "what the image leaves, whichever is less: both hold signal, which makes it look larger");
  if (!linear)
    result.note("noise map: the method is not linear; the map is of this image, and says nothing of another");
  const std::string g_factor = ", g-factor " + short_number(summary.g_factor) + " (99th percentile " +
                               short_number(summary.largest_g_factor) + ")";
  result.note("noise map " +
              (request.replicas > 0
                   ? "of " + std::to_string(request.replicas) + " pseudo-replicas (a voxel's deviation to " +
                         uncertainty(request.replicas - 1) + ")"
                   : "exact") +
              ": standard deviation " + short_number(summary.deviation) + ", SNR " +
              short_number(summary.snr) + (has_g_factor ? g_factor : "") + ", medians over the object");
  std::string voxels, mm;
  for (int axis = 0; axis < 3 && !summary.widths.empty(); ++axis) {
    const auto& centre = summary.widths.front();
    if (centre.width[axis] > 0) voxels += (voxels.empty() ? "" : " x ") + short_number(centre.width[axis]);
    if (centre.width_mm[axis] > 0) mm += (mm.empty() ? "" : " x ") + short_number(centre.width_mm[axis]);
  }
  if (!voxels.empty())
    result.note("a point at the centre is " + voxels + " voxels " + (mm.empty() ? "" : "(" + mm + " mm) ") +
                "wide (full width at half maximum, x, y, z)");
}

}  // namespace

void validate(const NoiseMapRequest& request) {
  if (request.replicas != 0 && (request.replicas < 2 || request.replicas > most_replicas))
    throw Error(Field{"noise-map"}, "2 ... " + std::to_string(most_replicas) + " replicas",
                std::to_string(request.replicas));
}

void require_noise_maps_can(const NoiseMapRequest& request, const Settings& settings) {
  validate(request);
  refuse_incompatible(
      features_of(settings).with(Feature::noise_map).with(Feature::exact_noise_map, request.replicas == 0));
}

void require_noise_maps_can(const NoiseMapRequest& request, const Settings& settings, const Scan& scan) {
  require_noise_maps_can(request, settings);
  if (request.replicas == 0) require_lattice(scan, decide_coils_of(scan, settings).uses_maps());
  noise_level(known_noise(scan));
}

NoiseMapResult noise_maps(const Reconstruction& made, const Scan& measured, const Settings& settings,
                          const Execution& execution, const NoiseMapRequest& request,
                          const std::shared_ptr<TrajectoryCache>& cache, const ProgressCallback& progress) {
  require_noise_maps_can(request, settings);
  const auto begin = std::chrono::steady_clock::now();
  const ThreadLimit limit(execution.threads);
  const Scan& prepared = made.prepared ? *made.prepared : measured;
  const KnownNoise noise = known_noise(prepared);
  const auto covariance = covariance_of(noise, made.report);
  const Settings as_made = settings_of_image(settings, prepared, made.report);
  const bool linear = is_linear(as_made, prepared),
             has_g_factor = linear && !is_method<PlainAdjoint>(settings);
  Repeater repeat(as_made, execution, cache, prepared);
  const auto deviation =
      request.replicas > 0
          ? replica_deviation(repeat, made.image, prepared, covariance, request.replicas, progress)
          : central_part(sense_noise(prepared, covariance, made.report.lambda), made.image.values.shape());
  NoiseMapResult result;
  result.maps = maps_of(deviation, made.image, prepared, covariance, has_g_factor);
  result.summary.method = request.replicas > 0 ? "pseudo-replicas" : "exact";
  result.summary.replicas = request.replicas;
  result.summary.noise_is_measured = noise.is_measured;
  summarize(result.maps, made.image, result.summary);
  if (linear) result.summary.widths = point_widths(repeat, made.image, prepared);
  result.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (request.replicas == 0 && !made.report.converged)
    result.note(
        "noise map: exact of the converged image, and this one stopped before: its noise may be less");
  report(request, noise.covariance.sample_count, linear, has_g_factor, result);
  return result;
}

}  // namespace fhd
