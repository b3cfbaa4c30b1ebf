// `fhd fieldmap` as a user runs it: echoes of a simulated field, whose k-space is in closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "io/hdf5.hpp"
#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
namespace fs = std::filesystem;

class FieldMapCommand : public tests::ProgramTest {
 protected:
  void simulate(const std::string& name, const std::string& more) const {
    ASSERT_EQ(run("simulate -o " + name + " --matrix 48 --coils 4 --snr 30 --trajectory spiral " + more), 0)
        << text("err");
  }
  Array<double> map(const std::string& name) const {
    return io::hdf5::File::open(path(name)).dataset("/field_map").read<double>({1, 48, 48});
  }
  void expect_refused(const std::string& arguments, int status, const std::string& words) const {
    EXPECT_EQ(run("fieldmap -o none.h5 " + arguments), status) << arguments;
    EXPECT_NE(text("err").find(words), std::string::npos) << text("err");
    EXPECT_EQ(text("err").find('\n') + 1, text("err").size()) << "one line";
    EXPECT_FALSE(fs::exists(path("none.h5")));
  }
};

double magnitude_error(const Image& image, const Image& truth) {
  double product = 0, square = 0, sum = 0, of = 0;
  for (std::int64_t i = 0; i < image.values.size(); ++i) {
    const double a = abs(image.values[i]), b = abs(truth.values[i]);
    product += a * b, square += a * a, of += b * b;
  }
  for (std::int64_t i = 0; i < image.values.size(); ++i)
    sum += std::pow(product / square * abs(image.values[i]) - abs(truth.values[i]), 2);
  return std::sqrt(sum / of);
}

TEST_F(FieldMapCommand, finds_the_field_that_recon_then_corrects) {
  simulate("echoes", "--field-hz 100 --echo-times 2.3,6.9");
  ASSERT_EQ(run("fieldmap echoes.h5 -o b0 --device cpu"), 0) << text("err");
  EXPECT_NE(text("out").find("wrote     b0.h5"), std::string::npos);
  const auto found = map("b0.h5"), true_map = map("echoes.field.h5");
  const Image ideal = io::read_image(path("echoes.truth.h5"), "/image_ideal").images.front();
  double sum = 0, count = 0;
  for (std::int64_t p = 0; p < found.size(); ++p)
    if (abs(ideal.values[p]) > 0.05)
      sum += std::pow((found[p] - true_map[p]) / (2 * std::numbers::pi), 2), ++count;
  EXPECT_LE(std::sqrt(sum / count), 1.5);  // Hz

  const auto recon = [&](const std::string& scan, const std::string& options) {
    EXPECT_EQ(run("recon " + scan + ".h5 -o out --force --device cpu --repetitions 0 " + options), 0)
        << text("err");
    return io::read_image(path("out.h5")).images.front();
  };
  const Image truth = io::read_image(path("echoes.truth.h5")).images.front();
  const double corrected = magnitude_error(recon("echoes", "--field-map b0.h5"), truth);
  simulate("even", "");
  EXPECT_LE(corrected, 1.2 * magnitude_error(recon("even", ""), truth));
}

TEST_F(FieldMapCommand, takes_echoes_from_scans_of_their_own) {
  simulate("one", "--field-hz 80 --echo-times 3");
  simulate("two", "--field-hz 80 --echo-times 5 --seed 2");
  ASSERT_EQ(run("fieldmap two.h5 one.h5 -o b0.h5 --device cpu"), 0) << text("err");  // sorted by their times
  const auto found = map("b0.h5"), true_map = map("one.field.h5");
  const auto middle = 24 * 48 + 24;
  EXPECT_NEAR(found[middle] / (2 * std::numbers::pi), true_map[middle] / (2 * std::numbers::pi), 5);
}

TEST_F(FieldMapCommand, refuses_echoes_that_tell_no_field) {
  simulate("single", "--echo-times 2.3");
  expect_refused("single.h5", 1, "expected two or more echoes");
  simulate("same", "--echo-times 2.3 --seed 2");
  expect_refused("single.h5 same.h5", 1, "two at 2.3 ms");
  simulate("untold", "");
  expect_refused("single.h5 untold.h5", 1,
                 "an echo time (TE) of each of the 2 echoes, found none; give them with --echo-times");
  expect_refused("single.h5 untold.h5 --echo-times 2.3", 1, "2 times, one for each echo, found 1");
  for (const std::string times : {"6,2", "2,2", "0,2", "2,nan", "a", "2,", "-1,3", "1,1e9"})
    expect_refused("single.h5 untold.h5 --echo-times=" + times, 2, "--echo-times: expected times in ms");
  simulate("other", "--echo-times 6.9 --interleaves 7");
  expect_refused("single.h5 other.h5", 1, "expected echoes at the same k-space positions");
  expect_refused("single.h5 absent.h5", 1, "absent.h5");
  expect_refused("single.h5 untold.h5 --echo-times 2.3,6.9 --method gridded", 1, "images that keep their phase");
  EXPECT_EQ(run("fieldmap single.h5 untold.h5 --echo-times 2.3,6.9 -o absent/b0.h5"), 1);
  EXPECT_NE(text("err").find("absent"), std::string::npos) << text("err");
  ASSERT_EQ(run("fieldmap single.h5 untold.h5 --echo-times 2.3,6.9 -o single.h5 --force"), 1);
  EXPECT_NE(text("err").find("another file than the input"), std::string::npos) << text("err");
}

}  // namespace
