// Coil sensitivities and the closed form of coil k-space.
#include "data/coils.hpp"

#include <gtest/gtest.h>

#include "validation/tests/quadrature.hpp"

namespace {

using namespace fhd;
using data::CoilArray;
using data::Phantom;
using data::PhantomPart;
using data::Vector3;
using std::numbers::pi;

std::vector<Complex<double>> sensitivities(const CoilArray& coils, const Vector3& r) {
  std::vector<Complex<double>> values(coils.coil_count());
  coils.sensitivities(r, values);
  return values;
}

double root_sum_of_squares(const CoilArray& coils, const Vector3& r) {
  double square = 0;
  for (const auto& value : sensitivities(coils, r)) square += norm(value);
  return std::sqrt(square);
}

TEST(Coils, k_space_equals_a_numerical_integral_of_sensitivity_times_phantom) {
  // The tolerance is that of the phantom alone, times the root of the number of exponentials (57) and their coefficients (about
  // 1).
  const PhantomPart part{PhantomPart::Form::ellipsoid, {0.1, -0.05, 0.02}, {0.3, 0.2, 0.25}, 0.3, 1.2};
  const double size = 1.2 * 0.3 * 0.2 * pi;
  for (int dimensions : {2, 3}) {
    const CoilArray coils(dimensions, 5);
    const data::CoilKSpace kspace(Phantom(dimensions, {part}), coils);
    std::vector<Complex<double>> values(5);
    for (const Vector3& k : {Vector3{0, 0, 0}, Vector3{3.2, -1.7, 0}, Vector3{-6.5, 4, 0},
                             Vector3{0.3, 0.1, dimensions == 3 ? 5.1 : 0}}) {
      kspace.values(k, values);
      for (int coil = 0; coil < 5; ++coil) {
        const auto expected =
            tests::integral_over(part, dimensions, dimensions == 2 ? 40 : 24, [&](const Vector3& r) {
              const auto s = sensitivities(coils, r)[coil];
              return std::complex(s.re, s.im) *
                     std::polar(1.0, -2 * pi * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2]));
            });
        EXPECT_LE(std::abs(std::complex(values[coil].re, values[coil].im) - expected), 1e-11 * size)
            << dimensions << "D, coil " << coil;
      }
    }
  }
}

TEST(Coils, a_section_has_the_sensitivities_of_its_plane) {
  // Sums of 57 exponentials whose coefficients are about 1.
  for (const int count : {1, 4, 20}) {
    const CoilArray coils(3, count);
    for (const double z : {-0.31, 0.0, 0.12}) {
      const auto section = coils.section(z);
      ASSERT_EQ(section.coil_count(), count);
      for (const Vector3& r : {Vector3{0, 0, 0}, Vector3{0.2, -0.31, 0}, Vector3{-0.4, 0.07, 0}}) {
        const auto found = sensitivities(section, r), expected = sensitivities(coils, {r[0], r[1], z});
        for (std::size_t coil = 0; coil < expected.size(); ++coil)
          EXPECT_LE(abs(found[coil] - expected[coil]), 1e-12)
              << count << " coils, coil " << coil << ", z " << z;
      }
    }
  }
}

TEST(Coils, maps_are_the_sensitivities_at_the_voxels) {
  const std::array<int, 3> n{7, 6, 5};
  const CoilArray coils(3, 3);
  const auto maps = coils.maps(n).values;
  ASSERT_TRUE(maps.shape() == Shape({3, 5, 6, 7}));
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 7; ++x)
        for (int coil = 0; coil < 3; ++coil) {
          const auto expected = sensitivities(coils, {(x - 3) / 7.0, (y - 3) / 6.0, (z - 2) / 5.0})[coil];
          EXPECT_LE(abs(Complex<double>(maps[((coil * 5 + z) * 6 + y) * 7 + x]) - expected),
                    1e-7);  // float of numbers below 1
        }
}

TEST(Coils, root_sum_of_squares_is_at_most_one_and_never_vanishes_over_the_head) {
  for (int dimensions : {2, 3})
    for (int count : {2, 3, 4, 8, 16, 32}) {
      const CoilArray coils(dimensions, count);
      double largest = 0, smallest = 1e9;
      for (double z = dimensions == 3 ? -0.45 : 0; z <= (dimensions == 3 ? 0.45 : 0); z += 0.09)
        for (double y = -0.46; y <= 0.46; y += 0.04)
          for (double x = -0.34; x <= 0.34; x += 0.04) {
            if (x * x / (0.345 * 0.345) + y * y / (0.46 * 0.46) + z * z / (0.45 * 0.45) > 1) continue;
            largest = std::max(largest, root_sum_of_squares(coils, {x, y, z}));
            smallest = std::min(smallest, root_sum_of_squares(coils, {x, y, z}));
          }
      EXPECT_LE(largest, 1.05) << dimensions << "D, " << count;  // the maximum was taken on a coarse grid
      EXPECT_GE(smallest, 0.05 * largest) << dimensions << "D, " << count;
      EXPECT_GE(largest, 0.3) << dimensions << "D, " << count;
    }
}

TEST(Coils, each_coil_sees_its_own_side) {
  const CoilArray coils(2, 8);
  for (int coil = 0; coil < 8; ++coil) {
    const double angle = 2 * pi * coil / 8, x = 0.4 * std::cos(angle), y = 0.4 * std::sin(angle);
    EXPECT_GE(abs(sensitivities(coils, {x, y, 0})[coil]), 5 * abs(sensitivities(coils, {-x, -y, 0})[coil]));
  }
}

TEST(Coils, one_coil_is_uniform) {
  for (int dimensions : {2, 3}) {
    const CoilArray coil(dimensions, 1);
    for (const Vector3& r : {Vector3{0, 0, 0}, Vector3{-0.5, 0.3, 0.2}})
      EXPECT_TRUE((sensitivities(coil, r)[0] == Complex<double>{1, 0}));
  }
}

TEST(Coils, rejects_counts_out_of_range) {
  for (int count : {-1, 0, 33}) EXPECT_THROW(CoilArray(2, count), Error);
}

}  // namespace
