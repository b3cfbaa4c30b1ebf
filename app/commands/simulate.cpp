// fhd simulate: a scan of a phantom, and the images that it should show.
#include "data/simulate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/commands/commands.hpp"
#include "app/options/checks.hpp"
#include "app/options/values.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/console.hpp"
#include "io/files/file_set.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/hdf5/made_by.hpp"
#include "io/result/field_map_file.hpp"
#include "io/result/formats.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string output, phantom = "shepp-logan", trajectory, snr = "30";
  std::optional<std::string> matrix, fov_mm, delay, echo_times, girf;
  int dimensions = 0;  ///< 0: not given
  std::int64_t readouts = 0, readout_samples = 0, repetitions = 1, noise_samples = 0, dynamic = 0, bins = 0,
               slices = 0;
  double slice_spacing_mm = 0, breaths = 0, undersampling = 1, partial_fourier = 1, object_scale = 1,
         field_hz = 0;
  int coils = 8;
  std::uint64_t seed = 1;
  bool without_maps = false, prior = false, force = false;
};

const std::map<std::string, data::PhantomKind> phantoms{{"shepp-logan", data::PhantomKind::shepp_logan},
                                                        {"resolution", data::PhantomKind::resolution},
                                                        {"anatomy", data::PhantomKind::anatomy}};

template <class Kind>
std::vector<std::string> names_of(const std::map<std::string, Kind>& kinds) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds) names.push_back(name);
  return names;
}

const std::map<std::string, data::TrajectoryKind>& trajectories() {
  static const auto named = [] {
    std::map<std::string, data::TrajectoryKind> kinds;
    for (auto kind : data::trajectory_kinds) kinds.emplace(name_of(kind), kind);
    return kinds;
  }();
  return named;
}

std::optional<double> parse_snr(const std::string& text) {
  if (text == "none") return {};
  double snr = 0;
  if (!parse_number(text, snr)) throw Error("--snr", "a number > 0, or none", "'" + text + "'");
  return snr;
}

void require_consistent(const Options& options) {
  const auto contradict = [](const char* these, const char* leave_out) {
    throw Error(these, "", "these options contradict each other", std::string("leave out ") + leave_out);
  };
  if (options.noise_samples > 0 && options.snr == "none")
    contradict("--noise-readouts with --snr none", "--noise-readouts");
  if (options.bins > 0 && options.breaths == 0) throw Error("--bins", "--breaths beside it", "none");
  if (options.slice_spacing_mm > 0 && options.slices == 0)
    throw Error("--slice-spacing", "--slices beside it", "none");
  if (options.dynamic == 0 && options.breaths == 0) return;
  const std::string moving = options.dynamic > 0 ? "--dynamic" : "--breaths";
  const auto contradict_moving = [&](bool given, const char* flag) {
    if (given) contradict((moving + " with " + flag).c_str(), flag);
  };
  contradict_moving(options.slices > 0, "--slices");
  contradict_moving(options.repetitions > 1, "--repetitions");
  contradict_moving(options.prior, "--prior-image");
}

/// Prints the object, its coils and what happens to the scan.
data::SimulationSettings stated(const Options& options) {
  data::SimulationSettings settings;
  settings.phantom = phantoms.at(options.phantom);
  settings.object_scale = options.object_scale;
  settings.slice_count = options.slices;
  settings.slice_spacing_mm = options.slice_spacing_mm;
  settings.coil_count = options.coils;
  settings.snr = parse_snr(options.snr);
  settings.seed = options.seed;
  settings.with_maps = !options.without_maps;
  settings.repetition_count = options.repetitions;
  settings.field_hz = options.field_hz;
  if (options.echo_times) settings.echo_times_s = parse_echo_times(*options.echo_times);
  if (options.delay) settings.trajectory.delay_samples = parse_delays(*options.delay, "--delay");
  if (options.girf)
    settings.trajectory.response = std::make_shared<GradientResponse>(
        of_input([&] { return io::read_gradient_response(*options.girf); }));
  settings.noise_samples = options.noise_samples;
  settings.readouts_per_frame = options.dynamic;
  settings.breaths = options.breaths;
  if (options.bins > 0) settings.bins = options.bins;
  return settings;
}

