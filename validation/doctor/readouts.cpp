// Checks for readouts that were not measured, or are not those of this trajectory.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

namespace {

/// Indices of readouts.
struct SuspiciousReadouts {
  std::vector<std::int64_t> empty, constant;
  std::vector<std::int64_t> copies;  ///< of the values of another one at other positions
};

SuspiciousReadouts suspicious(const Scan& scan, std::int64_t length) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  SuspiciousReadouts found;
  // The hash of values in the middle of readouts -> their first samples.
  std::unordered_multimap<std::size_t, std::int64_t> known;
  const auto bytes_of = [&](std::int64_t coil, std::int64_t first, std::int64_t count) {
    return std::string_view(reinterpret_cast<const char*>(scan.kspace.values.data() + coil * samples + first),
                            sizeof(Complex<float>) * static_cast<std::size_t>(count));
  };
  const auto hash_of = [&](std::int64_t first) {
    const auto count = std::min<std::int64_t>(length, 4);
    std::size_t hash = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      hash = hash * 31 + std::hash<std::string_view>{}(bytes_of(coil, first + (length - count) / 2, count));
    return hash;
  };
  const auto are_copies = [&](std::int64_t first, std::int64_t earlier) {
    for (std::int64_t coil = 0; coil < coils; ++coil)
      if (bytes_of(coil, first, length) != bytes_of(coil, earlier, length)) return false;
    return true;
  };
  for (std::int64_t readout = 0; readout < samples / length; ++readout) {
    const auto begin = readout * length;
    bool all_zero = true, all_equal = true;
    for (std::int64_t coil = 0; coil < coils && (all_zero || all_equal); ++coil) {
      const auto* values = scan.kspace.values.data() + coil * samples + begin;
      for (std::int64_t s = 0; s < length && (all_zero || all_equal); ++s) {
        all_zero = all_zero && values[s].re == 0 && values[s].im == 0;
        all_equal = all_equal && values[s].re == values[0].re && values[s].im == values[0].im;
      }
    }
    if (all_zero) {
      found.empty.push_back(readout);
      continue;
    }
    if (all_equal) found.constant.push_back(readout);
    const auto hash = hash_of(begin);
    constexpr std::ptrdiff_t most = 16;  // of one hash: more are alike, or made to cost time
    const auto [of_hash, end] = known.equal_range(hash);
    if (std::any_of(of_hash, end, [&](const auto& earlier) {
          return distance(scan, begin, earlier.second) > 1e-6 && are_copies(begin, earlier.second);
        }))
      found.copies.push_back(readout);
    if (std::distance(of_hash, end) < most) known.emplace(hash, begin);
  }
  return found;
}

}  // namespace

void check_readouts(const Scan& scan, const std::vector<double>& energy, std::int64_t length,
                    Findings& findings) {
  const auto samples = scan.kspace.sample_count();
  const auto zeros = std::count(energy.begin(), energy.end(), 0.0);
  if (zeros == samples) return;
  const bool one_by_one = length >= 2 && samples % length == 0;
  const auto found = one_by_one ? suspicious(scan, length) : SuspiciousReadouts{};
  const auto readouts = one_by_one ? samples / length : 0;
  if (!found.empty.empty())
    findings.add(Severity::warning, "readouts",
                 fmt::format("{} of {} readouts hold only zeros (first: {}); they count as measured zeros.",
                             found.empty.size(), readouts, found.empty.front()),
                 "remove readouts that were not measured from the file");
  else if (zeros > samples / 100)
    findings.add(Severity::warning, "readouts",
                 fmt::format("{} of {} samples are exactly zero in every coil; they count as measured zeros.",
                             zeros, samples),
                 "remove samples that were not measured from the file");
  if (!found.constant.empty())
    findings.add(Severity::warning, "readouts",
                 fmt::format("Every sample has the same value in {} of {} readouts (first: {}).",
                             found.constant.size(), readouts, found.constant.front()),
                 "remove them from the file");
  if (!found.copies.empty())
    findings.add(
        Severity::suspicion, "readouts",
        fmt::format("{} of {} readouts repeat the values of another one at other k-space positions (first: "
                    "{}).",
                    found.copies.size(), readouts, found.copies.front()),
        "check how the file was written: a stuck buffer, or a trajectory of other readouts");
}

}  // namespace fhd::doctor
