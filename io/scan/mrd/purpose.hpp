#pragma once
// What a readout is for, as its flags tell.
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// What a readout is that holds no samples of image, reference or navigator; nullptr for one that does.
const char* other_purpose(const ReadoutHead& head);
/// For calibration, and not for the image as well: some scanners set both flags then.
bool is_reference(const ReadoutHead& head);
bool is_reversed(const ReadoutHead& head);

/// What becomes of a readout (volume_assembler.hpp): image is of the first encoding space; other is left out.
enum class Role { image, reference, navigator, noise, other };
Role role_of(const ReadoutHead& head);

}  // namespace fhd::io::mrd
