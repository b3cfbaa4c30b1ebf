#pragma once
// The accuracy certificate of a result: compares the operators that made it with the defining sums of
// recon/domain/scan.hpp in double precision at random voxels and samples. It shares no code with recon/ beyond the array
// type.
#include <memory>

#include "recon/pipeline/context.hpp"

namespace fhd::validation {

/// Checks a volume at 9 to 256 voxels and samples (or all there are): as many as millions of multiply-adds allow, and the same
/// in every run. The voxels are those of a random sub-grid, so that their exponentials factor. Volumes of a series are
/// checked by two random combinations of 18 to 64 voxels and samples, whose sums of exponentials are made once, after the
/// first of them has been checked as a volume by itself; the errors are the larger ones of both.
std::shared_ptr<const Verifier> make_verifier();

}  // namespace fhd::validation
