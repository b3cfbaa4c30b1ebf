#include "io/scan/mrd/volume_assembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "io/scan/mrd/noise_readouts.hpp"
#include "io/scan/mrd/repetition_time.hpp"
#include "io/scan/mrd/role.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// Returns the counters that make a repetition of the output, in the order of the output.
RepetitionCounters repetition_of(const ReadoutHead& head) {
  return {head.idx.repetition, head.idx.contrast, head.idx.phase, head.idx.set};
}

template <class T>
std::map<T, std::int64_t> ranks_of(const std::set<T>& all) {
  std::map<T, std::int64_t> ranks;
  for (const auto& value : all)
    ranks.emplace_hint(ranks.end(), value, static_cast<std::int64_t>(ranks.size()));
  return ranks;
}

std::array<double, 3> position_mm(const ReadoutHead& head) {
  std::array<double, 3> position{};
  for (int axis = 0; axis < 3; ++axis)
    position[axis] = std::isfinite(head.position[axis]) ? head.position[axis] : 0;
  return position;
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
}

void VolumeAssembler::add(const Readout& readout) {
  const auto number = added_++;
  const auto& head = readout.head;
  const auto [role, name] = role_of(head);
  if (role == Role::noise) append(noise_readouts_, number, kinds_.of(head));
  if (role == Role::navigator || role == Role::reference) {
    const bool usable =
        head.active_channels > 0 && head.sample_count() > 1 &&
        readout.trajectory.size() == std::size_t{head.number_of_samples} * head.trajectory_dimensions &&
        (role == Role::navigator ? 0 : header_.others.size()) >= head.encoding_space_ref;
    if (!usable) {
      ++skipped_[name];
    } else {
      append(role == Role::navigator ? navigators_ : references_, number, kinds_.of(head));
      if (role == Role::reference) reference_extent_.add(readout);
    }
    return;
  }
  if (role != Role::image) {
    ++skipped_[name];
    return;
  }
  if (head.active_channels == 0) throw Error(subjects_.readout(number), "at least one channel", "0");
  if (head.sample_count() < 1)
    throw Error(
        subjects_.readout(number), "more samples than discard_pre and discard_post leave out",
        fmt::format("{} samples, {} and {}", head.number_of_samples, head.discard_pre, head.discard_post));
  require_trajectory(readout, head, number);
  extent_.add(readout);
  append(image_readouts_, number, kinds_.of(head));
}

void VolumeAssembler::finish(const Source& source, const Source& with_values) {
  require_agreement();
  const auto length = [&](int axes) { return object_length(image_readouts_, source, with_values, axes); };
  placing_.positions = choose_positions(header_, header_.trajectory_unit, options_, space_, extent_, length,
                                        subjects_, summary_.inferred);
  sort_references(source, with_values);
  group_by_volume();
  require_references_in_place();
  tell_repetition_time(source);
  tell_ghost();
  read_directions();
  Trajectory trajectory{Array<double>({3, summary_.samples_per_scan})};
  std::int64_t m = 0;
  for_each_readout(readouts_of(0, 0), [&](std::int64_t number, const ReadoutHead& head) {
    copy_positions(number, source(number), head, placing_, trajectory.k, m);
    m += head.sample_count();
  });
  summary_.cartesian = lies_on_grid(trajectory);
  if (const auto missing = missing_fov(summary_.geometry)) summary_.missing.push_back(*missing);
  add_facts();
}

