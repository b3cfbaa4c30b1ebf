#include "app/server/image_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/run/corrected_scan.hpp"
#include "app/run/scan_cost.hpp"
#include "app/terminal/console.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/outside_pieces.hpp"
#include "recon/array/thread_limit.hpp"

namespace fhd::app {

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

void ImageWork::require_wanted() const {
  if (is_given_up()) throw GivenUp("the session", "", "it has ended");
}

/// Returns a callback that throws GivenUp where the work is to stop.
ProgressCallback ImageMaker::watch() const {
  const auto begin = std::chrono::steady_clock::now();
  return [this, begin](const Progress&) {
    work_.require_wanted();
    const auto most = work_.limits.seconds;
    if (std::chrono::steady_clock::now() - begin > most)
      throw GivenUp("an image", fmt::format("to be made within {} s (--max-seconds)", most.count()), "more",
                    "use a smaller matrix, or fewer readouts");
  };
}

std::vector<StreamedImage> ImageMaker::make(ImageReadouts& group, const SliceOf& slice_of) {
  work_.require_wanted();
  auto& processors = work_.processors;
  const ThreadLimit share(std::max(1, processors.threads / ++processors.at_work));
  const std::shared_ptr<void> at_work(nullptr, [&](void*) { --processors.at_work; });
  const CurrentDevice current(work_.device.device);
  const auto& options = work_.options.run.read_options;
  const auto last = group.readouts.back()->head;
  auto scan = std::make_shared<io::mrd::ReadoutScan>(work_.header, options, session_subjects,
                                                     std::move(group.readouts));
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
        correct_trajectory({opened.get()}, work_.options.run.correction);
        return opened.release();
      }),
      close_locked);
  const auto& summary = file->summary();
  std::vector<StreamedImage> images;
  for (std::int64_t repetition = 0; repetition < summary.repetition_count; ++repetition)
    for (std::int64_t slice = 0; slice < summary.slice_count; ++slice) {
      const auto& counters = summary.repetition_counters[static_cast<std::size_t>(repetition)];
      // Embedded references of another repetition make a volume, too.
      if (const auto& k = group.key;
          k && counters != io::RepetitionCounters{k->repetition, k->contrast, k->phase, k->set})
        continue;
      const int slice_counter = summary.slice_counters[static_cast<std::size_t>(slice)];
      Scan volume = locked([&] { return file->read(slice, repetition); });
      const auto shared = slice_of(slice_counter, volume);
      auto result = made_of(std::move(volume), shared);
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

Reconstruction ImageMaker::made_of(Scan scan, const SharedSlice& shared) {
  const auto& settings = work_.options.settings;
  const auto taken =
      work_.memory.take(require_memory(scan, settings, work_.device, work_.limits.bytes));
  if (!engine_)
    engine_ = std::make_unique<ReconEngine>(settings, Execution{}, work_.device, nullptr,
                                            EngineOptions{.seeks_causes = false});
  RunEvents events{watch()};
  events.on_fallback = [this](const std::string& reason) {
    std::call_once(work_.told_fallback, [&] { print_fallback(reason); });
  };
  const bool shares_positions = shared.series && shared.series->holds(scan);
  if (shares_positions && !shared.is_first) scan.sensitivity_maps.reset();  // those of the series
  const VolumeGroup group{{&scan}, shared.series, shares_positions && shared.is_first};
  return std::move((*engine_)(group, events).front().reconstruction);
}

}  // namespace fhd::app
