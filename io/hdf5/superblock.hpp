#pragma once
// The first bytes of an HDF5 file of the format of HDF5 1.8: signature (8 bytes), version 2 or 3, sizes of addresses and
// of lengths, flags, four addresses, and the checksum of all these (HDF5 File Format Specification, II.A).
#include <cstdint>
#include <span>

namespace fhd::io::hdf5 {

/// Returns Jenkins' lookup3 of the bytes, which is HDF5's checksum of metadata.
std::uint32_t metadata_checksum(std::span<const char> bytes);

/// Corrects the checksum after H5Fget_file_image(), which clears the flag "open for writing" but not in the checksum (HDF5
/// 1.10). Leaves files of other formats as they are.
void renew_checksum_of_superblock(std::span<char> file);

}  // namespace fhd::io::hdf5