/// Fills in what was not given. Throws Error when options contradict each other.
data::SimulationSettings resolved(const Options& options) {
  require_consistent(options);
  data::SimulationSettings settings = stated(options);
  auto& trajectory = settings.trajectory;
  int dimensions = options.dimensions;
  if (!options.trajectory.empty()) {
    trajectory.kind = trajectories().at(options.trajectory);
    if (const int needed = dimensions_of(trajectory.kind); needed != 0) {
      if (dimensions != 0 && dimensions != needed)
        throw Error("--trajectory " + options.trajectory, fmt::format("--dimensions {}", needed),
                    fmt::format("--dimensions {}", dimensions), "leave --dimensions out");
      dimensions = needed;
    }
  }
  if (options.matrix) {
    trajectory.matrix_size = parse_matrix_size(*options.matrix);
    const bool one_number = options.matrix->find_first_of(",x") == std::string::npos;
    if (dimensions == 0) dimensions = trajectory.matrix_size[2] > 1 ? 3 : 2;
    if (one_number && dimensions == 3) trajectory.matrix_size[2] = trajectory.matrix_size[0];
    if ((trajectory.matrix_size[2] > 1) != (dimensions == 3))
      throw Error(
          "--matrix",
          dimensions == 3 ? "2 or more voxels along z for a 3D scan" : "1 voxel along z for a 2D scan",
          *options.matrix, "change --matrix, --dimensions or --trajectory");
  } else if (dimensions == 3) {
    trajectory.matrix_size = {64, 64, 64};
  }
  const bool three = trajectory.matrix_size[2] > 1;
  if (three && options.slices > 0)
    throw Error("--slices", "a 2D scan", "a 3D one", "leave out --slices, or what makes the scan 3D");
  if (options.trajectory.empty() && three) trajectory.kind = data::TrajectoryKind::stack_of_stars;

  trajectory.fov_mm = {240, 240, three ? 240.0 : 5.0};
  if (options.fov_mm) {
    const auto fov_mm = parse_fov_mm(*options.fov_mm);
    const double slice_mm = trajectory.fov_mm[2];
    trajectory.fov_mm = fov_mm;
    if (fov_mm[2] == 0) trajectory.fov_mm[2] = three ? fov_mm[0] : slice_mm;
  }
  trajectory.readout_count = options.readouts;
  trajectory.readout_length = options.readout_samples;
  trajectory.undersampling = options.undersampling;
  trajectory.partial_fourier = options.partial_fourier;
  return settings;
}

