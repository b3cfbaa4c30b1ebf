#pragma once
// Judges whether an image explains the samples to within their noise, and if not, what is wrong. With d the samples,
// p = E rho what the image predicts of them, r = d - p:
//
//   left_over      |r| / |d| by shells of k-space, coils and readouts, and |r|^2 against the noise that n values leave
//                  behind a fit of u unknowns, sigma^2 (n - u); shells of n <= 1.2 u say nothing
//   arm_tests      readouts that meet at the centre of k-space, without maps: factors first, then orders, motion and delays
//   hypotheses     named mistakes of the model, each with its size: delays, scales, motion, phases, gains, frequencies
//   data_findings  mistakes in the samples themselves, by data_tests, neighbours and readout_order
//   line_causes    Cartesian lines of several coils, without an image: what they show outranks all but a few of the samples
//   ordinary       how much of what is left over scans in vivo always leave
//   judgement      which of these is the cause, the decision, and its sentence
//   raw_samples, causes: after an alarm the program asks these, of samples as stored and by searches
//
// A new mistake is a test in one of these files, its code among those of mistake_in_data where samples show it, and its
// remedy (judgement.cpp).
#include "recon/pipeline/context.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {

/// Computes the verdicts of volumes with one E. A volume that leaves over no more than the one `beside` them, in
/// every shell of k-space, coil and readout, has the findings of that one; none: the first of these, which becomes
/// it. Throws only what `input.encode` throws. Leaves a cause that takes a search empty: causes.hpp.
std::vector<Verdict> judge(const std::vector<VerifierInput<float>>& inputs,
                           std::shared_ptr<const JudgedVolume>& beside);
std::vector<Verdict> judge(const std::vector<VerifierInput<double>>& inputs,
                           std::shared_ptr<const JudgedVolume>& beside);

/// Fills of a verdict only what is left over beyond noise.
Verdict weigh(const VerifierInput<float>& input, EnergyTable& table);

}  // namespace fhd::validation
