#include "validation/verdict/judgement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/domain/option_words.hpp"
#include "validation/verdict/data_findings.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {
namespace {

using Judgement = Verdict::Judgement;

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }

/// Returns whether the noise that was estimated in the shell of k-space that leaves least is more than all that was
/// measured, which noise is not: what is left over lies in some samples, a readout or a coil, and is no noise of all.
bool is_too_much_noise(const Verdict& v) { return !v.noise_is_measured && v.noise_share > 1; }

/// Returns what is left over, in words.
std::string left_over(const Verdict& v) {
  if (is_too_much_noise(v))
    return "what is left over would be noise of " + percent(v.noise_share) +
           " of the signal, more than was measured";
  return fmt::format("{} of the signal is left over beyond noise{}", percent(v.unexplained),
                     v.noise_is_measured ? "" : " (estimated)");
}

/// Returns the share of what is left over that sources explain together.
double share_of(const std::vector<Finding>& sources) {
  double left = 1;
  for (const auto& source : sources) left *= 1 - source.share;
  return 1 - left;
}

/// Returns the coil that is explained much worse than the others; -1: none.
int odd_coil(const Verdict& v) {
  const auto of_coils = [&](double Misfit::*figure) {
    std::vector<double> values;
    for (const auto& coil : v.by_coil) values.push_back(coil.*figure);
    std::sort(values.begin(), values.end());
    return values;
  };
  const auto chi_squared = of_coils(&Misfit::chi_squared);
  if (chi_squared.size() < 3) return -1;
  const double others = chi_squared[(chi_squared.size() - 1) / 2], worst = chi_squared.back();
  const Misfit& coil = *std::find_if(v.by_coil.begin(), v.by_coil.end(),
                                     [&](const Misfit& of) { return !(of.chi_squared < worst); });
  constexpr double more = 1.5;  // of its signal than of that of others
  // A preamplifier may be noisier than others: no more of its coil is left over beyond this noise than of others.
  constexpr double much_noise = 0.5, little = 0.01;
  const double own = coil.unexplained,
               usual = std::max(little, more * median(of_coils(&Misfit::beyond_noise)));
  if (coil.beyond_noise >= 0 && coil.beyond_noise <= usual && own < much_noise) return -1;
  const bool is_odd =
      worst > coil_limit * std::max(others, 1.0) && worst > coil_limit * chi_squared[chi_squared.size() - 2];
  return is_odd && own > unexplained_limit && own > more * median(of_coils(&Misfit::unexplained))
             ? static_cast<int>(&coil - v.by_coil.data())
             : -1;
}

/// Returns what tissue outside the FOV explains; 0: too little.
double share_outside(const Verdict& v) {
  constexpr double much = 0.3;
  for (const auto& source : v.ordinary)
    if (source.code == codes::outside_fov && source.share >= much) return source.share;
  return 0;
}

/// Returns whether tissue outside the FOV explains nearly as much as a cause that was tested does: it looks like k
/// that is too short, or turned, and, where no alarm is due, in another order.
bool looks_like_outside(const Finding& cause, const Verdict& v) {
  constexpr double nearly = 0.9;
  const bool looks_alike = cause.code == "scale" || cause.code == "readout_scale" || cause.code == "turn" ||
                           cause.code == codes::delays ||
                           (cause.code == "order" && v.unexplained <= v.ordinary_limit);
  return looks_alike && cause.share > 0 && share_outside(v) > nearly * cause.share;
}

/// Returns whether ordinary sources account for what a cause would explain. An object that goes on beyond the FOV
/// looks like k that is too short, or mirrored, fits the coil nearest to it worst, and leaves no noise by which a
/// window shows; to one coil it always looks so. Contrast changes the signal of readouts a little, and fewer than 8
/// readouts tell no time of a change.
bool is_ordinary(const Finding& cause, const Verdict& v) {
  constexpr double little = 0.1;
  constexpr std::size_t few_readouts = 8;
  if (looks_like_outside(cause, v)) return true;
  if (cause.share == shown_by_samples) return false;
  if (!(v.unexplained <= std::max(unexplained_limit, v.ordinary_limit))) return false;
  const bool is_in_time = cause.code == "signal" || cause.code == "phase" || cause.code == "motion";
  if (is_in_time && v.by_readout.size() > 0 && v.by_readout.size() < few_readouts) return true;
  if (cause.code == "signal") return cause.image_change < little;
  if (cause.code == "scale" && v.by_coil.size() == 1) return true;
  const bool is_untested_scale = cause.code == "scale" && !(cause.share > 0);
  return share_outside(v) > 0 && (is_untested_scale || cause.code == "coil" || cause.code == "window");
}

