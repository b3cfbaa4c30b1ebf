#include "io/scan/foreign_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "io/files/gzip.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/hdf5.hpp"

namespace fhd::io {
namespace {

using namespace std::string_view_literals;

constexpr auto from_arrays =
    "read it in Python and give its arrays to fhd.reconstruct, or write them with h5py as /kspace and "
    "/trajectory";
constexpr auto images = "it holds images: give the raw data that they were made of";
constexpr auto ge_converter = "convert it with ge_to_ismrmrd, which needs GE's Orchestra";
constexpr auto philips_converter = "convert the set with philips_to_ismrmrd -f NAME";
constexpr auto list_data =
    "read it with a program for Philips list/data (MRecon, loadLISTDATA) and write ISMRMRD";
constexpr auto mrd_2 =
    "copy it to MRD's binary format: in Python reader.copy_to(mrd.BinaryMrdWriter(\"NEW\"))";

constexpr auto matlab_5 = "MATLAB 5.0 MAT-file"sv;

/// A row: bytes at an offset.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char *name, *remedy;
};
constexpr Magic magics[]{
    {0, matlab_5, "a MATLAB file (version 5 to 7)", from_arrays},
    {0, "\x93NUMPY"sv, "a NumPy array (.npy)", from_arrays},
    {0, "{\"yardl\""sv, "MRD version 2 (NDJSON)", mrd_2},
    {128, "DICM"sv, "DICOM", images},
    {344, "n+1\0"sv, "NIfTI", images},
    {344, "ni1\0"sv, "NIfTI", images},
    {4, "n+2\0\r\n\x1a\n"sv, "NIfTI-2", images},
    {0, "# Pulseq sequence"sv, "a Pulseq sequence",
     "give the scan that it measured, and the sequence as its trajectory"},
    {0, "# === DATA DESCRIPTION FILE"sv, "a Philips description (.PAR, .list)",
     "give the raw data that belong to it"},
    {0, "version https://git-lfs"sv, "a pointer of Git LFS", "fetch the file itself: git lfs pull"},
    {0,
     "\xFD"
     "7zXZ\0"sv,
     "a file compressed by xz", "decompress it: xz -dk NAME"},
    {0, "BZh"sv, "a file compressed by bzip2", "decompress it: bunzip2 -k NAME"},
    {0, "\x28\xB5\x2F\xFD"sv, "a file compressed by zstd", "decompress it: zstd -dk NAME"}};

bool holds(std::string_view head, std::size_t offset, std::string_view bytes) {
  return head.size() >= offset + bytes.size() && head.substr(offset, bytes.size()) == bytes;
}

/// Returns a file, with `path` for NAME in its remedy.
ForeignFile named(const char* name, std::string remedy, const std::string& path) {
  if (const auto at = remedy.find("NAME"); at != remedy.npos) remedy.replace(at, 4, path);
  return {name, std::move(remedy)};
}

/// Returns whether the file is called as GE calls it, "P12345.7", or GE's name, or that of data that are no images, is in the
/// head, where its place depends on the version.
bool is_p_file(std::string_view head, const std::filesystem::path& path) {
  const auto name = path.filename().string();
  const bool is_hdf5 = holds(head, 0, "\x89HDF"sv);
  if (!is_hdf5 && name.size() == 8 && name.front() == 'P' && name.ends_with(".7") &&
      std::all_of(name.begin() + 1, name.end() - 2, [](unsigned char c) { return std::isdigit(c); }))
    return true;
  const auto begin = head.substr(0, 256);
  return begin.find("GE_MED_NMR") != begin.npos || begin.find("INVALIDNMR") != begin.npos;
}

/// Returns the ending of a name in lower case: ".raw".
std::string ending_of(const std::filesystem::path& path) {
  auto suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

/// Returns whether a file of the same name with one of these endings lies beside it.
bool lies_beside(std::filesystem::path path, std::initializer_list<const char*> endings) {
  std::error_code status;
  return std::ranges::any_of(endings, [&](const char* suffix) {
    return std::filesystem::exists(path.replace_extension(suffix), status);
  });
}

/// Returns the set that a file of Philips belongs to: such files have no first bytes of their own.
std::optional<ForeignFile> philips_file(const std::string& path) {
  const auto suffix = ending_of(path);
  if (((suffix == ".raw" || suffix == ".lab") && lies_beside(path, {".sin", ".SIN", ".lab", ".LAB"})) ||
      (suffix == ".sin" && lies_beside(path, {".lab", ".LAB", ".raw", ".RAW"})))
    return named("Philips raw data (.raw, .lab, .sin)", philips_converter, path);
  if ((suffix == ".data" && lies_beside(path, {".list", ".LIST"})) ||
      (suffix == ".list" && lies_beside(path, {".data", ".DATA"})))
    return named("Philips raw data (.list, .data)", list_data, path);
  return std::nullopt;
}

std::string head_of(const InputFile& file) {
  std::string head(std::min<std::uint64_t>(file.size(), 4096), '\0');
  file.read(0, head.data(), head.size());
  return head;
}

}  // namespace

std::optional<ForeignFile> foreign_file(const std::string& path) {
  const InputFile file(path);
  const auto head = head_of(file);
  if (is_gzip(file)) {
    const auto inside = content_of_gzip(file, 4096);
    const std::string_view begin(reinterpret_cast<const char*>(inside.data()), inside.size());
    for (const auto& row : magics)
      if (row.remedy == images && holds(begin, row.offset, row.bytes))
        return named(row.name, row.remedy, path);
    return named("a file compressed by gzip", "decompress it: gunzip -k NAME", path);
  }
  if (const auto philips = philips_file(path)) return philips;
  for (const auto& row : magics)
    if (holds(head, row.offset, row.bytes)) return named(row.name, row.remedy, path);
  if (holds(head, 0, "PK\x03\x04"sv))
    return head.find(".npy") != head.npos ? named("NumPy arrays (.npz)", from_arrays, path)
                                          : named("a zip archive", "unpack it: unzip NAME", path);
  if (is_p_file(head, path)) return named("a GE P-file", ge_converter, path);
  return std::nullopt;
}

bool is_matlab_5(const std::string& path) { return holds(head_of(InputFile(path)), 0, matlab_5); }

std::optional<ForeignFile> foreign_hdf5(const std::string& path) {
  const auto file = hdf5::File::open(path);
  if (file.has("/image"))
    return named("an HDF5 file of images", "give the scan that they were made of", path);
  const auto groups = file.groups();
  if (std::ranges::find(groups, "ArchiveMetaData") != groups.end())
    return named("a GE ScanArchive", ge_converter, path);
  if (file.has("/$yardl_schema") || file.has_attribute("/", "$yardl_schema"))
    return named("MRD version 2 (HDF5)", mrd_2, path);
  if (head_of(InputFile(path)).starts_with("MATLAB 7.3 MAT-file"))
    return named("a MATLAB file (version 7.3)", from_arrays, path);
  return std::nullopt;
}

}  // namespace fhd::io
