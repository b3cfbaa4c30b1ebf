#include <gtest/gtest.h>

#include <limits>

#include "recon/domain/scan.hpp"
#include "recon/error.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd {
namespace {

Scan scan_with_fields() {
  Scan scan;
  scan.geometry.matrix_size = {8, 8, 1};
  scan.geometry.fov_mm = {200, 200, 5};
  scan.trajectory.k = Array<double>({3, 6});
  scan.kspace.values = Array<Complex<float>>({1, 6});
  scan.sample_time_s = Array<double>({6});
  scan.decay_per_s = Array<float>(scan.geometry.image_shape());
  scan.fields.emplace(Fields{{FieldFunction::one, FieldFunction::x2_y2}, Array<double>({2, 6})});
  for (std::int64_t i = 0; i < 12; ++i) scan.fields->coefficients[i] = static_cast<double>(i);
  return scan;
}

/// Returns the parts of the Error that validate() throws; all empty where it throws none.
template <class Change>
ErrorParts refusal(Change change) {
  Scan scan = scan_with_fields();
  change(scan);
  try {
    scan.validate("scan");
  } catch (const Error& error) {
    return error.parts();
  }
  return {};
}

TEST(ScanFields, are_checked) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal([](Scan&) {}).subject, "");
  const auto expect_refused = [](auto change, const char* subject) {
    EXPECT_EQ(refusal(change).subject, subject);
  };
  expect_refused([](Scan& s) { s.fields->coefficients = Array<double>({2, 5}); }, "scan: field coefficients");
  expect_refused([](Scan& s) { s.fields->coefficients[3] = nan; }, "scan: field coefficients");
  expect_refused([](Scan& s) { s.fields->functions[1] = static_cast<FieldFunction>(20); },
                 "scan: field coefficients");
  expect_refused([](Scan& s) { s.fields->axes[0] = {1, 1, 0}; }, "scan: axes of the fields");
  expect_refused(
      [](Scan& s) {
        s.fields->displacement_mm = Array<float>({3, 1, 8, 7});
      },
      "scan: displacement");
  expect_refused([](Scan& s) { s.geometry.fov_mm[1] = 0; }, "field of view");
  expect_refused([](Scan& s) { (*s.decay_per_s)[5] = -1; }, "scan: decay");
  expect_refused([](Scan& s) { (*s.decay_per_s)[5] = std::numeric_limits<float>::infinity(); },
                 "scan: decay");
  expect_refused([](Scan& s) { s.decay_per_s = Array<float>({1, 8, 7}); }, "scan: decay");
  expect_refused([](Scan& s) { s.sample_time_s.reset(); }, "scan: decay");
  const auto second = [](float rate, float fraction) {
    return [=](Scan& s) {
      s.second_decay = SecondDecay{*s.decay_per_s, *s.decay_per_s};
      s.second_decay->per_s[3] = rate, s.second_decay->fraction[3] = fraction;
    };
  };
  expect_refused(second(-1, 0.5F), "scan: decay of the second component");
  expect_refused(second(10, 1.5F), "scan: decay, fraction of the first component");
  expect_refused(second(10, std::nanf("")), "scan: decay, fraction of the first component");
  expect_refused(
      [](Scan& s) {
        s.second_decay = SecondDecay{*s.decay_per_s, Array<float>({1, 8, 7})};
      },
      "scan: decay, fraction of the first component");
  expect_refused(
      [](Scan& s) {
        s.second_decay = SecondDecay{*s.decay_per_s, *s.decay_per_s};
        s.decay_per_s.reset();
      },
      "scan: decay");
}

TEST(ScanFields, phases_that_no_scan_has_are_refused_with_the_unit_that_would_be_usual) {
  // 0.1 m^2 of x^2 - y^2 is 0.01: 5e8 rad/m^2 are 5e6 rad; divided by 1000^2, 5 rad.
  const auto parts = refusal([](Scan& s) { s.fields->coefficients[7] = 5e8; });
  EXPECT_EQ(parts.subject, "scan: field coefficients of x2-y2");
  EXPECT_EQ(parts.found, "5e+06 rad");
  EXPECT_EQ(parts.remedy, "5 rad would be usual: were mm given for m? Their unit is rad/m^2");
  EXPECT_EQ(refusal([](Scan& s) { s.fields->coefficients[7] = 5e6; }).subject, "") << "5e4 rad";
  EXPECT_EQ(refusal([](Scan& s) { s.fields->coefficients[7] = 1e30; }).remedy, "their unit is rad/m^2");
}

TEST(ScanFields, follow_the_samples_that_are_kept) {
  Scan scan = scan_with_fields();
  keep_samples(scan, {1, 4});
  scan.validate("scan");
  EXPECT_EQ(scan.fields->coefficients[0], 1);
  EXPECT_EQ(scan.fields->coefficients[3], 10);
}

}  // namespace
}  // namespace fhd
