#include "io/scan/mrd/volume_assembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/mrd/sample_times.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// Returns the counters that make a repetition of the output, in the order of the output.
RepetitionCounters repetition_of(const ReadoutHead& head) {
  return {head.idx.repetition, head.idx.contrast, head.idx.phase, head.idx.set};
}

}  // namespace

VolumeAssembler::VolumeAssembler(Header header, const ReadOptions& options, Subjects subjects,
                                 std::vector<std::string> inferred)
    : header_(std::move(header)), options_(options), subjects_(std::move(subjects)) {
  summary_.path = subjects_.measurement;
  summary_.format = "ISMRMRD";
  summary_.inferred = std::move(inferred);
  space_ = encoded_space(header_, options_, subjects_.header, summary_.inferred);
  summary_.geometry = space_.geometry;
  summary_.unit_geometry = space_.unit_reference.encoded;
  summary_.echo_times_s = header_.echo_times_s, summary_.acquisition = header_.acquisition;
  if (options_.outside.trajectory.empty()) ramps_ = RampReadouts::find(header_, subjects_.header);
}

void VolumeAssembler::add(const Readout& stored) {
  const auto number = added_++;
  auto readout = stored;
  if (sequence_) sequence_->put_labels(number, readout.head);
  const bool regridded = ramps_ && ramps_->put_head(readout.head);
  const auto& head = readout.head;
  const auto [role, name] = role_of(head);
  const ListedReadout listed{number, kinds_.of(head)};
  if (role == Role::image) {
    if (head.active_channels == 0) throw Error(subjects_.readout(number), "at least one channel", "0");
    if (head.sample_count() < 1)
      throw Error(
          subjects_.readout(number), "more samples than discard_pre and discard_post leave out",
          fmt::format("{} samples, {} and {}", head.number_of_samples, head.discard_pre, head.discard_post));
    require_trajectory(readout, head, number);
    extent_.add(readout);
    image_readouts_.push_back(listed);
    image_is_regridded_ = image_is_regridded_ || regridded;
    if (head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA)) {
      surface_coil_readouts_.push_back(listed);
      surface_coil_extent_.add(readout);
      ++flagged_image_count_;
    }
    return;
  }
  const bool usable =
      head.active_channels > 0 && head.sample_count() > 1 &&
      readout.trajectory.size() == std::size_t{head.number_of_samples} * head.trajectory_dimensions &&
      (role == Role::navigator ? 0 : header_.others.size()) >= head.encoding_space_ref;
  if (role == Role::noise) noise_readouts_.push_back(listed);
  if (role == Role::navigator && usable) {
    navigators_.push_back(listed);
  } else if (role == Role::reference && usable) {
    references_.push_back(listed);
    reference_extent_.add(readout);
  } else if (role == Role::surface_coil && usable) {
    surface_coil_readouts_.push_back(listed);
    surface_coil_extent_.add(readout);
  } else {
    ++skipped_[name];
  }
}

/// Takes readouts flagged as surface coil correction as the image, if no others are of the image: those that are reference
/// lines, too, are flagged as both.
void VolumeAssembler::choose_image_readouts() {
  const auto count = std::ssize(surface_coil_readouts_) - flagged_image_count_;
  if (count == 0) return;
  if (std::ssize(image_readouts_) > flagged_image_count_) {
    skipped_["surface coil correction"] += count;
    return;
  }
  image_readouts_ = std::move(surface_coil_readouts_);
  extent_ = surface_coil_extent_;
  say(summary_.inferred,
      "The {} readouts flagged as surface coil correction are taken to be the image, because no others are: "
      "converters flag so what the scanner scales.",
      count);
}

