// ISMRMRD HDF5: /dataset/xml (the header) and /dataset/data (one record per readout: head, trajectory,
// values).
//
// libismrmrd supplies the record's head, the flags and the XML of files written here. Its readers are not
// used: they trust the lengths in a record's head when they copy the arrays, and its XML parser refuses files
// of KomaMRI and MRIReco that lack optional parts. The records are read through HDF5 with the same type,
// every length checked.
//
// Reading rules
//   - Readouts flagged as noise become the noise of every scan. Those flagged as calibration only, navigation,
//     phase correction, feedback, dummy, surface coil correction or phase stabilisation are skipped, as are
//     those of another encoding space than the first.
//   - discard_pre and discard_post samples are left out. Averages and segments are further samples of one
//   image. Each
//     combination of repetition, contrast, phase and set is one repetition of the output, in that order.
//   - k-space positions: the trajectory of the readouts where there is one; else, for 'cartesian' and 'epi',
//   from
//     center_sample and the encoding steps, in cycles/FOV. A third axis counts only for a matrix of several
//     voxels in z (elsewhere it holds zeros or density weights); a two-dimensional trajectory of a 3D matrix
//     is stacked by kspace_encode_step_2.
//   - Unit of the trajectory: --trajectory-unit, else the userParameterString 'trajectory_unit', else
//   inferred.
//   - Sample times count from the start of the readout.
//   - Optional root datasets /sensitivity_maps, /field_map, /sample_time_s: see io/hdf5_maps.hpp.
#include "io/scan/mrd/ismrmrd_file.hpp"

#include <fmt/format.h>
#include <ismrmrd/ismrmrd.h>
#include <ismrmrd/version.h>
#include <ismrmrd/xml.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "io/result/atomic_file.hpp"
#include "io/hdf5.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Handle;

constexpr auto header_name = "/dataset/xml", data_name = "/dataset/data", unit_parameter = "trajectory_unit";

// --- The record
// ------------------------------------------------------------------------------------------------

/// The head of a readout, member for member that of ISMRMRD (where each is described), but aligned: ISMRMRD
/// packs its own to two bytes, so that no float in it may be referred to.
struct Counters {
  std::uint16_t kspace_encode_step_1, kspace_encode_step_2, average, slice, contrast, phase, repetition, set,
      segment;
  std::uint16_t user[ISMRMRD::ISMRMRD_USER_INTS];
};
struct Head {
  std::uint16_t version;
  std::uint64_t flags;
  std::uint32_t measurement_uid, scan_counter, acquisition_time_stamp,
      physiology_time_stamp[ISMRMRD::ISMRMRD_PHYS_STAMPS];
  std::uint16_t number_of_samples, available_channels, active_channels;
  std::uint64_t channel_mask[ISMRMRD::ISMRMRD_CHANNEL_MASKS];
  std::uint16_t discard_pre, discard_post, center_sample, encoding_space_ref, trajectory_dimensions;
  float sample_time_us, position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
  Counters idx;
  std::int32_t user_int[ISMRMRD::ISMRMRD_USER_INTS];
  float user_float[ISMRMRD::ISMRMRD_USER_FLOATS];
};
struct Record {
  Head head;
  hvl_t trajectory;  ///< float [sample][axis]
  hvl_t values;      ///< float [coil][sample][re, im]
};

void insert(const Handle& type, const char* name, std::size_t offset, hid_t member,
            const std::string& subject) {
  hdf5::check(H5Tinsert(type.get(), name, offset, member), subject, "the ISMRMRD record type");
}
void insert_array(const Handle& type, const char* name, std::size_t offset, hid_t member, hsize_t count,
                  const std::string& subject) {
  const Handle array(H5Tarray_create2(member, 1, &count), H5Tclose, subject, "the ISMRMRD record type");
  insert(type, name, offset, array.get(), subject);
}

Handle counters_type(const std::string& subject) {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Counters)), H5Tclose, subject, "the ISMRMRD record type");
  const hid_t u16 = H5T_NATIVE_UINT16;
  insert(type, "kspace_encode_step_1", offsetof(Counters, kspace_encode_step_1), u16, subject);
  insert(type, "kspace_encode_step_2", offsetof(Counters, kspace_encode_step_2), u16, subject);
  insert(type, "average", offsetof(Counters, average), u16, subject);
  insert(type, "slice", offsetof(Counters, slice), u16, subject);
  insert(type, "contrast", offsetof(Counters, contrast), u16, subject);
  insert(type, "phase", offsetof(Counters, phase), u16, subject);
  insert(type, "repetition", offsetof(Counters, repetition), u16, subject);
  insert(type, "set", offsetof(Counters, set), u16, subject);
  insert(type, "segment", offsetof(Counters, segment), u16, subject);
  insert_array(type, "user", offsetof(Counters, user), u16, ISMRMRD::ISMRMRD_USER_INTS, subject);
  return type;
}

