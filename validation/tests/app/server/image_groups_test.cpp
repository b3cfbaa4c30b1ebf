// When an image of a session is whole.
#include "app/server/image_groups.hpp"

#include <gtest/gtest.h>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

using io::mrd::ReadoutHead;
using namespace ISMRMRD;
constexpr auto last_in_slice = ISMRMRD_ACQ_LAST_IN_SLICE, reference = ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION;

/// Readouts of images, by their numbers in the session.
using Groups = std::vector<std::vector<int>>;
Groups numbers_of(const std::vector<ImageReadouts>& images) {
  Groups groups;
  for (const auto& image : images)
    for (auto& numbers = groups.emplace_back(); const auto& readout : image.readouts)
      numbers.push_back(static_cast<int>(readout->head.scan_counter));
  return groups;
}

struct Stream {
  explicit Stream(io::mrd::Header header = {}, std::int64_t per_frame = 0, bool waits = false)
      : groups(header, per_frame, waits) {}
  std::vector<ImageReadouts> add(ReadoutHead head) {
    head.scan_counter = static_cast<std::uint32_t>(count++);
    return groups.add(std::make_shared<io::mrd::OwnedReadout>(io::mrd::OwnedReadout{head, {}, {}}));
  }
  /// Returns the images that are whole with the last of these heads; those before it end none.
  Groups after(const std::vector<ReadoutHead>& heads) {
    for (std::size_t i = 0; i + 1 < heads.size(); ++i) EXPECT_TRUE(add(heads[i]).empty()) << i;
    return numbers_of(add(heads.back()));
  }
  Groups rest() { return numbers_of(groups.take_rest()); }
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

TEST(ImageGroups, a_flag_of_its_own_ends_an_image) {
  for (const int flag : {last_in_slice, ISMRMRD_ACQ_LAST_IN_REPETITION, ISMRMRD_ACQ_LAST_IN_MEASUREMENT}) {
    Stream stream;
    EXPECT_EQ(stream.after({head_of(0, 0), head_of(0, 1), head_of(0, 0, 1, flag)}), (Groups{{0, 2}}));
    EXPECT_EQ(stream.groups.unfinished_readouts(), 1);
    EXPECT_EQ(stream.rest(), (Groups{{1}}));
  }
}

TEST(ImageGroups, a_later_repetition_ends_those_before_it_of_its_slice) {
  Stream stream;
  EXPECT_EQ(stream.after({head_of(0, 0), head_of(0, 1), head_of(1, 1)}), (Groups{{1}}));
  EXPECT_THROW(stream.add(head_of(0, 1)), Error);  // what comes late contradicts the counters
  EXPECT_TRUE(stream.add(head_of(0, 0)).empty());
}

TEST(ImageGroups, another_contrast_ends_nothing) {
  Stream stream;
  auto echo = head_of(0);
  echo.idx.contrast = 1;
  EXPECT_EQ(stream.after({head_of(0), echo, head_of(0, 0, 1)}), Groups{});
  EXPECT_EQ(stream.rest(), (Groups{{0, 2}, {1}}));
}

TEST(ImageGroups, all_encoding_steps_and_averages_of_the_limits_end_an_image) {
  io::mrd::Header header;
  header.step_1 = io::mrd::Limit{.maximum = 5, .center = 4, .minimum = 4};
  header.average = io::mrd::Limit{.maximum = 1};
  Stream stream(header);
  auto second = head_of(0, 0, 4), last = head_of(0, 0, 5);
  second.idx.average = last.idx.average = 1;
  EXPECT_EQ(stream.after({head_of(0, 0, 4, last_in_slice),  // of the first average
                          head_of(0, 0, 5), head_of(0, 0, 5), second, last}),
            (Groups{{0, 1, 2, 3, 4}}));
}

TEST(ImageGroups, frames_are_so_many_readouts_of_a_slice) {
  Stream stream({}, 2);
  EXPECT_EQ(stream.after({head_of(0, 0), head_of(0, 1), head_of(0, 0, 0, last_in_slice)}), (Groups{{0, 2}}));
  stream.add(head_of(0, 0));
  EXPECT_EQ(stream.add(head_of(0, 0)).at(0).frame, 1);
  EXPECT_EQ(stream.rest(), Groups{});
  EXPECT_EQ(stream.groups.unfinished_readouts(), 1);
}

TEST(ImageGroups, noise_goes_to_all_and_references_to_images_without) {
  Stream stream;
  EXPECT_EQ(stream.after({head_of(0, 0, 0, ISMRMRD_ACQ_IS_NOISE_MEASUREMENT), head_of(0, 0, 0, reference),
                          head_of(0, 0, 0, last_in_slice)}),
            (Groups{{0, 1, 2}}));
  EXPECT_EQ(stream.after({head_of(1, 0, 0, last_in_slice)}), (Groups{{0, 1, 3}}));
  EXPECT_EQ(stream.after({head_of(2, 0, 0, reference), head_of(2, 0, 0, last_in_slice)}),
            (Groups{{0, 4, 5}}));
  EXPECT_THROW(stream.add(head_of(2, 0, 0, reference)), Error);  // after the last readout
}

TEST(ImageGroups, references_of_a_repetition_of_their_own_are_those_of_the_slice) {
  Stream stream;
  EXPECT_EQ(stream.after({head_of(0, 0, 0, reference), head_of(1, 0, 0, last_in_slice)}), (Groups{{0, 1}}));
}

TEST(ImageGroups, surface_coil_readouts_are_the_image_until_others_come) {
  constexpr auto surface = ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA;
  io::mrd::Header header;
  header.step_1 = io::mrd::Limit{.maximum = 3};
  const auto prescan = [&](int step, int flag = 0) {
    auto head = head_of(0, 0, step, surface);
    if (flag > 0) head.set_flag(flag);
    return head;
  };
  Stream stream(header);
  EXPECT_EQ(stream.after({prescan(2, last_in_slice), head_of(0, 0, 0), prescan(1), head_of(0, 0, 1),
                          head_of(0, 0, 2), head_of(0, 0, 3)}),
            (Groups{{1, 3, 4, 5}}));
  Stream alone(header);
  EXPECT_EQ(alone.after({prescan(0), prescan(1), prescan(2, last_in_slice)}), (Groups{{0, 1, 2}}));
  Stream rest(header);
  EXPECT_EQ(rest.after({prescan(0, last_in_slice)}), Groups{});
  EXPECT_EQ(rest.rest(), (Groups{{0}}));
  // Reference lines of the image have both flags, and are no image that tells a prescan.
  Stream both(header);
  auto line = prescan(1);
  line.set_flag(ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING);
  EXPECT_EQ(both.after({prescan(0), line, prescan(2), prescan(3)}), (Groups{{0, 1, 2, 3}}));
  // Frames count no prescan.
  Stream frames({}, 2);
  EXPECT_EQ(frames.after({prescan(0), head_of(0), head_of(0)}), (Groups{{1, 2}}));
}

TEST(ImageGroups, limits_beyond_what_counters_hold_do_not_wrap_around) {
  io::mrd::Header header;  // 2^64 + 4 readouts
  header.step_1 = io::mrd::Limit{.maximum = 769545};
  header.step_2 = io::mrd::Limit{.maximum = 494769};
  header.average = io::mrd::Limit{.maximum = 48448660};
  Stream stream(header);
  for (int step = 0; step < 100; ++step) EXPECT_TRUE(stream.add(head_of(0, 0, step)).empty()) << step;
}

TEST(ImageGroups, at_close_everything_is_one_group) {
  Stream stream({}, 0, true);
  EXPECT_EQ(stream.after({3, head_of(0, 0, 0, last_in_slice)}), Groups{});
  const auto all = stream.groups.take_rest();
  EXPECT_EQ(numbers_of(all), (Groups{{0, 1, 2}}));
  EXPECT_FALSE(all.at(0).key);
  EXPECT_EQ(stream.rest(), Groups{});
}

}  // namespace
}  // namespace fhd::app
