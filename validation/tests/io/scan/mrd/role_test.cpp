// Roles of readouts.
#include <gtest/gtest.h>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {
namespace {

using namespace ISMRMRD;

ReadoutRole role(std::initializer_list<int> flags, std::uint16_t space = 0) {
  ReadoutHead head{};
  for (const int flag : flags) head.set_flag(flag);
  head.encoding_space_ref = space;
  return role_of(head);
}

TEST(Role, follows_from_the_first_flag_of_the_table) {
  EXPECT_EQ(role({}).role, Role::image);
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, ISMRMRD_ACQ_IS_DUMMYSCAN_DATA}).role, Role::noise);
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PHASECORR_DATA}).role, Role::navigator);
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PHASECORR_DATA, ISMRMRD_ACQ_IS_NAVIGATION_DATA}).role, Role::other);
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION}).role, Role::reference);
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION, ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING}).role,
            Role::image);
}

TEST(Role, of_an_image_is_in_the_first_encoding_space) {
  EXPECT_EQ(role({}, 1).role, Role::other);
  EXPECT_STREQ(role({}, 1).name, "of another encoding space than the first");
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION}, 1).role, Role::reference);
}

}  // namespace
}  // namespace fhd::io::mrd
