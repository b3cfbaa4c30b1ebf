#pragma once
// What libhdf5 may follow in a file of others: nothing that leads to another file.
#include <hdf5.h>

#include <string>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// Throws Error naming `subject` where a link on the path `name` leads to another file (external, or of a kind that a
/// plugin defines), or soft links do not end. A part that is not there ends the look.
void require_own_links(hid_t file, const std::string& name, const std::string& subject);

/// The name of an attribute in messages.
std::string subject_of(const File& file, const std::string& object, const std::string& name);
Handle open_attribute(const File& file, const std::string& object, const std::string& name);

/// Throws Error also where the values lie in other files: external storage, virtual datasets.
Handle open_own_dataset(hid_t file, const std::string& name, const std::string& subject);

}  // namespace fhd::io::hdf5
