// fhd fieldmap: makes a field map from the echoes of a scan.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/corrections.hpp"
#include "app/run/outputs.hpp"
#include "app/run/recon_engine.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "io/files/file_set.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct FieldMapCommand {
  std::vector<std::string> scans;
  std::string output;
  std::optional<std::string> echo_times;
  double smoothing = default_smoothing_voxels;
  bool force = false;
  RunOptions options;

  int run();
};

/// Prints how the first echo was reconstructed, what did not converge, and what is suspicious, each sentence once.
void print_echo(std::int64_t slice, std::size_t echo, const Report& report, std::set<std::string>& printed) {
  const auto is_new = [&](const std::string& sentence) { return printed.insert(sentence).second; };
  for (const auto& message : report.messages)
    if (message.severity == Severity::note && echo == 0 && is_new(message.text)) say("note", message.text);
  if ((slice == 0 && echo == 0) || !report.converged)
    print_out("image     slice {}, echo {}: {}\n", slice, echo, solution_line(report));
  for (const auto& message : report.messages)
    if (is_doubt(message) && is_new(message.text))
      print_error(
          fmt::format("{}: slice {}, echo {}: {}", name_of(message.severity), slice, echo, line_of(message)));
}

int FieldMapCommand::run() {
  const Settings settings = of_options([&] { return options.image_settings(); });
  require_phase(settings);
  const auto& correction = options.correction;
  auto& read_options = options.read_options;
  const auto given =
      of_options([&] { return echo_times ? std::optional(parse_echo_times(*echo_times)) : std::nullopt; });
  if (const auto& map = read_options.outside.field_map; !map.empty())
    throw UsageError(Error("--field-map", "none: the map is made from the echoes", map, "leave it out"));
  const bool is_nifti = output.ends_with(".nii.gz") && prefix_of(output) != output;
  if (!is_nifti) output = hdf5_file_of(output);
  auto inputs = inputs_of(scans, read_options);
  if (!correction.girf.empty()) inputs.push_back(correction.girf);
  require_new_file(output, inputs, force);
  const io::OutputLock lock(output);
  read_options.precision = settings.precision;
  std::vector<std::unique_ptr<io::ScanFile>> files;
  for (const auto& scan : scans) {
    files.push_back(io::open_scan(scan, read_options));
    print_scan(files.back()->summary());
  }
  std::vector<io::ScanFile*> opened;
  for (const auto& file : files) opened.push_back(file.get());
  correct_readouts(opened, correction);
  const RunEvents events{
      {}, print_fallback, [](const char* what, const std::string& text) { say(what, text); }};
  const auto echoes = find_echoes(opened, given, events);
  const ChosenDevice device = options.device.choose();
  print_out("device    {}\n", device.text);
  ReconEngine engine(settings, {}, device, options.trajectory_cache(), {});
  const CurrentDevice current(device.device);
  std::set<std::string> printed;
  const auto found = field_maps_of(echoes, smoothing, settings, engine,
                                   correction.delays == ReadoutCorrection::Delays::automatic, events,
                                   [&](std::int64_t slice, std::size_t echo, const Report& report) {
                                     print_echo(slice, echo, report, printed);
                                   });
  std::vector<const Array<float>*> slices(found.maps.size());
  auto geometries = found.geometries;
  for (std::size_t i = 0; i < slices.size(); ++i) {  // pieces of scans are in the order of counters
    const auto place = static_cast<std::size_t>(
        io::slice_by_counter(opened.front()->summary(), static_cast<std::int64_t>(i)));
    slices[place] = &found.maps[i], geometries[place] = found.geometries[i];
  }
  io::FileSet written(lock);
  io::write_field_map(written, output, slices, geometries);
  written.commit();
  print_out("field     {}\n", found.remark);
  print_out("wrote     {0}; use it with 'fhd recon SCAN --field-map {0}'\n", output);
  return 0;
}

}  // namespace

Run add_fieldmap(CLI::App& app) {
  const auto command = std::make_shared<FieldMapCommand>();
  app.add_option("SCAN", command->scans,
                 "a scan with several echoes (ISMRMRD: contrasts), or scans of one each")
      ->required();
  app.add_option("-o,--output", command->output,
                 "the field map in rad/s: HDF5 with /field_map, or NIfTI (.nii.gz)")
      ->required();
  app.add_option("--echo-times", command->echo_times,
                 "of the echoes in their order, in ms from the excitation [as the header says]")
      ->type_name("MS,MS...");
  add_number(app, "--smoothing", command->smoothing,
             "length in voxels below which the map is smooth, 0 ... 100", 0, 100);
  app.add_flag("--force", command->force, "overwrite what is there under this name");
  add_options(app, command->options, in_fieldmap);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
