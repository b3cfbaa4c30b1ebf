#pragma once
// The accuracy certificate of a result: compares the operators that made it with the defining sums of
// recon/domain/scan.hpp in double precision at random voxels and samples. It shares no code with recon/ beyond the array
// type.
#include <memory>

#include "recon/pipeline/context.hpp"

namespace fhd::validation {

/// The time that the check may take: 5 % of the reconstruction before it, but at least this.
inline constexpr double least_certificate_budget_s = 0.02;

/// Checks a few hundred voxels and samples, or as many as the budget allows, but never fewer than 9 of each
/// (or all there are). The voxels are those of a random sub-grid, so that their exponentials factor. The
/// choice is the same in every run.
std::shared_ptr<const Verifier> make_verifier();

}  // namespace fhd::validation
