// fhd simulate: a scan of a phantom, and the images that it should show.
#include "data/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "app/batch/scans.hpp"
#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/run/outputs.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/files/file_set.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/result/formats.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/fields_file.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/trajectory/concomitant.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> phantom_names{"shepp-logan", "resolution", "anatomy",
                                             "sodium"};  // as data::PhantomKind

struct SimulateCommand {
  std::string output, phantom = phantom_names.front(), trajectory, matrix, girf, fields;
  double concomitant_t = 0;  ///< 0: none
  int dimensions = 0;        ///< 0: not given
  bool without_maps = false, prior = false, force = false;
  data::SimulationSettings settings;

  int run();
  void complete_settings();
  bool has_decay() const { return settings.decay_per_s > 0 || settings.two_components; }
  std::vector<std::string> paths() const;
  void require_replaceable() const;
  void require_memory() const;
  void write(io::ScanSeries& series, std::vector<data::Simulation>& slices, const io::OutputLock& lock) const;
  void print_summary(const data::Simulation& simulation) const;
};

/// Fills in what was not given: the dimensions follow from the trajectory or the matrix. Throws Error when options
/// contradict each other.
void SimulateCommand::complete_settings() {
  auto& design = settings.trajectory;
  settings.phantom = static_cast<data::PhantomKind>(place_of("--phantom", phantom, phantom_names));
  settings.with_maps = !without_maps;
  if (settings.noise_samples > 0 && !settings.snr)
    throw Error("--noise-readouts with --snr none", "", "these options contradict each other",
                "leave out --noise-readouts");
  if (!trajectory.empty()) {
    design.kind = *std::find_if(std::begin(data::trajectory_kinds), std::end(data::trajectory_kinds),
                                [&](data::TrajectoryKind kind) { return name_of(kind) == trajectory; });
    const int needed = dimensions_of(design.kind);
    if (needed != 0 && dimensions != 0 && dimensions != needed)
      throw Error("--trajectory " + trajectory, fmt::format("--dimensions {}", needed),
                  fmt::format("--dimensions {}", dimensions), "leave --dimensions out");
    if (needed != 0) dimensions = needed;
  }
  auto& n = design.matrix_size;
  if (!matrix.empty()) {
    n = parse_matrix_size(matrix);
    if (dimensions == 0) dimensions = n[2] > 1 ? 3 : 2;
    if (matrix.find_first_of(",x") == std::string::npos && dimensions == 3) n[2] = n[0];
    if ((n[2] > 1) != (dimensions == 3))
      throw Error(
          "--matrix",
          dimensions == 3 ? "2 or more voxels along z for a 3D scan" : "1 voxel along z for a 2D scan",
          matrix, "change --matrix, --dimensions or --trajectory");
  } else if (dimensions == 3) {
    n = {64, 64, 64};
  }
  if (trajectory.empty() && n[2] > 1) design.kind = data::TrajectoryKind::stack_of_stars;
  if (design.fov_mm[2] == 0) design.fov_mm[2] = n[2] > 1 ? design.fov_mm[0] : 5;
  if (!girf.empty())
    design.response =
        std::make_shared<GradientResponse>(of_input([&] { return io::read_gradient_response(girf); }));
  if (fields.empty() && concomitant_t == 0) return;
  settings.add_fields = [fields = fields, concomitant_t = concomitant_t](Scan& scan) {
    if (!fields.empty())
      io::put_fields(of_input([&] { return io::read_fields(fields, 0, 0, scan.kspace.sample_count()); }),
                     fields, scan);
    if (concomitant_t > 0)
      scan = with_maxwell_terms(scan, validation::readout_starts(scan.trajectory), concomitant_t);
  };
}