Handle head_type(const std::string& subject) {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Head)), H5Tclose, subject, "the ISMRMRD record type");
  const hid_t u16 = H5T_NATIVE_UINT16, u32 = H5T_NATIVE_UINT32, u64 = H5T_NATIVE_UINT64,
              f32 = H5T_NATIVE_FLOAT;
  insert(type, "version", offsetof(Head, version), u16, subject);
  insert(type, "flags", offsetof(Head, flags), u64, subject);
  insert(type, "measurement_uid", offsetof(Head, measurement_uid), u32, subject);
  insert(type, "scan_counter", offsetof(Head, scan_counter), u32, subject);
  insert(type, "acquisition_time_stamp", offsetof(Head, acquisition_time_stamp), u32, subject);
  insert_array(type, "physiology_time_stamp", offsetof(Head, physiology_time_stamp), u32,
               ISMRMRD::ISMRMRD_PHYS_STAMPS, subject);
  insert(type, "number_of_samples", offsetof(Head, number_of_samples), u16, subject);
  insert(type, "available_channels", offsetof(Head, available_channels), u16, subject);
  insert(type, "active_channels", offsetof(Head, active_channels), u16, subject);
  insert_array(type, "channel_mask", offsetof(Head, channel_mask), u64, ISMRMRD::ISMRMRD_CHANNEL_MASKS,
               subject);
  insert(type, "discard_pre", offsetof(Head, discard_pre), u16, subject);
  insert(type, "discard_post", offsetof(Head, discard_post), u16, subject);
  insert(type, "center_sample", offsetof(Head, center_sample), u16, subject);
  insert(type, "encoding_space_ref", offsetof(Head, encoding_space_ref), u16, subject);
  insert(type, "trajectory_dimensions", offsetof(Head, trajectory_dimensions), u16, subject);
  insert(type, "sample_time_us", offsetof(Head, sample_time_us), f32, subject);
  insert_array(type, "position", offsetof(Head, position), f32, 3, subject);
  insert_array(type, "read_dir", offsetof(Head, read_dir), f32, 3, subject);
  insert_array(type, "phase_dir", offsetof(Head, phase_dir), f32, 3, subject);
  insert_array(type, "slice_dir", offsetof(Head, slice_dir), f32, 3, subject);
  insert_array(type, "patient_table_position", offsetof(Head, patient_table_position), f32, 3, subject);
  insert(type, "idx", offsetof(Head, idx), counters_type(subject).get(), subject);
  insert_array(type, "user_int", offsetof(Head, user_int), H5T_NATIVE_INT32, ISMRMRD::ISMRMRD_USER_INTS,
               subject);
  insert_array(type, "user_float", offsetof(Head, user_float), f32, ISMRMRD::ISMRMRD_USER_FLOATS, subject);
  return type;
}

Handle record_type(bool with_values, const std::string& subject) {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Record)), H5Tclose, subject, "the ISMRMRD record type");
  const Handle floats(H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose, subject, "the ISMRMRD record type");
  insert(type, "head", offsetof(Record, head), head_type(subject).get(), subject);
  insert(type, "traj", offsetof(Record, trajectory), floats.get(), subject);
  if (with_values) insert(type, "data", offsetof(Record, values), floats.get(), subject);
  return type;
}

/// Readouts [first, first + records.size()) of a file; owns the arrays that HDF5 allocates for them.
class Records {
 public:
  Records(hid_t dataset, const Handle& type, std::int64_t first, std::int64_t count,
          const std::string& subject)
      : records_(static_cast<std::size_t>(count)),
        type_(type.get()),
        space_(hdf5::space_of({count}, subject)) {
    const Handle file_space(H5Dget_space(dataset), H5Sclose, subject, "a readable dataspace");
    const auto start = static_cast<hsize_t>(first), length = static_cast<hsize_t>(count);
    hdf5::check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr),
                subject, "readable readouts");
    // HDF5 clears two buffers for every read, of 1 MiB each unless told otherwise: longer than the reading.
    const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, subject, "memory");
    constexpr std::size_t buffer_bytes = 1 << 16;
    hdf5::check(H5Pset_buffer(transfer.get(), buffer_bytes, nullptr, nullptr), subject, "memory");
    hdf5::check(H5Dread(dataset, type_, space_.get(), file_space.get(), transfer.get(), records_.data()),
                subject, "readable readouts");
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() { H5Dvlen_reclaim(type_, space_.get(), H5P_DEFAULT, records_.data()); }
  const Record& operator[](std::int64_t i) const { return records_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<Record> records_;
  hid_t type_;
  Handle space_;
};

// --- The header
// ------------------------------------------------------------------------------------------------

struct Limit {
  int maximum = 0, center = 0;
};

struct Header {
  std::array<int, 3> encoded_matrix{}, recon_matrix{};  ///< 0 where not stated
  std::array<double, 3> encoded_fov_mm{}, recon_fov_mm{};
  std::string trajectory, trajectory_unit, vendor, protocol, field_strength;
  std::optional<Limit> step_1, step_2, slice;
};

template <class T>
std::array<T, 3> three_of(const pugi::xml_node& node, const std::string& subject) {
  std::array<T, 3> values{};
  for (int axis = 0; axis < 3; ++axis) {
    const double value = node.child(std::array{"x", "y", "z"}[axis]).text().as_double(0);
    if (!(value >= 0 && value <= 65535))
      throw Error(subject, "sizes from 0 to 65535", fmt::format("{}", value));
    values[axis] = static_cast<T>(value);
  }
  return values;
}

std::optional<Limit> limit_of(const pugi::xml_node& limits, const char* name) {
  const auto limit = limits.child(name);
  if (!limit) return std::nullopt;
  return Limit{limit.child("maximum").text().as_int(), limit.child("center").text().as_int()};
}

