#include "io/hdf5/hdf5_library.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Handle open_own_dataset(hid_t file, const std::string& name, const std::string& subject) {
  require_own_links(file, name, subject);
  Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, subject, "a dataset");
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

}  // namespace fhd::io::hdf5
