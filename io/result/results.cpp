// Result files. OUT.h5 holds, besides what OUT.json holds:
//
//   /image                       complex {r, i} [repetition][slice][z][y][x], in double precision where the work was
//     attributes                 axes, units, matrix_size, fov_mm, position_mm (3 numbers per slice),
//                                read_direction, phase_direction, slice_direction (patient LPS);
//                                repetitions and slices: their numbers in the scan, as in OUT.json;
//                                repetition_counters, contrast_counters, phase_counters, set_counters (one number
//                                per repetition) and slice_counters: how the scan file counts them, where it does
//                                of frames (a continuous acquisition) repetitions_are = "frames", first_readouts (one
//                                number per frame), readouts_per_frame, frame_time_s (from one to the next; 0: not known)
//   /gridded                     the gridded image of the same scan, where it was made, as /image
//   /gating/signal, /gating/bin  [slice][readout], of bins of a motion: what told it, and where each readout went (-1: into
//                                none); attribute source, of the first slice; then repetitions_are = "bins"
//   /noise/standard_deviation    [z][y][x], of the real part, in the unit of the image, with attributes unit and method
//   /noise/snr, /noise/g_factor  likewise, without unit; where maps of the noise were asked for (recon/pipeline/noise_map)
//   /subspace/basis              [component][frame], orthonormal courses of frames in a temporal subspace (--basis), and
//   /subspace/components         complex [component][z][y][x]: frame t of the first slice = sum of basis[k][t] components[k]
//   /exhibits/0_0/sensitivity_maps   complex [coil][y][x] of the middle slice of /image[0][0], as used
//   /exhibits/0_0/point_spread   |q| / max |q| for no difference along z, [y][x], centred
//   /report/json                 the text of OUT.json
//   /report/relative_residuals   [image][iteration], images in the order of OUT.json; NaN behind the last iteration
//   attributes of /report        program_version, command_line, input_path, input_checksum, started_at, run
//
// Values and reports that are stored (ImageSeries::stored, Provenance::stored_report) pass through memory one image at a
// time. For that OUT.json is written first, and /report/json is copied from it; a large OUT.h5 is on disk from its
// beginning (hdf5::File::create).
#include "io/result/results.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/files/blocks.hpp"
#include "io/files/in_reader.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/files/input_stamps.hpp"
#include "io/hdf5/made_by.hpp"
#include "io/result/dicom.hpp"
#include "io/result/ismrmrd_images.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "io/result/report_json.hpp"
#include "io/result/run.hpp"
#include "recon/array/trace.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

void require_series(const ImageSeries& series, const std::string& subject) {
  const auto expected = series.repetition_count * series.slice_count;
  if (expected < 1 || expected != static_cast<std::int64_t>(series.images.size()))
    throw Error(subject, std::to_string(expected) + " images [repetition][slice]",
                std::to_string(series.images.size()));
  for (const auto& image : series.images) {
    if (series.stored) {
      const auto shape = image.geometry.image_shape();
      if (!(shape == series.stored->shape()))
        throw Error(subject, series.stored->shape().text(), shape.text());
      continue;
    }
    require_shape(image.values, image.geometry.image_shape(), subject);
    require_shape(image.values, series.images.front().values.shape(), subject);
    if (!image.in_double.empty()) require_shape(image.in_double, image.values.shape(), subject);
  }
}

bool is_in_double(const ImageSeries& series) {
  if (series.stored) return series.stored->in_double();
  return std::all_of(series.images.begin(), series.images.end(),
                     [](const Image& image) { return !image.in_double.empty(); });
}

/// Of the values in a file.
std::uint64_t bytes_of(const ImageSeries& series) {
  const auto voxels = static_cast<std::uint64_t>(series.images.front().geometry.image_shape().size());
  return series.images.size() * voxels *
         (is_in_double(series) ? sizeof(Complex<double>) : sizeof(Complex<float>));
}

