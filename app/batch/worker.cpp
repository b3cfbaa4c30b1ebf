#include "app/batch/worker.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include <tuple>

#include "app/batch/engines.hpp"
#include "app/batch/scan_job.hpp"
#include "app/batch/state.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/timeline.hpp"
#include "io/files/folder.hpp"
#include "io/files/input_file.hpp"
#include "io/reader/reader.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using Line = nlohmann::json;
using Clock = std::chrono::steady_clock;

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

/// One scan on its way through a thread.
struct Job {
  std::size_t scan = 0;
  std::string because;  ///< why another device gave it back; empty: it is done for the first time
  double seconds = 0;   ///< of work, without waiting
  io::Manifest manifest;
  io::InputStamps inputs;  ///< of the scan, from before its checksum was made
  std::unique_ptr<ScanRun> run;
};

/// Adds the time of its life to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

/// Sends `text` whole; returns false when the other process is gone.
bool send_all(int socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

/// Takes the whole lines out of `unread`.
std::vector<Line> take_lines(std::string& unread) {
  std::vector<Line> lines;
  for (std::size_t end; (end = unread.find('\n')) != std::string::npos; unread.erase(0, end + 1))
    lines.push_back(Line::parse(unread.substr(0, end)));
  return lines;
}

std::string encoded(const Line& line) {
  return line.dump(-1, ' ', false, Line::error_handler_t::replace) + "\n";
}

class WorkerProcess {
 public:
  WorkerProcess(const BatchWork& work, const WorkerPlan& plan, int socket)
      : work_(work), plan_(plan), socket_(socket), engines_(plan) {
    for (int i = plan.engines; i > 0; --i) free_engines_.push_back(static_cast<std::size_t>(i - 1));
  }

  /// Does not return: its threads use what it holds.
  void run() try {
    trace::take();  // of the process that this one was forked from
    for (int i = 0; i < plan_.scans; ++i)
      std::thread([this, i] {
        trace::name_thread(fmt::format("scans {}", i + 1));
        while (true) do_scan(next_order());
      }).detach();
    std::string unread;
    char block[4096];
    while (true) {
      const auto n = ::recv(socket_, block, sizeof block, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) end(0);  // nothing left to do, or the parent has died
      unread.append(block, static_cast<std::size_t>(n));
      for (const auto& command : take_lines(unread)) obey(command);
    }
  } catch (...) {
    end_at_once(failure_of_exception());
  }

 private:
  /// Ends the process, from any thread: nothing of its own is left.
  [[noreturn]] static void end(int status) {
    io::remove_unfinished_files();
    io::reader::end_waiting();
    _exit(status);
  }

  // --- Commands and reports

  void obey(const Line& command) {
    const std::lock_guard lock(mutex_);
    const std::size_t scan = command.at("scan");
    if (command.contains("threads"))
      threads_of_[scan] = command.at("threads");
    else
      orders_.push_back({scan, command.at("because")});
    changed_.notify_all();
  }

  Job next_order() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !orders_.empty(); });
    Job job;
    std::tie(job.scan, job.because) = std::move(orders_.front());
    orders_.pop_front();
    return job;
  }

  /// Waits until the scan may begin. Returns its threads; 0: it is not to be done.
  int threads_for(std::size_t scan) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return threads_of_.contains(scan); });
    return threads_of_.extract(scan).mapped();
  }

  void report(const Line& event) {
    const std::lock_guard lock(reporting_);
    if (!send_all(socket_, encoded(event))) end(1);  // the parent has died
  }

  /// Reports the last of a scan.
  void report_last(Line event) {
    if (trace::is_on()) event["timeline"] = timeline_of(trace::take(), "worker");
    report(event);
  }

  /// Reports how a scan ended. `no_room`: the number of the error where nothing more can be written, else 0.
  void report_end(std::size_t scan, Outcome::Status status, const std::string& line = {}, int no_room = 0) {
    report_last(
        {{"event", "ended"}, {"scan", scan}, {"status", status}, {"line", line}, {"no_room", no_room}});
  }

  // --- A scan

  void do_scan(Job job) {
    std::string line;
    int no_room = 0;
    try {
      return do_steps(job);
    } catch (const io::NoRoom& error) {
      line = told_line(error.what());
      no_room = error.number();
    } catch (const std::bad_alloc&) {
      line = told_line(work_.scans[job.scan].path + ": out of memory");
    } catch (const std::exception& error) {
      line = told_line(error.what());
    }
    fail(job, line, no_room);
  }

  void fail(Job& job, const std::string& line, int no_room) {
    const BatchScan& scan = work_.scans[job.scan];
    job.run.reset();
    if (scan.found && holds_only_images(scan.path))
      return report_end(job.scan, Outcome::Status::images, scan.path + ": holds images, no scan");
    job.manifest.error = line;
    try {
      write_manifest(job, io::Manifest::Status::failed);
    } catch (const io::NoRoom& error) {
      no_room = error.number();
    } catch (const Error&) {  // the summary still reports the failure
    }
    report_end(job.scan, Outcome::Status::failed, line, no_room);
  }

  void do_steps(Job& job) {
    omp_set_num_threads(1);
    std::call_once(opened_, [this] { std::thread([this] { engines_.open(); }).detach(); });
    if (examine(job)) return report_end(job.scan, Outcome::Status::unchanged);
    report({{"event", "planned"}, {"scan", job.scan}, {"bytes", planned_host_bytes(*job.run)}});
    const int threads = threads_for(job.scan);
    if (threads == 0) return;
    {
      const auto step = this->step("read", job);
      start_reading(*job.run);
      if (job.run->reader) job.run->reader->wait_for_first();
    }
    try {
      compute(job, threads);
    } catch (const DeviceError& error) {
      const auto why = told_line(error.what());
      job.run.reset();
      return report_last(
          {{"event", "refused"}, {"scan", job.scan}, {"why", why}, {"lost", !engines_.are_of_use()}});
    }
    // A GPU leaves the threads of the processor idle.
    omp_set_num_threads(engines_.are_on_gpu() ? threads : 1);
    write(job);
    job.run.reset();  // its memory is free before its end is known
    report_end(job.scan, Outcome::Status::finished);
  }

  struct Step {
    Stopwatch watch;
    trace::Span span;
  };
  /// Begins a step, which the timeline shows.
  Step step(const char* what, Job& job) const {
    return {Stopwatch(job.seconds), trace::Span(what + (" " + work_.scans[job.scan].name), "scan")};
  }

  std::string manifest_path(const Job& job) const {
    return io::manifest_path(work_.directory, work_.scans[job.scan].name);
  }

  void write_manifest(Job& job, io::Manifest::Status status) const {
    job.manifest.status = status;
    job.manifest.ended_ns = io::now_ns();
    job.manifest.seconds = job.seconds;
    io::write_manifest(manifest_path(job), job.manifest);
  }

  std::string prefix_of(const Job& job) const {
    return (fs::path(work_.directory) / work_.scans[job.scan].name).string();
  }

  std::shared_ptr<const RunSettings> settings_of(std::size_t scan) {
    const std::size_t number = work_.settings_of[scan];
    const std::lock_guard lock(mutex_);
    auto& settings = settings_[number];
    if (!settings) settings = settings_of_job(work_.settings[number].options, plan_.device);
    return settings;
  }

  /// Opens the scan. Returns whether its results are there already.
  bool examine(Job& job) {
    const Stopwatch watch(job.seconds);
    const BatchScan& scan = work_.scans[job.scan];
    io::Manifest& now = job.manifest;
    now.scan = absolute_path(scan.path);
    now.settings = work_.settings[work_.settings_of[job.scan]].recorded;
    now.version = program_version;
    now.examined_ns = io::now_ns();
    require_readable_kind(scan.path);
    job.inputs = io::InputStamps(io::files_of_scan(scan.path));
    now.input = io::stamps_of(scan.path);
    now.input_checksum = io::checksum_of(scan.path, 1);
    auto before = io::read_manifest(manifest_path(job));
    if (before && !missing_of(work_, job.scan, *before, [&] {
          return before->input_checksum == now.input_checksum;
        })) {  // the same content with other times
      before->scan = now.scan;
      before->input = now.input;
      before->examined_ns = now.examined_ns;
      io::write_manifest(manifest_path(job), *before);
      return true;
    }
    if (before) now.products = before->products;  // what they are of when this run fails
    const auto settings = settings_of(job.scan);
    job.run = open_run(io::open_scan(scan.path, settings->options.read_options), scan.path, settings,
                       work_.command_line);
    job.run->results.set_checksum(now.input_checksum);
    const auto prefix = prefix_of(job);
    require_replaceable_in_batch(*job.run, prefix, own_files(prefix, now));
    return false;
  }

  /// Computes with the engine that was free last, once there is one.
  void compute(Job& job, int threads) {
    const auto engine = [this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !free_engines_.empty(); });
      const auto number = free_engines_.back();
      free_engines_.pop_back();
      return std::shared_ptr<const std::size_t>(new std::size_t(number), [this](const std::size_t* one) {
        const std::lock_guard back(mutex_);
        free_engines_.push_back(*one);
        delete one;
        changed_.notify_all();
      });
    }();
    omp_set_num_threads(threads);
    Clock::time_point reported{};
    const auto progress = [&](const Progress& p) {
      const auto now = Clock::now();
      if (p.done != 0 && now - reported < std::chrono::milliseconds(200)) return;
      reported = now;
      report({{"event", "progress"},
              {"scan", job.scan},
              {"stage", p.stage},
              {"done", p.done},
              {"total", p.total},
              {"residual", p.residual}});
    };
    const auto step = this->step("compute", job);
    engines_.compute(*engine, *job.run, progress, job.because);
    job.inputs.require_unchanged();
  }

  void write(Job& job) {
    {
      const auto step = this->step("write", job);
      write_results(*job.run, prefix_of(job), job.manifest);
    }
    write_manifest(job, io::Manifest::Status::finished);
  }

  const BatchWork& work_;
  const WorkerPlan plan_;
  const int socket_;
  std::mutex reporting_, mutex_;
  std::condition_variable changed_;
  // Under mutex_:
  std::deque<std::pair<std::size_t, std::string>> orders_;  ///< scans to be examined, and `because`
  std::map<std::size_t, int> threads_of_;                   ///< of scans that may begin
  std::vector<std::size_t> free_engines_;
  std::map<std::size_t, std::shared_ptr<const RunSettings>> settings_;
  std::once_flag opened_;
  Engines engines_;
};

/// Returns the parent's ends of its workers' sockets: a worker that kept one would hold up the end of another.
std::set<int>& ends_of_parent() {
  static std::set<int> ends;
  return ends;
}

}  // namespace

Worker::Worker(const BatchWork& work, const WorkerPlan& plan) {
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
    silence_events();  // the parent prints them
    io::forget_unfinished_files();
    io::reader::use();
    WorkerProcess(work, plan, ends[1]).run();
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

/// Sends a command; where the worker has died, events() finds that.
void Worker::send(const Line& command) { send_all(socket_, encoded(command)); }

void Worker::examine(std::size_t scan, const std::string& because) {
  send({{"scan", scan}, {"because", because}});
}

void Worker::reconstruct(std::size_t scan, int threads) { send({{"scan", scan}, {"threads", threads}}); }

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
  auto events = take_lines(unread_);
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
