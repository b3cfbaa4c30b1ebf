#pragma once
// Images of a session that are made side by side, each by one of some threads with an engine of its own, while readouts
// of the next arrive: one image keeps few processors busy, and a GPU waits for the work on the host between its own.
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

class ImageLanes {
 public:
  /// At most `most` threads, which are started when there is work. on_made() is called by them after every group.
  ImageLanes(ImageWork& work, int most, std::function<void()> on_made)
      : work_(work), most_(static_cast<std::size_t>(most)), on_made_(std::move(on_made)) {}
  /// Waits for what is at work, which ends soon where the work is given up; what waits is not begun.
  ~ImageLanes();
  ImageLanes(const ImageLanes&) = delete;
  ImageLanes& operator=(const ImageLanes&) = delete;

  /// Of a group with a key. Throws std::system_error where there is no thread at all.
  std::future<MadeGroup> start(ImageReadouts group, std::shared_ptr<SliceSeries> series);
  int most() const { return static_cast<int>(most_); }

 private:
  struct Job {
    ImageReadouts group;
    std::shared_ptr<SliceSeries> series;
    std::promise<MadeGroup> made{};
  };
  void run();
  void add_thread();

  ImageWork& work_;
  const std::size_t most_;
  const std::function<void()> on_made_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::size_t resting_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fhd::app
