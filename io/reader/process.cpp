#include "io/reader/process.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <numeric>

#include "recon/array/interruption.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {
namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr auto bad_file = "the file is damaged, or made to do harm: make it anew";

}  // namespace

ReaderProcess::Request::Request(ReaderProcess& whose)
    : process(whose), channel([&]() -> Channel& {
        std::unique_lock lock(whose.mutex_);
        auto* found = whose.channels_.end();
        whose.freed_.wait(lock, [&] {
          found = std::find_if(whose.channels_.begin(), whose.channels_.end(),
                               [](const Channel& each) { return each.is_free; });
          return found != whose.channels_.end();
        });
        found->is_free = false;
        return *found;
      }()) {
  const std::lock_guard lock(process.mutex_);
  looked_s = clock_seconds();
  processor_s = process.processor_seconds();
}

ReaderProcess::Request::~Request() {
  const std::lock_guard lock(process.mutex_);
  if (!is_whole) process.end();
  channel.is_free = true;
  process.freed_.notify_one();
}

ReaderProcess::ReaderProcess(Task task)
    : task_(std::move(task)),
      subject_(task_.subject.empty() ? task_.inputs.front() : task_.subject),
      allowance_(allowance_of(std::transform_reduce(task_.inputs.begin(), task_.inputs.end(),
                                                    std::uint64_t{0}, std::plus<>(), stored_bytes_of),
                              limits())) {
  auto started = take_process();
  process_ = started.number;
  for (std::size_t i = 0; i < channel_count; ++i) channels_[i].socket = std::move(started.channels[i]);
  try {
    send_opening();
  } catch (...) {
    end();
    throw;
  }
}

ReaderProcess::~ReaderProcess() { end(); }

void ReaderProcess::send_opening() {
  constexpr int most_threads = 8;  // more do not read sooner
  std::error_code status;
  const Opening opening{std::filesystem::current_path(status).string(), allowance_.memory_bytes,
                        std::min(omp_get_max_threads(), most_threads), task_.inputs, task_.outputs};
  Request request(*this);
  Output out([&](const void* bytes, std::size_t count) { send(request, bytes, count); });
  out(opening);
  out.flush();
  request.is_whole = true;
}

void ReaderProcess::send(Request& request, const void* bytes, std::size_t count) {
  const auto put = [&](const char* from, std::size_t left) {
    return ::send(request.channel.socket.get(), from, left, MSG_NOSIGNAL);
  };
  if (!move_all(static_cast<const char*>(bytes), count, put)) fail_by_end();
}

void ReaderProcess::receive(Request& request, void* bytes, std::size_t count) {
  const Checkpoint checkpoint;
  for (auto* next = static_cast<char*>(bytes); count > 0;) {
    const auto got = ::recv(request.channel.socket.get(), next, count, MSG_DONTWAIT);
    if (got > 0) {
      next += got;
      count -= static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || errno != EAGAIN) fail_by_end();
    pollfd waiting{request.channel.socket.get(), POLLIN, 0};
    constexpr int look_again_ms = 20;
    ::poll(&waiting, 1, look_again_ms);
    require_time(request);
    if (checkpoint.is_ended()) checkpoint.rethrow();
  }
}

void ReaderProcess::require_time(Request& request) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;  // its last words are read, and then its end
  // Both processes may have been stopped meanwhile (Ctrl-Z), so a long time between two looks does not count.
  constexpr double longest_look_s = 1;
  const double now_s = clock_seconds();
  request.waited_s += std::min(now_s - request.looked_s, longest_look_s);
  request.looked_s = now_s;
  // Requests of other threads use the same processor time.
  request.most_busy = std::max(
      request.most_busy,
      std::count_if(channels_.begin(), channels_.end(), [](const auto& each) { return !each.is_free; }));
  const double processor_s = allowance_.processor_s * static_cast<double>(request.most_busy);
  if (processor_seconds() - request.processor_s > processor_s)
    end_cause_ = fmt::format("longer than {:.3g} s of a processor", processor_s);
  else if (request.waited_s > allowance_.clock_s)
    end_cause_ = fmt::format("longer than {:.3g} s", allowance_.clock_s);
  else
    return;
  end();
}

/// Returns the processor time of the process so far; 0 after its end.
double ReaderProcess::processor_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (has_ended_ || clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void ReaderProcess::end() {
  if (!has_ended_) status_ = end_process(process_);
  has_ended_ = true;
}

void ReaderProcess::fail(Outcome outcome, ErrorParts why) const {
  if (why.kind == ErrorKind::out_of_memory)
    throw Error(
        subject_,
        fmt::format("a file that is read with at most {} MiB of memory", allowance_.memory_bytes >> 20),
        "one that needs more",
        "raise the limit with " + option_words("input-memory", "GIB") + " if you trust the file");
  constexpr std::size_t longest = 4096;
  for (auto* part : {&why.subject, &why.expected, &why.found, &why.remedy, &why.field})
    part->resize(std::min(part->size(), longest));
  if (outcome == Outcome::error) throw Error(std::move(why));
  throw Error(subject_, "a file that can be read", why.found, bad_file);
}

/// Throws Error saying how the process has ended, which has closed its sockets.
void ReaderProcess::fail_by_end() {
  const std::lock_guard lock(mutex_);
  if (!end_cause_.empty())
    throw Error(subject_, "a file that is read in time", "one that takes " + end_cause_,
                "raise the limit with " + option_words("input-seconds", "N") + " if you trust the file");
  constexpr int most_looks = 2000;
  for (int look = 0; !has_ended_ && look < most_looks; ++look) {
    int status = 0;
    const pid_t ended = waitpid(process_, &status, WNOHANG);
    has_ended_ = ended == process_ || (ended < 0 && errno == ECHILD);
    if (ended == process_) status_ = status;
    if (!has_ended_) usleep(1000);
  }
  end();
  const int signal = status_ && WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0;
  const auto how = !status_            ? std::string("ended")
                   : signal == SIGKILL ? "was ended by the system, as when memory runs out"
                   : signal != 0       ? fmt::format("ended by signal {} ({})", signal, strsignal(signal))
                                       : fmt::format("ended with status {}", WEXITSTATUS(*status_));
  throw Error(subject_, "a file that can be read", "one on which the process that reads it " + how, bad_file);
}

}  // namespace fhd::io::reader
