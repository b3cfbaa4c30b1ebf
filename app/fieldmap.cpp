// fhd fieldmap: off-resonance from the echoes of a scan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/console.hpp"
#include "app/corrected_scan.hpp"
#include "app/number_option.hpp"
#include "app/options.hpp"
#include "app/outputs.hpp"
#include "app/recon_engine.hpp"
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
};

/// Which volumes of which file are echoes of one another.
struct Echo {
  io::ScanFile* file;
  std::int64_t repetition;
  double time_s;
};

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
    if (const auto stated = stated_time(summary, echoes[e].repetition); stated && std::abs(*stated - *time) > 1e-6)
      fmt::print("note      {}: the header says TE {:g} ms, {:g} ms of --echo-times is used\n", summary.path,
                 *stated * 1e3, *time * 1e3);
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

/// Whether the corners of both matrices, of one size, lie within a tenth of a voxel of each other.
bool are_in_one_place(const Geometry& a, const Geometry& b) {
  const auto of_a = voxel_to_lps_mm(a), of_b = voxel_to_lps_mm(b);
  const auto length = [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); };
  double voxel = INFINITY;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxel = std::min(voxel, length(of_a[0][axis], of_a[1][axis], of_a[2][axis]));
  for (std::size_t axis = 0; axis < 4; ++axis) {  // the ends of the axes; last, where they begin
    const auto apart = [&](std::size_t row) {
      const double along = axis < 3 ? (of_a[row][axis] - of_b[row][axis]) * a.matrix_size[axis] : 0;
      return of_a[row][3] - of_b[row][3] + along;
    };
    if (!(length(apart(0), apart(1), apart(2)) <= 0.1 * voxel)) return false;
  }
  return true;
}

/// A slice of every echo, each at the same place of the patient and of k-space.
std::vector<Scan> read_echoes(const std::vector<Echo>& echoes, std::int64_t slice) {
  std::vector<Scan> scans;
  for (const auto& echo : echoes) {
    Scan& scan = scans.emplace_back(echo.file->read(slice, echo.repetition));
    scan.field_map.reset();
    scan.field_map_in_double = {};
    scan.cropped_matrix_size = {};  // a field map is on the voxels that are reconstructed
    const Scan& first = scans.front();
    const auto &k = scan.trajectory.k, &of_first = first.trajectory.k;
    if (k.shape() != of_first.shape() || !std::equal(k.begin(), k.end(), of_first.begin()))
      throw Error(echo.file->summary().path, "echoes at the same k-space positions", "others",
                  "only echoes whose readouts are alike can be compared");
    const auto is_the_same = [&](const Scan& other) {
      return std::equal(scan.kspace.values.begin(), scan.kspace.values.end(), other.kspace.values.begin());
    };
    if (std::any_of(scans.begin(), scans.end() - 1, is_the_same))
      throw Error(echo.file->summary().path, "echoes with values of their own", "the values of another echo",
                  "give each echo once");
    if (!are_in_one_place(first.geometry, scan.geometry))
      throw Error(fmt::format("{}, slice {}", echo.file->summary().path, slice),
                  "the FOV, position and directions of " + echoes.front().file->summary().path, "others",
                  "only echoes of the same voxels can be compared");
  }
  return scans;
}

/// Images of a slice of every echo, with the maps of the first: their phases differ by the field alone.
std::vector<Reconstruction> images_of(std::vector<Scan> scans, ReconEngine& engine) {
  const auto series = std::make_shared<SliceSeries>(scans.front());
  const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, engine.volumes_at_once(*series)));
  std::vector<Reconstruction> made;
  for (std::size_t first = 0; first < scans.size(); first += at_once) {
    std::vector<ReadVolume> volumes;
    for (std::size_t e = first; e < std::min(first + at_once, scans.size()); ++e)
      volumes.push_back({e, std::move(scans[e]), series, e == 0});
    for (auto& result : engine(volumes, {}, print_fallback)) made.push_back(std::move(result.reconstruction));
  }
  return made;
}

/// How the first echo was reconstructed, what did not converge, and what there is to doubt.
void print_slice(const std::vector<Reconstruction>& echoes, std::int64_t slice, std::set<std::string>& said) {
  for (const auto& note : echoes.front().report.notes)
    if (said.insert(note).second) fmt::print("note      {}\n", note);
  for (std::size_t e = 0; e < echoes.size(); ++e) {
    const Report& report = echoes[e].report;
    if ((slice == 0 && e == 0) || !report.converged)
      fmt::print("image     slice {}, echo {}: {}\n", slice, e, solution_line(report));
    for (const auto& suspicion : report.suspicions)
      if (said.insert(suspicion).second)
        print_error(fmt::format("warning: slice {}, echo {} is suspicious: {}", slice, e, suspicion));
    for (const auto& warning : report.warnings)
      if (said.insert(warning).second)
        print_error(fmt::format("warning: slice {}, echo {}: {}", slice, e, warning));
  }
}

/// Maps of all slices, rad/s.
struct FieldMaps {
  std::vector<Array<float>> maps;
  std::vector<Geometry> geometries;
};

