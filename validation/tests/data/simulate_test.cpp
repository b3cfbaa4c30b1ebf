// Simulated scans: noise, definition of the SNR, agreement of the parts.
#include "data/simulate.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "data/phantom.hpp"
#include "recon/array/execution.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"

namespace {

using namespace fhd;
using data::simulate;
using data::SimulationSettings;
using data::TrajectoryKind;

SimulationSettings small_scan(TrajectoryKind kind = TrajectoryKind::cartesian) {
  SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {24, 22, 1};
  settings.coil_count = 3;
  return settings;
}

template <class T>
bool same_bytes(const Array<T>& a, const Array<T>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.size())) == 0;
}

TEST(Noise, has_the_mean_and_standard_deviation_asked_for) {
  constexpr std::int64_t count = 200000;
  Array<Complex<float>> values({2, count / 2});
  data::add_noise(values, 2.5, 42);
  std::int64_t beyond_one = 0, beyond_three = 0;
  double mean_re = 0, mean_im = 0, square_re = 0, square_im = 0, product = 0, neighbours = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double re = values[i].re / 2.5, im = values[i].im / 2.5;
    mean_re += re / count, mean_im += im / count;
    square_re += re * re / count, square_im += im * im / count, product += re * im / count;
    beyond_one += std::abs(re) > 1, beyond_three += std::abs(re) > 3;
    if (i > 0) neighbours += re * values[i - 1].re / 2.5 / count;
  }
  // Five standard deviations: 1/sqrt(n) of means and products, sqrt(2/n) of squares.
  const double five = 5 / std::sqrt(double(count));
  EXPECT_LE(std::abs(mean_re), five);
  EXPECT_LE(std::abs(mean_im), five);
  EXPECT_LE(std::abs(product), five);
  EXPECT_LE(std::abs(neighbours), five);
  EXPECT_LE(std::abs(square_re - 1), five * std::sqrt(2.0));
  EXPECT_LE(std::abs(square_im - 1), five * std::sqrt(2.0));
  // Tails are Gaussian. Binomial: p = 0.31731 and 0.0026998.
  EXPECT_NEAR(double(beyond_one) / count, 0.31731, five * std::sqrt(0.31731 * 0.68269));
  EXPECT_NEAR(double(beyond_three) / count, 0.0026998, five * std::sqrt(0.0027));
}

TEST(Noise, same_seed_gives_the_same_bytes_whatever_the_threads) {
  const int threads = omp_get_max_threads();
  const auto first = simulate(small_scan(TrajectoryKind::spiral));
  omp_set_num_threads(1);
  const auto second = simulate(small_scan(TrajectoryKind::spiral));
  omp_set_num_threads(threads);
  EXPECT_TRUE(same_bytes(first.scan.kspace.values, second.scan.kspace.values));
  EXPECT_TRUE(same_bytes(first.band_limited.values, second.band_limited.values));
  EXPECT_TRUE(same_bytes(first.ideal.values, second.ideal.values));
}

TEST(Noise, other_seeds_give_unrelated_values) {
  constexpr std::int64_t count = 50000;
  Array<Complex<float>> a({count}), b({count});
  data::add_noise(a, 1, 1);
  data::add_noise(b, 1, 2);
  double product = 0;
  for (std::int64_t i = 0; i < count; ++i) product += double(a[i].re) * b[i].re / count;
  EXPECT_LE(std::abs(product), 5 / std::sqrt(double(count)));
}

TEST(Noise, first_values_of_seed_one_are_known) {
  // Recorded from the generator's definition (SplitMix64, Box-Muller), to notice a change of it: scans must
  // stay reproducible. Libraries may differ in the last bit of log, sin and cos.
  Array<Complex<float>> values({2});
  data::add_noise(values, 1, 1);
  const auto splitmix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  EXPECT_EQ(splitmix(1234567u + 0x9e3779b97f4a7c15u),
            6457827717110365317u);  // the published test vector of SplitMix64
  std::uint64_t state = splitmix(1 + 0x9e3779b97f4a7c15u);
  double u[4];
  for (double& uniform : u)
    uniform = (double(splitmix(state += 0x9e3779b97f4a7c15u) >> 11) + 0.5) / 9007199254740992.0;
  for (int i = 0; i < 2; ++i) {
    const double radius = std::sqrt(-2 * std::log(u[2 * i])),
                 angle = 2 * 3.14159265358979323846 * u[2 * i + 1];
    EXPECT_NEAR(values[i].re, radius * std::cos(angle), 1e-6);
    EXPECT_NEAR(values[i].im, radius * std::sin(angle), 1e-6);
  }
}

