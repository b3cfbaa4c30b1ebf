// fhd plan: what it says before a run is what the run then does and takes.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace {

using Json = nlohmann::ordered_json;

using Cases = std::vector<std::pair<const char*, const char*>>;

/// What a run takes, beside what was planned for it.
struct Outcome {
  double planned_bytes = 0, bytes = 0, planned_seconds = 0, seconds = 0;
  bool times_agree() const {
    return seconds > 0 && seconds <= 2 * planned_seconds && planned_seconds <= 2 * seconds;
  }
};

class Plan : public fhd::tests::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(setenv("XDG_CACHE_HOME", path("cache").c_str(), 1), 0);
    // Small scans: threads that wait for each other on a busy machine would take most of the time.
    ASSERT_EQ(setenv("OMP_NUM_THREADS", "1", 1), 0);
  }
  void simulate(const std::string& name, const std::string& options) const {
    ASSERT_EQ(run("simulate -o " + path(name) + " " + options), 0) << text("err");
  }
  /// The CPU's plan.
  Json plan(const std::string& arguments) const {
    EXPECT_EQ(run("plan --json --device cpu " + arguments), 0) << text("err");
    return Json::parse(text("out"))["devices"][0];
  }
  Json report(const std::string& arguments) const {
    EXPECT_EQ(run("recon --quiet --force --device cpu -o " + path("result") + " " + arguments), 0)
        << text("err");
    return Json::parse(text("result.json"))["images"][0];
  }
  /// The same, and what the process took: its memory at most, and the seconds of all images without those in
  /// which its one thread waited for a processor that others had.
  Json report(const std::string& arguments, double& bytes, double& seconds) const {
    std::vector<std::string> words{"recon", "--quiet", "--force", "--device", "cpu", "-o", path("result")};
    std::istringstream stream(arguments);
    for (std::string word; stream >> word;) words.push_back(word);
    const auto outcome = measured(words);
    EXPECT_EQ(outcome.status, 0) << text("err_bg");
    bytes = outcome.peak_bytes;
    const Json images = Json::parse(text("result.json"))["images"];
    seconds = 0;  // of frames, which have equal shares
    for (const auto& image : images) seconds += image["seconds"].get<double>();
    seconds *= std::min(1.0, outcome.processor_seconds / outcome.seconds);
    return images[0];
  }
  /// Of scans and options: the plan, and what then happens.
  void expect_outcomes(const Cases& scans, const Cases& cases) const {
    for (const auto& [name, options] : scans) simulate(name, options);
    for (const auto& [scan, options] : cases) {
      const std::string what = std::string(scan) + " " + options,
                        arguments = path(std::string(scan) + ".h5") + " " + options;
      // A machine that others use is up to three times slower at one time than at another: rates and run are
      // measured again until they meet, which a plan that is wrong by a factor never does.
      Outcome outcome;
      for (int attempt = 0; attempt < 6 && !outcome.times_agree(); ++attempt) {
        if (attempt > 0) std::filesystem::remove_all(path("cache"));
        const Json planned = plan(arguments);
        outcome.planned_bytes = planned["peak_bytes"].get<double>();
        outcome.planned_seconds = planned["seconds"].get<double>();
        report(arguments, outcome.bytes, outcome.seconds);
      }
      EXPECT_LE(std::abs(outcome.planned_bytes - outcome.bytes), 0.15 * outcome.bytes)
          << what << ": " << outcome.planned_bytes << " bytes planned, " << outcome.bytes << " taken";
      EXPECT_TRUE(outcome.times_agree())
          << what << ": " << outcome.planned_seconds << " s planned, " << outcome.seconds << " s taken";
    }
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

TEST_F(Plan, is_what_happens_in_memory_and_time) {
  const Cases scans = {
      {"spiral", "--trajectory spiral --dimensions 2 --matrix 128,128 --coils 8"},
      {"volume", "--trajectory radial-3d --dimensions 3 --matrix 48,48,48 --coils 4 --readouts 400"},
      {"no_maps", "--trajectory spiral --dimensions 2 --matrix 96,96 --coils 14 --no-maps"}};
  const Cases cases = {{"spiral", ""},
                       {"spiral", "--transform gridded --iterations 10"},
                       {"spiral", "--precision double"},
                       {"spiral", "--regularizer tv:0.01"},
                       {"volume", "--transform gridded --regularizer wavelet:0.01 --iterations 10"},
                       {"spiral", "--method gridded"},
                       {"volume", "--transform gridded --iterations 10"},
                       {"volume", "--transform gridded --normal explicit --iterations 5"},
                       {"volume", "--transform direct --iterations 10 --no-gridded-image"},
                       {"volume", "--method adjoint --transform gridded"},
                       {"no_maps", ""},
                       {"no_maps", "--coils none --transform gridded"}};
  expect_outcomes(scans, cases);
}

TEST_F(Plan, is_what_frames_take) {
  expect_outcomes({{"moving", "--matrix 96 --coils 8 --readouts 195 --dynamic 13"}},
                  {{"moving", "--spokes-per-frame 13"},
                   {"moving", "--frames 15 --regularizer temporal-tv:0.05"},
                   {"moving", "--frames 15 --regularizer llr --no-gridded-image"},
                   {"moving", "--frames 15 --basis 3"}});
}

TEST_F(Plan, is_what_noise_maps_and_a_phase_take) {
  expect_outcomes({{"spiral", "--trajectory spiral --dimensions 2 --matrix 128,128 --coils 8"},
                   {"fine", "--trajectory spiral --dimensions 2 --matrix 256,256 --coils 8"},
                   {"gaps", "--trajectory cartesian --matrix 192 --coils 8 --undersampling 2"},
                   {"half", "--trajectory cartesian --matrix 192 --coils 8 --partial-fourier 0.625"}},
                  {{"spiral", "--noise-map 20"},
                   {"fine", "--method gridded --noise-map 10"},
                   {"gaps", "--noise-map exact"},
                   {"half", "--partial-fourier phase"}});
}

TEST_F(Plan, check_and_recon_say_the_same_of_all_slices_and_repetitions) {
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
      ASSERT_EQ(run("plan --device cpu " + path("scan.h5")), 0) << text("err");
      const std::string planned = planned_line();
      EXPECT_TRUE(planned.starts_with("6 images: ")) << planned;
      ASSERT_EQ(run("check " + path("scan.h5")), 0) << text("out");
      EXPECT_NE(text("out").find("takes about " + planned + " of the "), std::string::npos) << planned << "\n"
                                                                                            << text("out");
      ASSERT_EQ(run("recon --force --device cpu -o " + path("result") + " " + path("scan.h5")), 0)
          << text("err");
      EXPECT_EQ(planned_line(), planned);
      for (const auto& stage : Json::parse(text("result.json"))["images"][1]["stages"])
        EXPECT_NE(stage["name"], "Q");
      ASSERT_EQ(run("plan --device cpu --slices 1 --repetitions 0 " + path("scan.h5")), 0) << text("err");
      EXPECT_TRUE(planned_line().starts_with("1 image: ")) << planned_line();
    }
}

