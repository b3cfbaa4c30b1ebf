// fhd plan: what it says before a run is what the run then does and takes.
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "recon/pipeline/cost_model.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/memory_plan.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
using Json = nlohmann::ordered_json;

/// A machine that does everything at one nanosecond.
MachineRates even_rates() {
  MachineRates rates;
  for (const auto& [name, value] : rates.fields()) *value = 1e-9;
  rates.speedup = 1;
  return rates;
}

ScanSizes head() {
  ScanSizes sizes;
  sizes.matrix_size = {64, 64, 16};
  sizes.samples = 66592;
  sizes.coils = 4;
  sizes.has_maps = true;
  return sizes;
}

TEST(CostModel, more_of_anything_takes_no_less_time_and_memory) {
  const MachineRates rates = even_rates();
  for (const auto method : {Method::cg, Method::gridded, Method::adjoint, Method::fft})
    for (const auto transform : {TransformKind::direct, TransformKind::gridded})
      for (const auto normal : {NormalKind::toeplitz, NormalKind::explicit_product})
        for (const bool maps : {true, false}) {
          Settings settings;
          settings.method = method, settings.transform = transform, settings.normal = normal;
          ScanSizes base = head();
          base.has_maps = maps;
          std::vector<ScanSizes> more(5, base);
          more[0].samples *= 2;
          more[1].coils *= 2;
          more[2].matrix_size[0] *= 2;
          more[3].matrix_size[2] *= 2;
          more[4].samples *= 1000;
          const auto peak = [&](const ScanSizes& sizes) {
            return plan_host_memory(workload_of(sizes, settings), settings).peak_bytes();
          };
          for (const ScanSizes& larger : more) {
            EXPECT_GE(predict(larger, settings, rates).seconds(), predict(base, settings, rates).seconds());
            EXPECT_GE(peak(larger), peak(base));
          }
          Settings longer = settings;
          longer.tolerance = 1e-6, longer.iterations = 60;
          EXPECT_GE(predict(base, longer, rates).seconds(), predict(base, settings, rates).seconds());
          EXPECT_GE(predict(base, settings, rates).seconds_at_limit(),
                    predict(base, settings, rates).seconds());
        }
}

TEST(CostModel, sizes_beyond_any_machine_do_not_overflow) {
  ScanSizes monster;
  monster.matrix_size = {4096, 4096, 4096};
  monster.samples = 1'000'000'000'000;
  monster.coils = 128;
  for (const auto method : {Method::cg, Method::gridded, Method::adjoint})
    for (const auto transform : {TransformKind::automatic, TransformKind::direct, TransformKind::gridded}) {
      if (method == Method::gridded && transform == TransformKind::direct) continue;
      Settings settings;
      settings.method = method, settings.transform = transform;
      const Prediction prediction = predict(monster, settings, even_rates());
      EXPECT_TRUE(std::isfinite(prediction.seconds()));
      for (const Stage& stage : prediction.stages) EXPECT_GE(stage.seconds, 0) << stage.name;
      // At least the samples of 128 coils, in single precision.
      const auto memory = plan_host_memory(prediction.workload, settings);
      EXPECT_GE(memory.peak_bytes(), std::size_t{1'000'000'000'000} * 128 * 8);
    }
}

