// The input doctor, and what `fhd recon` says of the same scans.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/doctor/diagnosis.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class CheckCommand : public tests::ProgramTest {
 protected:
  static data::Simulation simulation(double undersampling = 1) {
    data::SimulationSettings settings;
    settings.trajectory.matrix_size = {32, 32, 1};
    settings.trajectory.fov_mm = {240, 240, 5};
    settings.trajectory.undersampling = undersampling;
    settings.coil_count = 4;
    return data::simulate(settings);
  }
  /// Writes a scan and returns its path.
  std::string written(Scan scan, const std::string& name = "scan.h5") const {
    io::ScanSeries series;
    series.scans.push_back(std::move(scan));
    io::write_scan(path(name), io::ScanFormat::fhd, series);
    return path(name);
  }
  static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static bool has(const std::vector<Message>& findings, Severity severity, const std::string& topic,
                  const std::string& words = {}) {
    return std::any_of(findings.begin(), findings.end(), [&](const Message& f) {
      return f.severity == severity && f.code == topic && f.text.find(words) != std::string::npos;
    });
  }
};

TEST_F(CheckCommand, tells_of_an_object_beyond_the_field_of_view) {
  const auto found = [](data::TrajectoryKind kind, double object_scale, bool has_maps) {
    data::SimulationSettings settings;
    settings.trajectory.kind = kind;
    settings.trajectory.matrix_size = {64, 64, 1};
    settings.coil_count = 4;
    settings.object_scale = object_scale;
    auto simulation = data::simulate(settings);
    if (!has_maps) simulation.scan.sensitivity_maps.reset();
    return diagnose(simulation.scan, simulation.readout_length);
  };
  using data::TrajectoryKind;
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral, TrajectoryKind::cartesian})
    for (const auto severity : {Severity::note, Severity::warning})
      EXPECT_FALSE(has(found(kind, 1, true), severity, "outside_fov"));
  EXPECT_TRUE(
      has(found(TrajectoryKind::golden_radial, 1.4, false), Severity::note, "outside_fov", "along y ("));
  EXPECT_TRUE(has(found(TrajectoryKind::golden_radial, 1.4, true), Severity::warning, "outside_fov",
                  "maps end there"));
  EXPECT_TRUE(has(found(TrajectoryKind::spiral, 1.6, true), Severity::warning, "outside_fov",
                  "times as long as the field of view along y"));
}

TEST_F(CheckCommand, names_dead_coils_and_recon_leaves_them_out) {
  Scan scan = simulation().scan;
  for (std::int64_t m = 0; m < scan.kspace.sample_count(); ++m)
    scan.kspace.values[2 * scan.kspace.sample_count() + m] = {};
  EXPECT_TRUE(has(diagnose(scan, 0), Severity::suspicion, "coils", "2")) << "its map holds signal";
  const auto file = written(std::move(scan));
  EXPECT_EQ(run("check --strict " + file), 1);
  EXPECT_DONE(run("recon " + file + " -o " + path("out_image")));
  EXPECT_CONTAINS(text("out"), "left out: 2");
}

TEST_F(CheckCommand, names_the_coil_with_a_nan_and_recon_refuses_it) {
  Scan scan = simulation().scan;
  // fhd writes no NaN itself: a number is replaced in the file.
  constexpr float mark = 12345.678F, nan = std::numeric_limits<float>::quiet_NaN();
  scan.kspace.values[3 * scan.kspace.sample_count() + 5].im = mark;
  const auto file = written(std::move(scan));
  std::string bytes = content(file), pattern(reinterpret_cast<const char*>(&mark), sizeof mark);
  const auto at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, sizeof nan, reinterpret_cast<const char*>(&nan), sizeof nan);
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_EQ(run("check " + file), 1);
  EXPECT_CONTAINS(text("out"), "coil 3");
  EXPECT_EQ(run("recon " + file + " -o " + path("out_image")), 1);
  EXPECT_CONTAINS(text("err"), "coil 3");
}

