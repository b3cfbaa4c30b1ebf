#include "data/trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd::data {
namespace {

using std::numbers::pi;

constexpr double gyromagnetic_ratio_hz_per_t = 42.577478518e6;  // proton
constexpr std::int64_t largest_sample_count = std::int64_t{1} << 31;

/// Limits of the in-plane gradients in the units of k-space.
struct GradientLimits {
  double speed;         ///< cycles/FOV per s
  double acceleration;  ///< cycles/FOV per s^2
};

GradientLimits gradient_limits(const TrajectorySettings& settings) {
  const int axes = settings.matrix_size[2] > 1 ? 3 : 2;
  const double smallest_fov_m =
      *std::min_element(settings.fov_mm.begin(), settings.fov_mm.begin() + axes) * 1e-3;
  return {gyromagnetic_ratio_hz_per_t * settings.largest_gradient_t_per_m * smallest_fov_m,
          gyromagnetic_ratio_hz_per_t * settings.largest_slew_t_per_m_s * smallest_fov_m};
}

void check(const TrajectorySettings& settings) {
  const auto require = [](bool good, const std::string& what, const char* expected, const std::string& found,
                          const char* remedy = "") {
    if (!good) throw Error(what, expected, found, remedy);
  };
  const auto& n = settings.matrix_size;
  const std::string name = std::string(name_of(settings.kind)) + " trajectory";
  for (const int voxels : n)
    require(voxels >= 1 && voxels <= 4096, "matrix size", "1 ... 4096 voxels per axis",
            std::to_string(voxels));
  require(n[0] >= 2 && n[1] >= 2, "matrix size", "at least 2 voxels along x and y",
          std::to_string(n[0]) + " x " + std::to_string(n[1]));
  const int dimensions = n[2] > 1 ? 3 : 2, needed = dimensions_of(settings.kind);
  require(needed == 0 || needed == dimensions, name,
          needed == 2 ? "1 voxel along z" : "2 or more voxels along z", std::to_string(n[2]),
          dimensions == 2 ? "give a 3D matrix, or a 2D trajectory" : "give a 2D matrix, or a 3D trajectory");
  for (const double fov : settings.fov_mm)
    require(fov > 0 && fov < 1e5, "FOV", "millimetres > 0", short_number(fov));
  require(settings.undersampling >= 1 && settings.undersampling <= 1000, "undersampling", "1 ... 1000",
          short_number(settings.undersampling));
  require(settings.partial_fourier > 0.5 && settings.partial_fourier <= 1, "partial Fourier",
          "a share of k-space above 0.5 and up to 1, such as 0.625", short_number(settings.partial_fourier));
  require(settings.partial_fourier == 1 || settings.kind == TrajectoryKind::cartesian, name,
          "the whole of k-space", "partial Fourier",
          "leave --partial-fourier out, or use --trajectory cartesian");
  const double gradient = settings.largest_gradient_t_per_m, slew = settings.largest_slew_t_per_m_s;
  require(settings.dwell_s > 0 && settings.dwell_s < 1, "dwell time", "seconds > 0",
          short_number(settings.dwell_s));
  require(gradient > 0 && gradient < 1e3, "largest gradient", "T/m > 0", short_number(gradient));
  require(slew > 0 && slew < 1e6, "largest slew rate", "T/m/s > 0", short_number(slew));
  for (const double delay : settings.delay_samples)
    require(std::abs(delay) <= 100, "gradient delay", "-100 ... 100 samples", short_number(delay));
  const auto count = settings.readout_count, length = settings.readout_length;
  require(count >= 0 && count <= largest_sample_count, "readouts", "1 ... 2^31", std::to_string(count));
  require(length >= 0 && length != 1 && length <= largest_sample_count, "samples per readout", "2 ... 2^31",
          std::to_string(length));
}

/// Returns the positions at samples 0 ... length - 1, [axis][sample], of a readout designed to be at `position(sample)`, as a
/// gradient system with a response plays it. Works in steps of a quarter of a sample from a millisecond ahead on.
Array<double> played_readout(const std::function<std::array<double, 3>(double sample)>& position,
                             std::int64_t length, double dwell_s, const GradientResponse& response) {
  constexpr std::int64_t finer = 4;
  constexpr double lead_s = 1e-3;
  const std::int64_t lead = finer * std::max<std::int64_t>(std::llround(lead_s / dwell_s), 16),
                     count = finer * length + 2 * lead, n = good_fft_size(static_cast<int>(count + 2 * lead));
  const double step_s = dwell_s / finer;
  std::vector<std::array<double, 3>> design;
  for (std::int64_t j = 0; j <= count; ++j) design.push_back(position(static_cast<double>(j - lead) / finer));
  Array<double> played({3, length});
  for (int axis = 0; axis < 3; ++axis) {
    const double gain = response.at(axis, 0).re;
    Array<Complex<double>> gradient({1, 1, n});
    for (std::int64_t j = 0; j < count; ++j) {
      // Rises over the first half of the lead, and falls over the last.
      const double edge = static_cast<double>(std::min(j, count - j)) / (0.5 * static_cast<double>(lead));
      const double window = edge < 1 ? 0.5 - 0.5 * std::cos(pi * edge) : 1;
      gradient[j] = {window * (design[j + 1][axis] - design[j][axis]) / static_cast<double>(n), 0};
    }
    fft_3d(gradient, -1);
    for (std::int64_t j = 0; j < n; ++j) {
      const double hz = static_cast<double>(2 * j < n ? j : j - n) / (static_cast<double>(n) * step_s);
      gradient[j] = (response.at(axis, hz) - Complex<double>(gain, 0)) * gradient[j];
    }
    fft_3d(gradient, 1);
    double added = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t m = (j - lead) / finer;
      if (j >= lead && (j - lead) % finer == 0 && m < length)
        played[axis * length + m] = gain * design[j][axis] + added;
      added += gradient[j].re;
    }
  }
  return played;
}

