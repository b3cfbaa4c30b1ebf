#include "io/scan/trajectory_axes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

using Vector = std::array<double, 3>;

/// Directions of an image that is turned about x, then about z.
AxisDirections directions(double about_x, double about_z) {
  const double c = std::cos(about_x), s = std::sin(about_x), e = std::cos(about_z), f = std::sin(about_z);
  return {{{e, f, 0}, {-f * c, e * c, s}, {f * s, -e * s, c}}};
}

/// Samples of spokes in the plane of the image, kz along the third axis, as `stored` puts them into a file.
template <class Stored>
AxesEvidence evidence_of(const AxisDirections& image, const std::vector<double>& partitions,
                         const Stored& stored) {
  AxesEvidence evidence;
  for (const double kz : partitions)
    for (int spoke = 0; spoke < 24; ++spoke)
      for (int r = -8; r < 8; ++r) {
        const double angle = std::numbers::pi * spoke / 24;
        evidence.add(0, stored(Vector{r * std::cos(angle), r * std::sin(angle), kz}), image);
      }
  return evidence;
}

/// Returns k of the image in the axes of the magnet.
Vector in_magnet(const AxisDirections& image, const Vector& k) {
  Vector sum{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < 3; ++i) sum[i] += k[axis] * image[axis][i];
  return sum;
}

FoundAxes found(const AxesEvidence& evidence, bool is_2d = true, bool is_weight = false,
                TrajectoryAxes told = TrajectoryAxes::automatic) {
  return find_axes(told, evidence, is_2d, is_weight, /*states_directions=*/true, "trajectory");
}

std::string refusal(const AxesEvidence& evidence, bool states_directions = true) {
  try {
    find_axes(TrajectoryAxes::automatic, evidence, true, false, states_directions, "trajectory");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr auto as_is = [](const Vector& k) { return k; };

TEST(TrajectoryAxes, turn_between_magnet_and_image) {
  const auto image = directions(0.5, -0.8);
  const Vector k{1.5, -2, 0.25};
  const auto back = turned(image, in_magnet(image, k));
  for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(back[axis], k[axis], 1e-14);

  Geometry geometry;
  geometry.read_direction = image[0], geometry.phase_direction = image[1],
  geometry.slice_direction = image[2];
  const auto stored = in_magnet(image, k);
  Array<double> array({3, 1});
  for (int axis = 0; axis < 3; ++axis) array[axis] = stored[static_cast<std::size_t>(axis)];
  turn_into_image(array, geometry);
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(array[axis], k[static_cast<std::size_t>(axis)], 1e-14);
}

TEST(TrajectoryAxes, of_a_slice_are_those_in_which_its_samples_lie_in_its_plane) {
  const auto image = directions(0.6, 0.4);
  const auto magnet = [&](const Vector& k) { return in_magnet(image, k); };
  const auto turned_out = found(evidence_of(image, {0}, magnet));
  EXPECT_TRUE(turned_out.in_magnet);
  EXPECT_NE(turned_out.sentence.find("axes of the magnet"), std::string::npos);
  EXPECT_FALSE(found(evidence_of(image, {0}, as_is)).in_magnet);
  EXPECT_FALSE(found(evidence_of(image, {0}, magnet), true, false, TrajectoryAxes::image).in_magnet);
  EXPECT_TRUE(found(evidence_of(image, {0}, as_is), true, false, TrajectoryAxes::magnet).in_magnet);
}

TEST(TrajectoryAxes, of_an_axial_slice_need_no_word_unless_it_is_turned_in_its_plane) {
  const auto plain = found(evidence_of(directions(0, 0), {0}, as_is));
  EXPECT_FALSE(plain.in_magnet);
  EXPECT_EQ(plain.sentence, "");
  EXPECT_NE(found(evidence_of(directions(0, 0.3), {0}, as_is)).sentence.find("third axis is zero"),
            std::string::npos);
  const auto measured = [](const Vector& k) { return Vector{k[0], k[1], 1e-3 * k[0]}; };
  const auto refused = refusal(evidence_of(directions(0, 0.3), {0}, measured));
  EXPECT_NE(refused.find("--trajectory-axes image"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--trajectory-axes magnet"), std::string::npos) << refused;
}

TEST(TrajectoryAxes, of_another_oblique_plane_are_refused_and_weights_are_none) {
  const auto image = directions(0.6, 0.4), other = directions(-0.7, 1);
  const auto magnet = [&](const Vector& k) { return in_magnet(other, k); };
  EXPECT_NE(refusal(evidence_of(image, {0}, magnet)).find("plane of the slice"), std::string::npos);
  EXPECT_NE(refusal(evidence_of(other, {0}, magnet), false).find("states no directions"), std::string::npos);
  const auto weights = [](const Vector& k) { return Vector{k[0], k[1], std::hypot(k[0], k[1])}; };
  EXPECT_FALSE(found(evidence_of(image, {0}, weights), true, true).in_magnet);
}

TEST(TrajectoryAxes, of_a_volume_are_those_in_which_partitions_are_apart_from_others) {
  const auto image = directions(0.6, 0.4);
  const std::vector<double> partitions{-3, -2, -1, 0, 1, 2};
  const auto magnet = [&](const Vector& k) { return in_magnet(image, k); };
  EXPECT_TRUE(found(evidence_of(image, partitions, magnet), false).in_magnet);
  const auto as_usual = found(evidence_of(image, partitions, as_is), false);
  EXPECT_FALSE(as_usual.in_magnet);
  EXPECT_NE(as_usual.sentence, "");
  EXPECT_EQ(found(evidence_of(directions(0, 0), partitions, as_is), false).sentence, "");
}

}  // namespace
}  // namespace fhd::io
