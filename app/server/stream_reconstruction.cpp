#include "app/server/stream_reconstruction.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "app/run/corrections.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/hdf5/hdf5.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd::app {
namespace {

/// Names of a session and its parts for errors.
const io::mrd::Subjects session_subjects{"the session", "the header", "acquisitions of the image"};

/// Returns the bytes of a scan's arrays.
std::size_t bytes_of(const Scan& scan) {
  const auto array = [](const auto& values) {
    return static_cast<std::size_t>(values.size()) * sizeof(*values.data());
  };
  const auto both = [&](const auto& pair) { return array(pair.values) + array(pair.in_double); };
  std::size_t bytes = array(scan.trajectory.k) + both(scan.kspace);
  if (scan.sensitivity_maps) bytes += both(*scan.sensitivity_maps);
  if (scan.noise) bytes += array(*scan.noise);
  if (scan.calibration) bytes += array(scan.calibration->trajectory.k) + both(scan.calibration->kspace);
  if (scan.sample_time_s) bytes += array(*scan.sample_time_s);
  return bytes;
}

}  // namespace

std::size_t require_memory(const Scan& scan, const Settings& settings, const ChosenDevice& device,
                           std::size_t most) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  sizes.samples.all = scan.trajectory.sample_count();
  sizes.coils = scan.kspace.coil_count();
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  const auto planned = planned_bytes(estimate(sizes, {settings, device.device}));
  const auto bytes = std::max(planned.host, planned.device);
  if (bytes > most)
    throw Error("an image", "to need at most " + memory_text(static_cast<double>(most)) + " (--max-memory)",
                fmt::format("{}{}, for {} voxels and {} coils", memory_text(static_cast<double>(bytes)),
                            planned.device > planned.host ? " of the GPU" : "",
                            text(scan.geometry.matrix_size), scan.kspace.coil_count()),
                "use a smaller matrix, or fewer coils");
  return bytes;
}

std::shared_ptr<void> SharedMemory::take(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= most_; });
  taken_ += bytes;
  lock.unlock();
  return {nullptr, [this, bytes](void*) {
            const std::lock_guard again(mutex_);
            taken_ -= bytes;
            left_.notify_all();
          }};
}

StreamReconstruction::StreamReconstruction(const SessionOptions& options, const std::string& xml,
                                           const ChosenDevice& device, SharedProcessors& processors,
                                           const ImageLimits& limits)
    : options_(options),
      header_(io::mrd::parse_header(xml, session_subjects.header)),
      device_(device),
      processors_(processors),
      limits_(limits),
      memory_(limits.bytes),
      groups_(header_, options.spokes_per_frame, options.waits_for_close()) {
  // Errors of the header are reported before readouts come.
  io::mrd::VolumeAssembler(header_, options.run.read_options, session_subjects);
}

StreamReconstruction::~StreamReconstruction() {
  abandon();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
}

// --- Making images

void StreamReconstruction::require_wanted() const {
  if (abandoned_) throw GivenUp("the session", "", "it has ended");
}

/// Returns a callback that throws GivenUp where the work is to stop.
ProgressCallback StreamReconstruction::watch() const {
  const auto begin = std::chrono::steady_clock::now();
  return [this, begin](const Progress&) {
    require_wanted();
    const auto most = limits_.seconds;
    if (std::chrono::steady_clock::now() - begin > most)
      throw GivenUp("an image", fmt::format("to be made within {} s (--max-seconds)", most.count()), "more",
                    "use a smaller matrix, or fewer readouts");
  };
}

