#pragma once
// What an HDF5 file is, told by a few of its names and texts: for those who only want to know that.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fhd::io {

struct Hdf5Question {
  std::vector<std::string> objects{};                             ///< "/image", ...
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< of text: {"/report", "input_path"}, ...
};

/// In the order of the question.
struct Hdf5Facts {
  std::vector<int> has{};                           ///< 0 or 1
  std::vector<std::optional<std::string>> texts{};  ///< empty where there is none
};

/// Empty where `path` is no HDF5 file that can be read.
std::optional<Hdf5Facts> facts_of_hdf5(const std::string& path, const Hdf5Question& question);

/// The text of a dataset. Throws Error.
std::string text_in_hdf5(const std::string& path, const std::string& name);

}  // namespace fhd::io
