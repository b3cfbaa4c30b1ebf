#include "app/batch/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "app/terminal/event_lines.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// Returns "node7, job 4242": the machine, and the job of Slurm, PBS or LSF; without one the process.
std::string origin_of_lines() {
  char host[256] = "unknown host";
  static_cast<void>(gethostname(host, sizeof host - 1));
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (const char* job = std::getenv(variable); job != nullptr && *job != '\0')
      return fmt::format("{}, job {}", host, job);
  return fmt::format("{}, process {}", host, getpid());
}

/// Opens the log; returns none where it cannot be written, which is no reason to stop. Throws Error: another file would be
/// written to.
io::Descriptor opened_log(const std::string& path) {
  auto file = io::Folder::of(path)->open_file(io::file_name_of(path), O_RDWR | O_CREAT | O_APPEND, 0666);
  if (!file && (errno == EINVAL || errno == ELOOP || errno == ENXIO || errno == EISDIR))
    throw Error(path, "the log of a batch", "a link, or something else that is no file", "remove it");
  return file;
}

/// Returns false on file systems without locks. Waits a moment, in which the workers of a batch that was killed end.
/// Throws Error: another batch has the folder.
bool lock_folder(const io::Descriptor& log, const std::string& directory, bool is_part) {
  constexpr int most_attempts = 300;
  constexpr auto pause = std::chrono::milliseconds(10);
  const int operation = (is_part ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (int attempt = 0; ::flock(log.get(), operation) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    if (attempt == most_attempts)
      throw Error(directory, "a folder in which no other 'fhd batch' is at work", "one",
                  "wait for its end; only parts of a batch (--shard, --only) work there at the same time");
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

BatchLog::BatchLog(const std::string& directory, bool quiet, bool is_part, std::size_t scan_count)
    : file_(opened_log((std::filesystem::path(directory) / "batch.log").string())),
      has_locks_(lock_folder(file_, directory, is_part)),
      quiet_(quiet),
      origin_(io::shown(origin_of_lines())),
      scan_count_(scan_count),
      status_(quiet) {}

/// Writes a line to the log and, where `prints`, to standard output.
void BatchLog::write(const std::string& text, bool prints) {
  const auto shown = io::shown(text);
  const auto entry = fmt::format("{} [{}] {}\n", utc_now(), origin_, shown);
  // A log that cannot be written (a full disk) is no reason to stop.
  static_cast<void>(!::write(file_.get(), entry.data(), entry.size()));
  if (!prints || quiet_ || tells_events()) return;
  status_.clear();
  print_out("{}\n", shown);
}

void BatchLog::line(const std::string& text) {
  write(text, true);
  tell_event("note", {{"text", io::shown(text)}});
}

void BatchLog::failure(const std::string& text) {
  write(text, false);
  status_.clear();
  print_error(text);
}

void BatchLog::text(const std::string& lines) {
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) write(line, true);
}

void BatchLog::ended(const Outcome& outcome, const BatchTotals& totals) {
  auto fields = row_of(outcome);
  fields.update({{"number", totals.ended()}, {"of", scan_count_}});
  tell_event("scan", fields);
  std::string text =
      fmt::format("{} of {}  {}  {}", totals.ended(), scan_count_, outcome.scan.name, app::text(outcome));
  const auto& m = outcome.manifest;
  const bool is_new = outcome.status == Outcome::Status::finished;
  if (is_new)
    text += fmt::format("  {:.2f} s, {} iterations, residual {:.1e}", m.seconds, m.iterations, m.residual);
  if (!outcome.reason.empty()) text += "  (" + outcome.reason + ")";
  if (is_new)
    for (const auto& message : m.messages)
      text += fmt::format("  {}: {}", name_of(message.severity), line_of(message));
  if (!outcome.error.empty()) text += "  " + outcome.error;
  const bool failed = outcome.status == Outcome::Status::failed;
  write(text, !failed && !status_.visible());
  if (!failed) return;
  status_.clear();
  print_failure(text);
}

void BatchLog::set_progress(const std::string& name, const Progress& progress) {
  const auto& [stage, done, total, residual] = progress;
  auto fields = progress_fields(progress);
  fields["name"] = name;
  tell_event("progress", fields);
  current_ = name + ": " + stage;
  if (total > 1) current_ += fmt::format(" {}/{}", done, total);
  if (residual >= 0) current_ += fmt::format(", residual {:.1e}", residual);
  current_ = io::shown(current_);
}

void BatchLog::show(const BatchTotals& totals) {
  const auto now = Clock::now();
  if (!status_.visible() || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  std::string line = fmt::format("{} of {} scans", totals.ended(), scan_count_);
  if (const int failed = totals[Outcome::Status::failed]; failed > 0)
    line += fmt::format(", {} failed", failed);
  if (const int finished = totals[Outcome::Status::finished]; finished > 0) {
    const double rate = finished / std::chrono::duration<double>(now - start_).count();
    line += fmt::format(", {:.2f} scans/s, {} left", rate, clock_text(totals[Outcome::Status::open] / rate));
  }
  if (!current_.empty()) line += "  " + current_;
  status_.show(std::move(line));
}

}  // namespace fhd::app
