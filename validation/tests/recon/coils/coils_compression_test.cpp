// Coil compression: energy, rank, determinism, and what it does to an image.
#include <gtest/gtest.h>

#include <cmath>

#include "data/simulate.hpp"
#include "recon/coils/noise.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using tests::random_values;

double energy_of(const Array<Complex<float>>& values) {
  double sum = 0;
  for (const auto& v : values) sum += norm(Complex<double>(v));
  return sum;
}

/// 16 coils that are mixtures of 5.
Array<Complex<float>> rank_five() {
  return apply_mixing(converted<Complex<double>>(random_values<float>({16, 5}, 1)),
                      random_values<float>({5, 3000}, 2));
}

TEST(CoilCompression, of_rank_deficient_data_is_exact) {
  const auto samples = rank_five();
  const auto compression = compress_to_energy(samples, 0.999999);
  ASSERT_EQ(compression.matrix.extent(0), 5);
  // M^H M d = d: the transpose of the virtual coils gives the coils back.
  Array<Complex<double>> back({16, 5});
  for (std::int64_t v = 0; v < 5; ++v)
    for (std::int64_t c = 0; c < 16; ++c) back[c * 5 + v] = conj(compression.matrix[v * 16 + c]);
  const auto again = apply_mixing(back, apply_mixing(compression.matrix, samples));
  double difference = 0;
  for (std::int64_t i = 0; i < samples.size(); ++i)
    difference += norm(Complex<double>(again[i]) - Complex<double>(samples[i]));
  EXPECT_LE(std::sqrt(difference / energy_of(samples)), 1e-6);  // two products in float
}

TEST(CoilCompression, keeps_the_energy_that_it_says) {
  const auto samples = rank_five();
  for (std::int64_t count = 1; count <= 16; ++count) {
    const auto compression = compress_to_count(samples, count);
    const double kept = energy_of(apply_mixing(compression.matrix, samples)) / energy_of(samples);
    EXPECT_NEAR(kept, compression.kept_energy, 1e-5) << count;
  }
  for (const double energy : {0.3, 0.6, 0.9, 0.99}) {
    const auto compression = compress_to_energy(samples, energy);
    EXPECT_GE(compression.kept_energy, energy);
    const auto count = compression.matrix.extent(0);
    if (count > 1) {
      EXPECT_LE(compress_to_count(samples, count - 1).kept_energy, energy);
    }
  }
  EXPECT_EQ(compress_to_energy(samples, 1).kept_energy, 1);
}

TEST(CoilCompression, has_orthonormal_rows_and_no_free_phase) {
  const auto samples = rank_five();
  const auto first = compress_to_count(samples, 5).matrix;
  for (std::int64_t v = 0; v < 5; ++v) {
    Complex<double> largest;
    for (std::int64_t c = 0; c < 16; ++c)
      if (norm(first[v * 16 + c]) > norm(largest)) largest = first[v * 16 + c];
    EXPECT_GT(largest.re, 0);
    EXPECT_NEAR(largest.im, 0, 1e-14);
    for (std::int64_t w = 0; w < 5; ++w) {
      Complex<double> dot;
      for (std::int64_t c = 0; c < 16; ++c) dot += conj(first[v * 16 + c]) * first[w * 16 + c];
      EXPECT_LE(abs(dot - Complex<double>(v == w ? 1 : 0)), 1e-13);
    }
  }
  // Samples times i: the same virtual coils, to the rounding of the sums in float and the gaps of the
  // eigenvalues.
  auto turned = samples;
  for (auto& d : turned) d = {-d.im, d.re};
  EXPECT_LE(io::largest_difference(compress_to_count(turned, 5).matrix, first), 1e-4);
  EXPECT_EQ(io::largest_difference(compress_to_count(samples, 5).matrix, first), 0);
}

TEST(CoilPreparation, compresses_32_coils_with_their_maps_and_keeps_the_image) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {64, 64, 1};
  settings.trajectory.undersampling = 2;
  settings.coil_count = 32;
  const auto scan = data::simulate(settings).scan;
  const auto image = [&](bool compress) {
    Settings with;
    if (!compress) with.coils.compression = NoCompression{};
    return reconstruct(scan, with);
  };
  const auto all = image(false), fewer = image(true);
  double difference = 0;
  for (std::int64_t p = 0; p < all.image.values.size(); ++p)
    difference += norm(Complex<double>(all.image.values[p]) - Complex<double>(fewer.image.values[p]));
  const double relative = std::sqrt(difference / energy_of(all.image.values));
  const auto virtual_coils = std::find_if(fewer.report.settings.begin(), fewer.report.settings.end(),
                                          [](const auto& item) { return item.first == "virtual coils"; });
  ASSERT_NE(virtual_coils, fewer.report.settings.end());
  EXPECT_EQ(virtual_coils->second, "12");
  // Beyond 12 virtual coils there is noise alone: 0.3 % of the energy, and less of an image that the others
  // determine.
  EXPECT_LE(relative, 0.005);
}

TEST(CoilPreparation, leaves_12_coils_as_they_are_and_obeys_a_count) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {32, 32, 1};
  settings.coil_count = 12;
  const auto scan = data::simulate(settings).scan;
  RunLog log(Device::cpu(), {});
  Settings settings_of_recon;
  EXPECT_FALSE(prepare_coils(scan, settings_of_recon, log).has_value());
  settings_of_recon.coils.compression = VirtualCoils{5};
  const auto prepared = prepare_coils(scan, settings_of_recon, log);
  ASSERT_TRUE(prepared.has_value());
  EXPECT_EQ(prepared->kspace.coil_count(), 5);
  EXPECT_EQ(prepared->sensitivity_maps->values.extent(0), 5);
  settings_of_recon.coils.compression = VirtualCoils{13};
  EXPECT_CONTAINS(io::error_of([&] { prepare_coils(scan, settings_of_recon, log); }), "at most the 12 coils");
}

}  // namespace
