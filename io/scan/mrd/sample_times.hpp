#pragma once
// Times at which samples were taken.
//
//   - Readouts with an excitation each: from the start of the readout, discarded samples too.
//   - Echo trains, whose lines share an excitation: echo j of a train begins j echo spacings after the first, as the header
//     states them (the statement that fits the length of a readout counts). A train ends where the step along z, the
//     average or the direction along y changes, where the time stamps of a Siemens scanner jump, and after as many echoes
//     as the header says, if the lines are a multiple of them.
//   - Segments of one readout that go on (the same counters but for the segment, which counts up, and positions that go on
//     where the last segment ended): from the start of the first; the gap is as long as its way in k-space takes.
//
// The header calls a measurement echo-planar, or the lines of a volume without trajectory run forwards and backwards in
// turns, or so do phase-correction readouts, or a Siemens scanner's time stamps leave no time for excitations between
// readouts of one repetition time: these are echo trains.
#include <cstdint>
#include <optional>
#include <span>

#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// The part of a readout's head that tells its times.
struct TimedReadout {
  explicit TimedReadout(const ReadoutHead& head);
  int step_1, step_2, average, segment;
  std::uint32_t stamp;
  bool reversed;
  std::int64_t first_sample, sample_count, all_samples;
  double dwell_s;

  double duration_s() const { return static_cast<double>(all_samples) * dwell_s; }
};

struct SampleTimes {
  Array<double> seconds;  ///< [sample]
  TimeOrigin origin;
};

/// Returns whether consecutive readouts run forwards and backwards in turns.
bool alternate(std::span<const TimedReadout> readouts);
/// Returns whether readouts of a volume are echoes of a train; `has_trajectory`: the readouts hold one.
bool are_echo_trains(const Header& header, std::span<const TimedReadout> readouts, bool has_trajectory,
                     bool has_navigators);
/// Returns the times of all samples of a volume, whose readouts are in the order in which they were taken; nothing where they
/// are not known. `k`: [axis][sample], cycles/FOV.
std::optional<SampleTimes> sample_times(const Header& header, bool echo_trains,
                                        std::span<const TimedReadout> readouts, const Array<double>& k);

/// Returns how many readouts do not go on where the one before ended, by the times of their samples.
std::size_t count_excitations(std::span<const TimedReadout> readouts, const Array<double>& seconds);

}  // namespace fhd::io::mrd
