// Volumes are read ahead, in the order of their slices, those of the same positions together.
#include "app/run/volume_reader.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "validation/tests/io/io_scans.hpp"

namespace {

using namespace fhd;
using namespace fhd::app;

/// Volumes of 2 coils and 3 samples whose values tell their number; those of repetition `odd` lie elsewhere.
class CountingFile : public io::ScanFile {
 public:
  CountingFile(std::int64_t repetitions, std::int64_t slices, bool concurrent = false)
      : io::ScanFile({{},
                      [this](std::int64_t slice, std::int64_t repetition) { return made(slice, repetition); },
                      concurrent}),
        side_by_side(concurrent) {
    editable_summary().repetition_count = repetitions;
    editable_summary().slice_count = slices;
  }
  Scan made(std::int64_t slice, std::int64_t repetition) {
    const int inside = ++reading;
    for (int most = most_at_once; most < inside && !most_at_once.compare_exchange_weak(most, inside);) {
    }
    if (side_by_side) std::this_thread::sleep_for(std::chrono::milliseconds((repetition * 7) % 5));
    --reading;
    ++reads;
    if (repetition == damaged || (repetition > damaged && damaged >= 0 && side_by_side))
      throw Error("volume " + std::to_string(repetition), "readable", "damage");
    Scan scan;
    scan.geometry.matrix_size = {4, 4, 1};
    scan.trajectory.k = Array<double>({3, 3});
    scan.trajectory.k[0] = repetition == odd ? 1.5 : 0.5;
    scan.kspace.values = Array<Complex<float>>({2, 3});
    scan.kspace.values[0] = static_cast<float>(100 * slice + repetition);
    return scan;
  }
  std::int64_t odd = -1, damaged = -1;  ///< side by side those behind it are damaged too
  const bool side_by_side;
  std::atomic<int> reads = 0, reading = 0, most_at_once = 0;
};

std::vector<VolumeNumber> all_of(const io::ScanSummary& s) {
  std::vector<VolumeNumber> volumes;
  for (std::int64_t r = 0; r < s.repetition_count; ++r)
    for (std::int64_t slice = 0; slice < s.slice_count; ++slice) volumes.push_back({r, slice});
  return volumes;
}

/// Numbers of the volumes in the groups in which they come, {} at the end left out.
std::vector<std::vector<std::size_t>> groups_of(VolumeReader& reader, std::int64_t at_once) {
  std::vector<std::vector<std::size_t>> groups;
  while (true) {
    const auto volumes = reader.next([&](SliceSeries&) { return at_once; });
    if (volumes.empty()) return groups;
    auto& group = groups.emplace_back();
    for (const auto& volume : volumes) group.push_back(volume.number);
  }
}

using Groups = std::vector<std::vector<std::size_t>>;

TEST(VolumeReader, gives_volumes_of_a_series_together_slice_by_slice_and_others_one_by_one) {
  const struct {
    std::int64_t repetitions, slices, at_once;
    bool takes_series;
    Groups groups;
  } cases[] = {{7, 1, 3, true, {{0, 1, 2}, {3, 4, 5}, {6}}},
               {3, 2, 8, true, {{0, 2, 4}, {1, 3, 5}}},
               {3, 1, 3, false, {{0}, {1}, {2}}}};
  for (const auto& each : cases) {
    CountingFile file(each.repetitions, each.slices);
    VolumeReader reader(file, all_of(file.summary()), [&](const Scan&) { return each.takes_series; });
    EXPECT_EQ(groups_of(reader, each.at_once), each.groups);
  }
}

TEST(VolumeReader, gives_a_volume_elsewhere_by_itself) {
  CountingFile file(40, 1);
  file.odd = 12;  // not one of those that the reference is made of
  VolumeReader reader(file, all_of(file.summary()), [](const Scan&) { return true; });
  const auto groups = groups_of(reader, 16);
  EXPECT_NE(std::find(groups.begin(), groups.end(), std::vector<std::size_t>{12}), groups.end());
  std::size_t count = 0;
  for (const auto& group : groups) count += group.size();
  EXPECT_EQ(count, 40u);
}

TEST(VolumeReader, a_reference_is_the_mean_of_some_that_are_spread) {
  CountingFile file(16, 1);
  VolumeReader reader(file, all_of(file.summary()), [](const Scan&) { return true; });
  const auto first = reader.next([](SliceSeries&) { return 1; });
  ASSERT_TRUE(first.front().series);
  EXPECT_TRUE(first.front().is_first);
  EXPECT_FALSE(reader.next([](SliceSeries&) { return 1; }).front().is_first);
  // 0, 2, ... 14
  EXPECT_FLOAT_EQ(first.front().series->reference.kspace.values[0].re, 7);
}

TEST(VolumeReader, several_threads_keep_the_order) {
  omp_set_num_threads(3);
  CountingFile file(60, 1, true);
  VolumeReader reader(file, all_of(file.summary()), [](const Scan&) { return true; });
  std::size_t expected = 0;
  while (true) {
    const auto volumes = reader.next([](SliceSeries&) { return 8; });
    if (volumes.empty()) break;
    for (const auto& volume : volumes) {
      EXPECT_EQ(volume.is_first, expected == 0);
      EXPECT_EQ(volume.scan.kspace.values[0].re, static_cast<float>(expected));
      EXPECT_EQ(volume.number, expected++);
    }
  }
  EXPECT_EQ(expected, 60u);
  EXPECT_GE(file.most_at_once, 2);
  EXPECT_LE(file.most_at_once, 3);
}

TEST(VolumeReader, tells_the_first_failure_in_order_and_ends_when_nobody_asks) {
  omp_set_num_threads(4);
  for (int i = 0; i < 20; ++i)
    for (const bool concurrent : {false, true}) {
      CountingFile file(40, 1, concurrent);
      file.damaged = 20 + i % 4;
      VolumeReader reader(file, all_of(file.summary()), [](const Scan&) { return false; });
      EXPECT_CONTAINS(io::error_of([&] { groups_of(reader, 1); }), "volume " + std::to_string(file.damaged));
      CountingFile unread(1000, 1, concurrent);
      {
        VolumeReader waits(unread, all_of(unread.summary()), [](const Scan&) { return true; });
        waits.wait_for_first();
      }
      EXPECT_LE(unread.reads, 24) << "it reads ahead without bounds";
    }
}

}  // namespace
