#include "data/full_equation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/simulate.hpp"
#include "recon/encoding/sense.hpp"

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

TEST(FullEquationOfPhantoms, two_components_are_those_of_exact_sums_with_the_true_maps) {
  SimulationSettings settings;
  settings.phantom = PhantomKind::sodium;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.trajectory.kind = TrajectoryKind::cartesian;
  settings.coil_count = 1;
  settings.snr.reset();
  settings.echo_times_s = {0.008};
  const auto without = simulate(settings).scan.kspace.values;
  settings.two_components = TwoComponents{0.6, 400, 40};
  const auto decayed = simulate(settings);
  Scan scan = decayed.scan;
  for (double& t : *scan.sample_time_s) t += decayed.echo_shifts_s.front();
  scan.decay_per_s = decayed.decay;
  scan.second_decay = decayed.second_decay;
  scan.validate("scan");
  // The voxels' means are not what is sampled beyond their size: compared is the share that decay takes.
  const auto image = converted<Complex<double>>(decayed.ideal.values);
  Scan still = scan;
  still.decay_per_s.reset(), still.second_decay.reset();
  const auto with_decay = exact_samples(image, scan, Device::cpu()),
             of_voxels = exact_samples(image, still, Device::cpu());
  double difference = 0, all = 0, effect = 0;
  for (std::int64_t i = 0; i < without.size(); ++i) {
    const Complex<double> measured = Complex<double>(decayed.scan.kspace.values[i] - without[i]),
                          expected = with_decay[i] - of_voxels[i];
    difference += norm(measured - expected), all += norm(measured), effect += norm(of_voxels[i]);
  }
  EXPECT_LE(std::sqrt(difference / all), 0.02);
  EXPECT_GE(std::sqrt(all / effect), 0.3) << "decay does not matter in this scan";
}

}  // namespace
}  // namespace fhd::data
