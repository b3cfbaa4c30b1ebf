#pragma once
// One session's work: readouts -> images, each as soon as its last readout is there, sent in their order.
//
// An image is reconstructed as that of a file which holds its readouts alone (image_maker.hpp). What images of a slice
// share is found with its first and kept (kept_slices.hpp): the matrix that holds the object, how coils are mixed, their
// maps, and, where positions are the same, Q and all else that depends on these. (--maps-of each: every image by itself.)
// The first image of a slice is made at once; those that follow are made side by side (image_lanes.hpp).
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/server/image_lanes.hpp"
#include "app/server/image_maker.hpp"
#include "app/server/kept_slices.hpp"

namespace fhd::app {

/// An image, and what it is of.
struct StreamedImage {
  Image image;
  Report report;
  io::mrd::ReadoutHead last;  ///< of its readouts
  int repetition = 0;         ///< as counted; of frames, which frame
  std::int64_t number = 0;    ///< in the session, from 0
  std::int64_t readouts = 0;
  std::vector<std::string> news;  ///< what is to be told of it that was not told before, one sentence each
};

/// Who hears of the work.
struct StreamEvents {
  std::function<void(const StreamedImage&)> send;  ///< of every image, in add(), deliver() and finish()
  std::function<void()> on_made;                   ///< has_image() may have become true; of other threads
  std::function<bool()> is_given_up;               ///< asked now and then, by any thread
};

class StreamReconstruction {
 public:
  /// `xml`: the header. Throws Error.
  StreamReconstruction(const SessionOptions& options, const std::string& xml, const ChosenDevice& device,
                       SharedProcessors& processors, const ImageLimits& limits, StreamEvents events);
  ~StreamReconstruction() { abandon(); }
  /// Waits while as much is under way as may be. Throws Error, among them GivenUp, of any image until now.
  void add(io::mrd::SharedReadout readout);
  /// Whether deliver() has something to send.
  bool has_image() const;
  /// Sends the images that are made. Throws as add().
  void deliver();
  /// Images that are not whole yet, at the end, and all that are under way. What is left over.
  std::string finish();
  /// What is under way is not wanted any more.
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
  void keep(int slice, std::shared_ptr<SliceSeries> series);
  void open_lanes(const Image& image);
  void send(MadeImage made, const GroupFacts& facts);
  void require_same_placing(const GroupFacts& facts);
  void note_news(const std::vector<std::string>& sentences, std::vector<std::string>& news);

  StreamEvents events_;
  std::atomic<bool> abandoned_ = false;
  ImageWork work_;
  ImageGroups groups_;
  ImageMaker maker_;  ///< of this thread
  KeptSlices kept_;
  std::optional<bool> shares_slices_;  ///< images of a slice share something; empty: not known yet
  std::map<int, io::mrd::SamplePositions> placing_;  ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;    ///< of its first image
  std::set<std::string> told_;
  std::vector<std::string> next_news_;  ///< told with the next image
  std::int64_t images_ = 0;
  std::optional<ImageLanes> lanes_;  ///< after the first image
  std::deque<UnderWay> under_way_;   ///< the oldest first
  std::size_t bytes_under_way_ = 0;
};

}  // namespace fhd::app
