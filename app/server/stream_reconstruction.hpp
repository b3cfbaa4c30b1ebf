#pragma once
// Reconstructs the images of a session, each as soon as its last readout is there, and sends them in order.
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

/// Callbacks of the work.
struct StreamEvents {
  std::function<void(const StreamedImage&)> send;  ///< for every image, from add(), deliver() and finish()
  std::function<void()> on_made;                   ///< has_image() may have become true; from other threads
  std::function<bool()> is_given_up;               ///< any thread asks it during the work
};

class StreamReconstruction {
 public:
  /// `xml`: the header. Throws Error.
  StreamReconstruction(const SessionOptions& options, const std::string& xml, const ChosenDevice& device,
                       SharedProcessors& processors, const ImageLimits& limits, StreamEvents events);
  /// Waits for the images that are being made; waiting groups are not begun.
  ~StreamReconstruction();
  /// Waits where too many images are being made. Throws Error, among them GivenUp, of any image until now.
  void add(io::mrd::SharedReadout readout);
  /// Returns whether deliver() has something to send.
  bool has_image() const;
  /// Sends the images that are made. Throws as add().
  void deliver();
  /// Makes the images that are not whole yet, at the end, and sends all. Returns a sentence on readouts that are in no image.
  std::string finish();
  /// Stops the work: nobody waits for it.
  void abandon() { abandoned_ = true; }
  std::int64_t unfinished_readouts() const { return groups_.unfinished_readouts(); }

 private:
  using Series = std::shared_ptr<SliceSeries>;
  using Images = std::vector<StreamedImage>;
  using Job = std::packaged_task<Images(std::optional<ReconEngine>&)>;
  /// What an image shares with others of its slice. series null: nothing. is_first: the others use what it finds.
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
  void make_room(std::size_t bytes);
  void deliver_next();
  bool count_memory(int slice);
  void add_job(Job job);
  void run_jobs();
  void send(StreamedImage image);
  void require_same_placing(const StreamedImage& image);
  void add_new(const std::string& sentence, std::vector<std::string>& messages);

  const StreamEvents events_;
  const SessionOptions options_;
  const io::mrd::Header header_;
  const ChosenDevice device_;
  SharedProcessors& processors_;
  const ImageLimits limits_;
  SharedMemory memory_;
  std::once_flag told_fallback_;
  std::atomic<bool> abandoned_ = false;

  ImageGroups groups_;
  std::map<int, std::shared_future<Series>> slices_;         ///< what images share; null: nothing
  std::deque<std::pair<int, std::size_t>> bytes_of_slices_;  ///< slice and memory, the oldest first
  std::map<int, io::mrd::SamplePositions> placing_;          ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;            ///< of its first image
  std::set<std::string> sent_;                               ///< messages
  std::int64_t images_ = 0;
  std::deque<UnderWay> under_way_;  ///< the oldest first
  std::size_t bytes_under_way_ = 0;

  std::size_t most_threads_ = 1;
  std::mutex mutex_;  ///< of the following
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fhd::app
