#pragma once
// Finds mistakes that samples show by themselves: integers that wrap, an imaginary part that is lost or of another gain.
#include <optional>

#include "recon/domain/report.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns jumps by nearly the full range of all samples, M, in Re or Im of successive samples: |x_n -
/// x_{n-1}| > M, where a number 2 M larger or smaller continues the readout at least twice as smoothly.
/// Meaningful only where an image leaves much over: samples of one per cycle/FOV may jump by themselves. A prediction
/// from the two samples before has to miss one by more than M: where every sample has another sign than the one
/// before, it does not. Two passes over all samples. Code "wrapped"; `amount`: their number.
std::optional<Finding> wrapped_samples(const VerifierInput<float>& input,
                                       const std::vector<std::int64_t>& starts);

/// Returns an imaginary part that is nothing beside the real one, or the other way round, or of another gain.
/// Away from the centre of k-space the phases of an object and of noise are evenly spread: S = <d^2 / |d|^2>
/// is 0, and (1 - g) / (1 + g), a positive number in every coil, where the imaginary part has the gain g. An
/// object of one phase and symmetric about the centre has an S too, of another phase in each coil; one coil
/// cannot tell. Another gain is told only where `is_unexplained`. Code "imaginary"; `amount`: 100 g.
std::optional<Finding> imaginary_part(const ReadoutSet& whole, bool is_unexplained);

}  // namespace fhd::validation
