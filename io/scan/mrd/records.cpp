#include "io/scan/mrd/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

using hdf5::Handle;

template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
}

struct Member {
  const char* name;
  std::size_t offset;
  hid_t type;
  hsize_t count = 0;  ///< of an array, else 0
};

/// A member of a struct, which has the same name in the file.
#define FHD_MEMBER(Struct, member)                                              \
  Member {                                                                      \
#member, offsetof(Struct, member),                                          \
        native_type < std::remove_all_extents_t < decltype(Struct::member)>>(), \
        std::extent_v < decltype(Struct::member)>                               \
  }

Handle compound_type(std::size_t size, const std::vector<Member>& members, const std::string& subject) {
  constexpr auto expected = "the ISMRMRD record type";
  Handle type(H5Tcreate(H5T_COMPOUND, size), H5Tclose, subject, expected);
  for (const auto& [name, offset, member, count] : members) {
    Handle array;
    if (count > 0) array = {H5Tarray_create2(member, 1, &count), H5Tclose, subject, expected};
    hdf5::check(H5Tinsert(type.get(), name, offset, count > 0 ? array.get() : member), subject, expected);
  }
  return type;
}

Handle head_type(const std::string& subject) {
  using C = EncodingCounters;
  using H = ReadoutHead;
  const auto counters = compound_type(
      sizeof(C),
      {FHD_MEMBER(C, kspace_encode_step_1), FHD_MEMBER(C, kspace_encode_step_2), FHD_MEMBER(C, average),
       FHD_MEMBER(C, slice), FHD_MEMBER(C, contrast), FHD_MEMBER(C, phase), FHD_MEMBER(C, repetition),
       FHD_MEMBER(C, set), FHD_MEMBER(C, segment), FHD_MEMBER(C, user)},
      subject);
  return compound_type(sizeof(H),
                       {FHD_MEMBER(H, version),
                        FHD_MEMBER(H, flags),
                        FHD_MEMBER(H, measurement_uid),
                        FHD_MEMBER(H, scan_counter),
                        FHD_MEMBER(H, acquisition_time_stamp),
                        FHD_MEMBER(H, physiology_time_stamp),
                        FHD_MEMBER(H, number_of_samples),
                        FHD_MEMBER(H, available_channels),
                        FHD_MEMBER(H, active_channels),
                        FHD_MEMBER(H, channel_mask),
                        FHD_MEMBER(H, discard_pre),
                        FHD_MEMBER(H, discard_post),
                        FHD_MEMBER(H, center_sample),
                        FHD_MEMBER(H, encoding_space_ref),
                        FHD_MEMBER(H, trajectory_dimensions),
                        FHD_MEMBER(H, sample_time_us),
                        FHD_MEMBER(H, position),
                        FHD_MEMBER(H, read_dir),
                        FHD_MEMBER(H, phase_dir),
                        FHD_MEMBER(H, slice_dir),
                        FHD_MEMBER(H, patient_table_position),
                        Member{"idx", offsetof(H, idx), counters.get()},
                        FHD_MEMBER(H, user_int),
                        FHD_MEMBER(H, user_float)},
                       subject);
}

Handle record_type(bool with_values, const std::string& subject) {
  const Handle floats(H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose, subject, "the ISMRMRD record type");
  const auto head = head_type(subject);
  std::vector<Member> members{{"head", offsetof(Record, head), head.get()},
                              {"traj", offsetof(Record, trajectory), floats.get()}};
  if (with_values) members.push_back({"data", offsetof(Record, values), floats.get()});
  return compound_type(sizeof(Record), members, subject);
}

/// Throws Error unless `type` is that of a record: a head and two lists of floats.
void require_record_type(hid_t type, const std::string& subject) {
  constexpr auto expected = "ISMRMRD readouts {head, traj, data}";
  if (H5Tget_class(type) != H5T_COMPOUND) throw Error(subject, expected, "another type");
  for (const std::string name : {"head", "traj", "data"}) {
    const int member = H5Tget_member_index(type, name.c_str());
    if (member < 0) throw Error(subject, expected, "no '" + name + "'");
    const auto wanted = name == "head" ? H5T_COMPOUND : H5T_VLEN;
    bool right = H5Tget_member_class(type, static_cast<unsigned>(member)) == wanted;
    if (right && wanted == H5T_VLEN) {
      const Handle array(H5Tget_member_type(type, static_cast<unsigned>(member)), H5Tclose, subject,
                         "a readable type");
      const Handle number(H5Tget_super(array.get()), H5Tclose, subject, "a readable type");
      right = H5Tget_class(number.get()) == H5T_FLOAT;
    }
    if (!right) throw Error(subject, expected, "another type of '" + name + "'");
  }
}

