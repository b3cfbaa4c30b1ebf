// Two sets of maps, and maps found jointly with an image, on a GPU: the CPU's image.
#include "data/simulate.hpp"
#include "recon/coils/maps.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/gpu.hpp"

namespace fhd {
namespace {

class GpuMapSets : public tests::GpuTest {};

Scan folded_head(data::TrajectoryKind kind) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {96, 96, 1};
  settings.object_scale = 1.4;
  Scan scan = data::simulate(settings).scan;
  scan.sensitivity_maps.reset();
  return scan;
}

double difference(const Scan& scan, Settings settings) {
  settings.surroundings = Surroundings::off;
  const auto on = [&](Device device) {
    const auto made = reconstruct(scan, settings, {device}, {.verifier = validation::make_verifier()});
    EXPECT_TRUE(made.report.certificate->passed);
    return converted<Complex<double>>(made.image.values);
  };
  return metrics::relative_l2(on(Device::cuda()), on(Device::cpu()));
}

TEST_F(GpuMapSets, give_the_image_of_the_cpu) {
  for (const auto kind : {data::TrajectoryKind::cartesian, data::TrajectoryKind::golden_radial}) {
    Scan scan = folded_head(kind);
    MapSettings two;
    two.sets = MapSetCount::two;
    auto maps = estimate_maps(scan, MapMethod::espirit, two);  // the same on both devices
    scan.sensitivity_maps = std::move(maps.maps);
    scan.second_maps = std::move(maps.second);
    ASSERT_TRUE(scan.second_maps);
    Settings settings;
    settings.coils = CoilSettings::as_they_are();
    EXPECT_LE(difference(scan, settings), 1e-4);
    auto& method = std::get<LeastSquares>(settings.method);
    method.sparse = {{SparseKind::wavelet, 0.002}};
    method.lambda = OfLargestEigenvalue{0};
    method.iterations = 20;
    method.tolerance = 0;
    EXPECT_LE(difference(scan, settings), 1e-4);
  }
}

TEST_F(GpuMapSets, found_jointly_with_an_image_give_the_image_of_the_cpu) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {96, 96, 1};
  settings.trajectory.readout_count = 17;
  Scan scan = data::simulate(settings).scan;
  scan.sensitivity_maps.reset();
  Settings joint;
  joint.coils.maps = CoilMaps::joint;
  EXPECT_LE(difference(scan, joint), 1e-4);
}

}  // namespace
}  // namespace fhd