TEST(CostModel, of_a_field_map_and_a_prior_is_part_of_the_plan) {
  ScanSizes sizes = head();
  const Settings plain;
  sizes.has_field_map = sizes.has_sample_time = true;
  const Workload with_map = workload_of(sizes, plain), without = workload_of(head(), plain);
  EXPECT_GT(with_map.time_segments, 0);
  EXPECT_GT(predict(sizes, plain, even_rates()).seconds(), predict(head(), plain, even_rates()).seconds());
  EXPECT_GT(plan_host_memory(with_map, plain).peak_bytes(), plan_host_memory(without, plain).peak_bytes());
  constexpr std::size_t all = std::size_t{1} << 50;
  const MemoryDemand demand{{64, 64, 16}, 66592, 4, true, TransformKind::direct, 0, 0};
  MemoryDemand segmented = demand;
  segmented.time_segments = with_map.time_segments;
  segmented.difference_segments = with_map.difference_segments;
  const std::size_t before = plan_device_memory(demand, plain, all).peak_bytes();
  EXPECT_GT(plan_device_memory(segmented, plain, all).peak_bytes(), before);
  Settings with_prior;
  with_prior.regularizer = RegularizerKind::roughness;
  with_prior.prior.emplace();
  with_prior.prior->values = Array<float>(Shape{16, 64, 64});
  // Three weights of four bytes for each voxel.
  EXPECT_EQ(plan_device_memory(demand, with_prior, all).peak_bytes(), before + 64 * 64 * 16 * 12);
}

TEST(CostModel, rates_of_this_machine_are_positive_and_finite) {
  MachineRates rates = measure_rates(Device::cpu());
  for (const auto& [name, value] : rates.fields()) {
    EXPECT_TRUE(std::isfinite(*value)) << name;
    EXPECT_GE(*value, 0) << name;
  }
  EXPECT_GT(rates.adjoint_pair[0], 0);
  EXPECT_GE(rates.speedup, 1);
}

class Plan : public tests::ProgramTest {
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
    EXPECT_EQ(run("recon --quiet --device cpu -o " + path("result") + " " + arguments), 0) << text("err");
    return Json::parse(text("result.json"))["images"][0];
  }
};

TEST_F(Plan, names_the_stages_the_report_will_have) {
  simulate("maps", "--trajectory spiral --dimensions 2 --matrix 32,32 --coils 4");
  simulate("no_maps", "--trajectory spiral --dimensions 2 --matrix 32,32 --coils 14 --no-maps");
  simulate("cartesian", "--trajectory cartesian --dimensions 2 --matrix 32,32 --coils 2");
  const std::vector<std::string> runs = {path("maps.h5"),
                                         path("maps.h5") + " --transform gridded",
                                         path("maps.h5") + " --normal explicit",
                                         path("maps.h5") + " --coils none --no-gridded-image",
                                         path("maps.h5") + " --precision double",
                                         path("maps.h5") + " --method gridded",
                                         path("maps.h5") + " --method adjoint",
                                         path("maps.h5") + " --method adjoint --transform gridded",
                                         path("maps.h5") + " --whiten edge --coils adaptive --compress 3",
                                         path("no_maps.h5"),
                                         path("cartesian.h5") + " --method fft"};
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
      EXPECT_EQ(std::to_string(planned["coils"].get<int>()), made["settings"]["virtual coils"]) << arguments;
    }
  }
}

TEST_F(Plan, says_the_memory_that_the_process_takes) {
  const std::pair<const char*, const char*> scans[] = {
      {"spiral", "--trajectory spiral --dimensions 2 --matrix 128,128 --coils 8"},
      {"volume", "--trajectory radial-3d --dimensions 3 --matrix 48,48,48 --coils 4 --readouts 400"}};
  for (const auto& [name, options] : scans) {
    simulate(name, options);
    const std::string scan = path(std::string(name) + ".h5");
    const double planned = plan(scan + " --transform gridded --iterations 10")["peak_bytes"].get<double>();
    const pid_t child = fork();
    if (child == 0) {
      execl(FHD_PROGRAM, "fhd", "recon", scan.c_str(), "--quiet", "--device", "cpu", "--transform", "gridded",
            "--iterations", "10", "-o", path("result").c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    rusage usage{};
    ASSERT_EQ(wait4(child, &status, 0, &usage), child);
    ASSERT_EQ(status, 0);
    const double actual = static_cast<double>(usage.ru_maxrss) * 1024;
    // What the project promises; the smaller scan is mostly the program itself.
    EXPECT_LE(std::abs(planned - actual), 0.15 * actual) << name << ": " << planned << " and " << actual;
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
