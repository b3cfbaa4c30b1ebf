#include "io/scan/mrd/volume_assembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// What a readout is that holds no samples of the image; nullptr for one that does.
const char* other_purpose(const ReadoutHead& head) {
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
    if (head.has_flag(flag)) return name;
  return head.encoding_space_ref != 0 ? "of another encoding space than the first" : nullptr;
}

/// What makes a repetition of the output, in the order of the output.
using RepetitionKey = std::tuple<int, int, int, int>;
RepetitionKey repetition_of(const ReadoutHead& head) {
  return {head.idx.repetition, head.idx.contrast, head.idx.phase, head.idx.set};
}

template <class T>
std::int64_t rank_of(const T& value, const std::set<T>& all) {
  return std::distance(all.begin(), all.find(value));
}

std::array<double, 3> position_mm(const ReadoutHead& head) {
  std::array<double, 3> position{};
  for (int axis = 0; axis < 3; ++axis)
    position[axis] = std::isfinite(head.position[axis]) ? head.position[axis] : 0;
  return position;
}

}  // namespace

VolumeAssembler::VolumeAssembler(Header header, const ReadOptions& options, Subjects subjects)
    : header_(std::move(header)), options_(options), subjects_(std::move(subjects)) {
  summary_.path = subjects_.measurement;
  summary_.format = "ISMRMRD";
  space_ = encoded_space(header_, options_, subjects_.header, summary_.inferred);
  summary_.geometry = space_.geometry;
}

void VolumeAssembler::add(const Readout& readout) {
  const auto number = added_++;
  const auto& head = readout.head;
  if (head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT)) noise_readouts_.push_back({number, head});
  if (const char* purpose = other_purpose(head)) {
    ++skipped_[purpose];
    return;
  }
  if (head.active_channels == 0) throw Error(subjects_.readout(number), "at least one channel", "0");
  if (head.sample_count() < 1)
    throw Error(
        subjects_.readout(number), "more samples than discard_pre and discard_post leave out",
        fmt::format("{} samples, {} and {}", head.number_of_samples, head.discard_pre, head.discard_post));
  const std::size_t axes = head.trajectory_dimensions;
  require_length(readout.trajectory.size(), head.number_of_samples * axes, "traj", number);
  extent_.add(number, readout);
  image_readouts_.push_back({number, head});
}

void VolumeAssembler::finish(const Source& source, const Source& with_values) {
  require_agreement();
  group_by_volume();
  read_directions();
  const auto length = [&](int axes) { return object_length(with_values, axes); };
  positions_ = choose_positions(header_, options_, space_, extent_, length, subjects_, summary_.inferred);
  Trajectory trajectory{Array<double>({3, summary_.samples_per_scan})};
  std::int64_t m = 0;
  for (const auto& entry : readouts_of(0, 0)) {
    copy_positions(entry, source(entry.number), trajectory.k, m);
    m += entry.head.sample_count();
  }
  summary_.cartesian = lies_on_grid(trajectory);
  if (const auto missing = missing_fov(summary_.geometry)) summary_.missing.push_back(*missing);
  add_facts();
}

void VolumeAssembler::require_agreement() {
  if (image_readouts_.empty())
    throw Error(subjects_.readouts, "readouts of an image",
                fmt::format("{} readouts, all flagged as noise, calibration or dummy", added_));
  const auto& first = image_readouts_.front().head;
  summary_.coil_count = first.active_channels;
  summary_.readout_length = first.sample_count();
  extent_.axis_count = first.trajectory_dimensions;
  for (const auto& [number, head] : image_readouts_) {
    if (head.active_channels != first.active_channels)
      throw Error(subjects_.readout(number),
                  fmt::format("{} channels as in the first", first.active_channels),
                  std::to_string(head.active_channels));
    if (head.trajectory_dimensions != first.trajectory_dimensions)
      throw Error(subjects_.readout(number),
                  fmt::format("{} trajectory dimensions as in the first", first.trajectory_dimensions),
                  std::to_string(head.trajectory_dimensions));
    if (head.sample_count() != summary_.readout_length) summary_.readout_length = 0;
  }
  // Noise of another set of coils says nothing about these.
  std::erase_if(noise_readouts_, [&](const Entry& entry) {
    return entry.head.active_channels != first.active_channels || entry.head.sample_count() < 1;
  });
}

