#include "app/batch/worker.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "app/batch/engines.hpp"
#include "app/batch/scan_job.hpp"
#include "app/batch/state.hpp"
#include "app/batch/summary.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/timeline.hpp"
#include "io/reader/reader.hpp"
#include "io/files/input_file.hpp"
#include "io/files/folder.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using JsonLine = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Throws Error unless `path` is a file or a directory that can be read.
void require_readable_kind(const std::string& path) {
  io::require_reachable(path);
  std::error_code status;
  const auto found = fs::status(path, status);
  if (!fs::exists(found)) {
    if (fs::exists(path + ".cfl", status)) return;  // BART
    throw Error(path, "a scan", "no such file");
  }
  if (!fs::is_regular_file(found) && !fs::is_directory(found))
    throw Error(path, "a file", "a pipe, a device or a socket", "save the scan as a file first");
  if (::access(path.c_str(), R_OK) != 0) throw Error(path, "a readable file", std::strerror(errno));
}

/// From one thread to the next. The process that hands out the scans bounds how many are under way.
template <class T>
class Queue {
 public:
  void push(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    filled_.notify_one();
  }
  T pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !values_.empty(); });
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> values_;
};

/// One scan on its way through the threads.
struct Job {
  std::size_t scan = 0;
  int threads = 1;
  int writing_threads = 1;  ///< those of the processor that a GPU leaves idle
  double seconds = 0;
  std::string because;  ///< why another device gave it back; empty: it is done for the first time
  io::Manifest manifest;
  io::InputStamps inputs;  ///< of the scan, from before its checksum was made
  std::unique_ptr<ScanRun> work;
};

/// A device that cannot do a scan, which may be done elsewhere.
struct Refusal {
  std::string why;
  bool is_lost = false;  ///< the device can do nothing more
};

