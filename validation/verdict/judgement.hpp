#pragma once
// Turns the figures of a verdict into a judgement and its sentence.
#include "recon/domain/report.hpp"

namespace fhd::validation {

/// `unexplained` of simulated scans that are right stays below this; above it ordinary sources are sought.
inline constexpr double right_limit = 0.04;
/// From here on a model counts as wrong where no ordinary sources are found. `unexplained` of real scans stays below
/// 0.062, of mistakes that change the image by more than 10 % above 0.07: validation/results, planted mistakes.
inline constexpr double unexplained_limit = 0.07;
/// More is left over of no ordinary scan.
inline constexpr double most_ordinary = 0.35;
/// But for tissue outside the FOV, where it explains this share: a field of three quarters leaves 1 - (3/4)^2 = 0.44
/// of the energy of an even object outside, 0.66 of its signal.
inline constexpr double most_outside = 0.5, mostly_outside = 0.8;
/// The signal counts as changing with the readouts if one real factor for each readout explains this share of the
/// residual.
inline constexpr double varying_limit = 0.5;
/// A coil does not fit if its chi squared is larger than that of the others by this factor.
inline constexpr double coil_limit = 2;
/// A constant of the receiver with this share of |d|: an alarm; and the most that samples of objects have at the edge
/// of k-space.
inline constexpr double offset_limit = 0.1, offset_of_objects = 0.02;
/// A field map is wrong if the residual asks for a step of this share of it; the other sign gives -0.5.
inline constexpr double field_map_limit = 0.3;
/// Share of a cause that the samples show by themselves: no image explains them otherwise.
inline constexpr double shown_by_samples = 1;
/// A residual of the normal equations above this is far from the solution.
inline constexpr double convergence_limit = 1e-2;
/// With fewer iterations an unconverged image is what was asked for, and the data are not judged.
inline constexpr int few_iterations = 20;

/// Returns the largest `unexplained` that is ordinary where ordinary sources explain `share` of its energy:
/// unexplained_limit / (1 - share)^(3/4), and at most `most`. With the power 1/2 a source leaves nothing beside what it
/// explains; with 1, about as much, as sources that are fitted to first order and smooth in space do. Measured: an
/// object beyond the FOV leaves 14.6 % where 0.73 are explained; a lost readout of a spiral, which looks like one,
/// 19.1 % where 0.71 are.
double ordinary_limit(double share, double most = most_ordinary);

/// Fills judgement, sentence and, where the figures alone show it, cause; `solver_residual` as in Certificate. A
/// cause that is there already is the cause of an alarm.
void decide(Verdict& verdict, double solver_residual, int iterations);

/// Returns whether to seek a cause of what is left over, or a better one: in an alarm, and where only ordinary
/// sources keep it from one.
bool calls_for_a_cause(const Verdict& verdict);
/// Makes a cause that was sought the cause of an alarm, unless ordinary sources account for it.
void blame(Finding cause, Verdict& verdict);

/// Takes back a cause with the code "order", which a search refuted.
void drop_order(Verdict& verdict);

/// Says of data that a strong lambda, relative to the largest eigenvalue, leaves over that it does, in place of an alarm;
/// causes that the samples show by themselves stay. Above 0.1 it takes a tenth of the signal or more.
void excuse_strong_lambda(double lambda, Verdict& verdict);

/// Takes back a scale or a turn of all of k-space that was told from the samples, where the maps were found in them:
/// with it they would have been found with it, S'(r) = S(r / s), and another object, rho'(r) = rho(r / s), explains
/// the samples as well.
void drop_what_maps_follow(Verdict& verdict);

/// Says what a remedy depends on, beside its cause.
struct RemedyFacts {
  bool delays_are_sought = false;  ///< --trajectory-correction auto
  enum class Maps {
    given,
    calibrated,
    found
  } maps = Maps::given;            ///< by calibration readouts of their own, or the scan
  bool are_virtual_coils = false;  ///< coils are compressed, or left out by themselves
  bool are_corrected =
      false;  ///< by the options that remedies name: readouts or coils left out, k scaled or delayed
  double dwell_s =
      0;  ///< of the samples; 0: not known. --remove-tone takes Hz where it is, else cycles/sample
};
/// Returns the remedy of a cause, with the values of its option where they are known; empty where no option and no advice
/// answers it.
std::string remedy_of_cause(const Finding& cause, const RemedyFacts& facts);

/// Returns the change with this code; null where it was not tried.
const Finding* change_of(const Verdict& verdict, std::string_view code);

}  // namespace fhd::validation
