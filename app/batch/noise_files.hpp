#pragma once
// Files of a folder that hold noise alone (ISMRMRD), as converters write them beside the scans that they belong to.
#include <string>

#include "app/batch/scans.hpp"

namespace fhd::app {

/// Takes files that hold noise alone, and were found in folders, out of the list. Each serves the scans of its folder that
/// have no noise of their own and name its measurement; if it is the only one there, also those that name none and have as
/// many coils. Says so in the notes. Of more than 32 files of a folder, those longer than a quarter of the longest are not
/// looked at.
void serve_noise(BatchList& list);
/// Returns whether a file is an ISMRMRD measurement of noise alone.
bool holds_only_noise(const std::string& path);

}  // namespace fhd::app
