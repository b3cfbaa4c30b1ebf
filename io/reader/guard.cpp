#include "io/reader/guard.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>

#include "io/reader/confinement.hpp"
#include "io/reader/host.hpp"
#include "io/reader/host_socket.hpp"
#include "io/reader/process.hpp"

extern char** environ;

namespace fhd::io::guard {
namespace {

struct HostState {
  std::mutex mutex;
  int socket = -1;
  int error = 0;        ///< why there is none
  pid_t owner = 0;      ///< the process that began it: a copy of that one has another
  pid_t child = 0;      ///< the host, where it is a child of the owner
  std::string program;  ///< empty: a copy of this process
};

HostState& host_state() {
  static HostState state;
  return state;
}

bool make_socket(int (&ends)[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0; }

/// Its number, or a negative one. The program leaves at once a copy of itself, which is nobody's child.
int spawn_host(const std::string& program) {
  int ends[2];
  if (!make_socket(ends)) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Where it looks; a descriptor that is made a copy of itself stays open, too.
  posix_spawn_file_actions_adddup2(&actions, ends[1], host_program_socket);
  std::string name = program;
  std::array<char*, 2> arguments{name.data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawn(&process, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) {
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    return ends[0];
  }
  close(ends[0]);
  errno = error;
  return -1;
}

}  // namespace

void begin_host(void (*serve)(const ChannelEnds*, std::size_t)) {
  auto& state = host_state();
  int ends[2];
  const bool has_socket = make_socket(ends);
  const pid_t asker = getpid();
  const pid_t process = has_socket ? fork() : -1;
  if (process == 0) {
    state.owner = 0;  // what runs there reads by itself
    be_host(ends[1], asker, serve);
  }
  const int error = errno;
  const std::lock_guard lock(state.mutex);
  if (state.socket >= 0) close(state.socket);  // of the process that this one is a copy of
  if (has_socket) close(ends[1]);
  if (has_socket && process < 0) close(ends[0]);
  state.socket = process < 0 ? -1 : ends[0];
  state.error = error;
  state.owner = getpid();
  state.child = std::max(process, 0);
}

void end_host() {
  auto& state = host_state();
  const std::lock_guard lock(state.mutex);
  if (state.owner != getpid() || state.child <= 0) return;
  if (state.socket >= 0) close(state.socket);
  state.socket = -1;
  state.error = ESRCH;
  for (int look = 0; look < 1000; ++look) {
    const pid_t ended = waitpid(state.child, nullptr, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) break;
    usleep(1000);
  }
  state.child = 0;
}

void use_host_program(std::string path) {
  auto& state = host_state();
  const std::lock_guard lock(state.mutex);
  state.program = std::move(path);
}

void be_host_program() {
  const pid_t asker = getppid();
  if (fork() != 0) _exit(0);
  be_host(host_program_socket, asker, serve_requests);
}

int host_socket() {
  auto& state = host_state();
  const std::lock_guard lock(state.mutex);
  if (state.socket >= 0 && state.owner == getpid()) return state.socket;
  errno = state.owner == getpid() ? state.error : ESRCH;
  if (state.program.empty()) return -1;
  if (state.socket >= 0) close(state.socket);
  state.socket = spawn_host(state.program);
  state.owner = getpid();
  return state.socket;
}

bool is_on() {
  auto& state = host_state();
  const std::lock_guard lock(state.mutex);
  return (state.owner != 0 || !state.program.empty()) && !limits().trusts_input;
}

std::string text_of_state() {
  return is_on() ? "in processes of their own; " + text_of_confinement()
                 : std::string("in this process, without limits");
}

}  // namespace fhd::io::guard
