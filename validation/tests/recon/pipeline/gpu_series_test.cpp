// Volumes that a GPU takes together: each is what it is by itself, there and on the CPU.
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/pipeline/series_scans.hpp"

namespace fhd {
namespace {

class GpuSeries : public tests::GpuTest {
 protected:
  static std::vector<Scan> volumes_of(std::array<int, 3> matrix, int coils, int count) {
    data::SimulationSettings settings;
    settings.trajectory.matrix_size = matrix;
    if (matrix[2] > 1) settings.trajectory.kind = data::TrajectoryKind::stack_of_stars;
    settings.trajectory.undersampling = 2;
    settings.coil_count = coils;
    settings.repetition_count = count;
    return tests::volumes_of(
        settings, [](std::size_t v) { return v == 2 ? 1e-20f : 1 + 0.3f * static_cast<float>(v); });
  }
};

TEST_F(GpuSeries, volumes_together_are_those_by_themselves) {
  struct Case {
    std::array<int, 3> matrix;
    int coils, volumes;
    Precision precision;
  };
  for (const auto& [matrix, coils, count, precision] :
       {Case{{48, 48, 1}, 8, 9, Precision::single_precision},
        Case{{33, 40, 1}, 1, 5, Precision::single_precision},
        Case{{48, 44, 1}, 5, 3, Precision::double_precision},
        Case{{16, 18, 12}, 4, 4, Precision::single_precision}}) {
    const auto volumes = volumes_of(matrix, coils, count);
    std::vector<const Scan*> all;
    for (const auto& volume : volumes) all.push_back(&volume);
    // The largest eigenvalues of a stack coincide: later iterations amplify rounding (gpu_recon_test).
    Settings settings{LeastSquares{.iterations = matrix[2] > 1 ? 10 : 30}};
    settings.precision = precision;
    const Services services{{}, validation::make_verifier(), 1e-4};
    Reconstructor reconstructor(settings, {Device::cuda()}, services);
    const auto preparation = reconstructor.prepare(volumes[0]);
    ASSERT_GE(preparation->volumes_at_once, count);
    const auto made = reconstructor.reconstruct(preparation, all);
    const auto again = reconstructor.reconstruct(preparation, all);
    ASSERT_EQ(made.size(), volumes.size());
    // Sums of coils in passes of four and of one add in another order: rounding, after 30 iterations.
    const double tolerance = precision == Precision::single_precision ? 1e-4 : 1e-6;
    for (std::size_t v = 0; v < volumes.size(); ++v) {
      EXPECT_TRUE(tests::identical(made[v].image.values, again[v].image.values)) << v;
      const auto there = reconstruct(volumes[v], settings, {Device::cuda()}, services),
                 here = reconstruct(volumes[v], settings, {}, services);
      EXPECT_LE(tests::error_of(made[v].image, there.image), tolerance) << v;
      EXPECT_LE(tests::error_of(made[v].image, here.image), tolerance) << v;
      ASSERT_TRUE(made[v].gridded && here.gridded);
      EXPECT_LE(tests::error_of(*made[v].gridded, *here.gridded), 1e-4) << v;
      ASSERT_TRUE(made[v].report.certificate);
      EXPECT_TRUE(made[v].report.certificate->passed) << v;
      EXPECT_LE(std::abs(static_cast<double>(made[v].report.relative_residuals.size()) -
                         static_cast<double>(here.report.relative_residuals.size())),
                1)
          << v;
    }
  }
}

TEST_F(GpuSeries, memory_of_volumes_together_is_within_what_was_planned_for_them) {
  const auto volumes = volumes_of({96, 96, 1}, 8, 32);
  std::vector<const Scan*> all;
  for (const auto& volume : volumes) all.push_back(&volume);
  Reconstructor reconstructor(Settings{}, {Device::cuda()}, {{}, validation::make_verifier(), 1e-4});
  const auto preparation = reconstructor.prepare(volumes[0]);
  all.resize(std::min(all.size(), static_cast<std::size_t>(preparation->volumes_at_once)));
  ASSERT_GT(all.size(), 3u);
  reconstructor.reconstruct(preparation, all);  // the model, for as many, is made
  const auto peak_of = [&](const std::vector<const Scan*>& some) {
    device::reset_peak_memory(Device::cuda());
    reconstructor.reconstruct(preparation, some);
    return static_cast<double>(device::memory_use(Device::cuda()).peak_bytes);
  };
  const double further = peak_of(all) - peak_of({all.front()}),
               of_volume = device_bytes_of_volume(preparation->scan(), Settings{}, Device::cuda());
  const auto others = static_cast<double>(all.size() - 1);
  EXPECT_LE(further, others * of_volume);
  EXPECT_GE(further, others * of_volume / 3) << "the plan is far too large";
}

}  // namespace
}  // namespace fhd
