// Frames on a GPU beside the CPU.
#include "data/simulate.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/gpu.hpp"

namespace fhd {
namespace {

class GpuFrames : public tests::GpuTest {};

data::Simulation moving(std::array<int, 3> matrix_size, std::int64_t readouts,
                        std::int64_t readouts_per_frame) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = matrix_size;
  settings.trajectory.fov_mm = {240, 240, matrix_size[2] == 1 ? 5.0 : 240.0};
  if (matrix_size[2] > 1) settings.trajectory.kind = data::TrajectoryKind::golden_means_radial_3d;
  settings.trajectory.readout_count = readouts;
  settings.coil_count = 4;
  settings.snr = 20;
  settings.readouts_per_frame = readouts_per_frame;
  return data::simulate(settings);
}

/// The images of all frames, one behind the other.
metrics::Values joined(const std::vector<Reconstruction>& frames) {
  const std::int64_t size = frames.front().image.values.size();
  metrics::Values all({static_cast<std::int64_t>(frames.size()) * size});
  for (std::int64_t i = 0; i < all.size(); ++i)
    all[i] = Complex<double>(frames[static_cast<std::size_t>(i / size)].image.values[i % size]);
  return all;
}

/// Relative l2 difference of all frames, with the maps of the scan.
double difference_to_cpu(const data::Simulation& made, const FrameChoice& choice,
                         std::vector<SparsePenalty> terms) {
  LeastSquares method;
  method.lambda = OfMeanEigenvalue{0.01};
  method.sparse = std::move(terms);
  method.iterations = 40;
  method.tolerance = 0;
  const auto layout = lay_out_frames(made.scan.trajectory.sample_count(), made.readout_length, choice);
  const auto on = [&](Device device) {
    return Reconstructor({method}, {device}, {}).reconstruct_frames(made.scan, layout);
  };
  const auto there = on(Device::cuda()), here = on(Device::cpu());
  return metrics::relative_l2(joined(there), joined(here));
}

// The bound is the issue's.
constexpr double tolerance = 1e-4;

TEST_F(GpuFrames, with_terms_in_time_are_the_cpus) {
  const auto made = moving({48, 48, 1}, 160, 8);
  EXPECT_LE(difference_to_cpu(made, {.readouts_per_frame = 8}, {{SparseKind::temporal_tv, 0.02}}), tolerance);
  EXPECT_LE(difference_to_cpu(made, {.readouts_per_frame = 8}, {{SparseKind::llr, 0.02}}), tolerance);
  EXPECT_LE(difference_to_cpu(made, {.readouts_per_frame = 10, .step = 6},
                              {{SparseKind::wavelet, 0.005}, {SparseKind::llr, 0.01}}),
            tolerance);
}

TEST_F(GpuFrames, of_a_volume_are_the_cpus) {
  const auto made = moving({16, 18, 20}, 240, 80);
  EXPECT_LE(difference_to_cpu(made, {.frames = 3}, {{SparseKind::llr, 0.02}, {SparseKind::tv, 0.002}}),
            tolerance);
}

}  // namespace
}  // namespace fhd
