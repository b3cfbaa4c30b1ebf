// Roles of readouts: one rule for every combination of flags that converters set.
#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {
namespace {

using namespace ISMRMRD;

ReadoutRole role(const std::vector<int>& flags, std::uint16_t space = 0) {
  ReadoutHead head{};
  for (const int flag : flags) head.set_flag(flag);
  head.encoding_space_ref = space;
  return role_of(head);
}

/// A flag of a scanner or converter, and the flags of ISMRMRD that it becomes.
constexpr int noise = ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, reverse = ISMRMRD_ACQ_IS_REVERSE,
              calibration = ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION,
              calibration_and_image = ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING,
              phase_correction = ISMRMRD_ACQ_IS_PHASECORR_DATA, navigation = ISMRMRD_ACQ_IS_NAVIGATION_DATA,
              rt_feedback = ISMRMRD_ACQ_IS_RTFEEDBACK_DATA, hp_feedback = ISMRMRD_ACQ_IS_HPFEEDBACK_DATA,
              dummy = ISMRMRD_ACQ_IS_DUMMYSCAN_DATA,
              surface_coil = ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA,
              stabilisation = ISMRMRD_ACQ_IS_PHASE_STABILIZATION,
              stabilisation_reference = ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE,
              first = ISMRMRD_ACQ_FIRST_IN_SLICE, last = ISMRMRD_ACQ_LAST_IN_SLICE;

struct Case {
  const char* source;
  std::vector<int> flags;
  Role role;
};
std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.source; }

// Sources: github.com/ismrmrd/siemens_to_ismrmrd 8854d00, main.cpp, getAcquisition (bits of aulEvalInfoMask -> flags: 1 ->
// navigation and real-time feedback, 2 -> HP feedback, 10 -> surface coil, 14 and 15 -> phase stabilisation, 21 -> phase
// correction, 22 -> calibration unless 23 -> calibration and image, 24 -> reverse, 25 -> noise, 51 -> dummy);
// ge_to_ismrmrd 6ce7c23, GenericConverter.cpp and epiConverter.cpp; philips_to_ismrmrd 9ef92a1, main.cpp.
const Case cases[]{
    {"Siemens, GE, Philips: image", {}, Role::image},
    {"Siemens, GE: image", {first, last}, Role::image},
    {"Siemens: image, bit 24", {reverse}, Role::image},
    {"Siemens TSE: image, bit 10", {surface_coil}, Role::surface_coil},
    {"Siemens EPI: image, bits 10 24", {surface_coil, reverse}, Role::surface_coil},
    {"Siemens TSE: bits 10 22 23", {surface_coil, calibration_and_image}, Role::image},
    {"Siemens: bits 22 23", {calibration_and_image}, Role::image},
    {"other programs: bits 22 and 23", {calibration, calibration_and_image}, Role::image},
    {"Siemens: bits 1 22 23", {navigation, rt_feedback, calibration_and_image}, Role::image},
    {"Siemens, Philips: bit 25", {noise}, Role::noise},
    {"Siemens: bits 10 25", {noise, surface_coil}, Role::noise},
    {"Siemens: bits 1 25", {noise, navigation, rt_feedback}, Role::noise},
    {"Siemens: bits 25 51", {noise, dummy}, Role::noise},
    {"Siemens: bits 22 25", {noise, calibration}, Role::noise},
    {"Siemens, GE EPI: bit 21", {phase_correction}, Role::navigator},
    {"GE EPI: first of a slice", {phase_correction, first}, Role::navigator},
    {"Siemens EPI: bits 21 24", {phase_correction, reverse}, Role::navigator},
    {"Siemens EPI: bits 1 21", {phase_correction, navigation, rt_feedback}, Role::navigator},
    {"Siemens EPI: bits 1 21 24", {phase_correction, navigation, rt_feedback, reverse}, Role::navigator},
    {"Siemens EPI: bits 1 2 21", {phase_correction, navigation, rt_feedback, hp_feedback}, Role::navigator},
    {"Siemens EPI: bits 10 21", {phase_correction, surface_coil}, Role::navigator},
    {"Siemens EPI: bits 21 51", {phase_correction, dummy}, Role::navigator},
    {"Siemens EPI: bits 21 22", {phase_correction, calibration}, Role::navigator},
    {"Siemens EPI: bits 21 22 23", {phase_correction, calibration_and_image}, Role::navigator},
    {"Siemens: bit 22", {calibration}, Role::reference},
    {"Siemens: bits 22 24", {calibration, reverse}, Role::reference},
    {"Siemens: bits 1 22", {calibration, navigation, rt_feedback}, Role::reference},
    {"Siemens: bits 2 22", {calibration, hp_feedback}, Role::reference},
    {"Siemens: bits 10 22", {calibration, surface_coil}, Role::reference},
    {"Siemens: bits 22 51", {calibration, dummy}, Role::reference},
    {"Siemens: bit 14", {stabilisation_reference}, Role::other},
    {"Siemens: bit 15", {stabilisation}, Role::other},
    {"Siemens: bits 15 22", {stabilisation, calibration}, Role::other},
    {"Siemens: bits 15 22 23", {stabilisation, calibration_and_image}, Role::other},
    {"Siemens: bit 1", {navigation, rt_feedback}, Role::other},
    {"Siemens: bits 1 10", {navigation, rt_feedback, surface_coil}, Role::other},
    {"Siemens: bit 2", {hp_feedback}, Role::other},
    {"Siemens: bits 2 24", {hp_feedback, reverse}, Role::other},
    {"Siemens: bit 51", {dummy}, Role::other}};

class RoleOfConverters : public testing::TestWithParam<Case> {};
TEST_P(RoleOfConverters, is_the_purpose_that_is_used) {
  EXPECT_EQ(role(GetParam().flags).role, GetParam().role);
}
INSTANTIATE_TEST_SUITE_P(, RoleOfConverters, testing::ValuesIn(cases));

TEST(Role, of_an_image_is_in_the_first_encoding_space) {
  EXPECT_EQ(role({}, 1).role, Role::other);
  EXPECT_STREQ(role({}, 1).name, "of another encoding space than the first");
  EXPECT_EQ(role({ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION}, 1).role, Role::reference);
}

}  // namespace
}  // namespace fhd::io::mrd