/// Where a readout is in k-space, given its number and a sample's, or a time between samples.
using Position = std::function<std::array<double, 3>(std::int64_t readout, double sample)>;

DesignedTrajectory sampled(std::int64_t readout_count, std::int64_t readout_length, double dwell_s,
                           double undersampling, const Position& position,
                           const TrajectorySettings& imperfect = {}) {
  if (readout_count > largest_sample_count / readout_length)
    throw Error(
        "trajectory", "at most 2^31 samples",
        std::to_string(readout_count) + " readouts of " + std::to_string(readout_length) + " samples");
  DesignedTrajectory design{{}, readout_count, readout_length, dwell_s, undersampling, {}};
  const std::int64_t sample_count = readout_count * readout_length;
  design.trajectory.k = Array<double>({3, sample_count});
  design.sample_time_s = Array<double>({sample_count});
  for (std::int64_t readout = 0; readout < readout_count; ++readout) {
    const auto delayed = [&](double sample) {
      std::array<double, 3> k{};
      for (int axis = 0; axis < 3; ++axis)
        k[axis] = position(readout, sample - imperfect.delay_samples[axis])[axis];
      return k;
    };
    const auto played = imperfect.response
                            ? played_readout(delayed, readout_length, dwell_s, *imperfect.response)
                            : Array<double>();
    for (std::int64_t sample = 0; sample < readout_length; ++sample) {
      const std::int64_t m = readout * readout_length + sample;
      const auto k = played.empty() ? delayed(static_cast<double>(sample)) : std::array<double, 3>{};
      for (int axis = 0; axis < 3; ++axis)
        design.trajectory.k[axis * sample_count + m] =
            played.empty() ? k[axis] : played[axis * readout_length + sample];
      design.sample_time_s[m] = static_cast<double>(sample) * dwell_s;
    }
  }
  return design;
}

/// Repeats the pattern in every plane k_z = -floor(N/2) ... of N planes.
DesignedTrajectory stacked(const DesignedTrajectory& plane, const TrajectorySettings& settings) {
  const int plane_count = settings.matrix_size[2];
  const double gain = settings.response ? settings.response->at(2, 0).re : 1;  // k_z stays as it is
  const std::int64_t samples = plane.trajectory.sample_count();
  const auto& k = plane.trajectory.k;
  return sampled(plane.readout_count * plane_count, plane.readout_length, plane.dwell_s, plane.undersampling,
                 [&](std::int64_t readout, double sample) -> std::array<double, 3> {
                   const std::int64_t m = readout % plane.readout_count * plane.readout_length +
                                          static_cast<std::int64_t>(sample);
                   return {k[m], k[samples + m],
                           gain * static_cast<double>(readout / plane.readout_count - plane_count / 2)};
                 });
}

