// The closed forms of the phantoms against numerical integrals and against the model sum.
#include "data/phantom.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/quadrature.hpp"

namespace {

using namespace fhd;
using data::Phantom;
using data::PhantomPart;
using data::Vector3;
using Form = PhantomPart::Form;
using std::numbers::pi;

std::vector<Vector3> positions(int dimensions, double largest, int count) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-largest, largest);
  std::vector<Vector3> k{{0, 0, 0}, {1e-9, 0, 0}, {0, 0.01, 0}};
  while (static_cast<int>(k.size()) < count)
    k.push_back({uniform(generator), uniform(generator), dimensions == 3 ? uniform(generator) : 0});
  return k;
}

double distance(Complex<double> a, std::complex<double> b) { return std::abs(std::complex(a.re, a.im) - b); }

double size_of(const PhantomPart& part, int dimensions) {
  const auto& a = part.half_axes;
  if (part.form == Form::box) return (dimensions == 3 ? 8 * a[2] : 4) * a[0] * a[1];
  return (dimensions == 3 ? 4.0 / 3 * a[2] : 1) * pi * a[0] * a[1];
}

TEST(Phantom, fourier_integral_equals_a_numerical_integral) {
  // |k . r| stays below 12 turns across a part: 48 (3D: 32) nodes integrate that to rounding, which sums 1e4
  // ... 1e6 terms of 1e-16 of the part's size each, at random: 1e-12 of it bounds the sum.
  const PhantomPart parts[] = {{Form::ellipsoid, {0.1, -0.2, 0.05}, {0.31, 0.11, 0.2}, 0.4, 1.5},
                               {Form::ellipsoid, {0, 0, 0}, {0.02, 0.3, 0.1}, -1.1, -0.8},
                               {Form::box, {-0.1, 0.2, -0.15}, {0.12, 0.05, 0.2}, 0.7, 0.5}};
  for (int dimensions : {2, 3})
    for (const auto& part : parts) {
      const Phantom phantom(dimensions, {part});
      for (const auto& k : positions(dimensions, dimensions == 2 ? 20 : 10, dimensions == 2 ? 40 : 8)) {
        const auto expected =
            tests::integral_over(part, dimensions, dimensions == 2 ? 48 : 32, [&](const Vector3& r) {
              return std::polar(1.0, -2 * pi * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2]));
            });
        EXPECT_LE(distance(phantom.fourier_integral(k), expected),
                  1e-12 * std::abs(part.intensity) * size_of(part, dimensions))
            << dimensions << "D, k = " << k[0] << " " << k[1] << " " << k[2];
      }
    }
}

TEST(PhantomSection, has_the_values_of_its_plane) {
  std::mt19937 generator(11);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (const auto& phantom : {Phantom::shepp_logan(3), Phantom::resolution(3), Phantom::anatomy(3)}) {
    // Bumps are left out where they are below 1e-12 of their intensities; the rest is rounding of sums.
    double intensities = 0;
    for (const auto& part : phantom.parts()) intensities += std::abs(part.intensity);
    int inside = 0;
    for (const double z : {-0.37, -0.125, 0.0, 0.013, 0.29}) {
      const auto section = phantom.section(z);
      EXPECT_EQ(section.dimensions(), 2);
      for (int i = 0; i < 500; ++i) {
        const double x = uniform(generator), y = uniform(generator), expected = phantom.value({x, y, z});
        inside += std::abs(expected) > 0.01;
        EXPECT_LE(std::abs(section.value({x, y, 0}) - expected), 1e-12 * intensities)
            << x << " " << y << " " << z;
      }
    }
    EXPECT_GT(inside, 500);
  }
  EXPECT_TRUE(Phantom::shepp_logan(3).section(0.46).parts().empty()) << "above the head";
}

