#include "app/server/image_maker.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "app/run/corrected_scan.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/hdf5/hdf5.hpp"
#include "recon/array/thread_limit.hpp"

namespace fhd::app {
namespace {

/// Counts an image among those that share the processors while it lives.
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

/// Holds a part of the shared memory while it lives.
class TakenMemory {
 public:
  TakenMemory(SharedMemory& memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {
    memory_.enter(bytes_);
  }
  ~TakenMemory() { memory_.leave(bytes_); }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;

 private:
  SharedMemory& memory_;
  std::size_t bytes_;
};

}  // namespace

const io::mrd::Subjects& subjects_of_session() {
  static const io::mrd::Subjects subjects{"the session", "the header", "acquisitions of the image"};
  return subjects;
}

PlannedBytes planned_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  sizes.samples.all = scan.trajectory.sample_count();
  sizes.coils = scan.kspace.coil_count();
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  EstimateSettings how;
  how.settings = options.settings();
  how.device = device.device;
  return planned_bytes(estimate(sizes, how));
}

std::size_t require_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device,
                           std::size_t most) {
  const auto planned = planned_memory(scan, options, device);
  const auto bytes = std::max(planned.host, planned.device);
  if (bytes > most)
    throw Error("an image", "to need at most " + memory_text(static_cast<double>(most)) + " (--max-memory)",
                fmt::format("{}{}, for {} voxels and {} coils", memory_text(static_cast<double>(bytes)),
                            planned.device > planned.host ? " of the GPU" : "",
                            text(scan.geometry.matrix_size), scan.kspace.coil_count()),
                "use a smaller matrix, or fewer coils");
  return bytes;
}

bool shares_slices(const SessionOptions& options, const Scan& scan) {
  return !options.finds_maps_anew() && takes_series(options.settings(), {}, scan);
}

void SharedMemory::enter(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= most_; });
  taken_ += bytes;
}

void SharedMemory::leave(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_ -= bytes;
  left_.notify_all();
}

void ImageWork::require_wanted() const {
  if (is_given_up()) throw GivenUp("the session", "", "it has ended");
}

/// Returns a callback that throws GivenUp where the work is to stop.
ProgressCallback ImageMaker::watch() const {
  const auto begin = std::chrono::steady_clock::now();
  return [this, begin](const Progress&) {
    work_.require_wanted();
    const auto most = work_.limits.seconds;
    if (most.count() > 0 && std::chrono::steady_clock::now() - begin > most)
      throw GivenUp("an image", fmt::format("to be made within {} s (--max-seconds)", most.count()), "more",
                    "use a smaller matrix, or fewer readouts");
  };
}

GroupFacts ImageMaker::make(ImageReadouts group, const SliceOf& slice_of, const OnImage& on_image) {
  work_.require_wanted();
  const AtWork share(work_.processors);
  const CurrentDevice current(work_.device.device);
  const auto& options = work_.options.read_options();
  GroupFacts facts{group.key, group.frame, group.count, group.readouts.back()->head, {}};
  auto scan = std::make_shared<io::mrd::ReadoutScan>(work_.header, options, subjects_of_session(),
                                                     std::move(group.readouts));
  facts.positions = scan->positions();
  // Images are made concurrently, but pieces that come from files are read for one image at a time.
  const auto locked = [reads_files = !options.outside.given().empty()](const auto& step) {
    std::optional<io::hdf5::LibraryLock> lock;
    if (reads_files) lock.emplace();
    return step();
  };
  const auto close_locked = [&](io::ScanFile* file) { locked([&] { delete file; }); };
  const std::unique_ptr<io::ScanFile, decltype(close_locked)> file(
      locked([&] {
        return with_trajectory_correction(io::as_read(io::source_of(scan, true), options),
                                          work_.options.trajectory_correction())
            .release();
      }),
      close_locked);
  const auto& summary = file->summary();
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice) {
      const auto& counters = summary.repetition_counters[static_cast<std::size_t>(repetition)];
      // Embedded references of another repetition make a volume, too.
      if (facts.key && counters != facts.key->counters) continue;
      MadeImage made;
      made.slice = summary.slice_counters[static_cast<std::size_t>(slice)];
      made.counters = counters;
      Scan volume = locked([&] { return file->read(slice, repetition); });
      const auto shared = slice_of(made.slice, volume);
      auto result = made_of(std::move(volume), shared).reconstruction;
      made.image = std::move(result.image);
      made.report = std::move(result.report);
      made.remarks = summary.inferred;
      made.remarks.insert(made.remarks.end(), summary.missing.begin(), summary.missing.end());
      on_image(std::move(made), facts);
    }
  return facts;
}

ReconResult ImageMaker::made_of(Scan scan, const SharedSlice& shared) {
  const TakenMemory taken(work_.memory,
                          require_memory(scan, work_.options, work_.device, work_.limits.bytes));
  if (!engine_) {
    EngineOptions options;
    options.seeks_causes = false;
    engine_ =
        std::make_unique<ReconEngine>(work_.options.settings(), Execution{}, work_.device, nullptr, options);
  }
  RunEvents events{watch()};
  events.on_fallback = [this](const std::string& reason) {
    std::call_once(work_.told_fallback, [&] { print_fallback(reason); });
  };
  const bool shares_positions = shared.series && shared.series->holds(scan);
  if (shares_positions && !shared.is_first) scan.sensitivity_maps.reset();  // those of the series
  const VolumeGroup group{{&scan}, shared.series, shares_positions && shared.is_first};
  return std::move((*engine_)(group, events).front());
}

}  // namespace fhd::app
