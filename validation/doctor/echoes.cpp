// Measures off-resonance from the echoes of a scan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "io/scan/scan_file.hpp"
#include "recon/array/execution.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/field_map/field_map.hpp"
#include "recon/pipeline/low_resolution.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd {
namespace {

/// Reconstructs an echo on at most so many voxels along each axis, with maps that are still to be found.
Scan low_echo(const Scan& scan, int most) {
  const auto matrix_size = low_resolution(scan.geometry.matrix_size, most);
  Scan low = at_low_resolution(scan, matrix_size, indices_inside(scan.trajectory, matrix_size));
  low.sensitivity_maps.reset(), low.field_map.reset(), low.sample_time_s.reset();
  return low;
}

/// Returns omega and the first image, from echoes in the order of their times.
struct LowField {
  Array<float> omega;
  Array<Complex<float>> image;
};
LowField field_of(const std::vector<Scan>& echoes, const std::vector<double>& times_s) {
  Settings settings{LeastSquares{}};
  settings.coils.maps = echoes.front().kspace.coil_count() > 1 ? CoilMaps::espirit : CoilMaps::automatic;
  settings.coils.whitening = NoiseWhitening::off;
  settings.outside_fov = OutsideFov::off;
  Execution execution;
  execution.threads = 1;
  Reconstructor reconstructor(settings, execution);
  const auto preparation = reconstructor.prepare(echoes.front());
  std::vector<Reconstruction> made;
  for (const auto& echo : echoes)
    made.push_back(std::move(reconstructor.reconstruct(preparation, {&echo}).front()));
  std::vector<const Array<Complex<float>>*> images;
  for (const auto& one : made) images.push_back(&one.image.values);
  return {field_map_of_echoes(images, times_s), std::move(made.front().image.values)};
}

/// Returns |omega| that 5 % of the object exceed; the object is where the image has a tenth of its largest magnitude.
double largest_frequency_hz(const LowField& field) {
  double largest = 0;
  for (const auto& value : field.image) largest = std::max(largest, norm(Complex<double>(value)));
  std::vector<double> of_object;
  for (std::int64_t p = 0; p < field.omega.size(); ++p)
    if (norm(Complex<double>(field.image[p])) > 0.01 * largest)
      of_object.push_back(std::abs(double(field.omega[p])) / (2 * std::numbers::pi));
  if (of_object.empty()) return 0;
  const auto at =
      of_object.begin() + static_cast<std::ptrdiff_t>(0.95 * static_cast<double>(of_object.size() - 1));
  std::nth_element(of_object.begin(), at, of_object.end());
  return *at;
}

}  // namespace

std::optional<Message> diagnose_echoes(io::ScanFile& file) {
  // A quarter of a turn: where the image starts to blur or, of Cartesian readouts, moves by a quarter of a voxel.
  constexpr double harmless_turns = 0.25;
  const auto& summary = file.summary();
  if (summary.has_field_map || !summary.has_sample_time) return {};
  std::vector<std::pair<double, std::int64_t>> found;  // when, which
  for (const auto repetition : io::echoes_of(summary)) {
    const auto time = io::echo_time_s(summary, repetition);
    if (!time) return {};
    found.emplace_back(*time, repetition);
  }
  if (found.size() < 2) return {};
  std::sort(found.begin(), found.end());
  for (std::size_t e = 1; e < found.size(); ++e)
    if (!(found[e].first - found[e - 1].first >= io::least_echo_spacing_s)) return {};
  try {
    std::vector<Scan> echoes;
    std::vector<double> times_s;
    double duration_s = 0;
    for (const auto& [time, repetition] : found) {
      const Scan scan = file.read(summary.slice_count / 2, repetition);
      if (!scan.sample_time_s || scan.sample_time_s->empty()) return {};
      const auto [first, last] = std::minmax_element(scan.sample_time_s->begin(), scan.sample_time_s->end());
      duration_s = std::max(duration_s, *last - *first);
      echoes.push_back(low_echo(scan, summary.geometry.matrix_size[2] > 1 ? 16 : 32));
      times_s.push_back(time);
    }
    const double largest_hz = largest_frequency_hz(field_of(echoes, times_s)),
                 turns = largest_hz * duration_s;
    if (!(turns > harmless_turns)) return {};
    return Message{
        "off-resonance", Severity::warning,
        fmt::format("The echoes show off-resonance up to {:.0f} Hz: {:.2g} cycles during a readout of "
                    "{:.3g} ms, which blurs or moves what lies there.",
                    largest_hz, turns, duration_s * 1e3),
        "correct it with " + option_words("field-map", "auto")};
  } catch (const Error&) {  // of values that cannot be read or make no image: others say so
    return {};
  }
}

}  // namespace fhd