void VolumeAssembler::finish(const Source& stored, const Source& stored_with_values) {
  const auto source = prepared(stored), with_values = prepared(stored_with_values);
  choose_image_readouts();
  require_agreement();
  if (header_.trajectory.empty())
    header_.trajectory = kind_of_trajectory(extent_, space_, summary_.readout_length,
                                            has_trajectory() || !options_.outside.trajectory.empty(),
                                            subjects_, summary_.inferred);
  for (auto& other : header_.others)
    if (other.trajectory.empty()) other.trajectory = header_.trajectory;
  const auto length = [&](int axes, bool in_magnet) {
    return object_length(image_readouts_, source, with_values, axes, in_magnet);
  };
  placing_.positions = choose_positions(header_, header_.trajectory_unit, options_, space_, extent_, length,
                                        subjects_, summary_.inferred);
  sort_references(source, with_values);
  leave_out_stopped(source);
  group_by_volume();
  tell_missing();
  require_references_in_place();
  tell_repetition_time(source);
  tell_ghost();
  Trajectory trajectory{Array<double>({3, summary_.samples_per_scan})};
  std::int64_t m = 0;
  std::vector<TimedReadout> timed;
  const auto in_image = placing_.positions.in_magnet ? in_axes_of_image(source) : source;
  for (const auto& [number, head] : volumes_.begin()->second) {
    const auto readout = in_image(number);
    timed.emplace_back(readout.head);
    copy_positions(number, readout, *head, placing_, trajectory.k, m);
    m += head->sample_count();
  }
  tell_times(timed, trajectory);
  summary_.cartesian = lies_on_grid(trajectory);
  tell_played_axes();
  note_missing_fov(summary_);
  add_facts();
}

void VolumeAssembler::require_agreement() {
  if (image_readouts_.empty())
    throw Error(subjects_.readouts, "readouts of an image",
                fmt::format("{} readouts, all flagged as noise, calibration or dummy", added_),
                added_ > 0 && std::ssize(noise_readouts_) == added_
                    ? "give the file as " + option_words("noise") + " to the scan whose noise it is"
                    : "");
  const auto& first = *image_readouts_.front().head;
  summary_.coil_count = first.active_channels, summary_.readout_length = first.sample_count();
  extent_.axis_count = first.trajectory_dimensions;
  for (const auto& [number, head] : image_readouts_) {
    if (head->active_channels != first.active_channels)
      throw Error(subjects_.readout(number),
                  fmt::format("{} channels as in the first", first.active_channels),
                  std::to_string(head->active_channels));
    if (head->trajectory_dimensions != first.trajectory_dimensions)
      throw Error(subjects_.readout(number),
                  fmt::format("{} trajectory dimensions as in the first", first.trajectory_dimensions),
                  std::to_string(head->trajectory_dimensions));
    if (head->sample_count() != summary_.readout_length) summary_.readout_length = 0;
  }
  // Noise, references and navigators of another set of coils say nothing about these.
  const auto leave_out = [&](ReadoutList& readouts) {
    return static_cast<std::int64_t>(std::erase_if(readouts, [&](const ListedReadout& readout) {
      return readout.head->active_channels != first.active_channels || readout.head->sample_count() < 1;
    }));
  };
  leave_out(noise_readouts_);
  if (const auto left_out = leave_out(references_)) skipped_["calibration"] += left_out;
  if (const auto left_out = leave_out(navigators_)) skipped_["phase correction"] += left_out;
}

/// Returns whether the readouts count slices that the header denies.
bool VolumeAssembler::is_one_slice() const {
  const auto& first = *image_readouts_.front().head;
  return header_.slice && header_.slice->maximum == 0 &&
         std::ranges::any_of(image_readouts_, [](const auto& each) { return each.head->idx.slice > 0; }) &&
         std::ranges::all_of(image_readouts_, [&](const auto& each) {
           return std::ranges::equal(each.head->position, first.position);
         });
}

