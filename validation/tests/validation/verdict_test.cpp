// The verdict on a model: that it passes what is right, finds what is wrong, and names it.
#include "validation/verdict/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/causes.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/raw_samples.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd {
namespace {

using Judgement = Verdict::Judgement;
using data::TrajectoryKind;

/// The trajectory of every readout, `samples` later: linear between the samples of a diameter.
void delay(Scan& scan, double samples) {
  const auto starts = validation::readout_starts(scan.trajectory);
  const auto steps = validation::steps_along_readouts(scan.trajectory, starts);
  for (std::int64_t i = 0; i < steps.size(); ++i) scan.trajectory.k[i] += samples * steps[i];
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < scan.trajectory.sample_count(); ++m) {
      auto& k = scan.trajectory.k[axis * scan.trajectory.sample_count() + m];
      const double half = 0.5 * scan.geometry.matrix_size[static_cast<std::size_t>(axis)];
      k = std::clamp(k, -half, half);
    }
}

TEST(Verdict, explains_scans_that_are_right) {
  const struct {
    TrajectoryKind kind;
    std::array<int, 3> matrix_size;
    int coils;
  } cases[] = {{TrajectoryKind::golden_radial, {64, 64, 1}, 6},
               {TrajectoryKind::spiral, {48, 61, 1}, 4},
               {TrajectoryKind::golden_radial, {48, 48, 1}, 1},
               {TrajectoryKind::cartesian, {48, 48, 1}, 8},
               {TrajectoryKind::stack_of_stars, {24, 24, 12}, 4}};
  for (const auto& [kind, matrix_size, coils] : cases)
    for (const bool with_maps : {true, false}) {
      Scan scan = simulated(kind, matrix_size, coils).scan;
      if (!with_maps) scan.sensitivity_maps.reset();
      const Verdict v = verdict_of(scan);
      EXPECT_EQ(v.judgement, Judgement::explained) << data::name_of(kind) << ": " << v.sentence;
      EXPECT_LE(v.unexplained, 0.04) << data::name_of(kind);
      EXPECT_GE(v.seconds, 0);
    }
}

TEST(Verdict, knows_the_noise) {
  const auto simulation = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 6);
  const Verdict v = verdict_of(simulation.scan);
  const double variance = 2 * std::pow(simulation.noise_standard_deviation, 2);
  // Estimated from some 10^4 residuals and what the fit leaves of the signal: 20 %.
  EXPECT_LE(v.noise_variance, 1.2 * variance);
  EXPECT_GE(v.noise_variance, 0.8 * variance);
  EXPECT_GE(v.chi_squared, 0.9);
  EXPECT_LE(v.chi_squared, 1.3);
}

TEST(Verdict, divides_what_is_left_over_by_radius_coil_and_readout) {
  const auto simulation = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 6);
  const double all = 6 * static_cast<double>(simulation.scan.trajectory.sample_count());
  const Verdict v = verdict_of(simulation.scan);
  // |r|^2 / |d|^2 of everything, from each of the three divisions.
  const auto from = [&](const std::vector<Misfit>& parts) {
    double samples = 0, share = 0;
    for (const auto& part : parts)
      samples += part.samples, share += part.energy * std::pow(part.unexplained, 2);
    EXPECT_EQ(samples, all);
    return share;
  };
  const double share = from(v.by_radius);
  EXPECT_NEAR(from(v.by_coil), share, 1e-9 * share);
  double beyond = 0;
  for (const auto& shell : v.by_radius)
    beyond += shell.energy * std::pow(std::max(0.0, shell.beyond_noise), 2);
  EXPECT_NEAR(beyond, v.tested * std::pow(v.unexplained, 2), 1e-9 * share);
  const auto groups = static_cast<std::int64_t>(v.by_readout.size());
  EXPECT_EQ(groups, (simulation.readout_count + v.readouts_per_group - 1) / v.readouts_per_group);
  EXPECT_LE(groups, 48);
  double readouts = 0;
  for (std::int64_t g = 0; g < groups; ++g)
    readouts += std::pow(v.by_readout[static_cast<std::size_t>(g)], 2) *
                static_cast<double>(
                    std::min(v.readouts_per_group, simulation.readout_count - g * v.readouts_per_group)) /
                static_cast<double>(simulation.readout_count);
  EXPECT_NEAR(readouts, share, 1e-9 * share);
  // The fit takes some of the noise along, and leaves some of the signal; as in knows_the_noise.
  EXPECT_LE(std::sqrt(share), 1.2 * v.noise_share);
  EXPECT_GE(std::sqrt(share), 0.8 * v.noise_share);
}

