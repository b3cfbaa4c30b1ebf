#include "recon/array/trace.hpp"

#include <chrono>
#include <mutex>
#include <set>
#include <utility>

namespace fhd::trace {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Recorder {
  std::mutex mutex;
  Recording recording;
  std::set<int> device_rows;
  int threads = 0;

  void add(Event event) {
    const std::lock_guard lock(mutex);
    if (recording.events.size() < most_events)
      recording.events.push_back(std::move(event));
    else
      ++recording.dropped;
  }
};

Recorder& recorder() {
  static auto* const all = new Recorder;  // never destroyed: threads may end after main
  return *all;
}

int this_thread() {
  thread_local int number = 0;
  if (number == 0) {
    const std::lock_guard lock(recorder().mutex);
    number = ++recorder().threads;
  }
  return number;
}

}  // namespace

void start() { detail::recording = true; }

Recording take() {
  const std::lock_guard lock(recorder().mutex);
  return std::exchange(recorder().recording, {});
}

void name_thread(std::string name) {
  const int thread = this_thread();
  const std::lock_guard lock(recorder().mutex);
  recorder().recording.thread_names.emplace_back(thread, std::move(name));
}

void Span::begin(std::string_view name, const char* category) {
  name_ = name;
  category_ = category;
  begin_us_ = now_us();
}

void Span::end() noexcept {
  const double duration_us = now_us() - begin_us_;
  try {
    recorder().add({std::move(name_), category_, begin_us_, duration_us, this_thread()});
  } catch (const std::exception&) {
    // Without memory the timeline lacks a span; the work goes on.
  }
}

DeviceSpan::DeviceSpan(Device device, std::string_view name) : device_(device) {
  if (!device.is_cuda() || !is_on()) return;
  device::synchronize(device);
  name_ = name;
  begin_us_ = now_us();
}

void DeviceSpan::end() {
  if (begin_us_ < 0) return;
  device::synchronize(device_);
  const double duration_us = now_us() - begin_us_;
  const int row = first_device + rows_of_device * device_.number() + this_thread();
  auto& all = recorder();
  {
    const std::lock_guard lock(all.mutex);
    if (all.device_rows.insert(row).second)
      all.recording.thread_names.emplace_back(row, "GPU " + std::to_string(device_.number()) +
                                                       ", of thread " + std::to_string(row % rows_of_device));
  }
  all.add({std::move(name_), "device", std::exchange(begin_us_, -1), duration_us, row});
}

}  // namespace fhd::trace
