#include "recon/array/trace.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <set>

namespace fhd::trace {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A moment that both clocks know: that of the host, and that of a device.
struct Reference {
  double host_us = 0;
  std::shared_ptr<void> event;
};

struct Recorder {
  std::mutex mutex;
  Recording recording;
  std::map<int, Reference> references;  ///< by the number of the device
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

int row_of(Device device) { return first_device + rows_of_device * device.number() + this_thread(); }

}  // namespace

void start() { detail::recording = true; }

Recording take() {
  auto& all = recorder();
  const std::lock_guard lock(all.mutex);
  Recording taken;
  taken.thread_names = all.recording.thread_names;
  std::swap(taken, all.recording);
  return taken;
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
  if constexpr (built_with_cuda) {
    if (!device.is_cuda() || !is_on()) return;
    const CurrentDevice current(device);
    const int row = row_of(device);
    auto& all = recorder();
    const std::lock_guard lock(all.mutex);
    auto& reference = all.references[device.number()];
    if (!reference.event) {
      const auto event = std::make_shared<device::Event>(device::Event::Timing::on);
      device::synchronize(device);
      event->record();
      event->synchronize();
      reference = {now_us(), event};
    }
    if (all.device_rows.insert(row).second)
      all.recording.thread_names.emplace_back(row, "GPU " + std::to_string(device.number()) + ", of thread " +
                                                       std::to_string(row % rows_of_device));
    name_ = name;
    const auto begin = std::make_shared<device::Event>(device::Event::Timing::on);
    begin->record();
    begin_ = begin;
  }
}

void DeviceSpan::end() {
  if constexpr (built_with_cuda) {
    if (!begin_) return;
    const CurrentDevice current(device_);
    device::Event end(device::Event::Timing::on);
    end.record();
    const auto& begin = *static_cast<const device::Event*>(begin_.get());
    Reference reference;
    {
      const std::lock_guard lock(recorder().mutex);
      reference = recorder().references[device_.number()];
    }
    const double duration_us = 1e3 * end.ms_since(begin);
    const double begin_us =
        reference.host_us + 1e3 * begin.ms_since(*static_cast<const device::Event*>(reference.event.get()));
    begin_.reset();
    recorder().add({std::move(name_), "device", begin_us, duration_us, row_of(device_)});
  }
}

}  // namespace fhd::trace
