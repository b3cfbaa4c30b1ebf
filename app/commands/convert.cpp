// fhd convert: writes a scan in another format.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string input, output, format;
  bool force = false;
  RunOptions run;
};

/// Returns the files that a conversion would replace.
std::vector<std::string> outputs_of(const std::string& output, io::ScanFormat format) {
  if (format != io::ScanFormat::bart) return {output};
  std::vector<std::string> paths;
  for (const char* ending : {".cfl", ".hdr", "_traj.cfl", "_traj.hdr", "_sens.cfl", "_sens.hdr"})
    paths.emplace_back(io::bart_name(output) + ending);
  return paths;
}

int convert(const ConvertOptions& options) {
  const auto format = io::format_of_output(options.output, options.format);
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
  for (const auto& sentence : summary.missing) print_out("{}\n", sentence);
  for (const auto& [what, path] : summary.outside_pieces) print_out("{} from {}\n", what, path);
  for (const auto& sentence : lost) print_out("{}\n", sentence);
  print_out("{} ({}) -> {} ({})\n", options.input, summary.format, options.output, name_of(format));
  return 0;
}

}  // namespace

Run add_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  app.add_option("IN", options->input,
                 "scan: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directory, Siemens .dat")
      ->required();
  app.add_option("OUT", options->output,
                 "NAME.h5 (fhd), NAME.mrd (ISMRMRD), NAME.cfl (BART) or NAME/ (IMPATIENT)")
      ->required();
  add_choice(app, "--to", options->format, io::scan_format_names(), "format of OUT [from its name]");
  app.add_flag("--force", options->force, "replace OUT where it exists");
  app.add_flag("--anonymous", options->run.read_options.anonymous,
               "leave out what may identify a patient: names, IDs, dates, texts that people type, user "
               "parameters that are texts, waveforms; time stamps count from the first readout");
  options->run.read_options.zeros_are_measured = true;  // a copy holds what the original does
  add_options(app, options->run, in_info);
  return [options] { return convert(*options); };
}

}  // namespace fhd::app
