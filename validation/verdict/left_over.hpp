#pragma once
// Weighs what an image leaves over of its samples against noise: by shells of k-space, coils and readouts.
#include "recon/domain/report.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {

/// Fills noise_variance and noise_is_measured: from noise readouts; else, or where a shell leaves less, the least
/// that a shell leaves over for each value more than its unknowns.
void estimate_noise(const VerifierInput<float>& input, const EnergyTable& table, Verdict& verdict);

/// Fills by_radius, by_coil, tested, unexplained, chi_squared and noise_share, with noise_variance.
void weigh_shells(const EnergyTable& table, Verdict& verdict);

/// Fills by_readout of at most 48 groups of readouts: enough for a picture.
void divide_by_readouts(const EnergyTable& table, Verdict& verdict);

/// Returns the share of sum |d|^2 of one value in all samples of a coil, found where the object has little signal.
double offset_of(const VerifierInput<float>& input, const EnergyTable& table);

/// Returns the share of what is left over that `explained` is, without what `parameters` explain of noise.
inline double share_of_rest(const EnergyTable& table, double explained, double parameters,
                            double noise_variance) {
  return std::max(0.0, explained - parameters * noise_variance) / positive(table.total.rest);
}

}  // namespace fhd::validation
