#pragma once
// What a readout is for.
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// What becomes of a readout (volume_assembler.hpp): image readouts are of the first encoding space; other readouts are
/// left out.
enum class Role { image, reference, navigator, noise, other };
struct ReadoutRole {
  Role role;
  const char* name;  ///< what reports call readouts of this role that are left out
};
/// Returns the role that the flags and the encoding space of a readout give it. This is the only rule: the table is in
/// purpose.cpp.
ReadoutRole role_of(const ReadoutHead& head);
bool is_reversed(const ReadoutHead& head);

}  // namespace fhd::io::mrd
