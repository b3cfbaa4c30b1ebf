#pragma once
// Prints what a batch does while it runs: a live line on a terminal, lines elsewhere, and lines in DIR/batch.log.
#include <chrono>
#include <string>

#include "app/batch/summary.hpp"
#include "app/terminal/console.hpp"
#include "io/files/folder.hpp"

namespace fhd::app {

class BatchLog {
 public:
  /// Continues DIRECTORY/batch.log, whose lock keeps other batches out of the folder; parts of a batch (--only, --shard)
  /// share it. Throws Error: another batch works there, or the log is a link or a pipe.
  BatchLog(const std::string& directory, bool quiet, bool is_part, std::size_t scan_count);

  /// Writes to the log and, unless quiet, to standard output.
  void line(const std::string& text);
  /// Writes to the log and to standard error, also when quiet.
  void failure(const std::string& text);
  /// Writes a table to the log and, unless quiet, to standard output.
  void text(const std::string& lines);
  /// Reports how a scan ended.
  void ended(const Outcome& outcome, const BatchTotals& totals);

  void set_progress(const std::string& name, const Progress& progress);
  /// Shows the line anew.
  void show(const BatchTotals& totals);
  /// Returns whether the folder is locked; false on file systems without locks.
  bool has_locks() const { return has_locks_; }

 private:
  void write(const std::string& text, bool prints);
  using Clock = std::chrono::steady_clock;
  io::Descriptor file_;
  bool has_locks_, quiet_;
  std::string origin_, current_;
  std::size_t scan_count_;
  Clock::time_point start_ = Clock::now(), shown_{};
  StatusLine status_;
};

}  // namespace fhd::app
