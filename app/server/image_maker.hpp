#pragma once
// Reconstructs an image from its readouts with one engine, as from a file that holds these readouts alone.
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
#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::app {

/// The processors that sessions share: each image gets its share of the threads when it begins.
struct SharedProcessors {
  int threads = 1;
  std::atomic<int> at_work{0};  ///< images that are being made
};

/// The limits of the work on images.
struct ImageLimits {
  std::size_t bytes = 0;            ///< planned memory of all images that a session makes at a time
  std::chrono::seconds seconds{0};  ///< of work on one image; 0: no limit
  int at_once = 0;                  ///< images of a session; 0: as many as are of use
};

/// The work was stopped: nobody waits for it, or it takes too long.
struct GivenUp : Error {
  using Error::Error;
};

/// Bounds the planned memory of images that are made concurrently: each waits until there is enough, or it is alone.
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

/// The options and limits that all images of a session share.
struct ImageWork {
  SessionOptions options;
  io::mrd::Header header;
  ChosenDevice device;
  SharedProcessors& processors;
  ImageLimits limits;
  std::function<bool()> is_given_up;  ///< any thread asks it during the work
  SharedMemory memory{limits.bytes};
  std::once_flag told_fallback{};

  /// Throws GivenUp where the work is to stop.
  void require_wanted() const;
};

/// An image, before its session numbers it.
struct MadeImage {
  Image image;
  Report report;
  int slice = 0;
  io::RepetitionCounters counters;
  std::vector<std::string> remarks;  ///< which facts were inferred, and which are missing
};

/// Facts about the readouts of images.
struct GroupFacts {
  std::optional<ImageKey> key;
  std::int64_t frame = -1, count = 0;
  io::mrd::ReadoutHead last{};
  io::mrd::SamplePositions positions{};  ///< how trajectories became positions
};

/// The series of a slice, which its images share.
struct SharedSlice {
  std::shared_ptr<SliceSeries> series;  ///< null: it shares nothing
  bool is_first = false;                ///< the others use what is found in this image
};
/// Returns what the next image of a slice, from this scan, shares.
using SliceOf = std::function<SharedSlice(int slice, const Scan& scan)>;

using OnImage = std::function<void(MadeImage, const GroupFacts&)>;

/// Belongs to one thread.
class ImageMaker {
 public:
  explicit ImageMaker(ImageWork& work) : work_(work) {}
  /// Calls on_image for every image. Throws Error, among them GivenUp.
  GroupFacts make(ImageReadouts group, const SliceOf& slice_of, const OnImage& on_image);

 private:
  ReconResult made_of(Scan scan, const SharedSlice& shared);
  ProgressCallback watch() const;

  ImageWork& work_;
  std::unique_ptr<ReconEngine> engine_;
};

/// Returns the planned memory of one image.
PlannedBytes planned_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device);
/// Returns the planned memory on the host or the device, whichever is more. Throws Error where that is more than `most`.
std::size_t require_memory(const Scan& scan, const SessionOptions& options, const ChosenDevice& device,
                           std::size_t most);
/// Returns whether images of a slice share anything.
bool shares_slices(const SessionOptions& options, const Scan& scan);
/// Returns the names of a session and its parts for errors.
const io::mrd::Subjects& subjects_of_session();

}  // namespace fhd::app