Header parse_header(const std::string& xml, const std::string& subject) {
  pugi::xml_document document;
  const auto status = document.load_buffer(xml.data(), xml.size());
  if (!status)
    throw Error(subject, "an XML header", fmt::format("{} at byte {}", status.description(), status.offset));
  const auto root = document.child("ismrmrdHeader");
  const auto encoding = root.child("encoding");
  if (!encoding) throw Error(subject, "an ismrmrdHeader with an encoding", "none");
  Header header;
  const auto encoded = encoding.child("encodedSpace"), recon = encoding.child("reconSpace");
  header.encoded_matrix = three_of<int>(encoded.child("matrixSize"), subject);
  header.encoded_fov_mm = three_of<double>(encoded.child("fieldOfView_mm"), subject);
  header.recon_matrix = three_of<int>(recon.child("matrixSize"), subject);
  header.recon_fov_mm = three_of<double>(recon.child("fieldOfView_mm"), subject);
  const auto limits = encoding.child("encodingLimits");
  header.step_1 = limit_of(limits, "kspace_encoding_step_1");
  header.step_2 = limit_of(limits, "kspace_encoding_step_2");
  header.slice = limit_of(limits, "slice");
  header.trajectory = encoding.child_value("trajectory");
  std::transform(header.trajectory.begin(), header.trajectory.end(), header.trajectory.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto parameter : root.child("userParameters").children("userParameterString"))
    if (std::string_view(parameter.child_value("name")) == unit_parameter)
      header.trajectory_unit = parameter.child_value("value");
  const auto system = root.child("acquisitionSystemInformation");
  header.vendor = system.child_value("systemVendor");
  header.field_strength = system.child_value("systemFieldStrength_T");
  header.protocol = root.child("measurementInformation").child_value("protocolName");
  return header;
}

/// Some programs write metres. Nobody images 1 mm in-plane with a matrix worth the name, or 1000 mm.
bool in_metres(const std::array<double, 3>& fov) {
  return fov[0] > 0 && fov[0] < 1 && fov[1] > 0 && fov[1] < 1;
}
void metres_to_mm(std::array<double, 3>& fov) {
  for (double& length : fov)
    if (length < 1)
      length *= 1000;  // an untouched 1 along z is the millimetre that writers put where they know nothing
}

// --- Reading
// ---------------------------------------------------------------------------------------------------

constexpr bool is_set(std::uint64_t flags, int flag) { return (flags >> (flag - 1)) & 1; }

/// What a readout is that holds no samples of the image; nullptr for one that does.
const char* other_purpose(std::uint64_t flags) {
  static constexpr std::pair<int, const char*> purposes[]{
      {ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, "noise"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION, "calibration"},
      {ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA, "navigator"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA, "phase correction"},
      {ISMRMRD::ISMRMRD_ACQ_IS_HPFEEDBACK_DATA, "feedback"},
      {ISMRMRD::ISMRMRD_ACQ_IS_DUMMYSCAN_DATA, "dummy"},
      {ISMRMRD::ISMRMRD_ACQ_IS_RTFEEDBACK_DATA, "feedback"},
      {ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA, "surface coil correction"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE, "phase stabilisation"},
      {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION, "phase stabilisation"}};
  for (const auto& [flag, name] : purposes)
    if (is_set(flags, flag)) return name;
  return nullptr;
}

struct Readout {
  std::int64_t record;
  Head head;
  std::int64_t first() const { return head.discard_pre; }
  std::int64_t count() const {
    return std::int64_t{head.number_of_samples} - head.discard_pre - head.discard_post;
  }
};

class IsmrmrdFile final : public ScanFile {
 public:
  IsmrmrdFile(const std::string& path, const ReadOptions& options) : file_(hdf5::File::open(path)) {
    summary_.path = path;
    summary_.format = "ISMRMRD";
    for (const char* name : {header_name, data_name})
      if (!file_.has(name))
        throw Error(file_.subject(name), "a dataset", "none", "the file is no complete ISMRMRD file");
    header_ = parse_header(file_.read_text(header_name), file_.subject(header_name));
    open_records();
    read_geometry(options);
    read_heads();
    group_readouts();
    read_directions();
    choose_positions(options);
    find_maps(file_, summary_);
    const auto& first = volumes_.begin()->second.front().head;
    summary_.has_sample_time = summary_.has_sample_time || first.sample_time_us > 0;
    summary_.cartesian = lies_on_grid(read_volume(0, 0, false).trajectory);
    if (const auto missing = missing_fov(summary_.geometry)) summary_.missing.push_back(*missing);
    const auto add_fact = [&](const char* name, const std::string& value) {
      if (!value.empty()) summary_.facts.emplace_back(name, value);
    };
    add_fact("system", header_.vendor);
    add_fact("protocol", header_.protocol);
    add_fact("trajectory", header_.trajectory);
    add_fact("readouts used", std::to_string(used_count_));
    std::string skipped;
    for (const auto& [what, count] : skipped_)
      skipped += fmt::format("{}{} {}", skipped.empty() ? "" : ", ", count, what);
    add_fact("readouts skipped", skipped);
  }

  const ScanSummary& summary() const override { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) override {
    auto scan = read_volume(slice, repetition, true);
    read_maps(file_, map_matrix_size_, slice, repetition, scan);
    if (!noise_readouts_.empty()) scan.noise = read_noise();
    scan.validate(summary_.path);
    return scan;
  }

 private:
  void open_records() {
    const auto subject = file_.subject(data_name);
    dataset_ = {H5Dopen2(file_.id(), data_name, H5P_DEFAULT), H5Dclose, subject, "a dataset"};
    const Handle type(H5Dget_type(dataset_.get()), H5Tclose, subject, "a readable type");
    if (H5Tget_class(type.get()) != H5T_COMPOUND)
      throw Error(subject, "ISMRMRD readouts {head, traj, data}", "another type");
    for (const char* name : {"head", "traj", "data"}) {
      const int member = H5Tget_member_index(type.get(), name);
      if (member < 0)
        throw Error(subject, "ISMRMRD readouts {head, traj, data}", "no '" + std::string(name) + "'");
      const auto wanted = name == std::string_view("head") ? H5T_COMPOUND : H5T_VLEN;
      bool right = H5Tget_member_class(type.get(), static_cast<unsigned>(member)) == wanted;
      if (right && wanted == H5T_VLEN) {
        const Handle array(H5Tget_member_type(type.get(), static_cast<unsigned>(member)), H5Tclose, subject,
                           "a readable type");
        const Handle number(H5Tget_super(array.get()), H5Tclose, subject, "a readable type");
        right = H5Tget_class(number.get()) == H5T_FLOAT;
      }
      if (!right)
        throw Error(subject, "ISMRMRD readouts {head, traj, data}",
                    "another type of '" + std::string(name) + "'");
    }
    const Handle space(H5Dget_space(dataset_.get()), H5Sclose, subject, "a readable dataspace");
    const auto extents = hdf5::extents_of(space.get(), subject);
    record_count_ = 1;
    for (const auto extent : extents) record_count_ *= extent;
    if (extents.size() != 1 || record_count_ == 0)
      throw Error(subject, "[readout] with at least one", hdf5::text_of(extents));
    hdf5::require_stored(dataset_.get(), type.get(), extents, subject);
  }