void print_summary(const Options& options, const data::SimulationSettings& settings,
                   const data::Simulation& simulation) {
  const auto& geometry = simulation.scan.geometry;
  const auto row = [](const char* name, const std::string& value) { print_out("  {:<14}{}\n", name, value); };
  row("phantom",
      fmt::format(
          "{}, {}D{}", options.dynamic > 0 || options.breaths > 0 ? "moving chest" : options.phantom,
          geometry.matrix_size[2] > 1 || options.slices > 0 ? 3 : 2,
          options.object_scale == 1 ? "" : fmt::format(", {:g} times its size", options.object_scale)));
  if (options.slices > 0) {
    const auto heights_mm = slice_heights_mm(settings);
    row("slices", fmt::format("{}, sections through the 3D phantom from z = {:g} to {:g} mm, {:g} mm thick",
                              heights_mm.size(), heights_mm.front(), heights_mm.back(), geometry.fov_mm[2]));
  }
  row("matrix", fmt::format("{} voxels, FOV {} mm", fmt::join(geometry.matrix_size, " x "),
                            fmt::join(geometry.fov_mm, " x ")));
  row("trajectory",
      fmt::format("{}, {} readouts x {} samples, {:.3g} us apart", name_of(settings.trajectory.kind),
                  simulation.readout_count, simulation.readout_length, simulation.dwell_s * 1e6));
  if (options.dynamic > 0)
    row("dynamic", fmt::format("{} true frames of {} readouts, each readout at its own time",
                               simulation.readout_count / options.dynamic, options.dynamic));
  if (options.breaths > 0)
    row("breathing",
        fmt::format("{:g} breaths, true images of {} bins; {}.motion.txt: the depth of breath of each "
                    "readout, for 'fhd recon --gate'",
                    options.breaths, settings.bins, options.output));
  if (options.repetitions > 1)
    row("repetitions", fmt::format("{}, with noise of their own", options.repetitions));
  if (options.delay)
    row("delays", fmt::format("{} samples along x, y, z, of which the scan says nothing",
                              fmt::join(settings.trajectory.delay_samples, ", ")));
  if (options.girf)
    row("gradients",
        fmt::format("played with the response of {}, of which the scan says nothing", *options.girf));
  if (!settings.echo_times_s.empty())
    row("echoes", fmt::format("{}, contrasts at {} ms", settings.echo_times_s.size(), *options.echo_times));
  if (options.field_hz > 0)
    row("off-resonance", fmt::format("up to {:g} Hz: {}.field.h5", options.field_hz, options.output));
  row("undersampling", fmt::format("{:.3g}", simulation.undersampling));
  row("coils", fmt::format("{}, sensitivity maps {}", settings.coil_count,
                           options.without_maps ? "left out" : "stored"));
  row("noise", settings.snr ? fmt::format("SNR {:g}, standard deviation {:.3g} per sample, seed {}",
                                          *settings.snr, simulation.noise_standard_deviation, settings.seed)
                            : "none");
  row("scan", options.output + ".h5");
  if (options.prior) row("prior", options.output + ".prior.nii.gz");
  row("truth", fmt::format("{0}.truth.h5 (/image at the scan's resolution, /image_ideal), {0}.truth.png",
                           options.output));
}

/// Returns the anatomy of a volume or slice as another contrast shows it, at twice the matrix: brighter where the object
/// is darker, all edges in their places.
Image prior_of(const data::SimulationSettings& settings, const Geometry& geometry) {
  Image prior;
  prior.geometry = geometry;
  for (int& n : prior.geometry.matrix_size)
    if (n > 1) n *= 2;
  const bool is_section = settings.slice_count > 0;
  const int dimensions = is_section || geometry.matrix_size[2] > 1 ? 3 : 2;
  auto phantom = data::phantom_of(settings.phantom, dimensions).scaled(settings.object_scale);
  if (is_section) phantom = phantom.section(geometry.position_mm[2] / geometry.fov_mm[0]);
  const auto ideal = data::ideal_image(phantom, prior.geometry.matrix_size);
  prior.values = Array<Complex<float>>(ideal.shape());
  for (std::int64_t p = 0; p < ideal.size(); ++p)
    prior.values[p] = static_cast<float>(100 * std::sqrt(std::abs(ideal[p])));
  return prior;
}

constexpr auto maker = "fhd simulate";

/// Returns whether a file states that it was simulated.
bool is_simulated(const std::string& path) {
  const auto facts = io::facts_of_hdf5(path, {{}, {{"/", io::made_by_attribute}}});
  return facts && facts->texts[0] == maker;
}

/// Throws Error where the files cannot be written, or one is there that this command has not made. Pictures do not
/// say who made them: the scan beside them does.
void require_replaceable(const Options& options) {
  const auto& name = options.output;
  std::error_code status;
  require_name(name);
  std::vector<std::string> paths{name + ".h5", name + ".truth.h5", name + ".truth.png"};
  if (options.field_hz > 0) paths.push_back(name + ".field.h5");
  if (options.breaths > 0) paths.push_back(name + ".motion.txt");
  if (options.prior) paths.push_back(name + ".prior.nii.gz");
  for (const auto& path : paths) {
    if (options.girf) require_no_input(path, {*options.girf});
    io::require_writable_folder(path);
    if (fs::is_directory(path, status))
      throw Error(path, "the name of a file", "a directory", "choose another name");
    if (!options.force && fs::exists(path, status) &&
        !is_simulated(path.ends_with(".h5") ? path : name + ".h5"))
      throw Error(path, "a new name, or an earlier scan of fhd simulate", "a file that another has made",
                  "--force overwrites it, -o NAME writes beside it");
  }
}

