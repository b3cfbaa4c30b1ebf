#include "io/scan/mrd/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "io/hdf5/compound.hpp"
#include "io/hdf5/hdf5_library.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

using hdf5::Handle;
using hdf5::HeapReference;

Handle head_type(const std::string& subject) {
  const auto counters =
      FHD_COMPOUND(EncodingCounters, subject, H5I_INVALID_HID, kspace_encode_step_1, kspace_encode_step_2,
                   average, slice, contrast, phase, repetition, set, segment, user);
  return FHD_COMPOUND(ReadoutHead, subject, counters.get(), version, flags, measurement_uid, scan_counter,
                      acquisition_time_stamp, physiology_time_stamp, number_of_samples, available_channels,
                      active_channels, channel_mask, discard_pre, discard_post, center_sample,
                      encoding_space_ref, trajectory_dimensions, sample_time_us, position, read_dir,
                      phase_dir, slice_dir, patient_table_position, idx, user_int, user_float);
}

Handle record_type(const std::string& subject) {
  const Handle floats(H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose, subject, "the ISMRMRD record type");
  const auto head = head_type(subject);
  return hdf5::compound_type(sizeof(Record),
                             {{"head", offsetof(Record, head), head.get()},
                              {"traj", offsetof(Record, trajectory), floats.get()},
                              {"data", offsetof(Record, values), floats.get()}},
                             subject);
}

/// A record as HDF5 reads it, with references to lists that are not followed.
struct ReferringRecord {
  ReadoutHead head;
  char trajectory[hdf5::most_reference_bytes], values[hdf5::most_reference_bytes];
};

Handle referring_type(const hdf5::HeapLayout& layout, const std::string& subject) {
  const auto head = head_type(subject), reference = hdf5::reference_type(layout, subject);
  return hdf5::compound_type(sizeof(ReferringRecord),
                             {{"head", offsetof(ReferringRecord, head), head.get()},
                              {"traj", offsetof(ReferringRecord, trajectory), reference.get()},
                              {"data", offsetof(ReferringRecord, values), reference.get()}},
                             subject);
}

/// Returns the type of the numbers of a list that is a member of a record.
Handle number_type(hid_t record, const char* member, const std::string& subject) {
  const auto index = static_cast<unsigned>(H5Tget_member_index(record, member));
  const Handle list(H5Tget_member_type(record, index), H5Tclose, subject, "a readable type");
  return {H5Tget_super(list.get()), H5Tclose, subject, "a readable type"};
}

/// Throws Error unless `type` is a head and two lists of floats.
void require_record_type(hid_t type, const std::string& subject) {
  constexpr auto expected = "ISMRMRD readouts {head, traj, data}";
  if (H5Tget_class(type) != H5T_COMPOUND) throw Error(subject, expected, "another type");
  for (const std::string name : {"head", "traj", "data"}) {
    const int member = H5Tget_member_index(type, name.c_str());
    if (member < 0) throw Error(subject, expected, "no '" + name + "'");
    const auto found = H5Tget_member_class(type, static_cast<unsigned>(member));
    const bool right =
        name == "head"
            ? found == H5T_COMPOUND
            : found == H5T_VLEN && H5Tget_class(number_type(type, name.c_str(), subject).get()) == H5T_FLOAT;
    if (!right) throw Error(subject, expected, "another type of '" + name + "'");
  }
}

hvl_t list_of(std::span<const float> floats) { return {floats.size(), const_cast<float*>(floats.data())}; }

void select(const Handle& space, hsize_t first, hsize_t count, const std::string& subject,
            const char* expected) {
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), subject,
              expected);
}

void write_header(hdf5::File& file, const std::string& header) {
  const auto name = header_name(usual_group);
  const char* text = header.c_str();
  file.write_list(name, hdf5::text_type(H5T_VARIABLE, H5T_CSET_ASCII, file.subject(name)), &text, 1);
}

}  // namespace

