#pragma once
// The ends of a reconstruction: what the report says of the settings, and the image as the user wants it.
#include "recon/domain/scan.hpp"
#include "recon/pipeline/context.hpp"

namespace fhd {

/// The settings as used, after all defaults; `transform.kind` is not automatic.
void describe_settings(const TransformSettings& transform, const Context& context);

/// The image [z][y][x] of the scan times `unit`, cropped to the matrix that the scan asks for. Throws Error where
/// a voxel is not finite.
template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context);

/// [coil][z][y][x] -> [coil][y][x] at z = floor(N/2): DiagnosticImages::sensitivity_maps.
Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps);

}  // namespace fhd
