#include "io/hdf5/hdf5_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string_view>

#include "io/hdf5/global_heap.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {

LibraryLock::LibraryLock() {
  static std::recursive_mutex mutex;
  lock_ = std::unique_lock(mutex);
}

/// If HDF5 could not begin, it crashes in every later call.
static void require_library() {
  static const bool has_begun = H5open() >= 0 && register_references();
  if (!has_begun) throw Error("HDF5", "", "the library cannot begin: there is no memory for it");
}

void be_silent() {
  require_library();
  thread_local bool is_silent = false;
  if (!is_silent) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  is_silent = true;
}

bool allows_threads() {
  hbool_t allowed = false;
  return H5is_library_threadsafe(&allowed) >= 0 && allowed;
}

namespace {

constexpr auto in_one_file = "give a file that holds all its values itself: 'h5repack' makes one of it";

/// Throws Error if a link on the path `name` leads to another file. A part that is not there ends the look.
void require_own_links(hid_t file, const std::string& name, const std::string& subject) {
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    H5L_info_t link{};
    if (H5Lget_info(file, name.substr(0, end).c_str(), &link, H5P_DEFAULT) < 0) break;
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT)
      throw Error(subject, "a dataset or group of this file", "a link to another file", in_one_file);
    if (end == std::string::npos) break;
  }
  H5Eclear2(H5E_DEFAULT);
}

}  // namespace

/// Throws Error if that cannot be told: what a scan does not have is left out without a word.
bool File::has(const std::string& name) const {
  require_own_links(id(), name, subject(name));
  if (name == "/") return true;
  constexpr auto expected = "links that can be read";
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const auto part = name.substr(0, end);
    const htri_t is_there = H5Lexists(id(), part.c_str(), H5P_DEFAULT);
    check(is_there, subject(part), expected);
    if (is_there == 0) return false;
    if (end == std::string::npos) return true;
    const htri_t leads_somewhere = H5Oexists_by_name(id(), part.c_str(), H5P_DEFAULT);
    check(leads_somewhere, subject(part), expected);
    if (leads_somewhere == 0) return false;
    H5O_info_t info;
    check(H5Oget_info_by_name(id(), part.c_str(), &info, H5P_DEFAULT), subject(part), expected);
    if (info.type != H5O_TYPE_GROUP) return false;
  }
}

std::string subject_of(const File& file, const std::string& object, const std::string& name) {
  return file.subject(object) + " attribute '" + name + "'";
}

Handle open_attribute(const File& file, const std::string& object, const std::string& name) {
  require_own_links(file.id(), object, subject_of(file, object, name));
  return {H5Aopen_by_name(file.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          subject_of(file, object, name), "an attribute"};
}

namespace {

/// Opens a dataset. Where that fails in a file of the format that HDF5 1.10 and later write when they are asked for their newest
/// one, the error says how to write it for older libraries.
Handle opened_dataset(hid_t file, const std::string& name, const std::string& subject) {
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  try {
    return {dataset, H5Dclose, subject, "a dataset"};
  } catch (const Error& error) {
    constexpr unsigned newest_superblock = 3;
    H5F_info2_t info{};
    if (H5Fget_info2(file, &info) < 0 || info.super.version < newest_superblock ||
        !error.parts().remedy.empty())
      throw;
    throw Error(subject,
                fmt::format("a dataset that this program's HDF5 {}.{}.{} can read", H5_VERS_MAJOR,
                            H5_VERS_MINOR, H5_VERS_RELEASE),
                "a newer format: " + error.parts().found,
                "copy its values with the program that made it, for older libraries: in Python to "
                "h5py.File(NAME, 'w', "
                "libver=('earliest', 'v110'))");
  }
}

}  // namespace

Handle open_own_dataset(hid_t file, const std::string& name, const std::string& subject) {
  require_own_links(file, name, subject);
  Handle dataset = opened_dataset(file, name, subject);
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose, subject, "a readable dataset");
  H5O_info_t root, own;  // a soft link may have led through an external one
  check(H5Oget_info(file, &root), subject, "a readable file");
  check(H5Oget_info(dataset.get(), &own), subject, "a readable dataset");
  if (own.fileno != root.fileno)
    throw Error(subject, "a dataset or group of this file", "a link to another file", in_one_file);
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL)
    throw Error(subject, "values in this file", "a virtual dataset, whose values lie in others", in_one_file);
  if (H5Pget_external_count(creation.get()) != 0)
    throw Error(subject, "values in this file", "external storage, in other files", in_one_file);
  return dataset;
}

double bytes_of(const Extents& extents, std::size_t value_bytes) {
  double bytes = static_cast<double>(value_bytes);
  for (const auto extent : extents) bytes *= static_cast<double>(extent);
  return bytes;
}