TEST(Verdict, says_how_much_is_left_over_also_where_no_alarm_is_due) {
  const auto decided = [](double unexplained, std::size_t coils = 2) {
    Verdict v;
    v.tested = 1;
    v.unexplained = unexplained;
    v.by_coil.assign(coils, {0, 0.5, 0.1, 1});
    validation::decide(v, 1e-4, 30);
    return v;
  };
  EXPECT_EQ(decided(0.003).judgement, Judgement::explained);
  EXPECT_EQ(decided(0.003).sentence,
            "the image explains the data: 0.3 % of the signal is left over beyond noise (estimated)");
  EXPECT_EQ(decided(0.06).judgement, Judgement::ordinary);
  EXPECT_EQ(decided(0.06).sentence,
            "the image explains the data but for an ordinary rest: 6.0 % of the signal is left over beyond "
            "noise (estimated), as scans in vivo leave");
  EXPECT_EQ(decided(0.08).judgement, Judgement::unexplained);
  EXPECT_NE(decided(0.003, 1).sentence.find("off-resonance would not show"), std::string::npos)
      << "one coil cannot tell";
}

TEST(Verdict, is_quiet_up_to_what_ordinary_sources_leave_over) {
  Verdict v;
  v.tested = 1, v.unexplained = 0.12;
  v.by_coil.assign(2, {0, 0.5, 0.1, 1});
  v.ordinary = {{"outside_fov", "tissue outside the field of view (8 % of the energy)", 8, 0, "%", 0.6},
                {"motion", "motion of some 0.3 voxels", 0.3, 0, "voxels", 0.3}};
  const auto decided = [&](double limit) {
    v.ordinary_limit = limit, v.cause.reset();
    validation::decide(v, 1e-4, 30);
    return v;
  };
  // 0.4 * 0.7 of the energy is explained by neither: 0.07 / 0.28^(3/4) = 0.182.
  const double limit = validation::ordinary_limit(1 - 0.4 * 0.7);
  EXPECT_NEAR(limit, 0.1819, 1e-4);
  EXPECT_EQ(decided(limit).judgement, Judgement::ordinary);
  EXPECT_EQ(
      v.sentence,
      "the image explains the data but for an ordinary rest: 12 % of the signal is left over beyond noise "
      "(estimated), likeliest by tissue outside the field of view (8 % of the energy) and motion of some "
      "0.3 voxels");
  EXPECT_TRUE(validation::calls_for_a_cause(v)) << "a mistake may leave as much";
  EXPECT_EQ(decided(0.11).judgement, Judgement::unexplained);
  v.unexplained = 0.06;
  EXPECT_EQ(decided(limit).judgement, Judgement::ordinary);
  EXPECT_FALSE(validation::calls_for_a_cause(v));
}