/// Returns all slices and repetitions or echoes, moved out of `slices`.
io::ScanSeries series_of(std::vector<data::Simulation>& slices, const std::vector<double>& echo_times_s) {
  io::ScanSeries series;
  series.echo_times_s = echo_times_s;
  series.made_by = maker;
  series.readout_length = slices.front().readout_length;
  series.slice_count = static_cast<std::int64_t>(slices.size());
  const auto further = slices.front().further_repetitions.size();
  series.repetition_count = static_cast<std::int64_t>(further) + 1;
  for (auto& slice : slices) series.scans.push_back(std::move(slice.scan));
  for (std::size_t i = 0; i < further; ++i)
    for (std::size_t slice = 0; slice < slices.size(); ++slice) {
      Scan scan = series.scans[slice];
      scan.kspace.values = std::move(slices[slice].further_repetitions[i]);
      series.scans.push_back(std::move(scan));
    }
  const auto& shifts = slices.front().echo_shifts_s;
  for (std::size_t i = 0; i < shifts.size(); ++i)
    for (std::size_t slice = 0; slice < slices.size(); ++slice)
      for (double& t : *series.scans[i * slices.size() + slice].sample_time_s) t += shifts[i];
  return series;
}

/// Returns one image of every slice.
io::ImageSeries of_slices(std::vector<Image> images) {
  return {1, static_cast<std::int64_t>(images.size()), std::move(images)};
}

/// Throws Error when the repetitions and slices, in memory twice while they are written, would not fit into half of
/// what there is.
void require_memory(const Options& options, const data::SimulationSettings& settings) {
  const std::int64_t slices = std::max<std::int64_t>(options.slices, 1);
  if (options.repetitions * slices == 1) return;
  const auto design = data::design_trajectory(settings.trajectory);
  const auto& n = settings.trajectory.matrix_size;
  const double samples = static_cast<double>(design.trajectory.sample_count()), coils = settings.coil_count,
               voxels = 1.0 * n[0] * n[1] * n[2], map_voxels = settings.with_maps ? voxels : 0;
  // Keeps one of each slice: the ideal and the band-limited image, and the field map.
  const double truths = (16 + (options.field_hz > 0 ? 4 : 0)) * voxels;
  const double bytes =
      16 * coils * (samples + map_voxels) + 32 * samples + truths / static_cast<double>(options.repetitions);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const auto most = std::max<std::int64_t>(static_cast<std::int64_t>(memory / 2 / bytes), 1);
  if (options.repetitions * slices > most)
    throw Error(
        slices > 1 ? "--slices" : "--repetitions",
        fmt::format("at most {}, which fit into the memory of this machine",
                    slices > 1 ? fmt::format("{} slices and repetitions", most) : std::to_string(most)),
        std::to_string(options.repetitions * slices),
        settings.with_maps ? "simulate fewer, or leave the maps out with --no-maps" : "simulate fewer");
}

/// Writes a number on each line.
void write_depths(const std::string& temporary, const std::string& path, const std::vector<double>& depths) {
  std::ofstream file(temporary);
  for (const double depth : depths) file << fmt::format("{:.6f}\n", depth);
  file.close();
  if (!file) throw Error(path, "a file that can be written", "none");
}

/// Returns the true images, moved out of `slices`.
void write_truth(io::FileSet& files, const std::string& name, std::vector<data::Simulation>& slices) {
  std::vector<Image> ideal_images, band_limited_images;
  for (auto& slice : slices) {
    ideal_images.push_back(std::move(slice.ideal));
    band_limited_images.push_back(std::move(slice.band_limited));
  }
  auto& frames = slices.front().frames;  // of the one slice of an object that moves
  const auto frame_count = static_cast<std::int64_t>(frames.size());
  const auto ideal = of_slices(std::move(ideal_images)),
             band_limited = frame_count > 0 ? io::ImageSeries{frame_count, 1, std::move(frames)}
                                            : of_slices(std::move(band_limited_images));
  io::write_image_file(files, name + ".truth.h5", {{"/image", &band_limited}, {"/image_ideal", &ideal}},
                       maker);
  files.add(name + ".truth.png");
  io::write_png(files.back().temporary(), io::montage(band_limited.images), files.back().path());
}

