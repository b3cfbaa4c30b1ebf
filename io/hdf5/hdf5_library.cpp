// libhdf5 as a whole: its lock, its messages, and what it may not follow.
#include "io/hdf5/hdf5_library.hpp"

#include <vector>

#include "io/hdf5/global_heap.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {

Turn::Turn() {
  static std::recursive_mutex mutex;
  lock_ = std::unique_lock(mutex);
}

/// Where HDF5 could not begin it crashes in every later call.
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

/// The path that a soft link states, from the root on.
std::string target_of_link(hid_t file, const std::string& name, const H5L_info_t& link,
                           const std::string& subject) {
  constexpr std::size_t longest = 1 << 16;
  if (link.u.val_size > longest)
    throw Error(subject, "a soft link of at most 64 KiB", "more", "the file is damaged");
  std::vector<char> value(link.u.val_size + 1, 0);
  check(H5Lget_val(file, name.c_str(), value.data(), link.u.val_size, H5P_DEFAULT), subject,
        "a readable link");
  const std::string target(value.data());
  return target.starts_with("/") ? target : name.substr(0, name.rfind('/') + 1) + target;
}

void follow(hid_t file, const std::string& name, const std::string& subject, int links_left) {
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const auto part = name.substr(0, end);
    H5L_info_t link{};
    if (part.empty() || part == "/" || H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0) {
      H5Eclear2(H5E_DEFAULT);
      return;
    }
    if (link.type == H5L_TYPE_SOFT) {
      if (links_left == 0)
        throw Error(subject, "soft links that end", "more than 16, one after the other",
                    "the file is damaged");
      follow(file, target_of_link(file, part, link, subject), subject, links_left - 1);
    } else if (link.type != H5L_TYPE_HARD) {
      throw Error(subject, "a dataset or group of this file", "a link to another file", in_one_file);
    }
    if (end == std::string::npos) return;
  }
}

}  // namespace

void require_own_links(hid_t file, const std::string& name, const std::string& subject) {
  constexpr int most_soft_links = 16;  // as libhdf5 itself
  follow(file, name.starts_with("/") ? name : "/" + name, subject, most_soft_links);
}

/// What cannot be told is an Error: what a scan has not got is left out without a word.
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
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL)
    throw Error(subject, "values in this file", "a virtual dataset, whose values lie in others", in_one_file);
  if (H5Pget_external_count(creation.get()) != 0)
    throw Error(subject, "values in this file", "external storage, in other files", in_one_file);
  return dataset;
}

}  // namespace fhd::io::hdf5