void VolumeAssembler::group_by_volume() {
  const bool one_slice = is_one_slice();
  if (one_slice)
    say(summary_.inferred,
        "All readouts are taken to be of one slice: the header's limits state one, and all positions are the "
        "same, though the readouts count slices.");
  const auto slice_of = [&](const ReadoutHead& head) { return one_slice ? 0 : int{head.idx.slice}; };
  std::set<RepetitionCounters> repetitions;
  std::set<int> averages;
  for (const auto& [number, head] : image_readouts_) {
    repetitions.insert(repetition_of(*head));
    averages.insert(head->idx.average);
  }
  auto& counters = summary_.repetition_counters;
  counters.assign(repetitions.begin(), repetitions.end());
  order_slices(slice_of);
  summary_.repetition_count = std::ssize(counters);
  if (std::ranges::any_of(counters, [&](const RepetitionCounters& own) { return is_other_kind(own); }))
    say(summary_.inferred, "Each combination of repetition, contrast, phase and set is one repetition.");
  if (averages.size() > 1)
    say(summary_.inferred, "The {} averages are further samples of the same image.", averages.size());
  const auto repetition_number = [&](const RepetitionCounters& own) -> std::int64_t {
    const auto found = std::ranges::lower_bound(counters, own);
    return found == counters.end() || *found != own ? -1 : found - counters.begin();
  };
  std::map<int, std::int64_t> slice_numbers;
  for (const auto counter : summary_.slice_counters)
    slice_numbers.emplace(counter, std::ssize(slice_numbers));
  const auto grouped = [&](const ReadoutList& readouts) {
    Volumes volumes;
    for (const auto& readout : readouts)
      if (const auto slice = slice_numbers.find(slice_of(*readout.head)); slice != slice_numbers.end())
        volumes[{repetition_number(repetition_of(*readout.head)), slice->second}].push_back(readout);
    return volumes;
  };
  volumes_ = grouped(image_readouts_);
  reference_volumes_ = grouped(references_);
  navigator_volumes_ = grouped(navigators_);
  const auto& first = volumes_.begin()->second;
  summary_.samples_per_scan = sample_count(first);
}

/// Returns whether a repetition is another contrast, phase or set than the first.
bool VolumeAssembler::is_other_kind(const RepetitionCounters& own) const {
  const auto& first = summary_.repetition_counters.front();
  return own != RepetitionCounters{own.repetition, first.contrast, first.phase, first.set};
}

/// Adds the time of a repetition, unless there are several contrasts, phases or sets, which have no common time between
/// them.
void VolumeAssembler::tell_repetition_time(const Source& source) {
  if (summary_.slice_count == 1)
    summary_.readout_time_s = header_.acquisition.excitation_time_s;  // else slices may take turns
  std::vector<std::uint32_t> stamps;                                  // of the first readouts
  std::size_t most_readouts = 0;
  for (const auto& [key, readouts] : volumes_) {
    most_readouts = std::max(most_readouts, readouts.size());
    if (key.second == 0) stamps.push_back(source(readouts.front().number).head.acquisition_time_stamp);
    if (is_other_kind(summary_.repetition_counters[static_cast<std::size_t>(key.first)])) return;
  }
  if (has_gaps_ || stamps.size() < 2 || stamps.size() != summary_.repetition_counters.size()) return;
  const auto [seconds, origin] = repetition_time(header_, stamps, most_readouts);
  summary_.repetition_time_s = seconds;
  if (seconds > 0)
    summary_.facts.emplace_back("repetition time", fmt::format("{:g} s ({})", seconds, origin));
}

/// Returns the length of the object along the axes of the trajectory (in 1 / its unit), from the first volume among
/// `readouts`.
std::array<double, 3> VolumeAssembler::object_length(const ReadoutList& readouts, const Source& source,
                                                     const Source& with_values, int axes,
                                                     bool in_magnet) const {
  const bool one_slice = is_one_slice();
  const auto volume_of = [&](const ListedReadout& readout) {
    return std::pair(repetition_of(*readout.head), one_slice ? 0 : int{readout.head->idx.slice});
  };
  const auto first = volume_of(*std::ranges::min_element(readouts, {}, volume_of));
  std::vector<std::int64_t> numbers;
  for (const auto& readout : readouts)
    if (volume_of(readout) == first) numbers.push_back(readout.number);
  if (!in_magnet) return mrd::object_length(std::move(numbers), source, with_values, axes, subjects_);
  return mrd::object_length(std::move(numbers), in_axes_of_image(source), in_axes_of_image(with_values), axes,
                            subjects_);
}

void VolumeAssembler::add_facts() {
  const auto add_fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) summary_.facts.emplace_back(name, value);
  };
  if (!noise_readouts_.empty())
    add_fact("noise readouts",
             std::to_string(noise_readouts_.size()) +
                 (noise_scale() == 1
                      ? ""
                      : fmt::format(", scaled by {:.4g} to the dwell time of the image", noise_scale())));
  if (noise_readouts_.empty() && options_.outside.noise.empty() && !header_.noise_measurements.empty())
    say(summary_.inferred,
        "No noise is used: the header says that measurement {} holds it, whose file {} takes.",
        header_.noise_measurements.front(), option_words("noise"));
  add_fact("system", header_.acquisition.vendor);
  add_fact("protocol", header_.acquisition.protocol);
  add_fact("trajectory", header_.trajectory);
  add_fact("readouts used", std::to_string(image_readouts_.size()));
  std::string skipped;
  for (const auto& [what, count] : skipped_)
    skipped += fmt::format("{}{} {}", skipped.empty() ? "" : ", ", count, what);
  add_fact("readouts skipped", skipped);
  image_readouts_ = {};  // held by volume now
}

