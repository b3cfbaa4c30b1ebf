// Causes know the values of the options that undo them, and remedies name these.
#include <gtest/gtest.h>

#include "recon/trajectory/gradient_delays.hpp"
#include "validation/doctor/diagnosis.hpp"
#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/algebra.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd {
namespace {

using validation::remedy_of_cause;
using validation::RemedyFacts;

Finding cause(const char* code, std::vector<double> correction = {}) {
  return validation::with_correction(validation::make_finding(code, "it"), std::move(correction));
}

testing::AssertionResult names(const std::string& remedy, const std::string& option) {
  if (remedy.find(option) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << remedy << "' does not name " << option;
}

TEST(Remedy, has_the_numbers_of_its_cause) {
  EXPECT_TRUE(names(remedy_of_cause(cause("odd_readouts", {17, 1093}), {}), "--omit-readouts 17,1093"));
  EXPECT_TRUE(names(remedy_of_cause(cause("spikes", {5}), {}), "--omit-readouts 5"));
  EXPECT_TRUE(names(remedy_of_cause(cause("coil", {3}), {}), "--omit-coils 3"));
  EXPECT_TRUE(names(remedy_of_cause(cause("delays", {0.5, -0.2}), {}), "--trajectory-correction 0.5,-0.2"));
  EXPECT_TRUE(names(remedy_of_cause(cause("scale", {1.0309278, 1}), {}), "--trajectory-scale 1.031,1"));
  EXPECT_TRUE(names(remedy_of_cause(cause("tone", {-0.13713}), {}), "--remove-tone -0.1371"));
  const RemedyFacts times{.dwell_s = 1e-5};
  EXPECT_TRUE(names(remedy_of_cause(cause("tone", {-0.13713}), times), "--remove-tone -13713"));
}

TEST(Remedy, names_the_option_alone_where_numbers_are_not_known_or_many) {
  EXPECT_TRUE(names(remedy_of_cause(cause("odd_readouts"), {}), "--omit-readouts LIST"));
  EXPECT_TRUE(
      names(remedy_of_cause(cause("odd_readouts", std::vector<double>(11, 1)), {}), "--omit-readouts LIST"));
  EXPECT_TRUE(names(remedy_of_cause(cause("delays"), {}), "--trajectory-correction auto"));
  const RemedyFacts virtual_coils{.are_virtual_coils = true};
  EXPECT_TRUE(names(remedy_of_cause(cause("coil", {3}), virtual_coils), "--omit-coils N"));
}

TEST(Remedy, does_not_advise_what_was_done) {
  const RemedyFacts found{.maps = RemedyFacts::Maps::found};
  EXPECT_FALSE(names(remedy_of_cause(cause("sensitivity_maps"), found), "espirit"));
  EXPECT_TRUE(names(remedy_of_cause(cause("sensitivity_maps"), {}), "espirit"));
}

std::vector<double> correction_of(const Scan& scan, const char* code) {
  const Verdict v = verdict_of(scan);
  EXPECT_TRUE(v.cause && v.cause->code == code) << v.sentence;
  return v.cause ? v.cause->correction : std::vector<double>{};
}

TEST(Correction, of_odd_readouts_are_their_numbers) {
  auto made = simulated(data::TrajectoryKind::golden_radial, {48, 48, 1}, 4);
  change_samples(made, [](Complex<float> d, std::int64_t, std::int64_t readout, std::int64_t) {
    return readout % 12 == 5 ? 1e-3f * d : d;
  });
  std::vector<double> lost;
  for (std::int64_t j = 5; j < made.readout_count; j += 12) lost.push_back(static_cast<double>(j));
  EXPECT_EQ(correction_of(made.scan, "odd_readouts"), lost);
}

TEST(Correction, of_a_scale_are_factors_that_undo_it) {
  auto made = simulated(data::TrajectoryKind::golden_radial, {64, 64, 1}, 4);
  for (std::int64_t m = 0; m < made.scan.trajectory.sample_count(); ++m) made.scan.trajectory.k[m] *= 0.95;
  const auto factors = correction_of(made.scan, "scale");
  ASSERT_EQ(factors.size(), 2u);
  EXPECT_NEAR(factors[0], 1 / 0.95, 0.01);
  EXPECT_NEAR(factors[1], 1, 0.01);
}

TEST(Correction, of_delays_are_samples_by_which_readouts_are_late) {
  auto made = simulated(data::TrajectoryKind::golden_radial, {64, 64, 1}, 4);
  const auto starts = validation::readout_starts(made.scan.trajectory, made.readout_length);
  made.scan.trajectory =
      delayed(made.scan.trajectory, made.scan.geometry, starts, GradientDelays::along_axes({-1, -0.5, 0}));
  made.scan = inside_matrix(std::move(made.scan), 0, "the test");
  const auto delays = correction_of(made.scan, codes::delays);
  ASSERT_EQ(delays.size(), 2u);
  EXPECT_NEAR(delays[0], 1, 0.05);
  EXPECT_NEAR(delays[1], 0.5, 0.05);
}

TEST(StrongLambda, is_named_in_place_of_a_cause) {
  auto made = simulated(data::TrajectoryKind::golden_radial, {48, 48, 1}, 4);
  LeastSquares method;
  method.lambda = OfLargestEigenvalue{0.3};
  Settings settings;
  settings.method = method;
  Verdict v = verdict_of(made.scan, settings);
  EXPECT_GT(v.unexplained, validation::right_limit);
  validation::excuse_strong_lambda(0.3, v);
  EXPECT_EQ(v.judgement, Verdict::Judgement::untested);
  EXPECT_FALSE(v.cause);
  Verdict weak = verdict_of(made.scan);
  const auto before = weak.judgement;
  validation::excuse_strong_lambda(0.02, weak);
  EXPECT_EQ(weak.judgement, before);
}

TEST(Doctor, leaves_out_what_a_mistake_brings_about) {
  std::vector<Message> findings{{codes::outside_fov, Severity::warning, "it reaches beyond"},
                                {"noise", Severity::note, "no noise"},
                                {"clipping", Severity::warning, "clipped"},
                                {"coils", Severity::suspicion, "a coil of noise"}};
  leave_out_consequences(findings);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].code, "coils");
  EXPECT_EQ(findings[1].code, "noise");
  EXPECT_EQ(findings[2].code, "clipping");
}

}  // namespace
}  // namespace fhd
