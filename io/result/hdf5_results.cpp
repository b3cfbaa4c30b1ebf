// OUT.h5: app/docs/results.md names its datasets and attributes. `/environment`, at its end, is the only one that
// differs between two runs of the same scan, settings and version.
//
// Values that are stored (ImageSeries::stored) pass through memory half a MiB at a time, or one image; a large file is on
// disk from its beginning (hdf5::File::create).
#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "io/files/json_text.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/result/formats.hpp"
#include "io/result/nifti.hpp"
#include "recon/domain/slice_stacks.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr auto input_checksum_attribute = "input_checksum";

bool is_in_double(const ImageSeries& series) {
  if (series.stored) return series.stored->in_double();
  return std::all_of(series.images.begin(), series.images.end(),
                     [](const Image& image) { return !image.in_double.empty(); });
}

/// Returns the size of the values in a file.
std::uint64_t bytes_of(const ImageSeries& series) {
  const auto voxels = static_cast<std::uint64_t>(series.images.front().geometry.image_shape().size());
  return series.images.size() * voxels *
         (is_in_double(series) ? sizeof(Complex<double>) : sizeof(Complex<float>));
}

/// Writes stored values, which lie in their file as in the dataset, so many repetitions at a time.
template <class T>
void write_repetitions(hdf5::File& file, const std::string& name, const ImageSeries& series,
                       std::int64_t at_once) {
  const auto shape = series.stored->shape();
  const auto slices = series.slice_count, repetitions = series.repetition_count;
  Array<Complex<T>> piece;
  for (std::int64_t first = 0; first < repetitions; first += at_once) {
    const Shape own{std::min(at_once, repetitions - first), slices, shape[0], shape[1], shape[2]};
    if (!(piece.shape() == own)) piece = Array<Complex<T>>(own);
    series.stored->read(static_cast<std::size_t>(first * slices), piece);
    file.write_rows(name, piece, first);
  }
}

void write_series(hdf5::File& file, const std::string& name, const ImageSeries& series) {
  require_series(series, file.subject(name));
  const auto& n = series.images.front().geometry.matrix_size;
  const auto write_values = [&]<class T>(Array<Complex<T>> Image::*values) {
    file.create<Complex<T>>(name, {series.repetition_count, series.slice_count, n[2], n[1], n[0]});
    constexpr std::int64_t piece_bytes = 1 << 19;
    const auto at_once = piece_bytes / (series.slice_count * series.images.front().geometry.voxel_count() *
                                        std::int64_t{sizeof(Complex<T>)});
    if (series.stored && at_once > 1) return write_repetitions<T>(file, name, series, at_once);
    for (std::int64_t i = 0; i < series.repetition_count * series.slice_count; ++i)
      file.write_block(name, (*series.image(static_cast<std::size_t>(i))).*values,
                       {i / series.slice_count, i % series.slice_count});
  };
  if (is_in_double(series))
    write_values(&Image::in_double);
  else
    write_values(&Image::values);
  file.write_attribute(name, "axes", "repetition, slice, z, y, x");
  file.write_attribute(name, "units", "signal of the scan file; lengths in mm, patient coordinates LPS");
  write_geometry(file, name, geometries_of_slices(series.images, series.slice_count));
}

void write_frames(hdf5::File& file, const std::string& name, const Provenance& provenance) {
  const auto& [readouts, numbers, gating] = *provenance.frames;
  const std::vector<int> first(numbers.begin(), numbers.end());
  file.write_attribute(name, "repetitions_are", gating.empty() ? "frames" : "bins");
  file.write_attribute(name, "first_readouts", first);
  file.write_attribute(name, "readouts_per_frame", std::vector<int>{static_cast<int>(readouts)});
  file.write_attribute(name, "frame_time_s", std::vector<double>{provenance.repetition_time_s});
}

void write_gating(hdf5::File& file, const std::vector<GatingCourse>& gating) {
  const auto write = [&](const char* name, std::vector<double> GatingCourse::*values) {
    std::vector<double> all;
    for (const auto& course : gating) all.insert(all.end(), (course.*values).begin(), (course.*values).end());
    const auto slices = static_cast<std::int64_t>(gating.size());
    file.write(name, all.data(), {slices, static_cast<std::int64_t>(all.size()) / slices});
    file.write_attribute(name, "source", gating.front().source);
  };
  file.create_group("/gating");
  write("/gating/signal", &GatingCourse::signal);
  write("/gating/bin", &GatingCourse::bins);
}

