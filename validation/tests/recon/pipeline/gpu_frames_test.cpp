// Frames, bins and frames in a temporal subspace: images on CPU and GPU agree.
#include <gtest/gtest.h>

#include "validation/metrics.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/pipeline/frame_cases.hpp"

namespace fhd {
namespace {

class GpuFrames : public tests::GpuTest {
 protected:
  static data::Simulation chest() {
    data::SimulationSettings settings;
    settings.trajectory.matrix_size = {40, 36, 1};
    settings.trajectory.fov_mm = {240, 216, 5};
    settings.trajectory.readout_count = 240;
    settings.coil_count = 4;
    settings.snr = 20;
    settings.breaths = 12;
    return data::simulate(settings);
  }
  static void expect_agreement(const Scan& scan, const FrameLayout& layout, LeastSquares method) {
    method.lambda = OfMeanEigenvalue{0.01};
    method.iterations = 30;
    method.tolerance = 0;  // as many steps on both
    Settings settings{method};
    settings.outside_fov = OutsideFov::off;
    const auto on = [&](Device device) {
      Execution execution;
      execution.device = device;
      return Reconstructor(settings, execution)(scan, layout);
    };
    const auto on_cpu = on(Device::cpu()), on_gpu = on(Device::cuda());
    ASSERT_EQ(on_cpu.size(), on_gpu.size());
    for (std::size_t t = 0; t < on_cpu.size(); ++t)
      EXPECT_LE(metrics::relative_l2(values_of<double>(on_gpu[t].image), values_of<double>(on_cpu[t].image)),
                1e-4)
          << "frame " << t;
  }
};

TEST_F(GpuFrames, with_terms_in_time_are_those_of_the_cpu) {
  const auto made = chest();
  const auto layout = tests::layout_of(made, {.readouts_per_frame = 16, .step = 12});
  LeastSquares method;
  method.sparse = {{SparseKind::wavelet, 0.005}, {SparseKind::llr, 0.01}};
  expect_agreement(made.scan, layout, method);
}

TEST_F(GpuFrames, of_a_volume_are_those_of_the_cpu) {
  const auto made = tests::moving({16, 18, 20}, 240, 80);
  expect_agreement(made.scan, tests::layout_of(made, {.frames = 3}),
                   {.sparse = {{SparseKind::llr, 0.02}, {SparseKind::tv, 0.002}}});
}

TEST_F(GpuFrames, of_bins_are_those_of_the_cpu) {
  const auto made = chest();
  const auto layout = lay_out_bins(made.scan.trajectory.sample_count(), made.readout_length, 4,
                                   self_gating_signal(made.scan, made.readout_length, 0));
  LeastSquares method;
  method.sparse = {{SparseKind::temporal_tv, 0.02}};
  expect_agreement(made.scan, layout, method);
}

TEST_F(GpuFrames, in_a_field_are_those_of_the_cpu) {
  for (const std::array<int, 3> matrix : {std::array{40, 36, 1}, std::array{16, 18, 20}}) {
    const auto made = tests::moving(matrix, 240, 80, 100);
    const auto layout = tests::layout_of(made, {.frames = 3});
    LeastSquares method;
    expect_agreement(made.scan, layout, method);
    method.sparse = {{SparseKind::llr, 0.02}, {SparseKind::tv, 0.002}};
    expect_agreement(made.scan, layout, method);
    method.basis = LeadingCourses{2};
    expect_agreement(made.scan, layout, method);
  }
}

TEST_F(GpuFrames, in_a_subspace_are_those_of_the_cpu) {
  const auto made = chest();
  const auto layout = tests::layout_of(made, {.frames = 20});
  LeastSquares method;
  for (const std::int64_t components : {3, 5}) {  // by pairs of them, and by frames
    method.basis = LeadingCourses{components};
    method.sparse.clear();
    expect_agreement(made.scan, layout, method);
    method.sparse = {{SparseKind::llr, 0.01}};
    expect_agreement(made.scan, layout, method);
  }
}

}  // namespace
}  // namespace fhd
