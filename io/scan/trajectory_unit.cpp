#include "io/scan/trajectory_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using enum TrajectoryUnit;
/// Every unit with its name. To add one, add a row here and a factor to scale_of.
constexpr std::pair<TrajectoryUnit, std::string_view> all_units[]{{cycles_per_fov, "cycles/FOV"},
                                                                  {cycles_per_recon_fov, "cycles/reconFOV"},
                                                                  {cycles_per_voxel, "cycles/voxel"},
                                                                  {radians_per_voxel, "radians/voxel"},
                                                                  {cycles_per_metre, "1/m"},
                                                                  {cycles_per_mm, "1/mm"},
                                                                  {radians_per_metre, "radians/m"},
                                                                  {radians_per_mm, "radians/mm"},
                                                                  {kmax, "kmax"}};

// Penalties are negative logarithms of likelihoods; a difference of 3 decides. The widths are wide, because a wrong unit
// is wrong by a factor.
constexpr double decisive = 3;
constexpr double full_fill = 0.97;            // "to the edge": the last sample may lie half a voxel before it
constexpr double fill_width = 0.35;           // of the logarithm
constexpr double partial_fill_penalty = 0.7;  // few trajectories stop short of the edge at all
constexpr double longest_object = 1.1, long_width = 0.2, shortest_object = 0.3, short_width = 0.6;  // FOVs
constexpr double most_for_long_object = 12, most_for_short_object = 2;  // a phantom may be small

bool is_in_radians_per_length(TrajectoryUnit unit) {
  return unit == radians_per_metre || unit == radians_per_mm;
}
double unusual(TrajectoryUnit unit) {
  if (unit == cycles_per_recon_fov) return 0.5;
  return unit == kmax || unit == cycles_per_mm || is_in_radians_per_length(unit) ? 3 : 0;
}

/// Returns the factor to cycles/FOV along one axis; 0 where a length is unknown.
double scale_of(TrajectoryUnit unit, const UnitReference& reference, int axis) {
  const int n = reference.encoded.matrix_size[axis];
  const double fov_mm = reference.encoded.fov_mm[axis], recon_fov_mm = reference.recon_fov_mm[axis];
  switch (unit) {
    case cycles_per_voxel:
      return n;
    case radians_per_voxel:
      return n / (2 * std::numbers::pi);
    case kmax:
      return n / 2.0;
    case cycles_per_metre:
      return fov_mm / 1000;
    case cycles_per_mm:
      return fov_mm;
    case radians_per_metre:
      return fov_mm / (2000 * std::numbers::pi);
    case radians_per_mm:
      return fov_mm / (2 * std::numbers::pi);
    case cycles_per_recon_fov:
      return recon_fov_mm > 0 ? fov_mm / recon_fov_mm : 0;
    default:
      return 1;
  }
}

double squared(double x) { return x * x; }

/// Consequences for the scan if k is in this unit.
struct Hypothesis {
  TrajectoryUnit unit;
  std::array<double, 3> fill{};  ///< share of N/2 that k reaches along each axis; 0 where it does not count
  double largest_fill = 0, least_fill = 1e300;
  double longest = 0;  ///< of the object along the axes that tell, FOVs to be shown; 0: unknown
  double penalty = 0;

  bool possible() const { return largest_fill <= edge_rounding; }
  bool same_k_as(const Hypothesis& other) const {
    for (int axis = 0; axis < 3; ++axis)
      if (std::abs(fill[axis] - other.fill[axis]) > (edge_rounding - 1) * fill[axis]) return false;
    return true;
  }
};

double penalty_of(const Hypothesis& h) {
  double penalty = unusual(h.unit) + squared(std::log(h.largest_fill / h.least_fill) / fill_width);
  if (h.largest_fill < full_fill)
    penalty += partial_fill_penalty + squared(std::log(full_fill / h.largest_fill) / fill_width);
  if (is_in_radians_per_length(h.unit) && h.largest_fill < full_fill) penalty += decisive;
  if (h.longest == 0) return penalty;
  if (h.longest > longest_object)
    penalty += std::min(most_for_long_object, squared(std::log(h.longest / longest_object) / long_width));
  if (h.longest < shortest_object)
    penalty += std::min(most_for_short_object, squared(std::log(shortest_object / h.longest) / short_width));
  return penalty;
}