TEST_F(CheckCommand, tells_of_fewer_samples_than_unknowns_and_recon_solves_them) {
  Scan scan = simulation().scan;
  constexpr std::int64_t kept = 200;  // x 4 coils < 32 x 32 voxels
  const std::int64_t samples = scan.kspace.sample_count();
  Scan few(scan);
  few.trajectory.k = Array<double>({3, kept});
  few.kspace.values = Array<Complex<float>>({4, kept});
  few.sample_time_s.reset();
  for (std::int64_t m = 0; m < kept; ++m) {
    for (int axis = 0; axis < 3; ++axis)
      few.trajectory.k[axis * kept + m] = scan.trajectory.k[axis * samples + m * (samples / kept)];
    for (int coil = 0; coil < 4; ++coil)
      few.kspace.values[coil * kept + m] = scan.kspace.values[coil * samples + m * (samples / kept)];
  }
  EXPECT_TRUE(has(diagnose(few, 0), Severity::warning, "density"));
  const auto file = written(std::move(few));
  EXPECT_DONE(run("recon " + file + " -o " + path("out_image")));
  EXPECT_CONTAINS(text("out"), "1024 voxels are sought from 800 measured values");
}

TEST_F(CheckCommand, names_what_is_wrong_with_a_scan) {
  struct Case {
    Severity severity;
    const char* topic;
    std::function<void(Scan&)> spoil;
  };
  for (const auto& [severity, topic, spoil] : {
           Case{Severity::problem, "coils", [](Scan& scan) { scan.kspace.values.fill_zero(); }},
           Case{Severity::problem, "maps", [](Scan& scan) { scan.sensitivity_maps->values.fill_zero(); }},
           Case{Severity::warning, "extent",
                [](Scan& scan) {
                  for (auto& k : scan.trajectory.k) k *= 0.4;
                }},
           Case{Severity::warning, "centre",  // the energy lies where the trajectory does not say
                [](Scan& scan) {
                  for (std::int64_t m = 0; m < scan.kspace.sample_count(); ++m)
                    scan.trajectory.k[m] = (scan.trajectory.k[m] > 0 ? 16 : -16) - scan.trajectory.k[m];
                }},
           Case{Severity::warning, "field map",
                [](Scan& scan) {
                  scan.field_map = Array<float>(scan.geometry.image_shape());
                  for (std::int64_t p = 0; p < scan.field_map->size(); ++p)
                    (*scan.field_map)[p] = static_cast<float>(p % 100);
                  scan.sample_time_s.reset();
                }},
       }) {
    Scan scan = simulation().scan;
    spoil(scan);
    EXPECT_TRUE(has(diagnose(scan, 0), severity, topic)) << topic;
  }
}

TEST_F(CheckCommand, refuses_options_that_contradict_the_scan) {
  const auto file = written(simulation().scan);
  EXPECT_EQ(run("check " + file + " --matrix 8"), 1) << "maps of another matrix, k-space beyond its edge";
  EXPECT_EQ(run("recon " + file + " --matrix 8 -o " + path("out_image")), 1);
  EXPECT_FALSE(exists("out_image.h5"));
  EXPECT_EQ(run("check " + file + " --trajectory-unit furlongs"), 2);
}

TEST_F(CheckCommand, goes_on_after_a_file_that_is_no_scan) {
  std::ofstream(path("text.h5")) << "no HDF5";
  const auto good = written(simulation().scan);
  EXPECT_EQ(run("check " + path("text.h5") + " " + path("absent.h5") + " " + good), 1);
  const auto out = text("out");
  EXPECT_NE(out.find("text.h5"), std::string::npos);
  EXPECT_NE(out.find("absent.h5"), std::string::npos);
  EXPECT_NE(out.find("  usable: 0 problems"), std::string::npos);
  EXPECT_EQ(run("check --json " + good), 0);
  EXPECT_CONTAINS(text("out"), "\"usable\": true");
}

}  // namespace
}  // namespace fhd
