// fhd recon and batch on scans that are not what their files say.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class VerdictCommand : public ProgramTest {
 protected:
  /// right.h5; swapped.h5: with k_x and k_y exchanged, which its maps contradict.
  void prepare() override {
    std::filesystem::create_directory(path("scans"));
    data::SimulationSettings settings;
    settings.trajectory.matrix_size = {48, 48, 1};
    settings.coil_count = 4;
    auto made = data::simulate(settings);
    io::write_scan(path("scans/right.h5"), io::ScanFormat::fhd, {1, 1, made.readout_length, {made.scan}});
    auto& k = made.scan.trajectory.k;
    for (std::int64_t m = 0; m < k.extent(1); ++m) std::swap(k[m], k[k.extent(1) + m]);
    io::write_scan(path("scans/swapped.h5"), io::ScanFormat::fhd, {1, 1, made.readout_length, {made.scan}});
  }
  static auto suspicions_in(const nlohmann::json& image) {
    const auto& messages = image.at("messages");
    return std::count_if(messages.begin(), messages.end(),
                         [](const auto& message) { return message.at("severity") == "suspicion"; });
  }
  int recon(const std::string& arguments) const { return run("recon " + arguments + " --device cpu"); }
};

TEST_F(VerdictCommand, explains_a_scan_that_is_right_without_a_warning) {
  ASSERT_DONE(recon("scans/right.h5 -o out --strict"));
  EXPECT_EQ(text("err"), "");
  EXPECT_CONTAINS(text("out"), "verdict   the image explains the data: ");
  const auto image = nlohmann::json::parse(text("out.json")).at("images").at(0);
  EXPECT_EQ(image.at("verdict").at("judgement"), "explained");
  EXPECT_EQ(suspicions_in(image), 0);
}

TEST_F(VerdictCommand, one_repetition_that_is_wrong_is_found_wherever_it_is) {
  for (const std::size_t wrong : {0, 2}) {
    auto series = io::read_all(*io::open_scan(path("scans/right.h5")));
    series.scans.assign(4, series.scans.front());
    series.repetition_count = 4;
    auto& values = series.scans[wrong].kspace.values;
    const auto samples = values.extent(1);
    for (std::int64_t i = 0; i < values.size(); ++i)
      if (i % samples > samples / 2) values[i] = {-values[i].im, values[i].re};
    io::write_scan(path("series.h5"), io::ScanFormat::fhd, series);
    ASSERT_DONE(recon("series.h5 -o out --force"));
    const auto images = nlohmann::json::parse(text("out.json")).at("images");
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(images.at(i).at("verdict").at("judgement"), i == wrong ? "unexplained" : "explained") << i;
  }
}

TEST_F(VerdictCommand, a_suspicious_image_is_written_with_its_likeliest_cause_unless_strict) {
  ASSERT_EQ(recon("scans/swapped.h5 -o out --strict"), 1);
  EXPECT_CONTAINS(text("err"), "expected a scan without doubts (--strict)");
  EXPECT_CONTAINS(text("err"), "; no result was written, because --strict was given\n");
  EXPECT_FALSE(exists("out.h5") || exists("out.json") || exists("out.png") || exists("out.nii.gz"));
  ASSERT_DONE(recon("scans/swapped.h5 -o out"));
  EXPECT_CONTAINS(text("err"), "suspicion: image 1: the model does not explain the data");
  EXPECT_CONTAINS(text("out"), "verdict   the model does not explain the data");
  EXPECT_CONTAINS(text("err"), "likeliest cause: x and y are swapped in the sensitivity maps, or in k");
  const auto image = nlohmann::json::parse(text("out.json")).at("images").at(0);
  EXPECT_EQ(image.at("verdict").at("judgement"), "unexplained");
  EXPECT_EQ(suspicions_in(image), 1);
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "x and y are swapped");
}

TEST_F(VerdictCommand, an_object_that_folds_is_told_the_option_for_it) {
  const std::string options = " --trajectory cartesian --matrix 96 --coils 8 --snr 50 --no-maps";
  ASSERT_DONE(run("simulate -o folded --object-scale 1.4" + options));
  ASSERT_DONE(recon("folded.h5 -o out"));
  EXPECT_CONTAINS(
      text("err"),
      "likeliest cause: the object is larger than the field of view and folds, which one set of maps "
      "does not describe. Remedy: --map-sets auto.");
  ASSERT_DONE(recon("folded.h5 -o out --map-sets auto"));
  EXPECT_LACKS(text("err"), "likeliest cause");
}

TEST_F(VerdictCommand, a_batch_tells_suspicious_scans_apart) {
  ASSERT_DONE(run("batch scans -o results --device cpu --cache off"));
  EXPECT_CONTAINS(text("out"), "finished, suspicious");
  EXPECT_CONTAINS(text("out"), "1 suspicious");
  const auto summary = nlohmann::json::parse(text("results/summary.json"));
  EXPECT_EQ(summary.at("suspicious"), 1);
  for (const auto& row : summary.at("scans")) {
    EXPECT_EQ(row.at("status"), row.at("name") == "right" ? "finished" : "finished, suspicious");
    EXPECT_EQ(row.at("suspicious"), row.at("name") != "right");
  }
  ASSERT_EQ(run("batch scans -o strict --device cpu --cache off --strict"), 1);
  EXPECT_EQ(nlohmann::json::parse(text("strict/summary.json")).at("failed"), 1);
  EXPECT_FALSE(exists("strict/swapped.h5"));
}

TEST_F(VerdictCommand, what_check_warns_of_recon_warns_of) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.coil_count = 4;
  auto made = data::simulate(settings);
  // Five readouts are copies of the first one's values.
  const auto length = made.readout_length, count = made.scan.trajectory.sample_count();
  for (std::int64_t coil = 0; coil < 4; ++coil)
    for (std::int64_t i = length; i < 6 * length; ++i)
      made.scan.kspace.values[coil * count + i] = made.scan.kspace.values[coil * count + i % length];
  io::write_scan(path("copies.h5"), io::ScanFormat::fhd, {1, 1, length, {made.scan}});
  ASSERT_DONE(run("check copies.h5"));
  EXPECT_CONTAINS(text("out"), "repeat the values of another one");
  ASSERT_DONE(recon("copies.h5 -o out"));
  EXPECT_CONTAINS(text("err"), "repeat the values of another one");
  const auto messages = nlohmann::json::parse(text("out.json")).at("images").at(0).at("messages");
  EXPECT_TRUE(std::any_of(messages.begin(), messages.end(), [](const auto& message) {
    return message.at("severity") == "suspicion" &&
           contains(message.at("text").template get<std::string>(), "repeat the values of another one");
  })) << messages;
}

}  // namespace
}  // namespace fhd::tests
