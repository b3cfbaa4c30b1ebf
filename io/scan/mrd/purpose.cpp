#include "io/scan/mrd/purpose.hpp"

#include <utility>

namespace fhd::io::mrd {

const char* other_purpose(const ReadoutHead& head) {
  static constexpr std::pair<int, const char*> purposes[]{
      {ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, "noise"},
      {ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA, "navigator"},
      {ISMRMRD::ISMRMRD_ACQ_IS_HPFEEDBACK_DATA, "feedback"},
      {ISMRMRD::ISMRMRD_ACQ_IS_DUMMYSCAN_DATA, "dummy"},
      {ISMRMRD::ISMRMRD_ACQ_IS_RTFEEDBACK_DATA, "feedback"},
      {ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA, "surface coil correction"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE, "phase stabilisation"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION, "phase stabilisation"}};
  for (const auto& [flag, name] : purposes)
    if (head.has_flag(flag)) return name;
  return nullptr;
}

bool is_reference(const ReadoutHead& head) {
  return head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION) &&
         !head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING);
}
bool is_reversed(const ReadoutHead& head) { return head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE); }

Role role_of(const ReadoutHead& head) {
  if (head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT)) return Role::noise;
  if (other_purpose(head) != nullptr) return Role::other;
  if (head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA)) return Role::navigator;
  if (is_reference(head)) return Role::reference;
  return head.encoding_space_ref == 0 ? Role::image : Role::other;
}

}  // namespace fhd::io::mrd