void write_series(hdf5::File& file, const std::string& name, const ImageSeries& series, int threads) {
  require_series(series, file.subject(name));
  const auto& n = series.images.front().geometry.matrix_size;
  const auto write_values = [&]<class T>(Array<Complex<T>> Image::*values) {
    file.create<Complex<T>>(name, {series.repetition_count, series.slice_count, n[2], n[1], n[0]});
    std::int64_t next = 0;
    // What is stored is read by other threads.
    in_order(
        static_cast<std::int64_t>(series.images.size()), series.stored ? threads : 1,
        [&](std::int64_t i) { return series.image(static_cast<std::size_t>(i)); },
        [&](const std::shared_ptr<const Image>& image) {
          file.write_block(name, (*image).*values, {next / series.slice_count, next % series.slice_count});
          ++next;
        });
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

/// A series with the numbers of its volumes in the scan.
void write_volumes(hdf5::File& file, const std::string& name, const ImageSeries& series,
                   const Provenance& provenance, int threads) {
  write_series(file, name, series, threads);
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

void write_diagnostic_images(hdf5::File& file, const DiagnosticImages& diagnostic_images) {
  const auto& maps = diagnostic_images.sensitivity_maps;
  const auto& spread = diagnostic_images.point_spread;
  const auto& sets = diagnostic_images.set_images;
  if (maps.empty() && spread.empty() && sets.empty()) return;
  file.create_group("/exhibits");
  file.create_group("/exhibits/0_0");
  if (!maps.empty())
    file.write("/exhibits/0_0/sensitivity_maps", maps.data(),
               {maps.extent(0), maps.extent(1), maps.extent(2)});
  if (!spread.empty())
    file.write("/exhibits/0_0/point_spread", spread.data(), {spread.extent(0), spread.extent(1)});
  if (!sets.empty())
    file.write("/exhibits/0_0/set_images", sets.data(),
               {sets.extent(0), sets.extent(1), sets.extent(2), sets.extent(3)});
}

void write_subspace(hdf5::File& file, const DiagnosticImages& diagnostic_images) {
  const auto& basis = diagnostic_images.temporal_basis;
  const auto& components = diagnostic_images.components;
  file.create_group("/subspace");
  file.write("/subspace/basis", basis.data(), {basis.extent(0), basis.extent(1)});
  file.write_attribute("/subspace/basis", "axes", "component, frame");
  file.write("/subspace/components", components.data(),
             {components.extent(0), components.extent(1), components.extent(2), components.extent(3)});
  file.write_attribute("/subspace/components", "axes", "component, z, y, x");
}

/// The maps of noise_endings, in their order; without those that are not defined.
std::vector<const Array<float>*> maps_of(const NoiseMaps& noise) {
  std::vector<const Array<float>*> maps{&noise.deviation, &noise.snr};
  if (!noise.g_factor.empty()) maps.push_back(&noise.g_factor);
  return maps;
}

void write_noise(hdf5::File& file, const NoiseMaps& noise, const ImageSeries& series) {
  constexpr const char* names[] = {"/noise/standard_deviation", "/noise/snr", "/noise/g_factor"};
  constexpr const char* units[] = {"signal of the scan file, of the real part", "1", "1"};
  file.create_group("/noise");
  const auto maps = maps_of(noise);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto shape = series.images.front().geometry.image_shape();
    require_shape(*maps[i], shape, file.subject(names[i]));
    file.write(names[i], maps[i]->data(), {shape[0], shape[1], shape[2]});
    file.write_attribute(names[i], "axes", "z, y, x");
    file.write_attribute(names[i], "units", units[i]);
  }
}

/// A map as the magnitude of an image at the place of the one of the series.
ImageSeries as_series(const Array<float>& map, const ImageSeries& series) {
  Image image{Array<Complex<float>>(map.shape()), series.images.front().geometry};
  std::copy(map.begin(), map.end(), image.values.begin());
  return {1, 1, {std::move(image)}};
}

/// relative_residuals of every image.
using Residuals = std::vector<std::vector<double>>;

void write_report(hdf5::File& file, const std::string& json_path, const Provenance& provenance,
                  const Residuals& residuals) {
  file.create_group("/report");
  file.write_text_of("/report/json", json_path);
  file.write_attribute("/report", "program_version", provenance.program_version);
  file.write_attribute("/report", "command_line", provenance.command_line);
  file.write_attribute("/report", "input_path", provenance.input_path);
  file.write_attribute("/report", "input_checksum", provenance.input_checksum);
  file.write_attribute("/report", "started_at", provenance.started_at);
  if (!provenance.run.empty()) file.write_attribute("/report", run_attribute, provenance.run);
  std::size_t most = 0;
  for (const auto& of_image : residuals) most = std::max(most, of_image.size());
  if (most == 0) return;
  std::vector<double> table(residuals.size() * most, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < residuals.size(); ++i)
    std::copy(residuals[i].begin(), residuals[i].end(),
              table.begin() + static_cast<std::ptrdiff_t>(i * most));
  file.write("/report/relative_residuals", table.data(),
             {static_cast<std::int64_t>(residuals.size()), static_cast<std::int64_t>(most)});
}

/// "fhd 0.1.0 least squares", for headers with room for a line.
std::string made_by(const Provenance& provenance) {
  constexpr std::pair<const char*, const char*> methods[]{{"cg", "least squares"},
                                                          {"gridded", "density-compensated gridding"},
                                                          {"adjoint", "adjoint"},
                                                          {"fft", "FFT"}};
  std::string text = "fhd " + provenance.program_version;
  const auto report = report_of_image(provenance, 0);
  const auto settings = report.find("settings");
  if (settings == report.end() || !settings->contains("method")) return text;
  for (const auto& [method, words] : methods)
    if ((*settings)["method"] == method) text += std::string(" ") + words;
  return text;
}

}  // namespace

bool are_stacked(const ImageSeries& series) {
  if (series.slice_count < 2) return false;
  const auto& last = series.images[static_cast<std::size_t>(series.slice_count - 1)];
  return series.images.front().geometry.position_mm == last.geometry.position_mm;
}

namespace {

std::int64_t number_of(const std::vector<std::int64_t>& chosen, std::size_t i) {
  return chosen.empty() ? static_cast<std::int64_t>(i) : chosen.at(i);
}

}  // namespace

std::int64_t Provenance::repetition_number(std::size_t i) const { return number_of(repetitions, i); }
std::int64_t Provenance::slice_number(std::size_t i) const { return number_of(slices, i); }

RepetitionCounters Provenance::counters_of_repetition(std::size_t i) const {
  if (!repetition_counters.empty()) return repetition_counters.at(i);
  return {static_cast<int>(repetition_number(i)), 0, 0, 0};
}

int Provenance::counter_of_slice(std::size_t i) const {
  return slice_counters.empty() ? static_cast<int>(slice_number(i)) : slice_counters.at(i);
}

std::shared_ptr<const Image> ImageSeries::image(std::size_t index) const {
  if (!stored) return {std::shared_ptr<const void>{}, &images[index]};
  const auto made = std::make_shared<Image>();
  made->geometry = images[index].geometry;
  stored->read(index, *made);
  return made;
}

void ImageSeries::copy_values(std::size_t index, std::int64_t first, std::span<Complex<float>> values) const {
  if (stored) return stored->read(index, first, values);
  std::copy_n(images[index].values.data() + first, values.size(), values.begin());
}

std::string without_result_ending(std::string name) {
  for (const std::string_view ending : result_endings)
    if (name.ends_with(ending) && name.size() > ending.size() &&
        name[name.size() - ending.size() - 1] != '/') {
      name.resize(name.size() - ending.size());
      break;
    }
  return name;
}

std::vector<std::string> files_of_results(const std::string& prefix, bool with_phase, bool with_noise) {
  std::vector<std::string> files;
  for (const char* ending : result_endings) files.push_back(prefix + ending);
  if (with_phase) files.push_back(prefix + phase_ending);
  if (with_noise)
    for (const char* ending : noise_endings) files.push_back(prefix + ending);
  return files;
}

void check_writable(const std::string& prefix, const std::vector<std::string>& inputs, bool with_phase,
                    bool with_noise) {
  if (const auto name = fs::path(prefix).filename(); name.empty() || name == "." || name == "..")
    throw Error("-o " + prefix, "the common beginning of the names of the results, such as results/brain",
                prefix.empty() ? "nothing" : "a folder", "add a name");
  const auto paths = files_of_results(prefix, with_phase, with_noise);
  // One folder has them all, if it has the longest name.
  require_writable_folder(*std::max_element(
      paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); }));
  for (const auto& path : paths) {
    std::error_code status;
    for (const auto& input : inputs)
      if (fs::equivalent(path, input, status))
        throw Error("-o " + prefix, "a name other than those of the scan and its pieces",
                    path + (input == inputs.front() ? " is the scan itself" : " is a piece of the scan"),
                    "choose another -o");
    require_replaceable_entry(path);
  }
}

