#include "io/scan/scan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "io/files/in_reader.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {

namespace fs = std::filesystem;

std::vector<std::pair<std::string, std::string>> OutsidePieces::given() const {
  std::vector<std::pair<std::string, std::string>> pieces{{"trajectory", trajectory},
                                                          {"sensitivity maps", sensitivity_maps},
                                                          {"noise", noise},
                                                          {"field map", field_map},
                                                          {"decay", decay},
                                                          {"fields", fields},
                                                          {"gradient coefficients", gradient_coefficients}};
  std::erase_if(pieces, [](const auto& piece) { return piece.second.empty(); });
  return pieces;
}

std::string_view name_of(TimeOrigin origin) {
  if (origin == TimeOrigin::excitation) return "the excitation";
  if (origin == TimeOrigin::train_start) return "the start of each echo train";
  return origin == TimeOrigin::readout_start ? "the start of each readout"
                                             : "a moment that the file does not tell";
}

std::vector<std::int64_t> echoes_of(const ScanSummary& summary) {
  std::vector<std::int64_t> echoes;
  const auto& counters = summary.repetition_counters;
  for (std::int64_t i = 0; i < summary.repetition_count; ++i) {
    const auto& own = counters.empty() ? RepetitionCounters{} : counters[static_cast<std::size_t>(i)];
    if (counters.empty() || (own.repetition == counters[0].repetition && own.phase == counters[0].phase &&
                             own.set == counters[0].set))
      echoes.push_back(i);
  }
  return echoes;
}

std::optional<double> echo_time_s(const ScanSummary& summary, std::int64_t repetition) {
  const auto& counters = summary.repetition_counters;
  const auto contrast = static_cast<std::size_t>(
      counters.empty() ? 0 : counters[static_cast<std::size_t>(repetition)].contrast);
  if (contrast < summary.echo_times_s.size()) return summary.echo_times_s[contrast];
  return {};
}

std::string name_of_repetition(const std::vector<RepetitionCounters>& all, std::size_t i) {
  if (i >= all.size()) return {};
  std::string name;
  int reported = 0;
  const auto tell = [&](const char* what, int RepetitionCounters::*counter) {
    const bool differs = std::any_of(all.begin(), all.end(), [&](const RepetitionCounters& each) {
      return each.*counter != all.front().*counter;
    });
    if (!differs) return;
    ++reported;
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", what, all[i].*counter);
  };
  tell("repetition", &RepetitionCounters::repetition);
  tell("contrast", &RepetitionCounters::contrast);
  tell("phase", &RepetitionCounters::phase);
  tell("set", &RepetitionCounters::set);
  const bool is_its_number = reported == 1 && name == fmt::format("repetition {}", i);
  return is_its_number ? "" : name;
}

bool has_count_of_volumes(const ScanSummary& summary) {
  return summary.slice_count >= 1 && summary.repetition_count >= 1 && summary.slice_count <= most_volumes &&
         summary.repetition_count <= most_volumes / summary.slice_count;
}

