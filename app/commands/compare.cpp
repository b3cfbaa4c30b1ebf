// fhd compare: one scan reconstructed in several ways, and how far apart the results are.
#include "validation/compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/options/recipe.hpp"
#include "app/run/corrections.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/console.hpp"
#include "io/files/file_set.hpp"
#include "io/result/picture.hpp"
#include "io/result/report_json.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using validation::CaseResult;
using validation::Comparison;
using validation::Measurement;

struct CompareCommand {
  std::string scan, output;
  RunOptions options;

  int run();
  void write(const Comparison& comparison, const io::ScanSummary& summary, const ChosenDevice& device,
             const io::OutputLock& lock) const;
};

/// Returns "path/scan" for "path/scan.h5".
std::filesystem::path without_extension(const std::string& scan) {
  std::filesystem::path path(scan);
  if (!path.has_filename()) path = path.parent_path();
  return path.replace_extension();
}

/// Reads the true image of this slice and repetition; one of a slice serves all repetitions, one alone every scan.
Image read_truth(const std::string& path, std::int64_t slice, std::int64_t repetition) {
  auto series = io::read_image(path);
  if (series.images.size() == 1) return std::move(series.images.front());
  if (series.repetition_count == 1) repetition = 0;
  if (slice >= series.slice_count || repetition >= series.repetition_count)
    throw Error(path + ":/image", fmt::format("slice {} of repetition {}", slice, repetition),
                fmt::format("{} slices and {} repetitions", series.slice_count, series.repetition_count),
                "give the true image of this scan with --truth");
  return std::move(series.images[static_cast<std::size_t>(repetition * series.slice_count + slice)]);
}

void print_table(const Comparison& comparison, const char* quantity,
                 const Measurement CaseResult::*measurement, const std::string& errors_against) {
  double reference_seconds = 0;
  for (const auto& result : comparison.cases)
    if (result.way.name == comparison.reference) reference_seconds = (result.*measurement).seconds;
  print_out("\n{:<14}{:>13}{:>13}{:>10}{:>11}{:>10}{:>10}\n", quantity, "relative l2", "max. error", "SSIM",
            "NRMSE", "time/s", "speed-up");
  for (const auto& result : comparison.cases) {
    const Measurement& m = result.*measurement;
    print_out("{:<14}{:>13.2e}{:>13.2e}{:>10.4f}{:>9.3g} %{:>10.3f}{:>10.2f}\n", result.way.name,
              m.relative_l2, m.relative_maximum_error, m.ssim, 100 * m.nrmse, m.seconds,
              reference_seconds / m.seconds);
  }
  print_out("  relative l2 and maximum error against {}; SSIM and NRMSE (best complex scale) against {}\n",
            comparison.reference, errors_against);
}

/// Compares on the device, or where it fails and the user left the choice, on the CPU.
Comparison compared(const Scan& scan, const Settings& settings, const ChosenDevice& device,
                    const std::optional<Image>& true_image) {
  ProgressLine progress(false);
  const auto compare_on = [&](Device where) {
    auto comparison = validation::compare(scan, validation::comparison_cases(settings, where), true_image,
                                          progress.callback());
    progress.clear();
    return comparison;
  };
  try {
    return compare_on(device.device);
  } catch (const DeviceError& error) {
    if (!device.automatic) throw;
    progress.clear();
    print_fallback(error.what());
    return compare_on(Device::cpu());
  }
}

nlohmann::json json_of(const Measurement& m) {
  return {{"seconds", m.seconds},
          {"relative_l2", m.relative_l2},
          {"relative_maximum_error", m.relative_maximum_error},
          {"ssim", m.ssim},
          {"nrmse_best_scale", m.nrmse}};
}

