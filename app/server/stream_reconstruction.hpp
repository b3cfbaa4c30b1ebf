#pragma once
// One session's work: readouts -> images, each as soon as its last readout is there.
//
// An image is reconstructed as that of a file which holds its readouts alone. What images of a slice share is found with
// its first and kept: the matrix that holds the object, how coils are mixed, their maps, and, where positions are the
// same, Q and all else that depends on these. (--maps-of each: every image by itself.)
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/recon_engine.hpp"
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
  std::size_t bytes = 0;            ///< of memory, as planned before the work
  std::chrono::seconds seconds{0};  ///< of work; 0: no limit
};

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

/// The work was given up: nobody waits for it, or it takes too long.
struct GivenUp : Error {
  using Error::Error;
};

class StreamReconstruction {
 public:
  /// `xml`: the header. `send` hears of every image. `is_given_up` is asked now and then. Throws Error.
  StreamReconstruction(const SessionOptions& options, const std::string& xml, const ChosenDevice& device,
                       SharedProcessors& processors, const ImageLimits& limits,
                       std::function<void(const StreamedImage&)> send, std::function<bool()> is_given_up);
  /// Throws Error, among them GivenUp.
  void add(io::mrd::SharedReadout readout);
  /// Images that are not whole yet, at the end. What is left over.
  std::string finish();
  std::int64_t images() const { return images_; }
  std::int64_t unfinished_readouts() const { return groups_.unfinished_readouts(); }

 private:
  void reconstruct(ImageReadouts group);
  void reconstruct_volume(io::ScanFile& file, const ImageReadouts& group, std::int64_t slice,
                          std::int64_t repetition, const io::mrd::ReadoutHead& last);
  ReconResult made_of(Scan scan, int slice);
  void require_memory(const Scan& scan) const;
  void require_same_placing(const io::mrd::SamplePositions& positions, int slice);
  ProgressCallback watch() const;
  void note_news(const std::vector<std::string>& sentences, std::vector<std::string>& news);

  SessionOptions options_;
  io::mrd::Header header_;
  ChosenDevice device_;
  SharedProcessors& processors_;
  ImageLimits limits_;
  std::function<void(const StreamedImage&)> send_;
  std::function<bool()> is_given_up_;
  ImageGroups groups_;
  std::unique_ptr<ReconEngine> engine_;
  std::map<int, std::shared_ptr<SliceSeries>> series_;  ///< by slice
  std::map<int, io::mrd::SamplePositions> placing_;     ///< by slice
  std::map<int, std::int64_t> readouts_of_slice_;       ///< of its first image
  std::set<std::string> told_;
  std::int64_t images_ = 0;
};

}  // namespace fhd::app
