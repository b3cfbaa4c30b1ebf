#include "recon/pipeline/outside_fov.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/lattice.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/noise.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/prepare.hpp"

namespace fhd {
namespace {

/// Shares of the energy along an axis, over its mean inside the FOV. A sharp edge, blurred by the window over
/// k-space, falls to `least_energy` within `blur_of_edge` / radius (measured on heads of nine sizes: to 0.01 FOV).
/// A share of just `least_energy` counts as object only beside a share `certain` times as large: at the end of the field,
/// samples that are missing in the corners of k-space leave as much as 2 %.
constexpr double least_energy = 0.01, certain = 3, blur_of_edge = 0.66;
/// A signal counts above so many times the noise: sums over the voxels of a plane scatter by some tenths of it.
constexpr double above_noise = 2;

/// Returns the radius of the image of low resolution, in cycles per resolved field.
int largest_radius(const std::array<int, 3>& matrix_size) { return matrix_size[2] > 1 ? 16 : 24; }
std::int64_t most_coils(const std::array<int, 3>& matrix_size) { return matrix_size[2] > 1 ? 2 : 4; }

std::array<int, 3> field_matrix(const std::array<int, 3>& matrix_size, const FieldFactors& factors) {
  std::array<int, 3> result;
  for (int axis = 0; axis < 3; ++axis)
    result[axis] = static_cast<int>(std::lround(matrix_size[axis] * factors[axis]));
  return result;
}

/// Returns positions in cycles per `factors` times the FOV.
Trajectory in_field(const Trajectory& trajectory, const FieldFactors& factors) {
  Trajectory result{trajectory.k};
  const std::int64_t samples = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples && factors[axis] != 1; ++m)
      result.k.data()[axis * samples + m] *= factors[axis];
  return result;
}

/// Returns the standard deviation of the noise of a sample, the root of the mean over coils.
double noise_of(const Scan& scan) {
  const auto covariance = known_noise(scan).covariance.values;
  const std::int64_t coils = scan.kspace.coil_count();
  double variance = 0;
  for (std::int64_t coil = 0; coil < coils; ++coil) variance += covariance[coil * coils + coil].re;
  return std::sqrt(variance / static_cast<double>(coils));
}

/// Returns values of one coil that is nothing but noise of the standard deviation `sigma`.
Array<Complex<float>> pure_noise(std::int64_t samples, double sigma) {
  std::mt19937 generator(1912);
  std::normal_distribution<double> normal(0, sigma / std::sqrt(2.0));
  Array<Complex<float>> values({1, samples});
  for (auto& value : values) value = Complex<float>(Complex<double>(normal(generator), normal(generator)));
  return values;
}

/// Energy of all coils in an image of the field, [z][y][x], in units of the samples, and its resolution.
struct LowResolution {
  Array<double> energy;
  std::array<int, 3> matrix_size{}, radius{};
  bool sampled = false;
};
LowResolution low_resolution(const Trajectory& in_field, const Array<Complex<float>>& kspace,
                             const std::array<int, 3>& matrix_size, Device device,
                             std::optional<CalibrationSystem>& kept) {
  const int least = least_calibration_radius(matrix_size);
  double largest = 0;  // calibration_region divides by it
  for (const auto& d : kspace) largest = std::max({largest, std::abs(double(d.re)), std::abs(double(d.im))});
  if (largest == 0) return {};
  const auto region = calibration_region(
      in_field, kspace, {matrix_size, largest_radius(matrix_size), least, least}, device, &kept);
  auto images = windowed(region);
  centred_fft(images, +1);
  const auto n = region.matrix_size();
  LowResolution result{Array<double>({n[2], n[1], n[0]}), n, region.radius, region.sampled};
  for (std::int64_t i = 0; i < images.size(); ++i)
    result.energy.data()[i % result.energy.size()] +=
        norm(Complex<double>(images.data()[i])) * largest * largest;
  return result;
}

/// Returns the places from the centre to where energies on one side, over their threshold, fall to 1, if they rise to
/// `certain` further out: between two places they fall like an exponential.
double reach_of(const std::vector<double>& above, int side) {
  const int n = static_cast<int>(above.size()), centre = n / 2, end = side < 0 ? 0 : n - 1;
  const auto at = [&](int i) { return above[i]; };
  int i = end;
  while (i != centre && at(i) < certain) i -= side;
  while (i != end && at(i + side) > 1) i += side;
  if (i == end || !(at(i) > 1)) return std::abs(i - centre);
  return std::abs(i - centre) + std::log(at(i)) / std::log(at(i) / at(i + side));
}

struct Seen {
  std::array<AxisView, 3> views;
  double energy_share = 0;
};
/// Computes the views of an image. `noise`: energy that is not the object's, of the same voxels.
Seen seen_in(const LowResolution& image, const Array<double>& noise, const FieldFactors& factors) {
  const auto& n = image.matrix_size;
  std::array<std::vector<double>, 3> along, noise_along;  // sums over the other axes
  for (int axis = 0; axis < 3; ++axis) {
    along[axis].resize(n[axis]);
    noise_along[axis].resize(n[axis]);
  }
  const auto place = [&](int index, int axis) {
    return static_cast<double>(index - n[axis] / 2) / n[axis] * factors[axis];
  };
  double inside = 0, outside = 0;
  for_each_position(n, [&](const Position& at) {
    const std::int64_t i = row_major(at, n);
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      along[axis][at[axis]] += image.energy.data()[i];
      noise_along[axis][at[axis]] += noise.data()[i];
      is_inside = is_inside && std::abs(place(at[axis], axis)) <= 0.5;
    }
    (is_inside ? inside : outside) += image.energy.data()[i] - noise.data()[i];
  });
  Seen seen;
  seen.energy_share = std::clamp(outside / (inside + outside), 0.0, 1.0);
  for (int axis = 0; axis < 3; ++axis) {
    if (factors[axis] == 1) continue;
    double mean = 0;
    for (int i = 0; i < n[axis]; ++i)
      if (std::abs(place(i, axis)) <= 0.5) mean += along[axis][i];
    mean /= n[axis] / factors[axis];
    std::vector<double> above;  // the threshold
    for (std::size_t i = 0; i < along[axis].size(); ++i)
      above.push_back(along[axis][i] / std::max(least_energy * mean, above_noise * noise_along[axis][i]));
    AxisView& view = seen.views[axis];
    view.resolved = factors[axis] / 2;
    view.blur = blur_of_edge * factors[axis] / image.radius[axis];
    view.reach = std::max(reach_of(above, -1), reach_of(above, +1)) * factors[axis] / n[axis];
  }
  return seen;
}

