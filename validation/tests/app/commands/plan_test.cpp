// fhd plan: what it says before a run is what the run then does and takes.
#include <ismrmrd/dataset.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace {

using Json = nlohmann::ordered_json;

class Plan : public fhd::tests::ProgramTest {
 protected:
  void prepare() override { ASSERT_EQ(setenv("OMP_NUM_THREADS", "1", 1), 0); }
  void simulate(const std::string& name, const std::string& options) const {
    ASSERT_DONE(run("simulate -o " + path(name) + " " + options));
  }
  /// The CPU's plan.
  Json plan(const std::string& arguments) const {
    EXPECT_DONE(run("plan --json --device cpu " + arguments));
    return Json::parse(text("out"))["devices"][0];
  }
  Json report(const std::string& arguments) const {
    EXPECT_DONE(run("recon --quiet --force --device cpu -o " + path("result") + " " + arguments));
    const auto json = Json::parse(text("result.json"));
    Json made = json["images"][0];
    made.update(json["environment"]["images"][0]);
    return made;
  }
  /// Runs `fhd recon` and returns the most memory that it took.
  double measured_bytes(const std::string& arguments) const {
    std::vector<std::string> words{"recon", "--quiet", "--force", "--device", "cpu", "-o", path("result")};
    std::istringstream stream(arguments);
    for (std::string word; stream >> word;) words.push_back(word);
    const auto outcome = measured(words);
    EXPECT_EQ(outcome.status, 0) << text("err_bg");
    return outcome.peak_bytes;
  }
};

TEST_F(Plan, names_the_stages_the_report_will_have) {
  simulate("maps", "--trajectory spiral --dimensions 2 --matrix 32,32 --coils 4");
  simulate("no_maps", "--trajectory spiral --dimensions 2 --matrix 32,32 --coils 14 --no-maps");
  simulate("cartesian", "--trajectory cartesian --dimensions 2 --matrix 32,32 --coils 2");
  simulate("half", "--trajectory cartesian --matrix 32 --coils 2 --partial-fourier 0.625");
  simulate("moving", "--matrix 32 --coils 4 --readouts 40 --dynamic 8");
  std::ofstream gate(path("gate.txt"));
  for (int i = 0; i < 40; ++i) gate << i % 7 << '\n';
  gate.close();
  const std::vector<std::string> runs = {path("maps.h5"),
                                         path("maps.h5") + " --transform gridded",
                                         path("maps.h5") + " --normal explicit",
                                         path("maps.h5") + " --coils none --no-gridded-image",
                                         path("maps.h5") + " --precision double",
                                         path("maps.h5") + " --method gridded",
                                         path("maps.h5") + " --method adjoint",
                                         path("maps.h5") + " --method adjoint --transform gridded",
                                         path("maps.h5") + " --whiten edge --coils adaptive --compress 3",
                                         path("maps.h5") + " --regularizer identity:0.01,tgv:0.01",
                                         path("no_maps.h5"),
                                         path("cartesian.h5") + " --method fft",
                                         path("cartesian.h5") + " --noise-map exact",
                                         path("maps.h5") + " --noise-map 3",
                                         path("half.h5") + " --partial-fourier phase",
                                         path("moving.h5") + " --frames 5",
                                         path("moving.h5") + " --frames 5 --basis 2",
                                         path("moving.h5") + " --spokes-per-frame 10 --regularizer llr",
                                         path("moving.h5") + " --gate " + path("gate.txt") +
                                             " --regularizer temporal-tv:0.02 --no-gridded-image"};
  for (const auto& arguments : runs) {
    const Json planned = plan(arguments), made = report(arguments);
    std::vector<std::string> expected, found;
    for (const auto& stage : made["stages"]) expected.push_back(stage["name"]);
    for (const auto& [name, seconds] : planned["stages"].items()) {
      found.push_back(name);
      EXPECT_GE(seconds.get<double>(), 0) << name;
    }
    EXPECT_EQ(found, expected) << arguments;
    if (made["settings"].contains("transform")) {
      EXPECT_EQ(planned["transform"], made["settings"]["transform"]) << arguments;
    }
    if (made["settings"].contains("virtual coils")) {
      EXPECT_EQ(planned["coils"], made["settings"]["virtual coils"]) << arguments;
    }
  }
}

using LongPlan = Plan;
TEST_F(LongPlan, tells_the_memory_within_25_per_cent) {
  simulate("spiral", "--trajectory spiral --dimensions 2 --matrix 256,256 --coils 8");
  simulate("volume", "--trajectory radial-3d --dimensions 3 --matrix 64,64,64 --coils 4 --readouts 400");
  simulate("no_maps", "--trajectory spiral --dimensions 2 --matrix 192,192 --coils 14 --no-maps");
  simulate("moving", "--matrix 96 --coils 8 --readouts 195 --dynamic 13");
  for (const char* const arguments :
       {"spiral.h5", "spiral.h5 --precision double", "spiral.h5 --regularizer tv:0.01",
        "spiral.h5 --method gridded", "spiral.h5 --noise-map 4", "volume.h5 --transform gridded",
        "no_maps.h5", "no_maps.h5 --coils none --transform gridded",
        "moving.h5 --frames 15 --regularizer llr --no-gridded-image"}) {
    const double planned = plan(path(arguments))["peak_bytes"].get<double>(),
                 bytes = measured_bytes(path(arguments));
    EXPECT_LE(std::abs(planned - bytes), 0.25 * bytes)
        << arguments << ": " << planned << " bytes planned, " << bytes << " taken";
  }
}

