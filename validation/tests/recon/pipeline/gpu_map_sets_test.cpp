// Two sets of maps, and maps found jointly with an image, on a GPU: the CPU's image.
#include <algorithm>

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

double difference(const Scan& scan, Settings settings, Device device = Device::cuda(),
                  Precision precision = Precision::single_precision) {
  settings.outside_fov = OutsideFov::off;
  const auto on = [&](Device here, Precision of) {
    settings.precision = of;
    const auto made = reconstruct(scan, settings, {here}, {.verifier = validation::make_verifier()});
    EXPECT_TRUE(made.report.certificate->passed);
    return converted<Complex<double>>(made.image.values);
  };
  return metrics::relative_l2(on(device, precision), on(Device::cpu(), Precision::single_precision));
}

TEST_F(GpuMapSets, give_the_image_of_the_cpu) {
  for (const auto kind : {data::TrajectoryKind::cartesian, data::TrajectoryKind::golden_radial}) {
    Scan scan = folded_head(kind);
    auto maps = estimate_maps(scan, MapMethod::espirit, MapSetCount::two);  // the same on both devices
    scan.sensitivity_maps = std::move(maps.maps);
    scan.second_maps = std::move(maps.second);
    ASSERT_TRUE(scan.second_maps);
    Settings settings;
    settings.coils = CoilSettings::as_they_are();
    auto& method = std::get<LeastSquares>(settings.method);
    method.iterations = 20;
    method.tolerance = 0;  // as many steps on both
    EXPECT_LE(difference(scan, settings), 1e-4);
    method.sparse = {{SparseKind::wavelet, 0.002}};
    method.lambda = OfLargestEigenvalue{0};
    // The wavelets alone decide how two sets share an image: single precision on the CPU is 9e-5 from double.
    const double rounding = difference(scan, settings, Device::cpu(), Precision::double_precision);
    EXPECT_LE(rounding, 2e-4) << "the case proves nothing";
    EXPECT_LE(difference(scan, settings), std::max(1e-4, 3 * rounding));
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
