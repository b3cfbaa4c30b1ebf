// fhd convert: a scan file in another format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/checks.hpp"
#include "app/options/table.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, io::ScanFormat> formats{{"fhd", io::ScanFormat::fhd},
                                                    {"ismrmrd", io::ScanFormat::ismrmrd},
                                                    {"bart", io::ScanFormat::bart},
                                                    {"impatient", io::ScanFormat::impatient}};

struct ConvertOptions {
  std::string input, output, format;
  bool force = false;
  RunOptions run;
};

io::ScanFormat format_of_name(const std::string& output) {
  const auto extension = fs::path(output).extension().string();
  std::error_code status;
  if (output.ends_with('/') || fs::is_directory(output, status)) return io::ScanFormat::impatient;
  if (extension == ".h5") return io::ScanFormat::fhd;
  if (extension == ".mrd" || extension == ".ismrmrd") return io::ScanFormat::ismrmrd;
  if (extension == ".cfl" || extension == ".hdr") return io::ScanFormat::bart;
  throw Error(output, "a name that ends in .h5 (fhd), .mrd (ISMRMRD), .cfl (BART) or / (IMPATIENT)",
              extension.empty() ? "no ending" : "'" + extension + "'", "name the format with --to");
}

/// Returns the files that a conversion would replace.
std::vector<std::string> outputs_of(const std::string& output, io::ScanFormat format) {
  if (format != io::ScanFormat::bart) return {output};
  std::vector<std::string> paths;
  for (const char* ending : {".cfl", ".hdr", "_traj.cfl", "_traj.hdr", "_sens.cfl", "_sens.hdr"})
    paths.emplace_back(io::bart_name(output) + ending);
  return paths;
}

int convert(const ConvertOptions& options) {
  const auto format = options.format.empty() ? format_of_name(options.output) : formats.at(options.format);
  auto read_options = options.run.read_options;
  read_options.precision = Precision::double_precision;
  const auto file = io::open_scan(options.input, read_options);
  const auto inputs = inputs_of({options.input}, read_options);
  for (const auto& path : outputs_of(options.output, format)) {
    require_no_input(path, inputs);
    std::error_code status;
    const bool is_directory = fs::is_directory(path, status);
    if (is_directory && fs::is_empty(path, status)) continue;
    if (!options.force && fs::exists(path, status))
      throw Error(path, "a new file", "an existing one", "replace it with --force");
    if (is_directory)
      throw Error(path, "a new or empty directory", "a directory with files", "remove it first");
  }
  const auto lost = io::convert_scan(*file, options.input, read_options, options.output, format);
  const auto& summary = file->summary();
  for (const auto& sentence : summary.inferred) print_out("{}\n", sentence);
  for (const auto& [what, path] : summary.outside_pieces) print_out("{} from {}\n", what, path);
  for (const auto& sentence : lost) print_out("{}\n", sentence);
  std::string name;
  for (const auto& [key, value] : formats)
    if (value == format) name = key;
  print_out("{} ({}) -> {} ({})\n", options.input, summary.format, options.output, name);
  return 0;
}

}  // namespace

Run add_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  app.add_option("IN", options->input, "scan: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directory")
      ->required();
  app.add_option("OUT", options->output,
                 "NAME.h5 (fhd), NAME.mrd (ISMRMRD), NAME.cfl (BART) or NAME/ (IMPATIENT)")
      ->required();
  app.add_option("--to", options->format, "format of OUT: fhd, ismrmrd, bart or impatient [from its name]")
      ->check(one_of({"fhd", "ismrmrd", "bart", "impatient"}))
      ->type_name("FORMAT");
  app.add_flag("--force", options->force, "replace OUT where it exists");
  options->run.read_options.zeros_are_measured = true;  // a copy holds what the original does
  add_options(app, options->run, in_info);
  return [options] { return convert(*options); };
}

}  // namespace fhd::app
