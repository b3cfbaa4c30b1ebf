// Q and density compensation kept between reconstructions.
#include "io/result/trajectory_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd {
namespace {

namespace fs = std::filesystem;

class TrajectoryCacheTest : public tests::ScratchTest {
 protected:
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder())) found.push_back(entry.path());
    return found;
  }
  Trajectory trajectory_ = tests::random_trajectory({8, 8, 1}, 50, 1);
  std::vector<double> values_ = std::vector<double>(1000, 0.25);
  const std::size_t bytes_ = 1000 * sizeof(double);
};

TEST_F(TrajectoryCacheTest, gives_back_what_it_was_given) {
  const TrajectoryProduct product{trajectory_, {8, 8, 1}, "Q, single"};
  {
    const auto cache = io::disk_trajectory_cache(folder(), "1.0");
    std::vector<double> read(1000);
    EXPECT_FALSE(cache->load(product, read.data(), bytes_));
    cache->store(product, values_.data(), bytes_);
  }
  const auto later = io::disk_trajectory_cache(folder(), "1.0");
  std::vector<double> read(1000);
  EXPECT_TRUE(later->load(product, read.data(), bytes_));
  EXPECT_EQ(read, values_);
  EXPECT_EQ(files().size(), 1U) << "no temporary file is left";
}

TEST_F(TrajectoryCacheTest, tells_apart_what_is_different) {
  const auto cache = io::disk_trajectory_cache(folder(), "1.0");
  cache->store({trajectory_, {8, 8, 1}, "Q, single"}, values_.data(), bytes_);
  Trajectory other(trajectory_);
  other.k[7] += 1e-9;
  std::vector<double> read(1000);
  EXPECT_FALSE(cache->load({other, {8, 8, 1}, "Q, single"}, read.data(), bytes_));
  EXPECT_FALSE(cache->load({trajectory_, {8, 9, 1}, "Q, single"}, read.data(), bytes_));
  EXPECT_FALSE(cache->load({trajectory_, {8, 8, 1}, "Q, double"}, read.data(), bytes_));
  const auto newer = io::disk_trajectory_cache(folder(), "1.1");
  EXPECT_FALSE(newer->load({trajectory_, {8, 8, 1}, "Q, single"}, read.data(), bytes_));
  EXPECT_TRUE(cache->load({trajectory_, {8, 8, 1}, "Q, single"}, read.data(), bytes_));
}

TEST_F(TrajectoryCacheTest, removes_a_damaged_file) {
  const TrajectoryProduct product{trajectory_, {8, 8, 1}, "Q"};
  std::vector<double> read(1000);
  const auto damage = [&](auto how) {
    const auto cache = io::disk_trajectory_cache(folder(), "1.0");
    cache->store(product, values_.data(), bytes_);
    ASSERT_EQ(files().size(), 1U);
    how(files().front());
    EXPECT_FALSE(cache->load(product, read.data(), bytes_));
    EXPECT_TRUE(files().empty());
  };
  damage([](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); });
  damage([](const fs::path& path) { fs::resize_file(path, 10); });
  damage([](const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('x');
  });
}

TEST_F(TrajectoryCacheTest, does_not_wait_for_a_pipe_nor_read_through_a_link) {
  const TrajectoryProduct product{trajectory_, {8, 8, 1}, "Q"};
  const auto cache = io::disk_trajectory_cache(folder(), "1.0");
  cache->store(product, values_.data(), bytes_);
  const auto entry = files().front();
  const auto elsewhere = fs::path(path("elsewhere"));
  fs::rename(entry, elsewhere);
  std::vector<double> read(1000);
  fs::create_symlink(elsewhere, entry);
  EXPECT_FALSE(cache->load(product, read.data(), bytes_));
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_FALSE(cache->load(product, read.data(), bytes_));
  cache->store(product, values_.data(), bytes_);
  EXPECT_TRUE(fs::is_fifo(entry)) << "what it did not make stays";
}

TEST_F(TrajectoryCacheTest, removes_only_what_it_made) {
  tests::write_text(path("mine.fhdcache"), std::string(4 * bytes_, 'x'));
  const auto cache = io::disk_trajectory_cache(folder(), "1.0", 3 * (bytes_ + 200));
  for (const char* name : {"a", "b", "c", "d"})
    cache->store({trajectory_, {8, 8, 1}, name}, values_.data(), bytes_);
  EXPECT_TRUE(fs::exists(path("mine.fhdcache")));
  EXPECT_EQ(files().size(), 4U);
}

TEST_F(TrajectoryCacheTest, stays_below_its_bound_and_keeps_what_was_used_last) {
  const auto cache = io::disk_trajectory_cache(folder(), "1.0", 3 * (bytes_ + 200));
  const auto product = [&](const std::string& name) {
    return TrajectoryProduct{trajectory_, {8, 8, 1}, name};
  };
  std::vector<double> read(1000);
  for (const char* name : {"a", "b", "c"}) cache->store(product(name), values_.data(), bytes_);
  // File times may be coarse: the order is made certain.
  const auto hour = std::chrono::hours(1);
  for (const auto& path : files()) fs::last_write_time(path, fs::last_write_time(path) - hour);
  EXPECT_TRUE(cache->load(product("a"), read.data(), bytes_));
  cache->store(product("d"), values_.data(), bytes_);
  EXPECT_EQ(files().size(), 3U);
  EXPECT_TRUE(cache->load(product("a"), read.data(), bytes_));
  EXPECT_TRUE(cache->load(product("d"), read.data(), bytes_));
}

TEST_F(TrajectoryCacheTest, that_cannot_be_written_only_misses) {
  const auto cache = io::disk_trajectory_cache("/proc/no/such/folder", "1.0");
  const TrajectoryProduct product{trajectory_, {8, 8, 1}, "Q"};
  cache->store(product, values_.data(), bytes_);
  std::vector<double> read(1000);
  EXPECT_FALSE(cache->load(product, read.data(), bytes_));
}

Scan small_scan() {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {24, 24, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 2;
  return data::simulate(settings).scan;
}

bool equal(const Image& a, const Image& b) {
  return a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(),
                     static_cast<std::size_t>(a.values.size()) * sizeof(Complex<float>)) == 0;
}

TEST_F(TrajectoryCacheTest, leaves_the_image_as_it_is) {
  const Scan scan = small_scan();
  const Image without = reconstruct(scan).image, gridded = reconstruct(scan, {ConventionalGridding{}}).image;
  const auto cache = io::disk_trajectory_cache(folder(), "1.0");
  for (const int hits : {0, 1}) {
    const auto made = reconstruct(scan, {LeastSquares{}}, {}, {cache});
    EXPECT_TRUE(equal(made.image, without));
    EXPECT_EQ(made.report.trajectory_hits, hits);
  }
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(equal(reconstruct(scan, {ConventionalGridding{}}, {}, {cache}).image, gridded));
  EXPECT_EQ(files().size(), 2U) << "Q and the weights";
}

}  // namespace
}  // namespace fhd
