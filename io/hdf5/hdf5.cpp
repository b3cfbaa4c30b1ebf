#include "io/hdf5/hdf5.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/input_memory.hpp"
#include "io/hdf5/hdf5_library.hpp"
#include "recon/error.hpp"

namespace fhd::io::hdf5 {

namespace {

/// The innermost entry of HDF5's error stack, which states the cause.
struct Hdf5Failure {
  std::string reason = "a failure that HDF5 does not explain";
  hid_t minor = -1;
};
Hdf5Failure hdf5_failure() {
  Hdf5Failure failure;
  const auto take_first = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    auto& [reason, minor] = *static_cast<Hdf5Failure*>(to);
    if (minor < 0 && error->desc) reason = "HDF5 failure '" + std::string(error->desc) + "'";
    if (minor < 0) minor = error->min_num;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &failure);
  H5Eclear2(H5E_DEFAULT);
  std::replace(failure.reason.begin(), failure.reason.end(), '\n', ' ');
  return failure;
}

/// Real<T> is float for float and for Complex<float>.
template <class T>
constexpr bool is_complex = requires(T value) {
  value.re;
};
template <class T>
constexpr bool is_single = sizeof(T) == (is_complex<T> ? sizeof(Complex<float>) : sizeof(float));
template <class T>
using Real = std::conditional_t<is_single<T>, float, double>;

/// Returns the type of T in memory; a complex number is a compound of two reals with these names.
template <class T>
Handle memory_type(const std::string& subject, const std::string& real_name = "r",
                   const std::string& imaginary_name = "i") {
  const hid_t real = std::is_same_v<Real<T>, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if constexpr (!is_complex<T>) return {H5Tcopy(real), H5Tclose, subject, "a number type"};
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(T)), H5Tclose, subject, "a complex type");
  check(H5Tinsert(type.get(), real_name.c_str(), 0, real), subject, "a complex type");
  check(H5Tinsert(type.get(), imaginary_name.c_str(), sizeof(Real<T>), real), subject, "a complex type");
  return type;
}

/// Selects the block at `leading` in a dataset of `extents`.
void select_block(hid_t space, const Extents& extents, const Extents& leading, const std::string& subject) {
  if (H5Sget_simple_extent_type(space) == H5S_SCALAR) return;  // all of it is selected
  std::vector<hsize_t> start(extents.size(), 0), count(extents.begin(), extents.end());
  for (std::size_t axis = 0; axis < leading.size(); ++axis) {
    if (leading[axis] < 0 || leading[axis] >= extents[axis])
      throw Error(subject, "an index below " + std::to_string(extents[axis]), std::to_string(leading[axis]));
    start[axis] = static_cast<hsize_t>(leading[axis]);
    count[axis] = 1;
  }
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), subject,
        "a selectable block");
}

/// Writes `count` values; without a count, a single one.
void write_attribute_values(const File& file, const std::string& object, const std::string& name,
                            hid_t file_type, hid_t memory_type, std::optional<std::size_t> count,
                            const void* values) {
  const auto where = subject_of(file, object, name);
  const auto space = count ? space_of({static_cast<std::int64_t>(*count)}, where)
                           : Handle(H5Screate(H5S_SCALAR), H5Sclose, where, "a dataspace");
  const Handle parent(H5Oopen(file.id(), object.c_str(), H5P_DEFAULT), H5Oclose, where,
                      "an existing group or dataset");
  const Handle attribute(
      H5Acreate2(parent.get(), name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      where, "an attribute that can be created");
  check(H5Awrite(attribute.get(), memory_type, values), where, "an attribute that can be written");
}

/// Writes all that is selected and closes the dataset.
void write_values(Handle dataset, hid_t type, const void* values, const std::string& subject,
                  hid_t memory_space = H5S_ALL, hid_t space = H5S_ALL) {
  check(H5Dwrite(dataset.get(), type, memory_space, space, H5P_DEFAULT, values), subject,
        "a file that can be written");
  dataset.close(subject);
}

}  // namespace

