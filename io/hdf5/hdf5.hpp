#pragma once
// A small, checked interface to the HDF5 C API. Every failure is an fhd::Error whose subject is "file:/dataset"; HDF5 itself
// prints nothing. Rank, type and extents are checked before memory is allocated.
#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/work.hpp"

namespace fhd::io::hdf5 {

/// Has HDF5 not print its error stack. Every thread that uses HDF5 has to call it.
void be_silent();
/// Returns whether this HDF5 library may be used by several threads.
bool allows_threads();

/// Lets one thread use libhdf5. The library has a lock of its own, which changes hands at every call; threads that make or
/// open whole files hold this one and wait once.
class LibraryLock {
 public:
  LibraryLock();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

using Extents = std::vector<std::int64_t>;
/// "[4][4096]"
std::string text_of(const Extents& extents);

/// Owns one HDF5 identifier. Move-only.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  /// Throws Error(subject, expected) with HDF5's own reason when `id` is negative.
  Handle(hid_t id, Close closing, const std::string& subject, std::string_view expected);
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  hid_t get() const { return id_; }
  /// Closes it now. Throws Error if that fails, e.g. because buffered data could not be written.
  void close(const std::string& subject);

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Throws Error(subject, expected) with HDF5's own reason if a status is negative; OutOfMemory if that is the reason.
void check(herr_t status, const std::string& subject, std::string_view expected);

Extents extents_of(const Shape& shape);
/// Returns the extents of a dataspace.
Extents extents_of(hid_t space, const std::string& subject);
/// Returns the type of a text of `size` bytes, or H5T_VARIABLE.
Handle text_type(std::size_t size, H5T_cset_t characters, const std::string& subject);
/// Returns a simple dataspace.
Handle space_of(const Extents& extents, const std::string& subject);

/// A dataset of numbers: real, or complex as a compound of two floats named {r, i} or {real, imag} (as h5py,
/// NumPy and Julia write) or as real numbers with a trailing axis of 2.
class Dataset {
 public:
  Dataset(hid_t file, std::string subject, const std::string& name);

  const std::string& subject() const { return subject_; }
  /// Returns all axes as stored; [1] of a single number without axes.
  const Extents& extents() const { return extents_; }
  /// Returns all axes without the trailing axis of 2 of complex pairs. Throws Error unless the numbers are complex.
  Extents complex_extents() const;

  /// Returns whether stored numbers may exceed single precision: floats of 64 bits, integers of 32.
  bool exceeds_single() const;
  /// Reads the block at `leading` (one index per leading axis), T = float, double, Complex<float> or
  /// Complex<double>; the remaining axes must be exactly `shape`. Throws Error.
  template <class T>
  Array<T> read(const Shape& shape, const Extents& leading = {}) const;
  /// Reads it as `values` in single precision and, if double is asked for and the file has it, also as `in_double`, which
  /// else becomes empty.
  template <class Single, class Double>
  void read(const Shape& shape, const Extents& leading, Precision precision, Array<Single>& values,
            Array<Double>& in_double) const {
    const bool keeps_double = precision == Precision::double_precision && exceeds_single();
    in_double = keeps_double ? read<Double>(shape, leading) : Array<Double>();
    values = keeps_double ? converted<Single>(in_double) : read<Single>(shape, leading);
  }
  hid_t id() const { return dataset_.get(); }

 private:
  void find_numbers();
  std::string subject_;
  Handle dataset_, type_;
  Extents extents_;
  bool compound_ = false;
  std::string real_name_, imaginary_name_;
};

class File {
 public:
  /// Opens a file for reading. Throws Error if it is absent, not HDF5, or truncated.
  /// `remedy` says what to do about a file of another format.
  static File open(const std::string& path, std::string_view remedy = {});
  /// Starts a file that `close` writes to `path`, replacing what is there; messages call it `reported_path`. Until then it is
  /// in memory, because HDF5 1.10 crashes at exit after a write that failed. If `expected_bytes`, which is an upper bound,
  /// exceeds 4 MiB, the file is written to the disk as it comes, where room for all of it is reserved first, so that HDF5
  /// meets no full disk.
  static File create(const std::string& path, const std::string& reported_path,
                     std::uint64_t expected_bytes = 0);

  const std::string& path() const { return path_; }
  hid_t id() const { return file_.get(); }
  /// "file:/name"
  std::string subject(const std::string& name) const { return path_ + ":" + name; }
  /// Returns whether every part of the path `name` ("/dataset/data") exists.
  bool has(const std::string& name) const;
  Dataset dataset(const std::string& name) const { return {id(), subject(name), name}; }
  /// Returns the names of the groups at the root, at most 1024, in alphabetical order.
  std::vector<std::string> groups() const;
  Handle open_dataset(const std::string& name) const;
  Handle create_dataset(const std::string& name, hid_t type, hid_t space, hid_t properties = H5P_DEFAULT);

  void create_group(const std::string& name);
  /// Creates `name` with T = float, double, Complex<float> (stored as {r, i}) or Complex<double>.
  template <class T>
  void write(const std::string& name, const T* values, const Extents& extents);
  template <class T>
  void write(const std::string& name, const Array<T>& values) {
    write(name, values.data(), extents_of(values.shape()));
  }
  void write(const std::string& name, std::string_view text);
  /// Creates a list of `count` values of this type.
  void write_list(const std::string& name, const Handle& type, const void* values, std::int64_t count);
  /// Creates a dataset to be filled block by block with `write_block`.
  template <class T>
  void create(const std::string& name, const Extents& extents);
  /// Writes the block at `leading` (one index per leading axis) of a dataset made by `create`.
  template <class T>
  void write_block(const std::string& name, const Array<T>& block, const Extents& leading);
  /// Writes rows `first` ... of the first axis of such a dataset.
  template <class T>
  void write_rows(const std::string& name, const Array<T>& rows, std::int64_t first);
  std::string read_text(const std::string& name) const;

  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;
  /// Returns the numbers of an attribute. Throws Error.
  std::vector<double> number_attribute(const std::string& object, const std::string& name) const;
  void write_attribute(const std::string& object, const std::string& name, std::string_view text);
  void write_attribute(const std::string& object, const std::string& name,
                       const std::vector<double>& numbers);
  void write_attribute(const std::string& object, const std::string& name, const std::vector<int>& numbers);

  /// Completes a file that `create` started and writes it. Throws Error if that fails (a full disk).
  void close();
  /// Completes it and returns its bytes, which the caller has to write; none of a file that is on the disk. Throws Error.
  std::vector<char> complete();

 private:
  void close_on_disk();
  File(std::string path, Handle file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  std::string destination_;           ///< where `close` writes
  std::uint64_t reserved_bytes_ = 0;  ///< > 0: it is on disk
  Handle file_;
};

}  // namespace fhd::io::hdf5
