#pragma once
// Tests what explains arms that contradict each other (arms.hpp): a factor of each readout, another order, a moving object.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/arms.hpp"

namespace fhd::validation {

/// A cause counts if it leaves half of what is left over, or less, as of all searches: a quarter of the energy.
inline constexpr double most_left_of_energy = 0.25;

/// One factor g_j for each arm, d_j ~ g_j E_j x; empty where not all arms pass the centre.
std::vector<Complex<double>> factors_of_arms(const ArmModel& model);
/// Returns |d - g E x|^2, the misfit with factors taken off the data: an image of d / g, weighed by |g|^2.
double misfit_with(const ArmModel& model, const std::vector<Complex<double>>& factors);
/// Returns what the factors are, where they are no contrast: phases (code "phase"), or gains of one readout, or ones
/// that change from one readout to the next (code "signal").
std::optional<Finding> factors_in_words(const ArmModel& model, const std::vector<Complex<double>>& factors);

/// A cause, and the misfit that it leaves.
struct ArmCause {
  Finding finding;
  double misfit = 0;
};
/// Returns the order of the arms that leaves least of `data`, which is [arm][place][coil] as in ArmSamples; code "exchange".
std::optional<ArmCause> order_of_arms(const ArmModel& model, const Array<Complex<double>>& data);
/// Returns how the object moves from readout to readout; code "motion". `matrix_size`: for sizes in voxels.
std::optional<ArmCause> motion_of_arms(const ArmModel& model, const Array<Complex<double>>& data,
                                       const std::array<int, 3>& matrix_size);

/// Returns why the arms contradict each other; empty where they agree, or nothing explains it. `noise_variance` as in Verdict, of
/// scaled samples.
template <class T>
std::optional<Finding> contradiction_of_arms(const VerifierInput<T>& input,
                                             const std::vector<std::int64_t>& starts, double noise_variance);

}  // namespace fhd::validation
