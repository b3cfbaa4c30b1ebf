#pragma once
// Which scans of a batch this process has claimed, and what became of every one: by its own work, or by that
// of an earlier run or of another process on the same folder, as manifests tell.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/claims.hpp"
#include "app/batch/log.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "io/result/manifest.hpp"

namespace fhd::app {

class BatchLedger {
 public:
  BatchLedger(const BatchWork& work, BatchLog& log)
      : work_(work), log_(log), outcomes_(work.scans.size()), entries_(work.scans.size()) {}

  const std::vector<Outcome>& outcomes() const { return outcomes_; }

  enum class Turn { ours, of_another, over };
  /// Claims the scan, unless nothing is left to do or another process has it.
  Turn take(std::size_t scan);
  /// Its end, as the worker that had it told.
  void end(std::size_t scan, Outcome::Status status, const std::string& line = {});
  /// A failure that no worker could record.
  void fail(std::size_t scan, const std::string& line);
  /// Nothing more is done for a claimed scan; what is half done leaves no trace.
  void abandon(std::size_t scan);

 private:
  struct Entry {
    std::optional<Claim> claim;
    std::string reason;  ///< why it is done again
  };
  /// Takes the outcome from the manifest if nothing is left to do; else finds out why the scan is done again.
  bool adopt(std::size_t scan);
  /// Whether a manifest is of this scan with these settings and this program.
  bool is_same_work(const io::Manifest& manifest, std::size_t scan) const;

  const BatchWork& work_;
  BatchLog& log_;
  std::vector<Outcome> outcomes_;
  std::vector<Entry> entries_;
  const std::int64_t began_ns_ = io::now_ns();
};

}  // namespace fhd::app
