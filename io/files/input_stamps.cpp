#include "io/files/input_stamps.hpp"

#include <sys/stat.h>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Returns what identifies the content of a regular file; empty for anything else.
std::vector<long long> stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return {static_cast<long long>(found.st_dev),
          static_cast<long long>(found.st_ino),
          static_cast<long long>(found.st_size),
          found.st_mtim.tv_sec,
          found.st_mtim.tv_nsec,
          found.st_ctim.tv_sec,
          found.st_ctim.tv_nsec};
}

}  // namespace

InputStamps::InputStamps(const std::vector<std::string>& paths) {
  for (const auto& path : paths)
    if (auto stamp = stamp_of(path); !stamp.empty()) stamps_.push_back({path, std::move(stamp)});
}

void InputStamps::require_unchanged() const {
  for (const auto& [path, values] : stamps_)
    if (stamp_of(path) != values)
      throw Error(path, "a file that stays as it is", "one that changed while it was read",
                  "run again when it is whole");
}

}  // namespace fhd::io
