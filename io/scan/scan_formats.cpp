// The table of the formats of scans.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/scan/foreign_files.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/readout.hpp"
#include "io/scan/mrd/stream_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io {

// Each format is described at the head of the file that defines these.
ScanSource open_fhd(const std::string& path, const ReadOptions& options);
ScanSource open_ismrmrd(const std::string& path, const ReadOptions& options);
ScanSource open_stream(const std::string& path, const ReadOptions& options);
ScanSource open_bart(const std::string& path, const ReadOptions& options);
ScanSource open_impatient(const std::string& path, const ReadOptions& options);
ScanSource open_twix(const std::string& path, const ReadOptions& options);
Sentences write_fhd(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_ismrmrd(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_bart(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_impatient(FileSet& files, const std::string& path, const ScanSeries& series);

namespace {

/// A row of the table. A format that is read alone has neither a name nor `write`.
struct FormatRow {
  ScanFormat format;
  const char* name;                           ///< of `fhd convert --to`
  std::span<const std::string_view> endings;  ///< of the names of its files, for `fhd convert`
  bool (*recognises)(const std::string& path, const ReadOptions& options);
  ScanSource (*open)(const std::string& path, const ReadOptions& options);
  Sentences (*write)(FileSet& files, const std::string& path,
                     const ScanSeries& series);  ///< null: is read alone
};

bool is_directory(const std::string& path, const ReadOptions&) {
  std::error_code status;
  return std::filesystem::is_directory(path, status);
}
bool is_pair(const std::string& path, const ReadOptions&) { return is_bart(path); }
bool is_raw(const std::string& path, const ReadOptions&) { return is_twix(path); }
bool is_mrd_stream(const std::string& path, const ReadOptions&) {
  std::error_code status;
  return std::filesystem::is_regular_file(path, status) && mrd::is_stream(path);
}
bool is_fhd(const std::string& path, const ReadOptions&) {
  std::error_code status;
  if (std::filesystem::is_regular_file(path, status))
    if (const auto foreign = foreign_file(path)) throw Error(path, "a scan", foreign->name, foreign->remedy);
  const auto file = hdf5::File::open(path,
                                     "fhd reads ISMRMRD (HDF5 and streams), fhd HDF5, BART .cfl, IMPATIENT "
                                     "directories and Siemens raw data");
  return file.has("/kspace") || file.has(trajectory_name);
}
bool is_ismrmrd(const std::string& path, const ReadOptions& options) {
  const auto file = hdf5::File::open(path);
  return !options.group.empty() || file.has("/dataset") || !ismrmrd_groups(file).empty();
}

constexpr std::string_view fhd_endings[]{".h5"}, ismrmrd_endings[]{".mrd", ".ismrmrd"},
    bart_endings[]{".cfl", ".hdr"}, impatient_endings[]{"/"};

/// The rows, in the order in which formats are asked whether they recognise a file.
constexpr FormatRow rows[]{
    {ScanFormat::impatient, "impatient", impatient_endings, is_directory, open_impatient, write_impatient},
    {ScanFormat::bart, "bart", bart_endings, is_pair, open_bart, write_bart},
    {ScanFormat::twix, "twix", {}, is_raw, open_twix, nullptr},
    {ScanFormat::ismrmrd, "", {}, is_mrd_stream, open_stream, nullptr},
    {ScanFormat::fhd, "fhd", fhd_endings, is_fhd, open_fhd, write_fhd},
    {ScanFormat::ismrmrd, "ismrmrd", ismrmrd_endings, is_ismrmrd, open_ismrmrd, write_ismrmrd}};

const FormatRow& row_of(ScanFormat format) {
  return *std::ranges::find_if(rows, [&](const FormatRow& row) { return row.format == format && row.write; });
}

}  // namespace

ScanSource open_as_stored(const std::string& path, const ReadOptions& options) {
  require_reachable(path);
  for (const auto& row : rows)
    if (row.recognises(path, options)) return row.open(path, options);
  const auto foreign = foreign_hdf5(path).value_or(ForeignFile{"an HDF5 file without them", ""});
  throw Error(path, "a scan: '/dataset' (ISMRMRD) or '/kspace' and '/trajectory' (fhd)", foreign.name,
              foreign.remedy);
}

ScanFormat format_of_output(const std::string& path, const std::string& name) {
  for (const auto& row : rows) {
    const bool by_name =
        std::ranges::any_of(row.endings, [&](std::string_view ending) { return path.ends_with(ending); }) ||
        (row.format == ScanFormat::impatient && is_directory(path, {}));
    if (row.write != nullptr && (name.empty() ? by_name : name == row.name)) return row.format;
  }
  const auto extension = std::filesystem::path(path).extension().string();
  throw Error(path, "a name that ends in .h5 (fhd), .mrd (ISMRMRD), .cfl (BART) or / (IMPATIENT)",
              extension.empty() ? "no ending" : "'" + extension + "'", "name the format with --to");
}

std::vector<std::string> scan_format_names() {
  std::vector<std::string> names;
  for (const auto format : {ScanFormat::fhd, ScanFormat::ismrmrd, ScanFormat::bart, ScanFormat::impatient})
    names.emplace_back(row_of(format).name);
  return names;
}

std::string_view name_of(ScanFormat format) { return row_of(format).name; }

void require_room(ScanFormat format, std::int64_t slices, std::int64_t repetitions, std::int64_t coils,
                  const std::string& path) {
  if (format == ScanFormat::ismrmrd && std::max({slices, repetitions, coils}) > mrd::largest_count)
    throw Error(path, fmt::format("at most {} slices, repetitions and coils (ISMRMRD)", mrd::largest_count),
                fmt::format("{} slices, {} repetitions and {} coils", slices, repetitions, coils),
                "write the fhd layout: NAME.h5");
  if (format == ScanFormat::impatient && slices * repetitions != 1)
    throw Error(path, "one slice and one repetition (IMPATIENT)",
                fmt::format("{} volumes", slices * repetitions), "write another format");
}

std::vector<std::string> write_scan(const std::string& path, ScanFormat format, const ScanSeries& series) {
  const OutputLock lock(path);
  FileSet files(lock);
  auto lost = write_scan(files, path, format, series);
  files.commit();
  return lost;
}

std::vector<std::string> write_scan(FileSet& files, const std::string& path, ScanFormat format,
                                    const ScanSeries& series) {
  require_consistent(series, path);
  require_room(format, series.slice_count, series.repetition_count, series.scans.front().kspace.coil_count(),
               path);
  return row_of(format).write(files, path, series);
}

}  // namespace fhd::io