  void read_geometry(const ReadOptions& options) {
    auto& geometry = summary_.geometry;
    geometry.matrix_size = header_.encoded_matrix;
    for (int axis = 0; axis < 3; ++axis)
      if (geometry.matrix_size[axis] == 0) {
        if (!options.matrix_size)
          throw Error(file_.subject(header_name), "an encodedSpace with matrixSize",
                      "0 voxels along " + std::string(1, "xyz"[axis]), "give it with --matrix X,Y,Z");
        geometry.matrix_size[axis] = (*options.matrix_size)[axis];
      }
    if (in_metres(header_.encoded_fov_mm)) {
      summary_.inferred.push_back(
          fmt::format("The FOV {} x {} of the header is taken to be in metres: no image is that small in mm.",
                      header_.encoded_fov_mm[0], header_.encoded_fov_mm[1]));
      metres_to_mm(header_.encoded_fov_mm);
      metres_to_mm(header_.recon_fov_mm);
    }
    geometry.fov_mm = header_.encoded_fov_mm;
    map_matrix_size_ = geometry.matrix_size;
    unit_geometry_ = geometry;
    if (!options.matrix_size) choose_crop();
    apply_options(geometry, options);
    unit_geometry_.fov_mm = geometry.fov_mm;
  }

  /// Readout oversampling: the encoded FOV is larger than the one to show.
  void choose_crop() {
    for (int axis = 0; axis < 3; ++axis) {
      const char name = "xyz"[axis];
      const int encoded = header_.encoded_matrix[axis], recon = header_.recon_matrix[axis];
      const double encoded_fov = header_.encoded_fov_mm[axis], recon_fov = header_.recon_fov_mm[axis];
      if (recon == 0 || (recon == encoded && recon_fov == encoded_fov)) continue;
      if (recon_fov > 0 && recon_fov < encoded_fov * 0.999) {
        const int kept = std::max(1, static_cast<int>(std::lround(encoded * recon_fov / encoded_fov)));
        if (kept < encoded) cropped_matrix_size_[axis] = kept;
        summary_.inferred.push_back(
            fmt::format("The image is cropped along {} from {} to {} voxels: the header shows {} of {} mm.",
                        name, encoded, kept, recon_fov, encoded_fov));
        if (kept != recon)
          summary_.inferred.push_back(
              fmt::format("The header's reconstructed matrix of {} along {} is not used: the voxels "
                          "are those that were encoded.",
                          recon, name));
      } else if (recon < encoded && encoded_fov == 0) {
        cropped_matrix_size_[axis] = recon;
        summary_.inferred.push_back(fmt::format(
            "The image is cropped along {} from {} to {} voxels, as the header's reconstructed matrix "
            "says.",
            name, encoded, recon));
      } else if (recon != encoded) {
        summary_.inferred.push_back(
            fmt::format("Along {} the header states {} encoded and {} reconstructed voxels: the encoded "
                        "matrix is used.",
                        name, encoded, recon));
      }
    }
  }

  /// The heads and the extents of the trajectories of all readouts that count.
  void read_heads() {
    constexpr std::int64_t block = 256;
    const auto subject = file_.subject(data_name);
    const auto type = record_type(false, subject);
    for (std::int64_t first = 0; first < record_count_; first += block) {
      const Records records(dataset_.get(), type, first, std::min(block, record_count_ - first), subject);
      for (std::int64_t i = 0; i < std::min(block, record_count_ - first); ++i) {
        const Readout readout{first + i, records[i].head};
        if (is_set(readout.head.flags, ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT)) noise_readouts_.push_back(readout);
        const char* purpose = other_purpose(readout.head.flags);
        if (purpose == nullptr && readout.head.encoding_space_ref != 0)
          purpose = "of another encoding space than the first";
        if (purpose != nullptr) {
          ++skipped_[purpose];
          continue;
        }
        check_readout(readout);
        const std::size_t axes = readout.head.trajectory_dimensions;
        require_length(records[i].trajectory.len, readout.head.number_of_samples * axes, "traj",
                       readout.record);
        const auto* k = static_cast<const float*>(records[i].trajectory.p);
        for (auto s = readout.first(); s < readout.first() + readout.count(); ++s)
          for (std::size_t axis = 0; axis < std::min<std::size_t>(axes, 3); ++axis)
            if (const double magnitude = std::abs(k[s * axes + axis]);
                std::isfinite(magnitude))  // validate() refuses the others
              largest_k_[axis] = std::max(largest_k_[axis], magnitude);
        readouts_.push_back(readout);
      }
    }
    if (readouts_.empty())
      throw Error(subject, "readouts of an image",
                  fmt::format("{} readouts, all flagged as noise, calibration or dummy", record_count_));
    used_count_ = static_cast<std::int64_t>(readouts_.size());
    const auto& head = readouts_.front().head;
    summary_.coil_count = head.active_channels;
    axis_count_ = head.trajectory_dimensions;
    summary_.readout_length = readouts_.front().count();
    for (const auto& readout : readouts_) {
      if (readout.head.active_channels != head.active_channels)
        throw Error(name_of_record(readout.record),
                    fmt::format("{} channels as in the first", head.active_channels),
                    std::to_string(readout.head.active_channels));
      if (readout.head.trajectory_dimensions != head.trajectory_dimensions)
        throw Error(name_of_record(readout.record),
                    fmt::format("{} trajectory dimensions as in the first", head.trajectory_dimensions),
                    std::to_string(readout.head.trajectory_dimensions));
      if (readout.count() != summary_.readout_length) summary_.readout_length = 0;
    }
    // Noise of another set of coils says nothing about these.
    std::erase_if(noise_readouts_, [&](const Readout& readout) {
      return readout.head.active_channels != head.active_channels || readout.count() < 1;
    });
    if (!noise_readouts_.empty())
      summary_.facts.emplace_back("noise readouts", std::to_string(noise_readouts_.size()));
  }