TEST(PhantomSection, all_sections_together_are_the_projection) {
  // P(k_x, k_y, 0) is the integral over z of those of sections. With d = z / c that of an ellipsoid is
  // A (1 - d^2) 2 J_1(x u) / (x u), u = sqrt(1 - d^2), whose slope -2 A d J_0(x u) / c goes up and down by no more
  // than 2 A / c (2 + 2 + twice the way of J_0 from 0 to x < 9: 6) = 20 A / c. The midpoint rule of step h is off by
  // at most h^2 / 8 of that.
  const auto phantom = Phantom::shepp_logan(3);
  constexpr int steps = 1000;
  constexpr double h = 1.0 / steps;
  double tolerance = 0;
  for (const auto& part : phantom.parts())
    tolerance += 2.5 * h * h * std::abs(part.intensity) * pi * part.half_axes[0] * part.half_axes[1] /
                 part.half_axes[2];
  for (const Vector3& k : {Vector3{0, 0, 0}, Vector3{1.3, -0.7, 0}, Vector3{-0.4, 2.9, 0}}) {
    Complex<double> sum;
    for (int i = 0; i < steps; ++i) sum += h * phantom.section((i + 0.5) * h - 0.5).fourier_integral(k);
    EXPECT_LE(abs(sum - phantom.fourier_integral(k)), tolerance) << k[0] << " " << k[1];
  }
}

TEST(Phantom, fourier_integral_of_a_bump_equals_a_sum_over_its_values) {
  // For a bump of half axes h, sampled every h / 4, neighbours in k-space are 4 / h apart: exp(-16 pi) = 1e-22 of it.
  for (int dimensions : {2, 3}) {
    const PhantomPart part{Form::bump, {0.05, -0.1, 0.02}, {0.12, 0.05, 0.08}, 0.7, 1.5};
    const Phantom phantom(dimensions, {part});
    constexpr double step = 0.05 / 4;
    const auto count = static_cast<int>(3.5 * 0.12 / step) + 1, deep = dimensions == 3 ? count : 0;
    const double cell = std::pow(step, dimensions);
    for (const auto& k : positions(dimensions, 8, dimensions == 2 ? 30 : 6)) {
      std::complex<double> expected;
      for (int z = -deep; z <= deep; ++z)
        for (int y = -count; y <= count; ++y)
          for (int x = -count; x <= count; ++x) {
            const Vector3 r{part.centre[0] + x * step, part.centre[1] + y * step, part.centre[2] + z * step};
            const double turns = k[0] * r[0] + k[1] * r[1] + (dimensions == 3 ? k[2] * r[2] : 0);
            expected += cell * phantom.value(r) * std::polar(1.0, -2 * pi * turns);
          }
      EXPECT_LE(distance(phantom.fourier_integral(k), expected), 1e-12 * phantom.fourier_integral({}).re);
    }
  }
}

TEST(Phantom, fourier_integral_is_hermitian) {
  for (int dimensions : {2, 3})
    for (const auto& phantom :
         {Phantom::shepp_logan(dimensions), Phantom::resolution(dimensions), Phantom::anatomy(dimensions)})
      for (const auto& k : positions(dimensions, 64, 50)) {
        const auto a = phantom.fourier_integral(k), b = phantom.fourier_integral({-k[0], -k[1], -k[2]});
        EXPECT_LE(abs(a - conj(b)),
                  1e-15);  // every step is even or odd in k, bit by bit, but for sums' order
      }
}

TEST(Phantom, turning_a_part_turns_its_fourier_integral) {
  const double angle = 0.6, c = std::cos(angle), s = std::sin(angle);
  const Vector3 centre{0.1, 0.05, -0.1},
      turned_centre{c * centre[0] - s * centre[1], s * centre[0] + c * centre[1], centre[2]};
  for (Form form : {Form::ellipsoid, Form::box, Form::bump})
    for (int dimensions : {2, 3}) {
      const Phantom original(dimensions, {{form, centre, {0.3, 0.1, 0.2}, 0.2, 1}});
      const Phantom turned(dimensions, {{form, turned_centre, {0.3, 0.1, 0.2}, 0.2 + angle, 1}});
      for (const auto& k : positions(dimensions, 30, 30))
        // Phases of up to 2 pi 10 turns rounded at 1e-16: 1e-14 of a part of size 0.1.
        EXPECT_LE(abs(turned.fourier_integral({c * k[0] - s * k[1], s * k[0] + c * k[1], k[2]}) -
                      original.fourier_integral(k)),
                  1e-14);
    }
}

