#include "app/server/stream_reconstruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "app/terminal/console.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd::app {
namespace {

std::size_t bytes_of(const ImageReadouts& group) {
  std::size_t bytes = 0;
  for (const auto& readout : group.readouts) bytes += readout->bytes();
  return bytes;
}

}  // namespace

StreamReconstruction::StreamReconstruction(const SessionOptions& options, const std::string& xml,
                                           const ChosenDevice& device, SharedProcessors& processors,
                                           const ImageLimits& limits, StreamEvents events)
    : events_(std::move(events)),
      work_{options, io::mrd::parse_header(xml, subjects_of_session().header), device, processors,
            limits,  [this] { return abandoned_ || events_.is_given_up(); }},
      groups_(work_.header, options.spokes_per_frame(), options.waits_for_close()),
      maker_(work_),
      slices_(limits.bytes) {
  // Errors of the header are reported before readouts come.
  io::mrd::VolumeAssembler(work_.header, options.read_options(), subjects_of_session());
}

void StreamReconstruction::add(io::mrd::SharedReadout readout) {
  for (auto& group : groups_.add(std::move(readout))) start(std::move(group));
}

std::string StreamReconstruction::finish() {
  for (auto& group : groups_.take_rest()) start(std::move(group));
  while (!under_way_.empty()) deliver_next();
  const auto left = groups_.unfinished_readouts();
  return left == 0 ? ""
                   : fmt::format("the last {} readouts are fewer than a frame: they are in no image", left);
}

/// Makes images of a slice that is cached, or that shares nothing, concurrently; the others at once.
void StreamReconstruction::start(ImageReadouts group) {
  work_.require_wanted();
  if (!group.key || !threads_ || !shares_slices_) return make_now(std::move(group));
  const auto series = *shares_slices_ ? slices_.find(group.key->slice) : nullptr;
  if (*shares_slices_ && !series) return make_now(std::move(group));
  const auto bytes = bytes_of(group);
  make_room(bytes);
  under_way_.push_back({threads_->start(std::move(group), series), bytes});
  bytes_under_way_ += bytes;
}

/// Makes the images of a group by this thread.
void StreamReconstruction::make_now(ImageReadouts group) {
  while (!under_way_.empty()) deliver_next();  // images are sent in their order
  std::shared_ptr<SliceSeries> begun;
  const auto slice_of = [&](int slice, const Scan& scan) -> SharedSlice {
    if (!shares_slices_) shares_slices_ = shares_slices(work_.options, scan);
    if (!*shares_slices_) return {};
    if (auto series = slices_.find(slice)) return {std::move(series), false};
    begun = std::make_shared<SliceSeries>(scan);
    return {begun, true};
  };
  maker_.make(std::move(group), slice_of, [&](MadeImage made, const GroupFacts& facts) {
    if (begun) cache(made.slice, std::move(begun));
    begun.reset();
    open_threads(made.image);
    send(std::move(made), facts);
  });
}

void StreamReconstruction::cache(int slice, std::shared_ptr<SliceSeries> series) {
  if (slices_.add(slice, std::move(series)) > 0)
    add_new({"warning: so many slices take more memory than a session has (--max-memory): maps of some are "
             "found anew with their next image"},
            next_messages_);
}

/// Starts as many threads as speed up images of this size.
void StreamReconstruction::open_threads(const Image& image) {
  if (threads_) return;
  constexpr std::int64_t many = 1 << 20;
  const auto count = work_.limits.at_once > 0
                         ? std::int64_t{work_.limits.at_once}
                         : concurrent_volumes(work_.device.device, many, image.geometry.voxel_count(),
                                                work_.processors.threads);
  threads_.emplace(work_, static_cast<int>(count), events_.on_made);
}

/// Waits until each thread has at most one group that waits, and waiting readouts take at most a quarter of the memory of a
/// session.
void StreamReconstruction::make_room(std::size_t bytes) {
  const auto most = 2 * threads_->most();
  while (!under_way_.empty() &&
         (under_way_.size() >= most || bytes_under_way_ + bytes > work_.limits.bytes / 4))
    deliver_next();
}

bool StreamReconstruction::has_image() const {
  return !under_way_.empty() &&
         under_way_.front().made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void StreamReconstruction::deliver() {
  while (has_image()) deliver_next();
}

/// Waits for the oldest group and sends its images.
void StreamReconstruction::deliver_next() {
  auto next = std::move(under_way_.front());
  under_way_.pop_front();
  bytes_under_way_ -= next.bytes;
  auto group = next.made.get();
  for (auto& made : group.images) send(std::move(made), group.facts);
}

/// Throws Error where images of one slice differ in what was inferred from their readouts: the unit of the trajectory, above
/// all.
void StreamReconstruction::require_same_placing(const GroupFacts& facts) {
  const auto [place, is_first] = placing_.emplace(facts.key->slice, facts.positions);
  if (!is_first && !(place->second == facts.positions))
    throw Error("the positions of the acquisitions",
                "what the first image of the slice told of their unit and centre", "something else",
                "state the unit of the trajectory in the header, or with --trajectory-unit");
}

void StreamReconstruction::send(MadeImage made, const GroupFacts& facts) {
  if (facts.key) require_same_placing(facts);
  StreamedImage streamed;
  streamed.messages = std::move(next_messages_);
  next_messages_.clear();
  add_new(made.remarks, streamed.messages);
  const auto [first, is_first] = readouts_of_slice_.emplace(made.slice, facts.count);
  if (facts.key && facts.count < first->second)
    streamed.messages.push_back(
        fmt::format("warning: an image of slice {} has {} readouts, the first one had {}", made.slice,
                    facts.count, first->second));
  streamed.image = std::move(made.image);
  streamed.report = std::move(made.report);
  streamed.last = facts.last;
  streamed.last.idx.slice = static_cast<std::uint16_t>(made.slice);
  streamed.last.idx.contrast = static_cast<std::uint16_t>(made.counters.contrast);
  streamed.last.idx.phase = static_cast<std::uint16_t>(made.counters.phase);
  streamed.last.idx.set = static_cast<std::uint16_t>(made.counters.set);
  streamed.repetition = facts.frame >= 0 ? static_cast<int>(facts.frame) : made.counters.repetition;
  streamed.number = images_++;
  streamed.readouts = facts.count;
  std::vector<std::string> doubts;
  for (const auto& message : streamed.report.messages)
    if (is_doubt(message))
      doubts.push_back(fmt::format("{}: {}", name_of(message.severity), line_of(message)));
  if (const auto& c = streamed.report.certificate; c && !c->passed)
    doubts.push_back("warning: an image is less accurate than asked: " + certificate_line(*c));
  add_new(doubts, streamed.messages);
  events_.send(streamed);
}

/// Adds the sentences that this session has not sent; a bounded number of them.
void StreamReconstruction::add_new(const std::vector<std::string>& sentences,
                                   std::vector<std::string>& messages) {
  constexpr std::size_t most = 1000;
  for (const auto& sentence : sentences)
    if (sent_.size() < most && sent_.insert(sentence).second) messages.push_back(sentence);
}

}  // namespace fhd::app