RecordDataset::RecordDataset(const hdf5::File& file, const std::string& group)
    : subject_(file.subject(records_name(group))), dataset_(file.open_dataset(records_name(group))) {
  const Handle stored(H5Dget_type(dataset_.get()), H5Tclose, subject_, "a readable type");
  require_record_type(stored.get(), subject_);
  const Handle space(H5Dget_space(dataset_.get()), H5Sclose, subject_, "a readable dataspace");
  const auto extents = hdf5::extents_of(space.get(), subject_);
  if (extents.size() != 1 || extents[0] == 0)
    throw Error(subject_, "[readout] with at least one", hdf5::text_of(extents));
  count_ = extents[0];
  heap_layout_ = hdf5::heap_layout_of(file.id(), subject_);
  // HDF5 states the size in memory, where a list takes as much as a reference with an address of 8 bytes.
  constexpr std::size_t lists = 2;
  hdf5::require_stored(dataset_.get(),
                       H5Tget_size(stored.get()) - lists * (sizeof(hvl_t) - heap_layout_.reference_bytes()),
                       extents, subject_);
  type_ = referring_type(heap_layout_, subject_);
  trajectory_numbers_ = number_type(stored.get(), "traj", subject_);
  value_numbers_ = number_type(stored.get(), "data", subject_);
}

namespace {

/// Returns properties with small buffers: HDF5 clears two for every transfer, by default of 1 MiB, which takes longer than
/// reading a readout.
Handle transfer_properties(const std::string& subject) {
  Handle properties(H5Pcreate(H5P_DATASET_XFER), H5Pclose, subject, "memory");
  constexpr std::size_t buffer_bytes = 1 << 16;
  hdf5::check(H5Pset_buffer(properties.get(), buffer_bytes, nullptr, nullptr), subject, "memory");
  return properties;
}

constexpr hsize_t records_per_chunk = 64;

}  // namespace

RecordReader::RecordReader(const RecordDataset& records, bool with_values)
    : records_(records),
      with_values_(with_values),
      transfer_(transfer_properties(records.subject_)),
      file_space_(H5Dget_space(records.dataset_.get()), H5Sclose, records.subject_, "a readable dataspace"),
      trajectories_(records.heap_layout_, records.trajectory_numbers_),
      values_(records.heap_layout_, records.value_numbers_) {}

/// Reads the heads of some readouts from `number` on, and where their arrays are.
void RecordReader::read_ahead(std::int64_t number) {
  // Each read compares all types anew. With values the readouts of a volume of usual size, without them those of all.
  const std::int64_t most = with_values_ ? 128 : 512;
  const auto& subject = records_.subject_;
  const auto count = std::min(most, records_.count() - number);
  block_.clear();  // nothing is at hand where the reading fails
  first_ = number;
  std::vector<ReferringRecord> found(static_cast<std::size_t>(count));
  const hdf5::LibraryLock lock;
  select(file_space_, static_cast<hsize_t>(number), static_cast<hsize_t>(count), subject,
         "readable readouts");
  const auto space = hdf5::space_of({count}, subject);
  hdf5::check(H5Dread(records_.dataset_.get(), records_.type_.get(), space.get(), file_space_.get(),
                      transfer_.get(), found.data()),
              subject, "readable readouts");
  for (const auto& record : found)
    block_.push_back({record.head, records_.heap_layout_.reference_at(record.trajectory),
                      records_.heap_layout_.reference_at(record.values)});
}

Readout RecordReader::operator()(std::int64_t number) {
  if (number < first_ || number >= first_ + static_cast<std::int64_t>(block_.size())) read_ahead(number);
  const auto& entry = block_[static_cast<std::size_t>(number - first_)];
  const auto list = [&](Lists& lists, const HeapReference& reference, const char* member) {
    const char* wrong = nullptr;
    const auto floats = lists.floats(reference, wrong);
    if (wrong != nullptr)
      throw Error(records_.subject_ + "[" + std::to_string(number) + "]." + member,
                  "a list of numbers in a heap of the file", wrong, "the file is damaged");
    return floats;
  };
  return {entry.head, list(trajectories_, entry.trajectory, "traj"),
          with_values_ ? list(values_, entry.values, "data") : std::span<const float>()};
}

