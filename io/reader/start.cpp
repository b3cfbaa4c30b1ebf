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
#include "io/reader/copies.hpp"
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
  std::string path;     ///< empty: files are read in this process
  pid_t owner = 0;      ///< a forked copy of the owner may use none of the following
  pid_t original = 0;   ///< the process whose copies serve files
  Descriptor requests;  ///< to it
  std::optional<StartedProcess> next{};  ///< was asked for; its number is still to be received
};
State& state() {
  static State of_process;
  return of_process;
}

/// Returns both ends of a socket, closed in other programs. Throws Error.
std::array<Descriptor, 2> socket_ends(const std::string& path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) refuse(path, errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Starts the program at `path`, which reads requests for copies from its descriptor first_channel. Throws Error.
pid_t start_original(const std::string& path, const Descriptor& requests) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int silent = FHD_HAS_SANITIZER ? STDOUT_FILENO : STDERR_FILENO;  // a sanitizer reports to us
  for (int each = STDIN_FILENO; each <= silent; ++each)
    posix_spawn_file_actions_addopen(&actions, each, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, requests.get(), first_channel);
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
  pid_t number = 0;
  const int error = posix_spawn(&number, path.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) refuse(path, error);
  return number;
}

/// Receives the number of the copy that was asked for; negative: the error of the system. Returns false where the original has
/// ended.
bool receive_number(pid_t& number) {
  const auto get = [](char* to, std::size_t left) { return ::read(state().requests.get(), to, left); };
  return move_all(reinterpret_cast<char*>(&number), sizeof number, get);
}

/// Ends the original of this process, with a copy that waits; a forked process forgets those of the other one.
void end_original() {
  State& all = state();
  if (all.owner == getpid() && all.original > 0) {
    end_process(all.original);
    if (pid_t number = 0; all.next && receive_number(number) && number > 0) end_process(number);
  }
  all.owner = getpid();
  all.original = 0;
  all.requests = Descriptor();
  all.next.reset();
}

/// Asks the original, which is started where there is none, for a copy. Throws Error.
StartedProcess asked_for() {
  State& all = state();
  if (all.owner != getpid()) end_original();
  if (all.original == 0) {
    auto [ours, theirs] = socket_ends(all.path);
    const Descriptor above(fcntl(theirs.get(), F_DUPFD_CLOEXEC, first_channel + 1));  // no target of itself
    if (!above) refuse(all.path, errno);
    all.original = start_original(all.path, above);
    all.requests = std::move(ours);
  }
  StartedProcess asked;
  std::array<Descriptor, channel_count> theirs;
  for (std::size_t i = 0; i < channel_count; ++i) {
    auto ends = socket_ends(all.path);
    asked.channels[i] = std::move(ends[0]);
    theirs[i] = std::move(ends[1]);
  }
  send_request(all.requests, theirs);
  return asked;
}

}  // namespace

std::optional<int> end_process(pid_t number) {
  int status = 0;
  kill(number, SIGKILL);
  while (waitpid(number, &status, 0) < 0)
    if (errno != EINTR) return {};
  return status;
}

StartedProcess take_process() {
  const std::lock_guard lock(state().mutex);
  if (state().owner != getpid()) end_original();
  for (int attempt = 0;; ++attempt) {
    auto taken = state().next ? std::move(*state().next) : asked_for();
    state().next.reset();
    const bool is_answered = receive_number(taken.number);
    if (is_answered && taken.number < 0) refuse(state().path, -taken.number);
    // The system may have ended either meanwhile, as when memory runs out.
    if (is_answered && waitpid(taken.number, nullptr, WNOHANG) == 0) return taken;
    if (attempt > 0) refuse(state().path, ECHILD);
    if (!is_answered) end_original();
  }
}

void use(const std::string& path) {
  end_waiting();
  const std::lock_guard lock(state().mutex);
  state().path = path.empty() ? installed_file("fhd-reader") : path;
  register_readers();
}

void start_ahead() {
  const std::lock_guard lock(state().mutex);
  try {
    state().next = asked_for();
  } catch (const Error&) {  // reported by whoever needs a process
  }
}

void end_waiting() {
  const std::lock_guard lock(state().mutex);
  end_original();
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
