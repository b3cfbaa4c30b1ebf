#pragma once
// Prints what a run reports (app/run/recon_engine.hpp): for a person, or as JSON lines. Of many images a person reads a
// few in full, and of a long series their number and the worst figures.
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "app/run/recon_engine.hpp"
#include "app/terminal/console.hpp"
#include "recon/domain/report.hpp"

namespace fhd::app {

class RunPrinter {
 public:
  RunPrinter(bool quiet, bool verbose) : quiet_(quiet), verbose_(verbose), progress_(quiet) {}
  /// Returns functions that print. The printer outlives them.
  RunEvents events();
  /// Counts one of `total` images that an earlier run has left.
  void count_earlier(const Report& report, std::size_t total);
  /// Prints the summary of a long series.
  void print_summary();

 private:
  using Clock = std::chrono::steady_clock;
  void count(const Report& report);
  void print_image(std::size_t index, const Report& report, const ScanResults& results);
  void print_doubts(std::size_t number, const Report& report);
  bool prints_each() const { return total_ <= 20; }
  bool is_first() const { return done_ == earlier_ + 1; }
  bool is_new(const std::string& sentence) { return printed_.insert(sentence).second; }
  bool prints(const Message& doubt);
  std::string context() const;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  bool quiet_, verbose_;
  ProgressLine progress_;
  std::size_t total_ = 0, done_ = 0, earlier_ = 0, suspicious_ = 0, suspicions_printed_ = 0;
  std::size_t stopped_ = 0, failed_ = 0;
  double residual_ = 0, error_ = 0, unexplained_ = 0;  ///< the largest
  std::string worst_verdict_;
  std::set<std::string> printed_;
  /// Images of a long series with a warning of a code and a remedy.
  std::map<std::pair<std::string, std::string>, std::size_t> warnings_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace fhd::app