/// Returns the images of a group, and takes its readouts.
StreamReconstruction::Images StreamReconstruction::images_of(
    ImageReadouts& group, std::optional<ReconEngine>& engine,
    const std::function<Shared(int slice, const Scan&)>& shared_of) {
  require_wanted();
  const ThreadLimit share(std::max(1, processors_.threads / ++processors_.at_work));
  const std::shared_ptr<void> at_work(nullptr, [this](void*) { --processors_.at_work; });
  const CurrentDevice current(device_.device);
  const auto& options = options_.run.read_options;
  const auto last = group.readouts.back()->head;
  auto scan =
      std::make_shared<io::mrd::ReadoutScan>(header_, options, session_subjects, std::move(group.readouts));
  const auto positions = scan->positions();
  // Images are made concurrently, but pieces that come from files are read for one image at a time.
  const auto locked = [reads_files = !options.outside.given().empty()](const auto& step) {
    std::optional<io::hdf5::LibraryLock> lock;
    if (reads_files) lock.emplace();
    return step();
  };
  const auto close_locked = [&](io::ScanFile* file) { locked([&] { delete file; }); };
  const std::unique_ptr<io::ScanFile, decltype(close_locked)> file(
      locked([&] {
        auto opened = io::as_read(io::source_of(scan, true), options);
        correct_readouts({opened.get()}, options_.run.correction);
        return opened.release();
      }),
      close_locked);
  const auto& summary = file->summary();
  Images images;
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice) {
      const auto& counters = summary.repetition_counters[static_cast<std::size_t>(repetition)];
      // Embedded references of another repetition make a volume, too.
      if (const auto& k = group.key;
          k && counters != io::RepetitionCounters{k->repetition, k->contrast, k->phase, k->set})
        continue;
      const int slice_counter = summary.slice_counters[static_cast<std::size_t>(slice)];
      Scan volume = locked([&] { return file->read(slice, repetition); });
      const auto shared = shared_of(slice_counter, volume);
      auto result = image_of(std::move(volume), shared, engine);
      StreamedImage made{std::move(result.image), std::move(result.report), group.key, positions, last};
      made.head.idx.slice = static_cast<std::uint16_t>(slice_counter);
      made.head.idx.contrast = static_cast<std::uint16_t>(counters.contrast);
      made.head.idx.phase = static_cast<std::uint16_t>(counters.phase);
      made.head.idx.set = static_cast<std::uint16_t>(counters.set);
      made.repetition = group.frame >= 0 ? static_cast<int>(group.frame) : counters.repetition;
      made.readouts = group.count;
      made.messages = summary.inferred;
      made.messages.insert(made.messages.end(), summary.missing.begin(), summary.missing.end());
      images.push_back(std::move(made));
    }
  return images;
}

Reconstruction StreamReconstruction::image_of(Scan scan, const Shared& shared,
                                              std::optional<ReconEngine>& engine) {
  const auto& settings = options_.settings;
  const auto taken = memory_.take(require_memory(scan, settings, device_, limits_.bytes));
  if (!engine) engine.emplace(settings, Execution{}, device_, nullptr, EngineOptions{.seeks_causes = false});
  RunEvents events{watch()};
  events.on_fallback = [this](const std::string& reason) {
    std::call_once(told_fallback_, [&] { print_fallback(reason); });
  };
  const bool shares_positions = shared.series && shared.series->holds(scan);
  if (shares_positions && !shared.is_first) scan.sensitivity_maps.reset();  // those of the series
  const VolumeGroup group{{&scan}, shared.series, shares_positions && shared.is_first};
  return std::move((*engine)(group, events).front().reconstruction);
}

// --- Adding

void StreamReconstruction::add(io::mrd::SharedReadout readout) {
  for (auto& group : groups_.add(std::move(readout))) start(std::move(group));
}

void StreamReconstruction::finish() {
  for (auto& group : groups_.take_rest()) start(std::move(group));
}

void StreamReconstruction::end() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void StreamReconstruction::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  changed_.notify_all();
}

/// Adds the images of a group, once waiting readouts take at most a quarter of the memory of a session. The first image of a
/// slice begins what the others share and wait for.
void StreamReconstruction::start(ImageReadouts group) {
  UnderWay next;
  for (const auto& readout : group.readouts) next.bytes += readout->bytes();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return abandoned_ || under_way_.empty() || bytes_under_way_ + next.bytes <= limits_.bytes / 4;
  });
  require_wanted();
  add_threads(under_way_.size() + 1);
  std::shared_ptr<std::promise<Series>> begun;
  std::shared_future<Series> shared;
  if (group.key && !options_.finds_maps_anew()) {
    const auto [found, is_first] = slices_.try_emplace(group.key->slice);
    if (is_first) {
      begun = std::make_shared<std::promise<Series>>();
      found->second = begun->get_future().share();
      next.begun_slice = group.key->slice;
    } else {
      shared = found->second;
    }
  }
  jobs_.emplace_back([this, group = std::move(group), begun, shared](auto& engine) mutable {
    auto promise = std::move(begun);  // breaks where this throws, so that nobody waits for ever
    std::map<int, Series> of_group;
    auto images = images_of(group, engine, [&](int slice, const Scan& scan) -> Shared {
      // Where counters and header contradict each other, the image of another slice is made by itself.
      if (group.key && slice != group.key->slice) return {};
      if (shared.valid()) return {shared.get()};
      const auto [series, is_first] = of_group.try_emplace(slice);
      if (is_first && !options_.finds_maps_anew() && takes_series(options_.settings, {}, scan))
        series->second = std::make_shared<SliceSeries>(scan);
      if (promise) std::exchange(promise, nullptr)->set_value(series->second);
      return {series->second, is_first};
    });
    if (promise) promise->set_value(nullptr);
    return images;
  });
  next.made = jobs_.back().get_future();
  bytes_under_way_ += next.bytes;
  under_way_.push_back(std::move(next));
  changed_.notify_all();
}