/// Returns whether places follow each other in steps of about 1, but for a tenth of the way from -reach to reach.
bool are_dense(std::vector<double> places, double reach) {
  constexpr double longest_step = 1.3, most_missing = 0.1;
  places.insert(places.end(), {-reach, reach});
  std::sort(places.begin(), places.end());
  double missing = 0;
  for (std::size_t i = 1; i < places.size(); ++i)
    if (const double step = places[i] - places[i - 1]; step > longest_step) missing += step;
  return missing <= most_missing * 2 * reach;
}

/// Returns whether the samples near five lines of k-space along `axis` are dense: lines through the plane of `axis`
/// and `other` at 0, 1/3 and 2/3 of the radius to either side.
bool are_lines_dense(int axis, int other, const std::array<int, 3>& radius, const Trajectory& trajectory,
                     const std::array<int, 3>& matrix_size) {
  constexpr double nearby = 0.75;
  const std::int64_t samples = trajectory.sample_count();
  const int third = 3 - axis - other;
  const double *along = trajectory.k.data() + axis * samples, *across = trajectory.k.data() + other * samples,
               *off_plane = trajectory.k.data() + third * samples;
  std::array<std::vector<double>, 5> places;
  std::array<double, 5> reach;
  for (int line = -2; line <= 2; ++line) reach[line + 2] = radius[axis] * std::sqrt(1 - line * line / 9.0);
  for (std::int64_t m = 0; m < samples; ++m) {
    if (matrix_size[third] != 1 && std::abs(off_plane[m]) > nearby) continue;
    for (int line = -2; line <= 2; ++line)
      if (std::abs(along[m]) < reach[line + 2] &&
          (matrix_size[other] == 1 || std::abs(across[m] - line * radius[other] / 3) <= nearby))
        places[line + 2].push_back(along[m]);
  }
  for (int line = -2; line <= 2; ++line)
    if ((line == 0 || radius[other] != 0) && !are_dense(std::move(places[line + 2]), reach[line + 2]))
      return false;
  return true;
}