std::span<const float> floats_of(const hvl_t& list) { return {static_cast<const float*>(list.p), list.len}; }
hvl_t list_of(std::span<const float> floats) { return {floats.size(), const_cast<float*>(floats.data())}; }

void select(const Handle& space, hsize_t first, hsize_t count, const std::string& subject,
            const char* expected) {
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), subject,
              expected);
}

void write_header(hdf5::File& file, const std::string& header) {
  const auto name = header_name(usual_group), subject = file.subject(name);
  const auto type = hdf5::text_type(H5T_VARIABLE, H5T_CSET_ASCII, subject);
  Handle dataset = file.create_dataset(name, type.get(), hdf5::space_of({1}, subject).get());
  const char* text = header.c_str();
  hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &text), subject,
              "a file that can be written");
  dataset.close(subject);
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
  hdf5::require_stored(dataset_.get(), stored.get(), extents, subject_);
  type_ = record_type(true, subject_);
  type_without_values_ = record_type(false, subject_);
  head_type_ = head_type(subject_);
  find_layout(file.id(), stored.get());
}

namespace {

/// Whether the file is read through one descriptor, with addresses and sizes of 8 bytes that count from its start.
bool has_plain_addresses(hid_t file, const std::string& subject) {
  const Handle creation(H5Fget_create_plist(file), H5Pclose, subject, "a readable file"),
      access(H5Fget_access_plist(file), H5Pclose, subject, "a readable file");
  hsize_t user_block = 1;
  std::size_t address_bytes = 0, size_bytes = 0;
  return H5Pget_userblock(creation.get(), &user_block) >= 0 && user_block == 0 &&
         H5Pget_sizes(creation.get(), &address_bytes, &size_bytes) >= 0 && address_bytes == 8 &&
         size_bytes == 8 && H5Pget_driver(access.get()) == H5FD_SEC2;
}

/// Whether a member of a record is a list of floats as they are in memory here.
bool holds_native_floats(hid_t record, const char* member, const std::string& subject) {
  const auto index = static_cast<unsigned>(H5Tget_member_index(record, member));
  const Handle list(H5Tget_member_type(record, index), H5Tclose, subject, "a readable type");
  const Handle number(H5Tget_super(list.get()), H5Tclose, subject, "a readable type");
  return H5Tequal(number.get(), H5T_IEEE_F32LE) > 0;
}

/// Records in a chunk of what is stored without filters; 0 where it is not so.
std::int64_t plain_chunk(hid_t dataset, const std::string& subject) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose, subject, "a readable layout");
  hsize_t records = 0;
  if (H5Pget_layout(properties.get()) != H5D_CHUNKED || H5Pget_nfilters(properties.get()) != 0 ||
      H5Pget_chunk(properties.get(), 1, &records) != 1)
    return 0;
  constexpr hsize_t most = 1 << 16;
  return records <= most ? static_cast<std::int64_t>(records) : 0;
}

}  // namespace

/// A list is stored as its length (4 bytes), the address of its collection (8) and its index there (4): as long as
/// hvl_t, so that the offsets of the type are those of the file.
void RecordDataset::find_layout(hid_t file, hid_t stored_type) {
  static_assert(sizeof(hvl_t) == 16);
  const auto chunk_records = plain_chunk(dataset_.get(), subject_);
  if (chunk_records == 0 || !has_plain_addresses(file, subject_) ||
      !holds_native_floats(stored_type, "traj", subject_) ||
      !holds_native_floats(stored_type, "data", subject_))
    return;
  const auto offset_of = [&](const char* member) {
    return H5Tget_member_offset(stored_type, static_cast<unsigned>(H5Tget_member_index(stored_type, member)));
  };
  int* descriptor = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)) < 0 ||
      descriptor == nullptr)
    return;
  const auto head = static_cast<unsigned>(H5Tget_member_index(stored_type, "head"));
  stored_head_type_ = {H5Tget_member_type(stored_type, head), H5Tclose, subject_, "a readable type"};
  const Layout layout{*descriptor,       H5Tget_size(stored_type), H5Tget_size(stored_head_type_.get()),
                      offset_of("head"), offset_of("traj"),        offset_of("data"),
                      chunk_records};
  constexpr std::size_t most_chunk_bytes = 1 << 24;  // more are no chunk of records, but damage
  if (std::max(layout.trajectory_offset, layout.values_offset) + sizeof(hvl_t) <= layout.record_bytes &&
      layout.head_offset + layout.head_bytes <= layout.record_bytes &&
      layout.record_bytes <= most_chunk_bytes / static_cast<std::size_t>(chunk_records))
    layout_ = layout;
}

