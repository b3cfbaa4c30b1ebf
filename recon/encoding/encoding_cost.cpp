#include "recon/encoding/encoding_cost.hpp"

#include <algorithm>

namespace fhd {
namespace {

double image_bytes(const TransformSizes& sizes) {
  auto bytes = static_cast<double>(bytes_of_complex(sizes.precision));
  for (const double n : sizes.matrix_size) bytes *= n;
  return bytes;
}
double sample_bytes(const TransformSizes& sizes) {
  return static_cast<double>(bytes_of_complex(sizes.precision)) * static_cast<double>(sizes.samples.all);
}

/// One pointwise loop that writes, or sums up, so many bytes.
Work pass(double bytes) { return Work(WorkUnit::copied_byte, bytes) + Work(WorkUnit::region, 1); }

}  // namespace

OperatorCost sense_cost(const TransformCost& transform, const TransformSizes& sizes, std::int64_t coils,
                        std::int64_t coils_at_once) {
  const std::int64_t together = coils_at_once == 0 ? coils : std::min(coils, coils_at_once);
  const double parts = static_cast<double>(coils / together),
               images = image_bytes(sizes) * static_cast<double>(together);
  OperatorCost cost;
  cost.making = Work(WorkUnit::touched_byte, images);
  cost.forward = parts * (pass(images) + transform.forward(together));
  cost.adjoint = parts * (transform.adjoint(together) + pass(images));
  cost.bytes = whole_bytes(images);
  cost.scratch_bytes = transform.scratch_bytes(together);
  return cost;
}

OperatorCost off_resonance_cost(const TransformCost& transform, const TransformSizes& sizes,
                                std::int64_t coils, std::int64_t coils_at_once, int segments) {
  // sin and cos in double, of a voxel at the time of a segment, take about as long as copying so many bytes.
  constexpr double turn = 128;
  const OperatorCost sense = sense_cost(transform, sizes, coils, coils_at_once);
  const double image = image_bytes(sizes), weights = sample_bytes(sizes),
               samples = weights * static_cast<double>(coils), held = segments * (image + weights) + samples,
               voxels = image / static_cast<double>(bytes_of_complex(sizes.precision));
  OperatorCost cost;
  cost.making = Work(WorkUnit::touched_byte, held) + segments * pass(turn * voxels);
  cost.forward = segments * (sense.forward + pass(samples));
  cost.adjoint = segments * (pass(samples) + sense.adjoint);
  cost.bytes = whole_bytes(held);
  cost.making_bytes = whole_bytes(4 * voxels);  // the field map, in float
  cost.scratch_bytes = sense.scratch_bytes;
  return cost;
}

}  // namespace fhd