TEST_F(Plan, check_says_the_same_of_all_slices_and_repetitions) {
  for (const bool with_maps : {false, true})
    for (const double object_scale : {1.0, 1.4}) {
      fhd::data::SimulationSettings settings;
      settings.trajectory.matrix_size = {48, 48, 1};
      settings.coil_count = 4;
      settings.object_scale = object_scale;
      fhd::io::ScanSeries series{2, 3, 0, {}};
      series.scans.assign(6, fhd::data::simulate(settings).scan);
      if (!with_maps)
        for (auto& scan : series.scans) scan.sensitivity_maps.reset();
      fhd::io::write_scan(path("scan.h5"), fhd::io::ScanFormat::fhd, series);
      const auto planned_line = [&] {
        const auto out = text("out");
        const auto at = out.find("planned   ");
        return at == std::string::npos ? "none" : out.substr(at + 10, out.find('\n', at) - at - 10);
      };
      const Json json = plan(path("scan.h5"));
      const double one = json["seconds"].get<double>(), all = json["seconds_of_all"].get<double>();
      EXPECT_LT(all, 6 * one) << "Q is made once";
      EXPECT_GE(all, 3 * one);
      ASSERT_DONE(run("plan --device cpu " + path("scan.h5")));
      const std::string planned = planned_line();
      EXPECT_TRUE(planned.starts_with("6 images: ")) << planned;
      const auto memory = planned.substr(planned.find(", ") + 2);  // the time is measured each time
      ASSERT_EQ(run("check " + path("scan.h5")), 0) << text("out");
      const auto said = text("out");
      const auto at = said.find("for a reconstruction of 6 images: ");
      ASSERT_NE(at, std::string::npos) << said;
      EXPECT_NE(said.find(", " + memory + "; the machine has ", at), std::string::npos) << planned << said;
      ASSERT_DONE(run("plan --device cpu --slices 1 --repetitions 0 " + path("scan.h5")));
      EXPECT_TRUE(planned_line().starts_with("1 image: ")) << planned_line();
    }
}

TEST_F(Plan, counts_pairs_as_the_run_does) {
  simulate("maps", "--trajectory spiral --matrix 32 --coils 4");
  simulate("no_maps", "--trajectory spiral --matrix 32 --coils 14 --no-maps");
  simulate("moving", "--matrix 32 --coils 4 --readouts 40 --dynamic 8");
  for (const std::string arguments :
       {"maps.h5", "no_maps.h5", "moving.h5 --frames 5", "maps.h5 --normal explicit"}) {
    const auto pairs_behind = [&](const std::string& words) {
      const auto out = text("out");
      const auto at = out.find(words);
      EXPECT_NE(at, std::string::npos) << out;
      return out.substr(at + words.size(), out.find('\n', at) - at - words.size());
    };
    ASSERT_DONE(run("plan --device cpu " + path(arguments)));
    const auto planned = pairs_behind("transform direct, ");
    ASSERT_DONE(run("recon --force --device cpu -o out " + path(arguments)));
    EXPECT_EQ(pairs_behind("transform: direct (exact), "), planned) << arguments;
  }
}

TEST_F(Plan, looks_at_a_volume_that_the_scan_has) {
  fhd::data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 4;
  settings.object_scale = 1.4;
  fhd::io::ScanSeries series{2, 2, 0, {}};
  series.scans.assign(4, fhd::data::simulate(settings).scan);
  for (auto& scan : series.scans) scan.sensitivity_maps.reset();
  fhd::io::write_scan(path("whole.mrd"), fhd::io::ScanFormat::ismrmrd, series);
  {
    ISMRMRD::Dataset whole(path("whole.mrd").c_str(), "/dataset", false),
        part(path("part.mrd").c_str(), "/dataset", true);
    std::string header;
    whole.readHeader(header);
    part.writeHeader(header);
    ISMRMRD::Acquisition readout;
    for (std::uint32_t i = 0; i < whole.getNumberOfAcquisitions(); ++i) {
      whole.readAcquisition(i, readout);
      if (readout.idx().slice != 0 || readout.idx().repetition != 0) part.appendAcquisition(readout);
    }
  }
  const auto matrix_of = [&](const std::string& arguments) {
    plan(arguments);
    return Json::parse(text("out"))["matrix_size"];
  };
  const auto expected = matrix_of(path("whole.mrd"));
  ASSERT_GT(expected[1], 48) << expected;
  EXPECT_EQ(matrix_of(path("part.mrd")), expected);
  EXPECT_EQ(matrix_of(path("part.mrd") + " --slices 1 --repetitions 0"), expected);
}

TEST_F(Plan, refuses_what_the_scan_cannot_give) {
  simulate("scan", "--trajectory radial --dimensions 2 --matrix 16,16 --coils 2 --no-maps");
  EXPECT_EQ(run("plan " + path("scan.h5") + " --coils file"), 1);
  EXPECT_CONTAINS(text("err"), "--coils file");
  EXPECT_EQ(run("plan " + path("absent.h5")), 1);
  EXPECT_EQ(run("plan " + path("scan.h5") + " --accuracy 2"), 2);
}

}  // namespace
