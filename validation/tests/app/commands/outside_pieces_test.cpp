// Pieces of a scan from files of their own, as a user gives them.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "data/simulate.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::io {
namespace {

/// full.h5 holds everything; bare.h5 has another trajectory and no maps, noise or field map.
class OutsidePiecesCommand : public tests::ProgramTest {
 protected:
  void prepare() override {
    data::SimulationSettings settings;
    settings.trajectory.matrix_size = {24, 24, 1};
    settings.trajectory.fov_mm = {240, 240, 5};
    settings.coil_count = 3;
    auto simulation = data::simulate(settings);
    full = simulation.scan;
    readout_length = simulation.readout_length;
    full.noise = Array<Complex<float>>({3, 200});
    data::add_noise(*full.noise, 0.1, 2);
    full.field_map = Array<float>(full.geometry.image_shape());
    for (int p = 0; p < 24 * 24; ++p) (*full.field_map)[p] = static_cast<float>(p % 24 * 20 - 200);
    write("full.h5", full);
    auto bare = full;
    bare.sensitivity_maps.reset();
    bare.noise.reset();
    bare.field_map.reset();
    for (auto& k : bare.trajectory.k) k *= 0.9;
    write("bare.h5", bare);
  }
  void write(const std::string& name, const Scan& scan) const {
    write_scan(path(name), ScanFormat::fhd, {1, 1, readout_length, {scan}});
  }
  Array<Complex<float>> image(const std::string& name) const {
    return std::move(read_image(path(name)).images.front().values);
  }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(text(name)); }

  Scan full;
  std::int64_t readout_length = 0;
  const std::string pieces = " --trajectory full.h5 --maps full.h5 --noise full.h5 --field-map full.h5";
};

TEST_F(OutsidePiecesCommand, give_the_image_that_they_give_within_the_scan) {
  ASSERT_DONE(run("recon full.h5 -o within --device cpu"));
  ASSERT_DONE(run("recon bare.h5 -o outside --device cpu" + pieces));
  for (const char* what :
       {"the trajectory was taken from full.h5", "the sensitivity maps were taken from full.h5",
        "the noise was taken from full.h5", "the field map was taken from full.h5"})
    EXPECT_CONTAINS(text("out"), what);
  EXPECT_EQ(largest_difference(image("outside.h5"), image("within.h5")), 0);
  ASSERT_DONE(run("recon bare.h5 -o without --device cpu"));
  EXPECT_GT(largest_difference(image("without.h5"), image("within.h5")), 0);
}

TEST_F(OutsidePiecesCommand, are_part_of_the_provenance) {
  ASSERT_DONE(run("recon bare.h5 -o out --device cpu --quiet" + pieces));
  const auto report = json("out.json");
  const auto& told = report.at("input").at("pieces");
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].at("what"), "trajectory");
  EXPECT_EQ(told[3].at("what"), "field map");
  EXPECT_EQ(report.at("environment").at("piece_paths").at(1), "full.h5");
  EXPECT_EQ(told[1].at("checksum"), io::checksum_of(path("full.h5")));
  ASSERT_DONE(run("report out.h5 -o page.html"));
  EXPECT_CONTAINS(text("page.html"), "full.h5, checksum " + io::checksum_of(path("full.h5")));
  ASSERT_DONE(run("recon full.h5 -o plain --device cpu --quiet"));
  EXPECT_FALSE(json("plain.json").at("input").contains("pieces"));
}

TEST_F(OutsidePiecesCommand, serve_every_command_that_reads_a_scan) {
  ASSERT_DONE(run("info bare.h5 --json" + pieces));
  const auto told = json("out");
  EXPECT_TRUE(told.at("has_sensitivity_maps") == true && told.at("has_field_map") == true);
  EXPECT_EQ(told.at("facts").at("noise from"), "full.h5");
  EXPECT_EQ(told.at("sample_time_origin"), "the excitation");
  ASSERT_EQ(run("check bare.h5" + pieces), 0) << text("out");
  EXPECT_CONTAINS(text("out"), "the trajectory was taken from full.h5");
  EXPECT_CONTAINS(text("out"), "Sample times count from the excitation.");
  ASSERT_DONE(run("plan bare.h5 --device cpu" + pieces));
  EXPECT_CONTAINS(text("out"), "sensitivity maps");
  ASSERT_DONE(run("convert bare.h5 whole.h5" + pieces));
  EXPECT_CONTAINS(text("out"), "sensitivity maps from full.h5");
  const auto whole = open_scan(path("whole.h5"))->read(0, 0);
  EXPECT_EQ(largest_difference(whole.trajectory.k, full.trajectory.k), 0);
  EXPECT_EQ(largest_difference(whole.sensitivity_maps->values, full.sensitivity_maps->values), 0);
  EXPECT_EQ(largest_difference(*whole.noise, *full.noise), 0);
  EXPECT_EQ(largest_difference(*whole.field_map, *full.field_map), 0);
}