Handle text_type(std::size_t size, H5T_cset_t characters, const std::string& subject) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, subject, "a string type");
  check(H5Tset_size(type.get(), size), subject, "a string type");
  check(H5Tset_cset(type.get(), characters), subject, "a string type");
  return type;
}

std::string text_of(const Extents& extents) {
  return extents.empty() ? "a single value" : fmt::format("[{}]", fmt::join(extents, "]["));
}

void check(herr_t status, const std::string& subject, std::string_view expected) {
  if (status >= 0) return;
  const auto [reason, minor] = hdf5_failure();
  if (minor == H5E_NOSPACE) throw OutOfMemory(subject, expected, reason);
  throw Error(subject, expected, reason,
              minor == H5E_TRUNCATED ? "the file is cut off: copy or download it again"
              : minor == H5E_CANTLOCKFILE
                  ? "another program, perhaps a notebook, has opened it for writing: close it there"
                  : "");
}

Handle space_of(const Extents& extents, const std::string& subject) {
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, subject,
          "valid extents"};
}

Extents extents_of(const Shape& shape) {
  Extents extents;
  for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
  return extents;
}

Extents extents_of(hid_t space, const std::string& subject) {
  const int rank = H5Sget_simple_extent_ndims(space);
  check(rank, subject, "a simple dataspace");
  std::vector<hsize_t> sizes(rank);
  check(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), subject, "a simple dataspace");
  Extents extents;
  for (const auto size : sizes) {
    if (size > hsize_t{1} << 62) throw Error(subject, "extents below 2^62", std::to_string(size));
    extents.push_back(static_cast<std::int64_t>(size));
  }
  return extents;
}

Handle::Handle(hid_t id, Close closing, const std::string& subject, std::string_view expected)
    : id_(id), close_(closing) {
  if (id < 0) check(-1, subject, expected);
}
Handle::Handle(Handle&& other) noexcept
    : id_(std::exchange(other.id_, -1)), close_(std::exchange(other.close_, nullptr)) {}
Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}
Handle::~Handle() {
  if (id_ >= 0) close_(id_);
}
void Handle::close(const std::string& subject) {
  if (id_ >= 0) check(close_(std::exchange(id_, -1)), subject, "a file that can be written to its end");
}

Dataset::Dataset(hid_t file, std::string subject, const std::string& name) : subject_(std::move(subject)) {
  dataset_ = open_own_dataset(file, name, subject_);
  type_ = {H5Dget_type(dataset_.get()), H5Tclose, subject_, "a readable type"};
  const Handle space(H5Dget_space(dataset_.get()), H5Sclose, subject_, "a readable dataspace");
  extents_ = extents_of(space.get(), subject_);
  if (extents_.empty()) extents_ = {1};
  find_numbers();
  require_stored(dataset_.get(), H5Tget_size(type_.get()), extents_, subject_);
}

void Dataset::find_numbers() {
  const hid_t type = type_.get();
  const auto number_class = H5Tget_class(type);
  if (number_class == H5T_FLOAT || number_class == H5T_INTEGER) return;
  if (number_class == H5T_COMPOUND && H5Tget_nmembers(type) == 2 &&
      H5Tget_member_class(type, 0) == H5T_FLOAT && H5Tget_member_class(type, 1) == H5T_FLOAT)
    for (const auto& [real, imaginary] : {std::pair{"r", "i"}, {"real", "imag"}})
      if (H5Tget_member_index(type, real) == 0 && H5Tget_member_index(type, imaginary) == 1) {
        compound_ = true;
        real_name_ = real, imaginary_name_ = imaginary;
        return;
      }
  throw Error(subject_, "numbers, or complex numbers as a compound of two floats {r, i} or {real, imag}",
              "another type");
}