/// Sends `text` whole; false when the other process is gone.
bool send_all(int socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

/// The whole lines of `unread`, taken out of it.
std::vector<JsonLine> take_messages(std::string& unread) {
  std::vector<JsonLine> messages;
  for (std::size_t end; (end = unread.find('\n')) != std::string::npos; unread.erase(0, end + 1))
    messages.push_back(JsonLine::parse(unread.substr(0, end)));
  return messages;
}

std::string encoded(const JsonLine& message) {
  return message.dump(-1, ' ', false, JsonLine::error_handler_t::replace) + "\n";
}

class WorkerProcess {
 public:
  WorkerProcess(const BatchWork& work, const Crew& crew, int socket)
      : work_(work), crew_(crew), socket_(socket), engines_(crew) {}

  /// Does not return: its threads use what it holds.
  void run() try {
    trace::take();  // of the process that this one was forked from
    start("reading", crew_.readers, [this](std::size_t) { read_all(); });
    start("computing", crew_.engines, [this](std::size_t engine) { compute_all(engine); });
    start("writing", crew_.writers, [this](std::size_t) { write_all(); });
    std::string unread;
    char block[4096];
    while (true) {
      const auto n = ::recv(socket_, block, sizeof block, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) end(0);  // nothing left to do, or the parent has died
      unread.append(block, static_cast<std::size_t>(n));
      for (auto& command : take_messages(unread)) commands_.push(std::move(command));
    }
  } catch (...) {
    end_at_once(failure_of_exception());
  }

 private:
  /// Of the process, from any thread: nothing of its own is left.
  [[noreturn]] static void end(int status) {
    io::remove_unfinished_files();
    io::reader::end_waiting();
    _exit(status);
  }

  /// work(i) in `count` threads.
  template <class Work>
  void start(const std::string& name, int count, const Work& work) {
    for (int i = 0; i < count; ++i)
      std::thread([name, count, work, i] {
        trace::name_thread(count > 1 ? fmt::format("{} {}", name, i + 1) : name);
        work(static_cast<std::size_t>(i));
      }).detach();
  }

  void tell(const JsonLine& event) {
    const std::lock_guard lock(telling_);
    if (!send_all(socket_, encoded(event))) end(1);  // the parent has died
  }

  /// The last of a scan.
  void tell_last(JsonLine event) {
    if (trace::is_on()) event["timeline"] = timeline_of(trace::take(), "worker");
    tell(event);
  }

  /// `no_room`: the number of the error where nothing more can be written, else 0.
  void tell_end(std::size_t scan, Outcome::Status status, const std::string& line = {}, int no_room = 0) {
    tell_last({{"event", "ended"}, {"scan", scan}, {"status", status}, {"line", line}, {"no_room", no_room}});
  }

  std::string prefix_of(const BatchScan& scan) const {
    return (fs::path(work_.directory) / scan.name).string();
  }

  /// A span of the timeline: what is done with a scan.
  trace::Span span(const char* what, std::size_t scan) const {
    return trace::Span(what + (" " + work_.scans[scan].name), "scan");
  }

  /// Runs one step of a scan; when it fails, records that and returns false.
  template <class Step>
  bool succeeds(Job& job, Step step) {
    const auto start = Clock::now();
    std::string line;
    int no_room = 0;
    try {
      step();
    } catch (const io::NoRoom& error) {
      line = told_line(error.what());
      no_room = error.number();
    } catch (const std::bad_alloc&) {
      line = work_.scans[job.scan].path + ": out of memory";
    } catch (const std::exception& error) {
      line = told_line(error.what());
    }
    job.seconds += seconds_since(start);
    if (line.empty()) return true;
    fail(job, std::move(line), no_room);
    return false;
  }

  void fail(Job& job, std::string line, int no_room) {
    const BatchScan& scan = work_.scans[job.scan];
    line = told_line(line);
    job.work.reset();
    if (scan.found && holds_only_images(scan.path))
      return tell_end(job.scan, Outcome::Status::images, scan.path + ": holds images, no scan");
    job.manifest.status = io::Manifest::Status::failed;
    job.manifest.error = line;
    job.manifest.ended_ns = io::now_ns();
    job.manifest.seconds = job.seconds;
    try {
      io::write_manifest(io::manifest_path(work_.directory, scan.name), job.manifest);
    } catch (const io::NoRoom& error) {
      no_room = error.number();
    } catch (const Error&) {
      // The summary still tells the failure.
    }
    tell_end(job.scan, Outcome::Status::failed, line, no_room);
  }

  // --- Reading

  void read_all() {
    omp_set_num_threads(1);
    while (true) {
      const JsonLine command = commands_.pop();
      const std::size_t scan = command.at("scan");
      if (command.at("command") == "examine")
        examine(scan, command.at("because"));
      else if (command.at("command") == "forget")
        take_examined(scan);
      else
        read(scan, command.at("threads"));
    }
  }

  Job take_examined(std::size_t scan) {
    const std::lock_guard lock(examining_);
    return std::move(examined_.extract(scan).mapped());
  }

  std::shared_ptr<const RunSettings> settings_of(std::size_t scan) {
    const std::size_t number = work_.settings_of[scan];
    const std::lock_guard lock(examining_);
    auto& settings = settings_[number];
    if (!settings) settings = settings_of_job(work_.settings[number].options, crew_.device);
    return settings;
  }

  void examine(std::size_t index, std::string because) {
    std::call_once(opened_, [this] { std::thread([this] { engines_.open(); }).detach(); });
    const BatchScan& scan = work_.scans[index];
    const BatchSettings& settings = work_.settings[work_.settings_of[index]];
    Job job;
    job.scan = index;
    job.because = std::move(because);
    job.manifest.scan = absolute_path(scan.path);
    job.manifest.settings = settings.recorded;
    job.manifest.program_version = program_version;
    job.manifest.examined_ns = io::now_ns();
    bool unchanged = false;
    std::uint64_t bytes = 0;
    if (!succeeds(job, [&] {
          io::Manifest& now = job.manifest;
          require_readable_kind(scan.path);
          job.inputs = io::InputStamps(io::files_of_scan(scan.path));
          now.input = io::stamps_of(scan.path);
          now.input_checksum = io::checksum_of(scan.path, 1);
          const auto path = io::manifest_path(work_.directory, scan.name);
          auto before = io::read_manifest(path);
          unchanged = before && !missing_of(work_, index, *before, [&] {
            return io::is_checksum_of(before->input_checksum, scan.path, now.input_checksum);
          });
          if (unchanged) {  // other times of the same content
            before->scan = now.scan;
            before->input = now.input;
            before->examined_ns = now.examined_ns;
            io::write_manifest(path, *before);
            return;
          }
          if (before) now.products = before->products;  // what they are of when this run fails
          const auto of_scan = settings_of(index);
          job.work = open_run(io::open_scan(scan.path, of_scan->options.read_options), scan.path, of_scan,
                              work_.command_line);
          job.work->results.set_checksum(now.input_checksum);
          const auto prefix = prefix_of(scan);
          require_replaceable_in_batch(*job.work, prefix, own_files(prefix, now));
          bytes = planned_host_bytes(*job.work);
        }))
      return;
    if (unchanged) return tell_end(index, Outcome::Status::unchanged);
    {
      const std::lock_guard lock(examining_);
      examined_.emplace(index, std::move(job));
    }
    tell({{"event", "planned"}, {"scan", index}, {"bytes", bytes}});
  }

  void read(std::size_t index, int threads) {
    Job job = take_examined(index);
    job.threads = threads;
    const bool loaded = succeeds(job, [&] {
      const auto reading = span("read", index);
      start_reading(*job.work);
      if (job.work->reader) job.work->reader->wait_for_first();
    });
    if (loaded) loaded_.push(std::move(job));
  }

  // --- Computing

  void compute_all(std::size_t number) {
    while (true) {
      Job job = loaded_.pop();
      omp_set_num_threads(job.threads);
      std::optional<Refusal> refusal;
      const bool computed = succeeds(job, [&] {
        try {
          compute(job, number);
        } catch (const DeviceError& error) {
          refusal = {told_line(error.what()), !engines_.are_of_use()};
        }
      });
      if (!computed) continue;
      if (refusal) {
        job.work.reset();
        tell_last(
            {{"event", "refused"}, {"scan", job.scan}, {"why", refusal->why}, {"lost", refusal->is_lost}});
        continue;
      }
      tell({{"event", "computed"}, {"scan", job.scan}});
      computed_.push(std::move(job));
    }
  }

  void compute(Job& job, std::size_t number) {
    const std::size_t index = job.scan;
    Clock::time_point told{};
    const auto progress = [&](const Progress& p) {
      const auto now = Clock::now();
      if (p.done != 0 && now - told < std::chrono::milliseconds(200)) return;
      told = now;
      tell({{"event", "progress"},
            {"scan", index},
            {"stage", p.stage},
            {"done", p.done},
            {"total", p.total},
            {"residual", p.residual}});
    };
    const auto computing = span("compute", index);
    if (engines_.are_on_gpu()) job.writing_threads = job.threads;
    engines_.compute(number, *job.work, progress, job.because);
    job.inputs.require_unchanged();
  }

  // --- Writing

  void write_all() {
    while (true) {
      Job job = computed_.pop();
      omp_set_num_threads(job.writing_threads);
      const BatchScan& scan = work_.scans[job.scan];
      if (!succeeds(job, [&] {
            const auto writing = span("write", job.scan);
            write_results(*job.work, prefix_of(scan), job.manifest);
            job.manifest.products = io::products_of(
                work_.directory, result_files(job.work->settings->options, scan.name,
                                              job.work->results.noise_map_count()));
          }))
        continue;
      job.manifest.status = io::Manifest::Status::finished;
      job.manifest.ended_ns = io::now_ns();
      job.manifest.seconds = job.seconds;
      if (!succeeds(job,
                    [&] { io::write_manifest(io::manifest_path(work_.directory, scan.name), job.manifest); }))
        continue;
      const std::size_t index = job.scan;
      job.work.reset();  // its memory is free before its end is known
      tell_end(index, Outcome::Status::finished);
    }
  }

  const BatchWork& work_;
  const Crew crew_;
  const int socket_;
  std::mutex telling_, examining_;
  Queue<JsonLine> commands_;
  std::map<std::size_t, std::shared_ptr<const RunSettings>> settings_;  // under examining_
  std::map<std::size_t, Job> examined_;                                 // under examining_
  Queue<Job> loaded_, computed_;
  std::once_flag opened_;
  Engines engines_;
};

/// The parent's ends of its workers' sockets: a worker that kept one would hold up the end of another.
std::set<int>& ends_of_parent() {
  static std::set<int> ends;
  return ends;
}

}  // namespace

