#include "recon/pipeline/partial_fourier.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "recon/array/central_part.hpp"
#include "recon/array/execution.hpp"
#include "recon/array/fft.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/transform/cartesian.hpp"

namespace fhd {
namespace {

/// Fewer lines about the centre determine no phase.
constexpr double least_reach = 2;

Error refusal(const std::string& expected, const std::string& found, const std::string& remedy) {
  return {"--partial-fourier phase", expected, found, remedy};
}

/// Finds the missing side of positions on a lattice. Full k-space, with gaps too, ends at most one gap sooner on one
/// side.
std::optional<MissingSide> missing_along(int axis, const Trajectory& trajectory) {
  const std::int64_t samples = trajectory.sample_count();
  std::vector<double> k(samples);
  std::transform(trajectory.k.data() + axis * samples, trajectory.k.data() + (axis + 1) * samples, k.begin(),
                 [](double position) { return std::rint(position); });
  std::sort(k.begin(), k.end());
  k.erase(std::unique(k.begin(), k.end()), k.end());
  double gap = 1;
  for (std::size_t i = 1; i < k.size(); ++i) gap = std::max(gap, k[i] - k[i - 1]);
  const double shorter = std::min(-k.front(), k.back()), longer = std::max(-k.front(), k.back());
  if (longer - shorter <= gap) return {};
  return MissingSide{axis, shorter, longer};
}

/// Returns a Hann window, cos^2 that reaches 0 one cycle/FOV beyond `reach`, for each element of a periodic axis.
std::vector<double> window(std::int64_t n, double reach) {
  std::vector<double> values(n);
  for (std::int64_t i = 0; i < n; ++i)
    if (const double share = static_cast<double>(std::min(i, n - i)) / (reach + 1); share < 1)
      values[i] = std::pow(std::cos(std::numbers::pi / 2 * share), 2);
  return values;
}

template <class T>
void multiply(const Array<Complex<double>>& phase, Array<Complex<T>>& maps) {
  const std::int64_t voxels = phase.size();
  for (std::int64_t i = 0; i < maps.size(); ++i)
    maps[i] = static_cast<Complex<T>>(phase[i % voxels] * Complex<double>(maps[i]));
}

}  // namespace

MissingSide missing_side(const Trajectory& trajectory, const std::array<int, 3>& matrix_size) {
  if (!is_cartesian(trajectory, matrix_size))
    throw refusal("a Cartesian scan, whose samples lie on integer positions of k-space", "another one",
                  "leave it out: it is about lines that a Cartesian scan leaves out");
  std::vector<MissingSide> missing;
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1)
      if (const auto side = missing_along(axis, trajectory)) missing.push_back(*side);
  if (missing.empty())
    throw refusal("a scan that leaves out most of one side of k-space",
                  "one that reaches as far on both sides",
                  "leave it out: nothing is missing that it could fill in");
  if (missing.size() > 1)
    throw refusal("one axis of which a side is missing", std::to_string(missing.size()) + " such axes",
                  "leave it out: the phase cannot fill in what is missing on both");
  if (missing.front().reach < least_reach)
    throw refusal(
        "both sides up to " + short_number(least_reach) + " cycles/FOV at least, which tell the phase",
        "one side up to " + short_number(missing.front().reach), "leave it out");
  return missing.front();
}

MissingSide missing_side(const Scan& scan) {
  if (scan.field_map || goes_beyond_k(scan))
    throw refusal("a scan without a field map, fields or decay", "one with it", "leave one of them out");
  if (!scan.sensitivity_maps && scan.kspace.coil_count() > 1)
    throw refusal("sensitivity maps, or one coil",
                  std::to_string(scan.kspace.coil_count()) + " coils without maps",
                  "leave out " + option_words("coils", "none"));
  return missing_side(scan.trajectory, scan.geometry.matrix_size);
}

Scan symmetric_centre(const Scan& scan, const MissingSide& missing) {
  const std::int64_t samples = scan.trajectory.sample_count();
  std::vector<std::int64_t> central;
  for (std::int64_t m = 0; m < samples; ++m)
    if (std::abs(std::rint(scan.trajectory.k[missing.axis * samples + m])) <= missing.reach)
      central.push_back(m);
  Scan centre = with_samples(scan, central);
  centre.cropped_matrix_size = {};
  return centre;
}

Array<Complex<double>> smooth_phase(const Image& centre, const MissingSide& missing) {
  auto phase = values_of<double>(centre);
  const std::int64_t nz = phase.extent(0), ny = phase.extent(1), nx = phase.extent(2);
  // The window is as wide in cycles/mm along all axes; in cycles/FOV where the scan does not say how large it is.
  const auto& fov_mm = centre.geometry.fov_mm;
  const auto along = [&](int axis, std::int64_t n) {
    const bool has_size = fov_mm[axis] > 0 && fov_mm[missing.axis] > 0;
    return window(n, missing.reach * (has_size ? fov_mm[axis] / fov_mm[missing.axis] : 1));
  };
  const auto of_x = along(0, nx), of_y = along(1, ny), of_z = along(2, nz);
  fft_3d(phase, -1);
  std::int64_t i = 0;
  for (const double z : of_z)
    for (const double y : of_y)
      for (const double x : of_x) phase[i++] *= x * y * z;
  fft_3d(phase, +1);
  for (auto& value : phase) {
    const double magnitude = abs(value);
    value = magnitude > 0 ? (1 / magnitude) * value : Complex<double>(1);
  }
  return phase;
}

Scan with_phase(const Scan& scan, const Array<Complex<double>>& phase) {
  Scan turned(scan);
  if (!turned.sensitivity_maps) {
    const Shape map{1, phase.extent(0), phase.extent(1), phase.extent(2)};
    auto& maps = turned.sensitivity_maps.emplace();
    maps.in_double = Array<Complex<double>>(phase).reshaped(map);
    maps.values = converted<Complex<float>>(maps.in_double);
    return turned;
  }
  multiply(phase, turned.sensitivity_maps->values);
  if (!turned.sensitivity_maps->in_double.empty()) multiply(phase, turned.sensitivity_maps->in_double);
  return turned;
}

void apply_phase(const Array<Complex<double>>& phase, Image& image) {
  const auto turns = central_part(phase, image.values.shape());
  for (std::int64_t i = 0; i < turns.size(); ++i) {
    if (!image.in_double.empty()) image.in_double[i] = turns[i] * image.in_double[i];
    image.values[i] = static_cast<Complex<float>>(turns[i] * Complex<double>(image.values[i]));
  }
}

}  // namespace fhd
