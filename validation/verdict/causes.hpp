#pragma once
// Finds why a model does not explain the data: undoes mistakes that occur in files, one at a time, on the centre of
// k-space, which a small matrix shows in milliseconds, and names the one without which the data are explained.
#include <optional>

#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd::validation {

/// Returns the cause whose undoing explains the centre of k-space: to less than half of the present residual, and to 15 %
/// or a third of it; `known` where none explains more than that does. Takes about 10 ms for an alternative in 2D, of
/// which there are some 35: all are tried, but of large scans, and in 3D where not `thorough`, only the likeliest, by a
/// count that is the same on every machine. In 3D, where one takes 50 to 250 ms, the innermost part of the centre chooses
/// six of them. Takes as much memory as the scan. `coils` says whether
/// the maps of the scan are used. An alternative that cannot be tried is no error.
std::optional<Finding> likeliest_cause(const Scan& scan, const CoilSettings& coils,
                                       std::optional<Finding> known, bool thorough = true);

}  // namespace fhd::validation
