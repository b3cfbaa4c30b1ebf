#pragma once
// The C++ library, installed as <fhd/fhd.hpp>: scans of arrays, reconstructions that carry their certificate and verdict,
// and exact transforms. Guide: app/docs/cpp.md.
//
//   fhd::Scan scan = fhd::scan_of(kspace, positions, {128, 128, 1});       // [coil][sample], [sample][axis]
//   fhd::Reconstruction result = fhd::reconstruct_and_verify(scan);        // result.image, result.report
//
// Nothing here prints, exits or changes the process. Other members of a scan, their shapes and units: domain/scan.hpp.
#include <array>

#include "recon/array/array.hpp"
#include "recon/array/execution.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Returns the version of the library that is linked, "0.1.0".
const char* library_version();

/// Returns positions [sample][axis], the order of Python and of files, as k [axis][sample]: cycles/FOV along x, y and, of
/// three axes, z. Throws Error unless there are two or three axes.
Trajectory trajectory_of(const Array<double>& positions);

/// Returns a valid scan of k-space [coil][sample] at positions [sample][axis] in cycles/FOV; the matrix is x, y, z. Throws
/// Error as trajectory_of and Scan::validate, and where the positions look like cycles or radians per voxel.
Scan scan_of(Array<Complex<float>> kspace, const Array<double>& positions,
             const std::array<int, 3>& matrix_size);

/// Returns services with which every result of a Reconstructor carries its certificate and verdict.
Services verifying_services();

/// Reconstructs one scan as the program does. The report has a certificate and, of least squares, a verdict; its messages
/// say where one of them did not pass, and where all samples are zero. Throws Error as Reconstructor, and names the
/// members of Settings and Execution: "CoilSettings::compression".
Reconstruction reconstruct_and_verify(const Scan& scan, const Settings& settings = {},
                                      const Execution& execution = {}, const ProgressCallback& progress = {});

}  // namespace fhd