TEST(Simulation, snr_is_that_of_the_optimally_combined_image_of_a_cartesian_scan) {
  auto settings = small_scan();
  settings.snr = 12;
  settings.coil_count = 8;
  const auto noisy = simulate(settings);
  settings.snr.reset();
  const auto clean = simulate(settings);
  EXPECT_EQ(clean.noise_standard_deviation, 0);

  const std::array<int, 3> n = settings.trajectory.matrix_size;
  const std::int64_t voxels = n[0] * n[1];
  Array<Complex<double>> noise({8, voxels});
  for (std::int64_t i = 0; i < noise.size(); ++i)
    noise[i] = Complex<double>(noisy.scan.kspace.values[i]) - Complex<double>(clean.scan.kspace.values[i]);
  const auto images = oracle::adjoint(noisy.scan.trajectory.k, oracle::voxel_positions(n), noise);
  // Optimal combination of coils with equal noise: sum S* image / RSS has the signal |rho| RSS and the noise
  // of a coil.
  const auto& maps = noisy.scan.sensitivity_maps->values;
  double signal = 0, square = 0, largest = 0;
  std::int64_t object = 0;
  for (const auto& value : clean.ideal.values) largest = std::max(largest, double(abs(value)));
  for (std::int64_t voxel = 0; voxel < voxels; ++voxel) {
    double rss = 0;
    Complex<double> sum;
    for (int coil = 0; coil < 8; ++coil) {
      const Complex<double> s(maps[coil * voxels + voxel]);
      rss += norm(s);
      sum += conj(s) * images[coil * voxels + voxel];
    }
    rss = std::sqrt(rss);
    square +=
        norm((1 / (rss * double(voxels))) * sum) / (2 * double(voxels));  // mean of real and imaginary part
    if (abs(clean.ideal.values[voxel]) <= 0.01 * largest) continue;
    signal += abs(clean.ideal.values[voxel]) * rss;
    ++object;
  }
  const double snr = signal / double(object) / std::sqrt(square);
  // 2 x 528 independent numbers estimate the standard deviation within 1 / sqrt(2 x 1056) = 2.2 %; five of
  // them.
  EXPECT_NEAR(snr, 12, 12 * 5 * 0.022);
}

TEST(Simulation, full_cartesian_scan_with_one_coil_shows_the_band_limited_image) {
  auto settings = small_scan();
  settings.coil_count = 1;
  settings.snr.reset();
  const auto simulation = simulate(settings);
  const std::array<int, 3> n = settings.trajectory.matrix_size;
  auto image = oracle::adjoint(simulation.scan.trajectory.k, oracle::voxel_positions(n),
                               converted<Complex<double>>(simulation.scan.kspace.values));
  for (auto& value : image) value *= 1.0 / (n[0] * n[1]);
  // Samples and image are rounded to single precision: 6e-8 of the largest values each.
  EXPECT_LE(metrics::relative_l2(image, converted<Complex<double>>(simulation.band_limited.values)), 1e-6);
}

TEST(Simulation, sampled_values_are_the_closed_form_times_the_voxel_count) {
  for (auto kind : {TrajectoryKind::variable_density_spiral, TrajectoryKind::stack_of_stars}) {
    auto settings = small_scan(kind);
    settings.phantom = data::PhantomKind::resolution;
    settings.snr.reset();
    if (kind == TrajectoryKind::stack_of_stars) settings.trajectory.matrix_size = {8, 8, 6};
    const auto simulation = simulate(settings);
    const auto& scan = simulation.scan;
    EXPECT_EQ(simulation.readout_count * simulation.readout_length, scan.trajectory.sample_count());
    const int dimensions = settings.trajectory.matrix_size[2] > 1 ? 3 : 2;
    const data::CoilKSpace kspace(data::Phantom::resolution(dimensions), data::CoilArray(dimensions, 3));
    std::vector<Complex<double>> values(3);
    const std::int64_t samples = scan.trajectory.sample_count();
    for (std::int64_t m = 0; m < samples; m += 37) {
      const auto& k = scan.trajectory.k;
      kspace.values({k[m], k[samples + m], k[2 * samples + m]}, values);
      for (int coil = 0; coil < 3; ++coil) {
        const auto expected = double(scan.geometry.voxel_count()) * values[coil];
        EXPECT_LE(abs(Complex<double>(scan.kspace.values[coil * samples + m]) - expected),
                  1e-7 * abs(expected));
      }
    }
  }
}

SimulationSettings three_slices() {
  auto settings = small_scan(TrajectoryKind::spiral);
  settings.slice_count = 3;
  settings.slice_spacing_mm = 24;  // a tenth of the FOV along x
  return settings;
}

