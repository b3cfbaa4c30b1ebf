#include "io/result/results.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <nlohmann/json.hpp>

#include "io/files/blocks.hpp"
#include "io/files/in_reader.hpp"
#include "io/files/input_stamps.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/result/bids_fields.hpp"
#include "io/result/formats.hpp"
#include "recon/array/trace.hpp"
#include "recon/error.hpp"

namespace fhd::io {

std::span<const ResultFormat* const> result_formats() {
  static constexpr std::array table{&hdf5_format,  &nifti_format,  &png_format, &json_format,
                                    &phase_format, &noise_format,  &snr_format, &g_factor_format,
                                    &dicom_format, &ismrmrd_format};
  return table;
}

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

std::vector<SliceStack> stacks_of(const ImageSeries& series) {
  return stacks_of(geometries_of_slices(series.images, series.slice_count));
}

std::vector<Affine> voxel_maps_of(const ImageSeries& series) {
  std::vector<Affine> maps;
  for (const auto& image : series.images) maps.push_back(voxel_to_lps_mm(image.geometry));
  for (const auto& stack : stacks_of(series)) {
    if (stack.states_places) continue;
    for (std::size_t place = 0; place < stack.slices.size(); ++place)
      for (auto i = stack.slices[place]; i < maps.size(); i += static_cast<std::size_t>(series.slice_count)) {
        const auto planes = static_cast<double>(place) * series.images[i].geometry.matrix_size[2];
        for (auto& row : maps[i]) row[3] += planes * row[2];
      }
  }
  return maps;
}

static std::int64_t number_of(const std::vector<std::int64_t>& chosen, std::size_t i) {
  return chosen.empty() ? static_cast<std::int64_t>(i) : chosen.at(i);
}

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

namespace {

/// Returns "fhd 0.1.0 least squares", for headers with room for a line.
std::string made_by(const Provenance& provenance) {
  std::string text = "fhd " + provenance.program_version;
  const auto settings = provenance.report(0).report.value("settings", nlohmann::ordered_json::object());
  const auto method = name_of_method(settings);
  return method.empty() ? text : text + " " + method;
}

/// Locks the files that may lie beside another prefix, where several runs may write them at a time.
std::vector<OutputLock> locks_of(const ResultRequest& request, const OutputLock& of_results) {
  std::vector<std::string> paths;
  for (const auto* format : result_formats())
    if (const auto path = path_of(*format, request); format->option && !path.empty())
      paths.push_back(format->is_folder ? place_of_folder(path) : path);
  // All runs lock in one order: none waits for another that waits for it.
  std::sort(paths.begin(), paths.end());
  std::vector<OutputLock> locks;
  for (const auto& path : paths) {
    const auto is_its = [&](const OutputLock& lock) { return lock.is_of(path); };
    if (!is_its(of_results) && std::none_of(locks.begin(), locks.end(), is_its))
      locks.emplace_back(path, OutputLock::WhenHeld::wait);
  }
  return locks;
}

/// The files of a format.
using Output = std::pair<const ResultFormat*, std::vector<AtomicFile*>>;

/// Writes the files, several at a time where there are threads.
void write_outputs(const std::vector<Output>& outputs, ResultContent& results) {
  const auto write = [&results](const Output& output) {
    const auto& [format, of_stacks] = output;
    for (std::size_t stack = 0; stack < of_stacks.size(); ++stack) {
      const trace::Span span("write " + of_stacks[stack]->path(), "write");
      format->write(*of_stacks[stack], results, stack);
      of_stacks[stack]->flush();
    }
  };
  const auto policy =
      results.compression.threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::vector<std::future<void>> others;
  for (const auto& output : outputs)
    if (!output.first->in_calling_thread) others.push_back(std::async(policy, write, output));
  for (const auto& output : outputs)
    if (output.first->in_calling_thread) write(output);
  for (auto& other : others) other.get();
}

}  // namespace

std::vector<std::string> write_results(const OutputLock& lock, const ResultRequest& request,
                                       const ImageSeries& series, const Provenance& provenance,
                                       const CompanionResults& companions) {
  require_series(series, request.prefix);
  ResultContent results{series,
                        provenance,
                        companions,
                        companions.compression,
                        made_by(provenance),
                        stacks_of(series),
                        report_text(series, provenance, companions)};
  results.compression.threads = threads_or_all(results.compression.threads);
  const auto locks_elsewhere = locks_of(request, lock);
  FileSet files(lock, locks_elsewhere);
  std::vector<Output> outputs;
  std::vector<std::string> written;
  auto of_stacks = request;
  of_stacks.stack_count = results.stacks.size();
  for (const auto* format : result_formats()) {
    if (format->has_content && !format->has_content(results)) continue;
    for (std::size_t stack = 0; stack < file_count(*format, of_stacks); ++stack) {
      const auto path = path_of(*format, of_stacks, stack);
      if (path.empty()) break;
      auto& file = format->is_folder ? files.add_replacing_directory(path) : files.add(path);
      if (stack == 0) outputs.push_back({format, {}});
      outputs.back().second.push_back(&file);
      written.push_back(path + (format->is_folder ? "/" : ""));
    }
  }
  write_outputs(outputs, results);
  const trace::Span span("rename and flush the folder", "write");
  files.commit();
  return written;
}

std::vector<std::string> write_results(const ResultRequest& request, const ImageSeries& series,
                                       const Provenance& provenance, const CompanionResults& companions) {
  return write_results(OutputLock(request.prefix), request, series, provenance, companions);
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
  std::array<int, 3> matrix_size;
  for (std::size_t axis = 0; axis < 3; ++axis) matrix_size[axis] = static_cast<int>(extents[4 - axis]);
  const auto slices = read_geometry(file, name, matrix_size, static_cast<std::size_t>(extents[1]));
  const Shape shape = slices.front().image_shape();

  ImageSeries series{extents[0], extents[1], {}};
  for (std::int64_t repetition = 0; repetition < extents[0]; ++repetition)
    for (std::int64_t slice = 0; slice < extents[1]; ++slice) {
      auto& image = series.images.emplace_back();
      image.geometry = slices[static_cast<std::size_t>(slice)];
      dataset.read(stored.size() == 2 ? Shape{stored[0], stored[1]} : shape,
                   one ? hdf5::Extents{} : hdf5::Extents{repetition, slice}, Precision::double_precision,
                   image.values, image.in_double);
      image.values = std::move(image.values).reshaped(shape);
      if (!image.in_double.empty()) image.in_double = std::move(image.in_double).reshaped(shape);
    }
  return series;
}

ImageSeries read_image(const std::string& path, const std::string& dataset) {
  complete_interrupted_set(path);
  auto series =
      read_unchanged(InputStamps({path}), [&] { return in_reader<&read_image_here>(path, dataset); });
  // The process that read it may have been taken over.
  constexpr std::int64_t most = 1 << 20;
  if (std::max(series.repetition_count, series.slice_count) > most ||
      std::min(series.repetition_count, series.slice_count) < 1)
    throw Error(path + ":" + dataset, "images", "values that are none", "the file is damaged");
  for (const auto& image : series.images)
    for (const int n : image.geometry.matrix_size)
      if (n < 1) throw Error(path + ":" + dataset, "images", "values that are none", "the file is damaged");
  require_series(series, path + ":" + dataset);
  return series;
}

}  // namespace fhd::io