DesignedTrajectory design_cartesian(const TrajectorySettings& settings) {
  const auto [nx, ny, nz] = settings.matrix_size;
  if (settings.readout_length != 0 && settings.readout_length != nx)
    throw Error("cartesian trajectory",
                "as many samples per readout as voxels along x, " + std::to_string(nx),
                std::to_string(settings.readout_length), "leave --readout-samples out");
  if (settings.readout_count != 0)
    throw Error("cartesian trajectory", "no count of readouts", std::to_string(settings.readout_count),
                "use --undersampling to acquire fewer lines");
  std::vector<double> lines;  // distance R = undersampling, rounded to integers, the centre included
  const double lowest = std::round((1 - settings.partial_fourier) * ny) - ny / 2;
  const double first = std::ceil(-(ny / 2) / settings.undersampling - 0.5);
  for (double i = first; std::floor(i * settings.undersampling + 0.5) <= (ny - 1) / 2; ++i)
    if (const double line = std::floor(i * settings.undersampling + 0.5); line >= lowest)
      lines.push_back(line);
  const auto line_count = static_cast<std::int64_t>(lines.size());
  const double dwell_s = std::max(settings.dwell_s, 1 / gradient_limits(settings).speed);
  return sampled(
      line_count * nz, nx, dwell_s, ny / static_cast<double>(line_count),
      [&](std::int64_t readout, double sample) -> std::array<double, 3> {
        return {sample - settings.matrix_size[0] / 2, lines[readout % line_count],
                static_cast<double>(readout / line_count - settings.matrix_size[2] / 2)};
      },
      settings);
}

/// Returns the direction of diameter `readout` of `count`.
using Direction = std::function<std::array<double, 3>(std::int64_t readout, std::int64_t count)>;

/// Diameters through the centre, `direction` of readout and count: k = N u direction with u = (sample - floor(L/2)) / L per axis.
/// `nyquist_count` diameters leave at most 1 cycle/FOV between neighbours at the edge.
DesignedTrajectory design_diameters(const TrajectorySettings& settings, double nyquist_count,
                                    const Direction& direction) {
  const int largest_n = *std::max_element(settings.matrix_size.begin(), settings.matrix_size.end());
  if (settings.readout_count != 0 && settings.undersampling != 1)
    throw Error(std::string(name_of(settings.kind)) + " trajectory",
                "a count of readouts or an undersampling factor", "both",
                "leave one of --readouts and --undersampling out");
  const std::int64_t count =
      settings.readout_count != 0
          ? settings.readout_count
          : static_cast<std::int64_t>(std::ceil(nyquist_count / settings.undersampling));
  const std::int64_t length =
      settings.readout_length != 0 ? settings.readout_length : 2 * std::int64_t{largest_n};
  const double step = static_cast<double>(largest_n) / static_cast<double>(length);
  const double dwell_s = std::max(settings.dwell_s, step / gradient_limits(settings).speed);
  return sampled(
      count, length, dwell_s, nyquist_count / static_cast<double>(count),
      [&](std::int64_t readout, double sample) -> std::array<double, 3> {
        const auto d = direction(readout, count);
        const double u = (sample - static_cast<double>(length / 2)) / static_cast<double>(length);
        return {settings.matrix_size[0] * u * d[0], settings.matrix_size[1] * u * d[1],
                settings.matrix_size[2] * u * d[2]};
      },
      settings);
}

DesignedTrajectory design_radial(const TrajectorySettings& settings) {
  const double golden_angle = pi * (std::sqrt(5.0) - 1) / 2;  // 111.246 degrees
  const bool uniform = settings.kind == TrajectoryKind::radial;
  const int n = std::max(settings.matrix_size[0], settings.matrix_size[1]);
  return design_diameters(
      settings, pi / 2 * n, [&](std::int64_t readout, std::int64_t count) -> std::array<double, 3> {
        const auto j = static_cast<double>(readout);
        const double angle =
            uniform ? pi * j / static_cast<double>(count) : std::fmod(j * golden_angle, 2 * pi);
        return {std::cos(angle), std::sin(angle), 0};
      });
}

DesignedTrajectory design_radial_3d(const TrajectorySettings& settings) {
  // One half of the sphere is enough for diameters. Nyquist: a half sphere of radius N/2 has the area pi N^2
  // / 2.
  const double n = *std::max_element(settings.matrix_size.begin(), settings.matrix_size.end());
  const bool phyllotaxis = settings.kind == TrajectoryKind::phyllotaxis_radial_3d;
  return design_diameters(
      settings, pi / 2 * n * n, [&](std::int64_t readout, std::int64_t count) -> std::array<double, 3> {
        const auto j = static_cast<double>(readout);
        double z = 0, azimuth = 0;
        if (phyllotaxis) {
          z = 1 - (j + 0.5) / static_cast<double>(count);  // equal areas: evenly dense from pole to equator
          azimuth = std::fmod(j * pi * (3 - std::sqrt(5.0)), 2 * pi);
        } else {  // golden means: 1/x^2 and 1/x for the root x = 1.46557 of x^3 = x^2 + 1
          const auto fraction = [](double x) { return x - std::floor(x); };
          z = fraction(j * 0.465571231876768);
          azimuth = 2 * pi * fraction(j * 0.682327803828019);
        }
        const double r = std::sqrt(1 - z * z);
        return {r * std::cos(azimuth), r * std::sin(azimuth), z};
      });
}

