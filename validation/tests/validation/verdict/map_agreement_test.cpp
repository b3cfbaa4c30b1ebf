// Maps that do not belong to the data, and what is said of them.
#include "validation/verdict/map_agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/simulate.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;

Scan scan_of_coils() {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.coil_count = 6;
  return data::simulate(settings).scan;
}

/// Maps whose value at [coil][y][x] is that of the present ones at `source`.
void take_maps(Scan& scan, const std::function<std::array<Index, 3>(Index, Index, Index)>& source) {
  const auto told = scan.sensitivity_maps->values;
  const Index n = 48;
  for (Index coil = 0; coil < 6; ++coil)
    for (Index y = 0; y < n; ++y)
      for (Index x = 0; x < n; ++x) {
        const auto [c, v, u] = source(coil, y, x);
        scan.sensitivity_maps->values[(coil * n + y) * n + x] = told[(c * n + v) * n + u];
      }
}

struct Wrong {
  const char* name;
  std::function<void(Scan&)> plant;
  const char* says;
  double amount;
};

class MapAgreementTest : public testing::TestWithParam<Wrong> {};

TEST_P(MapAgreementTest, names_the_change) {
  Scan scan = scan_of_coils();
  GetParam().plant(scan);
  const auto found = validation::compare_maps(scan);
  ASSERT_TRUE(found.cause) << found.explained;
  EXPECT_NE(found.cause->text.find(GetParam().says), std::string::npos) << found.cause->text;
  if (GetParam().amount > 0) {
    EXPECT_NEAR(found.cause->amount, GetParam().amount, 0.15 * GetParam().amount);
  }
}

void scale_coil(Scan& scan, Complex<float> by) {
  for (Index m = 0; m < scan.kspace.sample_count(); ++m) {
    auto& d = scan.kspace.values[2 * scan.kspace.sample_count() + m];
    d = by * d;
  }
}

/// Changes samples of coil 2 from the middle of the scan on.
void scale_later(Scan& scan, float by) {
  const Index count = scan.kspace.sample_count();
  for (Index m = count / 2; m < count; ++m) {
    auto& d = scan.kspace.values[2 * count + m];
    d = by * d;
  }
}

