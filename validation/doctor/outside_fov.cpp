// Checks the object beyond the field of view, the prior image, and the memory that a reconstruction needs.
#include "recon/pipeline/outside_fov.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/scan/object_extent.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {
namespace {

/// Returns the lengths of the object in FOVs, to about a third, from some readouts of some coils; 0 where not known.
std::array<double, 3> object_lengths(const Scan& scan, const SampledPositions& positions) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const auto readout_length = positions.readout_length;
  const auto* radius = positions.radius.data();
  if (readout_length < 2 || samples % readout_length != 0) return {};
  const auto readouts = samples / readout_length, used = std::min(readouts, io::ObjectExtent::most_readouts);
  const auto kept = std::min(coils, io::ObjectExtent::most_coils);
  constexpr double furthest = 1;  // cycles/FOV: tells of all lengths above 0.7 FOVs
  io::ObjectExtent extent(furthest);
  for (std::int64_t i = 0; i < used; ++i) {
    const auto begin = i * readouts / used * readout_length, end = begin + readout_length;
    const auto centre = std::min_element(radius + begin, radius + end) - radius;
    const auto first = std::max(begin, centre - io::ObjectExtent::most_samples / 2),
               last = std::min(end, first + io::ObjectExtent::most_samples);
    io::ReadoutPart part;
    for (auto m = first; m < last; ++m)
      part.k.push_back(
          {scan.trajectory.k[m], scan.trajectory.k[samples + m], scan.trajectory.k[2 * samples + m]});
    for (std::int64_t coil = 0; coil < kept; ++coil)
      for (auto m = first; m < last; ++m) part.values.push_back(scan.kspace.values[coil * samples + m]);
    extent.add(part);
  }
  return extent.lengths();
}

}  // namespace

void check_outside_fov(const Scan& scan, const SampledPositions& positions, bool looked, Findings& findings) {
  const auto& matrix = scan.geometry.matrix_size;
  const auto resolved = positions.resolved;
  if (resolved != own_field) {
    if (looked) return;
    const auto object = object_beyond_fov(scan, resolved);
    if (object.matrix_size == matrix) return;
    std::string what = in_words(object, matrix) + ".";
    what.front() = 'T';
    const std::string bound = bound_to_fov(scan, {});
    if (bound.empty())
      findings.add(Severity::note, "outside_fov",
                   what + " It is reconstructed on a larger matrix, and cropped.");
    else
      findings.add(Severity::warning, codes::outside_fov,
                   what + " It leaves a bright edge, because " + bound + ".");
    return;
  }
  constexpr double surely_longer = 1.5;
  const auto lengths = object_lengths(scan, positions);
  for (int axis = 0; axis < 3; ++axis)
    if (matrix[axis] > 1 && lengths[axis] > surely_longer)
      findings.add(
          Severity::warning, "outside_fov",
          fmt::format("The object seems to be {:.1f} times as long as the field of view along {}, and the "
                      "samples are too far apart to tell what lies beyond.",
                      lengths[axis], axis_names[axis]),
          "expect folding or a bright edge; check the FOV and the trajectory's unit");
}

void check_prior(const Volume& prior, const Geometry& geometry, Findings& findings) {
  try {
    Volume covered = prior;
    for (float& value : covered.values) value = 1;
    const auto inside = resampled(covered, geometry);
    const auto share =
        static_cast<double>(std::count_if(inside.begin(), inside.end(), [](float v) { return v > 0.5F; })) /
        static_cast<double>(inside.size());
    const auto image = resampled(prior, geometry);
    const auto [least, most] = std::minmax_element(image.begin(), image.end());
    if (*least == *most)
      findings.add(Severity::warning, "prior",
                   "The prior has one value everywhere within the scan: no edges.",
                   "give the image of the same anatomy");
    else if (share < 0.5)
      findings.add(Severity::warning, "prior",
                   fmt::format("The prior covers only {:.0f} % of the scan.", 100 * share),
                   "check both positions with 'fhd info'; outside of it W is the plain roughness");
    else
      findings.add(Severity::ok, "prior", fmt::format("The prior covers {:.0f} % of the scan.", 100 * share));
  } catch (const Error& error) {
    findings.list.push_back(message_of(error, Severity::problem, "prior"));
  }
}

void check_memory(io::ScanFile& file, const DiagnosisSettings& settings, Findings& findings) {
  try {
    const auto cost = settings.cost(file);
    const auto available = static_cast<double>(settings.memory_bytes);
    const auto text =
        fmt::format("Predicted for a reconstruction of {}; the machine has {}.", cost.text, cost.available);
    if (cost.bytes > available)
      findings.add(Severity::problem, "memory", text,
                   "fewer " + option_words("slices") + " or " + option_words("repetitions") + ", a smaller " +
                       option_words("matrix") + " or " + option_words("compress"));
    else if (cost.bytes > 0.7 * available)
      findings.add(Severity::warning, "memory", text,
                   "close other programs, or take fewer " + option_words("slices") + " or " +
                       option_words("repetitions"));
    else
      findings.add(Severity::ok, "memory", text);
  } catch (const Error& error) {
    findings.list.push_back(message_of(error, Severity::warning, "memory"));
  }
}

}  // namespace fhd::doctor
