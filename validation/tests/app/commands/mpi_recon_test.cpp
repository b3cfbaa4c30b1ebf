// One scan reconstructed by several processes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/result/results.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class MpiRecon : public tests::ProgramTest {
 protected:
  void prepare() override {
    const auto module = std::filesystem::path(program()).parent_path() / "fhd_mpi.so";
    if (std::system("mpirun --version > /dev/null 2>&1") != 0 || !std::filesystem::exists(module))
      GTEST_SKIP() << "no MPI: install openmpi-bin and libopenmpi-dev, and build again";
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }
  int mpirun(int processes, const std::string& arguments) const {
    return run_command("timeout -k 5 60 mpirun --oversubscribe -n " + std::to_string(processes) + " " +
                       program() + " " + arguments);
  }
  /// Relative l2 difference of the images of one process and of several.
  double difference(int processes, const std::string& scan, const std::string& options) const {
    EXPECT_DONE(run("recon " + scan + " -o " + path("one") + " " + options));
    EXPECT_EQ(mpirun(processes, "recon " + scan + " -o " + path("many") + " " + options), 0) << text("err");
    return metrics::relative_l2(
        converted<Complex<double>>(io::read_image(path("many.h5")).images.front().values),
        converted<Complex<double>>(io::read_image(path("one.h5")).images.front().values));
  }
};

// The order of sums in single precision differs, 5e-6 ... 1.4e-5 of the image here: iterations amplify it, plain
// ones to the default tolerance to 1e-5 ... 2e-4.
constexpr double tolerance = 3e-5;

TEST_F(MpiRecon, gives_the_image_of_one_process) {
  ASSERT_DONE(run("simulate -o " + path("scan") + " --matrix 32 --coils 3"));
  const auto scan = path("scan.h5");
  EXPECT_LE(difference(2, scan, ""), tolerance);
  EXPECT_LE(difference(5, scan, "--transform gridded --regularizer roughness"), tolerance)
      << "more processes than coils";
}

TEST_F(MpiRecon, the_first_process_alone_tells_events) {
  ASSERT_DONE(run("simulate -o " + path("scan") + " --matrix 32 --coils 3"));
  ASSERT_EQ(mpirun(3, "recon " + path("scan.h5") + " -o " + path("out") + " --json-lines"), 0) << text("err");
  for (const std::string event : {"start", "image", "written", "end"}) {
    const auto found = "\"event\":\"" + event + "\"", out = text("out");
    ASSERT_NE(out.find(found), std::string::npos) << event;
    EXPECT_EQ(out.find(found), out.rfind(found)) << event << " is told once";
  }
}

TEST_F(MpiRecon, gives_the_image_of_a_scan_without_maps) {
  ASSERT_DONE(run("simulate -o " + path("scan") + " --matrix 32 --coils 4 --no-maps"));
  const auto scan = path("scan.h5");
  // Single precision is compared where iterations stop early, double precision to the end.
  EXPECT_LE(difference(3, scan, "--coils espirit --tolerance 1e-3"), tolerance);
  EXPECT_LE(difference(3, scan, "--coils espirit --precision double"), 1e-7)
      << "the maps are single precision";
  EXPECT_LE(difference(3, scan, "--coils none"), tolerance);
  EXPECT_LE(difference(2, scan, "--lambda auto --tolerance 1e-3"), tolerance);
}

TEST_F(MpiRecon, tells_a_failure_once_and_ends_every_process) {
  EXPECT_NE(mpirun(3, "recon " + path("absent.h5") + " -o " + path("many")), 0);
  const auto err = text("err");
  const auto first = err.find("absent.h5");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(err.find("absent.h5: ", first + 1), std::string::npos) << err;
}

TEST_F(MpiRecon, tells_of_echoes_once) {
  ASSERT_EQ(run("simulate -o " + path("scan") + " --matrix 32 --coils 3 --field-hz 200 --echo-times 2,4 " +
                "--trajectory spiral --readouts 2"),
            0)
      << text("err");
  ASSERT_EQ(mpirun(2, "recon " + path("scan.h5") + " -o " + path("many")), 0) << text("err");
  const auto err = text("err");
  const std::string words = "correct it with --field-map auto";
  const auto first = err.find(words);
  ASSERT_NE(first, std::string::npos) << err;
  EXPECT_EQ(err.find(words, first + 1), std::string::npos) << err;
}

TEST_F(MpiRecon, refuses_what_a_team_cannot_do) {
  ASSERT_DONE(run("simulate -o " + path("scan") + " --matrix 16 --coils 2"));
  EXPECT_NE(mpirun(2, "recon " + path("scan.h5") + " --method gridded -o " + path("many")), 0);
  EXPECT_CONTAINS(text("err"), "run it as one process");
  EXPECT_FALSE(exists("many.h5"));
}

}  // namespace
}  // namespace fhd