TEST(Phantom, ball_has_the_transform_of_its_formula_also_where_a_series_replaces_it) {
  const double radius = 0.25, volume = 4.0 / 3 * pi * radius * radius * radius;
  const Phantom ball(3, {{Form::ellipsoid, {}, {radius, radius, radius}, 0, 1}});
  for (double x :
       {0.0, 1e-9, 1e-3, 0.05, 0.2, 0.4, 0.49, std::nextafter(0.5, 0), 0.5, 0.7, 1.0, 3.0, 10.0, 100.0}) {
    const long double y = x;
    // The long double difference loses 3 eps / x^2, eps = 5.4e-20: below x = 0.01 the first terms are better. Rounding of
    // 3 (sin x - x cos x) / x^3 at x = 1/2: 3 eps / x^2 = 3e-15 for eps = 2.2e-16.
    const long double expected =
        x < 0.01 ? 1 - y * y / 10 + y * y * y * y / 280 : 3 * (std::sin(y) - y * std::cos(y)) / (y * y * y);
    for (const double sign : {-1.0, 1.0})
      EXPECT_LE(std::abs(ball.fourier_integral({sign * x / (2 * pi * radius), 0, 0}).re / volume -
                         static_cast<double>(expected)),
                4e-15)
          << x;
  }
}

TEST(Phantom, disc_transform_is_two_j1_over_x) {
  EXPECT_EQ(data::disc_transform(0), 1);
  for (double x : {1e-300, 1e-8, 1e-3, 0.02}) {  // the next term of the series is x^6 / 9216 < 1e-14
    EXPECT_LE(std::abs(data::disc_transform(x) - (1 - x * x / 8 + x * x * x * x / 192)), 1e-14) << x;
    EXPECT_EQ(data::disc_transform(-x), data::disc_transform(x));
  }
  EXPECT_LE(std::abs(data::disc_transform(3.8317059702075125)), 1e-15);  // the first zero of J_1
}

TEST(Phantom, head_is_upright_in_a_picture_whose_rows_run_down) {
  const auto head = Phantom::shepp_logan(2);
  EXPECT_NEAR(head.value({0, -0.175, 0}), 0.3, 1e-15);  // the large ellipse in front
  EXPECT_NEAR(head.value({0, 0.25, 0}), 0.2, 1e-15);
  EXPECT_NEAR(head.value({0, 0.303, 0}), 0.3, 1e-15);  // the smallest ellipses behind
  EXPECT_NEAR(head.value({0.11, 0, 0}), 0, 1e-15);     // the ventricles
  EXPECT_NEAR(head.value({-0.16, -0.15, 0}), 0,
              1e-15);                                // the larger one, on the right, leans outwards in front
  EXPECT_NEAR(head.value({0, -0.45, 0}), 1, 1e-15);  // the skull
  EXPECT_EQ(head.value({0.4, 0.4, 0}), 0);
  const auto head_3d = Phantom::shepp_logan(3);
  EXPECT_NEAR(head_3d.value({0, 0, 0}), 1.2, 1e-15);
  EXPECT_NEAR(head_3d.value({0, -0.175, -0.125}), 1.4, 1e-15);
  EXPECT_NEAR(head_3d.value({0, -0.175, 0.3}), 1.2, 1e-15);
}

TEST(Phantom, every_part_lies_inside_the_field_of_view) {
  for (int dimensions : {2, 3})
    for (const auto& phantom : {Phantom::shepp_logan(dimensions), Phantom::resolution(dimensions)})
      for (const auto& part : phantom.parts())
        for (int corner = 0; corner < 8; ++corner) {
          const auto& outer = phantom.parts().front();
          double square = 0;
          for (int axis = 0; axis < dimensions; ++axis) {
            EXPECT_LT(std::abs(outer.half_axes[axis]), 0.5);
            const double reach = part.centre[axis] + ((corner >> axis & 1) ? 1 : -1) * part.half_axes[axis];
            square += std::pow(reach / outer.half_axes[axis], 2);
          }
          if (part.form == Form::box) {
            EXPECT_LE(square, 1) << "a bar sticks out of the disc";
          }
        }
}