TEST(Slices, are_sections_through_object_coils_and_field_at_their_heights) {
  auto settings = three_slices();
  settings.snr.reset();
  settings.field_hz = 60;
  settings.repetition_count = 2;
  const auto slices = data::simulate_slices(settings);
  ASSERT_EQ(slices.size(), 3u);
  const data::CoilArray coils(3, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& scan = slices[i].scan;
    const double height = 0.1 * (static_cast<double>(i) - 1);
    EXPECT_DOUBLE_EQ(scan.geometry.position_mm[2], 240 * height);
    EXPECT_EQ(scan.geometry.fov_mm[2], 5);
    const auto phantom = data::Phantom::shepp_logan(3).section(height);
    const auto expected =
        data::sampled_in_field({phantom, coils.section(height)}, data::WaveField{60}.section(height),
                               scan.trajectory, *scan.sample_time_s, 3, 24.0 * 22);
    EXPECT_TRUE(same_bytes(scan.kspace.values, expected));
    ASSERT_EQ(slices[i].further_repetitions.size(), 1u);
    EXPECT_TRUE(same_bytes(slices[i].further_repetitions[0], expected));
    EXPECT_TRUE(same_bytes(scan.sensitivity_maps->values, coils.section(height).maps({24, 22, 1}).values));
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(slices[i].band_limited.values),
                                   data::band_limited_image(phantom, {24, 22, 1})),
              1e-7);
    EXPECT_EQ(slices[i].ideal.geometry.position_mm, scan.geometry.position_mm);
  }
  // The object does change from slice to slice.
  EXPECT_GE(metrics::relative_l2(converted<Complex<double>>(slices[0].ideal.values),
                                 converted<Complex<double>>(slices[1].ideal.values)),
            0.05);
}

TEST(Slices, have_noise_of_one_size_and_their_own) {
  auto settings = three_slices();
  settings.repetition_count = 2;
  settings.noise_samples = 100;
  const auto noisy = data::simulate_slices(settings);
  settings.snr.reset();
  const auto clean = data::simulate_slices(settings);
  std::vector<Array<Complex<double>>> noise;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(noisy[i].noise_standard_deviation, noisy[0].noise_standard_deviation);
    ASSERT_TRUE(noisy[i].scan.noise.has_value());
    EXPECT_TRUE(same_bytes(*noisy[i].scan.noise, *noisy[0].scan.noise)) << "one file has one";
    for (const auto* values : {&noisy[i].scan.kspace.values, &noisy[i].further_repetitions[0]}) {
      auto& rest = noise.emplace_back(converted<Complex<double>>(*values));
      for (std::int64_t m = 0; m < rest.size(); ++m)
        rest[m] -= Complex<double>(clean[i].scan.kspace.values[m]);
    }
  }
  // Five standard deviations: 2 n numbers estimate a variance within sqrt(1 / n), n products a mean within the same.
  const double square = 2 * std::pow(noisy[0].noise_standard_deviation, 2),
               n = static_cast<double>(noise[0].size()), five = 5 / std::sqrt(n);
  for (std::size_t a = 0; a < noise.size(); ++a)
    for (std::size_t b = a; b < noise.size(); ++b) {
      double product = 0;
      for (std::int64_t m = 0; m < noise[a].size(); ++m) product += (conj(noise[a][m]) * noise[b][m]).re / n;
      EXPECT_LE(std::abs(product / square - (a == b ? 1 : 0)), five) << a << " " << b;
    }
}

TEST(Slices, outside_of_the_object_or_of_no_2d_scan_at_rest_are_refused) {
  const auto rejects = [](auto change) {
    auto settings = three_slices();
    change(settings);
    EXPECT_THROW(data::simulate_slices(settings), Error);
  };
  EXPECT_EQ(data::simulate_slices(three_slices()).size(), 3u);
  rejects([](auto& s) { s.slice_spacing_mm = 109; });  // the head is 0.45 x 240 mm high
  rejects([](auto& s) { s.slice_spacing_mm = -1; });
  rejects([](auto& s) { s.slice_spacing_mm = std::numeric_limits<double>::quiet_NaN(); });
  rejects([](auto& s) { s.slice_count = -3; });
  rejects([](auto& s) { s.slice_count = 70000; });
  rejects([](auto& s) { s.readouts_per_frame = 2; });
  rejects([](auto& s) { s.breaths = 2; });
  rejects([](auto& s) {
    s.trajectory.kind = TrajectoryKind::cartesian;
    s.trajectory.matrix_size = {8, 8, 8};
  });
  EXPECT_THROW(simulate(three_slices()), Error);
}