/// One interleaf of a spiral as r and angle over time, from the centre to the radius.
struct Interleaf {
  std::vector<double> radius, angle;  // at multiples of time_step_s
  double time_step_s = 0, largest_speed = 0;
};

/// The fastest way along r(angle), dr/d angle = interleaves pitch(r) / 2 pi, within the limits on speed v and
/// acceleration a:  dv/dt = sqrt(a^2 - (curvature v^2)^2),  v <= sqrt(a / curvature). The curvature falls
/// outwards, so that no braking is needed ahead of time (compare Kim et al., MRM 50:214, 2003).
Interleaf design_interleaf(double largest_radius, double interleaves,
                           const std::function<double(double)>& pitch, double pitch_slope,
                           GradientLimits limits, double time_step_s) {
  Interleaf curve{{0}, {0}, time_step_s, 0};
  double r = 0, angle = 0, v = 0;
  while (true) {
    const double dr = interleaves * pitch(r) / (2 * pi), ddr = dr * interleaves * pitch_slope / (2 * pi);
    const double arc = std::hypot(r, dr);  // ds / d angle
    const double curvature = std::abs(r * r + 2 * dr * dr - r * ddr) / (arc * arc * arc);
    const double turning = curvature * v * v;
    v +=
        time_step_s * std::sqrt(std::max(0.0, limits.acceleration * limits.acceleration - turning * turning));
    v = std::min({v, limits.speed, std::sqrt(limits.acceleration / curvature)});
    const double step = v * time_step_s / arc;
    r += dr * step;
    angle += step;
    if (r > largest_radius) return curve;
    curve.radius.push_back(r);
    curve.angle.push_back(angle);
    curve.largest_speed = std::max(curve.largest_speed, v);
    if (static_cast<std::int64_t>(curve.radius.size()) > largest_sample_count / 8)
      throw Error("spiral", "a readout within the gradient limits of at most 2^28 steps", "a longer one",
                  "use more --readouts");
  }
}

DesignedTrajectory design_spiral(const TrajectorySettings& settings) {
  constexpr double longest_step = 0.8;  // cycles/FOV between samples along a readout, below Nyquist's 1
  constexpr int steps_per_dwell = 16;
  const double n = std::max(settings.matrix_size[0], settings.matrix_size[1]);
  const double radius = n / 2;
  const std::int64_t interleaves =
      settings.readout_count != 0 ? settings.readout_count : std::max<std::int64_t>(1, std::llround(n / 8));
  const bool variable = settings.kind == TrajectoryKind::variable_density_spiral;
  const double edge_pitch = settings.undersampling, centre_pitch = variable ? 0.5 : edge_pitch;
  const double slope = (edge_pitch - centre_pitch) / radius;

  GradientLimits limits = gradient_limits(settings);
  if (settings.readout_length == 0) limits.speed = std::min(limits.speed, longest_step / settings.dwell_s);
  const auto curve = design_interleaf(
      radius, static_cast<double>(interleaves), [&](double r) { return centre_pitch + slope * r; }, slope,
      limits, settings.dwell_s / steps_per_dwell);
  const auto last = static_cast<std::int64_t>(curve.radius.size()) - 1;
  const double duration_s = static_cast<double>(last) * curve.time_step_s;

  const std::int64_t length =
      settings.readout_length != 0 ? settings.readout_length : last / steps_per_dwell + 1;
  if (length < 2)
    throw Error("spiral", "at least 2 samples per readout", std::to_string(length), "use fewer --readouts");
  const double dwell_s =
      settings.readout_length != 0 ? duration_s / static_cast<double>(length - 1) : settings.dwell_s;
  if (curve.largest_speed * dwell_s > 1)
    throw Error(
        "spiral",
        "at least " +
            std::to_string(static_cast<std::int64_t>(std::ceil(curve.largest_speed * duration_s)) + 1) +
            " samples per readout for steps of at most 1 cycle/FOV",
        std::to_string(length), "raise --readout-samples, or leave it out");

  return sampled(
      interleaves, length, dwell_s, settings.undersampling,
      [&](std::int64_t readout, double sample) -> std::array<double, 3> {
        const double at = std::clamp(sample * dwell_s / curve.time_step_s, 0.0, static_cast<double>(last));
        const auto before = static_cast<std::int64_t>(at);
        const std::int64_t after = std::min(before + 1, last);
        const double fraction = at - static_cast<double>(before);
        const auto between = [&](const std::vector<double>& v) {
          return v[before] + fraction * (v[after] - v[before]);
        };
        const double r = between(curve.radius) / n;
        const double angle =
            between(curve.angle) + 2 * pi * static_cast<double>(readout) / static_cast<double>(interleaves);
        return {settings.matrix_size[0] * r * std::cos(angle), settings.matrix_size[1] * r * std::sin(angle),
                0};
      },
      settings);
}