Scan VolumeAssembler::volume(std::int64_t slice, std::int64_t repetition, const Source& stored) const {
  const auto source = prepared(stored);
  const auto& readouts = readouts_of(slice, repetition);
  const bool is_missing = !volumes_.contains({repetition, slice});
  Scan scan;
  scan.geometry =
      geometry_of(*readouts.front().head, summary_.slice_geometries[static_cast<std::size_t>(slice)]);
  scan.cropped_matrix_size = space_.cropped_matrix_size;
  auto found = ghost_correction(readouts, navigators_of(slice, repetition, false), source, scan.messages);
  auto* const ghost = found ? &*found : nullptr;
  auto& stamps = scan.physiology_stamps;
  std::vector<TimedReadout> timed;
  const Source noting_stamps = [&](std::int64_t number) {
    const auto readout = source(number);
    timed.emplace_back(readout.head);
    stamps.push_back(std::to_array(readout.head.physiology_time_stamp));
    return readout;
  };
  collect(readouts, placing_, noting_stamps, ghost, scan.trajectory, scan.kspace);
  const auto is_zero = [](const auto& times) { return times == std::array<std::uint32_t, 3>{}; };
  if (std::all_of(stamps.begin(), stamps.end(), is_zero)) stamps.clear();
  if (is_missing) {
    scan.kspace.values.fill_zero();
    scan.messages = {
        {missing_volume, Severity::warning, "the scan had no readout of this image, which is zero"}};
  } else {
    scan.calibration = calibration(slice, repetition, source);
  }
  if (!noise_readouts_.empty()) scan.noise = noise(source);
  if (sequence_)
    scan.sample_time_s = played_times(readouts);
  else if (auto times = sample_times(header_, are_trains(timed), timed, scan.trajectory.k))
    scan.sample_time_s = std::move(times->seconds);
  return scan;
}

/// Copies the samples of readouts, one after the other.
void VolumeAssembler::collect(const ReadoutList& readouts, const Placing& placing, const Source& source,
                              GhostCorrection* ghost, Trajectory& trajectory, KSpace& kspace) const {
  const auto samples = sample_count(readouts);
  trajectory.k = Array<double>({3, samples});
  kspace.values = Array<Complex<float>>({summary_.coil_count, samples});
  std::int64_t m = 0;
  const auto in_image = placing.positions.in_magnet ? in_axes_of_image(source) : source;
  for (const auto& [number, head] : readouts) {
    const auto readout = in_image(number);
    copy_positions(number, readout, *head, placing, trajectory.k, m);
    copy_values(readout, *head, subjects_.readout(number), kspace.values, m);
    if (ghost != nullptr && head->is_reversed() && head->sample_count() == ghost->sample_count())
      ghost->apply(kspace.values, m);
    m += head->sample_count();
  }
}

/// Returns the readouts of the slice and repetition; else of the slice in the first repetition that has some; else null.
const ReadoutList* VolumeAssembler::of_volume(const Volumes& volumes, std::int64_t slice,
                                              std::int64_t repetition) {
  if (const auto found = volumes.find({repetition, slice}); found != volumes.end()) return &found->second;
  for (const auto& [key, readouts] : volumes)
    if (key.second == slice) return &readouts;
  return nullptr;
}

/// Returns the samples of all noise readouts, [coil][sample], scaled to those of the image (noise_readouts.hpp).
Array<Complex<float>> VolumeAssembler::noise(const Source& source) const {
  Array<Complex<float>> noise({summary_.coil_count, sample_count(noise_readouts_)});
  std::int64_t m = 0;
  for (const auto& [number, head] : noise_readouts_) {
    copy_values(source(number), *head, subjects_.readout(number), noise, m);
    m += head->sample_count();
  }
  multiply(noise, noise_scale());
  return noise;
}

