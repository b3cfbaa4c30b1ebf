#include "app/batch/worker.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
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
#include <thread>

#include "app/batch/engines.hpp"
#include "app/batch/noise_files.hpp"
#include "app/batch/summary.hpp"
#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/event_lines.hpp"
#include "app/terminal/timeline.hpp"
#include "io/files/folder.hpp"
#include "io/files/input_file.hpp"
#include "io/files/unfinished_files.hpp"
#include "io/reader/reader.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {

bool Lines::send(const nlohmann::json& line) const {
  const auto text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::send(descriptor(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::vector<nlohmann::json> Lines::receive(int flags) {
  char block[1 << 16];
  const auto n = ::recv(descriptor(), block, sizeof block, flags);
  if (n > 0)
    unread_.append(block, static_cast<std::size_t>(n));
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    is_open_ = false;
  std::vector<nlohmann::json> lines;
  for (std::size_t end; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1))
    lines.push_back(nlohmann::json::parse(unread_.substr(0, end)));
  return lines;
}

namespace {

using Line = nlohmann::json;
using Clock = std::chrono::steady_clock;

/// One scan on its way through a thread.
struct Job {
  Job(const BatchWork& work, const Line& order)
      : number(order.at("scan")), because(order.at("because")), scan(work.scans[number]) {
    prefix = (std::filesystem::path(work.directory) / scan.name).string();
    manifest_path = io::manifest_path(work.directory, scan.name);
  }
  const std::size_t number;
  const std::string because;  ///< why another device gave it back; empty: it is done for the first time
  const BatchScan& scan;
  std::string prefix, manifest_path;
  std::string reason;  ///< why it is done again
  double seconds = 0;  ///< of work, without waiting
  io::Manifest manifest;
  io::InputStamps inputs;  ///< of the scan, from before its checksum was made
  std::unique_ptr<ScanRun> run;
};

/// A step of a scan: it adds its time to `seconds`, and stands in the timeline.
class Step {
 public:
  Step(double& seconds, const std::string& name) : seconds_(seconds), span_(name, "scan") {}
  ~Step() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  double& seconds_;
  trace::Span span_;
  Clock::time_point start_ = Clock::now();
};

/// Keeps memory that a scan has freed for the next one. Otherwise each takes thousands of pages from the system, which clears
/// them, and the threads of the process wait for each other when pages are given back.
void keep_freed_memory() {
  constexpr int most_kept = 1 << 30, from_system = 32 << 20;  // of each thread; glibc's limit for one array
  mallopt(M_TRIM_THRESHOLD, most_kept);
  mallopt(M_MMAP_THRESHOLD, from_system);
}

class WorkerProcess {
 public:
  WorkerProcess(const BatchWork& work, const WorkerPlan& plan, int socket)
      : work_(work), plan_(plan), lines_(socket), engines_(plan) {}

  /// Does not return: its threads use what it holds.
  void run() try {
    trace::take();  // of the process that this one was forked from
    keep_freed_memory();
    for (int i = 0; i < plan_.scans; ++i)
      std::thread([this, i] {
        trace::name_thread(fmt::format("scans {}", i + 1));
        while (true) {
          Job job(work_, command_that([](const Line& command) { return command.contains("because"); }));
          do_scan(job);
        }
      }).detach();
    while (lines_.is_open())
      for (auto& command : lines_.receive(0)) {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(command));
        changed_.notify_all();
      }
    end(0);  // nothing left to do, or the parent has died
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

  /// Waits for the first command that fits, and takes it.
  template <class Fits>
  Line command_that(Fits fits) {
    std::unique_lock lock(mutex_);
    auto found = commands_.end();
    changed_.wait(lock, [&] {
      found = std::find_if(commands_.begin(), commands_.end(), fits);
      return found != commands_.end();
    });
    Line command = std::move(*found);
    commands_.erase(found);
    return command;
  }

  void report(Line event) {
    if (trace::is_on()) event["timeline"] = new_timeline("worker");
    const std::lock_guard lock(reporting_);
    if (!lines_.send(event)) end(1);  // the parent has died
  }

  /// Reports how a scan ended. `no_room`: the number of the error where nothing more can be written, else 0.
  void report_end(const Job& job, Outcome::Status status, const std::string& line = {}, int no_room = 0) {
    report({{"event", "ended"},
            {"scan", job.number},
            {"status", status},
            {"line", line},
            {"no_room", no_room},
            {"reason", job.reason}});
  }

  // --- A scan

  void do_scan(Job& job) {
    int no_room = 0;
    const auto fails = [&](const std::string& line) { fail(job, told_line(line), no_room); };
    try {
      do_steps(job);
    } catch (const io::NoRoom& error) {
      no_room = error.number();
      fails(error.what());
    } catch (...) {
      fails(failure_of_exception());
    }
  }

  void fail(Job& job, const std::string& line, int no_room) {
    job.run.reset();
    if (job.scan.found && holds_only_images(job.scan.path))
      return report_end(job, Outcome::Status::images, job.scan.path + ": holds images, no scan");
    if (job.scan.found && holds_only_noise(job.scan.path))
      return report_end(job, Outcome::Status::images, job.scan.path + ": holds noise alone, no scan");
    job.manifest.error = line;
    try {
      write_manifest(job, io::Manifest::Status::failed);
    } catch (const io::NoRoom& error) {
      no_room = error.number();
    } catch (const Error&) {  // the summary still reports the failure
    }
    report_end(job, Outcome::Status::failed, line, no_room);
  }

  void do_steps(Job& job) {
    omp_set_num_threads(1);
    if (is_done(job)) return report_end(job, Outcome::Status::unchanged);
    plan(job);
    const int threads = command_that([&](const Line& command) {
                          return command.contains("threads") && command.at("scan") == job.number;
                        }).at("threads");
    {
      const Step step(job.seconds, "read " + job.scan.name);
      start_reading(*job.run);
      if (job.run->reader) job.run->reader->wait_for_first();
    }
    omp_set_num_threads(threads);
    try {
      compute(job);
    } catch (const DeviceError& error) {
      const auto why = told_line(error.what());
      job.run.reset();
      return report(
          {{"event", "refused"}, {"scan", job.number}, {"why", why}, {"lost", !engines_.are_of_use()}});
    }
    // A GPU leaves the threads of the processor idle.
    if (!engines_.are_on_gpu()) omp_set_num_threads(1);
    write(job);
    write_manifest(job, io::Manifest::Status::finished);
    job.run.reset();  // its memory is free before its end is known
    report_end(job, Outcome::Status::finished);
  }

  void write_manifest(Job& job, io::Manifest::Status status) const {
    job.manifest.status = status;
    job.manifest.ended_ns = io::now_ns();
    job.manifest.seconds = job.seconds;
    io::write_manifest(job.manifest_path, job.manifest);
  }

  /// Returns whether the results of the scan are there already.
  bool is_done(Job& job) {
    const Step step(job.seconds, "examine " + job.scan.name);
    auto before = io::read_manifest(job.manifest_path);
    const auto missing = before ? missing_of(work_, job.number, *before) : Missing{};
    if (!missing) return true;
    std::call_once(opened_, [this] { std::thread([this] { engines_.open(); }).detach(); });
    io::Manifest& now = job.manifest;
    now.scan = absolute_path(job.scan.path);
    now.settings = work_.settings[work_.settings_of[job.number]].recorded;
    now.version = program_version;
    now.examined_ns = io::now_ns();
    io::require_reachable(job.scan.path);
    job.inputs = io::InputStamps(io::files_of_scan(job.scan.path));
    now.input = io::stamps_of(job.scan.path);
    now.input_checksum = io::checksum_of(job.scan.path, 1);
    if (before && missing->code == input_changed &&
        before->input_checksum == now.input_checksum) {  // with other times
      before->scan = now.scan;
      before->input = now.input;
      before->examined_ns = now.examined_ns;
      io::write_manifest(job.manifest_path, *before);
      return true;
    }
    job.reason = missing->text;
    if (before) now.products = before->products;  // what they are of when this run fails
    return false;
  }

  /// Opens the scan, and reports the memory that it will take. Throws Error: that is more than there is.
  void plan(Job& job) {
    const Step step(job.seconds, "open " + job.scan.name);
    const auto& path = job.scan.path;
    const auto settings = settings_of(job.number);
    job.run = open_run(io::open_scan(path, settings->options.read_options), path, settings, command_line());
    job.run->results.set_checksum(job.manifest.input_checksum);
    io::check_names(request_of(*job.run, job.prefix), job.run->results.inputs());
    require_own_names(job);
    require_replaceable(job);
    const auto bytes = planned_host_bytes(*job.run);
    if (bytes > work_.memory_bytes)
      throw Error(
          path, "a scan that fits into memory",
          fmt::format("{} MiB planned and {} MiB to use", (bytes >> 20) + 1, work_.memory_bytes >> 20),
          "give --memory-mib if there is more, or run it on a larger machine");
    report({{"event", "planned"}, {"scan", job.number}, {"bytes", bytes}});
  }

  /// Throws Error where a stack of slices would have the name of another scan of the batch, which may be done at the same
  /// time.
  void require_own_names(const Job& job) const {
    const auto stacks = job.run->results.stack_count();
    for (std::size_t stack = 1; stacks > 1 && stack <= stacks; ++stack)
      if (const auto name = fmt::format("{}_{}", job.scan.name, stack); work_.names.contains(name))
        throw Error(job.scan.path, "names of its own for its stacks of slices",
                    fmt::format("{}, which is also the name of another scan", name),
                    "rename a scan, or name the results otherwise (--name)");
  }

  /// Throws Error where a file has the name of a result that is neither a product of an earlier run nor a result of this scan,
  /// whatever its content was.
  static void require_replaceable(const Job& job) {
    const auto folder = std::filesystem::path(job.prefix).parent_path();
    const auto request = request_of(*job.run, job.prefix);
    for (const auto& name : io::files_of_results(request)) {
      const auto is_it = [&](const io::Product& product) {
        const auto file = (folder / product.name).string();
        return name.ends_with('/') ? file.starts_with(name) : file == name;
      };
      std::error_code status;
      if (std::filesystem::exists(std::filesystem::symlink_status(name, status)) &&
          std::ranges::none_of(job.manifest.products, is_it))
        return io::require_replaceable(
            request, job.run->results.path(), io::ChecksumInBackground::of(job.manifest.input_checksum),
            {.earlier_content = true, .remedy = "move it, or choose another folder (-o)"});
    }
  }

  /// Writes the results, and adds what became of the run to its manifest.
  void write(Job& job) const {
    const Step step(job.seconds, "write " + job.scan.name);
    ScanRun& run = *job.run;
    io::Manifest& manifest = job.manifest;
    run.results.require_trust(run.settings->options.strict);
    require_own_names(job);
    require_replaceable(job);
    const auto folder = std::filesystem::path(job.prefix).parent_path();
    auto products =
        io::products_of(folder.string(), write_results(run, io::OutputLock(job.prefix), job.prefix));
    for (const auto& older : manifest.products) {
      std::error_code status;
      if (std::ranges::find(products, older.name, &io::Product::name) == products.end() &&
          std::filesystem::exists(folder / older.name, status))
        manifest.messages.push_back(
            {"earlier_run", Severity::note, older.name + " is of an earlier run; this one makes none"});
    }
    manifest.products = std::move(products);
    manifest.images = static_cast<std::int64_t>(run.results.volumes().size());
    for (const auto& report : run.results.reports()) {
      manifest.cache_hits += report.trajectory_hits;
      manifest.converged = manifest.converged && report.converged;
      manifest.data_residual = std::max(manifest.data_residual, report.data_residual);
      std::copy_if(report.messages.begin(), report.messages.end(), std::back_inserter(manifest.messages),
                   is_doubt);
      if (const auto& c = report.certificate; c && !c->passed)
        manifest.messages.push_back(
            {codes::certificate, Severity::warning, "less accurate than asked: " + certificate_line(*c)});
      if (report.relative_residuals.empty()) continue;
      manifest.iterations =
          std::max(manifest.iterations, static_cast<std::int64_t>(report.relative_residuals.size()) - 1);
      manifest.residual = std::max(manifest.residual, report.relative_residuals.back());
    }
  }

  std::shared_ptr<const RunSettings> settings_of(std::size_t scan) {
    const std::size_t number = work_.settings_of[scan];
    const std::lock_guard lock(mutex_);
    auto& settings = settings_[number];
    if (!settings) {
      RunOptions options = work_.settings[number].options;
      options.device.set_name(plan_.device);
      const auto made = std::make_shared<RunSettings>(std::move(options));
      made->is_sparing = true;
      settings = made;
    }
    return settings;
  }

  void compute(Job& job) {
    Clock::time_point reported{};
    const auto progress = [&](const Progress& p) {
      const auto now = Clock::now();
      if (p.done != 0 && now - reported < std::chrono::milliseconds(200)) return;
      reported = now;
      Line event = progress_fields(p);
      event.update({{"event", "progress"}, {"scan", job.number}});
      report(std::move(event));
    };
    std::optional<Step> step;
    engines_.compute(*job.run, progress, job.because,
                     [&] { step.emplace(job.seconds, "compute " + job.scan.name); });
    job.inputs.require_unchanged();
  }

  const BatchWork& work_;
  const WorkerPlan plan_;
  Lines lines_;
  std::mutex reporting_, mutex_;
  std::condition_variable changed_;
  // Under mutex_:
  std::deque<Line> commands_;  ///< that no thread has taken
  std::map<std::size_t, std::shared_ptr<const RunSettings>> settings_;
  std::once_flag opened_;
  Engines engines_;
};

}  // namespace

Worker::Worker(const BatchWork& work, const WorkerPlan& plan) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("fhd batch", "another process", std::strerror(errno));
  lines = Lines(ends[0]);
  process_ = fork();
  if (process_ < 0) {
    const int error = errno;
    ::close(ends[1]);
    throw Error("fhd batch", "another process", std::strerror(error));
  }
  if (process_ == 0) {
    // The parent decides what happens on Ctrl-C, which the terminal sends to both.
    for (const int number : {SIGINT, SIGHUP}) std::signal(number, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    lines = Lines(-1);
    silence_events();  // the parent prints them
    io::forget_unfinished_files();
    io::reader::use();
    WorkerProcess(work, plan, ends[1]).run();
  }
  ::close(ends[1]);
}

Worker::~Worker() {
  lines.close();  // it ends by itself then, and what reads for it before that
  for (int look = 0; look < 1000 && !has_ended(WNOHANG); ++look) usleep(1000);
  if (!status_) ::kill(process_, SIGKILL);
  has_ended(0);
}

bool Worker::has_ended(int flags) {
  int status = 0;
  while (!status_) {
    const pid_t ended = waitpid(process_, &status, flags);
    if (ended == 0) return false;
    if (ended > 0 || errno != EINTR) status_ = status;
  }
  return true;
}

std::string Worker::cause() {
  has_ended(0);
  return WIFSIGNALED(*status_)
             ? fmt::format("ended by signal {} ({})", WTERMSIG(*status_), strsignal(WTERMSIG(*status_)))
             : fmt::format("exit status {}", WEXITSTATUS(*status_));
}

}  // namespace fhd::app