TEST_F(Plan, is_the_memory_of_many_images_of_a_larger_matrix_and_of_a_calibration) {
  // Little in this process: what is measured of another begins with a copy of it.
  fhd::data::SimulationSettings settings;
  settings.coil_count = 2;
  settings.trajectory.readout_count = 16;
  {
    fhd::io::ScanSeries series{8, 8, 0, {}};
    series.scans.assign(64, fhd::data::simulate(settings).scan);
    fhd::io::write_scan(path("series.h5"), fhd::io::ScanFormat::fhd, series);
  }
  settings.coil_count = 8;
  settings.trajectory.readout_count = 0;
  fhd::io::ScanSeries calibrated{1, 1, 0, {fhd::data::simulate(settings).scan}};
  calibrated.scans[0].sensitivity_maps.reset();
  calibrated.scans[0].calibration =
      fhd::Calibration{calibrated.scans[0].trajectory, calibrated.scans[0].kspace};
  fhd::io::write_scan(path("calibrated.h5"), fhd::io::ScanFormat::fhd, calibrated);
  simulate("larger", "--matrix 128 --coils 8 --object-scale 1.5 --no-maps");
  for (const char* name : {"series.h5", "calibrated.h5", "larger.h5"}) {
    double bytes = 0, seconds = 0;
    const double planned = plan(path(name))["peak_bytes"].get<double>();
    // Whether what one thread freed serves another is a matter of their turns: a series takes 50, 58 or, on a busy
    // machine, 62 MB.
    for (int attempt = 0; attempt < 8 && !(std::abs(planned - bytes) <= 0.15 * bytes); ++attempt)
      report(path(name), bytes, seconds);
    EXPECT_LE(std::abs(planned - bytes), 0.15 * bytes)
        << name << ": " << planned << " bytes planned, " << bytes << " taken";
  }
}

TEST_F(Plan, measures_again_where_the_kept_rates_are_damaged_or_cannot_be_kept) {
  simulate("scan", "--trajectory radial --dimensions 2 --matrix 16,16 --coils 2");
  plan(path("scan.h5"));
  std::vector<std::filesystem::path> kept;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache/fhd")))
    kept.push_back(entry.path());
  ASSERT_EQ(kept.size(), 1u);
  const auto content = [&] {
    std::ifstream file(kept[0]);
    return Json::parse(file, nullptr, false);
  };
  Json rates = content();
  ASSERT_TRUE(rates.is_object());
  const std::string missing = R"({"speedup": 1})", negative = [&] {
    rates["region"] = -1;
    return rates.dump();
  }();
  for (const std::string& garbage :
       {std::string(), std::string("\0\xff{[", 4), missing, negative, std::string(1000, '[')}) {
    std::ofstream(kept[0], std::ios::binary) << garbage;
    EXPECT_GT(plan(path("scan.h5"))["seconds"].get<double>(), 0);
    const Json now = content();
    ASSERT_TRUE(now.is_object());
    EXPECT_GT(now["region"].get<double>(), 0);
  }
  ASSERT_EQ(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
  EXPECT_GT(plan(path("scan.h5"))["seconds"].get<double>(), 0);
}

TEST_F(Plan, refuses_what_the_scan_cannot_give) {
  simulate("scan", "--trajectory radial --dimensions 2 --matrix 16,16 --coils 2 --no-maps");
  EXPECT_EQ(run("plan " + path("scan.h5") + " --coils file"), 1);
  EXPECT_NE(text("err").find("--coils file"), std::string::npos) << text("err");
  EXPECT_EQ(run("plan " + path("absent.h5")), 1);
  EXPECT_EQ(run("plan " + path("scan.h5") + " --accuracy 2"), 2);
}

}  // namespace