/// Returns the coil or the readouts in which nearly all lies that passes for noise.
std::optional<Finding> place_of_noise(const Verdict& v) {
  constexpr double nothing = 0.9, apart = 0.8, outlier = 3;
  const auto worse = [](const Misfit& a, const Misfit& b) { return a.unexplained < b.unexplained; };
  auto coils = v.by_coil;
  std::sort(coils.begin(), coils.end(), worse);
  if (coils.size() > 1 && coils.back().unexplained > nothing &&
      coils[coils.size() - 2].unexplained < apart * coils.back().unexplained)
    return with_correction(
        make_finding("coil", fmt::format("coil {:.0f} (from 0, as used) holds little but noise: {} of its "
                                         "signal is left over",
                                         coils.back().where, percent(coils.back().unexplained))),
        {coils.back().where});
  if (v.by_readout.size() < 3) return {};
  auto sorted = v.by_readout;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  if (!(sorted.back() > outlier * sorted[sorted.size() - 2])) return {};
  const auto worst = std::max_element(v.by_readout.begin(), v.by_readout.end()) - v.by_readout.begin();
  const auto first = worst * v.readouts_per_group;
  auto odd = make_finding(
      "odd_readouts",
      fmt::format(
          "readout {} (from 0){} is of noise or interference: {:.0f} times as much is left over as of others",
          first, v.readouts_per_group > 1 ? " or one after it" : "", sorted.back() / positive(usual)),
      static_cast<double>(first), 0, "readouts");
  if (v.readouts_per_group == 1) odd.correction = {static_cast<double>(first)};
  return odd;
}

/// Returns whether what seems to be wrong is contrast: a signal that no gain reaches, or a phase or an order of readouts
/// where real factors of the readouts explain most of what is left over and imaginary ones nothing. Other orders leave
/// as much to either, and a phase more to imaginary ones; a signal that passes zero changes its sign.
bool is_contrast(const Finding& cause, const Verdict& v) {
  constexpr double no_gain = 200, nothing = 0.01;  // percent; of the share of real factors
  const auto *signal = change_of(v, "signal"), *phase = change_of(v, "phase");
  if (!signal || !(signal->share > varying_limit)) return false;
  if (cause.code == "signal") return std::abs(cause.amount) > no_gain;
  return (cause.code == "phase" || cause.code == "order" || cause.code == "exchange") &&
         cause.share >= shown_by_samples && phase && phase->share < nothing * signal->share;
}

/// Returns a cause that the figures alone show; empty: none.
std::optional<Finding> cause_in(const Verdict& v) {
  constexpr double clear = 0.7;  // share of what is left over
  if (const auto* mistake = mistake_in_data(v);
      mistake && !(v.cause && v.cause->share > std::max(clear, mistake->share)) &&
      !is_ordinary(*mistake, v) && !is_contrast(*mistake, v))
    return *mistake;
  if (v.offset > offset_limit)
    return make_finding(
        "offset",
        fmt::format("a constant offset of the receiver: one value in all samples of a coil makes up "
                    "{} of the signal",
                    percent(v.offset)),
        100 * v.offset, 0, "%");
  if (v.cause && !is_ordinary(*v.cause, v) && !is_contrast(*v.cause, v)) return v.cause;
  const auto* field = change_of(v, "field_map");
  if (field && std::abs(field->amount) > 100 * field_map_limit && field->uncertainty > 0 &&
      std::abs(field->amount) > 5 * field->uncertainty) {
    auto cause = *field;
    cause.text += field->amount < 0 ? ", or has the other sign" : ": is it in rad/s or Hz";
    return cause;
  }
  if (const int coil = odd_coil(v); coil >= 0) {
    Finding cause{
        "coil",
        fmt::format("coil {} (from 0, as used) does not fit the others: {} of its signal is left over", coil,
                    percent(v.by_coil[static_cast<std::size_t>(coil)].unexplained))};
    cause.correction = {static_cast<double>(coil)};
    if (!is_ordinary(cause, v)) return cause;
  }
  const bool leaves_much = !(v.unexplained <= unexplained_limit);  // lambda takes a little off strong coils
  if (const auto* gain = change_of(v, "gain");
      gain && gain->share > 0.3 && leaves_much)  // a search may tell more
    return make_finding("gain", "the gain or the sign of a coil is not that of its map", gain->amount, 0,
                        gain->unit, gain->share);
  return is_too_much_noise(v) ? place_of_noise(v) : std::nullopt;
}