void require_room(const std::array<int, 3>& matrix_size, std::int64_t slice_count,
                  std::int64_t repetition_count, const std::string& subject) {
  require_nifti_room(matrix_size, slice_count, repetition_count, subject);
}

namespace {

/// `report`: waits for the JSON file.
void write_h5(const AtomicFile& to, const ImageSeries& series, const Provenance& provenance,
              const CompanionResults& companions, const std::string& json_path,
              const std::function<Residuals()>& report) {
  constexpr std::uint64_t usual_report = 1 << 13;
  std::uint64_t bytes = bytes_of(series) + usual_report * series.images.size();
  if (companions.gridded) bytes += bytes_of(*companions.gridded);
  const auto& shown = companions.diagnostic_images;
  bytes += static_cast<std::uint64_t>(shown.sensitivity_maps.size() + shown.components.size() +
                                      shown.set_images.size()) *
               sizeof(Complex<float>) +
           static_cast<std::uint64_t>(shown.point_spread.size()) * sizeof(float);
  bytes += static_cast<std::uint64_t>(shown.temporal_basis.size()) * sizeof(double);
  if (provenance.frames)
    for (const auto& course : provenance.frames->gating) bytes += 2 * course.signal.size() * sizeof(double);
  const hdf5::LibraryLock lock;
  auto file = hdf5::File::create(to.temporary(), to.path(), bytes);
  const int threads = threads_or_all(companions.compression.threads);
  write_volumes(file, "/image", series, provenance, threads);
  if (companions.gridded) write_volumes(file, "/gridded", *companions.gridded, provenance, threads);
  if (companions.noise) write_noise(file, *companions.noise, series);
  if (provenance.frames && !provenance.frames->gating.empty()) write_gating(file, provenance.frames->gating);
  write_diagnostic_images(file, companions.diagnostic_images);
  if (!shown.temporal_basis.empty()) write_subspace(file, shown);
  write_report(file, json_path, provenance, report());
  file.close();
}

/// OUT.json; the residuals of all images.
Residuals write_json(const AtomicFile& to, const ImageSeries& series, const Provenance& provenance) {
  Residuals residuals(series.images.size());
  OutputFile file(to.temporary(), to.path());
  std::string waiting;
  constexpr std::size_t enough = std::size_t{1} << 18;
  const auto write = [&](std::string_view text) {
    waiting += text;
    if (waiting.size() < enough) return;
    file.write(waiting.data(), waiting.size());
    waiting.clear();
  };
  write_report_json(series, provenance, write, [&](std::size_t i, const nlohmann::ordered_json& report) {
    residuals[i] = summary_of_report(report).relative_residuals;
  });
  file.write(waiting.data(), waiting.size());
  file.close();
  return residuals;
}

void write_picture(AtomicFile& to, const ImageSeries& series, const std::string& run,
                   const Compression& compression) {
  const trace::Span span("write PNG", "write");
  constexpr int searches_for_repetitions = 6;
  const auto read = [&](std::size_t i) { return series.image(i); };
  write_png(to.temporary(), montage(series.images, read), to.path(),
            compression.level >= searches_for_repetitions, run);
  to.flush();
}

void write_noise_nifti(AtomicFile& to, const Array<float>& map, std::size_t number, const ImageSeries& series,
                       NiftiLabel label, const Compression& compression) {
  label.description += std::string(": ") + noise_descriptions[number];
  write_nifti(to.temporary(), as_series(map, series), to.path(), label, NiftiPart::magnitude, compression);
  to.flush();
}

void write_dicom_series(AtomicFile& to, const ImageSeries& series, const Provenance& provenance,
                        const DicomRequest& request, const std::string& made) {
  const trace::Span span("write DICOM", "write");
  write_dicom(to, series, provenance, request, made);
  to.flush();
}

void write_h5_images(AtomicFile& to, const ImageSeries& series, const Provenance& provenance,
                     const std::string& made) {
  const trace::Span span("write ISMRMRD images", "write");
  const hdf5::LibraryLock lock;
  write_ismrmrd_images(to, series, provenance, made);
}

/// Of what is written beside -o, perhaps by several runs at a time.
std::vector<OutputLock> locks_of(const CompanionResults& companions, const OutputLock& of_results) {
  std::vector<OutputLock> locks;
  const auto add = [&](const std::string& path) {
    const auto is_its = [&](const OutputLock& lock) { return lock.is_of(path); };
    if (!is_its(of_results) && std::none_of(locks.begin(), locks.end(), is_its))
      locks.emplace_back(path, OutputLock::WhenHeld::wait);
  };
  // In one order in all runs: none waits for another that waits for it.
  std::vector<std::string> paths;
  if (companions.dicom) paths.push_back(companions.dicom->folder);
  if (!companions.ismrmrd_images.empty()) paths.push_back(companions.ismrmrd_images);
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) add(path);
  return locks;
}

}  // namespace

