#include "app/server/image_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

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

bool is_surface_coil(const ReadoutHead& head) {
  return head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_SURFACECOILCORRECTIONSCAN_DATA);
}

/// The most images that a session remembers.
constexpr std::size_t most_images = 1 << 20;

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
  return {one_slice_ ? 0 : int{idx.slice}, idx.contrast, idx.phase, idx.set, idx.repetition};
}

ImageReadouts ImageGroups::group_of(const ImageKey& key, Pending& pending) {
  ImageReadouts group{key, -1, static_cast<std::int64_t>(pending.image.size()), noise_};
  remember_others_of_slice(key.slice, pending.others);
  const auto& others = pending.others.empty() ? others_of_slice_[key.slice] : pending.others;
  for (const auto& more : {others, pending.image})
    group.readouts.insert(group.readouts.end(), more.begin(), more.end());
  pending.image.clear();
  return group;
}

/// Moves images to `whole`. References of a repetition without an image become those of the slice.
void ImageGroups::take(PendingImages::iterator from, PendingImages::iterator to,
                       std::vector<ImageReadouts>& whole) {
  for (auto one = from; one != to; one = pending_.erase(one)) {
    auto& [key, pending] = *one;
    if (pending.image.empty()) {
      remember_others_of_slice(key.slice, pending.others);
    } else {
      taken_.insert(key);
      whole.push_back(group_of(key, pending));
    }
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
    throw Error(fmt::format("acquisitions of slice {}, repetition {}, contrast {}, phase {}, set {}",
                            key.slice, key.repetition, key.contrast, key.phase, key.set),
                "none after the last, as flags, counters or limits tell it", "a further one",
                "let images wait for the end: --send at-close in the configuration");
}

/// Leaves out the readouts of a prescan: those flagged as surface coil correction are the image where no others are
/// (io/scan/mrd/readout.hpp), and now there is another.
void ImageGroups::forget_surface_coil() {
  taken_.clear();
  for (auto& [key, pending] : pending_) {
    std::erase_if(pending.image,
                  [](const auto& each) { return io::mrd::role_of(each->head).role == Role::surface_coil; });
    pending.frames = 0;
    pending.steps.clear();
    for (const auto& each : pending.image) count_step(each->head, pending);
  }
}

void ImageGroups::count_step(const ReadoutHead& head, Pending& pending) const {
  const auto& idx = head.idx;
  if (steps_of_image_ > 0)
    pending.steps.insert({idx.average, {idx.kspace_encode_step_1, idx.kspace_encode_step_2}});
}

std::vector<ImageReadouts> ImageGroups::add(io::mrd::SharedReadout readout) {
  const ReadoutHead head = readout->head;
  Role role = io::mrd::role_of(head).role;
  if (role == Role::surface_coil) role = has_image_ ? Role::other : Role::image;
  if (role == Role::image && !has_image_ && !is_surface_coil(head)) {
    has_image_ = true;
    forget_surface_coil();
  }
  if (waits_)
    all_.push_back(std::move(readout));
  else if (role == Role::noise)
    noise_.push_back(std::move(readout));
  if (waits_ || role == Role::noise || role == Role::other) return {};
  const auto key = key_of(head);
  require_not_taken(key);
  std::vector<ImageReadouts> whole;
  if (role == Role::image && readouts_per_frame_ == 0) {  // it ends earlier repetitions
    ImageKey first = key;
    first.repetition = std::numeric_limits<int>::min();
    take(pending_.lower_bound(first), pending_.lower_bound(key), whole);
  }
  auto& pending = pending_[key];
  (role == Role::image ? pending.image : pending.others).push_back(std::move(readout));
  if (readouts_per_frame_ > 0) {
    if (static_cast<std::int64_t>(pending.image.size()) < readouts_per_frame_) return {};
    whole.push_back(group_of(key, pending));
    whole.back().frame = pending.frames++;
    return whole;
  }
  if (role == Role::image) count_step(head, pending);
  const auto steps = static_cast<std::int64_t>(pending.steps.size());
  const bool has_all_steps = steps_of_image_ > 0 && steps >= steps_of_image_,
             may_be_prescan = !has_image_ && 2 * steps <= steps_of_image_;
  if (const auto at = pending_.find(key);
      !pending.image.empty() && (has_all_steps || (is_last(head) && !may_be_prescan)))
    take(at, std::next(at), whole);
  return whole;
}

std::vector<ImageReadouts> ImageGroups::take_rest() {
  std::vector<ImageReadouts> rest;
  if (!all_.empty()) {
    const auto count = static_cast<std::int64_t>(all_.size());
    rest.push_back({std::nullopt, -1, count, std::exchange(all_, {})});
  }
  if (readouts_per_frame_ == 0) take(pending_.begin(), pending_.end(), rest);
  return rest;
}

std::int64_t ImageGroups::unfinished_readouts() const {
  std::int64_t count = static_cast<std::int64_t>(all_.size());
  for (const auto& [key, pending] : pending_) count += static_cast<std::int64_t>(pending.image.size());
  return count;
}

}  // namespace fhd::app
