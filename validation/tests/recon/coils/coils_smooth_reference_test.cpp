// Phases of maps: without vortices and seams inside the object.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "data/coils.hpp"
#include "data/phantom.hpp"
#include "data/simulate.hpp"
#include "data/trajectory.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/smooth_reference.hpp"

namespace {

using namespace fhd;
using Maps = Array<Complex<float>>;

Complex<float> phasor(double angle) {
  return Complex<float>(Complex<double>(std::cos(angle), std::sin(angle)));
}

/// The largest angle between neighbours, and how often it winds about a square of them; [coil][1][y][x].
struct Course {
  double largest_angle = 0, least_overlap = 1;
  int windings = 0;
};
template <class Inside>
Course course_of(const Maps& maps, Inside inside) {
  const std::int64_t coils = maps.extent(0), ny = maps.extent(2), nx = maps.extent(3);
  Course course;
  const auto product = [&](std::int64_t p, std::int64_t q) {
    Complex<double> sum;
    for (std::int64_t c = 0; c < coils; ++c)
      sum += conj(Complex<double>(maps[c * ny * nx + p])) * Complex<double>(maps[c * ny * nx + q]);
    return sum;
  };
  const auto angle = [&](std::int64_t p, std::int64_t q) {
    const auto z = product(p, q);
    course.least_overlap = std::min(course.least_overlap, abs(z));
    course.largest_angle = std::max(course.largest_angle, std::abs(std::atan2(z.im, z.re)));
    return std::atan2(z.im, z.re);
  };
  for (std::int64_t y = 0; y + 1 < ny; ++y)
    for (std::int64_t x = 0; x + 1 < nx; ++x) {
      if (!inside(x, y) || !inside(x + 1, y) || !inside(x, y + 1) || !inside(x + 1, y + 1)) continue;
      const std::int64_t p = y * nx + x;
      const double around =
          angle(p, p + 1) + angle(p + 1, p + nx + 1) + angle(p + nx + 1, p + nx) + angle(p + nx, p);
      course.windings += std::abs(around) > std::numbers::pi;
    }
  return course;
}
const auto everywhere = [](std::int64_t, std::int64_t) { return true; };

constexpr int size = 21;
/// Unit vectors of two coils, cos(a) and sin(a) exp(i b), that turn slowly; then by `turn`.
template <class Turn>
Maps slow_vectors(Turn turn) {
  Maps maps({2, 1, size, size});
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const double a = 0.3 + 0.03 * x, b = 0.05 * y, phase = turn(x, y);
      maps[y * size + x] = static_cast<float>(std::cos(a)) * phasor(phase);
      maps[(size + y) * size + x] = static_cast<float>(std::sin(a)) * phasor(phase + b);
    }
  return maps;
}
Maps aligned(Maps maps, std::vector<MapDefect>* defects = nullptr) {
  const auto phases = align_phases(maps, std::vector<double>(static_cast<std::size_t>(size * size), 2.0));
  for (std::int64_t i = 0; i < maps.size(); ++i)
    maps[i] = phases.turns[static_cast<std::size_t>(i % (size * size))] * maps[i];
  if (defects != nullptr) *defects = phases.defects;
  return maps;
}

TEST(AlignedPhases, undo_vortices_and_random_phases) {
  std::mt19937 random(1);
  const auto vortices = [](int x, int y) {
    return std::atan2(y - 9.3, x - 7.6) - 2 * std::atan2(y - 4.4, x - 15.5);
  };
  const auto any = [&](int, int) { return 6.28 * static_cast<double>(random()) / 4294967296.0; };
  for (const Maps& maps : {slow_vectors(vortices), slow_vectors(any)}) {
    EXPECT_GE(course_of(maps, everywhere).windings, 2);
    EXPECT_TRUE(breaks(maps, MapDefect::Kind::vortex, {4, 2, 0}, {18, 12, 0}));
    std::vector<MapDefect> defects;
    const auto course = course_of(aligned(maps, &defects), everywhere);
    EXPECT_EQ(course.windings, 0);
    // Curvature of these vectors, 0.05 x 0.03 sin(2a) a square, spread over half a width of ten: 0.015 at most.
    EXPECT_LE(course.largest_angle, 0.02);
    EXPECT_TRUE(defects.empty());
  }
}

TEST(AlignedPhases, tell_a_jump_between_neighbours_with_signal_and_its_place) {
  Maps maps({2, 1, size, size});
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) maps[((x < 8 || y < 5 ? 0 : size) + y) * size + x] = 1;
  std::vector<double> energy(static_cast<std::size_t>(size * size), 1.0);
  energy[12 * size + 7] = energy[12 * size + 8] = 3;
  const auto defects = align_phases(maps, energy).defects;
  ASSERT_EQ(defects.size(), 16U + 13U);
  const auto& brightest =
      *std::max_element(defects.begin(), defects.end(),
                        [](const auto& one, const auto& other) { return one.energy < other.energy; });
  EXPECT_EQ(brightest.kind, MapDefect::Kind::jump);
  EXPECT_EQ(brightest.voxel, (std::array{7, 12, 0}));
  EXPECT_TRUE(breaks(maps, MapDefect::Kind::jump, {6, 10, 0}, {8, 12, 0}));
  EXPECT_FALSE(breaks(maps, MapDefect::Kind::jump, {8, 10, 0}, {10, 12, 0}));
  // In air it is nobody's.
  for (int y = 0; y < size; ++y)
    for (int x = 8; x < size; ++x) energy[static_cast<std::size_t>(y * size + x)] = y < 5 ? 1 : 1e-4;
  EXPECT_TRUE(align_phases(maps, energy).defects.empty());
}

