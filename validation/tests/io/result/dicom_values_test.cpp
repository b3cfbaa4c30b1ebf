// Values of DICOM attributes: made of what a file says, whatever it says.
#include <gtest/gtest.h>

#include <cmath>

#include "io/result/dicom/content.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io::dicom {
namespace {

TEST(DicomValues, texts_hold_nothing_that_dicom_would_take_for_something_else) {
  EXPECT_EQ(text("head\\neck\n\x1b[31m", 64), "head/neck  [31m");
  EXPECT_EQ(text("  Kopf  ", 64), "Kopf");
  EXPECT_EQ(text("Mü\xc3\xa4\xe6\x97\xa5", 64), "Mü\xc3\xa4\xe6\x97\xa5");
  EXPECT_EQ(text("\xff\xc3", 64), "??") << "no UTF-8";
  EXPECT_EQ(text("\xc0\xaf\xed\xa0\x80", 64), "?????") << "overlong, a surrogate";
  EXPECT_EQ(text("\xc2\x9b", 64), "??") << "a control character of two bytes";
  EXPECT_EQ(text("äöü", 2), "äö") << "characters, not bytes";
  EXPECT_EQ(text("ab   ", 3), "ab");
  EXPECT_EQ(text("", 3), "");
  EXPECT_EQ(person_name("Doe^Jane=x\\y"), "Doe^Jane x/y");
  EXPECT_EQ(person_name("a^b^c^d^e^f^g"), "a^b^c^d^e f g") << "five parts";
  EXPECT_EQ(person_name(std::string(100, 'x')).size(), 64u);
  EXPECT_EQ(code("brain"), "BRAIN");
  EXPECT_EQ(code("b-rain"), "");
  EXPECT_EQ(code(std::string(17, 'A')), "");
}

TEST(DicomValues, numbers_keep_the_digits_that_fit) {
  for (const double value : {0.0, 1.0, -1.0, 1.0 / 3, -1e-7 / 3, 123456.789012345, 2.5e300,
                             -2.2250738585072014e-308, 5e-324, 65535.0, -0.70710678118654752}) {
    const auto made = decimal(value);
    EXPECT_LE(made.size(), 16u) << made;
    // "-2.22507386e-308": a sign, a point and an exponent of 5 leave 9 digits, so half of the last is 5e-9 of the value;
    // a denormal number has no more than what it is.
    EXPECT_LE(std::abs(std::strtod(made.c_str(), nullptr) - value), 5e-9 * std::abs(value)) << made;
  }
  EXPECT_EQ(decimal(-0.0), "0");
  EXPECT_EQ(decimal(240.0 / 64), "3.75");
}

TEST(DicomValues, dates_and_times_are_ones_or_nothing) {
  EXPECT_EQ(date("2024-02-29"), "20240229");
  for (const char* none :
       {"", "2023-02-29", "2024-13-01", "2024-00-10", "24-01-01", "2024/01/01", "abcd-ef-gh", "2024-1-1"})
    EXPECT_EQ(date(none), "") << none;
  EXPECT_EQ(time_of_day("12:30:05"), "123005");
  EXPECT_EQ(time_of_day("23:59:59.123456789+01:00"), "235959.123456");
  EXPECT_EQ(time_of_day("00:00:00Z"), "000000");
  for (const char* none : {"", "24:00:00", "12:60:00", "12:30", "12-30-00", "1:2:3"})
    EXPECT_EQ(time_of_day(none), "") << none;
  const auto after = later("20241231", "235959.5", 0.75);
  EXPECT_EQ(after.date, "20250101");
  EXPECT_EQ(after.time, "000000.250000");
  EXPECT_EQ(later("20240101", "080000", 0).time, "080000.000000");
}

TEST(DicomValues, uids_are_valid_and_follow_from_their_name) {
  EXPECT_TRUE(is_uid("1.2.840.10008.5.1.4.1.1.4"));
  EXPECT_TRUE(is_uid("0"));
  for (const std::string none : {"", "1..2", ".1", "1.", "1.02", "1.a", "1 2", "1.2\n"})
    EXPECT_FALSE(is_uid(none)) << none;
  EXPECT_FALSE(is_uid(std::string(65, '1')));
  const auto uid = uid_of_name("series a");
  EXPECT_TRUE(is_uid(uid)) << uid;
  EXPECT_EQ(uid, uid_of_name("series a"));
  EXPECT_NE(uid, uid_of_name("series b"));
  EXPECT_TRUE(uid.starts_with("2.25.")) << uid;
  // Made by another program: python3 -c "import hashlib; h = bytearray(hashlib.sha256(b'series a').digest()[:16]);
  // h[6] = h[6] & 15 | 128; h[8] = h[8] & 63 | 128; print(int.from_bytes(h, 'big'))"
  EXPECT_EQ(uid, "2.25.184360362307186381488548556437770103643");
}

ImageSeries series_of(std::vector<float> magnitudes) {
  Image image;
  image.geometry.matrix_size = {static_cast<int>(magnitudes.size()), 1, 1};
  image.values = Array<Complex<float>>(image.geometry.image_shape());
  std::copy(magnitudes.begin(), magnitudes.end(), image.values.begin());
  ImageSeries series;
  series.images.push_back(std::move(image));
  return series;
}

TEST(DicomScaling, every_magnitude_is_found_again_to_half_a_step) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (const float largest : {1.0f, 3e-9f, 7.123e6f, 1e-40f, 3.4e38f}) {
    std::vector<float> magnitudes{0, largest};
    for (int i = 0; i < 1000; ++i) magnitudes.push_back(largest * uniform(generator));
    const auto scaling = scaling_of(series_of(magnitudes), "image");
    EXPECT_EQ(scaling.slope, std::strtod(scaling.slope_text.c_str(), nullptr));
    EXPECT_LE(scaling.slope_text.size(), 16u);
    EXPECT_EQ(scaling.stored(0), 0);
    EXPECT_EQ(scaling.stored(largest), Scaling::largest_stored) << largest;
    // Half a step, and the roundings of quotient, product and difference in double precision.
    const double tolerance = scaling.slope / 2 + 4e-16 * largest;
    for (const float magnitude : magnitudes)
      EXPECT_LE(std::abs(scaling.slope * scaling.stored(magnitude) - magnitude), tolerance) << magnitude;
  }
}

TEST(DicomScaling, refuses_what_is_no_image) {
  for (const float wrong : {NAN, INFINITY})
    EXPECT_EQ(error_of([&] {
                scaling_of(series_of({1, wrong}), "out");
              }),
              "out: expected an image of finite numbers, found NaN or infinity in image 1");
}

TEST(DicomScaling, an_image_of_zeros_is_one) {
  const auto scaling = scaling_of(series_of({0, 0}), "out");
  EXPECT_EQ(scaling.slope_text, "1");
  EXPECT_EQ(scaling.slope, 1);
  EXPECT_EQ(scaling.white, 1);
  EXPECT_EQ(scaling.stored(0), 0);
  EXPECT_EQ(scaling.digest.size(), 64u);
}

TEST(DicomScaling, the_window_shows_an_image_that_is_empty_but_for_a_voxel) {
  std::vector<float> magnitudes(1000);
  magnitudes[7] = 2;
  EXPECT_EQ(scaling_of(series_of(magnitudes), "image").white, 2);
}

}  // namespace
}  // namespace fhd::io::dicom
