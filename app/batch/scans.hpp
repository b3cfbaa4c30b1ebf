#pragma once
// Lists the scans of a batch and names their results.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "app/options/values.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

struct BatchScan {
  std::string path;  ///< as given or found
  std::string name;  ///< results are DIR/name.*
  bool found =
      false;  ///< in a folder or by a pattern: there files of images or noise are skipped, not failures
  std::string noise{};  ///< a file that serves it as --noise; empty: none
};

struct BatchList {
  std::vector<BatchScan> scans;
  std::vector<std::string> notes;  ///< what was decided
  std::set<std::string> names{};   ///< of all scans, also of those that a part of a batch leaves out
};

/// Returns what the results of a scan are called; empty where the scan cannot be opened for that. Throws Error where its
/// header does not tell what the name is made of.
using NameOfScan = std::function<std::string(const std::string& path)>;
/// Returns how --name names scans: `pattern` is a text with fields in braces, which scans.cpp lists. Throws Error for
/// an unknown field, and for what no file can be called.
NameOfScan names_by(const std::string& pattern, const VolumeSelection& selection,
                    const io::ReadOptions& options);

/// Finds the scans of the arguments, in their order, each once: a scan; a pattern with * ? [ ]; a folder, whose scans are
/// taken (of the folders inside it only IMPATIENT directories); @FILE, a text file with one of these per line. True images
/// and field maps of `fhd simulate` are left out, with one note, unless there is nothing else. The scans have no names yet.
/// Throws Error for a list that cannot be read.
BatchList find_scans(const std::vector<std::string>& arguments);
/// Does the same, and leaves out files that were found and hold images or noise alone: for commands that print what scans
/// hold.
BatchList find_readable_scans(const std::vector<std::string>& arguments);
/// Finds the scans, and names them by `name_of`, or as their files without the ending, with a checksum of the path where
/// another scan has the name. Throws Error for a list that cannot be read, where results would overwrite a scan, where
/// `name_of` gives two scans one name or one that is in use in `directory`, and what `name_of` throws otherwise.
BatchList list_scans(const std::vector<std::string>& arguments, const std::string& directory,
                     const NameOfScan& name_of = {});

/// Keeps the scans with these names (--only). Throws Error: there is no such scan.
void keep_named(std::vector<BatchScan>& scans, const std::vector<std::string>& names);
/// Keeps part K of N, which `shard` gives as "K/N" (--shard): every N-th by name. Throws Error.
void keep_shard(std::vector<BatchScan>& scans, const std::string& shard);

/// The maker that files of `fhd simulate` state.
inline constexpr auto made_by_simulate = "fhd simulate";
/// Returns whether a file holds images and no scan: results of fhd sometimes lie beside scans.
bool holds_only_images(const std::string& path);

/// Returns "b" for "a/b.h5".
std::string plain_name(const std::string& scan);
/// Returns the path from the root, without . and .. and links of its folder.
std::string absolute_path(const std::string& scan);

}  // namespace fhd::app
