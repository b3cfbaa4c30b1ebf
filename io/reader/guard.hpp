#pragma once
// Files of others are read in processes of their own, which may do nothing but read them and answer, and which a limit of
// memory and time ends: what a file can do to the library that reads it is then one line of an Error. A host starts them
// (host.hpp): it is begun before the program has threads, devices or MPI. Without a host, as in most tests, files are read
// where they are asked for.
#include <cstddef>
#include <string>

#include "io/reader/host.hpp"
#include "io/reader/limits.hpp"
#include "recon/error.hpp"

namespace fhd::io::guard {

/// The host of this process has gone, as when the system ends processes for want of memory: no file is to blame, and none can
/// be read here any more.
struct HostGone : Error {
  using Error::Error;
};

/// Answers requests by reading files: serve.cpp.
void serve_requests(const ChannelEnds* channels, std::size_t count);

/// A host that is a copy of this process: before there is a second thread. Where there can be none, every file is refused.
/// `serve`: the life of a process that reads.
void begin_host(void (*serve)(const ChannelEnds*, std::size_t) = serve_requests);
/// Ends it, and waits for that at most a second: where nobody else waits for ended processes (many containers) it would
/// stay in the table of processes. Nothing is read after it.
void end_host();
/// A host that is the program at `path` (app/reader.cpp), for processes that are not ours to copy; started by the first
/// file that is read, and again in a copy of this process.
void use_host_program(std::string path);
/// The life of that program, which has this socket.
inline constexpr int host_program_socket = 3;
[[noreturn]] void be_host_program();

/// Whether files are read in other processes.
bool is_on();
/// For fhd --version --verbose.
std::string text_of_state();

}  // namespace fhd::io::guard