/// Adds 0.6 times the signal of coil 1 to coil 0, and the other way round.
void couple(Scan& scan) {
  const Index count = scan.kspace.sample_count();
  for (Index m = 0; m < count; ++m) {
    auto &a = scan.kspace.values[m], &b = scan.kspace.values[count + m];
    const auto told = a;
    a = a + 0.6f * b, b = b + 0.6f * told;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MapAgreementTest,
    testing::Values(
        Wrong{"conjugated",
              [](Scan& s) {
                for (auto& v : s.sensitivity_maps->values) v = conj(v);
              },
              "are conjugated", 0},
        Wrong{"mirrored",
              [](Scan& s) {
                take_maps(s, [](Index c, Index y, Index x) { return std::array<Index, 3>{c, y, 47 - x}; });
              },
              "mirrored along x", 0},
        Wrong{"transposed",
              [](Scan& s) {
                take_maps(s, [](Index c, Index y, Index x) { return std::array<Index, 3>{c, x, y}; });
              },
              "x and y are swapped", 0},
        Wrong{"shifted",
              [](Scan& s) {
                take_maps(s, [](Index c, Index y, Index x) {
                  return std::array<Index, 3>{c, y, std::max<Index>(0, x - 12)};
                });
              },
              "shifted by 12, 0, 0 voxels", 12},
        Wrong{"turned_order",
              [](Scan& s) {
                take_maps(s, [](Index c, Index y, Index x) {
                  return std::array<Index, 3>{(c + 1) % 6, y, x};
                });
              },
              "permuted", 0},
        Wrong{"exchanged",
              [](Scan& s) {
                take_maps(s, [](Index c, Index y, Index x) {
                  return std::array<Index, 3>{c == 1 ? 4 : c == 4 ? 1 : c, y, x};
                });
              },
              "1 and 4 are exchanged", 0},
        Wrong{"data_conjugated",
              [](Scan& s) {
                for (auto& v : s.kspace.values) v = conj(v);
              },
              "data are conjugated", 0},
        Wrong{"k_of_the_other_sign",
              [](Scan& s) {
                for (auto& k : s.trajectory.k) k = -k;
              },
              "the sign of k", 0},
        Wrong{"sign_of_a_coil",
              [](Scan& s) {
                scale_coil(s, {-1, 0});
              },
              "coil 2 (from 0) has the other sign", 0},
        Wrong{"gain_of_a_coil",
              [](Scan& s) {
                scale_coil(s, {3, 0});
              },
              "coil 2 (from 0) has 3", 3},
        Wrong{"conjugated_coil",
              [](Scan& s) {
                for (Index m = 0; m < s.kspace.sample_count(); ++m) {
                  auto& d = s.kspace.values[2 * s.kspace.sample_count() + m];
                  d = conj(d);
                }
              },
              "coil 2 (from 0) is conjugated", 0},
        Wrong{"lost_coil", [](Scan& s) { scale_later(s, 0); }, "coil 2 (from 0) is lost at readout", 0},
        Wrong{"coil_that_changes_its_sign", [](Scan& s) { scale_later(s, -1); },
              "coil 2 (from 0) changes its sign at readout", 1},
        Wrong{"coupled_coils", couple, "coil 0 (from 0) and coil 1 are coupled", 0.6}),
    [](const auto& planted) { return std::string(planted.param.name); });

TEST(MapAgreement, finds_right_maps_right) {
  const auto found = validation::compare_maps(scan_of_coils());
  EXPECT_GT(found.explained, 0.95);
  EXPECT_FALSE(found.cause);
  EXPECT_FALSE(validation::unlike_maps(found));
}

TEST(MapAgreement, blames_no_maps_where_each_coil_contradicts_itself) {
  Scan scan = scan_of_coils();
  const Index count = scan.kspace.sample_count();
  for (Index i = 0; i < count / 2; ++i)  // readouts in another order
    for (Index coil = 0; coil < 6; ++coil)
      std::swap(scan.kspace.values[coil * count + i],
                scan.kspace.values[coil * count + count - 1 - (i * 7) % count]);
  const auto found = validation::compare_maps(scan);
  EXPECT_LT(found.explained_without_maps, 0.9);
  EXPECT_FALSE(found.cause);
  EXPECT_FALSE(validation::unlike_maps(found));
}

/// A scan of every second line, whose maps are found in a calibration of its own.
Scan scan_with_calibration() {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.coil_count = 6;
  Scan scan = data::simulate(settings).scan;
  scan.sensitivity_maps.reset();
  const auto all = scan;
  const Index count = scan.kspace.sample_count();
  const auto keep = [&](const auto& keeps, Trajectory& trajectory, KSpace& kspace) {
    std::vector<Index> kept;
    for (Index m = 0; m < count; ++m)
      if (keeps(all.trajectory.k[m], all.trajectory.k[count + m])) kept.push_back(m);
    const auto left = static_cast<Index>(kept.size());
    trajectory.k = Array<double>({3, left}), kspace.values = Array<Complex<float>>({6, left});
    for (Index i = 0; i < left; ++i) {
      for (Index axis = 0; axis < 3; ++axis)
        trajectory.k[axis * left + i] = all.trajectory.k[axis * count + kept[static_cast<std::size_t>(i)]];
      for (Index coil = 0; coil < 6; ++coil)
        kspace.values[coil * left + i] = all.kspace.values[coil * count + kept[static_cast<std::size_t>(i)]];
    }
  };
  scan.calibration.emplace();
  keep([](double x, double y) { return std::max(std::abs(x), std::abs(y)) < 12; },
       scan.calibration->trajectory, scan.calibration->kspace);
  keep([](double, double y) { return std::lround(y) % 2 == 0; }, scan.trajectory, scan.kspace);
  return scan;
}

TEST(MapAgreement, compares_a_calibration_with_a_scan_of_every_second_line) {
  Scan scan = scan_with_calibration();
  EXPECT_GT(validation::compare_maps(scan).explained, 0.99);
  for (auto& d : scan.calibration->kspace.values) d = conj(d);
  const auto found = validation::compare_maps(scan);
  ASSERT_TRUE(found.cause) << found.explained;
  EXPECT_NE(found.cause->text.find("conjugated"), std::string::npos) << found.cause->text;
}

TEST(MapAgreement, takes_lines_in_reversed_order_for_a_mirrored_scan) {
  Scan scan = scan_with_calibration();
  const Index count = scan.kspace.sample_count(), length = 48;
  const auto told = scan.kspace.values;
  for (Index i = 0; i < scan.kspace.values.size(); ++i) {
    const Index m = i % count;
    scan.kspace.values[i] = told[i - m + (count / length - 1 - m / length) * length + m % length];
  }
  const auto found = validation::compare_maps(scan);
  ASSERT_TRUE(found.cause) << found.explained;
  EXPECT_NE(found.cause->text.find("mirrored along y"), std::string::npos) << found.cause->text;
  EXPECT_NE(found.cause->text.find("readouts are in reversed order"), std::string::npos) << found.cause->text;
}

TEST(MapAgreement, says_that_maps_are_of_something_else) {
  Scan scan = scan_of_coils();
  take_maps(scan, [](Index c, Index y, Index x) {
    return std::array<Index, 3>{c, (y * 7 + c * 11) % 48, (x * 5 + c * 17) % 48};
  });
  const auto found = validation::compare_maps(scan);
  EXPECT_FALSE(found.cause) << found.cause->text;
  ASSERT_TRUE(validation::unlike_maps(found)) << found.explained;
}

}  // namespace
}  // namespace fhd