TEST(Simulation, rejects_hostile_settings) {
  const auto rejects = [](auto change) {
    auto settings = small_scan();
    change(settings);
    EXPECT_THROW(simulate(settings), Error);
  };
  for (int count : {-5, 0, 33}) rejects([&](auto& s) { s.coil_count = count; });
  for (double snr :
       {0.0, -30.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    rejects([&](auto& s) { s.snr = snr; });
  rejects([](auto& s) { s.trajectory.matrix_size = {0, 0, 0}; });
  rejects([](auto& s) { s.trajectory.matrix_size = {32, 32, 0}; });
  rejects([](auto& s) { s.trajectory.fov_mm[0] = std::numeric_limits<double>::quiet_NaN(); });
}

/// A scan of 11 diameters by one coil of sensitivity 1, without noise.
SimulationSettings eleven_readouts() {
  auto settings = small_scan(TrajectoryKind::golden_radial);
  settings.trajectory.readout_count = 11;
  settings.coil_count = 1;
  settings.snr.reset();
  return settings;
}
/// Returns the relative energy of what the phantoms of the readouts, `of(readout)`, do not explain.
template <class Of>
double unexplained(const data::Simulation& made, const Of& of) {
  const std::int64_t samples = made.scan.trajectory.sample_count();
  const double* k = made.scan.trajectory.k.data();
  double rest = 0, all = 0;
  for (std::int64_t m = 0; m < samples; ++m) {
    const Complex<double> measured(made.scan.kspace.values[m]);
    const data::Phantom phantom = of(m / made.readout_length);
    rest += norm(measured - 24.0 * 22 * phantom.fourier_integral({k[m], k[samples + m], k[2 * samples + m]}));
    all += norm(measured);
  }
  return rest / all;
}

TEST(MovingObject, is_seen_by_each_readout_at_its_own_time) {
  auto settings = eleven_readouts();
  settings.readouts_per_frame = 3;
  const auto made = simulate(settings);
  ASSERT_EQ(made.readout_count, 11);
  const auto at = [](std::int64_t readout) {
    return data::moving_phantom(2, (static_cast<double>(readout) + 0.5) / 11);
  };
  EXPECT_LE(unexplained(made, at), 1e-13);  // rounded to single precision
  EXPECT_GE(unexplained(made, [&](std::int64_t) { return at(0); }), 1e-3) << "it does move";
  ASSERT_EQ(made.frames.size(), 3u);  // the last two readouts are no whole frame
  const auto second = data::band_limited_image(data::moving_phantom(2, 4.5 / 11), {24, 22, 1});
  EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(made.frames[1].values), second), 1e-7);
  settings.readouts_per_frame = 12;
  EXPECT_THROW(simulate(settings), Error) << "a frame longer than the scan";
}

TEST(MovingObject, is_seen_in_a_field_by_each_readout_at_its_own_time) {
  SimulationSettings settings = small_scan(TrajectoryKind::golden_radial);
  settings.trajectory.readout_count = 6;
  settings.coil_count = 2;
  settings.snr = {};
  settings.readouts_per_frame = 3;
  settings.field_hz = 100;
  settings.echo_times_s = {2e-3, 6e-3};
  const auto made = simulate(settings);
  ASSERT_EQ(made.further_repetitions.size(), 1u);
  for (std::int64_t readout = 0; readout < 6; ++readout) {
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(made.readout_length));
    std::iota(chosen.begin(), chosen.end(), readout * made.readout_length);
    const data::CoilArray coils(2, 2);
    const data::CoilKSpace kspace(data::moving_phantom(2, (static_cast<double>(readout) + 0.5) / 6), coils);
    for (std::size_t echo = 0; echo < 2; ++echo) {
      auto times = columns_of(*made.scan.sample_time_s, chosen);
      for (double& t : times) t += made.echo_shifts_s[echo];
      const auto& values = echo == 0 ? made.scan.kspace.values : made.further_repetitions[0];
      const auto expected = data::sampled_in_field(
          kspace, {100}, {columns_of(made.scan.trajectory.k, chosen)}, times, 2, 24.0 * 22);
      // Rounded to single precision.
      EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(columns_of(values, chosen)),
                                     converted<Complex<double>>(expected)),
                1e-6)
          << "readout " << readout << ", echo " << echo;
    }
  }
}

TEST(BreathingObject, is_seen_by_each_readout_at_its_own_depth_of_breath) {
  auto settings = eleven_readouts();
  settings.breaths = 2;
  settings.bins = 2;
  const auto made = simulate(settings);
  ASSERT_EQ(made.depths.size(), 11u);
  for (const double depth : made.depths) EXPECT_TRUE(depth >= 0 && depth <= 1);
  const auto at = [&](std::int64_t readout) {
    return data::breathing_phantom(2, made.depths[static_cast<std::size_t>(readout)]);
  };
  EXPECT_LE(unexplained(made, at), 1e-13);  // rounded to single precision
  ASSERT_EQ(made.frames.size(), 2u);
  auto depths = made.depths;
  depths.pop_back();  // so that the bins are as long
  std::sort(depths.begin(), depths.end());
  const double mean = (depths[5] + depths[6] + depths[7] + depths[8] + depths[9]) / 5;
  const auto inspired = data::band_limited_image(data::breathing_phantom(2, mean), {24, 22, 1});
  EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(made.frames[1].values), inspired), 1e-7);
}

}  // namespace