void SimulateCommand::print_summary(const data::Simulation& simulation) const {
  const auto& geometry = simulation.scan.geometry;
  const auto row = [](const char* name, const std::string& value) { print_out("  {:<14}{}\n", name, value); };
  row("matrix", fmt::format("{} voxels, FOV {} mm", fmt::join(geometry.matrix_size, " x "),
                            fmt::join(geometry.fov_mm, " x ")));
  row("trajectory",
      fmt::format("{}, {} readouts x {} samples, {:.3g} us apart", name_of(settings.trajectory.kind),
                  simulation.readout_count, simulation.readout_length, simulation.dwell_s * 1e6));
  row("undersampling",
      fmt::format("{:.3g} against Nyquist at the edge of k-space: fewer readouts, or wider lines and turns; "
                  "'fhd check' counts the cells of all k-space that have a sample",
                  simulation.undersampling));
  row("coils",
      fmt::format("{}, sensitivity maps {}", settings.coil_count, without_maps ? "left out" : "stored"));
  row("noise", settings.snr ? fmt::format("SNR {:g}, standard deviation {:.3g} per sample, seed {}",
                                          *settings.snr, simulation.noise_standard_deviation, settings.seed)
                            : "none");
  row("scan", output + ".h5");
  row("truth",
      fmt::format("{0}.truth.h5 (/image at the scan's resolution, /image_ideal), {0}.truth.png", output));
  if (settings.field_hz > 0) row("field map", output + ".field.h5");
  if (settings.breaths > 0) row("breathing", output + ".motion.txt: the depth of each readout, for --gate");
  if (prior) row("prior", output + ".prior.nii.gz");
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

/// Returns whether a file states that it was simulated.
bool is_simulated(const std::string& path) {
  const auto facts = io::facts_of_hdf5(path, {std::string("/@") + io::made_by_attribute});
  return facts && facts->front() == made_by_simulate;
}

std::vector<std::string> SimulateCommand::paths() const {
  std::vector<std::string> all{output + ".h5", output + ".truth.h5", output + ".truth.png"};
  if (settings.field_hz > 0) all.push_back(output + ".field.h5");
  if (has_decay()) all.push_back(output + ".r2star.h5");
  if (settings.breaths > 0) all.push_back(output + ".motion.txt");
  if (prior) all.push_back(output + ".prior.nii.gz");
  return all;
}

/// Throws Error where the files cannot be written, or one is there that this command has not made. Pictures do not
/// say who made them: the scan beside them does.
void SimulateCommand::require_replaceable() const {
  std::error_code status;
  for (const auto& path : paths()) {
    for (const auto& input : {girf, fields})
      if (!input.empty()) require_no_input(path, {input});
    io::require_writable_folder(path);
    if (fs::is_directory(path, status))
      throw Error(path, "the name of a file", "a directory", "choose another name");
    if (!force && fs::exists(path, status) && !is_simulated(path.ends_with(".h5") ? path : output + ".h5"))
      throw Error(path, "a new name, or an earlier scan of fhd simulate", "a file that another has made",
                  "--force overwrites it, -o NAME writes beside it");
  }
}

/// Returns all slices and repetitions or echoes, moved out of `slices`.
io::ScanSeries series_of(std::vector<data::Simulation>& slices, const std::vector<double>& echo_times_s) {
  io::ScanSeries series;
  series.echo_times_s = echo_times_s;
  series.made_by = made_by_simulate;
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
void SimulateCommand::require_memory() const {
  const std::int64_t slices = std::max<std::int64_t>(settings.slice_count, 1),
                     volumes = settings.repetition_count * slices;
  if (volumes == 1) return;
  const auto& n = settings.trajectory.matrix_size;
  const double samples = static_cast<double>(
                   data::design_trajectory(settings.trajectory).trajectory.sample_count()),
               voxels = 1.0 * n[0] * n[1] * n[2], map_voxels = settings.with_maps ? voxels : 0;
  // Keeps one of each slice: the ideal and the band-limited image, and the field map.
  const double truths = (16 + (settings.field_hz > 0 ? 4 : 0)) * voxels;
  const double bytes = 16 * settings.coil_count * (samples + map_voxels) + 32 * samples +
                       truths / static_cast<double>(settings.repetition_count);
  const double memory = static_cast<double>(machine_memory_bytes());
  const auto most = std::max<std::int64_t>(static_cast<std::int64_t>(memory / 2 / bytes), 1);
  if (volumes > most)
    throw Error(slices > 1 ? "--slices" : "--repetitions",
                fmt::format("at most {} in all, which fit into the memory of this machine", most),
                std::to_string(volumes), "simulate fewer, or leave the maps out with --no-maps");
}

/// Writes a number on each line.
void write_depths(const std::string& temporary, const std::string& path, const std::vector<double>& depths) {
  std::ofstream file(temporary);
  for (const double depth : depths) file << fmt::format("{:.6f}\n", depth);
  file.close();
  if (!file) throw Error(path, "a file that can be written", "none");
}

/// Writes the true images, moved out of `slices`.
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
                       made_by_simulate);
  files.add(name + ".truth.png");
  io::write_png(files.back().temporary(), io::montage(band_limited.images), files.back().path());
}