/// Throws Error where images would not keep their phase.
void require_phase(const Settings& settings) {
  const auto* method = least_squares(settings);
  const auto refuse = [](const std::string& found) {
    throw UsageError(Error("echoes",
                           "images that keep their phase: --method cg, without --lambda auto, wavelet, tv or tgv",
                           found, "leave it out"));
  };
  if (!method) refuse(std::string("--method ") + name_of(settings.method));
  if (std::holds_alternative<FromNoise>(method->lambda)) refuse("--lambda auto");
  if (!method->sparse.empty()) refuse(std::string("--regularizer ") + name_of(method->sparse.front().kind));
}

FieldMaps maps_of(const std::vector<Echo>& echoes, const std::vector<double>& times, double smoothing,
                  const Settings& settings, ReconEngine& engine, bool delays_are_sought) {
  FieldMaps result;
  std::set<std::string> said;
  const std::int64_t slices = echoes.front().file->summary().slice_count;
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    auto scans = read_echoes(echoes, slice);
    if (!takes_series(settings, {}, scans.front()))
      throw Error("echoes", "sensitivity maps, or one coil",
                  fmt::format("{} coils without maps", scans.front().kspace.coil_count()),
                  "leave out --coils none");
    engine.check_delays({slice == slices / 2 ? 0 : scans.size(), delays_are_sought});
    const auto made = images_of(std::move(scans), engine);
    print_slice(made, slice, said);
    std::vector<const Array<Complex<float>>*> values;
    for (const auto& echo : made) values.push_back(&echo.image.values);
    result.maps.push_back(field_map_of_echoes(values, times, smoothing));
    result.geometries.push_back(made.front().image.geometry);
  }
  return result;
}

/// "; known but for ...", where the times leave a multiple of a frequency open.
std::string openness(const std::vector<double>& times, double shortest) {
  for (const double time : times) {
    const double steps = (time - times.front()) / shortest;
    if (std::abs(steps - std::round(steps)) > 0.02) return {};
  }
  return fmt::format("; known but for multiples of {:.3g} Hz, of which the median of the object is nearest 0 Hz",
                     1 / shortest);
}

/// The name of the map's file.
std::string checked_name(std::string output) {
  require_name(output);
  for (const char* ending : {".nii", ".nii.gz", ".png", ".json"})
    if (output.ends_with(ending))
      throw UsageError(Error("-o " + output, "the name of an HDF5 file", "the ending " + std::string(ending),
                             "end it in .h5"));
  return output.ends_with(".h5") ? output : output + ".h5";
}

int FieldMapCommand::run() {
  const Settings settings = of_options([&] { return recon_options.settings(); });
  require_phase(settings);
  const auto correction = of_options([&] { return recon_options.trajectory_correction(); });
  const auto given =
      of_options([&] { return echo_times ? std::optional(parse_echo_times(*echo_times)) : std::nullopt; });
  if (const auto& map = read_options.outside.field_map; !map.empty())
    throw UsageError(Error("--field-map", "none: the map is made from the echoes", map, "leave it out"));
  output = checked_name(output);
  require_new_file(output, inputs_of(scans, read_options), force);
  read_options.precision = settings.precision;
  std::vector<std::unique_ptr<io::ScanFile>> files;
  for (const auto& scan : scans) {
    files.push_back(io::open_scan(scan, read_options));
    print_scan(files.back()->summary());
  }
  files = with_trajectory_correction(std::move(files), correction);
  const auto echoes = find_echoes(files, given);
  const ChosenDevice device = device_option.choose();
  fmt::print("device    {}\n", device.text);
  std::vector<double> times;
  double shortest = INFINITY;
  for (const auto& echo : echoes) {
    if (!times.empty()) shortest = std::min(shortest, echo.time_s - times.back());
    times.push_back(echo.time_s);
  }
  ReconEngine engine(settings, {}, device, recon_options.trajectory_cache(), false, false);
  const CurrentDevice current(device.device);
  const auto [maps, geometries] = maps_of(echoes, times, smoothing, settings, engine,
                                          correction.kind == TrajectoryCorrection::Kind::automatic);
  std::vector<const Array<float>*> slices;
  double lowest = INFINITY, highest = -INFINITY;
  for (const auto& map : maps) {
    slices.push_back(&map);
    const auto [least, most] = std::minmax_element(map.begin(), map.end());
    lowest = std::min<double>(lowest, *least), highest = std::max<double>(highest, *most);
  }
  std::vector<io::AtomicFile> written;
  io::write_field_map(written, output, slices, geometries);
  io::commit_all(written);
  const double hz = 1 / (2 * std::numbers::pi);
  const auto open = openness(times, shortest);
  for (double& time : times) time *= 1e3;
  fmt::print("echoes    {} at {:g} ms; without wraps between voxels +-{:.3g} Hz{}\n", times.size(),
             fmt::join(times, ", "), 0.5 / shortest, open);
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
      ->check(number_between(0, 100))
      ->capture_default_str();
  app.add_flag("--force", command->force, "overwrite what is there under this name");
  command->device_option.add_to(app);
  command->recon_options.add_to(app);
  add_read_options(app, command->read_options);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
