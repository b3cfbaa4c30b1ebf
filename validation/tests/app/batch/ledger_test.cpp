#include "app/batch/ledger.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "validation/tests/scratch.hpp"

namespace fhd::app {
namespace {

using Claims = tests::ScratchTest;

TEST_F(Claims, tell_whether_a_process_that_died_had_it) {
  const std::string directory = path("");
  {
    const auto claim = Claim::take(directory, "scan");
    ASSERT_TRUE(claim);
    EXPECT_FALSE(claim->was_left());
    EXPECT_FALSE(Claim::take(directory, "scan")) << "taken twice";
  }
  EXPECT_FALSE(std::filesystem::exists(path(".claims/scan")));
  std::ofstream(path(".claims/scan"));  // as a process leaves it that is killed
  const auto claim = Claim::take(directory, "scan");
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->was_left());
}

}  // namespace
}  // namespace fhd::app