  /// The samples of all noise readouts, [coil][sample].
  Array<Complex<float>> read_noise() const {
    const auto subject = file_.subject(data_name);
    const auto type = record_type(true, subject);
    const auto samples = sample_count(noise_readouts_), coils = summary_.coil_count;
    Array<Complex<float>> noise({coils, samples});
    std::int64_t m = 0;
    for (const auto& readout : noise_readouts_) {
      const Records records(dataset_.get(), type, readout.record, 1, subject);
      const std::int64_t total = readout.head.number_of_samples;
      require_length(records[0].values.len, static_cast<std::size_t>(2 * total * coils), "data", readout.record);
      const auto* values = static_cast<const float*>(records[0].values.p);
      for (auto s = readout.first(); s < readout.first() + readout.count(); ++s, ++m)
        for (std::int64_t coil = 0; coil < coils; ++coil) {
          const float* value = values + 2 * (coil * total + s);
          noise[coil * samples + m] = {value[0], value[1]};
        }
    }
    return noise;
  }

  std::string name_of_record(std::int64_t record) const {
    return fmt::format("{}[{}]", file_.subject(data_name), record);
  }

  void check_readout(const Readout& readout) const {
    const auto subject = name_of_record(readout.record);
    if (readout.head.active_channels == 0) throw Error(subject, "at least one channel", "0");
    if (readout.count() < 1)
      throw Error(subject, "more samples than discard_pre and discard_post leave out",
                  fmt::format("{} samples, {} and {}", readout.head.number_of_samples,
                              readout.head.discard_pre, readout.head.discard_post));
  }

  void require_length(std::size_t found, std::size_t expected, const char* member,
                      std::int64_t record) const {
    if (found != expected)
      throw Error(name_of_record(record) + "." + member,
                  fmt::format("{} numbers, as its head says", expected), std::to_string(found),
                  "the file is damaged");
  }

  using RepetitionKey = std::tuple<int, int, int, int>;

  void group_readouts() {
    const auto same_position = [&](const Readout& readout) {
      return std::equal(readout.head.position, readout.head.position + 3, readouts_.front().head.position);
    };
    bool one_slice = false;
    const bool beyond = std::any_of(readouts_.begin(), readouts_.end(), [&](const Readout& readout) {
      return header_.slice && readout.head.idx.slice > header_.slice->maximum;
    });
    if (beyond && header_.slice->maximum == 0 &&
        std::all_of(readouts_.begin(), readouts_.end(), same_position)) {
      one_slice = true;
      summary_.inferred.push_back(
          "All readouts are taken to be of one slice: the header's limits state one, and all positions are "
          "the "
          "same, though the readouts count slices.");
    }
    std::set<RepetitionKey> repetitions;
    std::set<int> slices;
    const auto repetition_of = [](const Readout& r) {
      return RepetitionKey{r.head.idx.repetition, r.head.idx.contrast, r.head.idx.phase, r.head.idx.set};
    };
    const auto slice_of = [&](const Readout& r) { return one_slice ? 0 : int{r.head.idx.slice}; };
    std::set<int> distinct[4], averages;
    for (const auto& readout : readouts_) {
      const auto key = repetition_of(readout);
      repetitions.insert(key);
      slices.insert(slice_of(readout));
      averages.insert(readout.head.idx.average);
      distinct[0].insert(std::get<0>(key)), distinct[1].insert(std::get<1>(key));
      distinct[2].insert(std::get<2>(key)), distinct[3].insert(std::get<3>(key));
    }
    summary_.slice_count = static_cast<std::int64_t>(slices.size());
    summary_.repetition_count = static_cast<std::int64_t>(repetitions.size());
    if (distinct[1].size() > 1 || distinct[2].size() > 1 || distinct[3].size() > 1)
      summary_.inferred.push_back(
          fmt::format("Each combination of {} repetitions, {} contrasts, {} phases and {} sets is one "
                      "repetition.",
                      distinct[0].size(), distinct[1].size(), distinct[2].size(), distinct[3].size()));
    if (averages.size() > 1)
      summary_.inferred.push_back(
          fmt::format("The {} averages are further samples of the same image.", averages.size()));
    for (const auto& readout : readouts_) {
      const auto repetition = std::distance(repetitions.begin(), repetitions.find(repetition_of(readout)));
      const auto slice = std::distance(slices.begin(), slices.find(slice_of(readout)));
      volumes_[{repetition, slice}].push_back(readout);
    }
    readouts_.clear();
    const auto expected = summary_.slice_count * summary_.repetition_count;
    if (static_cast<std::int64_t>(volumes_.size()) < expected)
      summary_.missing.push_back(
          fmt::format("{} of {} slices and repetitions have no readout; choose others with --slices and "
                      "--repetitions.",
                      expected - static_cast<std::int64_t>(volumes_.size()), expected));
    summary_.samples_per_scan = sample_count(volumes_.begin()->second);
  }

