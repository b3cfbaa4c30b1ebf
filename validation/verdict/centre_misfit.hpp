#pragma once
// Reconstructs the centre of k-space alone, with maps found anew where a scan has none: enough to see in milliseconds
// whether a model explains its data.
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd::validation {

/// whole: 10,000 samples within 10 cycles/FOV, in 3D 6; small: 4,000 within 4, for a choice of what is worth the whole.
enum class CentreSize { whole, small };

/// Returns |d - E rho| / |d| of an image of the centre of k-space, noise included; infinite where there is no such
/// image, or where any model explains the samples.
double misfit_of_centre(const Scan& scan, const CoilSettings& coils, CentreSize size = CentreSize::whole);

}  // namespace fhd::validation
