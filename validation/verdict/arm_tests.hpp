#pragma once
// Tests what explains arms that contradict each other (arms.hpp): a factor of each readout, another order, a moving
// object.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/arms.hpp"

namespace fhd::validation {

/// A cause counts if it leaves half of what is left over, or less, as of all searches: a quarter of the energy.
inline constexpr double most_left_of_energy = 0.25;

/// Returns one factor g_j for each arm, d_j ~ g_j E_j x; empty where not all arms pass the centre.
std::vector<Complex<double>> factors_of_arms(const ArmModel& model);
/// Returns |d - f E x|^2 of an image of d / f, with a factor for each row: the misfit of a model with these factors.
double misfit_with(const ArmModel& model, const std::vector<Complex<double>>& factor_of_row);
/// Returns the factor of each row; data with very small factors are not raised to those of the others.
std::vector<Complex<double>> factors_of_rows(const ArmModel& model,
                                             const std::vector<Complex<double>>& factors);
/// Returns what the factors are: phases (code "phase"), or signs that alternate where the gain changes as contrast does
/// (code "signal"). Empty for other gains, which energies tell (odd_energies), and where they change smoothly.
std::optional<Finding> factors_in_words(const std::vector<Complex<double>>& factors);
/// Returns whether factors are those of contrast: their sizes change, and their phases by 180 degrees alone.
bool is_contrast(const std::vector<Complex<double>>& factors);
/// Returns that samples were multiplied by a density compensation, |k| or |k|^2, and are nothing at k = 0; code "window".
std::optional<Finding> density_of_arms(const ArmSamples& arms, const std::array<int, 3>& matrix_size,
                                       double radius);

/// Returns a share of a misfit, beyond noise.
inline double beyond_noise(double share, double misfit, double noise) {
  noise = std::min(noise, misfit);
  return noise + share * (misfit - noise);
}
/// A cause, and the misfit that it leaves.
struct ArmCause {
  Finding finding;
  double misfit = 0;
};
/// Returns samples [arm][place][coil] as in ArmSamples of readouts, given by their numbers in ArmSamples::all.
using SamplesOfReadouts = std::function<Matrix(const std::vector<Index>&)>;
/// Returns the order of the readouts that leaves least of their samples; code "order" where some are lost or stored
/// twice, else "exchange". `noise`: the misfit of noise. Where some readouts are arms, orders that have a name are
/// tried, for which the samples of the others are at hand.
std::optional<ArmCause> order_of_arms(const ArmModel& model, const SamplesOfReadouts& samples, double noise);
/// Returns how the object moves from readout to readout; code "motion". `matrix_size`: for sizes in voxels; `noise`
/// as above.
std::optional<ArmCause> motion_of_arms(const ArmModel& model, const Array<Complex<double>>& data,
                                       const std::array<int, 3>& matrix_size, double noise);

/// Returns delays of gradients by axis, below 7 samples; code codes::delays. Of 2D scans alone.
std::optional<ArmCause> delay_of_arms(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      double misfit_as_told);

struct ArmFindings {
  std::optional<Finding> cause{};  ///< why arms contradict each other, where something explains it
  double share = 0;                ///< of what is left over of the arms beyond noise that the cause explains
  std::vector<Index> numbers{};    ///< of readouts whose signal changes as contrast does, ...
  std::vector<Complex<double>> contrast{};  ///< ... and by which factors
};

/// Compares the arms of a scan. `noise_variance` as in Verdict, of scaled samples.
class ArmComparison {
 public:
  ArmComparison(const VerifierInput<float>& input, const std::vector<Index>& starts, double noise_variance);
  /// Returns density compensation and factors of readouts, where they explain why arms contradict each other.
  ArmFindings factors();
  /// Returns another order of readouts, motion or delays that do; call it after factors(). It takes a second.
  ArmFindings search() const;

 private:
  double noise(const ArmModel& model) const;
  bool is_left(const ArmModel& model, double misfit) const;
  std::optional<ArmCause> order_of_readouts(double noise) const;
  std::vector<Complex<double>> factors_that_explain(double as_told) const;

  const VerifierInput<float>& e_;
  const std::vector<Index>& starts_;
  double radius_, noise_;
  ArmSamples arms_;
  std::optional<Finding> density_{};
  std::optional<ArmModel> model_{};  ///< none where arms do not meet, or agree
  Array<Complex<double>> data_{};    ///< without contrast
  bool is_as_measured_ = true;
};

}  // namespace fhd::validation