/// Returns whether the samples about the centre determine an image of the field: in a ball, and along lines through
/// it, since one turn of a spiral may lie near two integer positions, and yet two steps from the next.
bool is_dense(const Trajectory& trajectory, const FieldFactors& factors,
              const std::array<int, 3>& matrix_size) {
  const auto field = field_matrix(matrix_size, factors);
  const auto scaled = in_field(trajectory, factors);
  if (!calibration_is_sampled(scaled, field)) return false;
  std::array<int, 3> radius;
  for (int axis = 0; axis < 3; ++axis)
    radius[axis] = std::min(least_calibration_radius(field), (field[axis] - 1) / 2);
  for (int axis = 0; axis < 3; ++axis)
    for (int other = 0; other < 3 && factors[axis] != 1; ++other)
      if (other != axis && !are_lines_dense(axis, other, radius, scaled, field)) return false;
  return true;
}

/// Returns every second, third ... run of samples that follow each other in small steps, where there are many.
std::vector<std::int64_t> some_runs(const Trajectory& centre) {
  constexpr std::int64_t enough = 60'000;
  constexpr double jump = 4;  // cycles/FOV, to the next readout
  const std::int64_t samples = centre.sample_count(), stride = samples / enough + 1;
  const double* k = centre.k.data();
  std::vector<std::int64_t> kept;
  for (std::int64_t m = 0, run = 0; m < samples; ++m) {
    const std::int64_t before = std::max<std::int64_t>(m - 1, 0);
    if (std::hypot(k[m] - k[before], k[samples + m] - k[samples + before],
                   k[2 * samples + m] - k[2 * samples + before]) > jump)
      ++run;
    if (run % stride == 0) kept.push_back(m);
  }
  return kept;
}

/// Returns the samples about the centre that an image of the field is made of, of few coils.
CentralSamples centre_of(const Scan& scan, const FieldFactors& factors) {
  const auto field = field_matrix(scan.geometry.matrix_size, factors);
  auto width = calibration_matrix(field, largest_radius(field));
  for (int axis = 0; axis < 3; ++axis)
    if (width[axis] > 1) width[axis] = static_cast<int>(std::ceil(width[axis] / factors[axis]));
  auto centre = samples_inside(scan.trajectory, scan.kspace.values, width);
  if (const auto some = some_runs(centre.trajectory);
      static_cast<std::int64_t>(some.size()) < centre.trajectory.sample_count() &&
      is_dense(samples_at(some, centre.trajectory, {}).trajectory, factors, scan.geometry.matrix_size))
    centre = samples_at(some, centre.trajectory, centre.kspace);
  const std::int64_t most = most_coils(field);
  if (scan.kspace.coil_count() > most && centre.trajectory.sample_count() > 0)
    centre.kspace = apply_mixing(compress_to_count(centre.kspace, most).matrix, centre.kspace);
  return centre;
}

/// Returns whether the positions along an axis differ by whole numbers: lines or planes of a Cartesian axis.
bool has_whole_steps(const Trajectory& trajectory, int axis) {
  const std::int64_t samples = trajectory.sample_count();
  const double* k = trajectory.k.data() + axis * samples;
  return std::all_of(k, k + samples,
                     [&](double at) { return std::abs(at - k[0] - std::rint(at - k[0])) <= 1e-3; });
}

/// Returns the next even number of small prime factors, or the one before where that is more than `most`.
int even_size(double wanted, int most) {
  const auto is_good = [](int n) { return n % 2 == 0 && good_fft_size(n) == n; };
  int size = std::max(2, static_cast<int>(std::ceil(wanted - 1e-9)));
  while (!is_good(size)) ++size;
  if (size > most)
    for (size = most; !is_good(size);) --size;
  return size;
}

}  // namespace