// HDF5 works in the calling thread: its library has one lock, and the calling thread may hold files open.
void write_results(const OutputLock& lock, const std::string& prefix, const ImageSeries& series,
                   const Provenance& provenance, const CompanionResults& companions) {
  require_series(series, prefix);
  const NiftiLabel label{made_by(provenance), provenance.repetition_time_s, provenance.run};
  auto compression = companions.compression;
  compression.threads = threads_or_all(compression.threads);
  const auto locks_elsewhere = locks_of(companions, lock);
  FileSet files(lock, locks_elsewhere);
  for (const auto& path : files_of_results(prefix, companions.with_phase)) files.add(path);
  const std::size_t first_of_noise = files.size();
  const auto noise_maps = companions.noise ? maps_of(*companions.noise) : std::vector<const Array<float>*>{};
  for (std::size_t i = 0; i < noise_maps.size(); ++i) files.add(prefix + noise_endings[i]);
  const std::size_t dicom = files.size();
  if (companions.dicom) files.add_replacing_directory(companions.dicom->folder);
  if (!companions.ismrmrd_images.empty()) files.add(companions.ismrmrd_images);
  AtomicFile &h5 = files[0], &json = files[3];
  const auto nifti = [&](AtomicFile& to, NiftiPart part) {
    const trace::Span span("write NIfTI", "write");
    write_nifti(to.temporary(), series, to.path(), label, part, compression);
    to.flush();
  };
  const auto policy =
      compression.threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::vector<std::future<void>> others;
  const auto beside = [&](auto work) { others.push_back(std::async(policy, work)); };
  beside([&] { nifti(files[1], NiftiPart::magnitude); });
  for (std::size_t i = 0; i < noise_maps.size(); ++i)
    beside([&, i] {
      write_noise_nifti(files[first_of_noise + i], *noise_maps[i], i, series, label, compression);
    });
  if (companions.dicom)
    beside(
        [&] { write_dicom_series(files[dicom], series, provenance, *companions.dicom, label.description); });
  beside([&] { write_picture(files[2], series, provenance.run, compression); });
  if (companions.with_phase) beside([&] { nifti(files[4], NiftiPart::phase); });
  auto residuals = std::async(policy, [&] {
    const trace::Span span("write JSON", "write");
    auto found = write_json(json, series, provenance);
    json.flush();
    return found;
  });
  {
    const trace::Span span("write HDF5", "write");
    write_h5(h5, series, provenance, companions, json.temporary(), [&] { return residuals.get(); });
  }
  if (!companions.ismrmrd_images.empty())
    write_h5_images(files.back(), series, provenance, label.description);
  {
    const trace::Span span("flush HDF5", "write");
    h5.flush();
  }
  for (auto& other : others) other.get();
  const trace::Span span("rename and flush the folder", "write");
  files.commit();
}

