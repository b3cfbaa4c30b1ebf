#pragma once
// Which scans a batch is made of, and what their results are called.
#include <functional>
#include <string>
#include <vector>

#include "recon/error.hpp"

namespace fhd::app {

struct BatchScan {
  std::string path;  ///< as given or found
  std::string name;  ///< results are DIR/name.*
  /// Found in a folder or by a pattern: files of images are passed over there, not failures.
  bool found = false;
};

/// A scan that cannot be opened, by which --name cannot be told.
struct CannotOpen : Error {
  explicit CannotOpen(const Error& error) : Error(error) {}
};

struct BatchList {
  std::vector<BatchScan> scans;
  std::vector<std::string> notes;  ///< what was decided, one sentence each
};

/// Scans of the arguments, in their order: a scan; a pattern with * ? [ ]; a folder, whose scans are taken
/// (not those in folders inside it, except IMPATIENT directories); @FILE, a text file with one of these per
/// line. Scans given twice are taken once. Names are those of the scans without their ending; where two would
/// be the same, or where `directory` holds results of another scan under that name, a checksum of the path is
/// added, so that the name of a scan depends neither on the order nor on when it was added.
/// Throws Error for a list that cannot be read, and when results would overwrite a scan.
BatchList list_scans(const std::vector<std::string>& arguments, const std::string& directory);
/// The same with names that `name_of` a scan's path gives (--name). A scan that it cannot be asked of, because the scan
/// cannot be opened, is named as above. Throws Error where two scans would share a name, where one is in use in
/// `directory` for something else, and what `name_of` throws otherwise.
using NameOfScan = std::function<std::string(const std::string& path)>;
BatchList list_scans(const std::vector<std::string>& arguments, const std::string& directory,
                     const NameOfScan& name_of);

/// "a/b.h5" -> "b"
std::string plain_name(const std::string& scan);
/// The path from the root, without . and .. and links of its folder.
std::string absolute_path(const std::string& scan);

}  // namespace fhd::app
