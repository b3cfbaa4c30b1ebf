// Regular gaps of a Cartesian scan, and what looks like them.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "recon/coils/undersampling.hpp"

namespace fhd {
namespace {

using Matrix = std::array<int, 3>;
using Wanted = std::function<bool(int y, int z)>;

/// Lines along x at the wanted (ky, kz), k = -N/2 ... (N-1)/2.
Trajectory lines(const Matrix& n, const Wanted& wanted) {
  std::vector<std::array<int, 3>> samples;
  for (int z = -(n[2] / 2); z <= (n[2] - 1) / 2; ++z)
    for (int y = -(n[1] / 2); y <= (n[1] - 1) / 2; ++y)
      for (int x = -(n[0] / 2); wanted(y, z) && x <= (n[0] - 1) / 2; ++x) samples.push_back({x, y, z});
  const auto count = static_cast<std::int64_t>(samples.size());
  Trajectory trajectory{Array<double>({3, count})};
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < count; ++m)
      trajectory.k[axis * count + m] = samples[static_cast<std::size_t>(m)][axis];
  return trajectory;
}
int reduction(const Matrix& n, const Wanted& wanted) {
  return lattice_sampling(lines(n, wanted), n).reduction;
}
int modulo(int value, int n) { return ((value % n) + n) % n; }

TEST(LatticeSampling, finds_regular_gaps_and_their_number) {
  const Matrix plane{32, 128, 1}, odd{31, 99, 1}, volume{16, 64, 48};
  for (int r = 2; r <= 6; ++r) {
    EXPECT_EQ(reduction(plane, [&](int y, int) { return modulo(y, r) == 0; }), r);
    EXPECT_EQ(reduction(odd, [&](int y, int) { return modulo(y, r) == 1; }), r) << "no line at the centre";
  }
  EXPECT_EQ(reduction(volume, [](int y, int z) { return modulo(y, 2) == 0 && modulo(z, 3) == 0; }), 6);
  EXPECT_EQ(reduction(volume, [](int y, int z) { return modulo(y + 2 * modulo(z, 2), 4) == 0; }), 4)
      << "CAIPIRINHA";
  EXPECT_EQ(reduction(plane, [](int y, int) { return modulo(y, 2) == 0 && y < 20; }), 2) << "partial Fourier";
  auto along_y = lines({64, 64, 1}, [](int y, int) { return modulo(y, 2) == 0; });
  const auto count = along_y.sample_count();
  for (std::int64_t m = 0; m < count; ++m) std::swap(along_y.k[m], along_y.k[count + m]);
  EXPECT_EQ(lattice_sampling(along_y, {64, 64, 1}).reduction, 2) << "readout along y";
}

TEST(LatticeSampling, tells_the_width_of_the_reference) {
  const Matrix plane{32, 128, 1}, volume{16, 64, 64};
  const auto width = [](const Matrix& n, const Wanted& wanted) {
    const auto found = lattice_sampling(lines(n, wanted), n);
    EXPECT_EQ(found.reduction, 3);
    return found.reference_width;
  };
  EXPECT_EQ(width(plane, [](int y, int) { return modulo(y, 3) == 0; }), 1);
  EXPECT_EQ(width(plane, [](int y, int) { return modulo(y, 3) == 0 || (y >= -12 && y < 12); }),
            25);  // 12 is of the lattice
  EXPECT_EQ(width(plane, [](int y, int) { return modulo(y, 3) == 0 || (y >= -2 && y < 2); }), 5);
  EXPECT_EQ(width(plane, [](int y, int) { return modulo(y, 3) == 1; }), 0);
  EXPECT_EQ(width(volume,
                  [](int y, int z) { return modulo(y, 3) == 0 || (std::abs(y) <= 10 && std::abs(z) <= 6); }),
            13);
}

TEST(LatticeSampling, other_gaps_are_not_regular) {
  const Matrix plane{32, 128, 1}, volume{16, 64, 64};
  EXPECT_EQ(reduction(plane, [](int, int) { return true; }), 1);
  EXPECT_EQ(reduction(plane, [](int y, int) { return y < 12; }), 1) << "partial Fourier";
  EXPECT_EQ(reduction(plane, [](int y, int) { return std::abs(y) < 30; }), 1) << "a smaller matrix";
  EXPECT_EQ(reduction(volume, [](int y, int z) { return y * y + z * z < 32 * 32; }), 1) << "an ellipse";
  std::mt19937 generator(5);
  for (const int r : {2, 3, 5, 8}) {
    const auto random = [&](int, int) { return generator() % static_cast<unsigned>(r) == 0; };
    EXPECT_EQ(reduction(plane, random), 1) << "random, " << r;
    EXPECT_EQ(reduction(volume, random), 1) << "random, " << r;
    EXPECT_EQ(reduction(volume, [&](int y, int z) { return random(y, z) || std::hypot(y, z) < 8; }), 1)
        << "variable density, " << r;
  }
  EXPECT_EQ(reduction(plane, [](int y, int) { return std::abs(y) < 34 || modulo(y, 2) == 0; }), 1)
      << "half of k-space without gaps";
}

TEST(LatticeSampling, other_trajectories_have_no_lattice) {
  constexpr int n = 64, samples = 64, spokes = 40;
  Trajectory radial{Array<double>({3, samples * spokes})};
  for (int spoke = 0; spoke < spokes; ++spoke)
    for (int s = 0; s < samples; ++s) {
      radial.k[spoke * samples + s] = std::cos(spoke * 1.94) * (s - n / 2);
      radial.k[samples * spokes + spoke * samples + s] = std::sin(spoke * 1.94) * (s - n / 2);
    }
  EXPECT_EQ(lattice_sampling(radial, {n, n, 1}).reduction, 1);
}

}  // namespace
}  // namespace fhd
