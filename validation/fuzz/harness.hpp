#pragma once
// Functions that the fuzz targets share. A target may refuse its input by an fhd::Error; whatever else ends it is a finding: another
// exception, a sanitizer's report, more memory or time than libFuzzer is told to allow (validation/fuzz/run).
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::fuzz {

using Bytes = std::span<const std::uint8_t>;

inline std::string text_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

/// Returns whether `action` came to its end; an fhd::Error is the other permitted answer.
template <class Action>
bool succeeds(const Action& action) {
  try {
    action();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Makes a finding if a promise does not hold.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// An empty folder, in memory where the machine has room for files there, that is removed with all in it when the program
/// ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  void write(std::string_view name, Bytes bytes) const;
  void clear() const;

 private:
  std::string path_;
};

/// A file of an input, in memory where the machine has room for files there.
class InputFile {
 public:
  explicit InputFile(Bytes bytes);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// An input that is several files: of each its number in the target's list (1 byte), its length (3 bytes, little-endian),
/// its bytes. A length beyond the end means the rest.
struct Part {
  std::size_t number;
  Bytes bytes;
};
std::vector<Part> parts_of(Bytes input, std::size_t names);

/// Opens the scan and reads its first and last volume, where they are claimed to be small, with two sets of options.
void read_scan(const std::string& path);

}  // namespace fhd::fuzz
