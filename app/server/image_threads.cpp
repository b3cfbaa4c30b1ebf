#include "app/server/image_threads.hpp"

#include <omp.h>

#include <system_error>
#include <utility>

namespace fhd::app {
namespace {

MadeGroup made_of(ImageMaker& maker, ImageReadouts group, const std::shared_ptr<SliceSeries>& series) {
  MadeGroup made;
  const int own = group.key->slice;
  made.facts = maker.make(
      std::move(group),
      // Where counters and header contradict each other, the image of another slice is made by itself.
      [&](int slice, const Scan&) {
        return SharedSlice{slice == own ? series : nullptr, false};
      },
      [&](MadeImage image, const GroupFacts&) { made.images.push_back(std::move(image)); });
  return made;
}

}  // namespace

ImageThreads::~ImageThreads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
}

std::future<MadeGroup> ImageThreads::start(ImageReadouts group, std::shared_ptr<SliceSeries> series) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= idle_ && threads_.size() < most_) add_thread();
  auto& job =
      jobs_.emplace_back([group = std::move(group), series = std::move(series)](ImageMaker& maker) mutable {
        return made_of(maker, std::move(group), series);
      });
  changed_.notify_one();
  return job.get_future();
}

void ImageThreads::add_thread() {
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // the others do the work
  }
}

void ImageThreads::run() {
  omp_set_num_threads(work_.processors.threads);
  ImageMaker maker(work_);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [&] { return ended_ || !jobs_.empty(); });
    --idle_;
    if (ended_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(maker);
    on_made_();
    lock.lock();
  }
}

}  // namespace fhd::app
