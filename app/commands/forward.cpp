// fhd forward: computes the samples that an image should give, by exact sums, and writes them as a scan file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/run/corrections.hpp"
#include "app/run/outputs.hpp"
#include "app/run/recon_engine.hpp"
#include "app/terminal/console.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct ForwardCommand {
  std::string image, scan, output, dataset = "/image", precision = "double";
  bool no_maps = false, no_field_map = false, force = false;
  RunOptions options;

  int run();
  template <class T>
  void evaluate(const Image& of, Scan& volume, Device device) const;
};

/// Returns the image with zeros around, about its centre, floor(N/2): they replace what a reconstruction cropped (readout
/// oversampling).
template <class T>
Array<Complex<T>> padded(const Array<Complex<T>>& image, const Shape& to) {
  if (image.shape() == to) return image;
  Array<Complex<T>> result(to);
  std::array<std::int64_t, 3> first{};
  for (int axis = 0; axis < 3; ++axis) first[axis] = to[axis] / 2 - image.extent(axis) / 2;
  for (std::int64_t z = 0; z < image.extent(0); ++z)
    for (std::int64_t y = 0; y < image.extent(1); ++y)
      std::copy_n(image.data() + (z * image.extent(1) + y) * image.extent(2), image.extent(2),
                  result.data() + ((z + first[0]) * to[1] + y + first[1]) * to[2] + first[2]);
  return result;
}

void require_matrix(const Image& image, const Scan& scan, const std::string& subject) {
  const auto& found = image.geometry.matrix_size;
  auto cropped = scan.geometry.matrix_size;
  for (int axis = 0; axis < 3; ++axis)
    if (scan.cropped_matrix_size[axis] > 0) cropped[axis] = scan.cropped_matrix_size[axis];
  if (found == scan.geometry.matrix_size || found == cropped) return;
  throw Error(subject, "the matrix " + text(scan.geometry.matrix_size) + " of the scan", text(found),
              "give the matrix of the image with --matrix");
}

/// Prints that the image may be of another scan.
void note_geometry(const Image& image, const Scan& scan) {
  const auto &n = image.geometry.matrix_size, &of_scan = scan.geometry.matrix_size;
  for (int axis = 0; axis < 3; ++axis) {
    const double found = image.geometry.fov_mm[axis],
                 expected = scan.geometry.fov_mm[axis] * n[axis] / of_scan[axis];
    if (n[axis] > 1 && found > 0 && expected > 0 && !(std::abs(found - expected) <= 1e-3 * expected))
      print_out(
          "note      along {} the image has a FOV of {:g} mm and the scan one of {:g} mm: voxels are taken "
          "to be those of the scan\n",
          "xyz"[axis], found, expected);
  }
}

template <class T>
void ForwardCommand::evaluate(const Image& of, Scan& volume, Device device) const {
  auto samples = exact_samples<T>(padded(values_of<T>(of), volume.geometry.image_shape()), volume, device);
  volume.kspace = {};
  volume.kspace.values = converted<Complex<float>>(samples);
  if constexpr (std::is_same_v<T, double>) volume.kspace.in_double = std::move(samples);
}

int ForwardCommand::run() {
  output = hdf5_file_of(output);
  require_new_file(output, inputs_of({image, scan}, options.read_options), force);
  const io::OutputLock lock(output);
  const bool in_double = precision == "double";
  options.read_options.precision = in_double ? Precision::double_precision : Precision::single_precision;
  const auto file = io::open_scan(scan, options.read_options);
  if (options.correction.concomitant_t) add_maxwell_terms(*file, options.correction.concomitant_t);
  const auto& summary = file->summary();
  print_scan(summary);
  const auto slices = parse_selection(options.selection.slices, summary.slice_count, "--slices"),
             repetitions =
                 parse_selection(options.selection.repetitions, summary.repetition_count, "--repetitions");
  const auto images = io::read_image(image, dataset);
  io::ScanSeries series{static_cast<std::int64_t>(repetitions.size()),
                        static_cast<std::int64_t>(slices.size()),
                        summary.readout_length,
                        {},
                        summary.time_origin};
  if (images.repetition_count != series.repetition_count || images.slice_count != series.slice_count)
    throw Error(
        image + ":" + dataset,
        fmt::format("{} repetitions and {} slices as the scan", series.repetition_count, series.slice_count),
        fmt::format("{} and {}", images.repetition_count, images.slice_count),
        "choose those of the image with --slices and --repetitions");
  const ChosenDevice device = options.device.choose();
  print_out("device    {}\n", device.text);
  for (const auto repetition : repetitions)
    for (const auto slice : slices) {
      Scan volume = file->read(slice, repetition);
      const Image& of = images.images[series.scans.size()];
      require_matrix(of, volume, image + ":" + dataset);
      if (series.scans.empty()) note_geometry(of, volume);
      if (no_maps) volume.sensitivity_maps.reset();
      if (no_field_map) volume.field_map.reset();
      if (!volume.field_map) volume.field_map_in_double = {};
      volume.noise.reset();
      volume.calibration.reset();  // of the patient, not of the image
      in_double ? evaluate<double>(of, volume, device.device) : evaluate<float>(of, volume, device.device);
      series.scans.push_back(std::move(volume));
    }
  const Scan& first = series.scans.front();
  if (!first.sensitivity_maps && summary.coil_count > 1)
    print_out("note      without sensitivity maps there is one coil, of sensitivity 1\n");
  if (first.fields && !first.fields->displacement_mm.empty())
    print_out("note      the file does not hold how gradients displace voxels: give {} again\n",
              option_words("gradient-coefficients", "FILE"));
  if (first.field_map && !first.sample_time_s)
    print_out("note      the field map is not used: the scan does not say when its samples were taken\n");
  io::FileSet files(lock);
  io::write_scan(files, output, io::ScanFormat::fhd, series);
  files.commit();
  print_out("wrote     {}: {} coils, {} samples, {} precision\n", output, first.kspace.coil_count(),
            first.kspace.sample_count(), precision);
  return 0;
}

}  // namespace

Run add_forward(CLI::App& app) {
  const auto command = std::make_shared<ForwardCommand>();
  app.add_option("IMAGE", command->image,
                 "HDF5: a result of 'fhd recon', or any file with a complex dataset [z][y][x] or [y][x]")
      ->required();
  app.add_option("SCAN", command->scan, "whose trajectory, sensitivity maps, field map and times count")
      ->required();
  app.add_option("-o,--output", command->output, "the scan with these samples (fhd HDF5)")
      ->type_name("OUT.h5")
      ->required();
  app.add_option("--dataset", command->dataset, "of IMAGE")->capture_default_str();
  add_choice(app, "--precision", command->precision, {"single", "double"},
             "of the sums and of what is stored (double: complex128)");
  app.add_flag("--no-maps", command->no_maps, "one coil of sensitivity 1");
  app.add_flag("--no-field-map", command->no_field_map, "without off-resonance");
  app.add_flag("--force", command->force, "replace OUT where it exists");
  command->options.read_options.zeros_are_measured = true;  // F is evaluated at all positions
  add_options(app, command->options, in_forward);
  return [command] { return command->run(); };
}

}  // namespace fhd::app