FieldFactors resolved_field(const Scan& scan) {
  const auto& matrix = scan.geometry.matrix_size;
  const auto centre =
      samples_inside(scan.trajectory, {}, calibration_matrix(matrix, least_calibration_radius(matrix)));
  FieldFactors factors = own_field;
  for (int axis = 0; axis < 3; ++axis) {
    const int cropped = scan.cropped_matrix_size[axis];
    if (matrix[axis] > 1 && (cropped == 0 || cropped == matrix[axis]) &&
        !has_whole_steps(centre.trajectory, axis))
      factors[axis] = 2;
  }
  const bool dense = factors != own_field && is_dense(centre.trajectory, factors, matrix) &&
                     (!scan.calibration || is_dense(scan.calibration->trajectory, factors, matrix));
  return dense ? factors : own_field;
}

std::array<int, 3> matrix_for_object(const std::array<int, 3>& matrix_size,
                                     const std::array<AxisView, 3>& views) {
  constexpr double beyond = 0.01;
  std::array<int, 3> result = matrix_size;
  for (int axis = 0; axis < 3; ++axis) {
    const auto& [resolved, reach, blur] = views[axis];
    if (!(reach - blur > 0.5 + beyond && resolved > 0.5)) continue;
    const double factor = std::min({2.0, 2 * resolved, std::ceil(2 * reach * 8) / 8});
    result[axis] = std::max(matrix_size[axis], even_size(factor * matrix_size[axis], 2 * matrix_size[axis]));
  }
  return result;
}

ObjectBeyondFov object_beyond_fov(const Scan& scan, const FieldFactors& resolved, Device device,
                                  std::optional<CalibrationSystem>* kept) {
  const auto& matrix = scan.geometry.matrix_size;
  const auto field = field_matrix(matrix, resolved);
  const CentralSamples centre = centre_of(scan, resolved);
  const auto trajectory = in_field(centre.trajectory, resolved);
  ObjectBeyondFov object{matrix};
  if (centre.trajectory.sample_count() == 0) return object;
  std::optional<CalibrationSystem> own;
  auto& system = kept != nullptr ? *kept : own;
  const auto image = low_resolution(trajectory, centre.kspace, field, device, system);
  if (!image.sampled) return object;
  Array<double> noise(image.energy.shape());
  if (matrix_for_object(matrix, seen_in(image, noise, resolved).views) == matrix) return object;

  const double sigma = noise_of(scan);
  if (sigma > 0)
    noise =
        low_resolution(trajectory, pure_noise(centre.trajectory.sample_count(), sigma), field, device, system)
            .energy;
  for (double& value : noise) value *= static_cast<double>(centre.kspace.extent(0));
  const Seen seen = seen_in(image, noise, resolved);
  object.matrix_size = matrix_for_object(matrix, seen.views);
  object.energy_share = seen.energy_share;
  return object;
}

MapsCost look_cost(const std::array<int, 3>& matrix_size, const FieldFactors& resolved, std::int64_t samples,
                   std::int64_t coils, Device device) {
  const auto field = field_matrix(matrix_size, resolved);
  MapsCost cost = calibration_cost(field, largest_radius(field), samples, std::min(coils, most_coils(field)),
                                   true, device);
  if (coils > most_coils(field)) cost.work += mixing_work(coils, samples);
  return cost;
}

bool looks_beyond_fov(const Settings& settings) {
  return settings.outside_fov == OutsideFov::automatic && least_squares(settings) != nullptr;
}

std::string bound_to_fov(const Scan& scan, const Settings& settings) {
  if (decide_coils_of(scan, settings).maps_from_scan)
    return "its sensitivity maps end there; " + option_words("coils", "espirit") + " finds larger ones";
  if (scan.decay_per_s || (scan.fields && !scan.fields->displacement_mm.empty()))
    return "its map of decay or of displacement ends there";
  return scan.field_map ? "its field map ends there" : "";
}