/// Returns nothing where a length that the unit needs is unknown.
std::vector<Hypothesis> hypothesis_of(TrajectoryUnit unit, const TrajectoryEvidence& evidence,
                                      const UnitReference& reference) {
  Hypothesis h{unit};
  for (int axis = 0; axis < 3; ++axis) {
    const int n = reference.encoded.matrix_size[axis];
    if (n == 1 || !(evidence.largest_k[axis] > 0)) continue;
    const double scale = scale_of(unit, reference, axis);
    if (!(scale > 0)) return {};
    h.fill[axis] = evidence.largest_k[axis] * scale / (n / 2.0);
    h.largest_fill = std::max(h.largest_fill, h.fill[axis]);
    h.least_fill = std::min(h.least_fill, h.fill[axis]);
    const double fov_mm = reference.encoded.fov_mm[axis], shown_mm = reference.recon_fov_mm[axis];
    const double length =
        evidence.object_length[axis] / scale * (fov_mm > 0 && shown_mm > 0 ? fov_mm / shown_mm : 1);
    h.longest = std::max(h.longest, length);
  }
  if (!(h.largest_fill > 0)) return {};
  h.penalty = penalty_of(h);
  return {h};
}

/// "100 % of the edge" or "50 %, 100 % and 100 % along x, y and z"
std::string fill_in_words(const Hypothesis& h) {
  if (h.largest_fill <= edge_rounding * h.least_fill) return fmt::format("{:.0f} %", 100 * h.largest_fill);
  std::string percent, axes;
  for (int axis = 0; axis < 3; ++axis)
    if (h.fill[axis] > 0) {
      percent += fmt::format("{}{:.0f} %", percent.empty() ? "" : ", ", 100 * h.fill[axis]);
      axes += fmt::format("{}{}", axes.empty() ? "" : ", ", "xyz"[axis]);
    }
  return percent + " along " + axes;
}

/// "50 % with an object 0.9 FOV long"
std::string reach_in_words(const Hypothesis& h) {
  return fill_in_words(h) + (h.longest > 0 ? fmt::format(" with an object {:.1f} FOV long", h.longest) : "");
}

std::string found_in_words(const TrajectoryEvidence& evidence, const Geometry& geometry) {
  const auto& n = geometry.matrix_size;
  double extent = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] > 1) extent = std::max(extent, evidence.largest_k[axis]);
  return fmt::format("|k| up to {:.6g} for a matrix of {} x {} x {}", extent, n[0], n[1], n[2]);
}

std::string reason_for(const Hypothesis& best, const Hypothesis* second, const std::string& found) {
  const auto other =
      second ? fmt::format(" (in {} it reaches {})", name_of(second->unit), reach_in_words(*second)) : "";
  return fmt::format(
      "The trajectory is taken to be in {}: {}; of the way to the edge of k-space it reaches {}{}.",
      name_of(best.unit), found, reach_in_words(best), other);
}

/// Returns the possible units that differ in k, the likeliest first.
std::vector<Hypothesis> ranked(const TrajectoryEvidence& evidence, const UnitReference& reference) {
  std::vector<Hypothesis> candidates;
  for (const auto& [unit, name] : all_units)
    for (const auto& h : hypothesis_of(unit, evidence, reference)) {
      const bool known = std::any_of(candidates.begin(), candidates.end(),
                                     [&](const Hypothesis& other) { return h.same_k_as(other); });
      if (h.possible() && !known) candidates.push_back(h);
    }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.penalty < b.penalty; });
  return candidates;
}

/// Returns whether k reaches far enough to believe in the unit at all.
bool explains(const Hypothesis& h) {
  const bool object_fits = h.longest <= longest_object && h.longest >= shortest_object;
  return h.largest_fill >= (object_fits ? 0.15 : 0.38);
}

/// Returns the unit in which k reaches the edge of k-space where, in the stated one, it stays far inside or leaves it; of
/// hardly more than the centre, also one that is credible at all. Returns nothing where the stated unit is credible.
std::vector<Hypothesis> likelier_than(const Hypothesis& stated, const TrajectoryEvidence& evidence,
                                      const UnitReference& reference) {
  constexpr double hardly_any = 0.12, most = 0.9;
  if (stated.possible() && explains(stated)) return {};
  const auto others = ranked(evidence, reference);
  for (const auto& other : others)
    if (other.largest_fill >= most) return {other};
  if (stated.largest_fill <= hardly_any)
    for (const auto& other : others)
      if (explains(other)) return {other};
  return {};
}

}  // namespace

std::string_view name_of(TrajectoryUnit unit) {
  for (const auto& [each, name] : all_units)
    if (each == unit) return name;
  return "auto";
}

TrajectoryUnit parse_trajectory_unit(std::string_view text, const std::string& subject) {
  const auto plain_of = [](std::string_view any) {
    std::string plain;
    for (const char c : any)
      if (c != ' ') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    // The spellings that mean the same; a unit begins with one of the first five.
    for (const auto& [other, usual] : {std::pair<std::string_view, std::string_view>{"pixel", "voxel"},
                                       {"radian/", "radians/"},
                                       {"rad/", "radians/"},
                                       {"cycle/", "cycles/"},
                                       {"1/", "cycles/"}})
      if (const auto at = plain.find(other); at == 0 || (at != plain.npos && other == "pixel"))
        plain.replace(at, other.size(), usual);
    return plain;
  };
  if (plain_of(text) == name_of(automatic)) return automatic;
  for (const auto& [unit, name] : all_units)
    if (plain_of(text) == plain_of(name)) return unit;
  throw Error(
      subject,
      "cycles/FOV, cycles/reconFOV, cycles/voxel, radians/voxel, 1/m, 1/mm, radians/m, radians/mm or kmax",
      "'" + std::string(text) + "'", plain_of(text).starts_with("rad") ? "did you mean radians/voxel?" : "");
}

