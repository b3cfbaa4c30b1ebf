// What a reconstruction needs beside the scan: memory, and the prior image meant for it.
#include <fmt/format.h>

#include <algorithm>

#include "recon/error.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {
namespace {

std::string gibibytes(double bytes) { return fmt::format("{:.2g} GiB", bytes / (1 << 30)); }

}  // namespace

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
    findings.list.push_back(finding_of(Severity::problem, "prior", error.what()));
  }
}

void check_memory(const io::ScanSummary& summary, std::size_t memory_bytes, Findings& findings) {
  if (memory_bytes == 0) return;
  ScanSizes sizes;
  sizes.matrix_size = summary.geometry.matrix_size;
  sizes.samples.all = summary.samples_per_scan;
  sizes.coils = summary.coil_count;
  sizes.has_maps = summary.has_sensitivity_maps;
  LeastSquares gridded;
  gridded.transform.kind = TransformKind::gridded;
  const auto plan = estimate(sizes, {Settings{gridded}}).host;
  const double images = 8.0 * static_cast<double>(summary.geometry.voxel_count()) *
                        static_cast<double>(summary.slice_count * summary.repetition_count);
  const double needed = static_cast<double>(plan.peak_bytes()) + images;
  const auto available = static_cast<double>(memory_bytes);
  const auto text = fmt::format("about {} of the machine's {}", gibibytes(needed), gibibytes(available));
  if (needed > available)
    findings.add(Severity::problem, "memory", "A reconstruction takes " + text + ".",
                 "fewer --slices or --repetitions, a smaller --matrix or --compress");
  else if (needed > 0.7 * available)
    findings.add(Severity::warning, "memory", "A reconstruction takes " + text + ".",
                 "close other programs, or take fewer --slices or --repetitions");
  else
    findings.add(Severity::ok, "memory", "A reconstruction takes " + text + ".");
}

}  // namespace fhd::doctor
