// Where maps are wanted: objects whose place is known, in much air, with dark parts, in pieces, far from the coils.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "data/coils.hpp"
#include "data/simulate.hpp"
#include "data/trajectory.hpp"
#include "recon/coils/maps.hpp"

namespace {

using namespace fhd;
using data::PhantomPart;
using data::TrajectoryKind;

constexpr int matrix = 96;

PhantomPart ellipse(double x, double y, double a, double b, double intensity) {
  PhantomPart part;
  part.centre = {x, y, 0};
  part.half_axes = {a, b, 1};
  part.intensity = intensity;
  return part;
}

struct MaskCase {
  std::string name;
  std::vector<PhantomPart> parts;
  double noise;  ///< of the real part in a voxel of one coil's image, where 1 is the brightest tissue
  std::vector<int> coils;  ///< of a ring of eight
  TrajectoryKind kind = TrajectoryKind::cartesian;
  friend std::ostream& operator<<(std::ostream& out, const MaskCase& c) { return out << c.name; }
};

const std::vector<int> ring{0, 1, 2, 3, 4, 5, 6, 7};

Scan scan_of(const MaskCase& c) {
  data::TrajectorySettings settings;
  settings.kind = c.kind;
  settings.matrix_size = {matrix, matrix, 1};
  Scan scan;
  scan.geometry.matrix_size = settings.matrix_size;
  scan.trajectory = data::design_trajectory(settings).trajectory;
  const std::int64_t samples = scan.trajectory.sample_count();
  const data::CoilKSpace kspace(data::Phantom(2, c.parts), data::CoilArray(2, 8));
  std::vector<Complex<double>> all(8 * samples);
  const double* k = scan.trajectory.k.data();
  const auto axis = [&](int i) { return std::span(k + i * samples, static_cast<std::size_t>(samples)); };
  kspace.values({axis(0), axis(1), axis(2)}, all);
  const auto coils = static_cast<std::int64_t>(c.coils.size());
  scan.kspace.values = Array<Complex<float>>({coils, samples});
  for (std::int64_t i = 0; i < coils; ++i)
    for (std::int64_t m = 0; m < samples; ++m)
      scan.kspace.values[i * samples + m] =
          Complex<float>(double(matrix) * matrix * all[c.coils[static_cast<std::size_t>(i)] * samples + m]);
  data::add_noise(scan.kspace.values, c.noise * matrix, 3);
  return scan;
}

struct Outcome {
  std::int64_t tissue = 0, lost = 0, air = 0, kept = 0;
  double alike = 0;  ///< |<true, found>| of unit maps, the mean over tissue
};
/// Checks maps [coil][z][y][x]. Air is what lies further from tissue than the mask reaches: 1/16 FOV beside a voxel of the
/// calibration region on either side, and the blur of its window, 1/16 FOV.
Outcome outcome(const Array<Complex<float>>& maps, const MaskCase& c) {
  const data::Phantom phantom(2, c.parts);
  const auto truth = data::CoilArray(2, 8).maps({matrix, matrix, 1});
  constexpr std::int64_t voxels = matrix * matrix;
  const auto at = [](int n) { return static_cast<double>(n - matrix / 2) / matrix; };
  std::vector<std::array<int, 2>> tissue;
  for (int y = 0; y < matrix; ++y)
    for (int x = 0; x < matrix; ++x)
      if (phantom.value({at(x), at(y), 0}) > 0) tissue.push_back({x, y});
  Outcome result;
  for (int y = 0; y < matrix; ++y)
    for (int x = 0; x < matrix; ++x) {
      bool has_map = false;
      for (std::int64_t i = y * matrix + x; i < maps.size(); i += voxels)
        has_map = has_map || norm(maps[i]) > 0;
      double nearest = 4;
      for (const auto& [u, v] : tissue)
        nearest = std::min(nearest, std::hypot(double(x - u), double(y - v)) / matrix);
      if (nearest == 0) {
        ++result.tissue, result.lost += !has_map;
        Complex<double> product;
        double squares[2] = {};
        for (std::size_t i = 0; i < c.coils.size(); ++i) {
          const Complex<double> t(truth.values[c.coils[i] * voxels + y * matrix + x]),
              m(maps[static_cast<std::int64_t>(i) * voxels + y * matrix + x]);
          product += conj(t) * m, squares[0] += norm(t), squares[1] += norm(m);
        }
        if (has_map) result.alike += abs(product) / std::sqrt(squares[0] * squares[1]);
      }
      if (nearest > 2.0 / 16 + 2.0 / 40) ++result.air, result.kept += has_map;
    }
  result.alike /= double(result.tissue - result.lost);
  return result;
}

const MaskCase cases[] = {
    {"a small object in much air, noisy", {ellipse(0.05, -0.1, 0.17, 0.15, 1)}, 0.1, ring},
    {"a small object in much air, very noisy", {ellipse(0.05, -0.1, 0.17, 0.15, 1)}, 0.3, ring},
    {"a small object in much air, noisy, radial",
     {ellipse(0.05, -0.1, 0.17, 0.15, 1)},
     0.2,
     ring,
     TrajectoryKind::golden_radial},
    {"a small object in much air, without noise", {ellipse(0.05, -0.1, 0.17, 0.15, 1)}, 0, ring},
    {"a chest with dark lungs",
     {ellipse(0, 0, 0.40, 0.28, 1), ellipse(-0.19, 0, 0.14, 0.2, -0.97), ellipse(0.19, 0, 0.14, 0.2, -0.97)},
     0.03,
     ring},
    {"a chest with dark lungs, noisy",
     {ellipse(0, 0, 0.40, 0.28, 1), ellipse(-0.19, 0, 0.14, 0.2, -0.97), ellipse(0.19, 0, 0.14, 0.2, -0.97)},
     0.1,
     ring,
     TrajectoryKind::golden_radial},
    {"a chest beside its arms",
     {ellipse(0, 0, 0.26, 0.2, 1), ellipse(-0.42, 0.02, 0.05, 0.07, 0.5),
      ellipse(0.42, 0.02, 0.05, 0.07, 0.5)},
     0.1,
     ring},
    {"two legs, one of them dark",
     {ellipse(-0.24, 0, 0.15, 0.15, 1), ellipse(0.24, 0, 0.15, 0.15, 0.15)},
     0.05,
     ring},
    {"tissue far from two surface coils", {ellipse(0, 0, 0.42, 0.42, 1)}, 0.005, {0, 1}},
    {"tissue far from three surface coils, noisy", {ellipse(0, 0, 0.42, 0.42, 1)}, 0.02, {0, 1, 2}},
};

class MapMask : public testing::TestWithParam<MaskCase> {};

TEST_P(MapMask, holds_all_tissue_and_little_air) {
  const Scan scan = scan_of(GetParam());
  for (const auto method : {MapMethod::adaptive, MapMethod::espirit}) {
    const auto found = outcome(estimate_maps(scan, method).maps.values, GetParam());
    EXPECT_LE(double(found.lost), 1e-3 * double(found.tissue));
    // One false alarm in a hundred images, and its disc of 1/16 FOV.
    EXPECT_LE(double(found.kept), std::ceil(3.15 * std::pow(matrix / 16.0 + 1, 2)));
  }
}

INSTANTIATE_TEST_SUITE_P(Objects, MapMask, testing::ValuesIn(cases));

}  // namespace
