#pragma once
// Lists of numbers that libhdf5 is to follow by itself, looked at before.
#include <hdf5.h>

#include <string>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// Throws Error unless every list in a dataset of records of numbers and lists of numbers lies in a sound heap.
void require_sound_lists(const File& file, hid_t dataset, const std::string& subject);

}  // namespace fhd::io::hdf5
