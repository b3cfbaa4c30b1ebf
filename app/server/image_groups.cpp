#include "app/server/image_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/scan/mrd/readout.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

using io::mrd::ReadoutHead;
using io::mrd::Role;

/// Returns how many values a limit allows; counters of a readout have 16 bits.
std::int64_t count_of(const std::optional<io::mrd::Limit>& limit) {
  constexpr std::int64_t most = 1 << 16;
  return limit ? std::clamp<std::int64_t>(std::int64_t{limit->maximum} - limit->minimum + 1, 1, most) : 1;
}

/// The most images that a session remembers.
constexpr std::size_t most_images = 1 << 20;

std::string words_of_key(const ImageKey& key) {
  const auto& c = key.counters;
  return fmt::format("slice {}, repetition {}, contrast {}, phase {}, set {}", key.slice, c.repetition,
                     c.contrast, c.phase, c.set);
}

void append_shared(std::vector<io::mrd::SharedReadout>& readouts,
                   const std::vector<io::mrd::SharedReadout>& more) {
  readouts.insert(readouts.end(), more.begin(), more.end());
}

}  // namespace

ImageGroups::ImageGroups(const io::mrd::Header& header, std::int64_t readouts_per_frame, bool waits)
    : readouts_per_frame_(readouts_per_frame),
      waits_(waits),
      one_slice_(header.slice && header.slice->maximum == 0) {
  const auto steps = count_of(header.step_1) * count_of(header.step_2), averages = count_of(header.average);
  if (steps > 1) steps_of_image_ = steps * averages;
  if (header.average) last_average_ = header.average->maximum;
}

ImageKey ImageGroups::key_of(const ReadoutHead& head) const {
  const auto& idx = head.idx;
  return {one_slice_ ? 0 : int{idx.slice}, {idx.repetition, idx.contrast, idx.phase, idx.set}};
}

ImageReadouts ImageGroups::group_of(const ImageKey& key, Pending& pending) {
  ImageReadouts group{key, -1, static_cast<std::int64_t>(pending.image.size()), noise_};
  remember_others_of_slice(key.slice, pending.others);
  append_shared(group.readouts, pending.others.empty() ? others_of_slice_[key.slice] : pending.others);
  append_shared(group.readouts, pending.image);
  pending.image.clear();
  return group;
}

ImageReadouts ImageGroups::taken(const ImageKey& key) {
  auto node = pending_.extract(key);
  taken_.insert(key);
  return group_of(key, node.mapped());
}

/// Moves the images of earlier repetitions of the same slice, contrast, phase and set to `whole`. References of a repetition
/// without an image become those of the slice.
void ImageGroups::take_earlier(std::vector<ImageReadouts>& whole, const ImageKey& than) {
  ImageKey first = than;
  first.counters.repetition = std::numeric_limits<int>::min();
  const auto end = pending_.lower_bound(than);
  for (auto one = pending_.lower_bound(first); one != end;) {
    const auto next = std::next(one);
    if (one->second.image.empty()) {
      remember_others_of_slice(one->first.slice, one->second.others);
      pending_.erase(one);
    } else {
      whole.push_back(taken(ImageKey(one->first)));
    }
    one = next;
  }
}

void ImageGroups::remember_others_of_slice(int slice, const std::vector<io::mrd::SharedReadout>& others) {
  auto& first = others_of_slice_[slice];
  if (first.empty()) first = others;
}

/// Returns whether flags say that this readout is the last of its image.
bool ImageGroups::is_last(const ReadoutHead& head) const {
  const bool in_last_average = int{head.idx.average} >= last_average_;
  return (head.has_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE) && in_last_average) ||
         head.has_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_REPETITION) ||
         head.has_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_MEASUREMENT);
}

void ImageGroups::require_not_taken(const ImageKey& key) const {
  if (taken_.size() + pending_.size() > most_images)
    throw Error("a session", fmt::format("at most {} images", most_images), "more");
  if (taken_.count(key) > 0)
    throw Error("acquisitions of " + words_of_key(key),
                "none after the last, as flags, counters or limits tell it", "a further one",
                "let images wait for the end: --send at-close in the configuration");
}

void ImageGroups::count_step(const ReadoutHead& head, Pending& pending) const {
  if (steps_of_image_ > 0)
    pending.steps.insert({head.idx.average, {head.idx.kspace_encode_step_1, head.idx.kspace_encode_step_2}});
}

std::vector<ImageReadouts> ImageGroups::add(io::mrd::SharedReadout readout) {
  const ReadoutHead head = readout->head;
  const Role role = io::mrd::role_of(head).role;
  std::vector<ImageReadouts> whole;
  if (waits_) {
    all_.push_back(std::move(readout));
    return whole;
  }
  if (role == Role::noise) noise_.push_back(std::move(readout));
  if (role == Role::noise || role == Role::other) return whole;
  const auto key = key_of(head);
  require_not_taken(key);
  if (role != Role::image) {
    pending_[key].others.push_back(std::move(readout));
  } else if (readouts_per_frame_ > 0) {
    auto& pending = pending_[key];
    pending.image.push_back(std::move(readout));
    if (static_cast<std::int64_t>(pending.image.size()) < readouts_per_frame_) return whole;
    whole.push_back(group_of(key, pending));
    whole.back().frame = pending.frames++;
  } else {
    take_earlier(whole, key);
    auto& pending = pending_[key];
    pending.image.push_back(std::move(readout));
    count_step(head, pending);
  }
  if (readouts_per_frame_ > 0) return whole;
  const auto& pending = pending_[key];
  const bool has_all_steps =
      steps_of_image_ > 0 && static_cast<std::int64_t>(pending.steps.size()) >= steps_of_image_;
  if (!pending.image.empty() && (has_all_steps || is_last(head))) whole.push_back(taken(key));
  return whole;
}

std::vector<ImageReadouts> ImageGroups::take_rest() {
  std::vector<ImageReadouts> rest;
  if (waits_ && !all_.empty()) {
    const auto count = static_cast<std::int64_t>(all_.size());
    rest.push_back({std::nullopt, -1, count, std::move(all_)});
    all_.clear();
  }
  if (readouts_per_frame_ > 0) return rest;
  std::vector<ImageKey> keys;
  for (const auto& [key, pending] : pending_)
    if (!pending.image.empty()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const auto& key : keys) rest.push_back(taken(key));
  return rest;
}

std::int64_t ImageGroups::unfinished_readouts() const {
  std::int64_t count = static_cast<std::int64_t>(all_.size());
  for (const auto& [key, pending] : pending_) count += static_cast<std::int64_t>(pending.image.size());
  return count;
}

}  // namespace fhd::app
