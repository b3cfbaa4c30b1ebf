#include "io/scan/mrd/sample_positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// Returns the distance of a sample from the centre of k-space, in the plane of the first two axes.
double distance_from_centre(const Readout& readout, std::int64_t sample) {
  const std::size_t axes = readout.head.trajectory_dimensions;
  const float* k = readout.trajectory.data() + static_cast<std::size_t>(sample) * axes;
  if (axes == 1) return std::abs(double{k[0]});
  return std::sqrt(double{k[0]} * k[0] + double{k[1]} * k[1]);  // squares of floats do not overflow
}

TrajectoryUnit unit_of(const std::string& stated_unit, const ReadOptions& options, const EncodedSpace& space,
                       TrajectoryEvidence evidence,
                       const std::function<std::array<double, 3>()>& object_length, const Subjects& subjects,
                       std::vector<std::string>& inferred) {
  if (options.trajectory_unit != TrajectoryUnit::automatic) {
    inferred.push_back(unit_of_options(options.trajectory_unit));
    return options.trajectory_unit;
  }
  auto stated = TrajectoryUnit::automatic;
  if (!stated_unit.empty())
    stated = parse_trajectory_unit(stated_unit, subjects.header + " userParameterString 'trajectory_unit'");
  if (stated != TrajectoryUnit::automatic)
    require_credible_unit(stated, evidence.largest_k, space.unit_reference.encoded, subjects.readouts);
  if (stated != TrajectoryUnit::automatic && stated != TrajectoryUnit::cycles_per_fov) return stated;
  const bool oversampled = space.unit_reference.recon_fov_mm != std::array<double, 3>{} &&
                           space.unit_reference.recon_fov_mm != space.unit_reference.encoded.fov_mm;
  if (stated == TrajectoryUnit::cycles_per_fov && !oversampled) return stated;
  evidence.object_length = object_length();
  const auto found = stated == TrajectoryUnit::automatic
                         ? infer_trajectory_unit(evidence, space.unit_reference, subjects.readouts)
                         : infer_fov_of_unit(evidence, space.unit_reference);
  if (!found.reason.empty()) inferred.push_back(found.reason);
  return found.unit;
}

/// Returns the largest magnitude of `count` values, `stride` apart, without those that are not finite, which validate()
/// refuses. Compares bits as integers, whose order is the same and which SIMD compares.
float largest_finite(const float* values, std::size_t count, std::size_t stride) {
  constexpr std::int32_t infinite = std::bit_cast<std::int32_t>(std::numeric_limits<float>::infinity());
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = std::bit_cast<std::int32_t>(std::abs(values[i * stride]));
    largest = std::max(largest, magnitude < infinite ? magnitude : 0);
  }
  return std::bit_cast<float>(largest);
}

}  // namespace

void TrajectoryExtent::add(const Readout& readout) {
  const auto& head = readout.head;
  some_center_is_stated = some_center_is_stated || head.center_sample != 0;
  largest_step_1 = std::max<int>(largest_step_1, head.idx.kspace_encode_step_1);
  largest_step_2 = std::max<int>(largest_step_2, head.idx.kspace_encode_step_2);
  const std::size_t axes = head.trajectory_dimensions;
  axis_count = static_cast<int>(axes);
  if (axes == 0) return;
  const float* first = readout.trajectory.data() + static_cast<std::size_t>(head.first_sample()) * axes;
  const auto count = static_cast<std::size_t>(head.sample_count());
  for (std::size_t axis = 0; axis < std::min<std::size_t>(axes, 3); ++axis)
    largest_k[axis] = std::max(largest_k[axis], double{largest_finite(first + axis, count, axes)});
  if (axes >= 3) add_axes(readout);
  double lowest = std::numeric_limits<double>::infinity();
  auto& third = third_by_step_[head.idx.kspace_encode_step_2];
  for (std::size_t s = 0; axes >= 3 && s < count; ++s) {
    const double k = first[s * axes + 2];
    lowest = std::min(lowest, k);
    third.sum += k;
    ++third.count;
  }
  lowest_third_ = std::min(lowest_third_, lowest);
}

