// Files of gradient responses: what they may hold, and what the reader refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class GirfFile : public FolderTest {
 protected:
  static constexpr double step_s = 1e-5;

  /// /girf [3][values of one axis], with other frequencies than values where these are as many.
  void write_girf(const std::vector<Complex<double>>& of_axis, const std::vector<double>& hz,
                  int axes = 3) const {
    auto file = hdf5::File::create(path("girf.h5"), path("girf.h5"));
    write_axes(file, "/girf", of_axis, axes);
    if (!hz.empty()) file.write("/frequency_hz", hz.data(), {static_cast<std::int64_t>(hz.size())});
    file.close();
  }
  void write_impulse(const std::vector<double>& of_axis, const std::vector<double>& times) const {
    auto file = hdf5::File::create(path("girf.h5"), path("girf.h5"));
    write_axes(file, "/impulse_response", of_axis, 3);
    file.write("/time_s", times.data(), {static_cast<std::int64_t>(times.size())});
    file.close();
  }
  GradientResponse read() const { return read_gradient_response(path("girf.h5")); }
  std::string refusal() const {
    return error_of([&] { static_cast<void>(read()); });
  }
  /// Writes impulses from `first` steps on.
  static std::vector<double> times(int first, int count) {
    std::vector<double> all;
    for (int i = 0; i < count; ++i) all.push_back((first + i) * step_s);
    return all;
  }

 private:
  template <class T>
  static void write_axes(hdf5::File& file, const char* name, const std::vector<T>& of_axis, int axes) {
    std::vector<T> values;
    for (int axis = 0; axis < axes; ++axis) values.insert(values.end(), of_axis.begin(), of_axis.end());
    file.write(name, values.data(), {axes, static_cast<std::int64_t>(of_axis.size())});
  }
};

TEST_F(GirfFile, responses_at_frequencies_are_those_of_the_file) {
  write_girf({{1, 0}, {0.5, -0.25}, {0.25, -0.5}}, {0, 1000, 3000});
  const auto response = read();
  EXPECT_EQ(response.frequencies_hz, (std::vector<double>{0, 1000, 3000}));
  ASSERT_EQ(response.values.shape(), (Shape{3, 3}));
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(response.values[axis * 3 + 1].re, 0.5);
    EXPECT_EQ(response.values[axis * 3 + 1].im, -0.25);
    EXPECT_DOUBLE_EQ(response.at(axis, 2000).re, 0.375);
  }
}

// An impulse one step later is the same response, later: exp(-2 pi i f step).
TEST_F(GirfFile, impulses_have_the_response_of_their_delay) {
  for (const int late : {0, 1}) {
    std::vector<double> impulse(9, 0);
    impulse[static_cast<std::size_t>(3 + late)] = 1 / step_s;
    write_impulse(impulse, times(-3, 9));
    const auto response = read();
    ASSERT_GE(response.frequencies_hz.size(), 9u * 32);
    EXPECT_EQ(response.frequencies_hz[0], 0);
    for (std::size_t i = 0; i < response.frequencies_hz.size(); i += 17) {
      const double angle = -2 * std::numbers::pi * response.frequencies_hz[i] * late * step_s;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto& value =
            response.values[static_cast<std::int64_t>(axis * response.frequencies_hz.size() + i)];
        EXPECT_NEAR(value.re, std::cos(angle), 1e-9) << late << ' ' << i;
        EXPECT_NEAR(value.im, std::sin(angle), 1e-9) << late << ' ' << i;
      }
    }
  }
}

TEST_F(GirfFile, responses_without_their_frequencies_are_refused) {
  write_girf({{1, 0}, {1, 0}}, {});
  EXPECT_CONTAINS(refusal(), "expected /frequency_hz [2] beside it, found none");
  write_girf({{1, 0}, {1, 0}}, {0, 1, 2});
  EXPECT_CONTAINS(refusal(), "expected [2], as /girf has, found [3]");
  write_girf({{1, 0}, {1, 0}}, {0, 1}, 2);
  EXPECT_CONTAINS(refusal(), "[3][n], of the axes x, y and z");
  write_girf({{1, 0}}, {0});
  EXPECT_CONTAINS(refusal(), "found [3][1]");
  write_girf({{1, 0}, {1, 0}}, {0, NAN});
  EXPECT_CONTAINS(refusal(), "girf.h5:/girf");
  write_girf({{2, 0}, {1, 0}}, {0, 1});
  EXPECT_CONTAINS(refusal(), "a response of 1 at 0 Hz");
}

TEST_F(GirfFile, impulses_at_times_that_are_not_even_or_not_about_0_are_refused) {
  const std::vector<double> impulse{0, 1 / step_s, 0, 0};
  auto uneven = times(-1, 4);
  uneven[2] += 0.01 * step_s;
  write_impulse(impulse, uneven);
  EXPECT_CONTAINS(refusal(), "expected times that ascend in even steps");
  write_impulse(impulse, times(1, 4));
  EXPECT_CONTAINS(refusal(), "times about 0, the moment of the impulse, found 1e-05 ... 4e-05 s");
  write_impulse(std::vector<double>((1 << 16) + 1, 1), times(0, (1 << 16) + 1));
  EXPECT_CONTAINS(refusal(), "expected at most 65536 times, found 65537");
}

TEST_F(GirfFile, files_that_hold_no_response_are_refused) {
  auto file = hdf5::File::create(path("girf.h5"), path("girf.h5"));
  file.write("/other", "text");
  file.close();
  EXPECT_CONTAINS(refusal(),
                  "impulse responses: /girf with /frequency_hz, or /impulse_response with /time_s");
  write_text(path("girf.h5"), "no HDF5");
  EXPECT_CONTAINS(refusal(), "an HDF5 file");
}

}  // namespace
}  // namespace fhd::io
