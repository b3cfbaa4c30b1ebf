// Threads that work together as processes do: their sums, and what becomes of the others when one fails.
#include "recon/array/device_team.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "recon/array/vector_math.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

DeviceTeam cpu_team(int ranks) {
  return DeviceTeam(std::vector<Device>(static_cast<std::size_t>(ranks), Device::cpu()));
}

/// Value i of a rank: no sum of them is exact.
template <class T>
T value(int rank, std::int64_t i) {
  return static_cast<T>(std::sin(1.0 + 3.7 * rank + 0.31 * static_cast<double>(i)));
}

/// [rank][i] after one sum.
template <class T>
std::vector<std::vector<T>> summed(const DeviceTeam& team, std::int64_t count) {
  std::vector<std::vector<T>> values(static_cast<std::size_t>(team.size()));
  team.run([&](int rank) {
    auto& mine = values[static_cast<std::size_t>(rank)];
    for (std::int64_t i = 0; i < count; ++i) mine.push_back(value<T>(rank, i));
    team.group(rank)->sum(mine.data(), count);
  });
  return values;
}

template <class T>
void expect_sums() {
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const std::int64_t count : {0, 1, 3, 1000}) {
      const auto team = cpu_team(ranks);
      const auto once = summed<T>(team, count), again = summed<T>(team, count);
      EXPECT_EQ(once, again) << "another run, other bits";
      for (const auto& of_rank : once) EXPECT_EQ(of_rank, once.front()) << "other bits in another rank";
      for (std::int64_t i = 0; i < count; ++i) {
        double expected = 0;
        for (int rank = 0; rank < ranks; ++rank) expected += static_cast<double>(value<T>(rank, i));
        const double rounding = std::numeric_limits<T>::epsilon() * ranks;  // values are below 1
        EXPECT_LE(std::abs(static_cast<double>(once.front()[static_cast<std::size_t>(i)]) - expected),
                  rounding);
      }
    }
}

TEST(DeviceTeam, sums_are_the_same_bits_in_every_rank_and_every_run) {
  expect_sums<float>();
  expect_sums<double>();
}

TEST(DeviceTeam, arrays_on_devices_are_summed_by_copies_of_shares) {
  for (const int ranks : {2, 3, 5}) {
    const auto team = cpu_team(ranks);
    constexpr std::int64_t count = 7;
    std::vector<Array<Complex<float>>> values;
    for (int rank = 0; rank < ranks; ++rank) values.emplace_back(Shape{count});
    team.run([&](int rank) {
      auto& mine = values[static_cast<std::size_t>(rank)];
      for (std::int64_t i = 0; i < count; ++i) mine[i] = {value<float>(rank, i), value<float>(-rank, i)};
      team.group(rank)->sum_on_device(mine.data(), count, Device::cpu());
    });
    for (std::int64_t i = 0; i < count; ++i) {
      Complex<float> expected;
      for (int rank = 0; rank < ranks; ++rank)
        expected += Complex<float>{value<float>(rank, i), value<float>(-rank, i)};
      for (const auto& of_rank : values) {
        EXPECT_EQ(of_rank[i].re, expected.re);
        EXPECT_EQ(of_rank[i].im, expected.im);
      }
    }
  }
}

/// Returns the sentence that run() throws.
std::string failure_of(const DeviceTeam& team, const std::function<void(int)>& work) {
  try {
    team.run(work);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST(DeviceTeam, tells_the_failure_of_one_rank_and_ends_the_others_whenever_it_comes) {
  constexpr int ranks = 4, sums = 6;
  const auto team = cpu_team(ranks);
  for (int failing = 0; failing < ranks; ++failing)
    for (int before = 0; before < sums; ++before) {
      std::vector<int> ended(ranks);
      const auto what = failure_of(team, [&](int rank) {
        std::vector<double> values(1000, 1);
        for (int i = 0; i < sums; ++i) {
          if (rank == failing && i == before) throw Error("rank " + std::to_string(rank), "", "it failed");
          team.group(rank)->sum(values.data(), 1000);
        }
        ended[static_cast<std::size_t>(rank)] = 1;
      });
      EXPECT_EQ(what, "rank " + std::to_string(failing) + ": it failed");
      EXPECT_EQ(ended, std::vector<int>(ranks));
    }
  EXPECT_EQ(summed<float>(team, 3).front().size(), 3u) << "it works again";
}

TEST(DeviceTeam, an_error_is_not_lost_where_no_sum_follows) {
  EXPECT_EQ(failure_of(cpu_team(3),
                       [](int rank) {
                         if (rank == 2) throw Error("the last", "", "it failed");
                       }),
            "the last: it failed");
}

TEST(DeviceTeam, ranks_that_go_different_ways_are_an_error_instead_of_a_wait) {
  const auto team = cpu_team(3);
  const auto more_sums = failure_of(team, [&](int rank) {
    double one = 1;
    for (int i = 0; i < (rank == 1 ? 3 : 2); ++i) team.group(rank)->sum(&one, 1);
  });
  EXPECT_NE(more_sums.find("one that ended while others wait"), std::string::npos) << more_sums;
  const auto other_sizes = failure_of(team, [&](int rank) {
    std::vector<float> values(8);
    team.group(rank)->sum(values.data(), rank == 1 ? 8 : 7);
  });
  EXPECT_NE(other_sizes.find("a sum over devices: expected"), std::string::npos) << other_sizes;
}

TEST(DeviceTeam, has_a_device_at_least) { EXPECT_THROW(cpu_team(0), Error); }

}  // namespace
}  // namespace fhd