InferredUnit infer_trajectory_unit(const TrajectoryEvidence& evidence, const UnitReference& reference,
                                   const std::string& subject) {
  const auto found = found_in_words(evidence, reference.encoded);
  if (hypothesis_of(cycles_per_fov, evidence, reference).empty())
    throw Error(subject, "k-space positions that differ from 0", found, "the trajectory is empty");
  const auto candidates = ranked(evidence, reference);
  const auto* second = candidates.size() > 1 ? &candidates[1] : nullptr;
  if (candidates.empty() || !explains(candidates[0]))
    throw Error(subject, "k-space positions in a unit that can be inferred",
                candidates.empty() ? found
                                   : fmt::format("{}, at best {} of the edge of k-space ({})", found,
                                                 fill_in_words(candidates[0]), name_of(candidates[0].unit)),
                "give the unit with " + option_words("trajectory-unit"));
  if (second && second->penalty - candidates[0].penalty < decisive) {
    std::string names, fills, commands;
    for (const auto& h : candidates) {
      if (h.penalty - candidates[0].penalty >= decisive) break;
      names.append(names.empty() ? "" : " or ").append(name_of(h.unit));
      fills += (fills.empty() ? "" : " or ") + reach_in_words(h);
      commands += (commands.empty() ? "" : " or ") + option_words("trajectory-unit", name_of(h.unit));
    }
    throw Error(subject, "k-space positions that fit one unit",
                fmt::format("{}, which may be {}: of the way to the edge of k-space it reaches {}", found,
                            names, fills),
                "give the unit with " + commands);
  }
  return {candidates[0].unit, reason_for(candidates[0], second, found)};
}

InferredUnit infer_fov_of_unit(const TrajectoryEvidence& evidence, const UnitReference& reference) {
  const auto encoded = hypothesis_of(cycles_per_fov, evidence, reference),
             recon = hypothesis_of(cycles_per_recon_fov, evidence, reference);
  if (encoded.empty() || recon.empty() || !recon[0].possible() || recon[0].same_k_as(encoded[0]) ||
      recon[0].penalty + decisive > encoded[0].penalty)
    return {cycles_per_fov, ""};
  return {cycles_per_recon_fov,
          reason_for(recon[0], &encoded[0], found_in_words(evidence, reference.encoded))};
}

void require_credible_unit(TrajectoryUnit stated, const std::array<double, 3>& largest_k,
                           const Geometry& geometry, const std::string& subject) {
  const TrajectoryEvidence evidence{largest_k, {}};
  const UnitReference reference{geometry, {}};
  for (const auto& told : hypothesis_of(stated, evidence, reference))
    for (const auto& other : likelier_than(told, evidence, reference))
      throw Error(
          subject, fmt::format("k-space positions in {}", name_of(stated)),
          fmt::format("{}, which reaches {} of the edge of k-space, and {} in {}",
                      found_in_words(evidence, geometry), fill_in_words(told), fill_in_words(other),
                      name_of(other.unit)),
          fmt::format(
              "give the unit with {} or {}", option_words("trajectory-unit", name_of(other.unit)),
              told.possible() ? option_words("trajectory-unit", name_of(stated)) : "the true matrix size"));
}

std::optional<TrajectoryUnit> likelier_unit(TrajectoryUnit stated, const std::array<double, 3>& largest_k,
                                            const Geometry& geometry) {
  const TrajectoryEvidence evidence{largest_k, {}};
  const UnitReference reference{geometry, {}};
  for (const auto& told : hypothesis_of(stated, evidence, reference))
    for (const auto& other : likelier_than(told, evidence, reference)) return other.unit;
  return {};
}

std::array<double, 3> scale_to_cycles_per_fov(TrajectoryUnit unit, const UnitReference& reference,
                                              const std::string& subject) {
  std::array<double, 3> scale{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const double factor = scale_of(unit, reference, axis);
    if (factor > 0) {
      scale[axis] = factor;
    } else if (reference.encoded.matrix_size[axis] > 1) {
      const std::string along = "none along " + std::string(1, "xyz"[axis]);
      if (unit == cycles_per_recon_fov)
        throw Error(subject, "a stated FOV of the reconstructed space to convert k-space positions", along,
                    "give another unit with " + option_words("trajectory-unit"));
      throw Error(subject, fmt::format("a known FOV to convert k-space positions from {}", name_of(unit)),
                  along, "give it with " + option_words("fov-mm", "X,Y,Z"));
    }
  }
  return scale;
}

}  // namespace fhd::io