/// Writes the true maps of decay of all slices.
void write_decay(io::FileSet& files, const std::string& path, const std::vector<data::Simulation>& slices,
                 const std::vector<Geometry>& geometries) {
  files.add(path);
  auto file = io::hdf5::File::create(files.back().temporary(), path);
  const auto write = [&](const char* name, const auto& map_of) {
    const auto& map = map_of(slices.front());
    file.create<float>(name, {std::ssize(slices), map.extent(0), map.extent(1), map.extent(2)});
    for (std::int64_t slice = 0; slice < std::ssize(slices); ++slice)
      file.write_block(name, map_of(slices[static_cast<std::size_t>(slice)]), {slice});
  };
  write(
      "/r2star", [](const data::Simulation& slice) -> auto& { return slice.decay; });
  file.write_attribute("/r2star", "unit", "1/s");
  if (slices.front().second_decay) {
    write(
        "/r2star_second", [](const data::Simulation& slice) -> auto& { return slice.second_decay->per_s; });
    file.write_attribute("/r2star_second", "unit", "1/s");
    write(
        "/r2star_fraction",
        [](const data::Simulation& slice) -> auto& { return slice.second_decay->fraction; });
  }
  io::write_geometry(file, "/", geometries);
  file.write_attribute("/", io::made_by_attribute, made_by_simulate);
  file.close();
}

int SimulateCommand::run() {
  output = prefix_of(output);
  of_options([&] { complete_settings(); });
  require_replaceable();
  const io::OutputLock lock(output);
  of_options([&] {
    if (prior)  // a plane for each slice
      io::require_room({output}, {{}, std::max<std::int64_t>(settings.slice_count, 1)},
                       "--slices with --prior-image");
    require_memory();
  });
  auto slices = of_options([&] { return data::simulate_slices(settings); });
  io::ScanSeries series = series_of(slices, settings.echo_times_s);
  series.field_strength_t = concomitant_t;
  write(series, slices, lock);
  slices.front().scan = std::move(series.scans.front());
  print_summary(slices.front());
  return 0;
}

void SimulateCommand::write(io::ScanSeries& series, std::vector<data::Simulation>& slices,
                            const io::OutputLock& lock) const {
  std::vector<Geometry> geometries;
  for (std::size_t i = 0; i < slices.size(); ++i) geometries.push_back(series.scans[i].geometry);
  io::FileSet files(lock);
  io::write_scan(files, output + ".h5", io::ScanFormat::ismrmrd, series);
  write_truth(files, output, slices);
  if (settings.field_hz > 0) {
    std::vector<const Array<float>*> maps;
    for (const auto& slice : slices) maps.push_back(&slice.field_map);
    io::write_field_map(files, output + ".field.h5", maps, geometries, made_by_simulate);
  }
  if (has_decay()) write_decay(files, output + ".r2star.h5", slices, geometries);
  if (prior) {
    const auto path = output + ".prior.nii.gz";
    std::vector<Image> images;
    for (const auto& geometry : geometries) images.push_back(prior_of(settings, geometry));
    files.add(path);
    const auto of_prior = of_slices(std::move(images));
    io::write_nifti(files.back().temporary(), of_prior, io::stacks_of(of_prior).front(), path);
  }
  if (settings.breaths > 0) {
    const auto path = output + ".motion.txt";
    files.add(path);
    write_depths(files.back().temporary(), path, slices.front().depths);
  }
  files.commit();
}

