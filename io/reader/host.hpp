#pragma once
// The process that starts a process for every file: single-threaded, without files, devices and memory of the program, so
// that it can be copied at any time.
#include <sys/types.h>

#include <cstddef>

namespace fhd::io::guard {

/// Requests come in and answers go out; several channels where a file is read by several threads.
inline constexpr std::size_t most_channels = 4;
struct ChannelEnds {
  int requests = -1, answers = -1;
};

/// What the host says of a process, through a socket of its own that ends it when it is closed.
struct ProcessNews {
  enum class What : int { started, ended } what = What::started;
  pid_t process = 0;
  int status = 0;  ///< of waitpid
};

/// Serves `asker`, who holds the other end of `socket`, until nobody does. `serve` is the life of a process that reads;
/// `asker` may copy from its memory, where the system lets it.
[[noreturn]] void be_host(int socket, pid_t asker, void (*serve)(const ChannelEnds* channels, std::size_t count));

/// Asks the host at `socket` for a process that has copies of the ends `channels`. The socket for its news; negative, with
/// errno, where there is no host.
int ask_for_process(int socket, const ChannelEnds* channels, std::size_t count);

}  // namespace fhd::io::guard
