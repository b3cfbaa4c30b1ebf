#pragma once
// The last step: the settings in the report, and the image as the user wants it.
#include <vector>

#include "recon/pipeline/context.hpp"

namespace fhd {

/// Reports the settings as used, after all defaults; `transform.kind` is not automatic.
void describe_settings(const TransformSettings& transform, const Context& context);

/// Returns the image [z][y][x] of the scan times `unit`, in host memory, cropped to the matrix that the scan asks for.
/// Throws Error where a voxel is not finite.
template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context);

/// Combines the images of two sets of maps [set]: the root of the sum of squares, with the phase of the first.
Image combined_sets(const std::vector<Image>& images);
/// Returns DiagnosticImages::set_images.
Array<Complex<float>> stacked(const std::vector<Image>& images);
/// Returns DiagnosticImages::sensitivity_maps of maps [coil][z][y][x]: the slice z = floor(N/2).
Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps);
/// Returns DiagnosticImages::point_spread: the plane of the kernel without a difference along z.
template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread);

}  // namespace fhd
