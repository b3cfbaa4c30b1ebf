#include "io/reader/process.hpp"

#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "io/reader/end_of_memory.hpp"
#include "io/reader/guard.hpp"
#include "io/reader/host_socket.hpp"
#include "recon/error.hpp"

namespace fhd::io::guard {
namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr auto bad_file = "the file is damaged, or made to do harm: make it anew";

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

}  // namespace

ReaderProcess::Turn::Turn(ReaderProcess& whose)
    : process(whose), channel([&]() -> Channel& {
        std::unique_lock lock(whose.mutex_);
        const auto is_free = [](const Channel& each) { return each.is_free; };
        auto found = whose.channels_.end();
        whose.freed_.wait(lock, [&] {
          found = std::find_if(whose.channels_.begin(), whose.channels_.end(), is_free);
          return found != whose.channels_.end();
        });
        found->is_free = false;
        return *found;
      }()) {
  const std::lock_guard lock(process.mutex_);
  process.hear_news(0);
  looked_s = clock_seconds();
  processor_s = process.processor_seconds();
}

ReaderProcess::Turn::~Turn() {
  const std::lock_guard lock(process.mutex_);
  if (!is_whole) process.end();
  channel.is_free = true;
  process.freed_.notify_one();
}

ReaderProcess::ReaderProcess(Task task, std::size_t channel_count)
    : task_(std::move(task)),
      subject_(task_.subject.empty() ? task_.inputs.front() : task_.subject),
      allowance_(allowance_of(bytes_of_files(task_.inputs), limits())) {
  try {
    open(channel_count);
    tell_opening();
  } catch (...) {
    close_channels();
    throw;
  }
}

ReaderProcess::~ReaderProcess() { close_channels(); }

void ReaderProcess::close_channels() {
  end();
  for (const auto& channel : channels_)
    for (const int descriptor : {channel.requests, channel.answers})
      if (descriptor >= 0) ::close(descriptor);
}

void ReaderProcess::open(std::size_t channel_count) {
  std::array<ChannelEnds, most_channels> theirs{};
  const auto refuse = [&] {
    const int error = errno;
    const bool is_gone = error == EPIPE || error == ECONNRESET;
    for (const auto& ends : theirs)
      for (const int descriptor : {ends.requests, ends.answers})
        if (descriptor >= 0) ::close(descriptor);
    if (is_gone)
      throw HostGone(subject_ + ": reading", "a process of its own",
                     "that what starts them was ended, as when memory runs out", "run again");
    throw Error(subject_ + ": reading", "a process of its own", std::strerror(error),
                "close other programs; --trust-input reads files that you trust without one");
  };
  for (std::size_t i = 0; i < channel_count; ++i) {
    int requests[2], answers[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0) refuse();
    theirs[i].requests = requests[1];
    channels_.push_back({requests[0], -1});
    if (pipe2(answers, O_CLOEXEC) != 0) refuse();
    theirs[i].answers = answers[1];
    channels_.back().answers = answers[0];
    fcntl(answers[0], F_SETFL, O_NONBLOCK);
    constexpr int pipe_bytes = 1 << 20;  // where the system grants it: fewer turns between the processes
    fcntl(answers[0], F_SETPIPE_SZ, pipe_bytes);
  }
  const int host = host_socket();
  if (host < 0) refuse();
  news_ = ask_for_process(host, theirs.data(), channel_count);
  for (std::size_t i = 0; news_ >= 0 && i < channel_count; ++i) {
    ::close(theirs[i].requests);
    ::close(theirs[i].answers);
    theirs[i] = {};
  }
  if (news_ < 0) refuse();
}

void ReaderProcess::tell_opening() {
  constexpr int most_threads = 8;  // more do not read sooner
  Opening opening{{},
                  allowance_.memory_bytes,
                  std::min(omp_get_max_threads(), most_threads),
                  can_copy_memory(),
                  task_.inputs,
                  task_.outputs};
  std::error_code status;
  opening.folder = std::filesystem::current_path(status).string();
  Turn turn(*this);
  Output out([&](const void* bytes, std::size_t count) { send(turn, bytes, count); });
  out(opening);
  out.flush();
  turn.is_whole = true;
}

