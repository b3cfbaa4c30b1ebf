#pragma once
// Reconstructs images from their readouts with one engine, as from a file that holds these readouts alone.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/run/recon_engine.hpp"
#include "app/server/configuration.hpp"
#include "app/server/image_groups.hpp"
#include "io/scan/mrd/readout_scan.hpp"

namespace fhd::app {

/// The processors that sessions share: each image gets its share of the threads when it begins.
struct SharedProcessors {
  int threads = 1;
  std::atomic<int> at_work{0};  ///< images that are being made
};

/// The limits of a session's work on images.
struct ImageLimits {
  /// Of waiting acquisitions, of cached slices, and of the planned memory of all images that are made at a time, each.
  std::size_t bytes = std::size_t{4} << 30;
  std::chrono::seconds seconds{600};  ///< of work on one image
  int at_once = 0;                    ///< images; 0: as many as are of use
};

/// The work was stopped: nobody waits for it, or it takes too long.
struct GivenUp : Error {
  using Error::Error;
};

/// Bounds the planned memory of images that are made concurrently.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : most_(bytes) {}
  /// Waits until there is enough, or nobody else holds any. Returns an owner, which gives it back.
  std::shared_ptr<void> take(std::size_t bytes);

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

/// An image and its place in the session.
struct StreamedImage {
  Image image;
  Report report;
  std::optional<ImageKey> key;           ///< of its readouts; empty: they were all of the session
  io::mrd::SamplePositions positions{};  ///< how trajectories became positions
  io::mrd::ReadoutHead head{};           ///< of its last readout, with the counters of the image
  int repetition = 0;                    ///< its counter; of frames, the number of the frame
  std::int64_t readouts = 0;
  std::int64_t number = 0;              ///< in the session, from 0
  std::vector<std::string> messages{};  ///< to the client
};

/// The series of a slice, which its images share.
struct SharedSlice {
  std::shared_ptr<SliceSeries> series;  ///< null: it shares nothing
  bool is_first = false;                ///< the others use what is found in this image
};

/// Belongs to one thread.
class ImageMaker {
 public:
  /// Returns what the next image of a slice, from this scan, shares.
  using SliceOf = std::function<SharedSlice(int slice, const Scan& scan)>;
  explicit ImageMaker(ImageWork& work) : work_(work) {}
  /// Returns the images of the group, and takes its readouts. Throws Error, among them GivenUp.
  std::vector<StreamedImage> make(ImageReadouts& group, const SliceOf& slice_of);

 private:
  Reconstruction made_of(Scan scan, const SharedSlice& shared);
  ProgressCallback watch() const;

  ImageWork& work_;
  std::unique_ptr<ReconEngine> engine_;
};

/// Returns the planned memory of one image on the host or the device, whichever is more. Throws Error where that is more
/// than `most`.
std::size_t require_memory(const Scan& scan, const Settings& settings, const ChosenDevice& device,
                           std::size_t most);

/// Names of a session and its parts for errors.
inline const io::mrd::Subjects session_subjects{"the session", "the header", "acquisitions of the image"};

}  // namespace fhd::app
