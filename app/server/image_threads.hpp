#pragma once
// Makes images of a session concurrently, while readouts of the next arrive: one image keeps few processors busy, and a GPU
// waits for the work on the host between its own. Each thread has an engine of its own.
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "app/server/image_maker.hpp"

namespace fhd::app {

/// The images of a group of readouts.
struct MadeGroup {
  GroupFacts facts;
  std::vector<MadeImage> images;
};

class ImageThreads {
 public:
  /// Starts at most `most` threads, when there is work. They call on_made() after every group.
  ImageThreads(ImageWork& work, int most, std::function<void()> on_made)
      : work_(work), most_(static_cast<std::size_t>(most)), on_made_(std::move(on_made)) {}
  /// Waits for the images that are being made; waiting groups are not begun.
  ~ImageThreads();
  ImageThreads(const ImageThreads&) = delete;
  ImageThreads& operator=(const ImageThreads&) = delete;

  /// Makes the images of a group with a key. Throws std::system_error where no thread can be started at all.
  std::future<MadeGroup> start(ImageReadouts group, std::shared_ptr<SliceSeries> series);
  std::size_t most() const { return most_; }

 private:
  using Job = std::packaged_task<MadeGroup(ImageMaker&)>;
  void run();
  void add_thread();

  ImageWork& work_;
  const std::size_t most_;
  const std::function<void()> on_made_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::size_t idle_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fhd::app
