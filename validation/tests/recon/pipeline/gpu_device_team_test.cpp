// Several GPUs of one process: skipped where there is one.
#include <algorithm>

#include "io/result/results.hpp"
#include "validation/tests/device_team.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

constexpr const char* too_few = "fewer than 2 GPUs";

class GpuTeam : public tests::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    for (const auto& d : device::inventory().devices) devices_.push_back(d.device);
    if (devices_.size() < 2) GTEST_SKIP() << too_few;
    for (const Device device : devices_) device::start(device);
  }
  const std::vector<Device>& devices() const { return devices_; }
  std::vector<Device> two() const { return {devices_[0], devices_[1]}; }

 private:
  std::vector<Device> devices_;
};

/// Each rank has random numbers, summed on its GPU.
template <class T>
std::vector<Array<Complex<T>>> summed(const DeviceTeam& team, std::int64_t count) {
  std::vector<Array<Complex<T>>> results(static_cast<std::size_t>(team.size()));
  team.run([&](int rank) {
    auto mine = tests::random_values<T>({count}, 7 + static_cast<unsigned>(rank)).to(team.device(rank));
    sum_over(*team.group(rank), mine);
    results[static_cast<std::size_t>(rank)] = mine.to(Device::cpu());
  });
  return results;
}

template <class T>
void expect_sums(const DeviceTeam& team, double tolerance) {
  for (const std::int64_t count : {1, 5, 1000003}) {
    Array<Complex<double>> expected(Shape{count});
    for (int rank = 0; rank < team.size(); ++rank) {
      const auto of_rank = tests::random_values<T>({count}, 7 + static_cast<unsigned>(rank));
      for (std::int64_t i = 0; i < count; ++i) expected[i] += Complex<double>(of_rank[i]);
    }
    const auto once = summed<T>(team, count), again = summed<T>(team, count);
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(once.front()), expected), tolerance);
    for (const auto& of_rank : once) EXPECT_TRUE(tests::identical(of_rank, again.front())) << count;
  }
}

TEST_F(GpuTeam, sums_are_right_and_the_same_bits_in_every_rank_and_every_run) {
  for (const auto& some : {two(), devices()}) {
    const DeviceTeam team(some);
    expect_sums<float>(team, 1e-6);  // a few roundings of 6e-8
    expect_sums<double>(team, 1e-15);
  }
}

TEST_F(GpuTeam, gives_the_image_of_one_gpu_and_the_same_bits_every_time) {
  for (const auto& some : {two(), devices()}) {
    const DeviceTeam team(some);
    for (const auto& [what, scan, all_iterations] : tests::team_cases()) {
      SCOPED_TRACE(std::string(what) + ", " + std::to_string(team.size()) + " GPUs");
      const auto settings = tests::with_ten_iterations(all_iterations);
      const auto one = reconstruct(scan, settings, {Device::cuda(), 1});
      const auto many = tests::by_team(team, scan, settings), again = tests::by_team(team, scan, settings);
      EXPECT_LE(tests::difference(many.front(), one), tests::team_tolerance);
      for (const auto& of_rank : many)
        EXPECT_TRUE(tests::identical(of_rank.image.values, again.front().image.values));
      tests::expect_rounding_of_one(team, scan, all_iterations);
    }
  }
}

TEST_F(GpuTeam, a_gpu_without_memory_ends_the_others_and_is_told) {
  const auto scan = tests::team_scan({64, 64, 1}, 4);
  const DeviceTeam team(two());
  device::limit_memory(devices()[1], 1 << 16);
  EXPECT_THROW(tests::by_team(team, scan, Settings{}), DeviceError);
  device::limit_memory(devices()[1], 0);
  const auto settings = tests::with_ten_iterations(Settings{});
  const auto after = tests::by_team(team, scan, settings);
  EXPECT_LE(tests::difference(after.front(), reconstruct(scan, settings, {Device::cuda(), 1})),
            tests::team_tolerance)
      << "it works again";
}

class GpuTeamProgram : public tests::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!IsSkipped() && device::inventory().devices.size() < 2) GTEST_SKIP() << too_few;
  }
  /// Largest relative l2 difference of the images of two results.
  double difference(const std::string& found, const std::string& expected) const {
    const auto a = io::read_image(path(found)).images, b = io::read_image(path(expected)).images;
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      largest = std::max(largest, metrics::relative_l2(converted<Complex<double>>(a[i].values),
                                                       converted<Complex<double>>(b[i].values)));
    return a.empty() ? 1 : largest;
  }
};

TEST_F(GpuTeamProgram, several_gpus_share_a_scan_or_deal_out_its_volumes) {
  ASSERT_EQ(run("simulate -o one --matrix 64 --coils 4"), 0) << text("err");
  ASSERT_EQ(run("recon one.h5 -o all --device cuda:all --iterations 10"), 0) << text("err");
  EXPECT_NE(text("out").find("GPUs share samples and coils"), std::string::npos) << text("out");
  ASSERT_EQ(run("recon one.h5 -o alone --device cuda:0 --iterations 10"), 0) << text("err");
  EXPECT_LE(difference("all.h5", "alone.h5"), tests::team_tolerance);
  ASSERT_EQ(run("recon one.h5 -o plain --device cuda:0,1 --method gridded"), 0) << text("err");
  EXPECT_NE(text("out").find("one of 2 GPUs computes"), std::string::npos) << text("out");

  ASSERT_EQ(run("simulate -o many --matrix 64 --coils 4 --repetitions 24 --no-maps"), 0) << text("err");
  ASSERT_EQ(run("recon many.h5 -o all --device cuda:0,1 --force --iterations 10"), 0) << text("err");
  EXPECT_NE(text("out").find("; GPU 1: "), std::string::npos) << text("out");
  ASSERT_EQ(run("recon many.h5 -o alone --device cuda:0 --force --iterations 10"), 0) << text("err");
  EXPECT_LE(difference("all.h5", "alone.h5"), tests::team_tolerance);
}

TEST_F(GpuTeamProgram, a_gpu_that_is_not_there_is_one_clear_line) {
  ASSERT_EQ(run("simulate -o one --matrix 32"), 0) << text("err");
  EXPECT_EQ(run("recon one.h5 -o all --device cuda:0,63"), 1);
  EXPECT_NE(text("err").find("--device cuda:63: expected cuda:0 ... cuda:"), std::string::npos)
      << text("err");
}

}  // namespace
}  // namespace fhd
