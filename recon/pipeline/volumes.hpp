#pragma once
// The steps from the samples of volumes, with their coils as prepared, to images as the user wants them.
#include <memory>
#include <optional>
#include <vector>

#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/solve.hpp"

namespace fhd {

/// The images of volumes, or of frames, that were reconstructed together.
struct Images {
  std::vector<Image> images, gridded{};  ///< gridded: none, or one of each
  std::vector<SolvedVolume> solved{};    ///< of least squares
};

/// The operators that one scan leaves in the Reconstructor for the next, and the model of a series for its next volumes.
template <class T>
struct Cache {
  std::optional<TrajectoryOperators<T>> operators;
  std::optional<Model<T>> model;
  std::shared_ptr<const Preparation> model_of = {};  ///< the series; null: none
};

/// Decides the kind of transform; notes it where it was open.
TransformSettings decided_transform(const Scan& scan, const Context& context);
/// Notes what the settings leave open of this scan.
void note_openness(const Scan& scan, const Context& context);

/// Reconstructs volumes that share all but their samples. `series`: what they were prepared by; null: one scan by itself,
/// which is real but for a phase where the settings ask for it.
template <class T>
Images volume_images(const Scan& scan, std::vector<const KSpace*> volumes,
                     const std::shared_ptr<const Preparation>& series, const Context& context,
                     Cache<T>& cache);

/// Reports the settings as used, after all defaults; `transform.kind` is not automatic.
void describe_settings(const TransformSettings& transform, const Context& context);

/// Returns the image [z][y][x] of the scan times `unit`, in host memory, cropped to the matrix that the scan asks for.
/// Throws Error where a voxel is not finite.
template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context);

/// Returns DiagnosticImages::sensitivity_maps of maps [coil][z][y][x]: the slice z = floor(N/2).
Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps);
/// Returns DiagnosticImages::point_spread: the plane of the kernel without a difference along z.
template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread);

}  // namespace fhd
