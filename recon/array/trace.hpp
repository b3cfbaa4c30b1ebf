#pragma once
// A timeline of what was done when, for a viewer: spans with a name, on the thread (or GPU) that did them.
// While nobody records, a span costs one relaxed load.
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recon/array/device.hpp"

namespace fhd::trace {

/// One span. Times in us of the steady clock, which the processes of a machine share.
struct Event {
  std::string name;
  const char* category = "";  ///< "stage", "device", ...
  double begin_us = 0, duration_us = 0;
  /// Thread of the process: threads count from 1 in the order of their first span. Work that thread t gave GPU n has a line of its
  /// own, first_device + rows_of_device n + t: threads do not wait for each other there.
  int thread = 0;
};
constexpr int first_device = 1000000, rows_of_device = 10000;

/// Spans that were recorded, and threads that were named, since the last take().
struct Recording {
  std::vector<Event> events;  ///< in the order in which they ended
  std::vector<std::pair<int, std::string>> thread_names;
  std::int64_t dropped = 0;  ///< beyond most_events
};
constexpr std::size_t most_events = 1000000;

/// Spans that begin from now on are recorded.
void start();
/// Takes out what was recorded; further spans are recorded as before.
Recording take();
/// Names the calling thread in the timeline.
void name_thread(std::string name);

namespace detail {
inline std::atomic<bool> recording{false};
}
inline bool is_on() { return detail::recording.load(std::memory_order_relaxed); }

/// From its construction to its end, on the calling thread.
class Span {
 public:
  explicit Span(std::string_view name, const char* category = "host") {
    if (is_on()) begin(name, category);
  }
  ~Span() {
    if (begin_us_ >= 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(std::string_view name, const char* category);
  void end() noexcept;
  double begin_us_ = -1;  ///< not recorded
  std::string name_;
  const char* category_ = "";
};

/// Measures the work that the thread's default stream of a GPU is given between the construction, which waits for what it
/// was given before, and end(). Pauses in between, in which the device waits for the host, are part of it: it is no
/// measure of how busy its processors were. Nothing for the CPU.
class DeviceSpan {
 public:
  DeviceSpan(Device device, std::string_view name);
  /// Waits for that work. A span that is not ended (an exception passes) is not recorded.
  void end();

 private:
  Device device_;
  std::string name_;
  double begin_us_ = -1;  ///< not recorded
};

}  // namespace fhd::trace