/// Writes a series with the numbers of its volumes in the scan.
void write_volumes(hdf5::File& file, const std::string& name, const ImageSeries& series,
                   const Provenance& provenance) {
  write_series(file, name, series);
  if (provenance.frames) write_frames(file, name, provenance);
  const auto write_numbers = [&](const char* attribute, std::int64_t (Provenance::*number)(std::size_t) const,
                                 std::int64_t count) {
    std::vector<int> numbers;
    for (std::int64_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<int>((provenance.*number)(static_cast<std::size_t>(i))));
    file.write_attribute(name, attribute, numbers);
  };
  write_numbers("repetitions", &Provenance::repetition_number, series.repetition_count);
  write_numbers("slices", &Provenance::slice_number, series.slice_count);
  const auto write_counters = [&](const char* attribute, int RepetitionCounters::*counter) {
    std::vector<int> values;
    for (const auto& each : provenance.repetition_counters) values.push_back(each.*counter);
    if (!values.empty()) file.write_attribute(name, attribute, values);
  };
  write_counters("repetition_counters", &RepetitionCounters::repetition);
  write_counters("contrast_counters", &RepetitionCounters::contrast);
  write_counters("phase_counters", &RepetitionCounters::phase);
  write_counters("set_counters", &RepetitionCounters::set);
  if (!provenance.slice_counters.empty())
    file.write_attribute(name, "slice_counters", provenance.slice_counters);
}

void write_diagnostic_images(hdf5::File& file, const DiagnosticImages& shown) {
  const auto write = [&](const std::string& name, const auto& array) {
    if (!array.empty()) file.write(name, array);
  };
  if (!shown.sensitivity_maps.empty() || !shown.point_spread.empty() || !shown.set_images.empty()) {
    file.create_group("/diagnostics");
    file.create_group("/diagnostics/0_0");
    write("/diagnostics/0_0/sensitivity_maps", shown.sensitivity_maps);
    write("/diagnostics/0_0/point_spread", shown.point_spread);
    write("/diagnostics/0_0/set_images", shown.set_images);
  }
  if (shown.temporal_basis.empty()) return;
  file.create_group("/subspace");
  file.write("/subspace/basis", shown.temporal_basis);
  file.write_attribute("/subspace/basis", "axes", "component, frame");
  file.write("/subspace/components", shown.components);
  file.write_attribute("/subspace/components", "axes", "component, z, y, x");
}

void write_noise(hdf5::File& file, const NoiseMaps& noise, const ImageSeries& series) {
  file.create_group("/noise");
  const auto shape = series.images.front().geometry.image_shape();
  const auto write = [&](const char* name, const Array<float>& map, const char* unit) {
    require_shape(map, shape, file.subject(name));
    file.write(name, map);
    file.write_attribute(name, "axes", "z, y, x");
    file.write_attribute(name, "units", unit);
  };
  write("/noise/standard_deviation", noise.deviation, "signal of the scan file, of the real part");
  write("/noise/snr", noise.snr, "1");
  if (!noise.g_factor.empty()) write("/noise/g_factor", noise.g_factor, "1");
}

void write_report(hdf5::File& file, const ResultContent& results) {
  const auto& [text, environment, residuals] = results.report;
  file.create_group("/report");
  file.write("/report/json", text);
  file.write_attribute("/report", "program_version", results.provenance.program_version);
  file.write_attribute("/report", input_checksum_attribute, results.provenance.input_checksum);
  std::size_t most = 0;
  for (const auto& of_image : residuals) most = std::max(most, of_image.size());
  if (most > 0) {
    Array<double> table({static_cast<std::int64_t>(residuals.size()), static_cast<std::int64_t>(most)});
    std::fill(table.begin(), table.end(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < residuals.size(); ++i)
      std::copy(residuals[i].begin(), residuals[i].end(), table.begin() + i * most);
    file.write("/report/relative_residuals", table);
  }
  file.write("/environment", environment);
}

/// Returns what the file takes at most, but for HDF5's own tables.
std::uint64_t expected_bytes(const ResultContent& results) {
  const auto& shown = results.companions.diagnostic_images;
  std::uint64_t bytes =
      bytes_of(results.series) + results.report.report.size() + results.report.environment.size();
  if (results.companions.gridded) bytes += bytes_of(*results.companions.gridded);
  const auto add = [&]<class T>(const Array<T>& array) {
    bytes += static_cast<std::uint64_t>(array.size()) * sizeof(T);
  };
  add(shown.sensitivity_maps), add(shown.components), add(shown.set_images);
  add(shown.point_spread), add(shown.temporal_basis);
  for (const auto& residuals : results.report.relative_residuals) bytes += residuals.size() * sizeof(double);
  if (results.provenance.frames)
    for (const auto& course : results.provenance.frames->gating)
      bytes += 2 * course.signal.size() * sizeof(double);
  return bytes;
}

/// Makes the file, and returns the bytes that are still to be written to it: none of a large one.
std::vector<char> make_h5(const AtomicFile& to, const ResultContent& results) {
  const auto& [series, provenance, companions] =
      std::tie(results.series, results.provenance, results.companions);
  const hdf5::LibraryLock lock;
  auto file = hdf5::File::create(to.temporary(), to.path(), expected_bytes(results));
  write_volumes(file, "/image", series, provenance);
  if (companions.gridded) write_volumes(file, "/gridded", *companions.gridded, provenance);
  if (companions.noise) write_noise(file, *companions.noise, series);
  if (provenance.frames && !provenance.frames->gating.empty()) write_gating(file, provenance.frames->gating);
  write_diagnostic_images(file, companions.diagnostic_images);
  write_report(file, results);
  return file.complete();
}

void write_h5(const AtomicFile& to, ResultContent& results, std::size_t) {
  const auto bytes = make_h5(to, results);
  if (!bytes.empty()) write_bytes(to.temporary(), bytes.data(), bytes.size(), to.path());
}

RecordedScan scan_in_hdf5(const std::string& path) {
  const auto facts =
      facts_of_hdf5(path, {"/environment", std::string("/report@") + input_checksum_attribute});
  if (!facts || !facts->back()) return {};
  RecordedScan found{*facts->back()};
  if (!facts->front()) return found;
  const auto environment = flat_json(text_in_hdf5(path, "/environment"));
  if (environment.is_object() && environment.contains("input_path") && environment["input_path"].is_string())
    found.path = environment["input_path"].get<std::string>();
  return found;
}

}  // namespace

