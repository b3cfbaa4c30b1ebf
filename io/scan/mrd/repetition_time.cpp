#include "io/scan/mrd/repetition_time.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace fhd::io::mrd {
namespace {

bool is_siemens(std::string vendor) {
  std::transform(vendor.begin(), vendor.end(), vendor.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return vendor.find("siemens") != std::string::npos;
}

/// Returns the ticks from one stamp to the next; 0 where they are not even, to a tick each.
double even_step(const std::vector<std::uint32_t>& stamps) {
  if (stamps.size() < 2 || stamps.back() <= stamps.front()) return 0;
  const double ticks = stamps.back() - stamps.front(), step = ticks / static_cast<double>(stamps.size() - 1);
  for (std::size_t i = 0; i < stamps.size(); ++i)
    if (std::abs(stamps.front() + static_cast<double>(i) * step - stamps[i]) > 1) return 0;
  return step < 1 ? 0 : step;
}

}  // namespace

RepetitionTime repetition_time(const Header& header, const std::vector<std::uint32_t>& stamps,
                               std::int64_t readouts_per_image) {
  constexpr double tick_s = 2.5e-3;
  if (is_siemens(header.acquisition.vendor))
    if (const double step = even_step(stamps); step > 0) return {step * tick_s, "time stamps of 2.5 ms"};
  if (header.acquisition.excitation_time_s > 0 && readouts_per_image == 1)
    return {header.acquisition.excitation_time_s, "TR, one readout an image"};
  return {};
}

}  // namespace fhd::io::mrd
