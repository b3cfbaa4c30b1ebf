#pragma once
// Reconstructs the images of a session, each as soon as its last readout is there, and gives them in order.
//
// An image is reconstructed as from a file that holds its readouts alone. The first image of a slice finds what the others
// share, which is cached: the matrix that holds the object, how coils are mixed, their maps, and, where positions are the
// same, Q and all else that depends on these. (--maps-of each: every image by itself.) Images are made concurrently, by
// threads that have an engine each: one image keeps few processors busy, and a GPU waits for the work on the host between
// its own.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
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

/// The limits of a session's work on images.
struct ImageLimits {
  /// Bounds, each, the waiting acquisitions, the cached slices, and the planned memory of the images in work.
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

/// Returns the planned memory of one image on the host or the device, whichever is more. Throws Error where that is more
/// than `most`.
std::size_t require_memory(const Scan& scan, const Settings& settings, const ChosenDevice& device,
                           std::size_t most);

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

/// One thread adds readouts while another takes images.
class StreamReconstruction {
 public:
  /// `xml`: the header. Throws Error.
  StreamReconstruction(const SessionOptions& options, const std::string& xml, const ChosenDevice& device,
                       SharedProcessors& processors, const ImageLimits& limits);
  /// Waits for the images that are being made; waiting groups are not begun.
  ~StreamReconstruction();
  /// Waits where too many readouts wait. Throws Error, and GivenUp after abandon().
  void add(io::mrd::SharedReadout readout);
  /// Adds the images that are not whole yet, at the end. Throws as add().
  void finish();
  /// Says that no more images are added.
  void end();
  /// Returns how many readouts are in no image that is whole.
  std::int64_t unfinished_readouts() const { return groups_.unfinished_readouts(); }
  using Images = std::vector<StreamedImage>;
  /// Waits for the next images, in their order; nothing after end() and the last ones. Throws their Error, and GivenUp
  /// after abandon().
  std::optional<Images> next();
  /// Stops the work, from any thread: nobody waits for it.
  void abandon();

 private:
  using Series = std::shared_ptr<SliceSeries>;
  using Job = std::packaged_task<Images(std::optional<ReconEngine>&)>;
  /// Holds what an image shares with others of its slice; series null: nothing; is_first: the others use what it finds.
  struct Shared {
    Series series;
    bool is_first = false;
  };
  struct UnderWay {
    std::future<Images> made;
    std::size_t bytes = 0;             ///< of readouts
    std::optional<int> begun_slice{};  ///< whose first image it is
  };
  void require_wanted() const;
  ProgressCallback watch() const;
  Images images_of(ImageReadouts& group, std::optional<ReconEngine>& engine,
                   const std::function<Shared(int slice, const Scan&)>& shared_of);
  Reconstruction image_of(Scan scan, const Shared& shared, std::optional<ReconEngine>& engine);
  void start(ImageReadouts group);
  void add_threads(std::size_t jobs);
  void run_jobs();
  bool count_memory(int slice);
  void complete(StreamedImage& image);
  void add_new(const std::string& sentence, std::vector<std::string>& messages);

  const SessionOptions options_;
  const io::mrd::Header header_;
  const ChosenDevice device_;
  SharedProcessors& processors_;
  const ImageLimits limits_;
  SharedMemory memory_;
  std::once_flag told_fallback_;
  std::atomic<bool> abandoned_ = false;
  ImageGroups groups_;  ///< used by the thread that adds

  // Used by the thread that takes
  std::deque<std::pair<int, std::size_t>> bytes_of_slices_;  ///< slice and memory, the oldest first
  std::map<int, io::mrd::SamplePositions> placing_;          ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;            ///< of its first image
  std::set<std::string> sent_;                               ///< messages
  std::int64_t images_ = 0;

  std::mutex mutex_;  ///< of the following
  std::condition_variable changed_;
  std::map<int, std::shared_future<Series>> slices_;  ///< what images share; null: nothing
  std::deque<UnderWay> under_way_;                    ///< not taken yet, the oldest first
  std::deque<Job> jobs_;                              ///< those of them that are not begun
  std::size_t bytes_under_way_ = 0, most_threads_ = 1;
  bool finished_ = false, ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fhd::app
