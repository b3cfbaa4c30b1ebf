#pragma once
// MRD version 2 (2.0 to 2.1) as binary files of yardl, little-endian:
//
//   "yardl", int32 1, a schema as a text of JSON, the header (optional), then a stream of items, each of which is one of the
//   schema's cases: an acquisition, a waveform, an image ...
//
//   text, vector, map   a count as varint, then the items
//   array               its lengths as varints where the schema does not state them (before them their number where it does
//                       not state that), then the items
//   integers            one byte; longer ones as varint, signed ones zigzag; floats as they are
//   union               the number of the case in a byte; optional: 0 or 1
//   stream              blocks of a count as varint and the items; a count of 0 ends it
//
// The header becomes ISMRMRD's XML, and acquisitions its readouts, so that what follows reads one kind. Every item has at least
// a byte, and counts beyond the bytes that are left are refused before memory is taken.
// Sources: github.com/microsoft/yardl, github.com/ismrmrd/mrd (model/*.yml; trajectories are [axis][sample] there).
#include <cstddef>
#include <span>

#include "io/scan/mrd/stream_file.hpp"

namespace fhd::io::mrd {

/// Returns whether a file begins as one of yardl.
bool begins_as_mrd_2(std::span<const std::byte> head);
/// Finds the acquisitions and passes over all other items. Throws Error, also where acquisitions are others than those of the
/// known versions.
StreamIndex index_of_mrd_2(const StreamContent& content);
/// Reads the acquisition at `offset`. Throws Error.
OwnedReadout acquisition_of_mrd_2(const StreamContent& content, std::uint64_t offset, bool with_values);

}  // namespace fhd::io::mrd