  static std::int64_t sample_count(const std::vector<Readout>& readouts) {
    std::int64_t samples = 0;
    for (const auto& readout : readouts) samples += readout.count();
    return samples;
  }

  void read_directions() {
    auto& geometry = summary_.geometry;
    const auto& head = volumes_.begin()->second.front().head;
    const auto unit_vector = [](const float(&from)[3], std::array<double, 3>& to) {
      const double length = std::hypot(double{from[0]}, double{from[1]}, double{from[2]});
      for (int axis = 0; axis < 3; ++axis) to[axis] = from[axis] / length;
      return std::isfinite(length) && length > 0;
    };
    Geometry read = geometry;
    const bool known = unit_vector(head.read_dir, read.read_direction) &&
                       unit_vector(head.phase_dir, read.phase_direction) &&
                       unit_vector(head.slice_dir, read.slice_direction) && are_axes(read);
    if (known)
      geometry = read;
    else
      summary_.inferred.push_back(
          "The directions of the image are not stated, or not at right angles: x, y, z are taken to be the "
          "patient's left, posterior and superior.");
    geometry.position_mm = position_of(head);
  }

  static std::array<double, 3> position_of(const Head& head) {
    std::array<double, 3> position{};
    for (int axis = 0; axis < 3; ++axis)
      position[axis] = std::isfinite(head.position[axis]) ? head.position[axis] : 0;
    return position;
  }

  void choose_positions(const ReadOptions& options) {
    const auto subject = file_.subject(data_name);
    const auto& n = unit_geometry_.matrix_size;
    if (axis_count_ == 0) {
      if (header_.trajectory != "cartesian" && header_.trajectory != "epi")
        throw Error(subject,
                    "readouts with their trajectory, because the header says '" + header_.trajectory + "'",
                    "trajectory_dimensions 0", "write the k-space positions into the file");
      bool stated = false;
      for (const auto& [key, readouts] : volumes_)
        for (const auto& readout : readouts) stated = stated || readout.head.center_sample != 0;
      center_is_stated_ = stated;
      if (!stated)
        summary_.inferred.push_back(
            "No readout states its center_sample: the centre of k-space is taken to be the middle of each.");
      if (!header_.step_1 && n[1] > 1)
        summary_.inferred.push_back(
            "The header states no limits: the centre of k-space is taken to be the middle encoding step.");
      return;
    }
    if (axis_count_ == 1) throw Error(subject, "a trajectory of 2 or 3 axes", "1");
    std::array<double, 3> largest = largest_k_;
    if (n[2] == 1) {
      if (axis_count_ > 2 && largest[2] > 0)
        summary_.inferred.push_back(
            "The third axis of the trajectory is ignored: the matrix has one voxel along z.");
      largest[2] = 0;
    } else if (axis_count_ == 2) {
      stacked_ = true;
      summary_.inferred.push_back(
          "The trajectory has two axes and the matrix three: k along z is taken from kspace_encode_step_2.");
    }
    unit_ = options.trajectory_unit;
    if (unit_ != TrajectoryUnit::automatic) {
      summary_.inferred.push_back("The trajectory is taken to be in " + std::string(name_of(unit_)) +
                                  ", as --trajectory-unit says.");
    } else if (!header_.trajectory_unit.empty()) {
      unit_ = parse_trajectory_unit(header_.trajectory_unit,
                                    file_.subject(header_name) + " userParameterString 'trajectory_unit'");
    }
    if (unit_ == TrajectoryUnit::automatic) {
      const auto inferred = infer_trajectory_unit(largest, unit_geometry_, subject);
      unit_ = inferred.unit;
      summary_.inferred.push_back(inferred.reason);
    }
    scale_ = scale_to_cycles_per_fov(unit_, unit_geometry_, subject);
  }

  /// Centre of an encoding step: what the header says, else the middle.
  static int center_of(const std::optional<Limit>& limit, int n) { return limit ? limit->center : n / 2; }

