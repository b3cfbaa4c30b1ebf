#pragma once
// What the figures of a verdict mean: plain values in, a judgement and its sentence out.
#include "recon/domain/report.hpp"

namespace fhd::validation {

/// From here on a model counts as wrong. `unexplained` of simulated scans that are right stays below 0.04, of real ones
/// below 0.062, of mistakes that change the image by more than 10 % above 0.07: validation/results, planted mistakes.
inline constexpr double unexplained_limit = 0.07;
/// Of what is left over, the share that one real factor for each readout explains, from which the signal counts as
/// changing with the readouts.
inline constexpr double varying_limit = 0.5;
/// One coil is explained worse than the others by this factor of chi squared.
inline constexpr double coil_limit = 2;
/// A voxel at the centre of the FOV brighter than all others by this factor: an offset of the receiver.
inline constexpr double centre_limit = 3;
/// A constant of the receiver with this share of |d|; objects reach 0.02.
inline constexpr double offset_limit = 0.1;
/// The step that the samples left over ask for of the field map, of itself: the other sign gives -0.5.
inline constexpr double field_map_limit = 0.3;
/// A residual of the normal equations above this is far from the solution.
inline constexpr double convergence_limit = 1e-2;
/// Of so few iterations it is what was asked for, and nothing is said of the data.
inline constexpr int few_iterations = 20;

/// Returns the remedy of a cause with this code; empty where no option answers it.
std::string remedy_of_cause(std::string_view code, bool delays_are_sought);

/// Fills judgement, sentence and, where the figures alone tell it, cause; `solver_residual` as in Certificate.
void decide(Verdict& verdict, double solver_residual, int iterations);

/// The change of this name; null where it was not tried.
const ModelChange* change_of(const Verdict& verdict, const char* what);

}  // namespace fhd::validation
