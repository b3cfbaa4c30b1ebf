#pragma once
// Readouts in ISMRMRD HDF5 files: a group, by convention /dataset, with xml (the header) and data (one record per
// readout: head, trajectory, values).
//
// libismrmrd's readers are not used: they trust the lengths in a record's head when they copy the arrays. The
// records are read through HDF5 with the same type, the lengths as stored.
#include <string>
#include <vector>

#include "io/hdf5.hpp"
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

constexpr auto usual_group = "/dataset";
/// Of a group "/name".
inline std::string header_name(const std::string& group) { return group + "/xml"; }
inline std::string records_name(const std::string& group) { return group + "/data"; }

/// A record as HDF5 fills it.
struct Record {
  ReadoutHead head;
  hvl_t trajectory, values;  ///< float, as those of Readout
};

/// The readouts of an open file.
class RecordDataset {
 public:
  /// Throws Error unless the group has a list of at least one readout.
  RecordDataset(const hdf5::File& file, const std::string& group);
  std::int64_t count() const { return count_; }

 private:
  friend class RecordBlock;
  std::string subject_;
  hdf5::Handle dataset_, type_, type_without_values_;
  std::int64_t count_ = 1;
};

/// Readouts [first, first + count) of a file; owns the arrays that HDF5 allocates for them.
class RecordBlock {
 public:
  RecordBlock(const RecordDataset& records, std::int64_t first, std::int64_t count, bool with_values);
  RecordBlock(const RecordBlock&) = delete;
  RecordBlock& operator=(const RecordBlock&) = delete;
  ~RecordBlock();
  /// Its arrays are those of this block; `values` is empty unless asked for.
  Readout operator[](std::int64_t i) const;

 private:
  std::vector<Record> records_;
  hid_t type_;
  hdf5::Handle space_;
};

/// Writes the header, then `count` readouts one by one, with the packed heads of the format (340 bytes).
class RecordWriter {
 public:
  RecordWriter(hdf5::File& file, const std::string& header, std::int64_t count);
  void write(const Readout& readout);
  void close() { dataset_.close(subject_); }

 private:
  std::string subject_;
  hdf5::Handle type_, dataset_;
  hsize_t next_ = 0;
};

}  // namespace fhd::io::mrd