/// Adds threads for so many jobs. Throws std::system_error where no thread can be started at all.
void StreamReconstruction::add_threads(std::size_t jobs) {
  while (threads_.size() < std::min(most_threads_, jobs)) try {
      threads_.emplace_back([this] { run_jobs(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      return;  // the others do the work
    }
}

/// Does jobs; each thread has at most one other whose images wait to be taken.
void StreamReconstruction::run_jobs() {
  omp_set_num_threads(processors_.threads);
  std::optional<ReconEngine> engine;
  std::unique_lock lock(mutex_);
  const auto may_begin = [&] {
    return !jobs_.empty() && (abandoned_ || under_way_.size() - jobs_.size() < 2 * most_threads_);
  };
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || may_begin(); });
    if (ended_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(engine);
    lock.lock();
  }
}

// --- Taking

std::optional<StreamReconstruction::Images> StreamReconstruction::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return abandoned_ || finished_ || !under_way_.empty(); });
  require_wanted();
  if (under_way_.empty()) return std::nullopt;
  UnderWay& oldest = under_way_.front();  // stays in its place
  lock.unlock();
  auto images = oldest.made.get();
  lock.lock();
  const bool fit = !oldest.begun_slice || count_memory(*oldest.begun_slice);
  bytes_under_way_ -= oldest.bytes;
  under_way_.pop_front();
  if (images_ == 0 && !images.empty()) {  // as many threads as speed up images of this size
    constexpr std::int64_t many = 1 << 20;
    const auto voxels = images.front().image.geometry.voxel_count();
    most_threads_ = static_cast<std::size_t>(
        limits_.at_once > 0 ? limits_.at_once
                            : concurrent_volumes(device_.device, many, voxels, processors_.threads));
    add_threads(under_way_.size());
  }
  changed_.notify_all();
  lock.unlock();
  if (!fit && !images.empty())
    images.front().messages.push_back(
        "warning: so many slices take more memory than a session has (--max-memory): maps of some are found "
        "anew with their next image");
  for (auto& image : images) complete(image);
  return images;
}

/// Counts the memory of a slice, whose first image is made. Returns false where the oldest slices were removed because all
/// take too much memory together; the last one stays, whatever it takes.
bool StreamReconstruction::count_memory(int slice) {
  const auto series = slices_.at(slice).get();
  if (!series) return true;
  const auto made = series->preparation.get([] { return nullptr; });  // it is there
  std::size_t bytes = bytes_of(series->reference);
  if (made && made->changed) bytes += bytes_of(*made->changed);
  bytes_of_slices_.push_back({slice, bytes});
  std::size_t all = 0;
  for (const auto& [each, of_each] : bytes_of_slices_) all += of_each;
  const auto before = bytes_of_slices_.size();
  for (; all > limits_.bytes && bytes_of_slices_.size() > 1; bytes_of_slices_.pop_front()) {
    all -= bytes_of_slices_.front().second;
    slices_.erase(bytes_of_slices_.front().first);
  }
  return bytes_of_slices_.size() == before;
}

/// Gives an image its number and messages. Throws Error where images of one slice differ in what was inferred from their
/// readouts: the unit of the trajectory, above all.
void StreamReconstruction::complete(StreamedImage& image) {
  if (image.key && !(placing_.emplace(image.key->slice, image.positions).first->second == image.positions))
    throw Error("the positions of the acquisitions",
                "what the first image of the slice told of their unit and centre", "something else",
                "state the unit of the trajectory in the header, or with --trajectory-unit");
  image.number = images_++;
  for (const auto& remark : std::exchange(image.messages, {})) add_new(remark, image.messages);
  const int slice = image.head.idx.slice;
  const auto first = readouts_of_slice_.emplace(slice, image.readouts).first->second;
  if (image.key && image.readouts < first)
    image.messages.push_back(fmt::format(
        "warning: an image of slice {} has {} readouts, the first one had {}", slice, image.readouts, first));
  for (const auto& message : image.report.messages)
    if (is_doubt(message))
      add_new(fmt::format("{}: {}", name_of(message.severity), line_of(message)), image.messages);
  if (const auto& c = image.report.certificate; c && !c->passed)
    add_new("warning: an image is less accurate than asked: " + certificate_line(*c), image.messages);
}

/// Adds a sentence that this session has not sent; a bounded number of them.
void StreamReconstruction::add_new(const std::string& sentence, std::vector<std::string>& messages) {
  constexpr std::size_t most = 1000;
  if (sent_.size() < most && sent_.insert(sentence).second) messages.push_back(sentence);
}

}  // namespace fhd::app