void VolumeAssembler::require_agreement() {
  if (image_readouts_.empty())
    throw Error(subjects_.readouts, "readouts of an image",
                fmt::format("{} readouts, all flagged as noise, calibration or dummy", added_));
  const auto& first = *image_readouts_.front().head;
  summary_.coil_count = first.active_channels, summary_.readout_length = first.sample_count();
  extent_.axis_count = first.trajectory_dimensions;
  for (const auto& [number, count, head] : image_readouts_) {
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
  const auto of_other_coils = [&](const ReadoutHead& head) {
    return head.active_channels != first.active_channels || head.sample_count() < 1;
  };
  leave_out(noise_readouts_, of_other_coils);
  if (const auto left_out = leave_out(references_, of_other_coils)) skipped_["calibration"] += left_out;
  if (const auto left_out = leave_out(navigators_, of_other_coils)) skipped_["phase correction"] += left_out;
}

/// Adds to the summary what is known of the delay between echoes of opposite directions.
void VolumeAssembler::tell_ghost() {
  const auto reversed = [](const ReadoutRun& run) { return is_reversed(*run.head); };
  const auto has_both = [&](const ReadoutRuns& runs) {
    const auto count = std::count_if(runs.begin(), runs.end(), reversed);
    return count > 0 && count < static_cast<std::ptrdiff_t>(runs.size());
  };
  if (extent_.axis_count == 0 && header_.ramp_sampled)
    summary_.missing.emplace_back(
        "The header describes samples on the ramps of the readout gradient, but no trajectory: they are "
        "taken to be "
        "equally spaced; the image is distorted along x unless they were regridded.");
  if (!has_both(image_readouts_)) return;
  if (extent_.axis_count == 0 && has_both(navigators_))
    summary_.inferred.push_back(
        fmt::format("Echoes of opposite directions are aligned by {} phase-correction readouts.",
                    readout_count(navigators_)));
  else
    summary_.missing.emplace_back(extent_.axis_count > 0 && has_both(navigators_)
                                      ? "Echoes of opposite directions are taken as the trajectory says: "
                                        "phase-correction readouts are not used."
                                      : "No phase-correction readouts of both directions tell how echoes of "
                                        "opposite directions are delayed: the "
                                        "image may have a ghost at half the FOV.");
}

/// Returns whether the readouts count slices that the header denies.
bool VolumeAssembler::is_one_slice() const {
  const auto& first = *image_readouts_.front().head;
  return header_.slice && header_.slice->maximum == 0 &&
         std::any_of(image_readouts_.begin(), image_readouts_.end(),
                     [](const ReadoutRun& run) { return run.head->idx.slice > 0; }) &&
         std::all_of(image_readouts_.begin(), image_readouts_.end(), [&](const ReadoutRun& run) {
           return std::equal(run.head->position, run.head->position + 3, first.position);
         });
}

void VolumeAssembler::group_by_volume() {
  const bool one_slice = is_one_slice();
  if (one_slice)
    summary_.inferred.push_back(
        "All readouts are taken to be of one slice: the header's limits state one, and all positions are the "
        "same, though the readouts count slices.");
  const auto slice_of = [&](const ReadoutHead& head) { return one_slice ? 0 : int{head.idx.slice}; };
  std::set<RepetitionCounters> repetitions;
  std::set<int> slices, averages, distinct[4];
  for (const auto& run : image_readouts_) {
    const auto& idx = run.head->idx;
    repetitions.insert(repetition_of(*run.head));
    slices.insert(slice_of(*run.head));
    averages.insert(idx.average);
    const int counters[]{idx.repetition, idx.contrast, idx.phase, idx.set};
    for (int i = 0; i < 4; ++i) distinct[i].insert(counters[i]);
  }
  summary_.slice_count = static_cast<std::int64_t>(slices.size());
  summary_.repetition_count = static_cast<std::int64_t>(repetitions.size());
  summary_.repetition_counters.assign(repetitions.begin(), repetitions.end());
  summary_.slice_counters.assign(slices.begin(), slices.end());
  if (distinct[1].size() > 1 || distinct[2].size() > 1 || distinct[3].size() > 1)
    summary_.inferred.push_back(fmt::format(
        "Each combination of {} repetitions, {} contrasts, {} phases and {} sets is one repetition.",
        distinct[0].size(), distinct[1].size(), distinct[2].size(), distinct[3].size()));
  if (averages.size() > 1)
    summary_.inferred.push_back(
        fmt::format("The {} averages are further samples of the same image.", averages.size()));
  const auto ranks = ranks_of(repetitions);
  const auto slice_ranks = ranks_of(slices);
  const auto grouped = [&](const ReadoutRuns& runs) {
    Volumes volumes;
    for (const auto& run : runs)
      if (const auto slice = slice_ranks.find(slice_of(*run.head)); slice != slice_ranks.end()) {
        const auto repetition = ranks.find(repetition_of(*run.head));
        volumes[{repetition == ranks.end() ? -1 : repetition->second, slice->second}].push_back(run);
      }
    return volumes;
  };
  volumes_ = grouped(image_readouts_);
  reference_volumes_ = grouped(references_);
  navigator_volumes_ = grouped(navigators_);
  const auto expected = summary_.slice_count * summary_.repetition_count;
  if (static_cast<std::int64_t>(volumes_.size()) < expected)
    summary_.missing.push_back(fmt::format(
        "{} of {} slices and repetitions have no readout; choose others with --slices and --repetitions.",
        expected - static_cast<std::int64_t>(volumes_.size()), expected));
  const auto& first = volumes_.begin()->second;
  summary_.samples_per_scan = sample_count(first);
  summary_.has_sample_time = states_times(first);
}

/// Adds the time of a repetition, unless there are several contrasts, phases or sets, which have no common time between
/// them.
void VolumeAssembler::tell_repetition_time(const Source& source) {
  if (summary_.slice_count == 1)
    summary_.readout_time_s = header_.acquisition.excitation_time_s;  // else slices may take turns
  const auto& counters = summary_.repetition_counters;
  std::vector<std::int64_t> numbers;  // of the first readouts
  std::int64_t most_readouts = 0;
  for (const auto& [key, runs] : volumes_) {
    most_readouts = std::max(most_readouts, readout_count(runs));
    if (key.second == 0) numbers.push_back(runs.front().first);
    const auto& own = counters[static_cast<std::size_t>(key.first)];
    if (own != RepetitionCounters{own.repetition, counters[0].contrast, counters[0].phase, counters[0].set})
      return;
  }
  if (numbers.size() < 2 || numbers.size() != counters.size()) return;
  std::vector<std::uint32_t> stamps;
  for (const auto number : numbers) stamps.push_back(source(number).head.acquisition_time_stamp);
  const auto [seconds, origin] = repetition_time(header_, stamps, most_readouts);
  summary_.repetition_time_s = seconds;
  if (seconds > 0)
    summary_.facts.emplace_back("repetition time", fmt::format("{:g} s ({})", seconds, origin));
}

void VolumeAssembler::read_directions() {
  auto& geometry = summary_.geometry;
  const auto& head = *volumes_.begin()->second.front().head;
  const auto unit_vector = [](const float(&from)[3], std::array<double, 3>& to) {
    const double length = std::hypot(double{from[0]}, double{from[1]}, double{from[2]});
    for (int axis = 0; axis < 3; ++axis) to[axis] = from[axis] / length;
    return std::isfinite(length) && length > 0;
  };
  Geometry read = geometry;
  summary_.states_directions = unit_vector(head.read_dir, read.read_direction) &&
                               unit_vector(head.phase_dir, read.phase_direction) &&
                               unit_vector(head.slice_dir, read.slice_direction) && are_axes(read);
  if (summary_.states_directions)
    geometry = read;
  else
    summary_.inferred.push_back(
        "The directions of the image are not stated, or not at right angles: x, y, z are taken to be the "
        "patient's left, posterior and superior.");
  geometry.position_mm = position_mm(head);
}

/// Returns the length of the object along the axes of the trajectory (in 1 / its unit), from the readouts of the first
/// volume among `runs`.
std::array<double, 3> VolumeAssembler::object_length(const ReadoutRuns& runs, const Source& source,
                                                     const Source& with_values, int axes) const {
  const bool one_slice = is_one_slice();
  const auto volume_of = [&](const ReadoutHead& head) {
    return std::pair(repetition_of(head), one_slice ? 0 : int{head.idx.slice});
  };
  auto first = volume_of(*runs.front().head);
  for (const auto& run : runs) first = std::min(first, volume_of(*run.head));
  std::vector<std::int64_t> numbers;
  for_each_readout(runs, [&](std::int64_t number, const ReadoutHead& head) {
    if (volume_of(head) == first) numbers.push_back(number);
  });
  const auto checked = [&](const Readout& readout, std::int64_t number) {
    require_trajectory(readout, readout.head, number);
    return readout;
  };
  const auto central = central_readouts(std::move(numbers), [&](std::int64_t number) {
    return nearest_to_centre(checked(source(number), number));
  });
  ObjectExtent extent;
  for (const auto number : central) {
    const auto readout = checked(with_values(number), number);
    const auto& head = readout.head;
    require_length(readout.values.size(), std::size_t{2} * head.number_of_samples * head.active_channels,
                   subjects_.readout(number) + ".data");
    extent.add(central_part(readout, axes));
  }
  return extent.lengths();
}

void VolumeAssembler::add_facts() {
  const auto add_fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) summary_.facts.emplace_back(name, value);
  };
  if (!noise_readouts_.empty())
    add_fact("noise readouts",
             std::to_string(readout_count(noise_readouts_)) +
                 (noise_scale() == 1
                      ? ""
                      : fmt::format(", scaled by {:.4g} to the dwell time of the image", noise_scale())));
  add_fact("system", header_.acquisition.vendor);
  add_fact("protocol", header_.acquisition.protocol);
  add_fact("trajectory", header_.trajectory);
  add_fact("readouts used", std::to_string(readout_count(image_readouts_)));
  std::string skipped;
  for (const auto& [what, count] : skipped_)
    skipped += fmt::format("{}{} {}", skipped.empty() ? "" : ", ", count, what);
  add_fact("readouts skipped", skipped);
  image_readouts_ = {};  // held by volume now
}