void TrajectoryExtent::add_axes(const Readout& readout) {
  const auto& head = readout.head;
  const auto stated = mrd::directions_of(head);
  states_directions = states_directions && stated;
  const auto directions = stated.value_or(io::directions_of(Geometry{}));
  const std::array<double, 3> position{head.position[0], head.position[1], head.position[2]};
  const auto offset = turned(directions, position);
  if (std::isfinite(offset[0] + offset[1]))
    largest_offset_mm = std::max(largest_offset_mm, std::hypot(offset[0], offset[1]));
  constexpr std::int64_t stride = 8;  // samples that tell the axes; the ends of readouts count
  const auto end = head.first_sample() + head.sample_count();
  for (auto s = head.first_sample(); s < end; ++s) {
    const float* k = readout.trajectory.data() + static_cast<std::size_t>(s) * head.trajectory_dimensions;
    const std::array<double, 3> stored{k[0], k[1], k[2]};
    const auto along = turned(directions, stored);
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (const double magnitude = std::abs(along[axis]); std::isfinite(magnitude))
        largest_turned_k[axis] = std::max(largest_turned_k[axis], magnitude);
    if ((s - head.first_sample()) % stride == 0 || s + 1 == end)
      axes_evidence.add(head.idx.slice, stored, directions);
  }
}

bool TrajectoryExtent::third_axis_is_weight() const {
  constexpr double alike = 0.15;  // golden-angle spokes differ a little from partition to partition
  if (axis_count < 3 || third_by_step_.size() < 2 || !(lowest_third_ >= 0)) return false;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const auto& [step, third] : third_by_step_) {
    const double mean = third.sum / static_cast<double>(third.count);
    least = std::min(least, mean);
    most = std::max(most, mean);
  }
  return most - least <= alike * most;
}

namespace {

double nearest_to_centre(const Readout& readout) {
  const auto& head = readout.head;
  double nearest = std::numeric_limits<double>::infinity();
  for (auto s = head.first_sample(); s < head.first_sample() + head.sample_count(); ++s)
    nearest = std::min(nearest, distance_from_centre(readout, s));
  return nearest;
}

/// Returns the part about the centre of k-space, its trajectory's first `axes` axes.
ReadoutPart central_part(const Readout& readout, int axes) {
  const auto& head = readout.head;
  const auto first = head.first_sample(), end = first + head.sample_count();
  const std::size_t stride = head.trajectory_dimensions;
  auto centre = first;
  for (auto s = first; s < end; ++s)
    if (distance_from_centre(readout, s) < distance_from_centre(readout, centre)) centre = s;
  const auto count = std::min(ObjectExtent::most_samples, end - first);
  const auto begin = std::clamp(centre - count / 2, first, end - count);
  ReadoutPart part;
  for (auto s = begin; s < begin + count; ++s) {
    auto& k = part.k.emplace_back();
    for (int axis = 0; axis < axes; ++axis)
      k[axis] = readout.trajectory[static_cast<std::size_t>(s) * stride + static_cast<std::size_t>(axis)];
  }
  const std::int64_t coils = head.active_channels, used = std::min(coils, ObjectExtent::most_coils);
  for (std::int64_t i = 0; i < used; ++i)
    for (auto s = begin; s < begin + count; ++s) {
      const float* value = readout.values.data() + 2 * (i * coils / used * head.number_of_samples + s);
      part.values.push_back({value[0], value[1]});
    }
  return part;
}

/// Returns the encoding step at k = 0 along an axis of n voxels.
int center_step(const std::optional<Limit>& limit, int n, int largest_step, const char* name,
                const Subjects& subjects, std::vector<std::string>& inferred) {
  if (!limit) return n / 2;
  if (limit->center != 0 || n == 1 || largest_step == 0) return limit->center;
  const int steps = std::max(limit->maximum, largest_step) + 1;
  const auto field = fmt::format("encodingLimits.{}.center", name);
  if (10 * steps > 9 * n) {
    say(inferred,
        "The centre of k-space is taken to be step {} of {}: the header's {} is 0, though its steps reach "
        "from 0 to {}.",
        n / 2, n, field, steps - 1);
    return n / 2;
  }
  if (largest_step > n / 2)
    throw Error(subjects.header + ": " + field, "the step at the centre of k-space",
                fmt::format("0, with steps to {} of {}", largest_step, n),
                fmt::format("write the centre into the header: {} for a matrix of which the end was not "
                            "measured, {} where both ends were not",
                            n / 2, steps / 2));
  say(inferred,
      "The centre of k-space is step 0, as the header's {} says: half of k-space is measured, to step {} of "
      "{}.",
      field, largest_step, n);
  return 0;
}

}  // namespace

std::optional<AxisDirections> directions_of(const ReadoutHead& head) {
  const auto unit_vector = [](const float(&from)[3], std::array<double, 3>& to) {
    const double length = std::hypot(double{from[0]}, double{from[1]}, double{from[2]});
    for (int axis = 0; axis < 3; ++axis) to[axis] = from[axis] / length;
    return std::isfinite(length) && length > 0;
  };
  Geometry geometry;
  const bool states = unit_vector(head.read_dir, geometry.read_direction) &&
                      unit_vector(head.phase_dir, geometry.phase_direction) &&
                      unit_vector(head.slice_dir, geometry.slice_direction) && are_axes(geometry);
  return states ? std::optional(io::directions_of(geometry)) : std::nullopt;
}