TEST(BandLimitedImage, model_sum_reproduces_the_fourier_integral_at_integer_positions) {
  // Two sums over N terms in double: 1e-12 is thousands of roundings.
  for (const std::array<int, 3> n : {std::array{12, 9, 1}, std::array{1, 8, 1}, std::array{7, 16, 1},
                                     std::array{6, 5, 4}, std::array{5, 6, 7}}) {
    const auto phantom = n[2] == 1 ? Phantom::resolution(2) : Phantom::shepp_logan(3);
    const auto image = data::band_limited_image(phantom, n);
    const std::int64_t count = image.size();
    Array<double> k({3, count});
    Array<Complex<double>> expected({1, count});
    std::int64_t m = 0;
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y)
        for (int x = 0; x < n[0]; ++x, ++m) {
          const Vector3 at{double(x - n[0] / 2), double(y - n[1] / 2), double(z - n[2] / 2)};
          for (int axis = 0; axis < 3; ++axis) k[axis * count + m] = at[axis];
          expected[m] = double(count) * phantom.fourier_integral(at);
        }
    const auto samples = oracle::forward(k, oracle::voxel_positions(n), image);
    EXPECT_LE(metrics::relative_l2(samples, expected), 1e-12) << n[0] << "x" << n[1] << "x" << n[2];
  }
}

TEST(IdealImage, mean_is_the_integral_of_the_phantom) {
  // 8 points per axis place an edge within 1/16 voxel. Along a curved edge that averages out at random: a
  // head of perimeter 2.5 FOV crosses 2.5 N voxels of 1/N^2, which are off by 0.02 sqrt(2.5 N) / N^2 = 6e-5
  // together for N = 64. The edges of bars are straight, so that each is off as a whole, by 1/16 / N times
  // its length: 70 edges of 0.1 FOV at random, of intensity 1/2, give 0.5 sqrt(70) 0.1 / 16 / N = 4e-4.
  for (int dimensions : {2, 3}) {
    const std::array<int, 3> n = dimensions == 2 ? std::array{64, 61, 1} : std::array{40, 33, 36};
    const auto error = [&](const Phantom& phantom) {
      const auto image = data::ideal_image(phantom, n);
      double mean = 0;
      for (double value : image) mean += value / double(image.size());
      return std::abs(mean - phantom.fourier_integral({0, 0, 0}).re);
    };
    EXPECT_LE(error(Phantom::shepp_logan(dimensions)), 2e-4);
    EXPECT_LE(error(Phantom::resolution(dimensions)), 1e-3);
    EXPECT_LE(error(Phantom::anatomy(dimensions)), 2e-4);  // bumps are smooth: their means are exact
  }
}

TEST(IdealImage, equals_the_average_of_many_values_in_every_voxel) {
  // Takes the 8 points per axis without the shortcut for voxels far from edges: equal but for rounding.
  const auto phantom = Phantom::shepp_logan(3);
  const std::array<int, 3> n{9, 8, 7};
  const auto image = data::ideal_image(phantom, n);
  for (int z = 0, voxel = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x, ++voxel) {
        double mean = 0;
        for (int point = 0; point < 512; ++point) {
          const int i[] = {point % 8, point / 8 % 8, point / 64}, at[] = {x, y, z};
          Vector3 r;
          for (int axis = 0; axis < 3; ++axis)
            r[axis] = (at[axis] - n[axis] / 2 + (i[axis] + 0.5) / 8 - 0.5) / n[axis];
          mean += phantom.value(r) / 512;
        }
        // A point that lies on an edge to the last bit may fall on either side: one of 512, at most 2 strong.
        EXPECT_LE(std::abs(image[voxel] - mean), 2.0 / 512 + 1e-12);
      }
}

}  // namespace
