#pragma once
// Whether files stay as they are while they are read: what comes of one that changes meanwhile is a mixture.
#include <string>
#include <vector>

namespace fhd::io {

/// What the file system says of files. Who sets back a time of change (touch) changes another one, which nobody sets.
class InputStamps {
 public:
  InputStamps() = default;
  /// Of those that are regular files, as they are now. Before they are opened.
  explicit InputStamps(const std::vector<std::string>& paths);
  /// Throws Error naming a file that is not what it was.
  void require_unchanged() const;

 private:
  struct Stamp {
    std::string path;
    std::vector<long long> values;
  };
  std::vector<Stamp> stamps_;
};

/// What read() gives. Throws Error where one of the files has changed by then: also where it is what read() failed at.
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