TEST(Verdict, has_an_ordinary_limit_only_for_a_share_that_is_one) {
  EXPECT_EQ(validation::ordinary_limit(0), validation::unexplained_limit);
  EXPECT_EQ(validation::ordinary_limit(0.999), validation::most_ordinary);
  for (const double share : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(validation::ordinary_limit(share), validation::unexplained_limit);
}

TEST(Verdict, takes_an_object_beyond_the_field_of_view_for_no_scale_of_k) {
  const auto decided = [](double outside, double unexplained) {
    Verdict v;
    v.tested = 1, v.unexplained = unexplained, v.ordinary_limit = validation::ordinary_limit(outside);
    v.by_coil.assign(2, {0, 0.5, 0.1, 1});
    v.ordinary = {{codes::outside_fov, "tissue outside the field of view", 2, 0, "%", outside}};
    v.cause = Finding{"scale", "k along y is 3.0 \u00b1 0.6 % too short", 3, 0.6, "%", 0.7, 0.13};
    validation::decide(v, 1e-4, 30);
    return v.judgement;
  };
  EXPECT_EQ(decided(0.9, 0.09), Judgement::ordinary);
  EXPECT_EQ(decided(0.5, 0.09), Judgement::unexplained) << "the scale explains more";
  EXPECT_EQ(decided(0.64, 0.3), Judgement::unexplained) << "too much is left over";
}

TEST(Verdict, says_that_the_signal_varies_where_contrast_is_the_likeliest_source) {
  const auto decided = [](double contrast, double maps, double unexplained) {
    Verdict v;
    v.tested = 1, v.unexplained = unexplained, v.ordinary_limit = 0.2;
    v.ordinary = {{"signal", "contrast between readouts", 20, 0, "%", contrast},
                  {"maps", "sensitivity maps that are off", 5, 0, "%", maps}};
    if (maps > contrast) std::swap(v.ordinary[0], v.ordinary[1]);
    validation::decide(v, 1e-4, 30);
    return v.judgement;
  };
  EXPECT_EQ(decided(0.6, 0.2, 0.1), Judgement::varies);
  EXPECT_EQ(decided(0.6, 0.7, 0.1), Judgement::ordinary);
  EXPECT_EQ(decided(0.3, 0.2, 0.1), Judgement::ordinary);
  EXPECT_EQ(decided(0.6, 0.2, 0.06), Judgement::ordinary) << "little is left over";
}

TEST(Verdict, names_a_cause_with_its_size_however_little_is_left_over) {
  Verdict v;
  v.tested = 1, v.unexplained = 0.02;
  v.by_coil.assign(2, {0, 0.5, 0.1, 1});
  v.cause = Finding{"scale", "k along x is 3.0 \u00b1 0.1 % too long", 3, 0.1, "%", 0.8, 0.36};
  validation::decide(v, 1e-4, 30);
  EXPECT_EQ(v.judgement, Judgement::unexplained);
  EXPECT_EQ(
      v.sentence,
      "the data contradict the model; likeliest cause: k along x is 3.0 \u00b1 0.1 % too long, which changes "
      "the image by about 36 %");
}

TEST(Verdict, takes_for_contrast_what_real_factors_of_readouts_explain) {
  const auto decided = [](const Finding& cause, double real, double imaginary) {
    Verdict v;
    v.tested = 1, v.unexplained = 0.2;
    v.by_coil.assign(2, {0, 0.5, 0.1, 1});
    v.changes = {{"signal", "the signal changes", 30, 0, "%", real},
                 {"phase", "phases", 5, 0, "", imaginary}};
    v.cause = cause;
    validation::decide(v, 1e-4, 30);
    return v;
  };
  for (const char* const code : {"phase", "order", "exchange"}) {
    const Finding cause{code, "readouts differ", 1, 0, "readouts", validation::shown_by_samples};
    EXPECT_EQ(decided(cause, 0.8, 0.004).judgement, Judgement::varies) << code;
    EXPECT_EQ(decided(cause, 0.8, 0.1).judgement, Judgement::unexplained)
        << code << ": imaginary factors explain more";
    EXPECT_EQ(decided(cause, 0.3, 0.001).judgement, Judgement::unexplained)
        << code << ": real factors explain less";
  }
  const auto gain = [](double percent) {
    return Finding{"signal", "the gain changes", percent, 0, "%", validation::shown_by_samples, 0.5};
  };
  EXPECT_TRUE(decided(gain(40), 0.8, 0.004).cause) << "a gain may do this";
  EXPECT_FALSE(decided(gain(300), 0.8, 0.004).cause) << "no gain reaches this";
}

TEST(Verdict, tells_a_delay_and_its_size) {
  Scan scan = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 4).scan;
  delay(scan, 0.25);
  const Verdict v = verdict_of(scan);
  EXPECT_EQ(v.judgement, Judgement::unexplained);
  ASSERT_TRUE(v.cause);
  EXPECT_EQ(v.cause->code, codes::delays);
  const auto* change = validation::change_of(v, codes::delays);
  ASSERT_NE(change, nullptr);
  EXPECT_NEAR(v.cause->amount, 0.25, 0.15 * 0.25);
}