/// Reads MAX or SHARE:FAST,SLOW. Throws Error.
void parse_decay(const std::string& text, data::SimulationSettings& settings) {
  const auto in_text = [&](std::string_view part, double most) {
    double value = 0;
    if (!parse_number(std::string(part), value) || !(value >= 0 && value <= most))
      throw Error("--r2star", "a rate of 0 ... 100000 1/s, or SHARE:FAST,SLOW, such as 0.6:400,50",
                  "'" + text + "'");
    return value;
  };
  constexpr double most = 1e5;
  const auto colon = text.find(':'), comma = text.find(',');
  if (colon == std::string::npos)
    settings.decay_per_s = in_text(text, most);
  else
    settings.two_components = data::TwoComponents{
        in_text(text.substr(0, colon), 1),
        in_text(text.substr(colon + 1, comma == std::string::npos ? comma : comma - colon - 1), most),
        in_text(comma == std::string::npos ? "" : text.substr(comma + 1), most)};
}

void add_object(CLI::App& app, SimulateCommand& command) {
  auto& settings = command.settings;
  add_choice(app, "--phantom", command.phantom, phantom_names, "the object");
  add_whole(app, "--dynamic", settings.readouts_per_frame,
            "a chest that beats, breathes and takes up contrast instead of --phantom, each readout at its "
            "own time, with a true image for every N readouts (try --readouts 780 --dynamic 13)",
            1)
      ->excludes("--phantom");
  add_number(app, "--breaths", settings.breaths,
             "a chest that breathes so many times, no two alike, instead of --phantom, each readout at its "
             "own time; NAME.motion.txt tells the depth of breath of each (try --readouts 800 --breaths 12)",
             1, 1000)
      ->excludes("--phantom", "--dynamic");
  add_whole(app, "--bins", settings.bins,
            "with --breaths: true images of so many bins of equally many readouts", 1)
      ->needs("--breaths");
  add_whole(app, "--slices", settings.slice_count,
            "2D slices through the 3D phantom and its coils, the middle one at z = 0, each with k-space and "
            "maps of its own, in one file [one slice of a 2D phantom]",
            1, 65535);
  add_number(app, "--slice-spacing", settings.slice_spacing_mm,
             "with --slices: mm from the middle of one to that of the next [their thickness, the Z of "
             "--fov-mm: 5]; the phantom is as long as the field of view is wide",
             0.01, 1000)
      ->needs("--slices");
  app.add_option("--object-scale", settings.object_scale,
                 "size of the object, 0.1 ... 2; above 1.08 the head reaches beyond the field of view [1]");
}

/// Adds the options for what the scan does not state about itself.
void add_imperfections(CLI::App& app, SimulateCommand& command) {
  auto& settings = command.settings;
  app.add_option_function<std::string>(
         "--delay",
         [&](const std::string& text) { settings.trajectory.delay_samples = parse_delays(text, "--delay"); },
         "gradients play so many samples later than the scan says, along x, y and z [0]")
      ->type_name("X,Y[,Z]");
  app.add_option("--girf", command.girf,
                 "impulse responses with which gradients play what the scan says, as of 'fhd recon --girf'")
      ->type_name("FILE");
  app.add_option("--field-hz", settings.field_hz,
                 "off-resonance, one smooth wave over the field of view, up to so many Hz; also writes "
                 "NAME.field.h5, the true map [0]");
  app.add_option("--fields", command.fields,
                 "measured fields that are not linear in space, as of 'fhd recon --fields'")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--concomitant",
         [&](const std::string& text) { command.concomitant_t = number_of("--concomitant", text, 1e-3, 99); },
         "concomitant (Maxwell) fields of the gradients at a field strength in T")
      ->type_name("T");
  app.add_option_function<std::string>(
         "--r2star", [&](const std::string& text) { parse_decay(text, settings); },
         "decay, 1/T2* in 1/s: of 0 to MAX, one smooth wave over the field of view; or of two components, "
         "such "
         "as 0.6:400,50 with --phantom sodium: in tissue the share 0.6 decays with 400 and the rest with 50, "
         "fluid with 50 alone; also writes NAME.r2star.h5, the true maps [0]")
      ->type_name("MAX|SHARE:R,R");
  app.add_option_function<std::string>(
         "--echo-times", [&](const std::string& text) { settings.echo_times_s = parse_echo_times(text); },
         "echoes of one scan, contrasts in one file: times from the excitation to the centre of k-space, in "
         "ms [one echo]")
      ->type_name("MS,MS...");
  add_whole(app, "--noise-readouts", settings.noise_samples,
            "also noise without signal in the scan file, N samples of every coil, by which 'fhd recon' "
            "whitens [0]",
            0, 1000000);
}

