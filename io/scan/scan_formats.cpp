#include "io/scan/scan_formats.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "io/files/input_file.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "recon/error.hpp"

namespace fhd::io {

// Each format is described at the head of the file that defines these.
ScanSource open_fhd(const std::string& path, const ReadOptions& options);
ScanSource open_ismrmrd(const std::string& path, const ReadOptions& options);
ScanSource open_bart(const std::string& path, const ReadOptions& options);
ScanSource open_impatient(const std::string& path, const ReadOptions& options);
Sentences write_fhd(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_ismrmrd(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_bart(FileSet& files, const std::string& path, const ScanSeries& series);
Sentences write_impatient(FileSet& files, const std::string& path, const ScanSeries& series);

namespace {

bool is_fhd(const Candidate& candidate) {
  return candidate.hdf5().has("/kspace") || candidate.hdf5().has(trajectory_name);
}
bool is_ismrmrd(const Candidate& candidate) {
  return !candidate.options().group.empty() || candidate.hdf5().has("/dataset") ||
         !ismrmrd_groups(candidate.hdf5()).empty();
}

constexpr std::string_view fhd_endings[]{".h5"}, ismrmrd_endings[]{".mrd", ".ismrmrd"},
    bart_endings[]{".cfl", ".hdr"}, impatient_endings[]{"/"};

constexpr FormatRow rows[]{
    {ScanFormat::impatient, "impatient", impatient_endings,
     [](const Candidate& candidate) { return candidate.is_directory(); }, open_impatient, write_impatient},
    {ScanFormat::bart, "bart", bart_endings,
     [](const Candidate& candidate) { return is_bart(candidate.path()); }, open_bart, write_bart},
    {ScanFormat::fhd, "fhd", fhd_endings, is_fhd, open_fhd, write_fhd},
    {ScanFormat::ismrmrd, "ismrmrd", ismrmrd_endings, is_ismrmrd, open_ismrmrd, write_ismrmrd}};

}  // namespace

bool Candidate::is_directory() const {
  std::error_code status;
  return std::filesystem::is_directory(path_, status);
}

const hdf5::File& Candidate::hdf5() const {
  if (!file_) file_.emplace(hdf5::File::open(path_));
  return *file_;
}

std::span<const FormatRow> format_rows() { return rows; }

const FormatRow& row_of(ScanFormat format) {
  return *std::find_if(std::begin(rows), std::end(rows),
                       [&](const FormatRow& row) { return row.format == format; });
}

ScanSource open_as_stored(const std::string& path, const ReadOptions& options) {
  require_reachable(path);
  const Candidate candidate(path, options);
  for (const auto& row : rows)
    if (row.recognises(candidate)) return row.open(path, options);
  throw Error(path, "a scan: '/dataset' (ISMRMRD) or '/kspace' and '/trajectory' (fhd)",
              "an HDF5 file without them",
              candidate.hdf5().has("/image") ? "it holds images: give the scan that they were made of" : "");
}

ScanFormat format_of_output(const std::string& path, const std::string& name) {
  std::error_code status;
  const bool is_directory = std::filesystem::is_directory(path, status);
  for (const auto& row : rows) {
    const auto fits = [&](std::string_view ending) { return path.ends_with(ending); };
    const bool by_name = std::any_of(row.endings.begin(), row.endings.end(), fits) ||
                         (is_directory && row.format == ScanFormat::impatient);
    if (name.empty() ? by_name : name == row.name) return row.format;
  }
  const auto extension = std::filesystem::path(path).extension().string();
  throw Error(path, "a name that ends in .h5 (fhd), .mrd (ISMRMRD), .cfl (BART) or / (IMPATIENT)",
              extension.empty() ? "no ending" : "'" + extension + "'", "name the format with --to");
}

std::vector<std::string> scan_format_names() {
  std::vector<FormatRow> by_format(std::begin(rows), std::end(rows));
  std::sort(by_format.begin(), by_format.end(),
            [](const FormatRow& a, const FormatRow& b) { return a.format < b.format; });
  std::vector<std::string> names;
  for (const auto& row : by_format) names.emplace_back(row.name);
  return names;
}

std::string_view name_of(ScanFormat format) { return row_of(format).name; }

}  // namespace fhd::io
