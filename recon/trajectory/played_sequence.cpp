#include "recon/trajectory/played_sequence.hpp"

#include <algorithm>

namespace fhd {
namespace {

struct Node {
  double time_s, value;
};

/// Returns the nodes of a gradient in turn: those of its shape, and its ends where the shape states none.
class Nodes {
 public:
  explicit Nodes(const GradientEvent& gradient)
      : gradient_(gradient),
        shape_(*gradient.shape),
        start_(shape_.has_open_ends ? 1 : 0),
        count_(shape_.time_s.size() + 2 * start_) {}
  std::size_t count() const { return count_; }
  Node operator[](std::size_t i) const {
    if (i < start_) return {gradient_.delay_s, gradient_.first};
    const std::size_t j = i - start_;
    if (j == shape_.time_s.size()) return {gradient_.delay_s + shape_.duration_s, gradient_.last};
    return {gradient_.delay_s + shape_.time_s[j], gradient_.amplitude * shape_.value[j]};
  }

 private:
  const GradientEvent& gradient_;
  const GradientShape& shape_;
  std::size_t start_, count_;
};

/// Computes the areas (1/m) of all gradients of a block until each time, along the axes of the sequence.
void areas_of(const SequenceBlock& block, std::span<const double> times_s,
              const std::array<double*, 3>& areas) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::fill_n(areas[axis], times_s.size(), 0);
    add_areas(block.gradients[axis], times_s, areas[axis]);
  }
  if (!block.rotation) return;
  const auto& turn = *block.rotation;
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const double x = areas[0][i], y = areas[1][i], z = areas[2][i];
    for (std::size_t axis = 0; axis < 3; ++axis)
      areas[axis][i] = turn[axis][0] * x + turn[axis][1] * y + turn[axis][2] * z;
  }
}

void put_times_in_block(const SampleTiming& samples, std::int64_t first, std::int64_t count,
                        double* times_s) {
  for (std::int64_t i = 0; i < count; ++i)
    times_s[i] = samples.delay_s + (static_cast<double>(first + i) + 0.5) * samples.dwell_s;
}

/// Returns the state that a block would have had at its start if its pulse had come before.
std::array<double, 4> with_pulse(const SequenceBlock& block, std::array<double, 4> start) {
  if (block.pulse == PulseUse::none) return start;
  double x = 0, y = 0, z = 0;
  areas_of(block, {&block.pulse_s, 1}, {&x, &y, &z});
  const std::array<double, 4> until_pulse{x, y, z, block.pulse_s};
  const double sign = block.pulse == PulseUse::refocusing ? -1 : 0;
  for (std::size_t i = 0; i < 4; ++i) start[i] = sign * (start[i] + until_pulse[i]) - until_pulse[i];
  return start;
}

}  // namespace

void add_areas(const GradientEvent& gradient, std::span<const double> times_s, double* areas) {
  if (!gradient.shape || gradient.shape->time_s.empty()) return;
  const Nodes nodes(gradient);
  Node from = nodes[0];
  std::size_t next = 1;
  double area = 0;  // until `from`
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const double time = times_s[i];
    while (next < nodes.count() && nodes[next].time_s <= time) {
      const Node to = nodes[next++];
      area += 0.5 * (to.time_s - from.time_s) * (from.value + to.value);
      from = to;
    }
    areas[i] += area;
    if (next == nodes.count() || time <= from.time_s) continue;
    const Node to = nodes[next];
    const double step = time - from.time_s, slope = (to.value - from.value) / (to.time_s - from.time_s);
    areas[i] += step * (from.value + 0.5 * step * slope);
  }
}

Rotation rotation_of(const std::array<double, 4>& quaternion) {
  const auto [w, x, y, z] = quaternion;
  const double s = 2 / (w * w + x * x + y * y + z * z);
  return {{{1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)},
           {s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)},
           {s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)}}};
}

void PlayedSequence::play(const SequenceBlock& block) {
  const auto start = state_;
  const bool was_excited = is_excited_;
  is_excited_ = is_excited_ || block.pulse == PulseUse::excitation;
  ++counts_[static_cast<std::size_t>(block.pulse)];
  if (block.samples.count > 0) {
    const bool begins_after_pulse = block.samples.delay_s >= block.pulse_s;
    acquisitions_.push_back({block, start, time_s_, was_excited || (is_excited_ && begins_after_pulse)});
  }
  state_ = with_pulse(block, start);
  double x = 0, y = 0, z = 0;
  areas_of(block, {&block.duration_s, 1}, {&x, &y, &z});
  const std::array<double, 4> played{x, y, z, block.duration_s};
  for (std::size_t i = 0; i < 4; ++i) state_[i] += played[i];
  time_s_ += block.duration_s;
}

double PlayedSequence::start_s(std::int64_t acquisition) const {
  const auto& played = at(acquisition);
  return static_cast<double>(played.block_s + played.block.samples.delay_s +
                             0.5L * played.block.samples.dwell_s);
}

void PlayedSequence::sample(std::int64_t acquisition, std::int64_t first, std::int64_t count,
                            const std::array<double*, 3>& k, double* times_s) const {
  const auto& played = at(acquisition);
  put_times_in_block(played.block.samples, first, count, times_s);
  areas_of(played.block, {times_s, static_cast<std::size_t>(count)}, k);
  add_starts(played, count, k, times_s);
}

void PlayedSequence::times(std::int64_t acquisition, std::int64_t first, std::int64_t count,
                           double* times_s) const {
  put_times_in_block(at(acquisition).block.samples, first, count, times_s);
  add_starts(at(acquisition), count, {}, times_s);
}

/// Adds the states at the start of the block to areas and times in it; to times alone where k is null.
void PlayedSequence::add_starts(const Acquisition& played, std::int64_t count,
                                const std::array<double*, 3>& k, double* times_s) {
  const auto& block = played.block;
  const auto pulsed = with_pulse(block, played.start);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_later = block.pulse != PulseUse::none && times_s[i] >= block.pulse_s;
    const auto& start = is_later ? pulsed : played.start;
    for (std::size_t axis = 0; axis < 3 && k[axis] != nullptr; ++axis) k[axis][i] += start[axis];
    times_s[i] += start[3];
  }
}

}  // namespace fhd
