#pragma once
// The readouts of a volume, in little memory: a measurement may hold millions, each with a head of 340 bytes. In
// memory are runs of readouts that follow each other and have the same kind of head; the rest of a head is read again with the
// readout.
#include <cstdint>
#include <set>
#include <vector>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// Readouts [first, first + count) with one kind of head.
struct ReadoutRun {
  std::int64_t first = 0, count = 0;
  const ReadoutHead* head = nullptr;  ///< of ReadoutKinds
};
using ReadoutRuns = std::vector<ReadoutRun>;  ///< in ascending order

/// Holds each kind of head once.
class ReadoutKinds {
 public:
  /// Returns `head` without what differs from readout to readout: encoding steps, stamps, numbers, flags (but
  /// "reversed", and "calibration and imaging") and user fields. The result lives as long as this, moved or not; equal
  /// heads give the same.
  const ReadoutHead* of(const ReadoutHead& head);

 private:
  struct IsBefore {
    bool operator()(const ReadoutHead& a, const ReadoutHead& b) const;
  };
  std::set<ReadoutHead, IsBefore> kinds_;
  const ReadoutHead* last_ = nullptr;
};

void append(ReadoutRuns& runs, std::int64_t number, const ReadoutHead* head);
std::int64_t readout_count(const ReadoutRuns& runs);
std::int64_t sample_count(const ReadoutRuns& runs);

/// Leaves out the readouts of which is_odd(head); returns how many they were.
template <class IsOdd>
std::int64_t leave_out(ReadoutRuns& runs, const IsOdd& is_odd) {
  const auto before = readout_count(runs);
  std::erase_if(runs, [&](const ReadoutRun& run) { return is_odd(*run.head); });
  return before - readout_count(runs);
}

/// Calls visit(number, head) for each readout, in their order.
template <class Visit>
void for_each_readout(const ReadoutRuns& runs, const Visit& visit) {
  for (const auto& run : runs)
    for (auto number = run.first; number < run.first + run.count; ++number) visit(number, *run.head);
}

}  // namespace fhd::io::mrd
