// What a reconstruction needs beside the scan: memory, and the prior image meant for it.
#include <fmt/format.h>

#include <algorithm>

#include "recon/error.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {
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

void check_memory(io::ScanFile& file, const DiagnosisSettings& settings, Findings& findings) {
  try {
    const auto cost = settings.cost(file);
    const auto available = static_cast<double>(settings.memory_bytes);
    const auto text = fmt::format("A reconstruction takes about {}, of {} that the machine has.", cost.text,
                                  cost.available);
    if (cost.bytes > available)
      findings.add(Severity::problem, "memory", text,
                   "fewer --slices or --repetitions, a smaller --matrix or --compress");
    else if (cost.bytes > 0.7 * available)
      findings.add(Severity::warning, "memory", text,
                   "close other programs, or take fewer --slices or --repetitions");
    else
      findings.add(Severity::ok, "memory", text);
  } catch (const Error& error) {
    findings.list.push_back(finding_of(Severity::warning, "memory", error.what()));
  }
}

}  // namespace fhd::doctor
