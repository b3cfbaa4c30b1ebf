#pragma once
// Frames of simulated acquisitions, for tests.
#include <vector>

#include "data/simulate.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"

namespace fhd::tests {

/// Golden-angle radial, 4 coils, SNR 20; a chest that moves, or a head at rest, in a field of so many Hz, half of a turn and
/// more during a readout.
inline data::Simulation moving(std::array<int, 3> matrix_size, std::int64_t readouts,
                               std::int64_t readouts_per_frame, double field_hz = 0) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = matrix_size;
  settings.trajectory.fov_mm = {240, 240, matrix_size[2] == 1 ? 5.0 : 240.0};
  if (matrix_size[2] > 1) settings.trajectory.kind = data::TrajectoryKind::golden_means_radial_3d;
  settings.trajectory.readout_count = readouts;
  if (field_hz > 0) settings.trajectory.dwell_s = 2e-3 / matrix_size[0];  // 4 ms
  settings.coil_count = 4;
  settings.snr = 20;
  settings.readouts_per_frame = readouts_per_frame;
  settings.field_hz = field_hz;
  auto made = data::simulate(settings);
  if (field_hz > 0) made.scan.field_map = made.field_map;
  return made;
}

inline LeastSquares with_terms(std::vector<SparsePenalty> terms, double lambda = 0.01,
                               double tolerance = sparse_tolerance) {
  LeastSquares method;
  method.lambda = OfMeanEigenvalue{lambda};
  method.sparse = std::move(terms);
  method.iterations = 300;
  method.tolerance = tolerance;
  return method;
}

inline FrameLayout layout_of(const data::Simulation& made, const FrameChoice& choice) {
  return lay_out_frames(made.scan.trajectory.sample_count(), made.readout_length, choice);
}

inline Settings within_fov(const LeastSquares& method) {
  Settings settings{method};
  settings.outside_fov = OutsideFov::off;
  return settings;
}

/// One thread: so small are the images.
inline std::vector<Reconstruction> frames_of(const data::Simulation& made, const FrameChoice& choice,
                                             const LeastSquares& method, const Services& services = {}) {
  return Reconstructor(within_fov(method), {Device::cpu(), 1}, services)(made.scan, layout_of(made, choice));
}

/// The images of all frames, one behind the other.
template <class ImageOf>
metrics::Values joined(std::size_t frames, const ImageOf& image_of) {
  const std::int64_t size = image_of(0).values.size();
  metrics::Values all({static_cast<std::int64_t>(frames) * size});
  for (std::int64_t i = 0; i < all.size(); ++i)
    all[i] = Complex<double>(image_of(static_cast<std::size_t>(i / size)).values[i % size]);
  return all;
}
inline metrics::Values joined(const std::vector<Reconstruction>& frames) {
  return joined(frames.size(), [&](std::size_t t) -> const Image& { return frames[t].image; });
}
inline double difference(const std::vector<Reconstruction>& a, const std::vector<Reconstruction>& b) {
  return metrics::relative_l2(joined(a), joined(b));
}
inline double error(const std::vector<Reconstruction>& made, const data::Simulation& truth) {
  return metrics::relative_l2(
      joined(made), joined(made.size(), [&](std::size_t t) -> const Image& { return truth.frames.at(t); }));
}

}  // namespace fhd::tests
