#include "io/scan/mrd/readout_runs.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace fhd::io::mrd {
namespace {

ReadoutHead kind_of(const ReadoutHead& head) {
  ReadoutHead kind{};  // its padding too
  for (const int flag :
       {ISMRMRD::ISMRMRD_ACQ_IS_REVERSE, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING})
    if (head.has_flag(flag)) kind.set_flag(flag);
  kind.number_of_samples = head.number_of_samples;
  kind.active_channels = head.active_channels;
  kind.discard_pre = head.discard_pre;
  kind.discard_post = head.discard_post;
  kind.center_sample = head.center_sample;
  kind.encoding_space_ref = head.encoding_space_ref;
  kind.trajectory_dimensions = head.trajectory_dimensions;
  kind.sample_time_us = head.sample_time_us;
  for (const auto vector :
       {&ReadoutHead::position, &ReadoutHead::read_dir, &ReadoutHead::phase_dir, &ReadoutHead::slice_dir})
    std::copy_n(head.*vector, 3, kind.*vector);
  for (const auto counter :
       {&EncodingCounters::average, &EncodingCounters::slice, &EncodingCounters::contrast,
        &EncodingCounters::phase, &EncodingCounters::repetition, &EncodingCounters::set})
    kind.idx.*counter = head.idx.*counter;
  return kind;
}

}  // namespace

/// Compares bytes: NaN equals NaN.
bool ReadoutKinds::IsBefore::operator()(const ReadoutHead& a, const ReadoutHead& b) const {
  static_assert(std::is_trivially_copyable_v<ReadoutHead>);
  return std::memcmp(&a, &b, sizeof a) < 0;
}

const ReadoutHead* ReadoutKinds::of(const ReadoutHead& head) {
  const auto kind = kind_of(head);
  if (last_ == nullptr || std::memcmp(last_, &kind, sizeof kind) != 0) last_ = &*kinds_.insert(kind).first;
  return last_;
}

void append(ReadoutRuns& runs, std::int64_t number, const ReadoutHead* head) {
  if (!runs.empty() && runs.back().head == head && runs.back().first + runs.back().count == number)
    ++runs.back().count;
  else
    runs.push_back({number, 1, head});
}

std::int64_t readout_count(const ReadoutRuns& runs) {
  std::int64_t count = 0;
  for (const auto& run : runs) count += run.count;
  return count;
}

std::int64_t sample_count(const ReadoutRuns& runs) {
  std::int64_t samples = 0;
  for (const auto& run : runs) samples += run.count * run.head->sample_count();
  return samples;
}

}  // namespace fhd::io::mrd