int run(const Options& options) {
  const auto settings = of_options([&] { return resolved(options); });
  require_replaceable(options);
  const io::OutputLock lock(options.output);
  of_options([&] {
    if (options.prior)  // a plane for each slice
      io::require_room({options.output}, {{}, std::max<std::int64_t>(options.slices, 1)},
                       "--slices with --prior-image");
    require_memory(options, settings);
  });
  auto slices = of_options([&] { return data::simulate_slices(settings); });
  io::ScanSeries series = series_of(slices, settings.echo_times_s);
  std::vector<Geometry> geometries;
  for (std::size_t i = 0; i < slices.size(); ++i) geometries.push_back(series.scans[i].geometry);

  io::FileSet files(lock);
  io::write_scan(files, options.output + ".h5", io::ScanFormat::ismrmrd, series);
  write_truth(files, options.output, slices);
  if (options.field_hz > 0) {
    std::vector<const Array<float>*> maps;
    for (const auto& slice : slices) maps.push_back(&slice.field_map);
    io::write_field_map(files, options.output + ".field.h5", maps, geometries, maker);
  }
  if (options.prior) {
    const auto path = options.output + ".prior.nii.gz";
    std::vector<Image> images;
    for (const auto& geometry : geometries) images.push_back(prior_of(settings, geometry));
    files.add(path);
    io::write_nifti(files.back().temporary(), of_slices(std::move(images)), path);
  }
  if (options.breaths > 0) {
    const auto path = options.output + ".motion.txt";
    files.add(path);
    write_depths(files.back().temporary(), path, slices.front().depths);
  }
  files.commit();

  slices.front().scan = std::move(series.scans.front());
  print_summary(options, settings, slices.front());
  return 0;
}

/// Adds the options of slices through the object.
void add_slices(CLI::App& app, Options& options) {
  app.add_option(
         "--slices", options.slices,
         "2D slices through the 3D phantom and its coils, the middle one at z = 0, each with k-space and "
         "maps of its own, in one file [one slice of a 2D phantom]")
      ->type_name("N")
      ->check(whole_number(1, 65535));
  app.add_option("--slice-spacing", options.slice_spacing_mm,
                 "with --slices: mm from the middle of one to that of the next [their thickness, the Z of "
                 "--fov-mm: 5]; the phantom is as long as the field of view is wide")
      ->type_name("MM")
      ->check(number_between(0.01, 1000));
}

void add_object(CLI::App& app, Options& options) {
  app.add_option("--phantom", options.phantom, "the object [shepp-logan]")
      ->type_name("KIND")
      ->check(one_of(names_of(phantoms)));
  app.add_option("--dynamic", options.dynamic,
                 "a chest that beats, breathes and takes up contrast in the place of --phantom, each readout "
                 "at its own "
                 "time, with a true image for every N readouts (try --readouts 780 --dynamic 13)")
      ->type_name("N")
      ->check(whole_number(1))
      ->excludes("--phantom");
  app.add_option("--breaths", options.breaths,
                 "a chest that breathes so many times, no two alike, in the place of --phantom, each readout "
                 "at its own "
                 "time; NAME.motion.txt tells the depth of breath of each (try --readouts 800 --breaths 12)")
      ->type_name("N")
      ->check(number_between(1, 1000))
      ->excludes("--phantom", "--dynamic");
  app.add_option("--bins", options.bins,
                 "with --breaths: true images of so many bins of equally many readouts [4]")
      ->type_name("N")
      ->check(whole_number(1));
  add_slices(app, options);
  app.add_option("--object-scale", options.object_scale,
                 "size of the object, 0.1 ... 2; above 1.08 the head reaches beyond the field of view [1]")
      ->type_name("S");
}

}  // namespace

