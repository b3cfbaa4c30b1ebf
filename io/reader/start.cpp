// Starts reader processes.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "io/files/installed_file.hpp"
#include "io/reader/confinement.hpp"
#include "io/reader/process.hpp"
#include "io/reader/reader.hpp"
#include "io/reader/readers.hpp"
#include "recon/domain/option_words.hpp"

extern char** environ;

namespace fhd::io::reader {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw Error(
      "reading", "a process of its own by '" + path + "'", std::strerror(error),
      error == ENOENT
          ? "install fhd again; " + flag_words("trust-input") + " reads files that you trust without one"
          : "close other programs; " + flag_words("trust-input") + " reads files that you trust without one");
}

struct State {
  std::mutex mutex;
  std::string path;  ///< empty: files are read in this process
  pid_t owner = 0;   ///< a forked copy of the owner may not use `next`
  std::optional<StartedProcess> next{};
};
State& state() {
  static State of_process;
  return of_process;
}

}  // namespace

StartedProcess start_process(const std::string& path) {
  StartedProcess started;
  std::array<Descriptor, channel_count> theirs;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int silent = FHD_HAS_SANITIZER ? STDOUT_FILENO : STDERR_FILENO;  // a sanitizer reports to us
  for (int each = STDIN_FILENO; each <= silent; ++each)
    posix_spawn_file_actions_addopen(&actions, each, "/dev/null", O_RDWR, 0);
  int error = 0;
  for (std::size_t i = 0; i < channel_count && error == 0; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      error = errno;
      break;
    }
    started.channels[i] = Descriptor(ends[0]);
    const Descriptor low(ends[1]);
    constexpr int above = first_channel + static_cast<int>(channel_count);  // no target of another one
    theirs[i] = Descriptor(fcntl(low.get(), F_DUPFD_CLOEXEC, above));
    if (!theirs[i]) error = errno;
    posix_spawn_file_actions_adddup2(&actions, theirs[i].get(), first_channel + static_cast<int>(i));
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = path;
  std::string style = "keywords";  // the messages of the process speak as ours do
  char* const arguments[] = {name.data(), option_style() == OptionStyle::keywords ? style.data() : nullptr,
                             nullptr};
  if (error == 0)
    error = posix_spawn(&started.number, path.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) refuse(path, error);
  return started;
}

std::optional<int> end_process(pid_t number) {
  int status = 0;
  kill(number, SIGKILL);
  while (waitpid(number, &status, 0) < 0)
    if (errno != EINTR) return {};
  return status;
}

StartedProcess take_process() {
  const std::lock_guard lock(state().mutex);
  // The system may have ended it meanwhile, as when memory runs out.
  const bool is_ready =
      state().owner == getpid() && state().next && waitpid(state().next->number, nullptr, WNOHANG) == 0;
  auto taken = is_ready ? std::move(*state().next) : start_process(state().path);
  state().next.reset();
  return taken;
}

void use(const std::string& path) {
  end_waiting();
  const std::lock_guard lock(state().mutex);
  state().path = path.empty() ? installed_file("fhd-reader") : path;
  register_readers();
}

void start_ahead() {
  const std::lock_guard lock(state().mutex);
  state().owner = getpid();
  state().next.reset();
  try {
    state().next = start_process(state().path);
  } catch (const Error&) {  // reported by whoever needs a process
  }
}

void end_waiting() {
  const std::lock_guard lock(state().mutex);
  if (state().owner == getpid() && state().next) end_process(state().next->number);
  state().next.reset();
}

bool is_on() {
  const std::lock_guard lock(state().mutex);
  return !state().path.empty() && !limits().trusts_input;
}

std::string text_of_state() {
  return is_on() ? "in processes of their own; " + text_of_confinement()
                 : std::string("in this process, without limits");
}

}  // namespace fhd::io::reader