Extents Dataset::complex_extents() const {
  if (compound_) return extents_;
  if (extents_.empty() || extents_.back() != 2)
    throw Error(subject_, "complex numbers: a compound {r, i}, or a last axis of 2",
                "real numbers " + text_of(extents_));
  return {extents_.begin(), extents_.end() - 1};
}

bool Dataset::exceeds_single() const {
  std::size_t bytes = H5Tget_size(type_.get());
  if (compound_) {
    const Handle part(H5Tget_member_type(type_.get(), 0), H5Tclose, subject_, "a readable type");
    bytes = H5Tget_size(part.get());
  }
  return bytes > (H5Tget_class(type_.get()) == H5T_INTEGER ? sizeof(std::int16_t) : sizeof(float));
}

template <class T>
Array<T> Dataset::read(const Shape& shape, const Extents& leading) const {
  if (!is_complex<T> && compound_) throw Error(subject_, "real numbers", "complex numbers");
  const auto extents = is_complex<T> ? complex_extents() : extents_;
  const auto block = extents_of(shape);
  if (extents.size() != leading.size() + block.size() ||
      !std::equal(block.begin(), block.end(), extents.end() - shape.rank()))
    throw Error(subject_, (leading.empty() ? "" : "blocks of ") + shape.text(), text_of(extents));
  require_input_memory(bytes_of(block, sizeof(T)), subject_);

  Array<T> values(shape);
  if (values.empty()) return values;
  const Handle file_space(H5Dget_space(dataset_.get()), H5Sclose, subject_, "a readable dataspace");
  select_block(file_space.get(), extents_, leading, subject_);
  const bool pairs = is_complex<T> && !compound_;
  const Handle memory_space = space_of({values.size() * (pairs ? 2 : 1)}, subject_);
  const Handle type =
      pairs ? memory_type<Real<T>>(subject_) : memory_type<T>(subject_, real_name_, imaginary_name_);
  check(H5Dread(dataset_.get(), type.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, values.data()),
        subject_, "readable values");
  return values;
}

File File::open(const std::string& path, std::string_view remedy) {
  be_silent();
  const InputFile opened(path, "a file");
  if (H5Fis_hdf5(path.c_str()) <= 0)
    throw Error(path, "an HDF5 file", opened.size() == 0 ? "an empty file" : "another format",
                opened.size() == 0 ? "" : remedy);
  return {path, {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, path, "a complete HDF5 file"}};
}

namespace {

/// Throws Error if the disk, a quota or a limit has no room for the file.
void reserve(const std::string& path, std::uint64_t bytes, const std::string& reported_path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) fail_by_errno(reported_path, "a file that can be written");
  errno = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (errno != 0) fail_by_errno(reported_path, "a file that can be written to its end");
}

}  // namespace

File File::create(const std::string& path, const std::string& reported_path, std::uint64_t expected_bytes) {
  be_silent();
  constexpr auto expected = "a file that can be created";
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, reported_path, expected);
  constexpr std::size_t increment = std::size_t{4} << 20;
  const bool on_disk = expected_bytes > increment;
  constexpr hbool_t write_on_close = 0;
  if (!on_disk) check(H5Pset_fapl_core(access.get(), increment, write_on_close), reported_path, expected);
  // Attributes of more than 64 KiB, of 2,731 slices and more, need the format of HDF5 1.8.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), reported_path, expected);
  // AtomicFile holds it already.
  check(H5Pset_file_locking(access.get(), false, true), reported_path, expected);
  // Neither the root nor anything else in the file states the time of day: the same content is the same file.
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, reported_path, expected);
  check(H5Pset_obj_track_times(creation.get(), false), reported_path, expected);
  File file(reported_path, {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose,
                            reported_path, expected});
  file.destination_ = path;
  if (on_disk) {
    constexpr std::uint64_t metadata = std::uint64_t{4} << 20;
    file.reserved_bytes_ = expected_bytes + metadata;
    reserve(path, file.reserved_bytes_, reported_path);
  }
  return file;
}