const ResultFormat hdf5_format{.name = "hdf5",
                               .ending = ".h5",
                               .is_optional = false,
                               .in_calling_thread = true,
                               .recorded_scan = scan_in_hdf5,
                               .write = write_h5};

void write_image_file(FileSet& files, const std::string& path,
                      const std::vector<std::pair<std::string, const ImageSeries*>>& datasets,
                      const std::string& made_by) {
  files.add(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  for (const auto& [name, series] : datasets) write_series(file, name, *series);
  if (!made_by.empty()) file.write_attribute("/", made_by_attribute, made_by);
  file.close();
}

/// Writes a field map as NIfTI. Throws Error where its slices make several stacks.
static void write_field_nifti(const AtomicFile& to, const std::vector<const Array<float>*>& slices,
                              const std::vector<Geometry>& geometries) {
  ImageSeries series{1, std::ssize(slices), {}};
  for (std::size_t i = 0; i < slices.size(); ++i) {
    auto& image = series.images.emplace_back();
    image.geometry = geometries[i];
    image.values = Array<Complex<float>>(slices[i]->shape());
    std::copy(slices[i]->begin(), slices[i]->end(), image.values.begin());
  }
  const auto stacks = stacks_of(geometries);
  if (stacks.size() > 1 || (slices.size() > 1 && !(stacks.front().states_places && stacks.front().is_even())))
    throw Error(to.path(), "one stack of slices at stated, even places, for a NIfTI file",
                std::to_string(slices.size()) + " slices", "end the name in .h5");
  write_nifti(to.temporary(), series, stacks.front(), to.path(), {"fhd: off-resonance in rad/s"},
              NiftiPart::real);
}

void write_field_map(FileSet& files, const std::string& path, const std::vector<const Array<float>*>& slices,
                     const std::vector<Geometry>& geometries, const std::string& made_by) {
  files.add(path);
  if (path.ends_with(".nii.gz")) return write_field_nifti(files.back(), slices, geometries);
  auto file = hdf5::File::create(files.back().temporary(), path);
  const auto& shape = slices.front()->shape();
  if (slices.size() == 1) {
    file.write("/field_map", *slices.front());
  } else {
    file.create<float>("/field_map",
                       {static_cast<std::int64_t>(slices.size()), shape[0], shape[1], shape[2]});
    for (std::size_t i = 0; i < slices.size(); ++i)
      file.write_block("/field_map", *slices[i], {static_cast<std::int64_t>(i)});
  }
  file.write_attribute("/field_map", "unit", "rad/s");
  write_geometry(file, "/", geometries);
  if (!made_by.empty()) file.write_attribute("/", made_by_attribute, made_by);
  file.close();
}

std::string read_report_text(const std::string& path) {
  const auto facts = facts_of_hdf5(path, {"/environment"});
  return joined_report(text_in_hdf5(path, "/report/json"),
                       facts && facts->front() ? text_in_hdf5(path, "/environment") : "");
}

}  // namespace fhd::io