/// Whether the readouts count slices that the header denies.
bool VolumeAssembler::is_one_slice() {
  const auto& first = image_readouts_.front().head;
  const bool one = header_.slice && header_.slice->maximum == 0 &&
                   std::any_of(image_readouts_.begin(), image_readouts_.end(),
                               [](const Entry& entry) { return entry.head.idx.slice > 0; }) &&
                   std::all_of(image_readouts_.begin(), image_readouts_.end(), [&](const Entry& entry) {
                     return std::equal(entry.head.position, entry.head.position + 3, first.position);
                   });
  if (one)
    summary_.inferred.push_back(
        "All readouts are taken to be of one slice: the header's limits state one, and all positions are the "
        "same, though the readouts count slices.");
  return one;
}

void VolumeAssembler::group_by_volume() {
  const bool one_slice = is_one_slice();
  const auto slice_of = [&](const ReadoutHead& head) { return one_slice ? 0 : int{head.idx.slice}; };
  std::set<RepetitionKey> repetitions;
  std::set<int> slices, averages, distinct[4];
  for (const auto& [number, head] : image_readouts_) {
    repetitions.insert(repetition_of(head));
    slices.insert(slice_of(head));
    averages.insert(head.idx.average);
    const int counters[]{head.idx.repetition, head.idx.contrast, head.idx.phase, head.idx.set};
    for (int i = 0; i < 4; ++i) distinct[i].insert(counters[i]);
  }
  summary_.slice_count = static_cast<std::int64_t>(slices.size());
  summary_.repetition_count = static_cast<std::int64_t>(repetitions.size());
  if (distinct[1].size() > 1 || distinct[2].size() > 1 || distinct[3].size() > 1)
    summary_.inferred.push_back(fmt::format(
        "Each combination of {} repetitions, {} contrasts, {} phases and {} sets is one repetition.",
        distinct[0].size(), distinct[1].size(), distinct[2].size(), distinct[3].size()));
  if (averages.size() > 1)
    summary_.inferred.push_back(
        fmt::format("The {} averages are further samples of the same image.", averages.size()));
  for (const auto& entry : image_readouts_)
    volumes_[{rank_of(repetition_of(entry.head), repetitions), rank_of(slice_of(entry.head), slices)}]
        .push_back(entry);
  const auto expected = summary_.slice_count * summary_.repetition_count;
  if (static_cast<std::int64_t>(volumes_.size()) < expected)
    summary_.missing.push_back(fmt::format(
        "{} of {} slices and repetitions have no readout; choose others with --slices and --repetitions.",
        expected - static_cast<std::int64_t>(volumes_.size()), expected));
  const auto& first = volumes_.begin()->second;
  summary_.samples_per_scan = sample_count(first);
  summary_.has_sample_time = first.front().head.sample_time_us > 0;
}

void VolumeAssembler::read_directions() {
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
  geometry.position_mm = position_mm(head);
}

/// Of the first volume, along the axes of the trajectory (in 1 / its unit).
std::array<double, 3> VolumeAssembler::object_length(const Source& with_values, int axes) const {
  std::vector<std::int64_t> numbers;
  for (const auto& entry : readouts_of(0, 0)) numbers.push_back(entry.number);
  ObjectExtent extent;
  for (const auto number : extent_.central_readouts(numbers)) {
    const auto readout = with_values(number);
    const auto& head = readout.head;
    require_length(readout.trajectory.size(),
                   std::size_t{head.number_of_samples} * head.trajectory_dimensions, "traj", number);
    require_length(readout.values.size(), std::size_t{2} * head.number_of_samples * head.active_channels,
                   "data", number);
    extent.add(central_part(readout, axes));
  }
  return extent.lengths();
}

void VolumeAssembler::add_facts() {
  const auto add_fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) summary_.facts.emplace_back(name, value);
  };
  if (!noise_readouts_.empty()) add_fact("noise readouts", std::to_string(noise_readouts_.size()));
  add_fact("system", header_.vendor);
  add_fact("protocol", header_.protocol);
  add_fact("trajectory", header_.trajectory);
  add_fact("readouts used", std::to_string(image_readouts_.size()));
  std::string skipped;
  for (const auto& [what, count] : skipped_)
    skipped += fmt::format("{}{} {}", skipped.empty() ? "" : ", ", count, what);
  add_fact("readouts skipped", skipped);
  image_readouts_.clear();  // held by volume now
}

