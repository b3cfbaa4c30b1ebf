#include "app/server/image_lanes.hpp"

#include <omp.h>

#include <system_error>
#include <utility>

namespace fhd::app {

ImageLanes::~ImageLanes() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
}

std::future<MadeGroup> ImageLanes::start(ImageReadouts group, std::shared_ptr<SliceSeries> series) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= resting_ && threads_.size() < most_) add_thread();
  auto& job = jobs_.emplace_back(Job{std::move(group), std::move(series)});
  changed_.notify_one();
  return job.made.get_future();
}

void ImageLanes::add_thread() {
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // those that there are do the work
  }
}

void ImageLanes::run() {
  omp_set_num_threads(work_.processors.threads);
  ImageMaker maker(work_);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++resting_;
    changed_.wait(lock, [&] { return ended_ || !jobs_.empty(); });
    --resting_;
    if (ended_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    try {
      MadeGroup made;
      // Of another slice than its key tells, where counters and header contradict each other: by itself.
      const int own = job.group.key->slice;
      made.facts = maker.make(
          std::move(job.group),
          [&](int slice, const Scan&) {
            return SharedSlice{slice == own ? job.series : nullptr, false};
          },
          [&](MadeImage image, const GroupFacts&) { made.images.push_back(std::move(image)); });
      job.made.set_value(std::move(made));
    } catch (...) {
      job.made.set_exception(std::current_exception());
    }
    on_made_();
    lock.lock();
  }
}

}  // namespace fhd::app