Worker::Worker(const BatchWork& work, const Crew& crew) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("fhd batch", "another process", std::strerror(errno));
  process_ = fork();
  if (process_ < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error("fhd batch", "another process", std::strerror(error));
  }
  if (process_ == 0) {
    // The parent decides what happens on Ctrl-C, which the terminal sends to both.
    for (const int number : {SIGINT, SIGHUP}) std::signal(number, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    for (const int end : ends_of_parent()) ::close(end);
    silence_events();  // the parent tells
    io::forget_unfinished_files();
    io::reader::use();
    WorkerProcess(work, crew, ends[1]).run();
  }
  ::close(ends[1]);
  socket_ = ends[0];
  ends_of_parent().insert(socket_);
}

Worker::~Worker() {
  ends_of_parent().erase(socket_);
  ::close(socket_);  // it ends by itself then, and what reads for it before that
  int status = 0;
  for (int look = 0; look < 1000 && !status_; ++look) {
    if (waitpid(process_, &status, WNOHANG) == process_)
      status_ = status;
    else
      usleep(1000);
  }
  if (!status_) ::kill(process_, SIGKILL);
  this->status();
}

/// One that is dead tells it by `events`.
void Worker::send(const JsonLine& command) { send_all(socket_, encoded(command)); }

void Worker::examine(std::size_t scan, const std::string& because) {
  send({{"command", "examine"}, {"scan", scan}, {"because", because}});
}

void Worker::reconstruct(std::size_t scan, int threads) {
  send({{"command", "reconstruct"}, {"scan", scan}, {"threads", threads}});
}

void Worker::forget(std::size_t scan) { send({{"command", "forget"}, {"scan", scan}}); }

std::vector<WorkerEvent> Worker::events() {
  char block[1 << 16];
  while (alive_) {
    const auto n = ::recv(socket_, block, sizeof block, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0)
      alive_ = false;
    else
      unread_.append(block, static_cast<std::size_t>(n));
  }
  auto events = take_messages(unread_);
  for (auto& event : events)
    if (event.contains("timeline")) add_to_timeline(event["timeline"]);
  return events;
}

int Worker::status() {
  if (!status_) {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
  }
  return *status_;
}

std::string Worker::cause() {
  return WIFSIGNALED(status())
             ? fmt::format("ended by signal {} ({})", WTERMSIG(*status_), strsignal(WTERMSIG(*status_)))
             : fmt::format("exit status {}", WEXITSTATUS(*status_));
}

}  // namespace fhd::app