void ReaderProcess::send(Turn& turn, const void* bytes, std::size_t count) {
  for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
    const auto sent = ::send(turn.channel.requests, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail_by_end();
    next += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void ReaderProcess::receive(Turn& turn, void* bytes, std::size_t count) {
  for (auto* next = static_cast<char*>(bytes); count > 0;) {
    const auto got = ::read(turn.channel.answers, next, count);
    if (got > 0) {
      next += got;
      count -= static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || errno != EAGAIN) fail_by_end();
    pollfd waiting{turn.channel.answers, POLLIN, 0};
    constexpr int look_again_ms = 20;
    ::poll(&waiting, 1, look_again_ms);
    require_time(turn);
  }
}

/// Says that its answer has been taken. That it hears so proves that it has lived until now: its number, from which memory was
/// copied, was no other process's.
void ReaderProcess::confirm(Turn& turn) {
  const char taken = 0;
  send(turn, &taken, sizeof taken);
}

/// Whether the system lets this process (same user, ancestor or the one that was named) copy from that one's memory.
bool ReaderProcess::can_copy_memory() {
  {
    const std::lock_guard lock(mutex_);
    constexpr int most_ms = 2000;
    hear_news(most_ms, News::start);
  }
  if (process_ <= 0) return false;
  char byte = 0;
  const iovec here{&byte, 1}, nowhere{nullptr, 1};
  return process_vm_readv(process_, &here, 1, &nowhere, 1, 0) < 0 && errno == EFAULT;
}

/// It is a copy from the beginning, which the other side cannot change. False: it has no such memory.
bool ReaderProcess::copy_memory(Turn& turn, std::uint64_t address, void* to, std::size_t count) {
  constexpr std::size_t most_at_once = std::size_t{1} << 24;  // between two looks at the time
  for (std::size_t done = 0; done < count;) {
    const auto bytes = std::min(count - done, most_at_once);
    const iovec here{static_cast<char*>(to) + done, bytes},
        there{reinterpret_cast<void*>(address + done), bytes};
    const auto got = process_vm_readv(process_, &here, 1, &there, 1, 0);
    if (got < 0 && errno == ESRCH) fail_by_end();
    if (got < 0 && errno != EFAULT)
      throw Error(subject_ + ": reading", "a copy of what its process has read", std::strerror(errno),
                  "close other programs; --trust-input reads files that you trust without one");
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
    require_time(turn);
  }
  return true;
}

void ReaderProcess::require_time(Turn& turn) {
  const std::lock_guard lock(mutex_);
  if (!end_cause_.empty()) return;  // what it has still said is read, and then that it has ended
  hear_news(0);
  // Both may have been stopped meanwhile (Ctrl-Z): a long time between two looks is none of the file's.
  constexpr double longest_look_s = 1;
  const double now_s = clock_seconds();
  turn.waited_s += std::min(now_s - turn.looked_s, longest_look_s);
  turn.looked_s = now_s;
  // Other threads' requests use the same processor time.
  turn.most_busy = std::max(turn.most_busy, std::count_if(channels_.begin(), channels_.end(),
                                                          [](const Channel& each) { return !each.is_free; }));
  const double processor_s = allowance_.processor_s * static_cast<double>(turn.most_busy);
  const char* of = nullptr;
  double most = 0;
  if (processor_seconds() - turn.processor_s > processor_s) {
    of = " of a processor";
    most = processor_s;
  } else if (turn.waited_s > allowance_.clock_s) {
    of = "";
    most = allowance_.clock_s;
  }
  if (of == nullptr) return;
  end_cause_ = "longer than " + seconds_text(most) + of;
  end();
}

/// 0 while it is not known which process it is, and after its end.
double ReaderProcess::processor_seconds() {
  clockid_t clock{};
  timespec time{};
  if (process_ <= 0 || end_status_ || clock_getcpuclockid(process_, &clock) != 0 ||
      clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Waits at most `wait_ms` for it.
void ReaderProcess::hear_news(int wait_ms, News awaited) {
  const double until = clock_seconds() + 1e-3 * wait_ms;
  while (news_ >= 0 && !end_status_ && !(awaited == News::start && process_ > 0)) {
    ProcessNews news;
    const auto bytes = ::recv(news_, &news, sizeof news, MSG_DONTWAIT);
    if (bytes == sizeof news) {
      if (news.what == ProcessNews::What::started) process_ = news.process;
      if (news.what == ProcessNews::What::ended) end_status_ = news.status;
      continue;
    }
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) return;  // the host has gone
    const int left_ms = static_cast<int>(1e3 * (until - clock_seconds()));
    if (left_ms <= 0) return;
    pollfd waiting{news_, POLLIN, 0};
    ::poll(&waiting, 1, left_ms);
  }
}

void ReaderProcess::end() {
  if (news_ >= 0) ::close(news_);
  news_ = -1;
}

void ReaderProcess::fail(Outcome outcome, const std::string& text) const {
  constexpr std::size_t longest = 4096;
  switch (outcome) {
    case Outcome::error:
      throw Error(text.substr(0, longest), "", "");
    case Outcome::out_of_memory:
      throw Error(subject_,
                  "a file that is read with at most " + std::to_string(allowance_.memory_bytes >> 20) +
                      " MiB of memory",
                  "one that needs more", "if it is a good file, --input-memory GIB allows more");
    default:
      throw Error(subject_, "a file that can be read", text.substr(0, longest), bad_file);
  }
}

void ReaderProcess::fail_by_end() {
  const std::lock_guard lock(mutex_);
  if (!end_cause_.empty())
    throw Error(subject_, "a file that is read in time", "one that takes " + end_cause_,
                "if it is a good file, --input-seconds N allows more");
  constexpr int most_ms = 2000;
  hear_news(most_ms);
  if (!end_status_)
    throw HostGone(subject_ + ": reading", "an answer of the process that reads", "none, for it was ended",
                   "run again");
  const int status = *end_status_;
  if (status < 0)
    throw Error(subject_ + ": reading", "a process of its own", std::strerror(-status),
                "close other programs; --trust-input reads files that you trust without one");
  if (WIFEXITED(status) && WEXITSTATUS(status) == status_without_memory) fail(Outcome::out_of_memory, "");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    throw Error(subject_, "a file that can be read",
                "one on which the process that reads it was ended by the system, as when memory runs out",
                bad_file);
  const auto how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status)) + " (" +
                                             strsignal(WTERMSIG(status)) + ")"
                                       : "with status " + std::to_string(WEXITSTATUS(status));
  throw Error(subject_, "a file that can be read", "one on which the process that reads it ended " + how,
              bad_file);
}

}  // namespace fhd::io::guard