std::string cause_in_words(const Finding& cause) {
  return "; likeliest cause: " + cause.text +
         (cause.image_change > 0
              ? fmt::format(", which changes the image by about {}", percent(cause.image_change))
              : "");
}

/// Returns "off-resonance of some 12 Hz and motion of some 0.4 voxels".
std::string likeliest_two(const std::vector<Finding>& sources) {
  std::string words;
  for (std::size_t i = 0; i < std::min<std::size_t>(sources.size(), 2); ++i)
    words += (i > 0 ? " and " : "") + sources[i].text;
  return words;
}

/// Returns what the likeliest of the ordinary sources explains, if that is a signal which changes with time and much is left
/// over; 0: it is another, or explains little.
double share_of_contrast(const Verdict& v) {
  constexpr double much = 0.45;
  if (v.ordinary.empty() || v.unexplained <= unexplained_limit) return 0;
  const Finding& likeliest = v.ordinary.front();
  return likeliest.code == "signal" && likeliest.share > much ? likeliest.share : 0;
}

/// Makes the data unexplained, or, where a gain for each readout would explain them and no other cause is known, an
/// average.
void alarm(Verdict& v) {
  const auto* signal = change_of(v, "signal");
  const double share = signal && signal->share > varying_limit ? signal->share : share_of_contrast(v);
  if (share > 0 && (!v.cause || v.cause->code == "signal")) {
    v.judgement = Judgement::varies;
    v.sentence = fmt::format(
        "the signal changes from readout to readout (contrast, or a drift), and one image is its average: "
        "{}, "
        "{:.0f} % of which a factor for each readout explains",
        left_over(v), 100 * share);
    if (v.cause) v.sentence += "; " + v.cause->text;
    return;
  }
  v.judgement = Judgement::unexplained;
  const bool leaves_much = !(v.unexplained <= unexplained_limit);
  v.sentence = leaves_much || is_too_much_noise(v) ? "the model does not explain the data: " + left_over(v)
                                                   : "the data contradict the model";
  if (v.cause)
    v.sentence += cause_in_words(*v.cause);
  else if (!v.ordinary.empty())
    v.sentence += fmt::format(", and {} explain but {:.0f} % of its energy", likeliest_two(v.ordinary),
                              100 * share_of(v.ordinary));
}

/// Decides where no cause is known and the solver has converged.
void decide_by_what_is_left(Verdict& v) {
  if (is_too_much_noise(v) || !(v.unexplained <= std::max(unexplained_limit, v.ordinary_limit)) ||
      share_of_contrast(v) > 0)
    return alarm(v);
  if (v.tested < 0.5 && v.unexplained <= unexplained_limit) {
    v.judgement = Judgement::untested;
    v.sentence =
        "the data cannot test the image: there are as many unknowns as values, so that motion, gains and "
        "tones would not show";
    return;
  }
  const bool is_whole = std::round(1e3 * v.unexplained) <= 1e3 * right_limit;  // as it is printed
  v.judgement = is_whole ? Judgement::explained : Judgement::ordinary;
  v.sentence = "the image explains the data";
  v.sentence += is_whole ? ": " + left_over(v)
                         : " but for an ordinary rest: " + left_over(v) +
                               (v.ordinary.empty() ? std::string(", as scans in vivo leave")
                                                   : ", likeliest by " + likeliest_two(v.ordinary));
  if (v.by_coil.size() == 1)
    v.sentence += "; in a scan of one coil, blur and distortion by off-resonance would not show";
}