namespace {

/// HDF5 clears two buffers for every transfer, of 1 MiB each unless told otherwise: longer than reading a readout.
Handle transfer_properties(const std::string& subject) {
  Handle properties(H5Pcreate(H5P_DATASET_XFER), H5Pclose, subject, "memory");
  constexpr std::size_t buffer_bytes = 1 << 16;
  hdf5::check(H5Pset_buffer(properties.get(), buffer_bytes, nullptr, nullptr), subject, "memory");
  return properties;
}

constexpr hsize_t records_per_chunk = 64;
constexpr std::size_t pool_bytes = 8 << 20;
constexpr std::int64_t most_records = 256;

}  // namespace

void RecordReader::Pool::clear(bool may_grow) {
  used_ = 0;
  large_.clear();
  may_grow_ = may_grow;
}

void* RecordReader::Pool::take(std::size_t bytes, void* pool) {
  auto& self = *static_cast<Pool*>(pool);
  constexpr std::size_t alignment = 64;
  const auto needed = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (!self.bytes_) self.bytes_.reset(new (std::nothrow) char[pool_bytes]);
  if (self.bytes_ && bytes <= pool_bytes && needed <= pool_bytes - self.used_) {
    self.used_ += needed;
    return self.bytes_.get() + self.used_ - needed;
  }
  if (!self.may_grow_) return nullptr;  // HDF5 gives up
  std::unique_ptr<char[]> large(new (std::nothrow) char[bytes]);
  char* const memory = large.get();
  if (memory) self.large_.push_back(std::move(large));
  return memory;
}

RecordReader::RecordReader(const RecordDataset& records, bool with_values)
    : records_(records),
      with_values_(with_values),
      type_((with_values ? records.type_ : records.type_without_values_).get()),
      trajectories_(records.layout_.descriptor),
      values_(records.layout_.descriptor) {
  const auto& subject = records.subject_;
  transfer_ = transfer_properties(subject);
  file_space_ = {H5Dget_space(records.dataset_.get()), H5Sclose, subject, "a readable dataspace"};
}

void RecordReader::read(std::int64_t first, std::int64_t count) {
  const auto& subject = records_.subject_;
  block_.clear();  // nothing is at hand where the reading fails
  lists_.clear();
  pool_.clear(count == 1);
  std::vector<Record> block(static_cast<std::size_t>(count));
  hdf5::check(H5Pset_vlen_mem_manager(
                  transfer_.get(), Pool::take, &pool_, [](void*, void*) {}, nullptr),
              subject, "memory");
  select(file_space_, static_cast<hsize_t>(first), static_cast<hsize_t>(count), subject, "readable readouts");
  const auto space = hdf5::space_of({count}, subject);
  hdf5::check(
      H5Dread(records_.dataset_.get(), type_, space.get(), file_space_.get(), transfer_.get(), block.data()),
      subject, "readable readouts");
  block_ = std::move(block);
  first_ = first;
}

/// The chunk of a readout, as stored; null where it is not as expected.
const char* RecordReader::chunk_of(std::int64_t number) {
  const auto& layout = records_.layout_;
  const auto wanted = number / layout.chunk_records;
  if (wanted == chunk_number_) return chunk_.data();
  chunk_number_ = -1;
  const hid_t dataset = records_.dataset_.get();
  const hsize_t first = static_cast<hsize_t>(wanted * layout.chunk_records);
  const auto bytes = static_cast<std::size_t>(layout.chunk_records) * layout.record_bytes;
  hsize_t stored = 0;
  unsigned left_out = 0;
  haddr_t place = 0;
  std::uint32_t filters = 0;
  // H5Dread_chunk writes as many bytes as the index of the chunks states; H5Dget_chunk_storage_size tells what there should be.
  if (H5Dget_chunk_info_by_coord(dataset, &first, &left_out, &place, &stored) < 0 || stored != bytes)
    return nullptr;
  chunk_.resize(bytes);
  if (H5Dread_chunk(dataset, H5P_DEFAULT, &first, &filters, chunk_.data()) < 0 || filters != 0)
    return nullptr;
  chunk_number_ = wanted;
  return chunk_.data();
}

