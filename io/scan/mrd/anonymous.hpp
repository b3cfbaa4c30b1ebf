#pragma once
// ISMRMRD without what identifies a patient, a study or a site: names, IDs, birth date, dates and times, UIDs, texts that
// people type, and user parameters that are texts.
#include <set>
#include <string>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// Returns a valid header with the known fields that identify nobody; adds the names of others to `left_out`.
std::string anonymous_header(const std::string& xml, std::set<std::string>& left_out);
/// Returns the head with its time counted from `first_stamp`, and without the number of the measurement.
ReadoutHead anonymous_head(ReadoutHead head, std::uint32_t first_stamp);

}  // namespace fhd::io::mrd
