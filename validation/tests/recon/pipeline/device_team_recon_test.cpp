// One scan by a team: here all its devices are the CPU.
#include <gtest/gtest.h>

#include "validation/certificate.hpp"
#include "validation/tests/device_team.hpp"
#include "validation/tests/gpu.hpp"

namespace fhd {
namespace {

TEST(DeviceTeamRecon, gives_the_image_of_one_device_and_the_same_bits_every_time) {
  for (const auto& [what, scan, all_iterations] : tests::team_cases()) {
    SCOPED_TRACE(what);
    const auto settings = tests::with_ten_iterations(all_iterations);
    const auto one = reconstruct(scan, settings, {Device::cpu(), 1});
    for (const int ranks : {2, 3}) {
      const DeviceTeam team(std::vector<Device>(static_cast<std::size_t>(ranks), Device::cpu()));
      const auto many = tests::by_team(team, scan, settings), again = tests::by_team(team, scan, settings);
      EXPECT_LE(tests::difference(many.front(), one), tests::team_tolerance) << ranks << " ranks";
      for (const auto& of_rank : many)
        EXPECT_TRUE(tests::identical(of_rank.image.values, again.front().image.values)) << ranks << " ranks";
    }
  }
}

TEST(DeviceTeamRecon, rounds_as_one_device_does) {
  const DeviceTeam team({Device::cpu(), Device::cpu()});
  for (const auto& [what, scan, settings] : tests::team_cases()) {
    SCOPED_TRACE(what);
    tests::expect_rounding_of_one(team, scan, settings);
  }
}

TEST(DeviceTeamRecon, the_first_rank_has_the_certificate) {
  const DeviceTeam team({Device::cpu(), Device::cpu()});
  const auto made = tests::by_team(team, tests::team_scan({24, 24, 1}, 2), Settings{},
                                   Services{.verifier = validation::make_verifier()});
  ASSERT_TRUE(made.front().report.certificate);
  EXPECT_TRUE(made.front().report.certificate->passed);
}

TEST(DeviceTeamRecon, a_scan_that_cannot_be_shared_is_refused_by_every_rank) {
  const auto scan = tests::team_scan({16, 16, 1}, 1);
  const Settings gridding{ConventionalGridding{}};
  ASSERT_EQ(obstacle_to_group(gridding, scan, 2), "a method other than cg");
  EXPECT_EQ(obstacle_to_group(gridding, scan, 1), "");
  EXPECT_EQ(obstacle_to_group(Settings{}, scan, 2), "");
  const DeviceTeam team({Device::cpu(), Device::cpu()});
  EXPECT_THROW(tests::by_team(team, scan, gridding), Error);
}

}  // namespace
}  // namespace fhd