TEST_F(OutsidePiecesCommand, are_written_where_an_ismrmrd_file_becomes_another) {
  ASSERT_DONE(run("convert bare.h5 bare.mrd"));
  ASSERT_DONE(run("convert bare.mrd whole.mrd" + pieces));
  EXPECT_CONTAINS(text("out"), "Readouts and the header are made anew");
  const auto whole = open_scan(path("whole.mrd"))->read(0, 0);
  EXPECT_LE(largest_difference(whole.trajectory.k, full.trajectory.k), 12 * std::ldexp(1.0, -24));
  EXPECT_EQ(largest_difference(whole.sensitivity_maps->values, full.sensitivity_maps->values), 0);
}

TEST_F(OutsidePiecesCommand, that_do_not_agree_stop_the_work_with_one_line) {
  auto other = full;
  other.kspace.values = Array<Complex<float>>({2, full.kspace.sample_count()});
  other.sensitivity_maps = SensitivityMaps{Array<Complex<float>>({2, 1, 24, 24})};
  other.noise.reset();
  write("two.h5", other);
  ASSERT_EQ(run("recon bare.h5 -o out --device cpu --maps two.h5"), 1);
  EXPECT_CONTAINS(text("err"), "fhd: two.h5:/sensitivity_maps: expected [3][1][24][24]");
  EXPECT_EQ(text("err").find('\n'), text("err").size() - 1);
  for (const auto& file : files_of_results({path("out")})) EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(run("check bare.h5 --maps two.h5"), 1);
  EXPECT_CONTAINS(text("out"), "two.h5:/sensitivity_maps");
  // The field of the matrix is told as the option that it is.
  EXPECT_EQ(run("recon full.h5 -o out --device cpu --matrix 16 --trajectory full.h5"), 1);
  EXPECT_CONTAINS(text("err"), "--matrix");
}

TEST_F(OutsidePiecesCommand, contradictions_are_wrong_usage) {
  EXPECT_EQ(run("recon bare.h5 --maps full.h5 --coils espirit"), 2);
  EXPECT_CONTAINS(text("err"), "--maps: does not go together with --coils none, espirit");
  EXPECT_EQ(run("recon bare.h5 --field-map-unit hz"), 2);
  EXPECT_EQ(run("recon bare.h5 --field-map full.h5 --field-map-unit gauss"), 2);
}

TEST_F(OutsidePiecesCommand, are_never_overwritten) {
  const auto before = tests::bytes_of(path("full.h5"));
  EXPECT_EQ(run("recon bare.h5 --maps full.h5 -o full --device cpu"), 1);
  EXPECT_CONTAINS(text("err"), "full.h5 is a piece of the scan");
  EXPECT_EQ(run("convert bare.h5 full.h5 --maps full.h5 --force"), 1);
  EXPECT_CONTAINS(text("err"), "the input, or a part of it");
  EXPECT_EQ(tests::bytes_of(path("full.h5")), before);
}

TEST_F(OutsidePiecesCommand, that_change_have_a_batch_done_again) {
  ASSERT_DONE(run("convert full.h5 maps.cfl"));
  const auto batch = [&](const std::string& maps) {
    EXPECT_DONE(run("batch bare.h5 -o results --device cpu --cache off --maps " + maps));
    return text("out");
  };
  for (const std::string maps : {"maps_sens.cfl", "maps_sens"}) {  // a pair by its bare name too
    EXPECT_CONTAINS(batch(maps), "1 finished, 0 unchanged");
    EXPECT_CONTAINS(batch(maps), "0 finished, 1 unchanged");
    auto bytes = tests::bytes_of(path("maps_sens.cfl"));
    float first = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    first = first * 2 + 1;
    std::memcpy(bytes.data(), &first, sizeof first);
    tests::write_text(path("maps_sens.cfl"), bytes);
    EXPECT_CONTAINS(batch(maps), "1 finished, 0 unchanged");
    EXPECT_CONTAINS(batch(maps), "0 finished, 1 unchanged");
  }
}

TEST_F(OutsidePiecesCommand, are_options_of_a_recipe) {
  tests::write_text(path("recipe.toml"), "field-map-unit = \"hz\"\n[\"bare*\"]\nfield-map = \"full.h5\"\n");
  ASSERT_DONE(run("batch bare.h5 -o results --device cpu --cache off --recipe recipe.toml"));
  EXPECT_EQ(json("results/bare.json").at("input").at("pieces")[0].at("what"), "field map");
}

}  // namespace
}  // namespace fhd::io
