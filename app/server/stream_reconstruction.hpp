#pragma once
// Reconstructs the images of a session, each as soon as its last readout is there, and sends them in order.
//
// An image is reconstructed as from a file that holds its readouts alone (image_maker.hpp). The first image of a slice finds
// what the others share, which is cached: the matrix that holds the object, how coils are mixed, their maps, and, where
// positions are the same, Q and all else that depends on these. (--maps-of each: every image by itself.)
// Images are made concurrently, by threads that have an engine each: one image keeps few processors busy, and a GPU waits
// for the work on the host between its own.
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

#include "app/server/image_maker.hpp"

namespace fhd::app {

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
  using Images = std::vector<StreamedImage>;
  using Job = std::packaged_task<Images(ImageMaker&)>;
  using Series = std::shared_ptr<SliceSeries>;
  struct UnderWay {
    std::future<Images> made;
    std::size_t bytes = 0;                 ///< of readouts
    std::optional<int> begun_slice{};  ///< whose first image it is
  };
  void start(ImageReadouts group);
  void make_room(std::size_t bytes);
  void deliver_next();
  bool count_memory(int slice);
  void add_job(Job job);
  void run_jobs();
  void send(StreamedImage image);
  void require_same_placing(const StreamedImage& image);
  void add_new(const std::string& sentence, std::vector<std::string>& messages);

  StreamEvents events_;
  std::atomic<bool> abandoned_ = false;
  ImageWork work_;
  ImageGroups groups_;
  std::map<int, std::shared_future<Series>> slices_;            ///< what images share; null: nothing
  std::deque<std::pair<int, std::size_t>> bytes_of_slices_;  ///< slice and memory, the oldest first
  std::map<int, io::mrd::SamplePositions> placing_;  ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;    ///< of its first image
  std::set<std::string> sent_;                       ///< messages
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