nlohmann::json json_of(const Comparison& comparison) {
  nlohmann::json cases = nlohmann::json::array();
  for (const auto& result : comparison.cases) {
    nlohmann::json stages;
    for (const auto& stage : result.report.stages) stages[stage.name] = stage.seconds;
    cases.push_back({{"name", result.way.name},
                     {"settings", nlohmann::json(io::settings_json(result.report.settings))},
                     {"fhd", json_of(result.fhd)},
                     {"q", json_of(result.q)},
                     {"image", json_of(result.image)},
                     {"stages_seconds", stages},
                     {"relative_residuals", result.report.relative_residuals},
                     {"converged", result.report.converged},
                     {"data_residual", result.report.data_residual}});
  }
  return cases;
}

int CompareCommand::run() {
  const Settings settings = of_options([&] { return options.image_settings(); });
  output = output.empty() ? without_extension(scan).filename().string() + "_compare" : prefix_of(output);
  io::check_writable({output}, {scan});
  const io::OutputLock lock(output);

  options.read_options.precision = Precision::double_precision;
  const auto file = io::open_scan(scan, options.read_options);
  correct_readouts({file.get()}, options.correction);
  const auto& summary = file->summary();
  print_scan(summary);
  const auto [slice, repetition] = std::pair(options.slice, options.repetition);
  parse_selection(std::to_string(slice), summary.slice_count, "--slice");
  parse_selection(std::to_string(repetition), summary.repetition_count, "--repetition");
  std::string& truth = options.truth;
  if (truth.empty()) {
    const auto sibling = without_extension(scan).string() + ".truth.h5";
    std::error_code status;
    if (std::filesystem::exists(sibling, status)) truth = sibling;
  }
  std::optional<Image> true_image;
  if (!truth.empty()) true_image = read_truth(truth, slice, repetition);
  print_out("truth     {}\n", truth.empty() ? "unknown: images are compared with CPU.DP" : truth);

  const ChosenDevice device = options.device.choose();
  print_out("device    {}\n", device.text);
  const auto comparison = compared(file->read(slice, repetition), settings, device, true_image);
  print_table(comparison, "F^H d", &CaseResult::fhd, comparison.reference);
  print_table(comparison, "Q", &CaseResult::q, comparison.reference);
  print_table(comparison, "image", &CaseResult::image, true_image ? "the true image" : comparison.reference);
  write(comparison, summary, device, lock);
  print_out("\nwrote     {0}.png {0}.json\n", output);
  return 0;
}

void CompareCommand::write(const Comparison& comparison, const io::ScanSummary& summary,
                           const ChosenDevice& device, const io::OutputLock& lock) const {
  nlohmann::json environment;
  for (const auto& [name, value] : environment_of({device})) environment[name] = value;
  const nlohmann::json report{{"program_version", program_version},
                              {"command_line", command_line()},
                              {"scan", scan},
                              {"scan_checksum", io::checksum_of(scan)},
                              {"truth", options.truth},
                              {"slice", options.slice},
                              {"repetition", options.repetition},
                              {"environment", environment},
                              {"reference", comparison.reference},
                              {"matrix_size", comparison.matrix_size},
                              {"coil_count", summary.coil_count},
                              {"sample_count", summary.samples_per_scan},
                              {"cases", json_of(comparison)}};
  summary.stamps.require_unchanged();  // also since its checksum was made
  const std::string text = report.dump(2) + "\n";
  io::FileSet files(lock);
  for (const char* ending : {".png", ".json"}) files.add(output + ending);
  io::write_png(files[0].temporary(), picture_of(comparison, comparison.matrix_size[2] / 2), files[0].path());
  io::write_bytes(files[1].temporary(), text.data(), text.size(), files[1].path());
  files.commit();
}

}  // namespace

Run add_compare(CLI::App& app) {
  const auto command = std::make_shared<CompareCommand>();
  app.add_option("SCAN", command->scan,
                 "ISMRMRD or fhd HDF5 file, BART .cfl, IMPATIENT directory, or Siemens .dat")
      ->required();
  app.add_option("-o,--output", command->output, "prefix of the results: OUT.png OUT.json [SCAN_compare]");
  // All cases stop at the same iteration, so that what differs is the arithmetic.
  command->options.solver.tolerance = 0;
  add_options(app, command->options, in_compare);
  return with_recipe(app, command->options, in_compare, [command] { return command->run(); });
}

}  // namespace fhd::app