TEST(Verdict, cannot_tell_where_every_image_explains_the_data) {
  Scan scan = simulated(TrajectoryKind::cartesian, {32, 32, 1}, 1).scan;
  scan.sensitivity_maps.reset();
  EXPECT_EQ(verdict_of(scan).judgement, Judgement::untested);
  scan.kspace.values.fill_zero();
  EXPECT_EQ(verdict_of(scan).sentence, "all samples are zero: there is nothing to explain");
}

TEST(Verdict, says_that_the_solver_stopped_early) {
  const Scan scan = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 4).scan;
  LeastSquares method;
  method.iterations = 3;
  method.preconditioner = PreconditionerKind::none;
  EXPECT_EQ(verdict_of(scan, {method}).judgement, Judgement::not_converged);
  Verdict v;
  v.unexplained = 0.5;
  v.tested = 1;
  validation::decide(v, 0.1, 30);
  EXPECT_EQ(v.judgement, Judgement::unexplained) << "so many iterations excuse nothing";
}

TEST(Verdict, takes_a_signal_that_changes_with_the_readouts_for_an_average) {
  Scan scan = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 1).scan;
  scan.sensitivity_maps.reset();
  const auto starts = validation::readout_starts(scan.trajectory);
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (auto m = starts[j]; m < starts[j + 1]; ++m)
      scan.kspace.values[m] *= static_cast<float>(0.6 + 0.4 * std::sin(0.3 * static_cast<double>(j)));
  EXPECT_EQ(verdict_of(scan).judgement, Judgement::varies);
}

TEST(Verdict, is_not_good_where_a_figure_is_not_a_number) {
  Verdict v;
  v.unexplained = std::numeric_limits<double>::quiet_NaN();
  v.tested = 1;
  validation::decide(v, 1e-4, 30);
  EXPECT_EQ(v.judgement, Judgement::unexplained);
}

TEST(Verdict, finds_one_coil_that_does_not_fit) {
  Verdict v;
  v.tested = 1;
  v.unexplained = 0.03;
  for (const double chi_squared : {1.1, 1.0, 5.0, 1.2})
    v.by_coil.push_back({0, 0.25, chi_squared > 2 ? 0.1 : 0.05, chi_squared});
  validation::decide(v, 1e-4, 30);
  EXPECT_EQ(v.judgement, Judgement::unexplained);
  ASSERT_TRUE(v.cause);
  EXPECT_EQ(v.cause->code, "coil");
}

TEST(Readouts, start_where_the_trajectory_jumps) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral, TrajectoryKind::cartesian,
                          TrajectoryKind::stack_of_stars}) {
    const std::array<int, 3> matrix_size{32, 32, kind == TrajectoryKind::stack_of_stars ? 8 : 1};
    const auto simulation = simulated(kind, matrix_size, 1);
    const auto starts = validation::readout_starts(simulation.scan.trajectory);
    ASSERT_EQ(static_cast<std::int64_t>(starts.size()), simulation.readout_count + 1) << data::name_of(kind);
    for (std::size_t j = 0; j < starts.size(); ++j)
      EXPECT_EQ(starts[j], static_cast<std::int64_t>(j) * simulation.readout_length);
  }
}

// --- Causes ---

std::string cause_of(const Scan& scan) {
  return validation::likeliest_cause(scan, {}, {}).value_or(Finding{"", "none"}).text;
}