Scan VolumeAssembler::volume(std::int64_t slice, std::int64_t repetition, const Source& source) const {
  const auto& runs = readouts_of(slice, repetition);
  Scan scan;
  scan.geometry = summary_.geometry;
  scan.geometry.position_mm = position_mm(*runs.front().head);
  scan.cropped_matrix_size = space_.cropped_matrix_size;
  auto found = ghost_correction(slice, repetition, source, scan.messages);
  auto* const ghost = found ? &*found : nullptr;
  auto& stamps = scan.physiology_stamps;
  const Source noting_stamps = [&](std::int64_t number) {
    const auto readout = source(number);
    stamps.push_back(std::to_array(readout.head.physiology_time_stamp));
    return readout;
  };
  collect(runs, placing_, noting_stamps, ghost, scan.trajectory, scan.kspace);
  const auto is_zero = [](const auto& times) { return times == std::array<std::uint32_t, 3>{}; };
  if (std::all_of(stamps.begin(), stamps.end(), is_zero)) stamps.clear();
  scan.calibration = calibration(slice, repetition, source, ghost);
  if (!states_times(runs)) return scan;
  double* time_s = scan.sample_time_s.emplace(Shape{sample_count(runs)}).data();
  for_each_readout(runs, [&](std::int64_t, const ReadoutHead& head) {
    for (std::int64_t s = 0; s < head.sample_count(); ++s)
      *time_s++ = static_cast<double>(head.first_sample() + s) * head.sample_time_us * 1e-6;
  });
  return scan;
}

