#pragma once
// Readouts in ISMRMRD HDF5 files: a group, by convention /dataset, with xml (the header) and data (one record per
// readout: head, trajectory, values).
//
// libismrmrd's readers are not used: they trust the lengths in a record's head when they copy the arrays. The
// records are read through HDF5 with the same type, the lengths as stored. Where nothing is compressed, as usual, their
// arrays are read without HDF5 (global_heap.hpp); what is not as expected there is read again through HDF5.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5.hpp"
#include "io/scan/mrd/global_heap.hpp"
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
  /// Whether arrays are read without HDF5.
  bool has_plain_layout() const { return layout_.descriptor >= 0; }

 private:
  friend class RecordReader;
  /// How a record is stored, where its arrays can be read without HDF5.
  struct Layout {
    int descriptor = -1;  ///< of the open file; -1: they cannot
    std::size_t record_bytes = 0, head_bytes = 0, head_offset = 0, trajectory_offset = 0, values_offset = 0;
    std::int64_t chunk_records = 0;
  };
  void find_layout(hid_t file, hid_t stored_type);
  std::string subject_;
  hdf5::Handle dataset_, type_, type_without_values_, head_type_, stored_head_type_;
  std::int64_t count_ = 0;
  Layout layout_;
};

/// Delivers the readouts of a file one at a time. Asked for in their order it reads some ahead, more and more of them,
/// up to 256 and 8 MiB; what is damaged ahead does not matter until it is asked for. For one thread; several readers
/// may be at work side by side where libhdf5 allows threads.
class RecordReader {
 public:
  /// Of `records`, which must outlive it. Without values, which are then empty, it is much faster.
  RecordReader(const RecordDataset& records, bool with_values);
  /// Its arrays live until the next call. Throws Error.
  Readout operator()(std::int64_t number);

 private:
  /// Memory for the arrays of the readouts at hand.
  class Pool {
   public:
    void clear(bool may_grow);
    static void* take(std::size_t bytes, void* pool);

   private:
    std::unique_ptr<char[]> bytes_;
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<char[]>> large_;  ///< what does not fit
    bool may_grow_ = false;
  };
  /// What a record holds in the place of its arrays.
  struct StoredLists {
    StoredList trajectory, values;
  };
  void read(std::int64_t first, std::int64_t count);
  void read_through_hdf5(std::int64_t number, bool goes_on);
  bool read_lists(std::int64_t first, std::int64_t count);
  const char* chunk_of(std::int64_t number);
  std::optional<Readout> out_of_heap(std::int64_t number);
  std::int64_t count_ahead() const;

  const RecordDataset& records_;
  const bool with_values_;
  hid_t type_;
  hdf5::Handle transfer_, file_space_;
  Pool pool_;
  std::vector<Record> block_;  ///< readouts first_ ...
  std::int64_t first_ = 0;
  GlobalHeap trajectories_, values_;  ///< one each: some writers put them into places far from each other
  std::vector<StoredLists> lists_;    ///< of the readouts at hand; empty: their arrays are in pool_
  std::vector<char> chunk_;           ///< as stored
  std::int64_t chunk_number_ = -1;
};

/// Writes the header, then `count` readouts, some at a time, with the packed heads of the format (340 bytes).
class RecordWriter {
 public:
  RecordWriter(hdf5::File& file, const std::string& header, std::int64_t count);
  void write(const Readout& readout);
  /// Without it the last of them are not written.
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
