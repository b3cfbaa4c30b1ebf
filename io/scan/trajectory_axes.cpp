#include "io/scan/trajectory_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

constexpr double rounding = 1e-5;  // of directions and positions in single precision

double trace(const Matrix& m) { return m[0][0] + m[1][1] + m[2][2]; }

void add_products(Matrix& sums, const std::array<double, 3>& k) {
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) sums[a][b] += k[a] * k[b];
}

/// Returns the smallest eigenvalue of a symmetric matrix, by the trigonometric formula (Smith, CACM 4:168, 1961).
double smallest_eigenvalue(const Matrix& m) {
  const double mean = trace(m) / 3;
  double squares = 0;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) squares += std::pow(m[a][b] - (a == b ? mean : 0), 2);
  const double scale = std::sqrt(squares / 6);
  if (!(scale > 0)) return mean;
  Matrix n = m;
  for (std::size_t a = 0; a < 3; ++a) {
    n[a][a] -= mean;
    for (double& value : n[a]) value /= scale;
  }
  const double determinant = n[0][0] * (n[1][1] * n[2][2] - n[1][2] * n[2][1]) -
                             n[0][1] * (n[1][0] * n[2][2] - n[1][2] * n[2][0]) +
                             n[0][2] * (n[1][0] * n[2][1] - n[1][1] * n[2][0]);
  constexpr double third_of_turn = 2.0943951023931953;
  const double angle = std::acos(std::clamp(determinant / 2, -1.0, 1.0)) / 3;
  return mean + 2 * scale * std::cos(angle + third_of_turn);
}

/// Returns the square root of a part of a sum of squares; 0 where rounding makes it negative, or the sum is 0.
double root_of_share(double part, double sum) { return sum > 0 && part > 0 ? std::sqrt(part / sum) : 0; }

}  // namespace

AxisDirections directions_of(const Geometry& geometry) {
  return {geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
}

std::array<double, 3> turned(const AxisDirections& directions, const std::array<double, 3>& k) {
  std::array<double, 3> along{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < 3; ++i) along[axis] += directions[axis][i] * k[i];
  return along;
}

void turn_into_image(Array<double>& k, const Geometry& geometry) {
  const auto directions = directions_of(geometry);
  const auto samples = k.extent(1);
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto along = turned(directions, {k[m], k[samples + m], k[2 * samples + m]});
    for (std::size_t axis = 0; axis < 3; ++axis)
      k[static_cast<std::int64_t>(axis) * samples + m] = along[axis];
  }
}

bool is_siemens(const AcquisitionInfo& scanner) {
  auto vendor = scanner.vendor;
  std::ranges::transform(vendor, vendor.begin(), [](unsigned char c) { return std::tolower(c); });
  return vendor.find("siemens") != std::string::npos;
}

Geometry turned_around(Geometry geometry) {
  const auto turn = [](std::array<double, 3>& direction) {
    for (auto& component : direction) component = -component;
  };
  turn(geometry.read_direction), turn(geometry.phase_direction);
  if (geometry.matrix_size[2] > 1) turn(geometry.slice_direction);
  return geometry;
}

Geometry along_gradients(const ScanSummary& summary, std::int64_t slice) {
  const auto& slices = summary.slice_geometries;
  const auto& geometry = slices.empty() ? summary.geometry : slices[static_cast<std::size_t>(slice)];
  return summary.states_directions && is_siemens(summary.acquisition) ? turned_around(geometry) : geometry;
}

void AxesEvidence::add(int slice, const std::array<double, 3>& k, const AxisDirections& directions) {
  if (!std::isfinite(k[0] + k[1] + k[2])) return;  // validate() refuses it
  auto& [stored, of_image, difference] = slices_[slice];
  const auto along = turned(directions, k);
  add_products(stored, k);
  add_products(of_image, along);
  for (std::size_t axis = 0; axis < 3; ++axis) difference += std::pow(k[axis] - along[axis], 2);
}

double AxesEvidence::third_axis(bool in_magnet) const {
  double largest = 0;
  for (const auto& [slice, sums] : slices_) {
    const auto& m = in_magnet ? sums.turned : sums.stored;
    largest = std::max(largest, root_of_share(m[2][2], trace(m)));
  }
  return largest;
}

double AxesEvidence::out_of_plane() const {
  double largest = 0;
  for (const auto& [slice, sums] : slices_)
    largest = std::max(largest, root_of_share(smallest_eigenvalue(sums.stored), trace(sums.stored)));
  return largest;
}