void write_results(const std::string& prefix, const ImageSeries& series, const Provenance& provenance,
                   const CompanionResults& companions) {
  write_results(OutputLock(prefix), prefix, series, provenance, companions);
}

void write_image_file(FileSet& files, const std::string& path,
                      const std::vector<std::pair<std::string, const ImageSeries*>>& datasets,
                      const std::string& made_by) {
  files.add(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  for (const auto& [name, series] : datasets) write_series(file, name, *series, 1);
  if (!made_by.empty()) file.write_attribute("/", made_by_attribute, made_by);
  file.close();
}

ImageSeries read_image_here(const std::string& path, const std::string& name) {
  const auto file = hdf5::File::open(path);
  if (!file.has(name))
    throw Error(file.subject(name), "an image", "none", "give the .h5 file of 'fhd recon' or 'fhd simulate'");
  const auto dataset = file.dataset(name);
  const auto stored = dataset.complex_extents();
  constexpr std::int64_t longest = 1 << 20;
  const bool one = stored.size() == 2 || stored.size() == 3;
  if ((!one && stored.size() != 5) ||
      std::any_of(stored.begin(), stored.end(), [](std::int64_t n) { return n < 1 || n > longest; }))
    throw Error(dataset.subject(), "[repetition][slice][z][y][x], [z][y][x] or [y][x]",
                hdf5::text_of(stored));
  hdf5::Extents extents(5 - stored.size(), 1);
  extents.insert(extents.end(), stored.begin(), stored.end());
  Geometry geometry;
  for (int axis = 0; axis < 3; ++axis) geometry.matrix_size[axis] = static_cast<int>(extents[4 - axis]);
  const auto numbers = [&](const char* attribute, std::size_t count) {
    const auto found = file.number_attribute(name, attribute);
    if (found.size() != count)
      throw Error(dataset.subject() + " attribute '" + attribute + "'", std::to_string(count) + " numbers",
                  std::to_string(found.size()));
    return found;
  };
  const auto read_vector = [&](const char* attribute, std::array<double, 3>& vector) {
    if (file.has_attribute(name, attribute)) std::copy_n(numbers(attribute, 3).begin(), 3, vector.begin());
  };
  read_vector("fov_mm", geometry.fov_mm);
  read_vector("read_direction", geometry.read_direction);
  read_vector("phase_direction", geometry.phase_direction);
  read_vector("slice_direction", geometry.slice_direction);
  std::vector<double> positions(static_cast<std::size_t>(3 * extents[1]), 0);
  if (file.has_attribute(name, "position_mm")) positions = numbers("position_mm", positions.size());

  ImageSeries series{extents[0], extents[1], {}};
  for (std::int64_t repetition = 0; repetition < extents[0]; ++repetition)
    for (std::int64_t slice = 0; slice < extents[1]; ++slice) {
      std::copy_n(positions.begin() + 3 * slice, 3, geometry.position_mm.begin());
      auto& image = series.images.emplace_back();
      image.geometry = geometry;
      dataset.read(stored.size() == 2 ? Shape{stored[0], stored[1]} : geometry.image_shape(),
                   one ? hdf5::Extents{} : hdf5::Extents{repetition, slice}, Precision::double_precision,
                   image.values, image.in_double);
      image.values = std::move(image.values).reshaped(geometry.image_shape());
      if (!image.in_double.empty())
        image.in_double = std::move(image.in_double).reshaped(geometry.image_shape());
    }
  return series;
}

ImageSeries read_image(const std::string& path, const std::string& dataset) {
  complete_interrupted_set(path);
  auto series = read_unchanged(InputStamps({path}),
                               [&] { return in_reader<&read_image_here>(path, dataset); });
  // Of a process that may have been taken over.
  bool whole = series.repetition_count >= 1 && series.slice_count >= 1 &&
               series.images.size() / static_cast<std::uint64_t>(series.repetition_count) ==
                   static_cast<std::uint64_t>(series.slice_count) &&
               series.images.size() % static_cast<std::uint64_t>(series.repetition_count) == 0;
  for (const auto& image : series.images) {
    const auto& n = image.geometry.matrix_size;
    whole = whole && n[0] >= 1 && n[1] >= 1 && n[2] >= 1 && n == series.images.front().geometry.matrix_size &&
            image.values.shape() == image.geometry.image_shape() &&
            (image.in_double.empty() || image.in_double.shape() == image.values.shape());
  }
  if (!whole) throw Error(path + ":" + dataset, "images", "values that are none", "the file is damaged");
  return series;
}

}  // namespace fhd::io
