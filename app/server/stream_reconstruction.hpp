#pragma once
// Reconstructs the images of a session, each as soon as its last readout is there, and sends them in order.
//
// An image is reconstructed as from a file that holds its readouts alone (image_maker.hpp). The first image of a slice finds
// what the others share, which is cached (slice_cache.hpp): the matrix that holds the object, how coils are mixed, their
// maps, and, where positions are the same, Q and all else that depends on these. (--maps-of each: every image by itself.)
// The first image of a slice is made at once; the others are made concurrently (image_threads.hpp).
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/server/image_maker.hpp"
#include "app/server/image_threads.hpp"
#include "app/server/slice_cache.hpp"

namespace fhd::app {

/// An image and its place in the session.
struct StreamedImage {
  Image image;
  Report report;
  io::mrd::ReadoutHead last;  ///< of its last readout
  int repetition = 0;         ///< its counter; of frames, the number of the frame
  std::int64_t number = 0;    ///< in the session, from 0
  std::int64_t readouts = 0;
  std::vector<std::string> messages;  ///< to the client: each once in a session
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
  ~StreamReconstruction() { abandon(); }
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
  struct UnderWay {
    std::future<MadeGroup> made;
    std::size_t bytes = 0;  ///< of readouts
  };
  void start(ImageReadouts group);
  void make_now(ImageReadouts group);
  void make_room(std::size_t bytes);
  void deliver_next();
  void cache(int slice, std::shared_ptr<SliceSeries> series);
  void open_threads(const Image& image);
  void send(MadeImage made, const GroupFacts& facts);
  void require_same_placing(const GroupFacts& facts);
  void add_new(const std::vector<std::string>& sentences, std::vector<std::string>& messages);

  StreamEvents events_;
  std::atomic<bool> abandoned_ = false;
  ImageWork work_;
  ImageGroups groups_;
  ImageMaker maker_;  ///< of this thread
  SliceCache slices_;
  std::optional<bool> shares_slices_;  ///< whether images of a slice share something; empty: not known yet
  std::map<int, io::mrd::SamplePositions> placing_;  ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;    ///< of its first image
  std::set<std::string> sent_;                       ///< messages
  std::vector<std::string> next_messages_;           ///< sent with the next image
  std::int64_t images_ = 0;
  std::optional<ImageThreads> threads_;  ///< after the first image
  std::deque<UnderWay> under_way_;       ///< the oldest first
  std::size_t bytes_under_way_ = 0;
};

}  // namespace fhd::app
