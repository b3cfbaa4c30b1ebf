#pragma once
// The first bytes of an HDF5 file of the format of HDF5 1.8: signature (8 bytes), version 2 or 3, sizes of addresses and
// of lengths, flags, four addresses, and the checksum of all these (HDF5 File Format Specification, II.A).
#include <cstdint>
#include <span>

namespace fhd::io::hdf5 {

/// Jenkins' lookup3 of the bytes, of which HDF5 makes its checksums.
std::uint32_t metadata_checksum(std::span<const char> bytes);

/// H5Fget_file_image() clears the flag "open for writing" and leaves the checksum that counts it (HDF5 1.10): makes the
/// checksum anew. Other files stay as they are.
void renew_checksum_of_superblock(std::span<char> file);

}  // namespace fhd::io::hdf5
