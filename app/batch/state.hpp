#pragma once
// Decides what is left to do of a batch, and records how each scan ended, by the manifests in the folder.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "io/result/manifest.hpp"

namespace fhd::app {

/// Why a scan is to be done.
struct Missing {
  enum class Reason { no_manifest, failed, other_version, other_settings, results_changed, input_changed };
  Reason reason = Reason::no_manifest;
  std::string subject;  ///< the version, or the file that is missing or changed
};
/// Returns "failed", "input changed", ...: the reason as programs read it.
const char* code(Missing::Reason reason);
/// Returns the reason as people read it; empty where the scan is new.
std::string text(const Missing& missing);

/// Returns why scan number `scan` is to be done again although it has this manifest; empty where its results are as they
/// would be made now. `has_same_input` is asked last.
std::optional<Missing> missing_of(const BatchWork& work, std::size_t scan, const io::Manifest& manifest,
                                  const std::function<bool()>& has_same_input);
/// Returns the same of the manifest in the folder, by the content of the scan where times do not decide. Returns nothing
/// of files that were found beside scans and hold images.
std::optional<Missing> missing_in_folder(const BatchWork& work, std::size_t scan);

/// Removes what killed runs have left in the folder, and completes sets of results that they had committed. Files of
/// runs that are alive stay.
void remove_leftovers(const std::string& directory);

class BatchState {
 public:
  BatchState(const BatchWork& work, BatchLog& log)
      : work_(work), log_(log), outcomes_(work.scans.size()), reasons_(work.scans.size()) {}

  const std::vector<Outcome>& outcomes() const { return outcomes_; }

  /// Ends a scan whose results are there, and returns true; else notes why it is done.
  bool end_if_unchanged(std::size_t scan);
  /// Ends a scan whose manifest a worker has written that died before it reported, and returns true; else returns false.
  bool end_by_manifest(std::size_t scan);
  /// Records how a scan ended, as reported by its worker.
  void end(std::size_t scan, Outcome::Status status, const std::string& line = {});
  /// Records, in the manifest too, a failure that no worker reported.
  void fail(std::size_t scan, const std::string& line);

 private:
  const BatchWork& work_;
  BatchLog& log_;
  std::vector<Outcome> outcomes_;
  std::vector<std::string> reasons_;  ///< why each is done again
  const std::int64_t began_ns_ = io::now_ns();
};

}  // namespace fhd::app
