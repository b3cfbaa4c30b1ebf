// Maps found with an image at once, where calibration is thin.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "data/simulate.hpp"
#include "recon/coils/maps.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"

namespace {

using namespace fhd;
using data::TrajectoryKind;

struct Case {
  TrajectoryKind kind;
  std::int64_t readouts;  ///< of radial scans
  int lines = 0;          ///< of Cartesian scans: in the centre, beside every third one
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << data::name_of(c.kind) << " " << c.readouts << " " << c.lines;
  }
};

data::Simulation simulation_of(const Case& c) {
  data::SimulationSettings settings;
  settings.trajectory.kind = c.kind;
  settings.trajectory.matrix_size = {96, 96, 1};
  settings.trajectory.readout_count = c.readouts;
  auto made = data::simulate(settings);
  if (c.lines == 0) return made;
  Scan& scan = made.scan;
  std::vector<std::int64_t> kept;
  const std::int64_t samples = scan.trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto line = std::lround(scan.trajectory.k[samples + m]);
    if (line % 3 == 0 || (line >= -c.lines / 2 && line < c.lines / 2)) kept.push_back(m);
  }
  auto some = samples_at(kept, scan.trajectory, scan.kspace.values);
  scan.trajectory = std::move(some.trajectory);
  scan.kspace.values = std::move(some.kspace);
  scan.sample_time_s.reset();
  return made;
}

/// Compares the magnitude times the root of the sum of squares of its maps, which does not depend on how they share.
double error_of(const data::Simulation& made, CoilMaps maps) {
  Settings settings;
  settings.coils.maps = maps;
  settings.coils.allow_folding = true;
  Scan scan = made.scan;
  const auto sensitivity = root_sum_of_squares(scan.sensitivity_maps->values);
  if (maps != CoilMaps::file) scan.sensitivity_maps.reset();
  const auto image = reconstruct(scan, settings).image;
  Array<Complex<double>> found(sensitivity.shape()), truth(sensitivity.shape());
  for (std::int64_t p = 0; p < truth.size(); ++p) {
    truth[p] = double(abs(made.band_limited.values[p])) * sensitivity[p].re;
    found[p] = double(abs(image.values[p])) * (maps == CoilMaps::file ? double(sensitivity[p].re) : 1.0);
  }
  return metrics::nrmse_best_scale(found, truth);
}

class JointMaps : public testing::TestWithParam<Case> {};

TEST_P(JointMaps, reconstruct_as_well_as_the_true_maps_where_calibration_is_thin) {
  const auto made = simulation_of(GetParam());
  const double truth = error_of(made, CoilMaps::file), joint = error_of(made, CoilMaps::joint);
  EXPECT_LE(joint, 1.15 * truth);
}

INSTANTIATE_TEST_SUITE_P(
    Thin, JointMaps,
    testing::Values(Case{TrajectoryKind::golden_radial, 13}, Case{TrajectoryKind::golden_radial, 17},
                    Case{TrajectoryKind::golden_radial, 21}, Case{TrajectoryKind::cartesian, 0, 8},
                    Case{TrajectoryKind::cartesian, 0, 10}, Case{TrajectoryKind::cartesian, 0, 12}));

TEST(JointMaps, are_zero_in_air_and_of_length_one_elsewhere) {
  const auto made = simulation_of({TrajectoryKind::golden_radial, 17});
  const auto maps = estimate_maps(made.scan, MapMethod::joint).maps.values;
  const std::int64_t voxels = 96 * 96;
  EXPECT_EQ(norm(maps[0]), 0);
  for (std::int64_t p = 0; p < voxels; ++p) {
    double square = 0;
    for (std::int64_t i = p; i < maps.size(); i += voxels) square += norm(Complex<double>(maps[i]));
    if (square > 0) {
      ASSERT_NEAR(square, 1, 1e-5) << p;  // sums of a few coils in float
    }
  }
}

}  // namespace