TEST(AlignedPhases, leave_the_curvature_of_vectors_without_a_vortex) {
  // The phases of (x + iy, 1) / length, the second real, wind once about the border; turns share the angle among all
  // squares.
  for (const double width : {0.3, 3.0}) {
    Maps maps({2, 1, size, size});
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        const double u = (x - 10.5) / width, v = (y - 10.5) / width, length = std::sqrt(1 + u * u + v * v);
        maps[y * size + x] = Complex<float>(Complex<double>(u / length, v / length));
        maps[(size + y) * size + x] = Complex<float>(static_cast<float>(1 / length));
      }
    std::vector<MapDefect> defects;
    const auto course = course_of(aligned(maps, &defects), everywhere);
    EXPECT_EQ(course.windings, 0) << width;
    EXPECT_TRUE(defects.empty()) << width;
  }
}

data::PhantomPart ellipse(double x, double y, double a, double b, double intensity) {
  data::PhantomPart part;
  part.centre = {x, y, 0};
  part.half_axes = {a, b, 1};
  part.intensity = intensity;
  return part;
}

/// A chest that fills the FOV along x. The phase of each coil has, beside that of its field, a wave of `wave` cycles/FOV from
/// the centre to the coil.
struct Chest {
  static constexpr int matrix = 96;
  const data::Phantom phantom{
      2,
      {ellipse(0, 0, 0.49, 0.36, 1.3), ellipse(0, 0, 0.455, 0.325, -0.7),
       ellipse(-0.23, -0.02, 0.15, 0.22, -0.57), ellipse(0.23, -0.02, 0.15, 0.22, -0.57),
       ellipse(-0.04, -0.1, 0.07, 0.06, -0.5)}};
  Scan scan;
  explicit Chest(double wave) {
    data::TrajectorySettings settings;
    settings.kind = data::TrajectoryKind::variable_density_spiral;
    settings.matrix_size = {matrix, matrix, 1};
    settings.undersampling = 2;
    scan.geometry.matrix_size = settings.matrix_size;
    scan.trajectory = data::design_trajectory(settings).trajectory;
    const std::int64_t samples = scan.trajectory.sample_count();
    const double* k = scan.trajectory.k.data();
    const data::CoilKSpace coils(phantom, data::CoilArray(2, 8));
    scan.kspace.values = Maps({8, samples});
    std::vector<Complex<double>> all(8 * samples);
    for (std::int64_t c = 0; c < 8; ++c) {  // exp(i 2 pi kappa r) moves its k-space by kappa
      std::vector<double> moved[3];
      for (int axis = 0; axis < 3; ++axis) {
        const double along = 2 * std::numbers::pi * static_cast<double>(c) / 8;
        const double kappa = wave * (axis == 0 ? std::cos(along) : axis == 1 ? std::sin(along) : 0);
        for (std::int64_t m = 0; m < samples; ++m) moved[axis].push_back(k[axis * samples + m] - kappa);
      }
      coils.values({moved[0], moved[1], moved[2]}, all);
      for (std::int64_t m = 0; m < samples; ++m)
        scan.kspace.values[c * samples + m] =
            Complex<float>(double(matrix) * matrix * all[static_cast<std::size_t>(c * samples + m)]);
    }
    data::add_noise(scan.kspace.values, 0.01 * matrix, 3);
  }
  bool has_tissue(std::int64_t x, std::int64_t y) const {
    return phantom.value({static_cast<double>(x - matrix / 2) / matrix,
                          static_cast<double>(y - matrix / 2) / matrix, 0}) > 0.05;
  }
};

/// Before eigenvectors started from the signal and had smooth phases: with the first wave one winding and neighbours that were
/// orthogonal, with the second orthogonal neighbours, with the third one winding.
class SmoothMaps : public testing::TestWithParam<double> {};

TEST_P(SmoothMaps, of_a_chest_that_fills_the_field_of_view_have_no_vortex_and_no_jump) {
  const Chest chest(GetParam());
  const auto estimate = estimate_maps(chest.scan, MapMethod::espirit);
  const auto course =
      course_of(estimate.maps.values, [&](std::int64_t x, std::int64_t y) { return chest.has_tissue(x, y); });
  EXPECT_EQ(course.windings, 0);
  EXPECT_GE(course.least_overlap, 0.95);
  EXPECT_LE(course.largest_angle, 0.3);  // a wave of one cycle in 96 voxels, 0.065, and that of the fields
  EXPECT_TRUE(estimate.defects.empty());
}
INSTANTIATE_TEST_SUITE_P(Waves, SmoothMaps, testing::Values(-0.35, 0.35, 1.0));

}  // namespace
