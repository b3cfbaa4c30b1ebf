#include "app/batch/worker.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/prctl.h>
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
#include <thread>

#include "app/batch/summary.hpp"
#include "app/option_names.hpp"
#include "app/recon_engine.hpp"
#include "app/timeline.hpp"
#include "io/hdf5.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using Message = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Throws Error unless `path` is a file or a directory that can be read.
void require_readable_kind(const std::string& path) {
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

/// Whether a file holds images and no scan: results of fhd, which lie beside scans now and then.
bool holds_only_images(const std::string& path) {
  try {
    const auto file = io::hdf5::File::open(path);
    return file.has("/image") && !file.has("/kspace") && !file.has("/trajectory") && !file.has("/dataset");
  } catch (const Error&) {
    return false;
  }
}

/// Options and what follows from them; made once for all scans that share them.
struct JobSettings {
  /// Reads the files that options name.
  explicit JobSettings(const std::vector<std::string>& arguments)
      : options(arguments), settings(options.recon.settings()) {
    options.read_options.precision = settings.precision;
  }
  JobOptions options;
  Settings settings;
};

/// Reconstructs scans with the same settings on one device; keeps what depends on the trajectory alone.
struct JobEngine {
  /// Starts the device that the options ask for.
  explicit JobEngine(std::shared_ptr<const JobSettings> of)
      : settings(std::move(of)),
        device(settings->options.device.choose()),
        engine(settings->settings, {}, device, settings->options.recon.trajectory_cache(),
               !settings->options.no_gridded_image) {}
  std::shared_ptr<const JobSettings> settings;
  ChosenDevice device;
  ReconEngine engine;
};

/// One scan, step by step: what `fhd recon` does, in pieces that can overlap with those of other scans.
class ScanJob {
 public:
  /// Opens the scan: reads and checks its headers. Throws Error.
  ScanJob(const std::string& path, std::shared_ptr<const JobSettings> of, const std::string& command_line,
          const std::string& input_checksum)
      : settings(std::move(of)),
        file_(io::open_scan(path, settings->options.read_options)),
        results_(path, file_->summary(), settings->options.selection, command_line) {
    results_.set_checksum(input_checksum);
  }
  /// What it takes of memory at most, in bytes, until it is written.
  std::uint64_t planned_bytes() const {
    const auto& summary = file_->summary();
    ScanSizes sizes = header_sizes(summary);
    EstimateSettings how{settings->settings};
    const bool in_double = how.settings.precision == Precision::double_precision;
    sizes.in_double = in_double && summary.format == "fhd";  // the others hold single precision
    const auto companion = companion_settings(how.settings);
    if (companion && !settings->options.no_gridded_image) how.companion = &*companion;
    how.images = static_cast<std::int64_t>(results_.volumes().size());
    constexpr double margin = 1.15;  // the plan is right within 15 %
    return static_cast<std::uint64_t>(
        std::min(margin * static_cast<double>(estimate(sizes, how).host.peak_bytes()), 9e18));
  }
  /// Begins to read the volumes; waits for the first.
  void load() {
    reader_ = std::make_unique<VolumeReader>(*file_, results_.volumes(), [this](const Scan& scan) {
      return takes_series(settings->settings, {}, scan);
    });
    reader_->wait_for_first();
  }
  void compute(JobEngine& engine, const ProgressCallback& progress) {
    results_.set_device(engine.device);
    const auto at_once = [&](SliceSeries& series) { return engine.engine.volumes_at_once(series); };
    while (true) {
      const auto volumes = reader_->next(at_once);
      if (volumes.empty()) break;
      // That the GPU failed is said by the report of the scan.
      auto made = engine.engine(volumes, progress, [](const std::string&) {});
      for (std::size_t i = 0; i < made.size(); ++i) results_.add(volumes[i].number, std::move(made[i]));
    }
    reader_.reset();
    results_.note_positions();
  }
  /// Writes PREFIX.* and what the manifest tells of the result.
  void write(const std::string& prefix, io::Manifest& manifest) {
    const bool phase = settings->options.phase;
    results_.require_trust(settings->options.strict);
    io::check_writable(prefix, results_.inputs(), phase);
    results_.write(prefix, phase);
    manifest.images = static_cast<std::int64_t>(results_.volumes().size());
    for (const auto& report : results_.reports()) {
      manifest.cache_hits += report.trajectory_hits;
      manifest.converged = manifest.converged && report.converged;
      manifest.data_residual = std::max(manifest.data_residual, report.data_residual);
      for (const auto* found : {&report.suspicions, &report.warnings})
        for (const auto& sentence : *found)
          manifest.warnings.push_back(std::string(suspicious_mark) + sentence);
      if (const auto& c = report.certificate; c && !c->passed)
        manifest.warnings.push_back("less accurate than asked: " + certificate_line(*c));
      if (report.relative_residuals.empty()) continue;
      manifest.iterations =
          std::max(manifest.iterations, static_cast<std::int64_t>(report.relative_residuals.size()) - 1);
      manifest.residual = std::max(manifest.residual, report.relative_residuals.back());
    }
  }

  const std::shared_ptr<const JobSettings> settings;

 private:
  std::unique_ptr<io::ScanFile> file_;
  ScanResults results_;
  std::unique_ptr<VolumeReader> reader_;
};

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
  io::Manifest manifest;
  std::unique_ptr<ScanJob> work;
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
std::vector<Message> take_messages(std::string& unread) {
  std::vector<Message> messages;
  for (std::size_t end; (end = unread.find('\n')) != std::string::npos; unread.erase(0, end + 1))
    messages.push_back(Message::parse(unread.substr(0, end)));
  return messages;
}

std::string encoded(const Message& message) {
  return message.dump(-1, ' ', false, Message::error_handler_t::replace) + "\n";
}

class WorkerProcess {
 public:
  WorkerProcess(const BatchWork& work, int socket) : work_(work), socket_(socket) {}

  void run() {
    trace::take();  // of the process that this one was forked from
    const auto start = [this](const char* name, void (WorkerProcess::*all)()) {
      std::thread([this, name, all] {
        trace::name_thread(name);
        (this->*all)();
      }).detach();
    };
    start("reading", &WorkerProcess::read_all);
    start("computing", &WorkerProcess::compute_all);
    start("writing", &WorkerProcess::write_all);
    std::string unread;
    char block[4096];
    while (true) {
      const auto n = ::recv(socket_, block, sizeof block, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(0);  // nothing left to do
      unread.append(block, static_cast<std::size_t>(n));
      for (auto& command : take_messages(unread)) commands_.push(std::move(command));
    }
  }

 private:
  void tell(const Message& event) {
    const std::lock_guard lock(telling_);
    if (!send_all(socket_, encoded(event))) _exit(1);
  }

  void tell_end(std::size_t scan, Outcome::Status status, const std::string& line = {}) {
    Message ended{{"event", "ended"}, {"scan", scan}, {"status", status}, {"line", line}};
    if (trace::is_on()) ended["timeline"] = timeline_of(trace::take(), "worker");
    tell(ended);
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
    try {
      step();
    } catch (const std::bad_alloc&) {
      line = work_.scans[job.scan].path + ": out of memory";
    } catch (const std::exception& error) {
      line = in_words_of_options(error.what());
    }
    job.seconds += seconds_since(start);
    if (line.empty()) return true;
    fail(job, std::move(line));
    return false;
  }

  void fail(Job& job, std::string line) {
    const BatchScan& scan = work_.scans[job.scan];
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
    job.work.reset();
    if (scan.found && holds_only_images(scan.path))
      return tell_end(job.scan, Outcome::Status::images, scan.path + ": holds images, no scan");
    job.manifest.status = io::Manifest::Status::failed;
    job.manifest.error = line;
    job.manifest.ended_ns = io::now_ns();
    job.manifest.seconds = job.seconds;
    try {
      io::write_manifest(io::manifest_path(work_.directory, scan.name), job.manifest);
    } catch (const Error&) {
      // A full disk, most likely: the summary still tells the failure.
    }
    tell_end(job.scan, Outcome::Status::failed, line);
  }

  // --- Reading

  void read_all() {
    omp_set_num_threads(1);
    while (true) {
      const Message command = commands_.pop();
      const std::size_t scan = command.at("scan");
      if (command.at("command") == "examine")
        examine(scan);
      else if (command.at("command") == "forget")
        examined_.erase(scan);
      else
        read(scan, command.at("threads"));
    }
  }

  void examine(std::size_t index) {
    const BatchScan& scan = work_.scans[index];
    const BatchSettings& settings = work_.settings[work_.settings_of[index]];
    Job job;
    job.scan = index;
    job.manifest.scan = absolute_path(scan.path);
    job.manifest.settings = settings.recorded;
    job.manifest.program_version = program_version;
    job.manifest.examined_ns = io::now_ns();
    bool unchanged = false;
    std::uint64_t bytes = 0;
    if (!succeeds(job, [&] {
          io::Manifest& now = job.manifest;
          require_readable_kind(scan.path);
          now.input = io::stamps_of(scan.path);
          now.input_checksum = io::checksum_of(scan.path);
          const auto path = io::manifest_path(work_.directory, scan.name);
          auto before = io::read_manifest(path);
          unchanged = before && before->status == io::Manifest::Status::finished &&
                      before->settings == now.settings &&
                      (work_.accepts_version || before->program_version == now.program_version) &&
                      io::is_checksum_of(before->input_checksum, scan.path, now.input_checksum) &&
                      !io::missing_product(work_.directory, *before);
          if (unchanged) {  // other times of the same content
            before->scan = now.scan;
            before->input = now.input;
            before->examined_ns = now.examined_ns;
            io::write_manifest(path, *before);
            return;
          }
          auto& shared = settings_[work_.settings_of[index]];
          if (!shared) shared = std::make_shared<const JobSettings>(settings.arguments);
          job.work = std::make_unique<ScanJob>(scan.path, shared, work_.command_line, now.input_checksum);
          bytes = job.work->planned_bytes();
        }))
      return;
    if (unchanged) return tell_end(index, Outcome::Status::unchanged);
    examined_.emplace(index, std::move(job));
    tell({{"event", "planned"}, {"scan", index}, {"bytes", bytes}});
  }

  void read(std::size_t index, int threads) {
    auto node = examined_.extract(index);
    Job job = std::move(node.mapped());
    job.threads = threads;
    const bool loaded = succeeds(job, [&] {
      const auto reading = span("read", index);
      job.work->load();
    });
    if (loaded) loaded_.push(std::move(job));
  }

  // --- Computing

  void compute_all() {
    // Kept from scan to scan: what depends on the trajectory is used again.
    std::unique_ptr<JobEngine> engine;
    while (true) {
      Job job = loaded_.pop();
      const std::size_t index = job.scan;
      omp_set_num_threads(job.threads);
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
      const bool computed = succeeds(job, [&] {
        const auto computing = span("compute", index);
        if (!engine || engine->settings != job.work->settings) {
          engine.reset();
          engine = std::make_unique<JobEngine>(job.work->settings);
        }
        if (engine->device.device.is_cuda()) job.writing_threads = job.threads;
        job.work->compute(*engine, progress);
        if (io::stamps_of(work_.scans[index].path) != job.manifest.input)
          throw Error(work_.scans[index].path, "a scan that stays as it is",
                      "one that changed while it was read", "run again");
      });
      if (!computed) continue;
      tell({{"event", "computed"}, {"scan", index}});
      computed_.push(std::move(job));
    }
  }

  // --- Writing

  void write_all() {
    while (true) {
      Job job = computed_.pop();
      omp_set_num_threads(job.writing_threads);
      const BatchScan& scan = work_.scans[job.scan];
      if (!succeeds(job, [&] {
            const auto writing = span("write", job.scan);
            const auto prefix = (fs::path(work_.directory) / scan.name).string();
            job.work->write(prefix, job.manifest);
            const auto names = io::files_of_results(scan.name, job.work->settings->options.phase);
            job.manifest.products = io::products_of(work_.directory, names);
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
  const int socket_;
  std::mutex telling_;
  Queue<Message> commands_;
  std::map<std::size_t, std::shared_ptr<const JobSettings>> settings_;  // of the reading thread
  std::map<std::size_t, Job> examined_;                                 // of the reading thread
  Queue<Job> loaded_, computed_;
};

}  // namespace

Worker::Worker(const BatchWork& work) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("fhd batch", "another process", std::strerror(errno));
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw Error("fhd batch", "another process", std::strerror(error));
  }
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed parent leaves no child behind
    if (getppid() != parent) _exit(1);
    // The parent decides what happens on Ctrl-C, which the terminal sends to both.
    for (const int number : {SIGINT, SIGHUP}) std::signal(number, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    WorkerProcess(work, ends[1]).run();
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

Worker::~Worker() {
  ::close(socket_);
  if (!status_) ::kill(process_, SIGKILL);
  cause();
}

/// One that is dead tells it by `events`.
void Worker::send(const Message& command) { send_all(socket_, encoded(command)); }

void Worker::examine(std::size_t scan) { send({{"command", "examine"}, {"scan", scan}}); }

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

std::string Worker::cause() {
  if (!status_) {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
  }
  return WIFSIGNALED(*status_)
             ? fmt::format("ended by signal {} ({})", WTERMSIG(*status_), strsignal(WTERMSIG(*status_)))
             : fmt::format("exit status {}", WEXITSTATUS(*status_));
}

}  // namespace fhd::app