std::vector<std::string> File::groups() const {
  constexpr hsize_t most = 1024, longest = 1024;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < most; ++i) {
    char name[longest];
    const auto length =
        H5Lget_name_by_idx(id(), "/", H5_INDEX_NAME, H5_ITER_INC, i, name, longest, H5P_DEFAULT);
    if (length < 0) break;
    H5O_info_t info;
    if (static_cast<hsize_t>(length) < longest && H5Oget_info_by_name(id(), name, &info, H5P_DEFAULT) >= 0 &&
        info.type == H5O_TYPE_GROUP)
      names.emplace_back(name);
  }
  H5Eclear2(H5E_DEFAULT);
  return names;
}

void File::create_group(const std::string& name) {
  constexpr auto expected = "a group that can be created";
  const Handle timeless(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, subject(name), expected);
  check(H5Pset_obj_track_times(timeless.get(), false), subject(name), expected);
  const Handle group(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, timeless.get(), H5P_DEFAULT), H5Gclose,
                     subject(name), expected);
}

Handle File::open_dataset(const std::string& name) const {
  return open_own_dataset(id(), name, subject(name));
}

Handle File::create_dataset(const std::string& name, hid_t type, hid_t space, hid_t properties) {
  constexpr auto expected = "a dataset that can be created";
  const Handle timeless(properties == H5P_DEFAULT ? H5Pcreate(H5P_DATASET_CREATE) : H5Pcopy(properties),
                        H5Pclose, subject(name), expected);
  check(H5Pset_obj_track_times(timeless.get(), false), subject(name), expected);
  return {H5Dcreate2(id(), name.c_str(), type, space, H5P_DEFAULT, timeless.get(), H5P_DEFAULT), H5Dclose,
          subject(name), expected};
}

template <class T>
void File::create(const std::string& name, const Extents& extents) {
  const auto type = memory_type<T>(subject(name));
  create_dataset(name, type.get(), space_of(extents, subject(name)).get());
}

template <class T>
void File::write(const std::string& name, const T* values, const Extents& extents) {
  create<T>(name, extents);
  write_values(open_dataset(name), memory_type<T>(subject(name)).get(), values, subject(name));
}

void File::write(const std::string& name, std::string_view text) {
  const auto where = subject(name);
  const auto type = text_type(std::max<std::size_t>(text.size(), 1), H5T_CSET_UTF8, where);
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), where, "a string type");
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, where, "a dataspace");
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  write_values(create_dataset(name, type.get(), space.get()), type.get(), padded.data(), where);
}

void File::write_list(const std::string& name, const Handle& type, const void* values, std::int64_t count) {
  const auto where = subject(name);
  write_values(create_dataset(name, type.get(), space_of({count}, where).get()), type.get(), values, where);
}

template <class T>
void File::write_block(const std::string& name, const Array<T>& block, const Extents& leading) {
  const auto where = subject(name);
  const auto type = memory_type<T>(where);
  Handle dataset = open_dataset(name);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, where, "a dataspace");
  select_block(space.get(), extents_of(space.get(), where), leading, where);
  const auto memory_space = space_of({block.size()}, where);
  write_values(std::move(dataset), type.get(), block.data(), where, memory_space.get(), space.get());
}

template <class T>
void File::write_rows(const std::string& name, const Array<T>& rows, std::int64_t first) {
  const auto where = subject(name);
  const auto type = memory_type<T>(where);
  Handle dataset = open_dataset(name);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, where, "a dataspace");
  const auto extents = extents_of(rows.shape());
  std::vector<hsize_t> start(extents.size(), 0), count(extents.begin(), extents.end());
  start[0] = static_cast<hsize_t>(first);
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), where,
        "a selectable block");
  const auto memory_space = space_of({rows.size()}, where);
  write_values(std::move(dataset), type.get(), rows.data(), where, memory_space.get(), space.get());
}

