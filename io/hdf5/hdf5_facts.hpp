#pragma once
// Tells kinds of HDF5 files apart by a few of their names and texts.
#include <optional>
#include <string>
#include <vector>

namespace fhd::io {

/// The attribute of the root that states which program made a file.
inline constexpr auto made_by_attribute = "made_by";

using Hdf5Facts = std::vector<std::optional<std::string>>;

/// Returns for each name, in order, nothing if the file has no such object or attribute; else "" for an object ("/image") and
/// the text of an attribute ("/report@input_path"). Returns nothing if `path` is no HDF5 file that can be read.
std::optional<Hdf5Facts> facts_of_hdf5(const std::string& path, const std::vector<std::string>& names);
std::optional<Hdf5Facts> facts_of_hdf5_here(const std::string& path, const std::vector<std::string>& names);

/// Returns the text of a dataset. Throws Error.
std::string text_in_hdf5(const std::string& path, const std::string& name);
std::string text_in_hdf5_here(const std::string& path, const std::string& name);

}  // namespace fhd::io