  /// Position of sample `s` of a readout, cycles/FOV. `k` points at its trajectory.
  std::array<double, 3> position_of(const Readout& readout, std::int64_t s, const float* k) const {
    const auto& head = readout.head;
    const auto& n = unit_geometry_.matrix_size;
    const double kz_step =
        n[2] > 1 ? double(head.idx.kspace_encode_step_2) - center_of(header_.step_2, n[2]) : 0;
    if (axis_count_ > 0) {
      const float* at = k + s * axis_count_;
      const double kz = stacked_ ? kz_step : n[2] > 1 ? at[2] * scale_[2] : 0;
      return {at[0] * scale_[0], at[1] * scale_[1], kz};
    }
    const std::int64_t center = center_is_stated_ ? head.center_sample : head.number_of_samples / 2;
    const bool reverse = is_set(head.flags, ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
    const double kx = static_cast<double>((reverse ? head.number_of_samples - 1 - s : s) - center);
    return {kx, n[1] > 1 ? double(head.idx.kspace_encode_step_1) - center_of(header_.step_1, n[1]) : 0,
            kz_step};
  }

  Scan read_volume(std::int64_t slice, std::int64_t repetition, bool with_values) const {
    require_volume(summary_, slice, repetition);
    const auto found = volumes_.find({repetition, slice});
    if (found == volumes_.end())
      throw Error(
          summary_.path,
          "readouts of slice " + std::to_string(slice) + " and repetition " + std::to_string(repetition),
          "none");
    const auto& readouts = found->second;
    const auto samples = sample_count(readouts), coils = summary_.coil_count;
    Scan scan;
    scan.geometry = summary_.geometry;
    scan.geometry.position_mm = position_of(readouts.front().head);
    scan.cropped_matrix_size = cropped_matrix_size_;
    scan.trajectory.k = Array<double>({3, samples});
    const bool timed = std::all_of(readouts.begin(), readouts.end(),
                                   [](const Readout& r) { return r.head.sample_time_us > 0; });
    if (with_values) scan.kspace.values = Array<Complex<float>>({coils, samples});
    if (with_values && timed) scan.sample_time_s = Array<double>({samples});

    const auto subject = file_.subject(data_name);
    const auto type = record_type(with_values, subject);
    std::int64_t m = 0;
    for (const auto& readout : readouts) {
      const Records records(dataset_.get(), type, readout.record, 1, subject);
      const auto& record = records[0];
      const std::size_t total = readout.head.number_of_samples;
      require_length(record.trajectory.len, total * readout.head.trajectory_dimensions, "traj",
                     readout.record);
      if (with_values)
        require_length(record.values.len, 2 * total * static_cast<std::size_t>(coils), "data",
                       readout.record);
      const auto* k = static_cast<const float*>(record.trajectory.p);
      const auto* values = static_cast<const float*>(record.values.p);
      for (auto s = readout.first(); s < readout.first() + readout.count(); ++s, ++m) {
        const auto position = position_of(readout, s, k);
        for (int axis = 0; axis < 3; ++axis) scan.trajectory.k[axis * samples + m] = position[axis];
        if (!with_values) continue;
        for (std::int64_t coil = 0; coil < coils; ++coil) {
          const float* value = values + 2 * (coil * static_cast<std::int64_t>(total) + s);
          scan.kspace.values[coil * samples + m] = {value[0], value[1]};
        }
        if (timed) (*scan.sample_time_s)[m] = static_cast<double>(s) * readout.head.sample_time_us * 1e-6;
      }
    }
    return scan;
  }

  hdf5::File file_;
  Handle dataset_;
  ScanSummary summary_;
  Header header_;
  std::int64_t record_count_ = 0, used_count_ = 0;
  std::map<std::string, std::int64_t> skipped_;  ///< readouts that are not of the image, by what they are
  std::vector<Readout> readouts_, noise_readouts_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Readout>>
      volumes_;  ///< by repetition and slice
  std::array<double, 3> largest_k_{};
  int axis_count_ = 0;  ///< of the trajectory in the file, 0: none
  bool stacked_ = false, center_is_stated_ = false;
  TrajectoryUnit unit_ = TrajectoryUnit::automatic;
  std::array<double, 3> scale_{1, 1, 1};
  Geometry unit_geometry_;  ///< what the unit of the trajectory refers to
  std::array<int, 3> map_matrix_size_{}, cropped_matrix_size_{};
};

// --- Writing
// ---------------------------------------------------------------------------------------------------

std::string header_of(const ScanSeries& series) {
  const auto& scan = series.scans.front();
  const auto& n = scan.geometry.matrix_size;
  const auto& fov = scan.geometry.fov_mm;
  ISMRMRD::IsmrmrdHeader header;
  header.experimentalConditions.H1resonanceFrequency_Hz = 0;  // required by the schema, and unknown
  ISMRMRD::AcquisitionSystemInformation system;
  system.receiverChannels = static_cast<unsigned short>(scan.kspace.coil_count());
  header.acquisitionSystemInformation = system;
  ISMRMRD::Encoding encoding;
  const auto space = [](const std::array<int, 3>& matrix, const std::array<double, 3>& lengths) {
    ISMRMRD::EncodingSpace result;
    result.matrixSize =
        ISMRMRD::MatrixSize(static_cast<unsigned short>(matrix[0]), static_cast<unsigned short>(matrix[1]),
                            static_cast<unsigned short>(matrix[2]));
    result.fieldOfView_mm = {static_cast<float>(lengths[0]), static_cast<float>(lengths[1]),
                             static_cast<float>(lengths[2])};
    return result;
  };
  encoding.encodedSpace = space(n, fov);
  auto recon_matrix = n;
  auto recon_fov = fov;
  for (int axis = 0; axis < 3; ++axis)
    if (const int cropped = scan.cropped_matrix_size[axis]; cropped > 0) {
      recon_matrix[axis] = cropped;
      recon_fov[axis] = fov[axis] * cropped / n[axis];
    }
  encoding.reconSpace = space(recon_matrix, recon_fov);
  encoding.encodingLimits.slice = ISMRMRD::Limit(0, static_cast<unsigned short>(series.slice_count - 1), 0);
  encoding.encodingLimits.repetition =
      ISMRMRD::Limit(0, static_cast<unsigned short>(series.repetition_count - 1), 0);
  encoding.trajectory =
      lies_on_grid(scan.trajectory) ? ISMRMRD::TrajectoryType::CARTESIAN : ISMRMRD::TrajectoryType::OTHER;
  header.encoding.push_back(encoding);
  ISMRMRD::UserParameters parameters;
  parameters.userParameterString.push_back(
      {unit_parameter, std::string(name_of(TrajectoryUnit::cycles_per_fov))});
  header.userParameters = parameters;
  std::ostringstream xml;
  ISMRMRD::serialize(header, xml);
  return xml.str();
}

/// The dwell time where all samples of a readout are equally spaced, else 0.
float dwell_us(const Scan& scan, std::int64_t first, std::int64_t count) {
  if (!scan.sample_time_s || count < 2) return 0;
  const auto& t = *scan.sample_time_s;
  const double dwell_s = (t[first + count - 1] - t[first]) / static_cast<double>(count - 1);
  for (auto m = first + 1; m < first + count; ++m)
    if (!(std::abs(t[m] - t[m - 1] - dwell_s) <= 1e-3 * dwell_s)) return 0;
  return static_cast<float>(dwell_s * 1e6);
}

}  // namespace

std::unique_ptr<ScanFile> open_ismrmrd(const std::string& path, const ReadOptions& options) {
  return std::make_unique<IsmrmrdFile>(path, options);
}

