#include "app/run/outputs.hpp"

#include <filesystem>

#include "app/commands/commands.hpp"
#include "io/files/atomic_file.hpp"
#include "io/result/result_request.hpp"
#include "recon/error.hpp"

namespace fhd::app {

namespace fs = std::filesystem;

std::string prefix_of(const std::string& output) {
  const auto name = fs::path(output).filename();
  if (name.empty() || name == "." || name == "..")
    throw UsageError(Error("-o " + output,
                           "a name, or the common beginning of several, such as results/brain",
                           output.empty() ? "nothing" : "a folder", "add a name"));
  return io::without_result_ending(output);
}

std::string hdf5_file_of(const std::string& output) {
  const auto prefix = prefix_of(output);
  if (output.ends_with(".h5") || output.ends_with(".hdf5")) return output;
  if (prefix != output)
    throw UsageError(Error("-o " + output, "the name of an HDF5 file",
                           "the ending " + fs::path(output).extension().string(), "end it in .h5"));
  return output + ".h5";
}

void make_folder(const std::string& option, const std::string& folder) {
  std::error_code status;
  fs::create_directories(folder, status);
  if (status)
    throw Error(option + " " + folder, "a folder, or a place where one can be made", status.message());
}

std::vector<std::string> inputs_of(const std::vector<std::string>& paths, const io::ReadOptions& options) {
  std::vector<std::string> inputs;
  for (const auto& path : paths)
    for (auto& file : io::inputs_of_scan(path, options)) inputs.push_back(std::move(file));
  return inputs;
}

void require_no_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code status;
  for (const auto& input : inputs)
    if (fs::equivalent(output, input, status))
      throw Error(output, "another file than the input", "the input, or a part of it", "choose another name");
}

void require_new_file(const std::string& output, const std::vector<std::string>& inputs, bool force) {
  require_no_input(output, inputs);
  std::error_code status;
  if (fs::is_directory(output, status))
    throw Error(output, "the name of a file", "a directory", "choose another name");
  if (!force && fs::exists(output, status))
    throw Error(output, "a new file", "an existing one", "replace it with --force");
  io::require_writable_folder(output);
}

}  // namespace fhd::app
