#pragma once
// Summarises a batch: a table for people, DIR/summary.csv and DIR/summary.json.
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "app/batch/scans.hpp"
#include "io/result/manifest.hpp"

namespace fhd::app {

struct Outcome {
  enum class Status {
    open,       ///< not reached: the batch was stopped
    finished,   ///< reconstructed now
    unchanged,  ///< reconstructed before; input, settings, version and results are what they were
    images,     ///< no scan but results or noise, found in a folder or by a pattern
    failed,
    earlier,        ///< finished by another run on the folder; not among the scans of this one
    failed_earlier  ///< failed in another run
  };
  BatchScan scan{};
  Status status = Status::open;
  std::string reason{};     ///< why it was done again, or kept; empty where that needs no reason
  std::string error{};      ///< of a failure, one line
  io::Manifest manifest{};  ///< where there are results
};

/// Returns whether the outcome has results.
bool has_results(const Outcome& outcome);
/// Returns "finished", "unchanged, suspicious", ...
std::string text(const Outcome& outcome);
/// Returns what the summary says of a scan: the columns that have a value, by name.
nlohmann::ordered_json row_of(const Outcome& outcome);

struct BatchTotals {
  std::array<int, 7> count{};  ///< by Outcome::Status
  int suspicious = 0;          ///< of those finished or unchanged
  int operator[](Outcome::Status status) const { return count[static_cast<std::size_t>(status)]; }
  /// Returns the finished and failed ones of other runs.
  int earlier() const { return (*this)[Outcome::Status::earlier] + (*this)[Outcome::Status::failed_earlier]; }
  /// Returns how many scans of this run have ended.
  int ended() const {
    return std::accumulate(count.begin(), count.end(), 0) - earlier() - (*this)[Outcome::Status::open];
  }
};
BatchTotals totals(const std::vector<Outcome>& outcomes);
/// Returns the totals by name, as the summary and its event have them.
nlohmann::ordered_json json_of(const BatchTotals& totals);

/// Adds what other runs have left in `directory`, as their manifests say, by name.
void add_earlier(const std::string& directory, std::vector<Outcome>& outcomes);

/// Returns a table of failures and totals; of all scans when there are few.
std::string summary_table(const std::vector<Outcome>& outcomes, double seconds);
/// Throws Error where one of both files is there and is not the summary of a batch.
void require_own_summaries(const std::string& directory);
/// Writes both files, together or not at all, and returns their names. Throws Error.
std::vector<std::string> write_summary(const std::string& directory, const std::vector<Outcome>& outcomes,
                                       double seconds);

}  // namespace fhd::app