std::vector<std::string> write_ismrmrd(std::vector<AtomicFile>& files, const std::string& path,
                                       const ScanSeries& series) {
  constexpr std::int64_t most = 65535;  // counters and sizes are 16 bits wide
  if (series.slice_count > most || series.repetition_count > most ||
      series.scans.front().kspace.coil_count() > most)
    throw Error(path, "at most 65535 slices, repetitions and coils (ISMRMRD)", "more",
                "write the fhd layout");
  files.emplace_back(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  file.create_group("/dataset");
  const auto xml = header_of(series);
  {
    const auto subject = file.subject(header_name);
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, subject, "a string type");
    hdf5::check(H5Tset_size(type.get(), H5T_VARIABLE), subject, "a string type");
    const auto space = hdf5::space_of({1}, subject);
    Handle dataset(
        H5Dcreate2(file.id(), header_name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, subject, "a dataset that can be created");
    const char* text = xml.c_str();
    hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &text), subject,
                "a file that can be written");
    dataset.close(subject);
  }

  const auto pieces_of = [&](const Scan& scan) {
    return piece_length(scan.kspace.sample_count(), series.readout_length, most);
  };
  std::int64_t record_count = 0;
  for (const auto& scan : series.scans)
    record_count += (scan.kspace.sample_count() + pieces_of(scan) - 1) / pieces_of(scan);

  const auto subject = file.subject(data_name);
  const auto type = record_type(true, subject);
  // Extendible, as ISMRMRD programs append to their files.
  const hsize_t size = static_cast<hsize_t>(record_count), unlimited = H5S_UNLIMITED,
                chunk = std::min<hsize_t>(size, 64);
  const Handle space(H5Screate_simple(1, &size, &unlimited), H5Sclose, subject, "valid extents");
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, subject, "a dataset that can be created");
  hdf5::check(H5Pset_chunk(properties.get(), 1, &chunk), subject, "a dataset that can be created");
  Handle dataset(
      H5Dcreate2(file.id(), data_name, type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, subject, "a dataset that can be created");
  hsize_t record_index = 0;
  const auto memory_space = hdf5::space_of({1}, subject);
  for (std::size_t i = 0; i < series.scans.size(); ++i) {
    const auto& scan = series.scans[i];
    const auto& geometry = scan.geometry;
    const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
    const int axes = geometry.matrix_size[2] > 1 ? 3 : 2;
    const auto length = pieces_of(scan);
    for (std::int64_t first = 0, piece = 0; first < samples; first += length, ++piece) {
      const auto count = std::min(length, samples - first);
      std::vector<float> k(static_cast<std::size_t>(count * axes)),
          values(static_cast<std::size_t>(2 * coils * count));
      std::int64_t center = 0;
      double nearest = INFINITY;
      for (std::int64_t s = 0; s < count; ++s) {
        double distance = 0;
        for (int axis = 0; axis < axes; ++axis) {
          const double position = scan.trajectory.k[axis * samples + first + s];
          k[s * axes + axis] = static_cast<float>(position);
          distance += position * position;
        }
        if (distance < nearest) nearest = distance, center = s;
        for (std::int64_t coil = 0; coil < coils; ++coil) {
          const auto value = scan.kspace.values[coil * samples + first + s];
          values[2 * (coil * count + s)] = value.re;
          values[2 * (coil * count + s) + 1] = value.im;
        }
      }
      Record record{};
      auto& head = record.head;
      head.version = ISMRMRD_VERSION_MAJOR;
      head.scan_counter = static_cast<std::uint32_t>(record_index);
      head.number_of_samples = static_cast<std::uint16_t>(count);
      head.available_channels = head.active_channels = static_cast<std::uint16_t>(coils);
      for (std::int64_t coil = 0; coil < std::min<std::int64_t>(coils, 64 * ISMRMRD::ISMRMRD_CHANNEL_MASKS);
           ++coil)
        head.channel_mask[coil / 64] |= std::uint64_t{1} << (coil % 64);
      head.center_sample = static_cast<std::uint16_t>(center);
      head.trajectory_dimensions = static_cast<std::uint16_t>(axes);
      head.sample_time_us = dwell_us(scan, first, count);
      for (int axis = 0; axis < 3; ++axis) {
        head.position[axis] = static_cast<float>(geometry.position_mm[axis]);
        head.read_dir[axis] = static_cast<float>(geometry.read_direction[axis]);
        head.phase_dir[axis] = static_cast<float>(geometry.phase_direction[axis]);
        head.slice_dir[axis] = static_cast<float>(geometry.slice_direction[axis]);
      }
      head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(std::min(piece, most));
      head.idx.slice = static_cast<std::uint16_t>(static_cast<std::int64_t>(i) % series.slice_count);
      head.idx.repetition = static_cast<std::uint16_t>(static_cast<std::int64_t>(i) / series.slice_count);
      const auto set_flag = [&](int flag) { head.flags |= std::uint64_t{1} << (flag - 1); };
      if (first == 0) set_flag(ISMRMRD::ISMRMRD_ACQ_FIRST_IN_SLICE);
      if (first + count == samples) set_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE);
      if (record_index + 1 == size) set_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_MEASUREMENT);
      record.trajectory = {k.size(), k.data()};
      record.values = {values.size(), values.data()};

      const Handle file_space(H5Dget_space(dataset.get()), H5Sclose, subject, "a dataspace");
      const hsize_t one = 1;
      hdf5::check(
          H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &record_index, nullptr, &one, nullptr),
          subject, "a valid readout");
      hdf5::check(
          H5Dwrite(dataset.get(), type.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, &record),
          subject, "a file that can be written");
      ++record_index;
    }
  }
  dataset.close(subject);
  write_maps(file, series);
  file.close();
  return {};
}

}  // namespace fhd::io
