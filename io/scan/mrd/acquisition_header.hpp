#pragma once
// What the XML header of an ISMRMRD measurement tells of the patient, the study and the scanner.
#include "io/scan/acquisition_info.hpp"

namespace pugi {
class xml_node;
}

namespace fhd::io::mrd {

/// `root`: the ismrmrdHeader. Numbers that make no sense count as not stated.
AcquisitionInfo acquisition_info(const pugi::xml_node& root);

}  // namespace fhd::io::mrd