double VolumeAssembler::noise_scale() const {
  return mrd::noise_scale(noise_readouts_.front().head->sample_time_us,
                          volumes_.begin()->second.front().head->sample_time_us,
                          header_.relative_noise_bandwidth);
}

bool VolumeAssembler::are_trains(const std::vector<TimedReadout>& readouts) const {
  return are_echo_trains(header_, readouts, has_trajectory(), has_both_directions(navigators_));
}

/// Adds what is known of the times of samples, by the first volume.
void VolumeAssembler::tell_times(const std::vector<TimedReadout>& readouts, const Trajectory& trajectory) {
  const bool trains = are_trains(readouts);
  if (trains) summary_.readout_time_s = 0;  // no excitation for each
  if (sequence_) {
    summary_.has_sample_time = sequence_->has_times();
    if (summary_.has_sample_time) summary_.time_origin = TimeOrigin::excitation;
    return;
  }
  const auto times = sample_times(header_, trains, readouts, trajectory.k);
  if (!trains && times)
    summary_.readout_time_s *= static_cast<double>(count_excitations(readouts, times->seconds)) /
                               static_cast<double>(readouts.size());
  summary_.has_sample_time = times.has_value();
  if (times) summary_.time_origin = times->origin;
  if (trains && times)
    say(summary_.inferred,
        "Sample times follow the echo trains by the header's echo spacing; the last is {:.3g} ms.",
        1e3 * *std::ranges::max_element(times->seconds));
  else if (trains && header_.trajectory != "epi")
    say(summary_.inferred,
        "The readouts are taken to be echo trains, though the header calls the trajectory '{}': the times of "
        "their samples are not known.",
        header_.trajectory);
}

/// Returns the readouts of a volume; of one that is missing, those of another repetition of its slice.
const ReadoutList& VolumeAssembler::readouts_of(std::int64_t slice, std::int64_t repetition) const {
  const auto* found = of_volume(volumes_, slice, repetition);
  if (found == nullptr || repetition >= summary_.repetition_count)
    throw Error(
        subjects_.measurement,
        "readouts of slice " + std::to_string(slice) + " and repetition " + std::to_string(repetition),
        "none");
  return *found;
}

/// Puts the positions of a readout at sample m of k [axis][sample].
void VolumeAssembler::copy_positions(std::int64_t number, const Readout& readout, const ReadoutHead& head,
                                     const Placing& placing, Array<double>& k, std::int64_t m) const {
  require_trajectory(readout, head, number);
  const auto samples = k.extent(1);
  if (sequence_) {
    copy_played_positions(number, head, k, m);
    for (std::int64_t axis = 0; axis < 3; ++axis)
      for (std::int64_t s = 0; s < head.sample_count(); ++s)
        k[axis * samples + m + s] *= sequence_scale_[static_cast<std::size_t>(axis)];
    return;
  }
  for (std::int64_t s = 0; s < head.sample_count(); ++s) {
    const auto position = placing.positions.of(readout, head.first_sample() + s);
    for (int axis = 0; axis < 3; ++axis) k[axis * samples + m + s] = position[axis] * placing.scale[axis];
  }
}

/// Throws Error unless the trajectory of a readout is as long as its head said when it was read first.
void VolumeAssembler::require_trajectory(const Readout& readout, const ReadoutHead& head,
                                         std::int64_t number) const {
  require_length(readout.trajectory.size(), std::size_t{head.number_of_samples} * head.trajectory_dimensions,
                 subjects_.readout(number) + ".traj");
}

ReadoutScan::ReadoutScan(Header header, const ReadOptions& options, Subjects subjects,
                         std::vector<SharedReadout> readouts)
    : readouts_(std::move(readouts)), volumes_(std::move(header), options, std::move(subjects)) {
  const auto source = [this](std::int64_t number) { return readout(number); };
  volumes_.follow_sequence(std::ssize(readouts_), source);
  for (const auto& one : readouts_) volumes_.add(one->view());
  volumes_.finish(source, source);
}

Scan ReadoutScan::read(std::int64_t slice, std::int64_t repetition) const {
  return volumes_.volume(slice, repetition, [this](std::int64_t number) { return readout(number); });
}

}  // namespace fhd::io::mrd