/// Designs readouts from the centre outwards at a constant speed v, each on a cone of its own about z, whose directions are
/// evenly dense on the sphere: straight up to the share p of the largest k, then with k^2 dk/dt constant, so that samples are
/// evenly dense, too (Boada et al., MRM 37:706, 1997). With x = k / (p k_max) and s = v t / k_max:
///
///   x^3 = 1 + 3 (s - p) / p,    angle about z = (sqrt(x^4 - 1) - arccos(1 / x^2)) / (2 sin(angle of the cone))
///
/// p is the share of pi N^2 readouts, those of straight ones, that there are. A readout lasts 16 ms, or as long as the limits
/// of gradients ask for protons; the corner at x = 1 is not rounded.
DesignedTrajectory design_twisted_projections(const TrajectorySettings& settings) {
  constexpr double usual_share = 0.2, usual_duration_s = 16e-3, step = 0.8;
  const double n = *std::max_element(settings.matrix_size.begin(), settings.matrix_size.end()),
               straight = std::max(pi * n * n, 1.0),
               wanted = settings.readout_count > 0
                            ? static_cast<double>(settings.readout_count) * settings.undersampling
                            : usual_share * straight,
               p = std::min(wanted / straight, 1.0), path = p + (1 / (p * p) - p) / 3, radius = n / 2;
  const auto count =
      settings.readout_count > 0
          ? settings.readout_count
          : std::max<std::int64_t>(1, std::llround(usual_share * straight / settings.undersampling));
  const auto length =
      settings.readout_length != 0
          ? settings.readout_length
          : std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(path * radius / step)) + 1);
  // Turning is fastest at x^4 = 5 on the narrowest cone, by 0.535 v^2 / (p k_max sin(angle of the cone)).
  const GradientLimits limits = gradient_limits(settings);
  const auto height = [&](std::int64_t readout) {
    return 1 - (2 * static_cast<double>(readout) + 1) / static_cast<double>(count);
  };
  const double narrowest = std::sqrt(1 - height(0) * height(0)),
               fastest =
                   std::min(limits.speed, std::sqrt(limits.acceleration * p * radius * narrowest / 0.535)),
               duration_s = std::max(usual_duration_s, path * radius / fastest),
               dwell_s = std::max(settings.dwell_s, duration_s / static_cast<double>(length - 1));
  return sampled(
      count, length, dwell_s, straight * p / static_cast<double>(count),
      [&](std::int64_t readout, double sample) -> std::array<double, 3> {
        const double s = path * std::clamp(sample / static_cast<double>(length - 1), 0.0, 1.0),
                     x = s <= p ? s / p : std::cbrt(1 + 3 * (s - p) / p), z = height(readout),
                     across = std::sqrt(1 - z * z),
                     twist =
                         x <= 1 ? 0 : (std::sqrt(x * x * x * x - 1) - std::acos(1 / (x * x))) / (2 * across),
                     angle =
                         std::fmod(static_cast<double>(readout) * pi * (3 - std::sqrt(5.0)), 2 * pi) + twist,
                     k = std::min(p * x, 1.0) / 2;
        return {settings.matrix_size[0] * k * across * std::cos(angle),
                settings.matrix_size[1] * k * across * std::sin(angle), settings.matrix_size[2] * k * z};
      },
      settings);
}

}  // namespace

DesignedTrajectory design_trajectory(const TrajectorySettings& settings) {
  check(settings);
  switch (settings.kind) {
    case TrajectoryKind::cartesian:
      return design_cartesian(settings);
    case TrajectoryKind::radial:
    case TrajectoryKind::golden_radial:
      return design_radial(settings);
    case TrajectoryKind::stack_of_stars:
      return stacked(design_radial(settings), settings);
    case TrajectoryKind::spiral:
    case TrajectoryKind::variable_density_spiral:
      return design_spiral(settings);
    case TrajectoryKind::stack_of_spirals:
      return stacked(design_spiral(settings), settings);
    case TrajectoryKind::twisted_projection:
      return design_twisted_projections(settings);
    default:
      return design_radial_3d(settings);
  }
}

}  // namespace fhd::data
