#pragma once
// What a dataset says of itself, held against what the file holds: before libhdf5, or memory, relies on it.
#include <hdf5.h>

#include <string>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// Of values with these extents; infinite rather than wrong.
double bytes_of(const Extents& extents, std::size_t value_bytes);

/// Throws Error unless the stored bytes of a dataset can fill its extents with values of so many bytes each, as stored.
/// Called before memory is allocated for them.
void require_stored(hid_t dataset, std::size_t value_bytes, const Extents& extents,
                    const std::string& subject);

/// Throws Error for a type whose parts lie outside of it: libhdf5 converts them all the same.
void require_sound_type(hid_t type, const std::string& subject);

}  // namespace fhd::io::hdf5
