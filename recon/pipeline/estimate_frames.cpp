#include <algorithm>

#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

void hold_frames(const ScanSizes& scan, const FrameSizes& layout, const Settings& settings, Device device,
                 MemoryLedger& memory) {
  const LeastSquares& method = *least_squares(settings);
  const double element = static_cast<double>(bytes_of_complex(settings.precision)),
               image = scan.voxels() * element, frames = layout.frames, samples = layout.samples_per_frame,
               coils = scan.coils, segments = scan.time_segments, maps = coils * image;
  const double operators = std::max(scan.difference_segments, 1);  // of a frame
  const TransformSizes sizes{scan.matrix_size, {layout.samples_per_frame, 0, 0}, settings.precision, device};
  const OperatorCost toeplitz = toeplitz_cost(scan.matrix_size, scan.coils, settings.precision, device);
  const double toeplitz_bytes = (toeplitz.bytes + toeplitz.scratch_bytes) - maps,
               q = difference_points(scan.matrix_size) * element;
  const bool segmented = scan.difference_segments > 0,
             preconditioned = uses_preconditioner(method, segmented);
  const std::int64_t components = component_count(method, layout.frames);
  const double unknowns = components > 0 ? components : frames;
  memory.hold((frames + 2) * samples * coils * element);  // samples, and predicted ones
  memory.hold(2 * maps + 2 * frames * image);             // maps and coil images, images and right-hand sides
  memory.hold(frames * operators * toeplitz_bytes);
  if (segmented) {
    memory.hold(operators * maps + frames * image);  // turned maps
    memory.hold(2 * (segments * (image + samples * element) + samples * coils * element));
    if (device.is_cpu()) memory.hold((segments + operators) * (scan.samples.all + samples) * 16);
  }
  if (preconditioned) memory.hold(preconditioner_cost(sizes, scan.coils, device).bytes);
  if (components > 0) {
    memory.hold((2 * frames + 3 * unknowns) * image);  // of the subspace
    if (!segmented && takes_pairs(components, layout.frames))
      memory.hold(0.5 * unknowns * (unknowns + 1) * (toeplitz_bytes + q));
  }
  memory.hold_briefly(4 * q);  // in the making
  const auto mark = memory.mark();
  const auto terms = sparse_terms_cost(method.sparse, scan.matrix_size);
  if (method.sparse.empty()) {
    memory.hold(conjugate_gradient_bytes(
        (components > 0 ? unknowns : 1) * scan.voxels(),
        {.iterations = method.iterations,
         .kept_residuals = components > 0 ? 0 : ConjugateGradientSettings{}.kept_residuals},
        settings.precision, device, 1, preconditioned));
  } else {
    memory.hold((terms.held + unknowns) * image);
    memory.hold(
        admm_bytes(unknowns * scan.voxels(), terms.planes, 0, settings.precision, device, preconditioned));
    if (searches_strength(method))
      memory.hold_briefly(strength_search_images(terms.planes) * unknowns * image);
  }
  memory.release(mark);
  memory.hold(8 * image + (device.is_cpu() ? frames * scan.voxels() * 16 : 0));  // a frame's checks; finished images
}

}  // namespace fhd