Scan VolumeAssembler::volume(std::int64_t slice, std::int64_t repetition, const Source& source) const {
  const auto& entries = readouts_of(slice, repetition);
  const auto samples = sample_count(entries);
  Scan scan;
  scan.geometry = summary_.geometry;
  scan.geometry.position_mm = position_mm(entries.front().head);
  scan.cropped_matrix_size = space_.cropped_matrix_size;
  scan.trajectory.k = Array<double>({3, samples});
  scan.kspace.values = Array<Complex<float>>({summary_.coil_count, samples});
  if (std::all_of(entries.begin(), entries.end(), [](const Entry& e) { return e.head.sample_time_us > 0; }))
    scan.sample_time_s = Array<double>({samples});
  std::int64_t m = 0;
  for (const auto& entry : entries) {
    const auto& head = entry.head;
    const auto readout = source(entry.number);
    copy_positions(entry, readout, scan.trajectory.k, m);
    copy_values(entry, readout, scan.kspace.values, m);
    for (std::int64_t s = 0; scan.sample_time_s && s < head.sample_count(); ++s)
      (*scan.sample_time_s)[m + s] =
          static_cast<double>(head.first_sample() + s) * head.sample_time_us * 1e-6;
    m += head.sample_count();
  }
  return scan;
}

std::optional<Array<Complex<float>>> VolumeAssembler::noise(const Source& source) const {
  if (noise_readouts_.empty()) return {};
  Array<Complex<float>> noise({summary_.coil_count, sample_count(noise_readouts_)});
  std::int64_t m = 0;
  for (const auto& entry : noise_readouts_) {
    copy_values(entry, source(entry.number), noise, m);
    m += entry.head.sample_count();
  }
  return noise;
}

std::int64_t VolumeAssembler::sample_count(const Entries& entries) {
  std::int64_t samples = 0;
  for (const auto& entry : entries) samples += entry.head.sample_count();
  return samples;
}

const VolumeAssembler::Entries& VolumeAssembler::readouts_of(std::int64_t slice,
                                                             std::int64_t repetition) const {
  require_volume(summary_, slice, repetition);
  const auto found = volumes_.find({repetition, slice});
  if (found == volumes_.end())
    throw Error(
        subjects_.measurement,
        "readouts of slice " + std::to_string(slice) + " and repetition " + std::to_string(repetition),
        "none");
  return found->second;
}

void VolumeAssembler::require_length(std::size_t found, std::size_t expected, const char* member,
                                     std::int64_t number) const {
  if (found != expected)
    throw Error(subjects_.readout(number) + "." + member,
                fmt::format("{} numbers, as its head says", expected), std::to_string(found),
                "the file is damaged");
}

/// Puts the positions of a readout at sample m of k [axis][sample].
void VolumeAssembler::copy_positions(const Entry& entry, const Readout& readout, Array<double>& k,
                                     std::int64_t m) const {
  const auto& head = entry.head;
  require_length(readout.trajectory.size(), std::size_t{head.number_of_samples} * head.trajectory_dimensions,
                 "traj", entry.number);
  const auto samples = k.extent(1);
  for (std::int64_t s = 0; s < head.sample_count(); ++s) {
    const auto position = positions_.of(readout, head.first_sample() + s);
    for (int axis = 0; axis < 3; ++axis) k[axis * samples + m + s] = position[axis];
  }
}

/// Puts the values of a readout at sample m of values [coil][sample].
void VolumeAssembler::copy_values(const Entry& entry, const Readout& readout, Array<Complex<float>>& values,
                                  std::int64_t m) const {
  const auto& head = entry.head;
  const std::int64_t total = head.number_of_samples, coils = values.extent(0), samples = values.extent(1);
  require_length(readout.values.size(), static_cast<std::size_t>(2 * total * coils), "data", entry.number);
  const auto* from = readout.values.data();
  for (std::int64_t s = 0; s < head.sample_count(); ++s)
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const float* value = from + 2 * (coil * total + head.first_sample() + s);
      values[coil * samples + m + s] = {value[0], value[1]};
    }
}

}  // namespace fhd::io::mrd
