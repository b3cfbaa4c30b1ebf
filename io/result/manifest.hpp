#pragma once
// The manifest of a scan that was reconstructed as one of many: from which input, with which settings, by
// which version, into which files. It is written after the results; with it a later run knows what is left
// to do.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/scan/checksum.hpp"
#include "recon/domain/message.hpp"

namespace fhd::io {

/// A file as the file system describes it, without reading it.
struct FileStamp {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970, UTC

  bool operator==(const FileStamp&) const = default;
};

/// Returns the stamps of files_of_scan, by name. Throws Error when there is none.
std::vector<FileStamp> stamps_of(const std::string& scan);

/// A file that was made; its name as it is called from the folder of the batch.
struct Product : FileStamp {
  std::string checksum;
};

struct Manifest {
  enum class Status { finished, failed };
  Status status = Status::failed;
  std::string error;  ///< one line; empty when finished

  std::string scan;  ///< absolute path
  std::vector<FileStamp> input;
  std::string input_checksum;
  std::int64_t examined_ns = 0;                 ///< when the input was read, ns since 1970
  std::map<std::string, std::string> settings;  ///< options that change the result, as given
  std::string version;                          ///< of the program
  std::vector<Product> products;

  std::int64_t ended_ns = 0;  ///< ns since 1970
  double seconds = 0;         ///< reading, computing and writing
  std::int64_t images = 0, iterations = 0, cache_hits = 0;
  double residual = 0, data_residual = 0;  ///< largest of all images
  bool converged = true;
  std::vector<Message> messages;  ///< that cast doubt on an image
};

/// DIRECTORY/NAME.manifest.json
std::string manifest_path(const std::string& directory, const std::string& name);
/// Returns nothing when there is none, or when it is not a manifest that this version understands.
std::optional<Manifest> read_manifest(const std::string& path);
/// Replaces the manifest as a whole, and does not flush it: after a loss of power it may be the old one, or none that can be
/// read, and its scan is done again. Throws Error.
void write_manifest(const std::string& path, const Manifest& manifest);

/// Returns the files `paths`, which lie in `directory`, as they are now; of a folder those in it. Throws Error when one is
/// absent.
std::vector<Product> products_of(const std::string& directory, const std::vector<std::string>& paths);
/// Returns a product that is not in `directory` as it was made, by size and time, else by checksum; nothing if all are. Once
/// it is abandoned no more is read, and what would have been counts as changed.
std::optional<std::string> missing_product(
    const std::string& directory, const Manifest& manifest,
    const IsAbandoned& is_abandoned = [] { return false; });
/// Returns whether the input is certainly what it was, by size and time. A file that changed within two seconds of
/// being read is not trusted: some file systems keep times no finer than that.
bool same_stamps(const Manifest& manifest, const std::vector<FileStamp>& input);

std::int64_t now_ns();  ///< since 1970, UTC

}  // namespace fhd::io