bool File::has_attribute(const std::string& object, const std::string& name) const {
  if (!has(object)) return false;
  const htri_t is_there = H5Aexists_by_name(id(), object.c_str(), name.c_str(), H5P_DEFAULT);
  check(is_there, subject_of(*this, object, name), "attributes that can be read");
  return is_there > 0;
}

std::vector<double> File::number_attribute(const std::string& object, const std::string& name) const {
  const auto where = subject_of(*this, object, name);
  const auto attribute = open_attribute(*this, object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose, where, "a readable type");
  const auto number_class = H5Tget_class(type.get());
  if (number_class != H5T_FLOAT && number_class != H5T_INTEGER) throw Error(where, "numbers", "another type");
  const Handle space(H5Aget_space(attribute.get()), H5Sclose, where, "a readable dataspace");
  const auto count = H5Sget_simple_extent_npoints(space.get());
  constexpr hssize_t most = 1 << 24;  // more than volumes in a scan
  if (count < 0 || count > most) throw Error(where, "at most 16 million numbers", fmt::format("{}", count));
  std::vector<double> numbers(static_cast<std::size_t>(count));
  check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, numbers.data()), where, "readable numbers");
  return numbers;
}

void File::write_attribute(const std::string& object, const std::string& name, std::string_view text) {
  const auto type = text_type(text.size() + 1, H5T_CSET_UTF8, subject_of(*this, object, name));
  write_attribute_values(*this, object, name, type.get(), type.get(), {}, std::string(text).c_str());
}
void File::write_attribute(const std::string& object, const std::string& name,
                           const std::vector<double>& numbers) {
  write_attribute_values(*this, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, numbers.size(),
                         numbers.data());
}
void File::write_attribute(const std::string& object, const std::string& name,
                           const std::vector<int>& numbers) {
  write_attribute_values(*this, object, name, H5T_STD_I32LE, H5T_NATIVE_INT, numbers.size(), numbers.data());
}

void File::close_on_disk() {
  hsize_t used = 0;
  check(H5Fget_filesize(id(), &used), path_, "a file that can be completed");
  file_.close(path_);
  // HDF5 leaves what was reserved beyond its end.
  if (::truncate(destination_.c_str(), static_cast<off_t>(used)) != 0)
    fail_by_errno(path_, "a file that can be completed");
}

std::vector<char> File::complete() {
  check(H5Fflush(id(), H5F_SCOPE_LOCAL), path_, "a file that can be completed");
  if (reserved_bytes_ > 0) {
    close_on_disk();
    return {};
  }
  const auto size = H5Fget_file_image(id(), nullptr, 0);
  if (size < 0) check(-1, path_, "a file that can be completed");
  std::vector<char> image(static_cast<std::size_t>(size));
  if (H5Fget_file_image(id(), image.data(), image.size()) != size)
    check(-1, path_, "a file that can be completed");
  file_.close(path_);
  renew_checksum_of_superblock(image);
  return image;
}

void File::close() {
  const auto image = complete();
  if (!image.empty()) write_bytes(destination_, image.data(), image.size(), path_);
}

#define FHD_HDF5_OF(T)                                                                  \
  template Array<T> Dataset::read(const Shape&, const Extents&) const;                  \
  template void File::create<T>(const std::string&, const Extents&);                    \
  template void File::write(const std::string&, const T*, const Extents&);              \
  template void File::write_block(const std::string&, const Array<T>&, const Extents&); \
  template void File::write_rows(const std::string&, const Array<T>&, std::int64_t);
FHD_HDF5_OF(float)
FHD_HDF5_OF(double)
FHD_HDF5_OF(Complex<float>)
FHD_HDF5_OF(Complex<double>)
#undef FHD_HDF5_OF

}  // namespace fhd::io::hdf5