double AxesEvidence::coupling(bool in_magnet) const {
  double largest = 0;
  for (const auto& [slice, sums] : slices_) {
    const auto& m = in_magnet ? sums.turned : sums.stored;
    if (trace(m) > 0) largest = std::max(largest, std::hypot(m[0][2], m[1][2]) / trace(m));
  }
  return largest;
}

bool AxesEvidence::readings_agree() const {
  return std::ranges::all_of(slices_, [](const auto& slice) {
    return root_of_share(slice.second.difference, trace(slice.second.stored)) <= rounding;
  });
}

namespace {

constexpr double in_plane = 0.01;  // of |k|: gradients that are played are off their plane by less
std::string image_option() { return option_words("trajectory-axes", "image"); }
std::string magnet_option() { return option_words("trajectory-axes", "magnet"); }

constexpr auto in_magnet_sentence =
    "The trajectory is taken to be in the axes of the magnet, the L, P, S of the stated directions, and is "
    "turned into those of the image, because {}.";

[[noreturn]] void refuse(const std::string& subject, const std::string& expected, double as_image,
                         const std::string& as_magnet) {
  throw Error(
      subject, expected,
      fmt::format("as axes of the image, {:.3g} % of |k| along z; as axes of the magnet, {}", 100 * as_image,
                  as_magnet),
      fmt::format(
          "give {} or {}; if neither is right, correct the directions in the file, or the signs of the "
          "trajectory's axes",
          image_option(), magnet_option()));
}

FoundAxes find_axes_of_slices(const AxesEvidence& evidence, bool is_weight, bool states_directions,
                              const std::string& subject) {
  const double as_image = evidence.third_axis(false), as_magnet = evidence.third_axis(true);
  const bool fits_image = as_image <= in_plane, fits_magnet = states_directions && as_magnet <= in_plane;
  if (fits_magnet && !fits_image)
    return {true, fmt::format(in_magnet_sentence,
                              "its samples lie in the plane of the slice, which is oblique to these axes")};
  if (fits_image && fits_magnet && !evidence.readings_agree()) {
    if (as_image > rounding && !is_weight)
      refuse(subject, "a trajectory that tells whether its axes are those of the image or of the magnet",
             as_image, fmt::format("{:.3g} %: they are turned within the plane", 100 * as_magnet));
    return {false,
            fmt::format(
                "The trajectory is taken to be in the axes of the image, because its third axis {}; {} says "
                "that it is in those of the magnet.",
                as_image > rounding ? "may be a density weight" : "is zero", magnet_option())};
  }
  const bool is_oblique_plane = !fits_image && evidence.out_of_plane() <= in_plane;
  if (is_oblique_plane && !is_weight)
    refuse(subject, "samples in the plane of the slice", as_image,
           states_directions ? fmt::format("{:.3g} %", 100 * as_magnet)
                             : std::string("unknown: the file states no directions"));
  return {};
}

FoundAxes find_axes_of_volumes(const AxesEvidence& evidence) {
  constexpr double coupled = 0.02, decoupled = 0.05;
  const double as_image = evidence.coupling(false), as_magnet = evidence.coupling(true);
  if (as_image > coupled && as_magnet < decoupled * as_image)
    return {true, fmt::format(in_magnet_sentence, "its partitions lie across the stated slice direction")};
  if (evidence.readings_agree()) return {};
  return {
      false,
      fmt::format(
          "The trajectory is taken to be in the axes of the image, as is usual; {} says that it is in those "
          "of the magnet.",
          magnet_option())};
}

}  // namespace

FoundAxes find_axes(TrajectoryAxes told, const AxesEvidence& evidence, bool is_2d, bool is_weight,
                    bool states_directions, const std::string& subject) {
  if (told == TrajectoryAxes::image) return {false, {}};
  if (told == TrajectoryAxes::magnet) {
    if (!states_directions)
      throw Error(subject, fmt::format("the directions of the image, which {} needs", magnet_option()),
                  "none", "write them into the scan");
    return {true, fmt::format(in_magnet_sentence, option_words("trajectory-axes") + " says so")};
  }
  if (evidence.empty()) return {};
  if (is_2d) return find_axes_of_slices(evidence, is_weight, states_directions, subject);
  return states_directions && !is_weight ? find_axes_of_volumes(evidence) : FoundAxes{};
}

}  // namespace fhd::io
