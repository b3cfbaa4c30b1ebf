// Field maps from echoes made voxel by voxel.
#include "recon/field_map/field_map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/simulate.hpp"

namespace fhd {
namespace {

constexpr int n = 48;
constexpr double hz = 2 * std::numbers::pi;

struct Echoes {
  Array<double> omega{{1, n, n}};  ///< rad/s
  Array<double> magnitude{{1, n, n}};
  std::vector<Array<Complex<float>>> images;

  std::vector<const Array<Complex<float>>*> pointers() const {
    std::vector<const Array<Complex<float>>*> all;
    for (const auto& image : images) all.push_back(&image);
    return all;
  }
  double rms_error_hz(const Array<float>& map) const {
    double sum = 0, count = 0;
    for (std::int64_t p = 0; p < map.size(); ++p)
      if (magnitude[p] > 0) sum += std::pow((map[p] - omega[p]) / hz, 2), ++count;
    return std::sqrt(sum / count);
  }
};

/// A disc of magnitude 1 ... 3 with a smooth field up to `largest_hz`, and noise of SNR 30 of magnitude 1.
Echoes echoes_at(const std::vector<double>& times_s, double largest_hz) {
  Echoes echoes;
  for (std::int64_t p = 0; p < n * n; ++p) {
    const double x = double(p % n - n / 2) / n, y = double(p / n - n / 2) / n;
    echoes.omega[p] = largest_hz * hz * std::sin(4 * x + 2.5 * y);
    echoes.magnitude[p] = x * x + y * y < 0.16 ? 2 + std::cos(20 * x) : 0;
  }
  for (std::size_t e = 0; e < times_s.size(); ++e) {
    Array<Complex<float>> image({1, n, n});
    for (std::int64_t p = 0; p < n * n; ++p) {
      const double phase = 0.7 - echoes.omega[p] * times_s[e];
      image[p] = {static_cast<float>(echoes.magnitude[p] * std::cos(phase)),
                  static_cast<float>(echoes.magnitude[p] * std::sin(phase))};
    }
    data::add_noise(image, 1 / 30.0, e + 1);
    echoes.images.push_back(std::move(image));
  }
  return echoes;
}

TEST(FieldMap, is_that_whose_phase_falls_with_time) {
  const std::vector<double> times{2.3e-3, 6.9e-3};
  const auto echoes = echoes_at(times, 100);
  // Noise alone, without smoothing: sqrt(2)/30/(2 pi 4.6 ms) = 1.6 Hz where the magnitude is 1.
  EXPECT_LE(echoes.rms_error_hz(field_map_of_echoes(echoes.pointers(), times, 0)), 1.6);
  EXPECT_LE(echoes.rms_error_hz(field_map_of_echoes(echoes.pointers(), times)), 0.8);
}

TEST(FieldMap, beyond_half_a_turn_is_unwrapped) {
  const std::vector<double> times{2.3e-3, 6.9e-3};
  const auto echoes = echoes_at(times, 300);  // half a turn: 108 Hz
  // A turn too many is 217 Hz; the field bends by 3 Hz a voxel from voxel to voxel.
  EXPECT_LE(echoes.rms_error_hz(field_map_of_echoes(echoes.pointers(), times)), 3);
}

TEST(FieldMap, is_that_of_most_of_the_object_whatever_a_bright_rim_says) {
  const std::vector<double> times{2.3e-3, 6.9e-3};
  auto echoes = echoes_at(times, 200);  // up to 196 Hz, 1.8 halves of a turn; the median is 0
  for (std::int64_t p = 0; p < n * n; ++p)
    if (echoes.omega[p] > 120 * hz)
      for (auto& image : echoes.images) image[p] = {6 * image[p].re, 6 * image[p].im};
  // Nine tenths of the weights, |rho|^2, lie beyond half a turn; a turn is 217 Hz. Smoothing draws a rim of 36 times the
  // weight over its edge.
  EXPECT_LE(echoes.rms_error_hz(field_map_of_echoes(echoes.pointers(), times)), 10);
}

TEST(FieldMap, of_more_echoes_is_more_exact) {
  const std::vector<double> two{2e-3, 4e-3}, four{2e-3, 4e-3, 9e-3, 18e-3};
  const auto few = echoes_at(two, 100), many = echoes_at(four, 100);
  const double error = few.rms_error_hz(field_map_of_echoes(few.pointers(), two, 0)),
               smaller = many.rms_error_hz(field_map_of_echoes(many.pointers(), four, 0));
  EXPECT_LE(smaller, 0.5 * error);  // the longest time is eight times as long
}

TEST(FieldMap, goes_on_smoothly_where_there_is_no_signal) {
  const std::vector<double> times{2.3e-3, 6.9e-3};
  const auto echoes = echoes_at(times, 60);
  const auto map = field_map_of_echoes(echoes.pointers(), times);
  double lowest = INFINITY, highest = -INFINITY, step = 0;
  for (std::int64_t p = 0; p < n * n; ++p) {
    if (echoes.magnitude[p] > 0)
      lowest = std::min(lowest, double(map[p])), highest = std::max(highest, double(map[p]));
    if (p % n > 0) step = std::max(step, std::abs(double(map[p]) - map[p - 1]) / hz);
  }
  for (const float value : map) {
    EXPECT_LE(value, highest + 1);
    EXPECT_GE(value, lowest - 1);
  }
  EXPECT_LE(step, 3 * 60 * 4.0 / n);  // of the true field: 60 Hz times 4 a FOV
}

TEST(FieldMap, is_refused_where_echoes_do_not_tell_it) {
  const auto echoes = echoes_at({2e-3, 4e-3}, 50);
  auto images = echoes.pointers();
  EXPECT_THROW(field_map_of_echoes({images[0]}, {2e-3}), Error);
  EXPECT_THROW(field_map_of_echoes(images, {2e-3}), Error);
  EXPECT_THROW(field_map_of_echoes(images, {4e-3, 4e-3}), Error);
  EXPECT_THROW(field_map_of_echoes(images, {4e-3, 2e-3}), Error);
  EXPECT_THROW(field_map_of_echoes(images, {2e-3, std::nan("")}), Error);
  EXPECT_THROW(field_map_of_echoes(images, {2e-3, 4e-3}, -1), Error);
  const Array<Complex<float>> other({1, n, n + 1}), zero({1, n, n});
  EXPECT_THROW(field_map_of_echoes({images[0], &other}, {2e-3, 4e-3}), Error);
  EXPECT_THROW(field_map_of_echoes({&zero, &zero}, {2e-3, 4e-3}), Error);
}

}  // namespace
}  // namespace fhd
