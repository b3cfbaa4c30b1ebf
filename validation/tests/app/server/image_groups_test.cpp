// When an image of a session is whole.
#include "app/server/image_groups.hpp"

#include <gtest/gtest.h>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

using io::mrd::OwnedReadout;
using io::mrd::ReadoutHead;

struct Stream {
  explicit Stream(io::mrd::Header header = {}, std::int64_t per_frame = 0, bool waits = false)
      : groups(header, per_frame, waits) {}
  /// Returns the images that are whole with a readout of this head.
  std::vector<ImageReadouts> add(ReadoutHead head) {
    head.scan_counter = static_cast<std::uint32_t>(count++);
    return groups.add(std::make_shared<OwnedReadout>(OwnedReadout{head, {}, {}}));
  }
  ImageGroups groups;
  int count = 0;
};

ReadoutHead head_of(int repetition, int slice = 0, int step = 0, int flag = 0) {
  ReadoutHead head{};
  head.active_channels = head.number_of_samples = 1;
  head.idx.repetition = static_cast<std::uint16_t>(repetition),
  head.idx.slice = static_cast<std::uint16_t>(slice);
  head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(step);
  if (flag > 0) head.set_flag(flag);
  return head;
}

/// Returns the scan_counter of its readouts.
std::vector<int> numbers_of(const ImageReadouts& group) {
  std::vector<int> numbers;
  for (const auto& readout : group.readouts) numbers.push_back(static_cast<int>(readout->head.scan_counter));
  return numbers;
}

using Numbers = std::vector<int>;

TEST(ImageGroups, a_flag_of_its_own_ends_an_image) {
  for (const int flag : {ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE, ISMRMRD::ISMRMRD_ACQ_LAST_IN_REPETITION,
                         ISMRMRD::ISMRMRD_ACQ_LAST_IN_MEASUREMENT}) {
    Stream stream;
    EXPECT_TRUE(stream.add(head_of(0, 0)).empty());
    EXPECT_TRUE(stream.add(head_of(0, 1)).empty());
    const auto whole = stream.add(head_of(0, 0, 1, flag));
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(numbers_of(whole[0]), (Numbers{0, 2}));
    EXPECT_EQ(whole[0].key->slice, 0);
    EXPECT_EQ(stream.groups.unfinished_readouts(), 1);
    const auto rest = stream.groups.take_rest();
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(numbers_of(rest[0]), (Numbers{1}));
  }
}

TEST(ImageGroups, a_later_repetition_ends_those_before_it_of_its_slice) {
  Stream stream;
  stream.add(head_of(0, 0)), stream.add(head_of(0, 1));
  const auto whole = stream.add(head_of(1, 1));
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(numbers_of(whole[0]), (Numbers{1}));
  EXPECT_THROW(stream.add(head_of(0, 1)), Error);  // what comes late contradicts the counters
  EXPECT_TRUE(stream.add(head_of(0, 0)).empty());
}

TEST(ImageGroups, another_contrast_ends_nothing) {
  Stream stream;
  auto echo = head_of(0);
  echo.idx.contrast = 1;
  stream.add(head_of(0));
  EXPECT_TRUE(stream.add(echo).empty());
  EXPECT_TRUE(stream.add(head_of(0, 0, 1)).empty());
  EXPECT_EQ(stream.groups.take_rest().size(), 2u);
}

TEST(ImageGroups, all_encoding_steps_and_averages_of_the_limits_end_an_image) {
  io::mrd::Header header;
  header.step_1 = io::mrd::Limit{.maximum = 5, .center = 4, .minimum = 4};
  header.average = io::mrd::Limit{.maximum = 1};
  Stream stream(header);
  auto again = head_of(0, 0, 4, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE);  // of the first average
  EXPECT_TRUE(stream.add(again).empty());
  EXPECT_TRUE(stream.add(head_of(0, 0, 5)).empty());
  EXPECT_TRUE(stream.add(head_of(0, 0, 5)).empty());
  auto second = head_of(0, 0, 4);
  second.idx.average = 1;
  EXPECT_TRUE(stream.add(second).empty());
  second.idx.kspace_encode_step_1 = 5;
  const auto whole = stream.add(second);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].count, 5);
}

TEST(ImageGroups, frames_are_so_many_readouts_of_a_slice) {
  Stream stream({}, 2);
  stream.add(head_of(0, 0)), stream.add(head_of(0, 1));
  const auto first = stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(numbers_of(first[0]), (Numbers{0, 2}));
  EXPECT_EQ(first[0].frame, 0);
  stream.add(head_of(0, 0));
  EXPECT_EQ(stream.add(head_of(0, 0)).at(0).frame, 1);
  EXPECT_TRUE(stream.groups.take_rest().empty());
  EXPECT_EQ(stream.groups.unfinished_readouts(), 1);
}

TEST(ImageGroups, noise_goes_to_all_and_references_to_images_without) {
  Stream stream;
  stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT));
  stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION));
  const auto first = stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE));
  EXPECT_EQ(numbers_of(first.at(0)), (Numbers{0, 1, 2}));
  EXPECT_EQ(numbers_of(stream.add(head_of(1, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE)).at(0)),
            (Numbers{0, 1, 3}));
  stream.add(head_of(2, 0, 0, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION));
  EXPECT_EQ(numbers_of(stream.add(head_of(2, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE)).at(0)),
            (Numbers{0, 4, 5}));
}

TEST(ImageGroups, limits_beyond_what_counters_hold_do_not_wrap_around) {
  io::mrd::Header header;  // 2^64 + 4 readouts
  header.step_1 = io::mrd::Limit{.maximum = 769545};
  header.step_2 = io::mrd::Limit{.maximum = 494769};
  header.average = io::mrd::Limit{.maximum = 48448660};
  Stream stream(header);
  for (int step = 0; step < 100; ++step) EXPECT_TRUE(stream.add(head_of(0, 0, step)).empty()) << step;
}

TEST(ImageGroups, references_after_the_last_readout_are_refused_too) {
  Stream stream;
  stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE));
  EXPECT_THROW(stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION)), Error);
}

TEST(ImageGroups, references_of_a_repetition_of_their_own_are_those_of_the_slice) {
  Stream stream;
  stream.add(head_of(0, 0, 0, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION));
  EXPECT_EQ(numbers_of(stream.add(head_of(1, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE)).at(0)),
            (Numbers{0, 1}));
}

TEST(ImageGroups, at_close_everything_is_one_group) {
  Stream stream({}, 0, true);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(stream.add(head_of(i, 0, 0, ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE)).empty());
  const auto all = stream.groups.take_rest();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].key);
  EXPECT_EQ(numbers_of(all[0]), (Numbers{0, 1, 2}));
  EXPECT_TRUE(stream.groups.take_rest().empty());
}

}  // namespace
}  // namespace fhd::app