/// Copies the samples of readouts, one after the other.
void VolumeAssembler::collect(const ReadoutRuns& runs, const Placing& placing, const Source& source,
                              GhostCorrection* ghost, Trajectory& trajectory, KSpace& kspace) const {
  const auto samples = sample_count(runs);
  trajectory.k = Array<double>({3, samples});
  kspace.values = Array<Complex<float>>({summary_.coil_count, samples});
  std::int64_t m = 0;
  for_each_readout(runs, [&](std::int64_t number, const ReadoutHead& head) {
    const auto readout = source(number);
    copy_positions(number, readout, head, placing, trajectory.k, m);
    copy_values(readout, head, subjects_.readout(number), kspace.values, m);
    if (ghost != nullptr && is_reversed(head) && head.sample_count() == ghost->sample_count())
      ghost->apply(kspace.values, m);
    m += head.sample_count();
  });
}

/// Returns the readouts of the slice and repetition; else of the slice in the first repetition that has some; else null.
const ReadoutRuns* VolumeAssembler::of_volume(const Volumes& volumes, std::int64_t slice,
                                              std::int64_t repetition) {
  if (const auto found = volumes.find({repetition, slice}); found != volumes.end()) return &found->second;
  for (const auto& [key, runs] : volumes)
    if (key.second == slice) return &runs;
  return nullptr;
}