TEST(RawSamples, show_that_the_weakest_were_set_to_zero) {
  constexpr Index length = 64, count = 8 * length;
  Scan scan;
  scan.trajectory.k = Array<double>(Shape{3, count});
  scan.kspace.values = Array<Complex<float>>(Shape{1, count});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (Index m = 0; m < count; ++m) {
    scan.trajectory.k[m] = static_cast<double>(m % length - length / 2);
    scan.trajectory.k[count + m] = static_cast<double>(m / length), scan.trajectory.k[2 * count + m] = 0;
    const float re = normal(random), im = normal(random);
    scan.kspace.values[m] = {re, im};
  }
  Scan filled = scan, whole = scan, lossy = scan;
  for (Index m = 0; m < count; ++m) {
    const auto d = scan.kspace.values[m];
    if (m % length >= 48) filled.kspace.values[m] = {0, 0};
    whole.kspace.values[m] = {std::round(d.re), std::round(d.im)};
    if (norm(d) < 1) lossy.kspace.values[m] = {0, 0};
  }
  EXPECT_FALSE(validation::lost_weak_samples(scan));
  EXPECT_FALSE(validation::lost_weak_samples(filled));
  EXPECT_FALSE(validation::lost_weak_samples(whole));
  const auto found = validation::lost_weak_samples(lossy);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "lossy");
  EXPECT_NEAR(found->amount, 39, 5);  // 1 - exp(-1/2)
}

TEST(RawSamples, of_zeros_that_fill_readouts_up_are_not_lossy) {
  constexpr Index length = 64, count = 8 * length, coils = 6;
  Scan scan;
  scan.trajectory.k = Array<double>(Shape{3, count});
  scan.kspace.values = Array<Complex<float>>(Shape{coils, count});
  for (Index m = 0; m < count; ++m) {
    scan.trajectory.k[m] = static_cast<double>(m % length - length / 2);
    scan.trajectory.k[count + m] = static_cast<double>(m / length), scan.trajectory.k[2 * count + m] = 0;
  }
  for (Index i = 0; i < coils * count; ++i)  // no value below 1, although all lie between 1 and 2
    scan.kspace.values[i] = {i % length < 48 ? 1 + static_cast<float>(i % 997) / 1000 : 0, 0};
  EXPECT_FALSE(validation::lost_weak_samples(scan));
  for (Index i = 0; i < coils * count; ++i)
    if (i % 3 == 0) scan.kspace.values[i] = {};
  EXPECT_TRUE(validation::lost_weak_samples(scan));
}

TEST(Causes, are_none_of_a_scan_that_is_right) {
  Scan scan = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 4).scan;
  EXPECT_EQ(cause_of(scan), "none");
  scan.sensitivity_maps.reset();
  EXPECT_EQ(cause_of(scan), "none");
}

TEST(Causes, name_what_was_planted) {
  const Scan right = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 4).scan;
  const auto count = right.trajectory.sample_count();
  const auto expect = [&](const char* word, const std::function<void(Scan&)>& plant) {
    Scan scan(right);
    plant(scan);
    EXPECT_NE(cause_of(scan).find(word), std::string::npos) << cause_of(scan) << " for " << word;
  };
  expect("swapped", [&](Scan& s) {
    for (std::int64_t m = 0; m < count; ++m) std::swap(s.trajectory.k[m], s.trajectory.k[count + m]);
  });
  expect("sign of k_x", [&](Scan& s) {
    for (std::int64_t m = 0; m < count; ++m) s.trajectory.k[m] = -s.trajectory.k[m];
  });
  expect("2 times as long", [&](Scan& s) {
    for (auto& k : s.trajectory.k) k /= 2;
  });
  expect("conjugated", [&](Scan& s) {
    for (auto& d : s.kspace.values) d.im = -d.im;
  });
  expect("maps", [&](Scan& s) {
    const auto told = s.sensitivity_maps->values;
    const auto of_coil = told.size() / told.extent(0);
    for (std::int64_t i = 0; i < told.size(); ++i)
      s.sensitivity_maps->values[i] = told[(i + of_coil) % told.size()];
  });
}

}  // namespace
}  // namespace fhd