/// Advice on causes that no option corrects.
constexpr std::pair<std::string_view, std::string_view> advice[] = {
    {"shear", "take the stated share off this component of k"},
    {"shim", "add this drift to the positions of the trajectory, or shim again"},
    {"window", "store the samples as they were measured"},
    {"unencoded", "spoil the decay of the refocusing pulse, or alternate its phase"},
    {"samples", "leave the first samples of each readout out of the file, with their positions"},
    {"clipping", "measure again with a lower receiver gain"},
    {"wrapped", "store the samples with more bits, or with a lower gain"},
    {"imaginary", "store both parts of the samples, with one gain"},
    {"rounded", "store the samples as floats, or multiply them before they are cast to integers"},
    {"rounded_positions", "write the positions of the trajectory as floating-point numbers"},
    {"lossy", "store all samples: compress them without loss"},
    {"floats", "read the file of samples from its first float on: real, imaginary"},
    {"transformed", "store readouts before their Fourier transform, or transform them back"},
    {"lost_samples", "transfer the raw data again, or move these readouts back"},
    {"jitter",
     "repair the trigger of the receiver, or move each readout by its own delay before it is stored"},
    {"phase_ramps", "correct each shot by its navigator before it is stored"},
    {"transposed", "store k-space with the samples of a coil side by side, [coil][sample]"},
    {"order", "store readouts in the order of the trajectory"},
    {"exchange", "store readouts in the order of the trajectory"},
    {"ghost", "align the echoes of gradients of both signs before they are stored"},
    {"offset", "subtract the mean of the last samples of each coil"},
    {"signal", "store readouts of one gain and contrast"},
    {"phase", "correct the phase of the readouts by navigators before they are stored"}};

