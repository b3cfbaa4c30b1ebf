#pragma once
// The arguments that every step of a reconstruction has in addition to its values, and the log of what it does.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "recon/array/execution.hpp"
#include "recon/array/trace.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/settings.hpp"
#include "recon/domain/trajectory_cache.hpp"

namespace fhd {

struct Scan;

// Services for a reconstruction that change nothing in its image: a cache, a second image, and a check that shares no
// code with it (validation/certificate).

/// Quantities of a reconstruction for its verifier: host arrays, borrowed for the duration of a call. The linear system is
/// that of one image:
///
///     E = F S,    samples d,    (E^H E + lambda W^H W) rho = E^H d.
///
/// Results of the operators (T) belong to samples and maps multiplied by sample_scale and map_scale, powers
/// of two. Empty arrays: the method has no such quantity.
template <class T>
struct VerifierInput {
  const Trajectory& trajectory;
  std::array<int, 3> matrix_size;
  const Complex<float>* samples;  ///< [coil][sample]
  double sample_scale = 1;
  const Complex<float>* maps;  ///< [coil][z][y][x]; null: ones
  double map_scale = 1;
  /// Samples and maps before they were rounded to single precision; null where that is all there is.
  const Complex<double>*samples_in_double = nullptr, *maps_in_double = nullptr;
  /// A second set of maps, each with an image of its own: images are then [set and z][y][x]; null: one set.
  const Complex<float>* second_maps = nullptr;
  std::int64_t coil_count = 1;
  const Array<float>* field_map = nullptr;       ///< rad/s, [z][y][x]; null where it is not part of E
  const Array<double>* sample_time_s = nullptr;  ///< s, [sample]
  const Scan* full_equation = nullptr;           ///< with the fields and the decay of E; null: there are none
  const Array<double>* weights = nullptr;        ///< [sample], that multiply the samples of E^H d; null: 1

  Array<Complex<T>> image{};        ///< rho, [z][y][x]
  Array<Complex<T>> predicted{};    ///< E rho, [coil][sample]
  Array<Complex<T>> adjoint{};      ///< E^H d, [z][y][x]
  Array<Complex<T>> normal{};       ///< E^H E rho as the solver applies it, [z][y][x]
  Array<Complex<T>> regularized{};  ///< (E^H E + lambda W^H W) rho, [z][y][x]
  double solver_residual = -1;      ///< |E^H d - (E^H E + lambda W^H W) rho| / |E^H d| as the solver says
  double requested = 0;             ///< relative error that the transforms promise
  int iterations = 0;               ///< of the solver
  /// Noise without signal, [coil][sample] of the coils as used, in the unit of `samples`; null where there is none.
  const Array<Complex<float>>* noise = nullptr;
  /// E of another image [z][y][x] with the maps and the field map, as `predicted`, to about 1e-3. Empty where
  /// several processes share the samples.
  std::function<Array<Complex<T>>(const Array<Complex<T>>&)> encode{};
};

/// The sizes that decide how long a verifier takes.
struct VerifierSizes {
  double samples = 0, voxels = 0, coils = 1;
  bool solved = false;  ///< there is a system, and not F^H d alone
  double threads = 1;   ///< how many times faster than one thread
};

/// Holds what a verifier keeps of a volume, for others with the same E.
struct JudgedVolume {
  virtual ~JudgedVolume() = default;
};

/// Judges a reconstruction from its input.
class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual Certificate verify(const VerifierInput<float>& input) const = 0;
  virtual Certificate verify(const VerifierInput<double>& input) const = 0;
  using Kept = std::shared_ptr<const JudgedVolume>;
  /// Checks volumes with one E, without off-resonance. `kept`: what is checked and computed once for E; made with the first of
  /// these where it is null.
  virtual std::vector<Certificate> verify(const std::vector<VerifierInput<float>>&, Kept&) const {
    return {};
  }
  virtual std::vector<Certificate> verify(const std::vector<VerifierInput<double>>&, Kept&) const {
    return {};
  }
  /// Judges the data rather than the operators, of volumes with one E, beside a volume judged before; without one beside the
  /// first of these, and keeps it. Empty where it is not asked.
  virtual std::vector<Verdict> judge(const std::vector<VerifierInput<float>>&, Kept&) const { return {}; }
  virtual std::vector<Verdict> judge(const std::vector<VerifierInput<double>>&, Kept&) const { return {}; }
  virtual double expected_seconds(const VerifierSizes&) const { return 0; }
};

/// Results of the first volume of a series, which the checks of the others use.
struct KeptOfSeries {
  Verifier::Kept checked, judged;
};

struct Services {
  /// Null: what depends on the trajectory lives as long as the Reconstructor.
  std::shared_ptr<TrajectoryCache> trajectory_cache{};
  std::shared_ptr<const Verifier> verifier{};  ///< null: results carry no certificate
  /// Accuracy of the gridded image that least squares makes as well (Reconstruction::gridded), with the samples, maps
  /// and transforms that are there; empty: none.
  std::optional<double> gridded_accuracy{};
};

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
  void note(std::string code, std::string text) { add({std::move(code), Severity::note, std::move(text)}); }
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
  KeptOfSeries* kept = nullptr;  ///< from call to call; null: a volume is by itself

  Device device() const { return execution.device; }
  const ProcessGroup& processes() const { return *execution.processes; }
};

}  // namespace fhd