Source in_axes_of_image(Source source) {
  return [source = std::move(source), k = std::vector<float>()](std::int64_t number) mutable {
    auto readout = source(number);
    const auto directions = directions_of(readout.head);
    const std::size_t axes = readout.head.trajectory_dimensions;
    if (!directions || axes < 3) return readout;
    k.assign(readout.trajectory.begin(), readout.trajectory.end());
    for (std::size_t at = 0; at + axes <= k.size(); at += axes) {
      const auto along = turned(*directions, {k[at], k[at + 1], k[at + 2]});
      std::copy(along.begin(), along.end(), k.begin() + static_cast<std::ptrdiff_t>(at));
    }
    readout.trajectory = k;
    return readout;
  };
}

std::array<double, 3> object_length(std::vector<std::int64_t> numbers, const Source& source,
                                    const Source& with_values, int axes, const Subjects& subjects) {
  const auto read = [&](const Source& from, std::int64_t number) {
    const auto readout = from(number);
    const auto& head = readout.head;
    require_length(readout.trajectory.size(),
                   std::size_t{head.number_of_samples} * head.trajectory_dimensions,
                   subjects.readout(number) + ".traj");
    return readout;
  };
  const auto most = static_cast<std::size_t>(ObjectExtent::most_readouts);
  if (numbers.size() > most) {  // takes some that are spread over the nearest
    std::vector<double> distances;
    for (const auto number : numbers) distances.push_back(nearest_to_centre(read(source, number)));
    auto sorted = distances;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(most) - 1);
    std::vector<std::int64_t> near;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (distances[i] <= sorted[most - 1] * 1.001) near.push_back(numbers[i]);
    numbers.clear();
    for (std::size_t i = 0; i < most && !near.empty(); ++i) numbers.push_back(near[i * near.size() / most]);
  }
  ObjectExtent extent;
  for (const auto number : numbers) {
    const auto readout = read(with_values, number);
    require_length(readout.values.size(),
                   std::size_t{2} * readout.head.number_of_samples * readout.head.active_channels,
                   subjects.readout(number) + ".data");
    extent.add(central_part(readout, axes));
  }
  return extent.lengths();
}

/// Returns whether trajectories are in the axes of the magnet, and says so.
static bool choose_axes(const ReadOptions& options, const TrajectoryExtent& extent, bool is_2d,
                        bool stacks_weights, const Subjects& subjects, std::vector<std::string>& inferred) {
  if (extent.axis_count < 3) {
    if (options.trajectory_axes == TrajectoryAxes::magnet)
      throw Error(subjects.readouts,
                  "a trajectory of three axes, for " + option_words("trajectory-axes", "magnet"),
                  fmt::format("{} axes", extent.axis_count), "leave it out: two axes are those of the image");
    return false;
  }
  const bool may_be_weight = is_2d ? extent.third_axis_may_be_weight() : stacks_weights;
  const auto axes = find_axes(options.trajectory_axes, extent.axes_evidence, is_2d, may_be_weight,
                              extent.states_directions, subjects.readouts);
  if (!axes.sentence.empty()) inferred.push_back(axes.sentence);
  constexpr double least_offset_mm = 0.1;
  if (axes.in_magnet && extent.largest_offset_mm > least_offset_mm)
    say(inferred,
        "The centre of the image lies up to {:.3g} mm off the isocentre within its plane: samples are taken "
        "to be demodulated to the stated position, whatever the axes are. Where the sequence did not do so, "
        "the object appears displaced by as much.",
        extent.largest_offset_mm);
  return axes.in_magnet;
}

std::string kind_of_trajectory(const TrajectoryExtent& extent, const EncodedSpace& space,
                               std::int64_t readout_length, bool has_positions, const Subjects& subjects,
                               std::vector<std::string>& inferred) {
  if (has_positions) {
    say(inferred,
        "The header states no kind of trajectory: it is taken to be 'other', with the positions given.");
    return "other";
  }
  const auto& n = space.unit_reference.encoded.matrix_size;
  const auto fills = [](std::int64_t count, int voxels) { return 2 * count > voxels && count <= voxels; };
  if (!fills(readout_length, n[0]) || !fills(extent.largest_step_1 + 1, n[1]) ||
      !fills(extent.largest_step_2 + 1, n[2]))
    throw Error(
        subjects.header, "a <trajectory>",
        fmt::format("none, no positions, and readouts of {} samples with encoding steps to {} and {}, which "
                    "are not the lines of a matrix {} x {} x {}",
                    readout_length, extent.largest_step_1, extent.largest_step_2, n[0], n[1], n[2]),
        "write the kind into the header, and where it is not 'cartesian' the k-space positions into the "
        "file");
  say(inferred,
      "The header states no kind of trajectory, and no readout positions: it is taken to be 'cartesian', "
      "because "
      "readouts and encoding steps fill the matrix.");
  return "cartesian";
}