/// Returns the values of the option that undoes a cause, "17,93"; empty where they are not known, or more than 10.
std::string values_in_words(const Finding& cause, double dwell_s) {
  constexpr std::size_t most = 10;
  const auto& values = cause.correction;
  if (values.empty() || values.size() > most) return {};
  if (cause.code == "tone")
    return dwell_s > 0 ? fmt::format("{:.0f}", values.front() / dwell_s)
                       : fmt::format("{:.4f}", values.front());
  const bool are_numbers = cause.code != "scale" && cause.code != codes::delays;  // of readouts or coils
  std::vector<std::string> words;
  for (const double value : values)
    words.push_back(are_numbers ? fmt::format("{:.0f}", value)
                                : fmt::format("{:g}", std::round(1e3 * value) / 1e3 + 0.0));
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

double ordinary_limit(double share, double most) {
  if (!(share >= 0 && share < 1)) return unexplained_limit;
  return std::min(most, unexplained_limit * std::pow(1 - share, -0.75));
}

std::string remedy_of_cause(const Finding& cause, const RemedyFacts& facts) {
  const auto& code = cause.code;
  const auto with = [&](const char* option, const char* otherwise) {
    const auto values = values_in_words(cause, facts.dwell_s);
    return option_words(option, values.empty() ? otherwise : values) +
           (facts.are_corrected ? " (of the scan as the options in use leave it)" : "");
  };
  if (code == codes::folding) return option_words("map-sets", "auto");
  if (code == "unit") return "give the unit with " + option_words("trajectory-unit");
  if (code == codes::delays)
    return cause.correction.empty() && facts.delays_are_sought
               ? "give the delay as " + option_words("trajectory-correction") +
                     " X,Y in samples: auto does not find it"
               : "correct the trajectory: " + with("trajectory-correction", "auto");
  if (code == "scale")
    return "multiply k by factors of its axes, " + with("trajectory-scale", "X,Y,Z") + ", or check " +
           option_words("trajectory-unit") + " and " + option_words("fov-mm");
  if (code == "frequency")
    return "demodulate the samples by this frequency, or give " + option_words("field-map");
  if (code == "field_map")
    return "give the map by " + option_words("field-map") + " with " + option_words("field-map-unit");
  if (code == "motion") return "gate the scan (" + option_words("gate") + ") or repeat it";
  if (code == "sensitivity_maps") {
    if (facts.maps == RemedyFacts::Maps::calibrated)
      return "take a calibration of this scan, with its coils in the same order";
    return facts.maps == RemedyFacts::Maps::found
               ? "compare with " + option_words("coils", "joint") + ", or measure a calibration"
               : "find the maps in the scan: " + option_words("coils", "espirit");
  }
  if (code == "coil")
    return facts.are_virtual_coils
               ? "find its number among the coils of the file (" + option_words("compress", "off") +
                     "), and leave it out: " + option_words("omit-coils", "N")
               : "leave it out: " + with("omit-coils", "N");
  if (code == "tone") return "take the tone off the samples: " + with("remove-tone", "auto");
  if (code == "spikes") return "leave the readouts with spikes out: " + with("omit-readouts", "LIST");
  if (code == "odd_readouts") return "leave these readouts out: " + with("omit-readouts", "LIST");
  if (code == "boards")
    return "lock the clocks of the receiver's boards and measure again, or leave the coils of one board "
           "out: " +
           with("omit-coils", "LIST");
  for (const auto& [of, text] : advice)
    if (of == code) return std::string(text);
  return {};
}

const Finding* change_of(const Verdict& verdict, std::string_view code) {
  for (const auto& change : verdict.changes)
    if (change.code == code) return &change;
  return nullptr;
}

bool calls_for_a_cause(const Verdict& v) {
  constexpr double no_doubt = 0.9, much = 0.15;  // of what is left over; of the signal
  // The order of readouts is tried on the centre of k-space. Some readouts fit worst whatever is wrong.
  const bool is_evident =
      v.cause && v.cause->code != "order" && v.cause->code != "odd_readouts" && mistake_in_data(v);
  const bool is_sure = v.cause && v.cause->share > no_doubt && v.unexplained <= much;
  const bool is_shown = v.cause && v.cause->share >= shown_by_samples &&
                        (v.cause->code != "odd_readouts" || v.cause->unit == "times");
  if (v.cause && (v.unexplained <= unexplained_limit || is_sure || is_evident || is_shown)) return false;
  return v.judgement == Judgement::unexplained || v.judgement == Judgement::varies ||
         (v.judgement == Judgement::ordinary && !(v.unexplained <= unexplained_limit));
}

void blame(Finding cause, Verdict& v) {
  const bool is_of_maps = cause.code == "sensitivity_maps" && v.judgement == Judgement::ordinary;
  if (is_ordinary(cause, v) || is_of_maps) return;  // maps of another scan leave more
  if (cause.code == codes::folding && v.judgement == Judgement::ordinary) {  // no mistake, and with a remedy
    v.ordinary.insert(v.ordinary.begin(),
                      {codes::folding, "an object that is larger than the field of view and folds (" +
                                           option_words("map-sets", "auto") + " tells the copies apart)"});
    return decide_by_what_is_left(v);
  }
  v.cause = std::move(cause);
  alarm(v);
}

void excuse_strong_lambda(double lambda, Verdict& v) {
  constexpr double strong = 0.1;
  const auto* in_data = mistake_in_data(v);
  const bool is_evident =
      v.cause && ((in_data && in_data->code == v.cause->code) || v.cause->share >= shown_by_samples);
  if (!(lambda > strong) || v.unexplained <= right_limit || v.judgement == Judgement::not_converged ||
      is_evident)
    return;
  v.cause.reset();
  v.judgement = Judgement::untested;
  v.sentence = fmt::format(
      "lambda is strong, {:.2g} of the largest eigenvalue, and takes signal off the image by itself: {}, so "
      "that nothing is "
      "said of the data; a smaller {} tells more",
      lambda, left_over(v), option_words("lambda"));
}

void drop_what_maps_follow(Verdict& v) {
  if (!v.cause || !(v.cause->share > 0) || (v.cause->code != "scale" && v.cause->code != "turn")) return;
  v.cause.reset();
  decide_by_what_is_left(v);
}

void drop_order(Verdict& v) {
  if (!v.cause || v.cause->code != "order") return;
  v.cause.reset();
  alarm(v);
}

void decide(Verdict& v, double solver_residual, int iterations) {
  const auto settle = [&](Judgement judgement, std::string sentence) {
    v.judgement = judgement;
    v.sentence = std::move(sentence);
  };
  const bool is_converged = !(solver_residual > convergence_limit);
  const auto stopped = fmt::format(
      "not converged: the solver stopped at a residual of {:.1e}, so that nothing is said of the data",
      solver_residual);
  const auto has_energy = [](const Misfit& part) { return part.energy != 0; };
  if (!is_converged && iterations < few_iterations) return settle(Judgement::not_converged, stopped);
  if (!v.by_coil.empty() && std::none_of(v.by_coil.begin(), v.by_coil.end(), has_energy))
    return settle(Judgement::untested, "all samples are zero: there is nothing to explain");
  v.cause = cause_in(v);
  if (v.cause) return alarm(v);
  if (!is_converged && v.unexplained <= unexplained_limit) return settle(Judgement::not_converged, stopped);
  decide_by_what_is_left(v);
}

}  // namespace fhd::validation
