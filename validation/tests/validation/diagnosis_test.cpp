// Findings of the input doctor on a scan without a fault, into which one fault at a time is put.
#include "validation/doctor/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/simulate.hpp"

namespace fhd {
namespace {

constexpr std::int64_t readout_length = 64;

/// Golden-angle spokes of 32 x 32 voxels, four coils.
Scan faultless_scan() {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {32, 32, 1};
  settings.trajectory.readout_length = readout_length;
  settings.coil_count = 4;
  return data::simulate(settings).scan;
}

bool warns(const Scan& scan, const std::string& topic, const std::string& words) {
  const auto findings = diagnose(scan, readout_length);
  return std::any_of(findings.begin(), findings.end(), [&](const Message& finding) {
    return is_doubt(finding) && finding.code == topic && finding.text.find(words) != std::string::npos;
  });
}

Complex<float>* readout(Scan& scan, std::int64_t coil, std::int64_t index) {
  return scan.kspace.values.data() + coil * scan.kspace.sample_count() + index * readout_length;
}

TEST(Diagnosis, finds_a_repeated_readout_among_those_with_the_same_middle) {
  Scan scan = faultless_scan();
  const auto copy = [&](std::int64_t from, std::int64_t to, std::int64_t first, std::int64_t count) {
    for (std::int64_t coil = 0; coil < 4; ++coil)
      std::copy_n(readout(scan, coil, from) + first, count, readout(scan, coil, to) + first);
  };
  copy(1, 2, readout_length / 2 - 2, 4);
  EXPECT_FALSE(warns(scan, "readouts", "repeat the values"));
  copy(2, 5, 0, readout_length);
  EXPECT_TRUE(
      warns(scan, "readouts", "repeat the values of another one at other k-space positions (first: 5)"));
}

TEST(Diagnosis, positions_are_of_scans_with_the_same_places_on_the_same_matrix) {
  const Scan scan = faultless_scan();
  const SampledPositions positions(scan, readout_length);
  Scan other = scan;
  other.kspace.values[0] = Complex<float>(7);
  EXPECT_TRUE(positions.are_of(other));
  other.trajectory.k[3] += 1e-12;
  EXPECT_FALSE(positions.are_of(other));
  other = scan, other.geometry.fov_mm[1] *= 2;
  EXPECT_FALSE(positions.are_of(other));
  other = scan, other.geometry.matrix_size[0] = 34;
  EXPECT_FALSE(positions.are_of(other));
}

TEST(Diagnosis, warns_of_nothing_in_a_faultless_scan) {
  for (const auto& finding : diagnose(faultless_scan(), readout_length))
    EXPECT_LT(static_cast<int>(finding.severity), static_cast<int>(Severity::warning)) << finding.text;
}

TEST(Diagnosis, advises_the_matrix_of_which_the_lines_are_a_grid) {
  for (const auto& [lowest, highest, matrix] : {std::array{-128, 127, 256},
                                                {-127, 127, 255},
                                                {-64, 63, 128},
                                                {-64, 10, 128},
                                                {-7, 7, 15},
                                                {-8, 7, 16}}) {
    const int columns = highest - lowest + 1;
    Scan scan;
    scan.geometry.matrix_size = {4 * matrix, 2, 1};
    scan.trajectory.k = Array<double>({3, columns * 2});
    scan.kspace.values = Array<Complex<float>>({1, columns * 2});
    for (int m = 0; m < 2 * columns; ++m) {
      scan.trajectory.k[m] = lowest + m % columns;
      scan.trajectory.k[2 * columns + m] = m / columns - 1;
      scan.kspace.values[m] = {static_cast<float>(m % 7), 1};
    }
    const auto findings = diagnose(scan, 0);
    const auto found = std::ranges::find_if(findings, [](const Message& finding) {
      return finding.code == "extent" && finding.severity == Severity::warning;
    });
    ASSERT_NE(found, findings.end());
    const auto advised = "--matrix " + std::to_string(matrix) + ",2,1";
    EXPECT_EQ(found->remedy.substr(0, advised.size()), advised);
  }
}

TEST(Diagnosis, finds_spikes) {
  Scan scan = faultless_scan();
  EXPECT_FALSE(warns(scan, "spikes", ""));
  double largest = 0;
  for (const auto& value : scan.kspace.values) largest = std::max(largest, double(abs(value)));
  readout(scan, 2, 7)[10] = {static_cast<float>(largest), 0};
  EXPECT_TRUE(warns(scan, "spikes", "coil 2, sample " + std::to_string(7 * readout_length + 10)));
}

TEST(Diagnosis, measures_how_many_samples_the_receiver_clipped) {
  Scan scan = faultless_scan();
  EXPECT_FALSE(warns(scan, "clipping", ""));
  float limit = 0;  // a quarter of the largest part
  for (const auto& d : scan.kspace.values)
    limit = std::max({limit, 0.25f * std::abs(d.re), 0.25f * std::abs(d.im)});
  std::int64_t clipped = 0;
  for (auto& d : scan.kspace.values) {
    clipped += std::max(std::abs(d.re), std::abs(d.im)) > limit;
    d = {std::clamp(d.re, -limit, limit), std::clamp(d.im, -limit, limit)};
  }
  EXPECT_TRUE(warns(scan, "clipping", std::to_string(clipped) + " samples"));
}

TEST(Diagnosis, tells_a_coil_of_noise) {
  Scan scan = faultless_scan();
  EXPECT_FALSE(warns(scan, "coils", ""));
  const auto count = scan.kspace.sample_count();
  std::uint32_t state = 1;  // numbers of equal distribution are noise enough
  const auto next = [&] { return static_cast<float>(state = state * 1664525 + 1013904223) / 4.3e9f - 0.5f; };
  for (std::int64_t m = 0; m < count; ++m) scan.kspace.values[2 * count + m] = {next(), next()};
  EXPECT_TRUE(warns(scan, "coils", "Coil 2 (from 0) holds noise alone"));
}

TEST(Diagnosis, zeros_and_lines_of_signal_are_no_spikes) {
  Scan masked = faultless_scan();  // single samples between zeros
  for (std::int64_t coil = 0; coil < 4; ++coil)
    for (std::int64_t m = 0; m < masked.kspace.sample_count(); ++m)
      if (m % 8 != 3) masked.kspace.values[coil * masked.kspace.sample_count() + m] = {};
  EXPECT_FALSE(warns(masked, "spikes", ""));

  // A box as long as the FOV along x: all its signal lies in the plane kx = 0, which every readout crosses.
  constexpr int n = 32;
  const data::Phantom box(3, {{data::PhantomPart::Form::box, {0.01, 0.02, 0}, {0.5, 0.17, 0.23}, 0, 1}});
  Scan flat;
  flat.geometry.matrix_size = {n, n, n};
  flat.trajectory.k = Array<double>({3, n * n * n});
  flat.kspace.values = Array<Complex<float>>({1, n * n * n});
  std::int64_t m = 0;
  for (int z = -n / 2; z < n / 2; ++z)
    for (int y = -n / 2; y < n / 2; ++y)
      for (int x = -n / 2; x < n / 2; ++x, ++m) {
        const data::Vector3 k{double(x), double(y), double(z)};
        for (int axis = 0; axis < 3; ++axis) flat.trajectory.k[axis * n * n * n + m] = k[axis];
        flat.kspace.values[m] = static_cast<Complex<float>>(box.fourier_integral(k));
      }
  data::add_noise(flat.kspace.values, 1e-6, 1);
  flat.validate("box");
  EXPECT_FALSE(warns(flat, "spikes", ""));
  flat.kspace.values[n * n * 5 + n * 5 + 9] = {0.05F, 0};
  EXPECT_TRUE(warns(flat, "spikes", "1 sample stands"));
}

TEST(Diagnosis, knows_what_recon_would_refuse_to_fold) {
  Scan scan = faultless_scan();
  constexpr int n = 32;
  const auto coils = scan.kspace.coil_count();
  scan.sensitivity_maps.reset();
  scan.sample_time_s.reset();
  scan.geometry.matrix_size = {n, n, 1};
  scan.trajectory.k = Array<double>({3, n * n / 2});
  scan.kspace.values = Array<Complex<float>>({coils, n * n / 2});
  for (std::int64_t i = 0; i < n * n / 2; ++i) {
    scan.trajectory.k[i] = static_cast<double>(i % n - n / 2);
    scan.trajectory.k[n * n / 2 + i] = static_cast<double>(i / n * 2 - n / 2);
  }
  data::add_noise(scan.kspace.values, 1, 1);
  const auto refuses = [&] {
    for (const auto& finding : diagnose(scan, 0))
      if (finding.severity == Severity::problem && finding.code == "density") return true;
    return false;
  };
  EXPECT_TRUE(refuses());
  scan.calibration = Calibration{scan.trajectory, scan.kspace};
  EXPECT_FALSE(refuses());
}

TEST(Diagnosis, finds_repeated_constant_and_empty_readouts) {
  Scan scan = faultless_scan();
  for (std::int64_t coil = 0; coil < 4; ++coil) {
    std::copy_n(readout(scan, coil, 3), readout_length, readout(scan, coil, 5));
    std::fill_n(readout(scan, coil, 8), readout_length, *readout(scan, coil, 8));
    std::fill_n(readout(scan, coil, 9), readout_length, Complex<float>{});
  }
  EXPECT_TRUE(
      warns(scan, "readouts",
            "1 of " + std::to_string(scan.kspace.sample_count() / readout_length) + " readouts repeat"));
  EXPECT_TRUE(warns(scan, "readouts", "same value in 1 of"));
  EXPECT_TRUE(warns(scan, "readouts", "hold only zeros (first: 9)"));
}

TEST(Diagnosis, does_not_take_the_zeros_of_a_dead_coil_for_repeated_readouts) {
  Scan scan = faultless_scan();
  std::fill_n(scan.kspace.values.data(), scan.kspace.sample_count(), Complex<float>{});
  EXPECT_TRUE(warns(scan, "coils", "Coil 0"));
  EXPECT_FALSE(warns(scan, "readouts", ""));
}

TEST(Diagnosis, measures_the_delay_of_a_trajectory) {
  Scan scan = faultless_scan();
  const auto undelayed = readout_shift(scan, readout_length);
  ASSERT_TRUE(undelayed);
  constexpr double delay = 1.5;  // cycles/FOV along every readout
  const auto samples = scan.kspace.sample_count();
  double* k = scan.trajectory.k.data();
  for (std::int64_t begin = 0; begin < samples; begin += readout_length) {
    const auto end = begin + readout_length - 1;
    const double x = k[end] - k[begin], y = k[samples + end] - k[samples + begin], length = std::hypot(x, y);
    for (auto m = begin; m <= end; ++m) {
      // Shortened, so that the shifted readout stays within the matrix.
      k[m] = 0.9 * k[m] + delay * x / length;
      k[samples + m] = 0.9 * k[samples + m] + delay * y / length;
    }
  }
  const auto shift = readout_shift(scan, readout_length);
  ASSERT_TRUE(shift);
  // A quarter of a sample's distance of 0.5 cycles/FOV, as the energy's own asymmetry is that small.
  EXPECT_LE(std::abs(*undelayed), 0.125);
  EXPECT_LE(std::abs(*shift - delay), 0.125);
  EXPECT_TRUE(warns(scan, "delays", "1.5 cycles/FOV behind k = 0"));
}

TEST(Diagnosis, suspects_values_without_a_signal) {
  Scan scan = faultless_scan();
  scan.kspace.values.fill_zero();
  data::add_noise(scan.kspace.values, 1, 5);
  EXPECT_TRUE(warns(scan, "centre", "no more energy per sample"));
}

TEST(SamplingDensity, is_the_factor_by_which_cartesian_lines_are_left_out) {
  for (const int factor : {1, 2, 4}) {
    data::TrajectorySettings settings;
    settings.kind = data::TrajectoryKind::cartesian;
    settings.matrix_size = {64, 48, 1};
    settings.undersampling = factor;
    const auto density = sampling_density(data::design_trajectory(settings).trajectory, settings.matrix_size);
    ASSERT_TRUE(density);
    EXPECT_DOUBLE_EQ(density->spacing[0], 1);
    EXPECT_DOUBLE_EQ(density->spacing[1], factor);
    // Exact but for the lines beyond the last one, which are not between any two: at most one distance of 48
    // lines.
    EXPECT_LE(std::abs(density->undersampling - factor), factor * factor / 48.0);
  }
}

}  // namespace
}  // namespace fhd
