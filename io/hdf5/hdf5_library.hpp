#pragma once
// libhdf5 as a whole, and what it may follow in a file: nothing that leads to another file.
#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace fhd::io::hdf5 {

/// Returns the name of an attribute in messages.
std::string subject_of(const File& file, const std::string& object, const std::string& name);
Handle open_attribute(const File& file, const std::string& object, const std::string& name);

/// Throws Error also if the values lie in other files: external links, external storage, virtual datasets.
Handle open_own_dataset(hid_t file, const std::string& name, const std::string& subject);

/// Returns the size of values with these extents; infinite rather than wrong.
double bytes_of(const Extents& extents, std::size_t value_bytes);
/// Throws Error if this HDF5 library lacks a filter of a dataset, or if values of it were never written.
void require_stored(hid_t dataset, std::size_t value_bytes, const Extents& extents,
                    const std::string& subject);

/// Returns Jenkins' lookup3 of the bytes, which is HDF5's checksum of metadata.
std::uint32_t metadata_checksum(std::span<const char> bytes);
/// Corrects the checksum after H5Fget_file_image(), which clears the flag "open for writing" but not in the checksum (HDF5
/// 1.10). The first bytes of a file of the format of HDF5 1.8: signature (8 bytes), version 2 or 3, sizes of addresses and of
/// lengths, flags, four addresses, and the checksum of all these (HDF5 File Format Specification, II.A). Leaves files of
/// other formats as they are.
void renew_checksum_of_superblock(std::span<char> file);

}  // namespace fhd::io::hdf5