void require_stored(hid_t dataset, std::size_t value_bytes, const Extents& extents,
                    const std::string& subject) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose, subject, "a readable layout"),
      file(H5Iget_file_id(dataset), H5Fclose, subject, "a readable file");
  const int filters = H5Pget_nfilters(properties.get());
  for (unsigned i = 0; static_cast<int>(i) < filters; ++i) {
    char name[64]{};
    unsigned flags = 0;
    std::size_t parameters = 0;
    const auto filter =
        H5Pget_filter2(properties.get(), i, &flags, &parameters, nullptr, sizeof name, name, nullptr);
    if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
      throw Error(subject, "values uncompressed or compressed by gzip or szip",
                  "the HDF5 filter '" + std::string(name) + "' (" + std::to_string(filter) + ")",
                  "rewrite the file with 'h5repack -f GZIP=4'");
  }
  hsize_t file_bytes = 0;
  check(H5Fget_filesize(file.get(), &file_bytes), subject, "a readable file");
  const auto claimed = bytes_of(extents, value_bytes),
             stored = static_cast<double>(std::min<hsize_t>(H5Dget_storage_size(dataset), file_bytes));
  if (claimed == 0 || (stored > 0 && (filters > 0 || claimed <= stored))) return;
  throw Error(subject, "values for its extents " + text_of(extents),
              fmt::format("{:.0f} stored bytes, where {:.0f} are claimed", stored, claimed),
              "the file is damaged or was not written to its end");
}

// --- Texts, of a fixed length or with a length of their own

namespace {

constexpr std::size_t longest_text = 1 << 24;
constexpr std::size_t longest_report = std::size_t{1} << 30;  // of a long series

void require_length(std::size_t bytes, std::size_t longest, const std::string& subject) {
  if (bytes > longest)
    throw Error(subject, fmt::format("text of at most {} bytes", longest), fmt::format("{} bytes", bytes));
}

/// Reads one text of at most `longest` bytes; `read` is H5Aread or H5Dread.
template <class Read>
std::string read_string(const Handle& type, hid_t space_id, const std::string& subject, std::size_t longest,
                        Read read) {
  const Handle space(space_id, H5Sclose, subject, "a readable dataspace");
  if (H5Tget_class(type.get()) != H5T_STRING) throw Error(subject, "text", "another type");
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  if (count != 1) throw Error(subject, "one text", std::to_string(count));
  if (H5Tis_variable_str(type.get()) > 0) {
    const auto memory = text_type(H5T_VARIABLE, H5Tget_cset(type.get()), subject);
    char* found = nullptr;
    check(read(memory.get(), &found), subject, "readable text");
    const std::unique_ptr<char, herr_t (*)(void*)> owner(found, H5free_memory);
    const std::string_view text(found != nullptr ? found : "");
    require_length(text.size(), longest, subject);
    return std::string(text);
  }
  const std::size_t size = H5Tget_size(type.get());
  require_length(size, longest, subject);
  std::string text(size + 1, '\0');
  const auto memory = text_type(size + 1, H5Tget_cset(type.get()), subject);
  check(read(memory.get(), text.data()), subject, "readable text");
  text.resize(strnlen(text.data(), size));
  return text;
}

}  // namespace

std::string File::read_text(const std::string& name) const {
  const auto where = subject(name);
  const Handle dataset = open_dataset(name);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose, where, "a readable type");
  // A report is as long as what is stored.
  const auto stored = static_cast<std::size_t>(H5Dget_storage_size(dataset.get()));
  return read_string(type, H5Dget_space(dataset.get()), where,
                     std::max(longest_text, std::min(stored, longest_report)), [&](hid_t memory, void* text) {
                       return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
                     });
}

std::string File::text_attribute(const std::string& object, const std::string& name) const {
  const auto where = subject_of(*this, object, name);
  const auto attribute = open_attribute(*this, object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose, where, "a readable type");
  return read_string(type, H5Aget_space(attribute.get()), where, longest_text,
                     [&](hid_t memory, void* text) { return H5Aread(attribute.get(), memory, text); });
}

// --- Checksum

// Bob Jenkins, lookup3.c (2006), public domain: hashlittle() with an initial value of 0.
std::uint32_t metadata_checksum(std::span<const char> bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto add =
      [&](std::span<const char> block) {  // 12 bytes at most, little-endian; others count as zeros
        std::array<std::uint32_t, 3> words{};
        for (std::size_t i = 0; i < block.size(); ++i)
          words[i / 4] |= std::uint32_t{static_cast<unsigned char>(block[i])} << (8 * (i % 4));
        a += words[0], b += words[1], c += words[2];
      };
  const auto turned = [](std::uint32_t value, int bits) { return std::rotl(value, bits); };
  constexpr std::size_t block = 12;
  while (bytes.size() > block) {
    add(bytes.first(block));
    a -= c, a ^= turned(c, 4), c += b;
    b -= a, b ^= turned(a, 6), a += c;
    c -= b, c ^= turned(b, 8), b += a;
    a -= c, a ^= turned(c, 16), c += b;
    b -= a, b ^= turned(a, 19), a += c;
    c -= b, c ^= turned(b, 4), b += a;
    bytes = bytes.subspan(block);
  }
  if (bytes.empty()) return c;
  add(bytes);
  c ^= b, c -= turned(b, 14);
  a ^= c, a -= turned(c, 11);
  b ^= a, b -= turned(a, 25);
  c ^= b, c -= turned(b, 16);
  a ^= c, a -= turned(c, 4);
  b ^= a, b -= turned(a, 14);
  c ^= b, c -= turned(b, 24);
  return c;
}

void renew_checksum_of_superblock(std::span<char> file) {
  constexpr std::size_t version = 8, address_bytes = 9, checksum = 44;  // behind four addresses of 8 bytes
  if (file.size() < checksum + 4 || file[version] < 2 || file[address_bytes] != 8) return;
  const auto made = metadata_checksum(file.first(checksum));
  for (std::size_t i = 0; i < 4; ++i) file[checksum + i] = static_cast<char>(made >> (8 * i) & 0xFF);
}

}  // namespace fhd::io::hdf5