/// Returns the correction that the navigators of the volume tell, where it has lines of both directions.
std::optional<GhostCorrection> VolumeAssembler::ghost_correction(std::int64_t slice, std::int64_t repetition,
                                                                 const Source& source,
                                                                 std::vector<Message>& messages) const {
  const auto& lines = readouts_of(slice, repetition);
  const auto* navigators = of_volume(navigator_volumes_, slice, repetition);
  const auto coils = summary_.coil_count, length = lines.front().head->sample_count();
  if (navigators == nullptr || extent_.axis_count > 0 ||
      std::none_of(lines.begin(), lines.end(), [](const ReadoutRun& run) { return is_reversed(*run.head); }))
    return std::nullopt;
  Array<Complex<double>> sums[2]{Array<Complex<double>>({coils, length}),
                                 Array<Complex<double>>({coils, length})};
  std::int64_t counts[2]{};
  for_each_readout(*navigators, [&](std::int64_t number, const ReadoutHead& head) {
    if (head.sample_count() != length) return;
    Array<Complex<float>> line({coils, length});
    copy_values(source(number), head, subjects_.readout(number), line, 0);
    const bool reversed = is_reversed(head);
    ++counts[reversed];
    for (std::int64_t coil = 0; coil < coils; ++coil)
      for (std::int64_t s = 0; s < length; ++s)
        sums[reversed][coil * length + s] +=
            Complex<double>(line[coil * length + (reversed ? length - 1 - s : s)]);
  });
  const auto phase = counts[0] > 0 && counts[1] > 0 ? ghost_phase(sums[0], sums[1]) : std::nullopt;
  const auto note = [&](std::string text) { messages.push_back({"ghosts", Severity::note, std::move(text)}); };
  if (!phase) {
    note("the phase-correction readouts do not tell how echoes of opposite directions are delayed");
    return std::nullopt;
  }
  note(fmt::format("echoes of opposite directions differ by {:.3g} samples and {:.3g} rad, as {} "
                   "phase-correction readouts tell: they are aligned",
                   phase->slope_rad * static_cast<double>(length) / (2 * std::numbers::pi), phase->offset_rad,
                   counts[0] + counts[1]));
  return std::optional<GhostCorrection>(std::in_place, *phase, static_cast<int>(length),
                                        static_cast<int>(coils));
}

std::optional<Array<Complex<float>>> VolumeAssembler::noise(const Source& source) const {
  if (noise_readouts_.empty()) return {};
  Array<Complex<float>> noise({summary_.coil_count, sample_count(noise_readouts_)});
  std::int64_t m = 0;
  for_each_readout(noise_readouts_, [&](std::int64_t number, const ReadoutHead& head) {
    copy_values(source(number), head, subjects_.readout(number), noise, m);
    m += head.sample_count();
  });
  multiply(noise, noise_scale());
  return noise;
}

double VolumeAssembler::noise_scale() const {
  return mrd::noise_scale(noise_readouts_.front().head->sample_time_us,
                          volumes_.begin()->second.front().head->sample_time_us,
                          header_.relative_noise_bandwidth);
}

/// Returns whether sample times are known: lines of an echo train share an excitation, and their heads do not say when
/// each begins.
bool VolumeAssembler::states_times(const ReadoutRuns& runs) const {
  const auto has_dwell = [](const ReadoutRun& run) { return run.head->sample_time_us > 0; };
  return header_.trajectory != "epi" && std::all_of(runs.begin(), runs.end(), has_dwell);
}

const ReadoutRuns& VolumeAssembler::readouts_of(std::int64_t slice, std::int64_t repetition) const {
  require_volume(summary_, slice, repetition);
  const auto found = volumes_.find({repetition, slice});
  if (found == volumes_.end())
    throw Error(
        subjects_.measurement,
        "readouts of slice " + std::to_string(slice) + " and repetition " + std::to_string(repetition),
        "none");
  return found->second;
}

/// Puts the positions of a readout at sample m of k [axis][sample].
void VolumeAssembler::copy_positions(std::int64_t number, const Readout& readout, const ReadoutHead& head,
                                     const Placing& placing, Array<double>& k, std::int64_t m) const {
  require_trajectory(readout, head, number);
  const auto samples = k.extent(1);
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

}  // namespace fhd::io::mrd
