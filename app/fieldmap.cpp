// fhd fieldmap: off-resonance from the echoes of a scan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/corrected_scan.hpp"
#include "app/options.hpp"
#include "io/result/atomic_file.hpp"
#include "io/result/field_map_file.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"
#include "recon/field_map/field_map.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::app {
namespace {

struct FieldMapCommand {
  std::vector<std::string> scans;
  std::string output;
  std::optional<std::string> echo_times;
  double smoothing = 2;
  bool force = false;
  io::ReadOptions read_options;
  ReconOptions recon_options;
  DeviceOption device_option;

  int run();
  void check_output() const;
};

/// Which volumes of which file are echoes of one another.
struct Echo {
  io::ScanFile* file;
  std::int64_t repetition;
  double time_s;
};

void FieldMapCommand::check_output() const {
  namespace fs = std::filesystem;
  std::error_code status;
  for (const auto& scan : scans)
    if (fs::equivalent(output, scan, status))
      throw Error(output, "another file than the input", "the input", "choose another name with --output");
  if (fs::is_directory(output, status)) throw Error(output, "the name of a file", "a directory");
  if (!force && fs::exists(output, status))
    throw Error(output, "a new file", "an existing one", "replace it with --force");
  const io::AtomicFile can_be_made(output);  // before the work, which takes a while
}

/// Contrasts of the first repetition, phase and set; where a file does not count, each volume is one.
std::vector<std::int64_t> echoes_of(const io::ScanSummary& summary) {
  std::vector<std::int64_t> echoes;
  const auto& counters = summary.repetition_counters;
  for (std::int64_t i = 0; i < summary.repetition_count; ++i) {
    const auto& own = counters.empty() ? io::RepetitionCounters{} : counters[static_cast<std::size_t>(i)];
    if (counters.empty() || (own.repetition == counters[0].repetition && own.phase == counters[0].phase &&
                             own.set == counters[0].set))
      echoes.push_back(i);
  }
  return echoes;
}

/// What the header states of one of its volumes.
std::optional<double> stated_time(const io::ScanSummary& summary, std::int64_t repetition) {
  const auto& counters = summary.repetition_counters;
  const auto contrast = static_cast<std::size_t>(
      counters.empty() ? 0 : counters[static_cast<std::size_t>(repetition)].contrast);
  if (contrast < summary.echo_times_s.size()) return summary.echo_times_s[contrast];
  return {};
}

std::vector<Echo> find_echoes(const std::vector<std::unique_ptr<io::ScanFile>>& files,
                              const std::optional<std::vector<double>>& given) {
  std::vector<Echo> echoes;
  for (const auto& file : files)
    for (const auto repetition : echoes_of(file->summary())) echoes.push_back({file.get(), repetition, 0});
  const auto& first = files.front()->summary();
  if (echoes.size() < 2)
    throw Error(first.path, "two or more echoes: contrasts of one scan, or a scan each", "one",
                "give the scan of another echo, too");
  if (given && given->size() != echoes.size())
    throw Error("--echo-times", fmt::format("{} times, one for each echo", echoes.size()),
                std::to_string(given->size()));
  for (std::size_t e = 0; e < echoes.size(); ++e) {
    const auto& summary = echoes[e].file->summary();
    const auto time = given ? (*given)[e] : stated_time(summary, echoes[e].repetition);
    if (!time)
      throw Error(summary.path, fmt::format("an echo time (TE) of each of the {} echoes", echoes.size()),
                  "none", "give them with --echo-times MS,MS...");
    echoes[e].time_s = *time;
    if (summary.geometry.matrix_size != first.geometry.matrix_size ||
        summary.slice_count != first.slice_count || summary.coil_count != first.coil_count)
      throw Error(summary.path, "the matrix, slices and coils of " + first.path, "others");
  }
  std::stable_sort(echoes.begin(), echoes.end(),
                   [](const Echo& a, const Echo& b) { return a.time_s < b.time_s; });
  for (std::size_t e = 1; e < echoes.size(); ++e)
    if (!(echoes[e].time_s - echoes[e - 1].time_s > 1e-6))
      throw Error(echoes[e].file->summary().path, "echoes at different times",
                  fmt::format("two at {:g} ms", echoes[e].time_s * 1e3),
                  "give the true ones with --echo-times MS,MS...");
  return echoes;
}

/// Images of a slice of every echo, with the maps of the first: their phases differ by the field alone.
std::vector<Image> images_of(const std::vector<Echo>& echoes, std::int64_t slice,
                             Reconstructor& reconstructor) {
  std::vector<Scan> scans;
  for (const auto& echo : echoes) {
    Scan& scan = scans.emplace_back(echo.file->read(slice, echo.repetition));
    scan.field_map.reset();
    scan.field_map_in_double = {};
    scan.cropped_matrix_size = {};  // a field map is on the voxels that are reconstructed
    const auto &k = scan.trajectory.k, &of_first = scans.front().trajectory.k;
    if (k.shape() != of_first.shape() || !std::equal(k.begin(), k.end(), of_first.begin()))
      throw Error(echo.file->summary().path, "echoes at the same k-space positions", "others",
                  "only echoes whose readouts are alike can be compared");
  }
  const auto preparation = reconstructor.prepare_series(scans.front());
  const auto at_once =
      static_cast<std::size_t>(std::max<std::int64_t>(1, reconstructor.volumes_at_once(*preparation)));
  std::vector<Image> images;
  for (std::size_t first = 0; first < scans.size(); first += at_once) {
    std::vector<const Scan*> volumes;
    for (std::size_t e = first; e < std::min(first + at_once, scans.size()); ++e)
      volumes.push_back(&scans[e]);
    for (auto& result : reconstructor.reconstruct_series(preparation, volumes))
      images.push_back(std::move(result.image));
  }
  return images;
}

int FieldMapCommand::run() {
  const Settings settings = of_options([&] { return recon_options.settings(); });
  const auto correction = of_options([&] { return recon_options.trajectory_correction(); });
  const auto given =
      of_options([&] { return echo_times ? std::optional(parse_echo_times(*echo_times)) : std::nullopt; });
  if (!output.ends_with(".h5")) output += ".h5";
  check_output();
  read_options.precision = settings.precision;
  std::vector<std::unique_ptr<io::ScanFile>> files;
  for (const auto& scan : scans) {
    files.push_back(with_trajectory_correction(io::open_scan(scan, read_options), correction));
    print_scan(files.back()->summary());
  }
  const auto echoes = find_echoes(files, given);
  Execution execution;
  const ChosenDevice device = device_option.choose();
  execution.device = device.device;
  fmt::print("device    {}\n", device.text);
  if (!takes_series(settings, execution, echoes.front().file->read(0, echoes.front().repetition)))
    throw Error(
        "echoes",
        "images that keep their phase: --method cg with maps or one coil, without --lambda auto, wavelet, tv "
        "or tgv",
        "other settings");
  std::vector<double> times;
  double shortest = INFINITY;
  for (const auto& echo : echoes) {
    if (!times.empty()) shortest = std::min(shortest, echo.time_s - times.back());
    times.push_back(echo.time_s);
  }
  Reconstructor reconstructor(settings, execution, {recon_options.trajectory_cache()});
  std::vector<Array<float>> maps;
  std::vector<Geometry> geometries;
  double lowest = INFINITY, highest = -INFINITY;
  for (std::int64_t slice = 0; slice < files.front()->summary().slice_count; ++slice) {
    const auto images = images_of(echoes, slice, reconstructor);
    std::vector<const Array<Complex<float>>*> values;
    for (const auto& image : images) values.push_back(&image.values);
    maps.push_back(field_map_of_echoes(values, times, smoothing));
    geometries.push_back(images.front().geometry);
    const auto [least, most] = std::minmax_element(maps.back().begin(), maps.back().end());
    lowest = std::min<double>(lowest, *least), highest = std::max<double>(highest, *most);
  }
  std::vector<const Array<float>*> slices;
  for (const auto& map : maps) slices.push_back(&map);
  std::vector<io::AtomicFile> written;
  io::write_field_map(written, output, slices, geometries);
  io::commit_all(written);
  const double hz = 1 / (2 * std::numbers::pi);
  for (double& time : times) time *= 1e3;
  fmt::print("echoes    {} at {:g} ms; without wraps between voxels +-{:.3g} Hz\n", times.size(),
             fmt::join(times, ", "), 0.5 / shortest);
  fmt::print("field     {:.3g} ... {:.3g} Hz\n", lowest * hz, highest * hz);
  fmt::print("wrote     {0}; use it with 'fhd recon SCAN --field-map {0}'\n", output);
  return 0;
}

}  // namespace

Run add_fieldmap(CLI::App& app) {
  const auto command = std::make_shared<FieldMapCommand>();
  app.add_option("SCAN", command->scans,
                 "a scan with several echoes (ISMRMRD: contrasts), or scans of one each")
      ->required();
  app.add_option("-o,--output", command->output, "the field map, HDF5 with /field_map in rad/s")->required();
  app.add_option("--echo-times", command->echo_times,
                 "of the echoes in their order, in ms from the excitation [as the header says]")
      ->type_name("MS,MS...");
  app.add_option("--smoothing", command->smoothing,
                 "length in voxels below which the map is smooth, 0 ... 100")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_flag("--force", command->force, "overwrite what is there under this name");
  command->device_option.add_to(app);
  command->recon_options.add_to(app);
  add_read_options(app, command->read_options);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
