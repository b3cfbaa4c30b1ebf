// Measurements that lack something: stopped before their end, or without some of their volumes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"

namespace fhd::io::mrd {
namespace {

/// Identifies a volume but for its repetition counter: slice, contrast, phase and set.
using BrotherKey = std::array<int, 4>;
BrotherKey brothers_of(const ReadoutHead& head) {
  return {head.idx.slice, head.idx.contrast, head.idx.phase, head.idx.set};
}
/// The readouts of volumes that differ in their repetition counter alone, by this counter.
using Brothers = std::map<int, ReadoutList>;

std::string in_words(std::size_t count, const char* what) {
  return count == 1 ? fmt::format("one {}", what) : fmt::format("{} {}s", count, what);
}

bool is_flagged_as_last(const ReadoutHead& head) {
  using namespace ISMRMRD;
  return head.has_flag(ISMRMRD_ACQ_LAST_IN_SLICE) || head.has_flag(ISMRMRD_ACQ_LAST_IN_REPETITION) ||
         head.has_flag(ISMRMRD_ACQ_LAST_IN_MEASUREMENT);
}

/// Returns whether the readouts are the first of others, as their encoding steps tell.
bool is_beginning_of(const ReadoutList& others, const ReadoutList& readouts, const Source& source) {
  return std::equal(readouts.begin(), readouts.end(), others.begin(), [&](const auto& a, const auto& b) {
    const auto own = source(a.number).head.idx, other = source(b.number).head.idx;
    return own.kspace_encode_step_1 == other.kspace_encode_step_1 &&
           own.kspace_encode_step_2 == other.kspace_encode_step_2;
  });
}

enum class Ending { whole, shorter, stopped };
/// Tells how the last of the volumes ended. It was stopped where it has less than half of the readouts of every other, and
/// begins as one of these or has three to compare with: another sampling is no end.
Ending ending_of(const Brothers& brothers, const Source& source) {
  const auto& own = brothers.rbegin()->second;
  const auto last = std::prev(brothers.end());
  auto least = std::numeric_limits<std::size_t>::max();
  for (auto other = brothers.begin(); other != last; ++other) least = std::min(least, other->second.size());
  if (last == brothers.begin() || own.size() >= least || is_flagged_as_last(source(own.back().number).head))
    return Ending::whole;
  const bool is_clear = brothers.size() > 3 || std::any_of(brothers.begin(), last, [&](const auto& other) {
                          return is_beginning_of(other.second, own, source);
                        });
  return 2 * own.size() < least && is_clear ? Ending::stopped : Ending::shorter;
}

}  // namespace

/// Leaves out the volumes of the last repetition in which the measurement was stopped, and says so; says where volumes
/// with fewer readouts than their brothers stay. References do not count: often the first repetition alone has some.
void VolumeAssembler::leave_out_stopped(const Source& source) {
  int last = 0;
  for (const auto& each : image_readouts_) last = std::max<int>(last, each.head->idx.repetition);
  std::set<std::int64_t> references;
  for (const auto& each : references_) references.insert(each.number);
  std::map<BrotherKey, Brothers> volumes;
  for (const auto& each : image_readouts_)
    if (!references.contains(each.number))
      volumes[brothers_of(*each.head)][each.head->idx.repetition].push_back(each);
  std::set<BrotherKey> stopped;
  std::size_t shorter = 0;
  for (const auto& [key, brothers] : volumes) {
    if (brothers.rbegin()->first != last) continue;
    const auto ending = ending_of(brothers, source);
    if (ending == Ending::stopped) stopped.insert(key);
    shorter += ending == Ending::shorter;
  }
  if (shorter > 0)
    say(summary_.missing,
        "In repetition {}, the last, {} has fewer readouts than in every other repetition: the image is made "
        "of what is there.",
        last, in_words(shorter, "volume"));
  const auto left_out = std::erase_if(image_readouts_, [&](const ListedReadout& each) {
    return each.head->idx.repetition == last && stopped.contains(brothers_of(*each.head));
  });
  if (left_out > 0)
    say(summary_.missing,
        "The scan was stopped in repetition {}: {} of less than half of the readouts, {} in all, left out.",
        last, in_words(stopped.size(), "volume"), left_out);
}

/// Says which volumes and repetitions the measurement lacks.
void VolumeAssembler::tell_missing() {
  const auto expected = summary_.slice_count * summary_.repetition_count;
  if (const auto absent = expected - std::ssize(volumes_); absent > 0) {
    std::pair<std::int64_t, std::int64_t> first;  // repetition and slice
    while (volumes_.contains(first))
      first = first.second + 1 < summary_.slice_count ? std::pair(first.first, first.second + 1)
                                                      : std::pair(first.first + 1, std::int64_t{0});
    say(summary_.missing,
        "{} of {} slices and repetitions {} no readout, the first of them slice {} of repetition {}: {} "
        "zero.",
        absent, expected, absent == 1 ? "has" : "have", first.second, first.first,
        absent == 1 ? "its image is" : "their images are");
  }
  std::size_t skipped = 0;
  const auto& counters = summary_.repetition_counters;
  for (std::size_t i = 1; i < counters.size(); ++i)
    skipped += static_cast<std::size_t>(std::max(0, counters[i].repetition - counters[i - 1].repetition - 1));
  if (skipped == 0 || 2 * skipped > counters.size()) return;  // more are another way to count
  has_gaps_ = true;
  say(summary_.missing,
      "{} in the middle of the series {} no readout: the images before and after follow each other.",
      skipped == 1 ? "One repetition" : fmt::format("{} repetitions", skipped),
      skipped == 1 ? "has" : "have");
}

}  // namespace fhd::io::mrd