SamplePositions choose_positions(const EncodingHeader& encoding, const std::string& trajectory_unit,
                                 const ReadOptions& options, const EncodedSpace& space,
                                 const TrajectoryExtent& extent, const ObjectLength& object_length,
                                 const Subjects& subjects, std::vector<std::string>& inferred) {
  const auto& n = space.unit_reference.encoded.matrix_size;
  SamplePositions positions{n, extent.axis_count, encoding.step_1 ? encoding.step_1->center : n[1] / 2,
                            encoding.step_2 ? encoding.step_2->center : n[2] / 2};
  positions.outside = !options.outside.trajectory.empty();
  if (positions.outside) return positions;
  const auto read_center_2 = [&] {
    positions.center_step_2 = center_step(encoding.step_2, n[2], extent.largest_step_2,
                                          "kspace_encoding_step_2", subjects, inferred);
  };
  if (extent.axis_count == 0) {
    if (encoding.trajectory != "cartesian" && encoding.trajectory != "epi")
      throw Error(subjects.readouts,
                  "readouts with their trajectory, because the header says '" + encoding.trajectory + "'",
                  "trajectory_dimensions 0", "write the k-space positions into the file");
    positions.center_is_stated = extent.some_center_is_stated;
    if (!positions.center_is_stated)
      say(inferred,
          "No readout states its center_sample: the centre of k-space is taken to be the middle of each.");
    positions.center_step_1 = center_step(encoding.step_1, n[1], extent.largest_step_1,
                                          "kspace_encoding_step_1", subjects, inferred);
    read_center_2();
    if (!encoding.step_1 && n[1] > 1)
      say(inferred,
          "The header states no limits: the centre of k-space is taken to be the middle encoding step.");
    return positions;
  }
  if (extent.axis_count == 1) throw Error(subjects.readouts, "a trajectory of 2 or 3 axes", "1");
  const bool stacks_weights = n[2] > 1 && extent.third_axis_is_weight();
  positions.in_magnet = choose_axes(options, extent, n[2] == 1, stacks_weights, subjects, inferred);
  const bool weight = stacks_weights && !positions.in_magnet;
  TrajectoryEvidence evidence{positions.in_magnet ? extent.largest_turned_k : extent.largest_k, {}};
  positions.stacked = n[2] > 1 && (weight || extent.axis_count == 2);
  if (positions.stacked) read_center_2();
  if (extent.axis_count > 2)
    note_ignored_third_axis(evidence.largest_k, space.unit_reference.encoded, inferred);
  if (weight)
    inferred.push_back(
        extent.largest_k[2] > 0
            ? "The third axis of the trajectory is taken to be a density weight and not used, because it is "
              "never negative and the same in every partition: k along z is taken from kspace_encode_step_2."
            : "The third axis of the trajectory is zero: k along z is taken from kspace_encode_step_2.");
  else if (positions.stacked)
    say(inferred,
        "The trajectory has two axes and the matrix three: k along z is taken from kspace_encode_step_2.");
  const int axes = n[2] == 1 || positions.stacked ? 2 : 3;
  if (axes == 2) evidence.largest_k[2] = 0;
  const auto unit = unit_of(
      trajectory_unit, options, space, evidence, [&] { return object_length(axes, positions.in_magnet); },
      subjects, inferred);
  positions.scale = scale_to_cycles_per_fov(unit, space.unit_reference, subjects.readouts);
  return positions;
}

std::array<double, 3> SamplePositions::of(const Readout& readout, std::int64_t sample) const {
  if (outside) return {};
  const auto& head = readout.head;
  const auto& n = matrix_size;
  const double kz_step = n[2] > 1 ? double(head.idx.kspace_encode_step_2) - center_step_2 : 0;
  if (axis_count > 0) {
    const float* k = readout.trajectory.data() + sample * axis_count;
    return {k[0] * scale[0], k[1] * scale[1], stacked ? kz_step : n[2] > 1 ? k[2] * scale[2] : 0};
  }
  const std::int64_t last = head.number_of_samples - 1;
  const std::int64_t center = center_is_stated ? head.center_sample : head.number_of_samples / 2;
  const bool reverse = head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_REVERSE);
  return {static_cast<double>((reverse ? last - sample : sample) - center),
          n[1] > 1 ? double(head.idx.kspace_encode_step_1) - center_step_1 : 0, kz_step};
}

}  // namespace fhd::io::mrd