/// Adds the options for what the scan does not state about itself.
static void add_imperfections(CLI::App& app, Options& options) {
  app.add_option("--delay", options.delay,
                 "gradients play so many samples later than the scan says, along x, y and z [0]")
      ->type_name("X,Y[,Z]");
  app.add_option("--girf", options.girf,
                 "impulse responses with which gradients play what the scan says, as of 'fhd recon --girf'")
      ->type_name("FILE");
  app.add_option("--field-hz", options.field_hz,
                 "off-resonance, one smooth wave over the field of view, up to so many Hz; also writes "
                 "NAME.field.h5, the true map [0]")
      ->type_name("HZ");
  app.add_option("--echo-times", options.echo_times,
                 "echoes of one scan, contrasts in one file: times from the excitation to the centre of "
                 "k-space, in ms [one echo]")
      ->type_name("MS,MS...");
  app.add_option("--noise-readouts", options.noise_samples,
                 "also noise without signal in the scan file, N samples of every coil, by which 'fhd recon' "
                 "whitens [0]")
      ->type_name("N")
      ->check(whole_number(0, 1000000));
}

Run add_simulate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("-o,--output", options->output,
                 "writes NAME.h5 (scan, ISMRMRD), NAME.truth.h5 and NAME.truth.png (the true image)")
      ->type_name("NAME")
      ->required();
  add_object(app, *options);
  app.add_option("--dimensions", options->dimensions, "2 or 3 [as --matrix and --trajectory say, else 2]")
      ->type_name("N")
      ->check(CLI::IsMember({2, 3}));
  app.add_option("--matrix", options->matrix, "voxels: N, X,Y or X,Y,Z [128 in 2D, 64 in 3D]")
      ->type_name("X,Y,Z");
  app.add_option("--fov-mm", options->fov_mm,
                 "field of view in mm: F, X,Y or X,Y,Z [240; a 2D slice is 5 mm thick]")
      ->type_name("X,Y,Z");
  app.add_option("--trajectory", options->trajectory,
                 "how k-space is sampled [golden-radial; 3D: stack-of-stars]")
      ->type_name("KIND")
      ->check(one_of(names_of(trajectories())));
  app.add_option("--readouts,--spokes,--interleaves", options->readouts,
                 "readouts per k_z plane, in all for 3D radial [Nyquist's number over --undersampling; "
                 "spirals: an eighth of the "
                 "matrix]")
      ->type_name("N")
      ->check(whole_number(1));
  app.add_option("--readout-samples", options->readout_samples,
                 "samples per readout [twice the matrix; Cartesian: the matrix; spirals: as long as the "
                 "gradients need]")
      ->type_name("N")
      ->check(whole_number(1));
  app.add_option("--undersampling", options->undersampling,
                 "factor >= 1: distance of lines or spiral turns, or fewer radial readouts [1]")
      ->type_name("R");
  app.add_option(
         "--partial-fourier", options->partial_fourier,
         "Cartesian: the share of k-space along y that is kept, from one side on, above 0.5 and up to "
         "1, such as 0.625 [1]")
      ->type_name("SHARE");
  app.add_option("--coils", options->coils, "1 ... 32; one is uniform [8]")->type_name("N");
  app.add_option("--snr", options->snr,
                 "mean signal over noise in a full Cartesian scan's combined image, or none [30]")
      ->type_name("SNR");
  app.add_option("--seed", options->seed, "of the noise [1]")->type_name("N")->check(whole_number(0));
  app.add_option("--repetitions", options->repetitions,
                 "of the same object and trajectory, each with noise of its own, in one file [1]")
      ->type_name("N")
      ->check(whole_number(1, 65535));
  add_imperfections(app, *options);
  app.add_flag("--prior-image", options->prior,
               "also write NAME.prior.nii.gz: the same anatomy in another contrast, at twice the matrix, for "
               "'fhd recon --prior'");
  app.add_flag("--force", options->force,
               "overwrite files under these names that fhd simulate has not made, too");
  app.add_flag("--no-maps", options->without_maps, "leave the sensitivity maps out of the scan file");
  return [options] { return run(*options); };
}

}  // namespace fhd::app
