#pragma once
// Which scans of a batch this process has claimed, and what became of every one: by its own work, or by that
// of an earlier run or of another process on the same folder, as manifests tell. A claim is a lock that the
// kernel releases when its process dies; nothing has to be cleaned up after a crash for others to go on.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/summary.hpp"
#include "app/batch/work.hpp"
#include "io/files/folder.hpp"
#include "io/result/manifest.hpp"

namespace fhd::app {

/// The exclusive right to make DIRECTORY/NAME.*, while the object lives: the lock of an empty file in DIRECTORY/.claims.
class Claim {
 public:
  /// Empty when another process (or this one) holds it. Throws Error when locks cannot be had there.
  static std::optional<Claim> take(const std::string& directory, const std::string& name);
  /// The same, waiting for its turn.
  static Claim wait(const std::string& directory, const std::string& name);
  Claim(Claim&& other) noexcept = default;
  Claim& operator=(Claim&& other) = delete;
  Claim(const Claim&) = delete;
  ~Claim();
  /// Whether a process that died had it before: what it wrote may still be there.
  bool was_left() const { return was_left_; }

 private:
  Claim(std::shared_ptr<const io::Folder> folder, io::Descriptor file, std::string name, bool was_left)
      : folder_(std::move(folder)), file_(std::move(file)), name_(std::move(name)), was_left_(was_left) {}
  static std::optional<Claim> lock(const std::string& directory, const std::string& name, int operation);
  std::shared_ptr<const io::Folder> folder_;
  io::Descriptor file_;
  std::string name_;
  bool was_left_;
};

/// Removes the temporary files of results called `name` in `directory`. For the holder of its claim: whoever
/// wrote them is dead. Looks at every file of the directory.
void remove_temporaries(const std::string& directory, const std::string& name);
/// Removes the temporary files that nobody has a claim to, and the folder of claims when it is empty.
void remove_strays(const std::string& directory);

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
  /// Takes the outcome from the manifest if nothing is left to do; else finds out why the scan is done again.
  bool adopt(std::size_t scan);
  /// Nothing more is done for a claimed scan; what is half done leaves no trace.
  void abandon(std::size_t scan);

 private:
  struct Entry {
    std::optional<Claim> claim;
    std::string reason;  ///< why it is done again
  };
  /// Whether a manifest is of this scan with these settings and this program.
  bool is_same_work(const io::Manifest& manifest, std::size_t scan) const;

  const BatchWork& work_;
  BatchLog& log_;
  std::vector<Outcome> outcomes_;
  std::vector<Entry> entries_;
  const std::int64_t began_ns_ = io::now_ns();
};

}  // namespace fhd::app