void add_trajectory(CLI::App& app, SimulateCommand& command) {
  auto& design = command.settings.trajectory;
  std::vector<std::string> names;
  for (const auto kind : data::trajectory_kinds) names.emplace_back(name_of(kind));
  app.add_option("--dimensions", command.dimensions, "2 or 3 [as --matrix and --trajectory say, else 2]")
      ->check(CLI::IsMember({2, 3}).description(""))
      ->type_name("{2,3}");
  app.add_option("--matrix", command.matrix, "voxels: N, X,Y or X,Y,Z [128 in 2D, 64 in 3D]")
      ->type_name("X,Y,Z");
  design.fov_mm[2] = 0;
  app.add_option_function<std::string>(
         "--fov-mm", [&](const std::string& text) { design.fov_mm = parse_fov_mm(text); },
         "field of view in mm: F, X,Y or X,Y,Z [240; a 2D slice is 5 mm thick]")
      ->type_name("X,Y,Z");
  add_choice(app, "--trajectory", command.trajectory, names,
             "how k-space is sampled [golden-radial; 3D: stack-of-stars]");
  add_whole(
      app, "--readouts,--spokes,--interleaves", design.readout_count,
      "readouts per k_z plane, in all for 3D radial [Nyquist's number over --undersampling; spirals: an "
      "eighth of the matrix]",
      1);
  add_whole(app, "--readout-samples", design.readout_length,
            "samples per readout [twice the matrix; Cartesian: the matrix; spirals: as long as the gradients "
            "need]",
            1);
  app.add_option("--undersampling", design.undersampling,
                 "factor >= 1: distance of lines or spiral turns, or fewer radial readouts [1]");
  app.add_option(
      "--partial-fourier", design.partial_fourier,
      "Cartesian: the share of k-space along y that is kept, from one side on, above 0.5 and up to "
      "1, such as 0.625 [1]");
}

}  // namespace

Run add_simulate(CLI::App& app) {
  const auto command = std::make_shared<SimulateCommand>();
  auto& settings = command->settings;
  app.add_option("-o,--output", command->output,
                 "writes NAME.h5 (scan, ISMRMRD), NAME.truth.h5 and NAME.truth.png (the true image); NAME.h5 "
                 "means the "
                 "same")
      ->type_name("NAME")
      ->required();
  add_object(app, *command);
  add_trajectory(app, *command);
  app.add_option("--coils", settings.coil_count, "1 ... 32; one is uniform [8]");
  app.add_option_function<std::string>(
         "--snr",
         [&settings](const std::string& text) {
           if (double snr = 0; text == "none")
             settings.snr.reset();
           else if (parse_number(text, snr))
             settings.snr = snr;
           else
             throw Error("--snr", "a number > 0, or none", "'" + text + "'");
         },
         "mean signal over noise in a full Cartesian scan's combined image, or none [30]")
      ->type_name("SNR|none");
  add_whole(app, "--seed", settings.seed, "of the noise", 0);
  add_whole(app, "--repetitions", settings.repetition_count,
            "of the same object and trajectory, each with noise of its own, in one file", 1, 65535)
      ->excludes("--dynamic", "--breaths");
  add_imperfections(app, *command);
  app.add_flag("--prior-image", command->prior,
               "also write NAME.prior.nii.gz: the same anatomy in another contrast, at twice the matrix, for "
               "'fhd recon --prior'")
      ->excludes("--dynamic", "--breaths");
  app.add_flag("--force", command->force,
               "overwrite files under these names that fhd simulate has not made, too");
  app.add_flag("--no-maps", command->without_maps, "leave the sensitivity maps out of the scan file");
  return [command] { return command->run(); };
}

}  // namespace fhd::app
