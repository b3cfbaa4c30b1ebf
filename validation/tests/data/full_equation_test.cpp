#include "data/full_equation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/simulate.hpp"

namespace fhd::data {
namespace {

double relative_difference(const Array<Complex<float>>& found, const Array<Complex<float>>& expected) {
  double difference = 0, all = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    difference += norm(Complex<double>(found[i] - expected[i]));
    all += norm(Complex<double>(expected[i]));
  }
  return std::sqrt(difference / all);
}

SimulationSettings small_spiral(int n = 24) {
  SimulationSettings settings;
  settings.trajectory.matrix_size = {n, n, 1};
  settings.trajectory.kind = TrajectoryKind::spiral;
  settings.coil_count = 3;
  settings.snr.reset();
  return settings;
}

/// Adds terms, each with the same coefficient at every sample times its number.
std::function<void(Scan&)> with_terms(std::vector<FieldFunction> functions, double at_last) {
  return [=](Scan& scan) {
    const auto samples = scan.trajectory.sample_count();
    Fields fields{functions, Array<double>({std::ssize(functions), samples})};
    for (std::int64_t i = 0; i < fields.coefficients.size(); ++i)
      fields.coefficients[i] = at_last * static_cast<double>(i % samples + 1) / static_cast<double>(samples);
    scan.fields = std::move(fields);
  };
}

TEST(FullEquationOfPhantoms, without_other_phases_is_the_closed_form) {
  auto settings = small_spiral(48);
  const auto expected = simulate(settings).scan.kspace.values;
  settings.add_fields = with_terms({FieldFunction::x2_y2}, 0);
  EXPECT_LE(relative_difference(simulate(settings).scan.kspace.values, expected), 1e-3);
}

TEST(FullEquationOfPhantoms, off_resonance_is_that_of_the_closed_form) {
  auto settings = small_spiral(48);
  settings.field_hz = 60;
  settings.echo_times_s = {0.004};
  const auto expected = simulate(settings).scan.kspace.values;
  settings.add_fields = with_terms({FieldFunction::x2_y2}, 0);
  EXPECT_LE(relative_difference(simulate(settings).scan.kspace.values, expected), 1e-3);
}

TEST(FullEquationOfPhantoms, a_linear_term_moves_positions_and_a_constant_turns_samples) {
  auto settings = small_spiral();
  const Scan plain = simulate(settings).scan;
  const auto samples = plain.trajectory.sample_count();
  // 2 cycles/FOV along x at the last sample, beside a constant of as many rad.
  const double kappa = 2 * 2 * std::numbers::pi / 0.24;
  settings.add_fields = with_terms({FieldFunction::x, FieldFunction::one}, kappa);
  const auto found = simulate(settings).scan.kspace.values;
  settings.add_fields = [&](Scan& scan) {
    for (std::int64_t m = 0; m < samples; ++m)
      scan.trajectory.k[m] += 2 * static_cast<double>(m + 1) / static_cast<double>(samples);
    with_terms({FieldFunction::x2_y2}, 0)(scan);
  };
  auto expected = simulate(settings).scan.kspace.values;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double phase = -kappa * static_cast<double>(i % samples + 1) / static_cast<double>(samples);
    expected[i] =
        Complex<float>(Complex<double>(std::cos(phase), std::sin(phase)) * Complex<double>(expected[i]));
  }
  EXPECT_LE(relative_difference(found, expected), 1e-5);
}

TEST(FullEquationOfPhantoms, decay_takes_signal_with_time) {
  auto settings = small_spiral();
  settings.echo_times_s = {0.01, 0.03};
  const auto size = [](const Array<Complex<float>>& values) {
    double sum = 0;
    for (const auto& v : values) sum += norm(Complex<double>(v));
    return std::sqrt(sum);
  };
  settings.decay_per_s = 50;
  const auto decayed = simulate(settings);
  const auto rates = decayed.decay;
  EXPECT_GE(*std::min_element(rates.begin(), rates.end()), 0);
  EXPECT_LE(*std::max_element(rates.begin(), rates.end()), 50);
  const double first = size(decayed.scan.kspace.values), later = size(decayed.further_repetitions.front());
  EXPECT_LT(later, 0.9 * first);
  EXPECT_GT(later, std::exp(-50 * 0.02) * first);
}

TEST(FullEquationOfPhantoms, two_components_decay_as_tissue_and_fluid_do) {
  auto settings = small_spiral();
  settings.phantom = PhantomKind::sodium;
  settings.echo_times_s = {0.01};
  const auto of = [&](double fraction, double fast_per_s, double slow_per_s) {
    settings.two_components = TwoComponents{fraction, fast_per_s, slow_per_s};
    return simulate(settings).scan;
  };
  const Scan whole = of(0.6, 0, 0);
  const auto& all = whole.kspace.values;
  const auto& time_s = whole.sample_time_s.value();
  auto expected = all;
  for (std::int64_t i = 0; i < all.size(); ++i) {  // spirals begin at the centre, 0.01 s after the excitation
    const double t = 0.01 + time_s[i % time_s.size()];
    expected[i] = Complex<float>(std::exp(-70 * t) * Complex<double>(all[i]));
  }
  EXPECT_LE(relative_difference(of(0.6, 70, 70).kspace.values, expected), 1e-6);
  // With all of tissue in the first component, which is gone, fluid is left; with fluid gone, tissue.
  const auto fluid = of(1, 1e5, 0).kspace.values, tissue = of(1, 0, 1e5).kspace.values;
  EXPECT_GE(relative_difference(fluid, all), 0.1);
  EXPECT_GE(relative_difference(tissue, all), 0.1);
  EXPECT_LE(relative_difference(of(0, 1e5, 0).kspace.values, all), 1e-6);
  for (std::int64_t i = 0; i < all.size(); ++i) expected[i] = fluid[i] + tissue[i];
  EXPECT_LE(relative_difference(expected, all), 1e-6);
}

}  // namespace
}  // namespace fhd::data
