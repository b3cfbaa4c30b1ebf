#include "validation/verdict/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/domain/option_words.hpp"
#include "validation/verdict/data_findings.hpp"

namespace fhd::validation {
namespace {

using Judgement = Verdict::Judgement;

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }

/// Returns what is left over, in words.
std::string left_over(const Verdict& v) {
  return fmt::format("{} of the signal is left over beyond noise{}", percent(v.unexplained),
                     v.noise_is_measured ? "" : " (estimated)");
}

/// Returns the coil that is explained much worse than the others; -1: none.
int odd_coil(const Verdict& v) {
  std::vector<double> chi_squared;
  for (const auto& coil : v.by_coil) chi_squared.push_back(coil.chi_squared);
  if (chi_squared.size() < 3) return -1;
  const auto worst = std::max_element(chi_squared.begin(), chi_squared.end()) - chi_squared.begin();
  std::vector<double> sorted(chi_squared);
  std::sort(sorted.begin(), sorted.end());
  const double others = sorted[(sorted.size() - 1) / 2];
  const bool is_odd = sorted.back() > coil_limit * std::max(others, 1.0) &&
                      sorted.back() > coil_limit * sorted[sorted.size() - 2];
  return is_odd && v.by_coil[static_cast<std::size_t>(worst)].unexplained > unexplained_limit
             ? static_cast<int>(worst)
             : -1;
}

/// Returns a cause that the figures alone show.
std::optional<Finding> cause_of(const Verdict& v) {
  const auto share = [&](const char* code) {
    const auto* change = change_of(v, code);
    return change ? change->share : 0;
  };
  if (share("gain") > 0.3) return Finding{"gain", "the gain or the sign of a coil is not that of its map"};
  return {};
}

void decide_unexplained(Verdict& v) {
  const auto* signal = change_of(v, "signal");
  if (!v.cause && signal && signal->share > varying_limit) {
    v.judgement = Judgement::varies;
    v.sentence = fmt::format(
        "the signal changes from readout to readout (contrast, or a drift), and one image is its average: "
        "{}, "
        "{:.0f} % of which a factor for each readout explains",
        left_over(v), 100 * signal->share);
    return;
  }
  v.judgement = Judgement::unexplained;
  if (!v.cause) v.cause = cause_of(v);
  v.sentence = "the model does not explain the data: " + left_over(v);
}

/// Decides between an image that leaves as much over as those of scans that are right, and one that leaves more.
void decide_explained(Verdict& v) {
  const bool is_whole = std::round(1e3 * v.unexplained) <= 1e3 * right_limit;  // as it is printed
  v.judgement = is_whole ? Judgement::explained : Judgement::partly;
  v.sentence = is_whole
                   ? "the image explains the data: " + left_over(v)
                   : fmt::format("the image explains the data in part: {}, and from {:.0f} % on fhd warns",
                                 left_over(v), 100 * unexplained_limit);
  if (v.by_coil.size() == 1)
    v.sentence += "; in a scan of one coil, blur and distortion by off-resonance would not show";
}

}  // namespace

std::string remedy_of_cause(std::string_view code, bool delays_are_sought) {
  if (code == codes::folding) return option_words("map-sets", "auto");
  if (code == "unit") return "give the unit with " + option_words("trajectory-unit");
  if (code == "scale") return "check " + option_words("trajectory-unit") + " and " + option_words("fov-mm");
  if (code != codes::delays) return {};
  return delays_are_sought ? "give the delay as " + option_words("trajectory-correction") +
                                 " X,Y in samples: auto does not find it"
                           : option_words("trajectory-correction", "auto");
}

const Finding* change_of(const Verdict& verdict, std::string_view code) {
  for (const auto& change : verdict.changes)
    if (change.code == code) return &change;
  return nullptr;
}

void decide(Verdict& v, double solver_residual, int iterations) {
  const auto say_not_converged = [&] {
    v.judgement = Judgement::not_converged;
    v.sentence = fmt::format(
        "not converged: the solver stopped at a residual of {:.1e}, so that nothing is said of the data",
        solver_residual);
  };
  if (solver_residual > convergence_limit && iterations < few_iterations) return say_not_converged();
  if (v.offset > offset_limit) {
    v.judgement = Judgement::unexplained;
    v.cause = Finding{"offset", "a constant offset of the receiver"};
    v.sentence =
        fmt::format("one constant in all samples of a coil makes up {} of the signal", percent(v.offset));
    return;
  }
  if (const auto* mistake = mistake_in_data(v)) {
    v.judgement = Judgement::unexplained;
    v.cause = *mistake;
    v.sentence = mistake->image_change > 0
                     ? fmt::format("the samples hold a mistake that changes the image by about {}",
                                   percent(mistake->image_change))
                     : "the samples hold a mistake: " + left_over(v);
    return;
  }
  if (!(v.unexplained <= unexplained_limit)) return decide_unexplained(v);
  if (v.cause) {
    v.judgement = Judgement::unexplained;
    v.sentence = fmt::format("the data contradict the model, which changes the image by some {:.0f} %",
                             100 * v.cause->image_change);
    return;
  }
  if (v.centre > centre_limit) {
    v.judgement = Judgement::unexplained;
    v.cause = Finding{"offset", "a constant offset of the receiver"};
    v.sentence = fmt::format(
        "one voxel at the centre of the field of view is {:.0f} times brighter than all others", v.centre);
    return;
  }
  const auto* field = change_of(v, "field_map");
  if (field && std::abs(field->amount) > 100 * field_map_limit &&
      std::abs(field->amount) > 5 * field->uncertainty && field->uncertainty > 0) {
    v.judgement = Judgement::unexplained;
    v.cause = Finding{"field_map", field->amount < 0 ? "the sign of the field map"
                                                     : "the unit of the field map (rad/s or Hz)"};
    v.sentence =
        fmt::format("the samples left over ask for a field map that is {} by some {:.0f} %",
                    field->amount < 0 ? "smaller, or of the other sign," : "larger", std::abs(field->amount));
    return;
  }
  if (const int coil = odd_coil(v); coil >= 0) {
    v.judgement = Judgement::unexplained;
    v.cause = Finding{"coil", "one coil does not fit the others"};
    v.sentence = fmt::format(
        "the model does not explain coil {} (as used): {} of its signal is left over, noise included", coil,
        percent(v.by_coil[static_cast<std::size_t>(coil)].unexplained));
    return;
  }
  if (solver_residual > convergence_limit) return say_not_converged();
  const auto has_energy = [](const Misfit& part) { return part.energy != 0; };
  if (!v.by_coil.empty() && std::none_of(v.by_coil.begin(), v.by_coil.end(), has_energy)) {
    v.judgement = Judgement::untested;
    v.sentence = "all samples are zero: there is nothing to explain";
    return;
  }
  if (v.tested < 0.5) {
    v.judgement = Judgement::untested;
    v.sentence =
        "the data cannot test the image: there are no more values than unknowns, so that any model explains "
        "them";
    return;
  }
  decide_explained(v);
}

}  // namespace fhd::validation
