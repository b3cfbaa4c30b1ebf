#pragma once
// Notices files that change while they are read, of which only a mixture could be made.
#include <string>
#include <vector>

namespace fhd::io {

/// Holds what the file system states of files. Setting back the time of the last change (touch) changes another time.
class InputStamps {
 public:
  InputStamps() = default;
  /// Notes the regular files of `paths` as they are now. Called before they are opened.
  explicit InputStamps(const std::vector<std::string>& paths);
  /// Throws Error naming a file that has changed.
  void require_unchanged() const;

 private:
  struct Stamp {
    std::string path;
    std::vector<long long> values;
  };
  std::vector<Stamp> stamps_;
};

/// Returns read(). Throws Error if one of the files has changed by then, also if read() failed for that reason.
template <class Read>
auto read_unchanged(const InputStamps& files, const Read& read) {
  try {
    auto result = read();
    files.require_unchanged();
    return result;
  } catch (...) {
    files.require_unchanged();
    throw;
  }
}

}  // namespace fhd::io
