#include "app/server/stream_reconstruction.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "app/console.hpp"
#include "app/corrected_scan.hpp"
#include "app/option_names.hpp"
#include "app/scan_cost.hpp"
#include "io/hdf5.hpp"
#include "io/scan/outside_pieces.hpp"
#include "io/scan/zero_samples.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/pipeline/estimate.hpp"

namespace fhd::app {
namespace {

/// Counted among those that share the processors while it lives.
class AtWork {
 public:
  explicit AtWork(SharedProcessors& processors)
      : processors_(processors), limit_(std::max(1, processors.threads / ++processors.at_work)) {}
  ~AtWork() { --processors_.at_work; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  SharedProcessors& processors_;
  ThreadLimit limit_;
};

const io::mrd::Subjects& subjects_of_session() {
  static const io::mrd::Subjects subjects{"the session", "the header", "acquisitions of the image"};
  return subjects;
}

/// As open_scan puts it together from a file.
std::unique_ptr<io::ScanFile> as_opened(std::unique_ptr<io::ScanFile> file, const SessionOptions& options) {
  file = io::with_outside_pieces(std::move(file), options.read_options());
  if (!options.read_options().zeros_are_measured) file = io::without_zeros(std::move(file));
  return with_trajectory_correction(std::move(file), options.trajectory_correction());
}

bool takes_pieces(const SessionOptions& options) { return !options.read_options().outside.given().empty(); }

}  // namespace

StreamReconstruction::StreamReconstruction(const SessionOptions& options, const std::string& xml,
                                           const ChosenDevice& device, SharedProcessors& processors,
                                           const ImageLimits& limits,
                                           std::function<void(const StreamedImage&)> send,
                                           std::function<bool()> is_given_up)
    : options_(options),
      header_(io::mrd::parse_header(xml, subjects_of_session().header)),
      device_(device),
      processors_(processors),
      limits_(limits),
      send_(std::move(send)),
      is_given_up_(std::move(is_given_up)),
      groups_(header_, options.spokes_per_frame(), options.waits_for_close()) {
  // What is wrong with the header is told before readouts come.
  io::mrd::VolumeAssembler(header_, options_.read_options(), subjects_of_session());
}

void StreamReconstruction::add(io::mrd::SharedReadout readout) {
  for (auto& group : groups_.add(std::move(readout))) reconstruct(std::move(group));
}

std::string StreamReconstruction::finish() {
  for (auto& group : groups_.take_rest()) reconstruct(std::move(group));
  const auto left = groups_.unfinished_readouts();
  return left == 0 ? ""
                   : fmt::format("the last {} readouts are fewer than a frame: they are in no image", left);
}

/// Throws GivenUp where the work is to end.
ProgressCallback StreamReconstruction::watch() const {
  const auto begin = std::chrono::steady_clock::now();
  return [this, begin](const Progress&) {
    if (is_given_up_()) throw GivenUp("the session", "", "it has ended");
    if (limits_.seconds.count() > 0 && std::chrono::steady_clock::now() - begin > limits_.seconds)
      throw GivenUp("an image",
                    fmt::format("to be made within {} s (--max-seconds)", limits_.seconds.count()), "more",
                    "use a smaller matrix, or fewer readouts");
  };
}

/// Images of one slice must not differ in what was inferred from their readouts: the unit of the trajectory, above all.
void StreamReconstruction::require_same_placing(const io::mrd::SamplePositions& positions, int slice) {
  const auto [place, is_first] = placing_.emplace(slice, positions);
  if (!is_first && !(place->second == positions))
    throw Error("the positions of the acquisitions",
                "what the first image of the slice told of their unit and centre", "something else",
                "state the unit of the trajectory in the header, or with --trajectory-unit");
}

void StreamReconstruction::reconstruct(ImageReadouts group) {
  if (is_given_up_()) throw GivenUp("the session", "", "it has ended");
  const AtWork share(processors_);
  const CurrentDevice current(device_.device);
  const auto last = group.readouts.back()->head;
  auto scan = std::make_unique<io::mrd::ReadoutScan>(header_, options_.read_options(), subjects_of_session(),
                                                     std::move(group.readouts));
  if (group.key) require_same_placing(scan->positions(), group.key->slice);
  std::optional<io::hdf5::Turn> turn;  // where pieces come from files
  if (takes_pieces(options_)) turn.emplace();
  const auto file = as_opened(std::move(scan), options_);
  const auto& summary = file->summary();
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice) {
      const auto& counters = summary.repetition_counters[static_cast<std::size_t>(repetition)];
      // Embedded references of another repetition make a volume, too.
      if (!group.key || counters == group.key->counters)
        reconstruct_volume(*file, group, slice, repetition, last);
    }
}

void StreamReconstruction::reconstruct_volume(io::ScanFile& file, const ImageReadouts& group,
                                              std::int64_t slice, std::int64_t repetition,
                                              const io::mrd::ReadoutHead& last) {
  const auto& summary = file.summary();
  const int counted_slice = summary.slice_counters[static_cast<std::size_t>(slice)];
  const auto& counters = summary.repetition_counters[static_cast<std::size_t>(repetition)];
  StreamedImage streamed;
  note_news(summary.inferred, streamed.news);
  note_news(summary.missing, streamed.news);
  const auto [first, is_first] = readouts_of_slice_.emplace(counted_slice, group.count);
  if (group.key && group.count < first->second)
    streamed.news.push_back(fmt::format("warning: an image of slice {} has {} readouts, the first one had {}",
                                        counted_slice, group.count, first->second));
  auto made = made_of(file.read(slice, repetition), counted_slice);
  streamed.image = std::move(made.reconstruction.image);
  streamed.report = std::move(made.reconstruction.report);
  streamed.last = last;
  streamed.last.idx.slice = static_cast<std::uint16_t>(counted_slice);
  streamed.last.idx.contrast = static_cast<std::uint16_t>(counters.contrast);
  streamed.last.idx.phase = static_cast<std::uint16_t>(counters.phase);
  streamed.last.idx.set = static_cast<std::uint16_t>(counters.set);
  streamed.repetition = group.frame >= 0 ? static_cast<int>(group.frame) : counters.repetition;
  streamed.number = images_++;
  streamed.readouts = group.count;
  std::vector<std::string> doubts;
  for (const auto& suspicion : streamed.report.suspicions)
    doubts.push_back("warning: suspicious: " + suspicion);
  for (const auto& warning : streamed.report.warnings) doubts.push_back("warning: " + warning);
  if (const auto& c = streamed.report.certificate; c && !c->passed)
    doubts.push_back("warning: an image is less accurate than asked: " + certificate_line(*c));
  note_news(doubts, streamed.news);
  send_(streamed);
}

/// Sentences that this session has not heard; a bounded number of them.
void StreamReconstruction::note_news(const std::vector<std::string>& sentences,
                                     std::vector<std::string>& news) {
  constexpr std::size_t most = 1000;
  for (const auto& sentence : sentences)
    if (told_.size() < most && told_.insert(sentence).second) news.push_back(sentence);
}

void StreamReconstruction::require_memory(const Scan& scan) const {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  sizes.samples.all = scan.trajectory.sample_count();
  sizes.coils = scan.kspace.coil_count();
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  EstimateSettings how;
  how.settings = options_.settings();
  const auto bytes = static_cast<double>(estimate(sizes, how).host.peak_bytes());
  if (bytes > static_cast<double>(limits_.bytes))
    throw Error("an image",
                "to need at most " + memory_text(static_cast<double>(limits_.bytes)) + " (--max-memory)",
                fmt::format("{}, for {} voxels and {} coils", memory_text(bytes),
                            text(scan.geometry.matrix_size), scan.kspace.coil_count()),
                "use a smaller matrix, or fewer coils");
}

ReconResult StreamReconstruction::made_of(Scan scan, int slice) {
  require_memory(scan);
  const auto& settings = options_.settings();
  if (!engine_) {
    engine_ = std::make_unique<ReconEngine>(settings, Execution{}, device_, nullptr, false, false);
    engine_->leave_causes_alone();
  }
  const auto on_fallback = [](const std::string& reason) { print_fallback(reason); };
  if (options_.finds_maps_anew() || !takes_series(settings, {}, scan))
    return (*engine_)(scan, watch(), on_fallback);
  auto& series = series_[slice];
  const bool is_first = !series;
  if (is_first) series = std::make_shared<SliceSeries>(scan);
  if (!series->holds(scan)) return engine_->elsewhere(*series, scan, watch(), on_fallback);
  const auto number = static_cast<std::size_t>(images_) + 1;  // gradient delays are not looked for
  if (!is_first) scan.sensitivity_maps.reset();               // those of the series
  std::vector<ReadVolume> one;
  one.push_back({number, std::move(scan), series, is_first});
  return std::move((*engine_)(one, watch(), on_fallback).front());
}

}  // namespace fhd::app
