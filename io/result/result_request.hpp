#pragma once
// The files that a result is to have, and checks of their names before the work starts.
#include <map>
#include <string>
#include <vector>

#include "io/scan/checksum.hpp"

namespace fhd::io {

struct ResultFormat;
struct ResultLayout;

/// OUT.h5, OUT.nii.gz, OUT.png, OUT.json, and formats that are asked for by their names (io/result/formats.hpp).
struct ResultRequest {
  ResultRequest(std::string of_prefix, std::map<std::string, std::string> formats = {})
      : prefix(std::move(of_prefix)), paths(std::move(formats)) {}
  std::string prefix;
  std::map<std::string, std::string> paths;  ///< name of a format -> its path; empty: beside the others
  std::size_t stack_count = 1;  ///< of the slices; of several, each has its NIfTI file and picture

  bool asks_for(const std::string& format) const { return paths.contains(format); }
  void add(const std::string& format, const std::string& path = {}) { paths.try_emplace(format, path); }
  void add_noise_maps();
};

/// Returns the path of a format in the results; empty: it is not asked for. Of several stacks of slices, formats with a file
/// for each (OUT_1.nii.gz, OUT_2.nii.gz, ...) have those of `stack`, from 0 on.
std::string path_of(const ResultFormat& format, const ResultRequest& request, std::size_t stack = 0);
/// Returns how many files a format has in the results.
std::size_t file_count(const ResultFormat& format, const ResultRequest& request);
/// Returns where a folder is replaced: where a link leads. Throws Error for a link to nothing.
std::string place_of_folder(const std::string& path);
/// Returns the paths of all formats that are asked for. A folder ends in "/".
std::vector<std::string> files_of_results(const ResultRequest& request);
/// Returns "x" of "x.nii.gz": a user may name the result by one of its files.
std::string without_result_ending(std::string name);

/// Throws Error where the results cannot have their names: no name, something that is no file in the way, one of the files
/// `inputs`, or two results of one name.
void check_names(const ResultRequest& request, const std::vector<std::string>& inputs);
/// Throws Error also where a folder is not there, or cannot be written.
void check_writable(const ResultRequest& request, const std::vector<std::string>& inputs = {});
/// Throws Error, naming `subject`, where a format that is asked for cannot hold such results.
void require_room(const ResultRequest& request, const ResultLayout& layout, const std::string& subject);

/// The results that may be replaced, and the remedy where one may not.
struct Replacing {
  bool force = false;            ///< results of any scan; folders still hold nothing else
  bool earlier_content = false;  ///< results of the scan as it was, by its path
  const char* remedy = nullptr;  ///< null: that of `fhd recon`
};
/// Throws Error where a result may not be replaced. The rule: a file is ours if it states the checksum of this scan, or,
/// where files of its format state none, if another of the results does. Waits for the checksum only where a file is there.
void require_replaceable(const ResultRequest& request, const std::string& scan,
                         const ChecksumInBackground& checksum, const Replacing& replacing = {});

}  // namespace fhd::io
