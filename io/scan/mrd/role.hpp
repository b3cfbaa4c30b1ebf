#pragma once
// Roles of readouts.
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// Roles decide what becomes of readouts (volume_assembler.hpp). Image readouts are of the first encoding space; other readouts are
/// left out.
enum class Role { image, reference, navigator, noise, other };
struct ReadoutRole {
  Role role;
  const char* name;  ///< what reports call readouts of this role that are left out
};
/// Returns the role that the flags and the encoding space of a readout give it. This is the only rule: the table is in
/// role.cpp.
ReadoutRole role_of(const ReadoutHead& head);
bool is_reversed(const ReadoutHead& head);

}  // namespace fhd::io::mrd
