#pragma once
// Checks the names of files that a command is about to write.
#include <string>
#include <vector>

#include "io/scan/scan_file.hpp"

namespace fhd::app {

/// Returns the beginning of the names of results that `output`, the value of -o, asks for: the ending of one of their files
/// is no part of it. Throws UsageError where it is no name: nothing, or a folder.
std::string prefix_of(const std::string& output);
/// Returns the HDF5 file that `output`, the value of -o, asks for: .h5 is added where it has no ending of HDF5. Throws
/// UsageError where it is no name, or ends as a file of another format.
std::string hdf5_file_of(const std::string& output);
/// Makes a folder and those that it lies in. Throws Error naming the option.
void make_folder(const std::string& option, const std::string& folder);
/// Returns every file of these scans or images, and of the pieces that come from files of their own.
std::vector<std::string> inputs_of(const std::vector<std::string>& paths, const io::ReadOptions& options);
/// Throws Error where `output` is one of `inputs`.
void require_no_input(const std::string& output, const std::vector<std::string>& inputs);
/// Throws Error where `output` is one of `inputs`, a directory, or without `force` a file that is there, or where its folder
/// cannot be written.
void require_new_file(const std::string& output, const std::vector<std::string>& inputs, bool force);

}  // namespace fhd::app