/// Heads of readouts, and where their arrays are; false where that is not as expected.
bool RecordReader::read_lists(std::int64_t first, std::int64_t count) {
  const auto& layout = records_.layout_;
  block_.clear();
  lists_.clear();
  if (!records_.has_plain_layout()) return false;
  std::vector<Record> block(static_cast<std::size_t>(count));
  std::vector<StoredLists> lists(block.size());
  std::vector<char> heads(block.size() * std::max(layout.head_bytes, sizeof(ReadoutHead))),
      background(block.size() * sizeof(ReadoutHead));
  const auto list_at = [](const char* at) {
    StoredList list;
    std::memcpy(&list.length, at, 4);
    std::memcpy(&list.address, at + 4, 8);
    std::memcpy(&list.index, at + 12, 4);
    return list;
  };
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto number = first + static_cast<std::int64_t>(i);
    const char* record = chunk_of(number);
    if (record == nullptr) return false;
    record += static_cast<std::size_t>(number % layout.chunk_records) * layout.record_bytes;
    lists[i] = {list_at(record + layout.trajectory_offset), list_at(record + layout.values_offset)};
    std::memcpy(heads.data() + i * layout.head_bytes, record + layout.head_offset, layout.head_bytes);
  }
  if (H5Tconvert(records_.stored_head_type_.get(), records_.head_type_.get(), block.size(), heads.data(),
                 background.data(), H5P_DEFAULT) < 0)
    return false;
  for (std::size_t i = 0; i < block.size(); ++i)
    std::memcpy(&block[i].head, heads.data() + i * sizeof(ReadoutHead), sizeof(ReadoutHead));
  block_ = std::move(block);
  lists_ = std::move(lists);
  first_ = first;
  return true;
}

/// A readout at hand, with its arrays; empty where they are not there.
std::optional<Readout> RecordReader::out_of_heap(std::int64_t number) {
  const auto i = static_cast<std::size_t>(number - first_);
  const auto trajectory = trajectories_.floats(lists_[i].trajectory);
  const auto values = with_values_ ? values_.floats(lists_[i].values) : std::span<const float>();
  if (!trajectory || !values) return std::nullopt;
  return Readout{block_[i].head, *trajectory, *values};
}

/// How many to read behind those at hand: twice as many, as far as they will fit.
std::int64_t RecordReader::count_ahead() const {
  std::size_t largest = sizeof(float);
  for (const auto& record : block_)
    largest = std::max(largest, sizeof(float) * (record.trajectory.len + record.values.len));
  const auto fitting = static_cast<std::int64_t>(pool_bytes / 2 / largest);
  const auto next = first_ + static_cast<std::int64_t>(block_.size());
  return std::clamp(std::min({2 * (next - first_), most_records, fitting, records_.count() - next}),
                    std::int64_t{1}, most_records);
}

/// `goes_on`: behind those at hand.
void RecordReader::read_through_hdf5(std::int64_t number, bool goes_on) {
  const auto count = goes_on ? count_ahead() : 1;
  try {
    read(number, count);
  } catch (const Error&) {
    if (count == 1) throw;
    read(number, 1);
  }
}

Readout RecordReader::operator()(std::int64_t number) {
  const auto end = first_ + static_cast<std::int64_t>(block_.size());
  if (number < first_ || number >= end) {
    constexpr std::int64_t least_lists = 16;  // cost hardly more than one
    const bool goes_on = !block_.empty() && number == end;
    const auto count = std::min(goes_on ? std::max(count_ahead(), least_lists) : least_lists,
                                std::max<std::int64_t>(records_.count() - number, 1));
    if (!records_.has_plain_layout() || !read_lists(number, count)) read_through_hdf5(number, goes_on);
  }
  if (!lists_.empty()) {
    if (const auto readout = out_of_heap(number)) return *readout;
    read(number, 1);  // says what is wrong
  }
  const auto& record = block_[static_cast<std::size_t>(number - first_)];
  return {record.head, floats_of(record.trajectory), floats_of(record.values)};
}

RecordWriter::RecordWriter(hdf5::File& file, const std::string& header, std::int64_t count)
    : subject_(file.subject(records_name(usual_group))), transfer_(transfer_properties(subject_)) {
  file.create_group(usual_group);
  write_header(file, header);
  type_ = record_type(true, subject_);
  // Without the padding that members have in memory: readers of the head's bytes (the Python package) take them for
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
