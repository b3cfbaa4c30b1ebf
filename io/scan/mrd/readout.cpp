#include "io/scan/mrd/readout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

struct Rule {
  int flag;
  ReadoutRole role;
};
using enum Role;

/// The first row whose flag a readout has decides: purposes that are used, before flags that may merely accompany them.
/// siemens_to_ismrmrd flags phase-correction readouts that go to the real-time feedback as navigation and feedback, too.
/// A phase correction or stabilisation of a calibration is flagged as both, and is no calibration itself.
constexpr Rule rules[]{
    {ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT, {noise, "noise"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASECORR_DATA, {navigator, "phase correction"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION_REFERENCE, {other, "phase stabilisation"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PHASE_STABILIZATION, {other, "phase stabilisation"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING, {image, ""}},
    {ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION, {reference, "calibration"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_NAVIGATION_DATA, {other, "navigator"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_HPFEEDBACK_DATA, {other, "feedback"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_RTFEEDBACK_DATA, {other, "feedback"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_DUMMYSCAN_DATA, {other, "dummy"}},
    {ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA, {surface_coil, "surface coil correction"}}};

}  // namespace

ReadoutRole role_of(const ReadoutHead& head) {
  const auto rule = std::ranges::find_if(rules, [&](const Rule& each) { return head.has_flag(each.flag); });
  const ReadoutRole found = rule == std::end(rules) ? ReadoutRole{image, ""} : rule->role;
  if ((found.role == image || found.role == surface_coil) && head.encoding_space_ref != 0)
    return {other, "of another encoding space than the first"};
  return found;
}

void require_length(std::size_t found, std::size_t expected, const std::string& subject) {
  if (found != expected)
    throw Error(subject, fmt::format("{} numbers, as its head says", expected), std::to_string(found),
                "the file is damaged");
}

void copy_values(const Readout& readout, const ReadoutHead& head, const std::string& subject,
                 Array<Complex<float>>& values, std::int64_t m) {
  const std::int64_t total = head.number_of_samples, coils = values.extent(0), samples = values.extent(1);
  require_length(readout.values.size(), static_cast<std::size_t>(2 * total * coils), subject + ".data");
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const float* from = readout.values.data() + 2 * (coil * total + head.first_sample());
    auto* to = values.data() + coil * samples + m;
    for (std::int64_t s = 0; s < head.sample_count(); ++s) to[s] = {from[2 * s], from[2 * s + 1]};
  }
}

std::int64_t sample_count(const ReadoutList& readouts) {
  std::int64_t samples = 0;
  for (const auto& readout : readouts) samples += readout.head->sample_count();
  return samples;
}

/// Compares bytes: NaN equals NaN.
bool ReadoutKinds::IsBefore::operator()(const ReadoutHead& a, const ReadoutHead& b) const {
  return std::memcmp(&a, &b, sizeof a) < 0;
}

const ReadoutHead* ReadoutKinds::of(const ReadoutHead& head) {
  ReadoutHead kind{};  // its padding too
  for (const int flag : {ISMRMRD::ISMRMRD_ACQ_IS_REVERSE, ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION,
                         ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING})
    if (head.has_flag(flag)) kind.set_flag(flag);
  for (const auto member :
       {&ReadoutHead::number_of_samples, &ReadoutHead::active_channels, &ReadoutHead::discard_pre,
        &ReadoutHead::discard_post, &ReadoutHead::center_sample, &ReadoutHead::encoding_space_ref,
        &ReadoutHead::trajectory_dimensions})
    kind.*member = head.*member;
  kind.sample_time_us = head.sample_time_us;
  for (const auto vector :
       {&ReadoutHead::position, &ReadoutHead::read_dir, &ReadoutHead::phase_dir, &ReadoutHead::slice_dir})
    std::copy_n(head.*vector, 3, kind.*vector);
  for (const auto counter :
       {&EncodingCounters::average, &EncodingCounters::slice, &EncodingCounters::contrast,
        &EncodingCounters::phase, &EncodingCounters::repetition, &EncodingCounters::set})
    kind.idx.*counter = head.idx.*counter;
  if (last_ == nullptr || std::memcmp(last_, &kind, sizeof kind) != 0) last_ = &*kinds_.insert(kind).first;
  return last_;
}

}  // namespace fhd::io::mrd
