#pragma once
// The arguments that every step of a reconstruction has in addition to its values, and the log of what it does.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "recon/array/execution.hpp"
#include "recon/array/trace.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/services.hpp"

namespace fhd {

/// Stages with their times, notes, settings and progress.
class RunLog {
 public:
  RunLog(Device device, ProgressCallback progress) : device_(device), progress_(std::move(progress)) {}

  Report report;
  DiagnosticImages diagnostic_images;

  /// Does the work and adds its time to the stage of that name; a span of the timeline, and of the GPU's.
  template <class Work>
  void stage(const std::string& name, const Work& work) {
    if (progress_) progress_({name, 0, 1, -1});
    const trace::Span span(name, "stage");
    trace::DeviceSpan device_span(device_, name);
    const auto begin = Clock::now();
    work();
    device_span.end();
    device::synchronize(device_);
    const double seconds = since(begin);
    Stage& stage = stage_of(name);
    stage.seconds += seconds;
    stage.spans.push_back({std::chrono::duration<double>(begin - begin_).count(), seconds});
    if (progress_) progress_({name, 1, 1, -1});
  }
  /// Returns the stage of that name; adds it where there is none yet.
  Stage& stage_of(const std::string& name) {
    const auto known = std::find_if(report.stages.begin(), report.stages.end(),
                                    [&](const Stage& s) { return s.name == name; });
    return known != report.stages.end() ? *known : report.stages.emplace_back(Stage{name});
  }
  /// Adds a message to the report, unless it is there already.
  void add(Message message) { add_once(report.messages, std::move(message)); }
  void note(std::string code, std::string text) {
    add({std::move(code), Severity::note, std::move(text)});
  }
  void setting(std::string name, std::string value) {
    report.settings.emplace_back(std::move(name), std::move(value));
  }
  /// Records that a product of the trajectory is used: a hit if it was there before this reconstruction.
  void use_product(const std::string& name, bool was_there) {
    if (products_.insert(name).second && was_there) ++report.trajectory_hits;
  }
  const ProgressCallback& progress() const { return progress_; }
  double elapsed_s() const { return since(begin_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Device device_;
  ProgressCallback progress_;
  Clock::time_point begin_ = Clock::now();
  std::set<std::string> products_;  ///< used so far
};

/// Returns work(device), or work(CPU) if the device is a GPU with too little memory: for steps before those that are
/// planned to fit. The note begins with `what`, a sentence without its end: "the maps are found".
template <class Work>
auto on_device_or_cpu(Device device, RunLog& log, const std::string& what, const Work& work) {
  try {
    return work(device);
  } catch (const DeviceError& error) {
    if (device.is_cpu()) throw;
    log.note("device", what + " on the CPU: " + error.what());
    return work(Device::cpu());
  }
}

struct Context {
  const Settings& settings;
  const Execution& execution;
  const Services& services;
  RunLog& log;

  Device device() const { return execution.device; }
  const ProcessGroup& processes() const { return *execution.processes; }
};

}  // namespace fhd