namespace {

/// Puts in their places the pieces of `options`; throws Error unless the summary is one of a scan.
std::unique_ptr<ScanFile> with_pieces(ScanSource source, const ReadOptions& options) {
  auto file = std::make_unique<ScanFile>(std::move(source));
  add_outside_pieces(*file, options);
  const auto& summary = file->summary();
  for (int axis = 0; axis < 3; ++axis)
    if (const double length = summary.geometry.fov_mm[axis];
        length != 0 && !(length >= least_fov_mm && length <= largest_fov_mm))
      throw Error(summary.path, "a FOV from 0.001 to 100000 mm along each axis, or 0 where it is not known",
                  fmt::format("{:g} mm along {}", length, "xyz"[axis]),
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
  if (!has_count_of_volumes(summary))
    throw Error(summary.path, fmt::format("at most {} slices of all repetitions", most_volumes),
                fmt::format("{} slices of {} repetitions", summary.slice_count, summary.repetition_count),
                "the file is damaged, or to be split");
  return file;
}

/// Returns the stamps of the files that are read; of a directory .dat files alone, as results may be written beside them.
InputStamps stamps_of_scan(const std::string& path, const ReadOptions& options) {
  auto files = inputs_of_scan(path, options);
  std::error_code status;
  const auto inside = fs::is_directory(path, status) ? files_of_scan(path) : std::vector<std::string>{};
  std::erase_if(files, [&](const std::string& file) {
    return !file.ends_with(".dat") && std::ranges::find(inside, file) != inside.end();
  });
  return InputStamps(files);
}

}  // namespace

std::unique_ptr<ScanFile> open_scan_here(const std::string& path, const ReadOptions& options) {
  const hdf5::LibraryLock lock;
  return with_pieces(open_as_stored(path, options), options);
}

Scan ScanFile::read(std::int64_t slice, std::int64_t repetition, ValidatedBy validated_by) {
  auto& summary = source_.summary;
  VolumeContext context{slice, repetition, stored_readout_length_};
  require_volume(summary, slice, repetition);
  auto scan = read_unchanged(summary.stamps, [&] {
    auto volume = source_.read(slice, repetition);
    constexpr std::int64_t values_per_thread = 1 << 21;  // fewer are checked before another thread wakes
    const ThreadLimit limit(static_cast<int>(1 + volume.kspace.values.size() / values_per_thread));
    if (validated_by == ValidatedBy::file || !corrections_.empty()) volume.validate(summary.path);
    if (volume.field_map || volume.decay_per_s) note_time_origin(summary, volume);
    for (const auto& correct : corrections_) correct(volume, context);
    return volume;
  });
  std::atomic_ref(summary.readout_length) = context.readout_length;
  return scan;
}

std::unique_ptr<ScanFile> open_scan(const std::string& path, const ReadOptions& options) {
  complete_interrupted_set(path);
  auto stamps = stamps_of_scan(path, options);
  auto file = read_unchanged(stamps, [&] { return in_reader<&open_scan_here>(path, options); });
  file->editable_summary().stamps = std::move(stamps);
  if (!options.zeros_are_measured) file->add(leave_out_zeros);
  return file;
}

std::unique_ptr<ScanFile> as_read(ScanSource source, const ReadOptions& options) {
  auto file = with_pieces(std::move(source), options);
  if (!options.zeros_are_measured) file->add(leave_out_zeros);
  return file;
}

ScanSeries read_all(ScanFile& file) {
  const auto& summary = file.summary();
  ScanSeries series{
      summary.repetition_count, summary.slice_count, summary.readout_length, {}, summary.time_origin};
  for (std::int64_t repetition = 0; repetition < series.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < series.slice_count; ++slice)
      series.scans.push_back(file.read(slice, repetition));
  return series;
}

std::vector<std::string> convert_scan(ScanFile& file, const std::string& from, const ReadOptions& options,
                                      const std::string& path, ScanFormat format) {
  const auto& summary = file.summary();
  require_room(format, summary.slice_count, summary.repetition_count, summary.coil_count, path);
  const bool is_same_format = format == ScanFormat::ismrmrd &&
                              (summary.format.starts_with("ISMRMRD") || summary.format == twix_format);
  if (!is_same_format || !summary.outside_pieces.empty() || options.matrix_size || options.fov_mm) {
    auto lost = write_scan(path, format, read_all(file));
    if (is_same_format)
      say(lost,
          "Readouts and the header are made anew, because pieces come from other files, or the matrix or FOV "
          "is not that of the header: flags, counters, echo times, time stamps and waveforms are not "
          "written.");
    return lost;
  }
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice)
      file.read(slice, repetition);  // is valid
  const OutputLock lock(path);
  FileSet files(lock);
  auto lost = read_unchanged(summary.stamps, [&] { return copy_ismrmrd(files, from, options, path); });
  files.commit();
  return lost;
}

std::vector<std::string> files_of_scan(const std::string& path) {
  std::vector<std::string> files;
  std::error_code status;
  if (fs::is_directory(path, status)) {
    for (fs::directory_iterator entry(path, status), end; !status && entry != end; entry.increment(status))
      if (entry->is_regular_file(status)) files.push_back(entry->path().string());
    if (status) throw Error(path, "a readable directory", status.message());
    std::sort(files.begin(), files.end());
  } else if (is_bart(path)) {
    for (const char* part : {"", "_traj", "_sens"})
      for (const char* ending : {".cfl", ".hdr"})
        if (const auto name = bart_name(path) + part + ending; fs::exists(name, status))
          files.push_back(name);
  }
  if (files.empty()) files.push_back(path);
  return files;
}

std::vector<std::string> inputs_of_scan(const std::string& path, const ReadOptions& options) {
  std::vector<std::string> inputs;
  const auto add = [&](const std::string& name) {
    inputs.push_back(name);
    for (auto& file : files_of_scan(name)) inputs.push_back(std::move(file));
  };
  add(path);
  for (const auto& [what, piece] : options.outside.given()) add(piece);
  return inputs;
}

}  // namespace fhd::io
