#pragma once
// Tells kinds of HDF5 files apart by a few of their names and texts.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fhd::io {

struct Hdf5Question {
  std::vector<std::string> objects{};                             ///< "/image", ...
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< of text: {"/report", "input_path"}, ...
};

/// The answers, in the order of the question.
struct Hdf5Facts {
  std::vector<int> has{};                           ///< 0 or 1
  std::vector<std::optional<std::string>> texts{};  ///< empty where there is none
};

/// Returns the answers; empty if `path` is no HDF5 file that can be read.
std::optional<Hdf5Facts> facts_of_hdf5(const std::string& path, const Hdf5Question& question);
std::optional<Hdf5Facts> facts_of_hdf5_here(const std::string& path, const Hdf5Question& question);

/// Returns the text of a dataset. Throws Error.
std::string text_in_hdf5(const std::string& path, const std::string& name);
std::string text_in_hdf5_here(const std::string& path, const std::string& name);

}  // namespace fhd::io
