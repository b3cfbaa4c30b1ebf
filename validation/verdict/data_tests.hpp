#pragma once
// The tests of the samples themselves; data_findings.hpp calls them. See also neighbours.hpp and readout_order.hpp.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/centre_model.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns jumps by nearly the full range of all samples, M, in Re or Im of successive samples: |x_n -
/// x_{n-1}| > M, where a number 2 M larger or smaller continues the readout at least twice as smoothly.
/// Meaningful only where an image leaves much over: samples of one per cycle/FOV may jump by themselves. A prediction
/// from the two samples before has to miss one by more than M: where every sample has another sign than the one
/// before, it does not. Two passes over all samples. Code "wrapped"; `amount`: their number.
std::optional<Finding> wrapped_samples(const VerifierInput<float>& input, const std::vector<Index>& starts);

/// Returns an imaginary part that is nothing beside the real one, or the other way round, or of another gain.
/// Away from the centre of k-space the phases of an object and of noise are evenly spread: S = <d^2 / |d|^2>
/// is 0, and (1 - g) / (1 + g), a positive number in every coil, where the imaginary part has the gain g. An
/// object of one phase and symmetric about the centre has an S too, of another phase in each coil; one coil
/// cannot tell. A constant of each coil is taken off before. A real object and coils of alike phases have one that falls with
/// the radius: S that differs by more than 0.05 between coils, or between the inner and the outer half, counts only where
/// `is_unexplained`. Code "imaginary"; `amount`: 100 g.
std::optional<Finding> imaginary_part(const ReadoutSet& whole, bool is_unexplained);

/// Returns the samples whose residual, summed over coils, has 16 times the energy of any but the next ones within
/// four samples of their readout and 30 times the median of all, where they are a tenth of |r|^2 or more. Samples
/// within 4 cycles/FOV of the centre, where the signal has peaks, are left out. One pass over all samples. `amount`:
/// their number; `image_change`: the root of their share of |d|^2, because an image takes them over as noise.
std::optional<Finding> spikes_in(const VerifierInput<float>& input, const std::vector<Index>& starts);

/// Returns the strongest tone, exp(i 2 pi f n), that three readouts in four hold. Pieces of at most 256 samples of the residual are
/// transformed (Hann window); the lower quartile over pieces of |spectrum|^2, summed over coils, is compared with its
/// median over 20 neighbouring frequencies: noise and what a model leaves over stay below 6 times it. Where an image
/// absorbs the tone, as a fully sampled Cartesian one does, the quarter of the pieces with the least signal shows it.
/// `amount`: root mean square over coils in % of that of the samples; `image_change`: within a factor of about two.
/// `dwell_s`: time between samples; 0: not known.
std::optional<Finding> tone_in(const ReadoutSet& set, double dwell_s);

/// Returns a window (Hann, Hamming, Gauss) that was applied along the readouts before they were stored. A
/// receiver's noise is as strong at the ends of a readout as in its middle; a window that was applied later takes it
/// down with the signal. The noise is that of the residual in the upper half of its band (fourth differences), which
/// holds little of an object and which no fit absorbs. Meaningful only where there are more values than unknowns.
/// `amount`: the factor at the ends, against the middle third, in %. A window that ends at zero takes the samples at the
/// edge of k-space below any noise: that needs no image, and `amount` is the energy left there in %. `leaves_noise`:
/// whether it is noise that is left over.
std::optional<Finding> window_in(const ReadoutSet& set, bool leaves_noise);

/// Returns weights that were applied to the samples before, as the densities of radial and spiral k-space ask for: the
/// energy at the centre, within 0.5 cycles/FOV, is hardly above that around it, and in the outer half of k-space above a 160th
/// of the most. Objects have either a peak at the centre or, where their signal cancels, little at the edge. `amount`:
/// the energy at the centre over that at 1 to 3 cycles/FOV.
std::optional<Finding> weights_in(const CentralSamples& centre, const EnergyTable& table);

/// Returns a signal that all readouts hold alike, although they lie next to each other: that of an echo or a free decay
/// that saw no phase encoding. The mean of readouts far from the strongest one has nine tenths of its length along one
/// near it, c, and with a_j = <c, d_j> / |c|^2 mean a is above 10 times its uncertainty; objects stay below 3 times.
/// `amount`: 100 |mean a|. Empty where readouts are not parallel and alike.
std::optional<Finding> unencoded_signal(const ReadoutSet& set);

}  // namespace fhd::validation
