#pragma once
// Readouts in ISMRMRD HDF5 files: a group, by convention /dataset, with xml (the header) and data (one record per
// readout: head, trajectory, values).
//
// The readers of libismrmrd are not used: they trust the lengths in a record's head when they copy the arrays. HDF5 reads
// the records with references to their arrays; the arrays are read from the heaps of the file directly, which is faster
// (io/hdf5/global_heap.hpp).
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/global_heap.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

constexpr auto usual_group = "/dataset";
/// Names of the datasets of a group "/name".
inline std::string header_name(const std::string& group) { return group + "/xml"; }
inline std::string records_name(const std::string& group) { return group + "/data"; }

/// A record as HDF5 writes it to a file.
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
  friend class RecordReader;
  std::string subject_;
  hdf5::HeapLayout heap_layout_;
  hdf5::Handle dataset_, type_, trajectory_numbers_, value_numbers_;
  std::int64_t count_ = 0;
};

/// Reads the readouts of a file one at a time, and heads ahead. For one thread; several readers may work concurrently
/// where libhdf5 allows threads.
class RecordReader {
 public:
  /// Reads `records`, which must outlive it. Without values, which are then empty, it is much faster.
  RecordReader(const RecordDataset& records, bool with_values);
  /// Returns a readout, whose arrays live until the next call. Throws Error.
  Readout operator()(std::int64_t number);

 private:
  struct Entry {
    ReadoutHead head;
    hdf5::HeapReference trajectory, values;
  };
  /// Reads one of the two arrays of readouts.
  class Lists {
   public:
    Lists(const hdf5::HeapLayout& layout, const hdf5::Handle& number);
    std::span<const float> floats(const hdf5::HeapReference& reference, const char*& wrong);

   private:
    hdf5::GlobalHeap heap_;
    hid_t number_;  ///< as stored
    std::size_t number_bytes_;
    bool is_native_;
    std::vector<float> converted_;  ///< of the last list, where it is not as in memory
  };
  void read_ahead(std::int64_t number);

  const RecordDataset& records_;
  const bool with_values_;
  hdf5::Handle transfer_, file_space_;
  std::vector<Entry> block_;  ///< readouts first_ ...
  std::int64_t first_ = 0;
  Lists trajectories_, values_;  ///< heaps of their own: some writers put them far from each other
};

/// Writes the header, then `count` readouts, some at a time, with the packed heads of the format (340 bytes).
class RecordWriter {
 public:
  RecordWriter(hdf5::File& file, const std::string& header, std::int64_t count);
  void write(const Readout& readout);
  /// Writes the last readouts; without it they are lost.
  void close();

 private:
  void flush();
  std::string subject_;
  hdf5::Handle type_, dataset_, transfer_;
  hsize_t next_ = 0;
  std::vector<Record> waiting_;  ///< whose arrays are in numbers_, one after the other
  std::vector<float> numbers_;
};

}  // namespace fhd::io::mrd
