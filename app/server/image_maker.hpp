#pragma once
// Readouts of an image -> the image, by one engine: as of a file that holds these readouts alone.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/run/recon_engine.hpp"
#include "app/server/configuration.hpp"
#include "app/server/image_groups.hpp"
#include "io/scan/mrd/readout_scan.hpp"

namespace fhd::app {

/// The processors that sessions share: each image begins with its share of the threads.
struct SharedProcessors {
  int threads = 1;
  std::atomic<int> at_work{0};  ///< images
};

/// What one image may take.
struct ImageLimits {
  std::size_t bytes = 0;            ///< of memory, as planned before the work; of all of a session at once
  std::chrono::seconds seconds{0};  ///< of work; 0: no limit
  int at_once = 0;                  ///< images of a session; 0: as many as gain something
};

/// The work was given up: nobody waits for it, or it takes too long.
struct GivenUp : Error {
  using Error::Error;
};

/// Memory that images at work take together, as planned: each waits until there is enough, or it is alone.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : most_(bytes) {}
  void enter(std::size_t bytes);
  void leave(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t most_, taken_ = 0;
};

/// What the images of a session have in common.
struct ImageWork {
  SessionOptions options;
  io::mrd::Header header;
  ChosenDevice device;
  SharedProcessors& processors;
  ImageLimits limits;
  std::function<bool()> is_given_up;  ///< asked now and then, by any thread
  SharedMemory memory{limits.bytes};
  std::once_flag told_fallback{};

  /// Throws GivenUp where the work is to end.
  void require_wanted() const;
};

/// An image, before its session numbers it.
struct MadeImage {
  Image image;
  Report report;
  int slice = 0;
  io::RepetitionCounters counters;
  std::vector<std::string> remarks;  ///< what was inferred, and what is missing
};

/// What is told of readouts beside their images.
struct GroupFacts {
  std::optional<ImageKey> key;
  std::int64_t frame = -1, count = 0;
  io::mrd::ReadoutHead last{};
  io::mrd::SamplePositions positions{};  ///< how trajectories became positions
};

/// What images of a slice share.
struct SharedSlice {
  std::shared_ptr<SliceSeries> series;  ///< null: nothing
  bool is_first = false;                ///< the image is that which the others follow
};
/// Of a slice, of which this scan is the next image.
using SliceOf = std::function<SharedSlice(int slice, const Scan& scan)>;

using OnImage = std::function<void(MadeImage, const GroupFacts&)>;

/// Belongs to one thread.
class ImageMaker {
 public:
  explicit ImageMaker(ImageWork& work) : work_(work) {}
  /// on_image hears of every image. Throws Error, among them GivenUp.
  GroupFacts make(ImageReadouts group, const SliceOf& slice_of, const OnImage& on_image);

 private:
  ReconResult made_of(Scan scan, const SharedSlice& shared);
  ProgressCallback watch() const;

  ImageWork& work_;
  std::unique_ptr<ReconEngine> engine_;
};

/// Of one image.
PlannedBytes planned_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device);
/// On the host or the device, whichever takes more. Throws Error where that is more than `most`.
std::size_t require_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device,
                           std::size_t most);
/// Whether images of a slice share anything.
bool shares_slices(const SessionOptions& options, const Scan& scan);
/// What errors call a session and its parts.
const io::mrd::Subjects& subjects_of_session();

}  // namespace fhd::app
