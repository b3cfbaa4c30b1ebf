#include "io/scan/mrd/role.hpp"

namespace fhd::io::mrd {
namespace {

struct Rule {
  int flag;
  ReadoutRole role;
};
using enum Role;

/// The first row whose flag a readout has decides. Some scanners flag readouts of image and calibration as calibration,
/// too: these are image.
constexpr Rule rules[]{
    {ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, {noise, "noise"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA, {other, "navigator"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_HPFEEDBACK_DATA, {other, "feedback"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_DUMMYSCAN_DATA, {other, "dummy"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_RTFEEDBACK_DATA, {other, "feedback"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA, {other, "surface coil correction"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE, {other, "phase stabilisation"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION, {other, "phase stabilisation"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA, {navigator, "phase correction"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING, {image, ""}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION, {reference, "calibration"}}};

}  // namespace

ReadoutRole role_of(const ReadoutHead& head) {
  ReadoutRole found{image, ""};
  for (const auto& [flag, role] : rules)
    if (head.has_flag(flag)) {
      found = role;
      break;
    }
  if (found.role == image && head.encoding_space_ref != 0)
    return {other, "of another encoding space than the first"};
  return found;
}

bool is_reversed(const ReadoutHead& head) { return head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE); }

}  // namespace fhd::io::mrd
