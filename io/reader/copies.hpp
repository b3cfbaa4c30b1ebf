#pragma once
// An original process that copies itself for each file: the program and its libraries are begun once. It opens no file, so
// nothing that a file does to a copy reaches the next one. A copy is a child of the program, not of the original.
#include <array>

#include "io/files/descriptor.hpp"
#include "io/reader/process.hpp"

namespace fhd::io::reader {

/// Asks the original behind `requests` for a copy with these channels. It answers with the number of the copy, a pid_t, or
/// with a negative error of the system. An original that has ended gives no answer.
void send_request(const Descriptor& requests, const std::array<Descriptor, channel_count>& channels);

/// Makes this process, which has no other thread, an original whose requests arrive at first_channel. Returns in each copy, with
/// its channels from first_channel on and nothing else open; the original ends with the program.
void become_copy();

}  // namespace fhd::io::reader