RecordReader::Lists::Lists(const hdf5::HeapLayout& layout, const Handle& number)
    : heap_(layout),
      number_(number.get()),
      number_bytes_(H5Tget_size(number.get())),
      is_native_(H5Tequal(number.get(), H5T_IEEE_F32LE) > 0) {}

/// Reads a list. `wrong` tells what is wrong, if anything.
std::span<const float> RecordReader::Lists::floats(const HeapReference& reference, const char*& wrong) {
  const auto found = heap_.value(reference, number_bytes_);
  wrong = found ? nullptr : "a reference to none of this length";
  if (!found || found->empty()) return {};
  const char* const bytes = found->data();
  const std::size_t count = reference.length;
  if (is_native_ && reinterpret_cast<std::uintptr_t>(bytes) % alignof(float) == 0)
    return {reinterpret_cast<const float*>(bytes), count};
  // Converted in place: room for the longer of the two.
  converted_.resize(count * std::max<std::size_t>((number_bytes_ + sizeof(float) - 1) / sizeof(float), 1));
  std::memcpy(converted_.data(), bytes, found->size());
  if (!is_native_ &&
      H5Tconvert(number_, H5T_NATIVE_FLOAT, count, converted_.data(), nullptr, H5P_DEFAULT) < 0)
    wrong = "numbers that cannot be converted";
  return {converted_.data(), count};
}

RecordWriter::RecordWriter(hdf5::File& file, const std::string& header, std::int64_t count)
    : subject_(file.subject(records_name(usual_group))), transfer_(transfer_properties(subject_)) {
  file.create_group(usual_group);
  write_header(file, header);
  type_ = record_type(subject_);
  // The padding that members have in memory is left out: readers of the head's bytes (the Python package) take them for
  // the format's own struct.
  const Handle packed(H5Tcopy(type_.get()), H5Tclose, subject_, "the ISMRMRD record type");
  hdf5::check(H5Tpack(packed.get()), subject_, "the ISMRMRD record type");
  // Extendible, as ISMRMRD programs append to their files.
  const hsize_t size = static_cast<hsize_t>(count), unlimited = H5S_UNLIMITED,
                chunk = std::min<hsize_t>(size, records_per_chunk);
  const Handle space(H5Screate_simple(1, &size, &unlimited), H5Sclose, subject_, "valid extents");
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, subject_, "a dataset that can be created");
  hdf5::check(H5Pset_chunk(properties.get(), 1, &chunk), subject_, "a dataset that can be created");
  dataset_ = file.create_dataset(records_name(usual_group), packed.get(), space.get(), properties.get());
}

void RecordWriter::write(const Readout& readout) {
  constexpr std::size_t most_numbers = 1 << 20;  // 4 MiB
  if (waiting_.size() == records_per_chunk || numbers_.size() > most_numbers) flush();
  waiting_.push_back({readout.head, list_of(readout.trajectory), list_of(readout.values)});
  for (const auto list : {readout.trajectory, readout.values})
    numbers_.insert(numbers_.end(), list.begin(), list.end());
}

void RecordWriter::flush() {
  const hsize_t count = waiting_.size();
  if (count == 0) return;
  float* numbers = numbers_.data();
  for (auto& record : waiting_)
    for (auto* list : {&record.trajectory, &record.values}) {
      list->p = numbers;
      numbers += list->len;
    }
  const Handle file_space(H5Dget_space(dataset_.get()), H5Sclose, subject_, "a dataspace");
  select(file_space, next_, count, subject_, "a valid readout");
  const auto memory_space = hdf5::space_of({static_cast<std::int64_t>(count)}, subject_);
  hdf5::check(H5Dwrite(dataset_.get(), type_.get(), memory_space.get(), file_space.get(), transfer_.get(),
                       waiting_.data()),
              subject_, "a file that can be written");
  next_ += count;
  waiting_.clear();
  numbers_.clear();
}

void RecordWriter::close() {
  flush();
  dataset_.close(subject_);
}

}  // namespace fhd::io::mrd
