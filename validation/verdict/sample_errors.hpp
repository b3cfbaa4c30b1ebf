#pragma once
// Finds an imaginary part that is lost or of another gain.
#include <optional>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns an imaginary part that is nothing beside the real one, or the other way round, or of another gain.
/// Away from the centre of k-space the phases of an object and of noise are evenly spread: S = <d^2 / |d|^2>
/// is 0, and (1 - g) / (1 + g), a positive number in every coil, where the imaginary part has the gain g. An
/// object of one phase and symmetric about the centre has an S too, of another phase in each coil; one coil
/// cannot tell. Another gain is told only where `is_unexplained`. Code "imaginary"; `amount`: 100 g.
std::optional<Finding> imaginary_part(const ReadoutSet& whole, bool is_unexplained);

}  // namespace fhd::validation
