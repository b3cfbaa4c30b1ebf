#include "io/scan/mrd/copy_readouts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "io/scan/mrd/anonymous.hpp"
#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/trajectory_unit.hpp"

namespace fhd::io::mrd {
namespace {

bool states_unit(const std::string& xml, const std::string& subject) {
  const auto unit = parse_header(xml, subject).trajectory_unit;
  return !unit.empty() && parse_trajectory_unit(unit, subject) != TrajectoryUnit::automatic;
}

/// Converts trajectories to cycles/FOV. Readouts of other encoding spaces refer to another matrix: they are left out.
class Conversion {
 public:
  Conversion(const SamplePositions& positions, bool converts)
      : positions_(positions), converts_(converts && positions.axis_count > 0) {}
  bool converts() const { return converts_; }
  bool leaves_out(const ReadoutHead& head) const {
    return converts_ && head.trajectory_dimensions > 0 &&
           (head.encoding_space_ref != 0 || head.trajectory_dimensions != positions_.axis_count);
  }
  /// Returns the readout with its converted trajectory; valid until the next call.
  Readout operator()(Readout readout) {
    const auto axes = readout.head.trajectory_dimensions;
    if (!converts_ || axes == 0) return readout;
    const auto in_image = in_axes_of_image([&](std::int64_t) { return readout; });
    if (positions_.in_magnet) readout = in_image(0);
    k_.assign(readout.trajectory.begin(), readout.trajectory.end());
    // A third axis that is no position (density weights) stays.
    const std::size_t converted = axes > 2 && positions_.matrix_size[2] > 1 && !positions_.stacked ? 3 : 2;
    for (std::size_t i = 0; i < k_.size(); ++i)
      if (const auto axis = i % axes; axis < converted)
        k_[i] = static_cast<float>(k_[i] * positions_.scale[axis]);
    readout.trajectory = k_;
    return readout;
  }

 private:
  const SamplePositions& positions_;
  bool converts_;
  std::vector<float> k_;
};

}  // namespace

Sentences copy_readouts(const ReadoutsToCopy& readouts, const SamplePositions& positions,
                        const ReadOptions& options, hdf5::File& file) {
  const auto& xml = readouts.header;
  Conversion converted(positions, options.trajectory_unit != TrajectoryUnit::automatic ||
                                      options.trajectory_axes != TrajectoryAxes::automatic ||
                                      !states_unit(xml, readouts.header_subject));
  std::int64_t left_out = 0;
  std::uint32_t first_stamp = std::numeric_limits<std::uint32_t>::max();
  if (converted.converts() || options.anonymous) {
    const auto heads = readouts.reader_of(false);
    for (std::int64_t number = 0; number < readouts.count; ++number) {
      const auto head = heads(number).head;
      left_out += converted.leaves_out(head);
      if (const auto stamp = head.acquisition_time_stamp; stamp > 0)  // 0: it has none
        first_stamp = std::min(first_stamp, stamp);
    }
  }
  std::set<std::string> unnamed;
  if (options.anonymous && readouts.has_waveforms) unnamed.insert("waveforms");
  const auto header = options.anonymous ? anonymous_header(xml, unnamed) : xml;
  RecordWriter writer(file, converted.converts() ? with_unit(header) : header, readouts.count - left_out);
  const auto whole = readouts.reader_of(true);
  for (std::int64_t number = 0; number < readouts.count; ++number) {
    const auto readout = whole(number);
    if (converted.leaves_out(readout.head)) continue;
    auto written = converted(readout);
    if (options.anonymous) written.head = anonymous_head(written.head, first_stamp);
    writer.write(written);
  }
  writer.close();
  Sentences lost;
  if (left_out > 0)
    say(lost,
        "{} readouts of other encoding spaces are not written: the unit of their trajectories is not known.",
        left_out);
  if (options.anonymous)
    say(lost,
        "Left out, because they may identify somebody (--anonymous): {}. Time stamps count from the first "
        "readout.",
        unnamed.empty() ? "nothing that the header holds" : fmt::format("{}", fmt::join(unnamed, ", ")));
  return lost;
}

}  // namespace fhd::io::mrd