Scan on_larger_matrix(const Scan& scan, const std::array<int, 3>& matrix_size) {
  Scan larger = scan;
  larger.sensitivity_maps.reset();
  FieldFactors factors;
  for (int axis = 0; axis < 3; ++axis) {
    const int own = scan.geometry.matrix_size[axis];
    factors[axis] = static_cast<double>(matrix_size[axis]) / own;
    if (matrix_size[axis] == own) continue;
    larger.geometry.matrix_size[axis] = matrix_size[axis];
    larger.geometry.fov_mm[axis] *= factors[axis];
    larger.cropped_matrix_size[axis] = own;
  }
  larger.trajectory = in_field(scan.trajectory, factors);
  if (larger.calibration) larger.calibration->trajectory = in_field(scan.calibration->trajectory, factors);
  return larger;
}

std::string in_words(const ObjectBeyondFov& object, const std::array<int, 3>& matrix_size) {
  std::vector<std::string> axes;
  for (int axis = 0; axis < 3; ++axis)
    if (object.matrix_size[axis] != matrix_size[axis]) axes.emplace_back(1, "xyz"[axis]);
  return "the object reaches beyond the field of view along " + listed(axes) + " (" +
         short_number(100 * object.energy_share) + " % of its energy at low resolution)";
}

/// Returns whether the object is more than 1.5 times as long as the FOV on every axis, as of a trajectory in another unit. An even one
/// has 1 - 1/1.5^2 = 56 % of its energy beyond, and more in 3D; the ghosts of contrast between readouts reach as far with 2 %.
static bool is_improbably_long(const std::array<int, 3>& matrix_size, const ObjectBeyondFov& object) {
  constexpr double least_share = 0.1;
  if (object.energy_share < least_share) return false;
  const auto& larger = object.matrix_size;
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1 && 2 * larger[axis] <= 3 * matrix_size[axis]) return false;
  return true;
}

static std::string sizes_in_words(const std::array<int, 3>& n) {
  return std::to_string(n[0]) + " x " + std::to_string(n[1]) + (n[2] > 1 ? " x " + std::to_string(n[2]) : "");
}

std::optional<Scan> prepare_matrix(const Scan& scan, const Context& context, CalibrationCache& cache) {
  if (!looks_beyond_fov(context.settings)) return std::nullopt;
  const auto resolved = resolved_field(scan);
  if (resolved == own_field) return std::nullopt;
  RunLog& log = context.log;
  const auto& matrix = scan.geometry.matrix_size;
  ObjectBeyondFov object;
  log.stage("outside_fov", [&] {
    object = on_device_or_cpu(
        context.device(), log, "what lies beyond the field of view is looked for",
        [&](Device device) { return object_beyond_fov(scan, resolved, device, &cache.outside_fov); });
  });
  // Rounding may differ between processes: the first one decides.
  std::array<double, 4> decided{};
  if (context.processes().rank() == 0)
    decided = {double(object.matrix_size[0]), double(object.matrix_size[1]), double(object.matrix_size[2]),
               object.energy_share};
  context.processes().sum(decided.data(), 4);
  for (int axis = 0; axis < 3; ++axis) object.matrix_size[axis] = static_cast<int>(decided[axis]);
  object.energy_share = decided[3];
  const auto& larger = object.matrix_size;
  if (larger == matrix) return std::nullopt;

  const std::string found = in_words(object, matrix), bound = bound_to_fov(scan, context.settings);
  if (!bound.empty()) {
    log.add({codes::outside_fov, Severity::warning,
             found + ", but is reconstructed within it, because " + bound});
    return std::nullopt;
  }
  log.note(codes::outside_fov, found + ": reconstructed on " + sizes_in_words(larger) +
                                   " voxels and cropped to " + sizes_in_words(matrix));
  log.setting("outside_fov", sizes_in_words(larger));
  if (is_improbably_long(matrix, object))
    log.add({codes::outside_fov, Severity::suspicion,
             "the object is more than 1.5 times as long as the field of view along every axis: is the "
             "trajectory in another unit, or the field of view another one?"});
  return on_larger_matrix(scan, larger);
}

}  // namespace fhd
