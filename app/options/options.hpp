#pragma once
// The options that several commands share: how to reconstruct and where, what a scan file leaves
// out, which of its volumes.
#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/array/device.hpp"
#include "recon/array/device_team.hpp"
#include "recon/array/memory.hpp"
#include "recon/domain/settings.hpp"
#include "recon/domain/trajectory_cache.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

struct RegularizerOption;

/// Gradient delays that a scan does not state (recon/trajectory/gradient_delays.hpp): left alone, found in it, or given.
struct TrajectoryCorrection {
  enum class Kind { off, automatic, given } kind = Kind::off;
  std::array<double, 3> delay_samples{};  ///< where given
  std::string girf;  ///< file of the gradients' impulse responses, applied before; empty: none
};

/// How to reconstruct.
class ReconOptions {
 public:
  /// Adds the options to a command. The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Replaces the default of --tolerance; before add_to.
  void set_default_tolerance(double tolerance) { least_squares_.tolerance = tolerance; }
  bool threads_are_given() const { return threads_ > 0; }
  /// Replaces the default of --cache, "off"; before add_to.
  void set_default_cache(std::string cache) { cache_ = std::move(cache); }
  /// The settings asked for; sets the number of threads. Throws Error on contradictory options.
  Settings settings() const;
  /// Null: off.
  std::shared_ptr<TrajectoryCache> trajectory_cache() const;
  /// What --trajectory-correction and --girf ask for.
  TrajectoryCorrection trajectory_correction() const;

 private:
  void add_trajectory_correction(CLI::App& app);
  bool given(const char* flag) const;
  void refuse(const char* flag, const std::string& without) const;
  void refuse_contradictions(const Settings& settings) const;
  Regularizer regularizer(const RegularizerOption& option) const;
  LambdaChoice lambda(const RegularizerOption& option) const;
  CoilSettings coils() const;

  CLI::App* app_ = nullptr;
  LeastSquares least_squares_;  ///< its numbers
  double prior_strength_ = 1;
  std::string method_ = "cg", transform_ = "auto", normal_ = "toeplitz", preconditioner_ = "auto",
              regularizer_ = "identity", precision_ = "single", coils_ = "auto", whiten_ = "auto",
              compress_ = "auto", map_sets_ = "1";
  std::string gpu_sums_ = "auto", prior_, lambda_, cache_ = "off";
  std::string surroundings_ = "auto", trajectory_correction_ = "off", girf_, partial_fourier_ = "off";
  bool allow_folding_ = false;
  int threads_ = 0;
};

/// Where a command computes.
struct ChosenDevice {
  Device device = Device::cpu();
  bool automatic = false;    ///< the user left the choice: a GPU that fails gives way to the CPU
  std::string text = "CPU";  ///< "GPU 0: NVIDIA H100 80GB HBM3, ...", "CPU, because no NVIDIA driver is ..."
  device::Description description;  ///< of the GPU

  /// For the report: those of host_environment, and the device.
  std::vector<std::pair<std::string, std::string>> environment() const;
};
/// The same of devices that work side by side: "GPU 0, 1: 2 x NVIDIA H200, ...", and for the report.
std::string text_of(const std::vector<ChosenDevice>& devices);
std::vector<std::pair<std::string, std::string>> environment_of(const std::vector<ChosenDevice>& devices);
/// To share a scan. Throws Error where they are not of one kind.
std::shared_ptr<const DeviceTeam> team_of(const std::vector<ChosenDevice>& devices);
/// "cuda:0,2" -> {0, 2}; empty where it is nothing of that kind, or a number comes twice.
std::vector<int> gpu_numbers_of(const std::string& text);
/// The processor, threads and instruction set in use, and a quota that bounds them: name, value.
std::vector<std::pair<std::string, std::string>> host_environment();

/// How much of a GPU's memory is used at most: a number of bytes, or a share of what the GPU has.
struct DeviceMemory {
  double bytes = 0, share = 0;  ///< > 0: which of the two it is; neither: all of it
  /// On a GPU with `memory_bytes`; 0: no limit.
  std::size_t limit_bytes(std::size_t memory_bytes) const;
};
/// "8GiB", "500 MiB", "8GB", "0.5TiB", "50%". Throws Error naming --device-memory.
DeviceMemory parse_device_memory(const std::string& text);

/// --device: where to compute.
class DeviceOption {
 public:
  /// Adds --device, --device-memory and, hidden, --device-memory-mib. The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Starts the GPU asked for. Throws Error when it cannot be had and the user did not leave the choice.
  /// `preferred`: where the user does not name one of several GPUs, the one of this number modulo their
  /// count. Throws Error where several are asked for.
  ChosenDevice choose(int preferred = 0) const;
  /// The same, of one device or of all that are asked for, which start side by side.
  std::vector<ChosenDevice> choose_all(int preferred = 0) const;
  /// Whether several may be asked for: cuda:all, cuda:0,2.
  bool names_several() const;
  /// Where the user left the choice it is the CPU: the work is small.
  void leave_gpu_alone() { leaves_gpu_alone_ = true; }
  const std::string& text() const { return device_; }

 private:
  std::string device_ = "auto";
  DeviceMemory memory_;
  bool leaves_gpu_alone_ = false;
};

/// Devices that are started, and their FFTs opened, beside other work.
class DevicesInBackground {
 public:
  DevicesInBackground(const DeviceOption& option, int preferred);
  /// As DeviceOption::choose_all. Any thread may ask.
  const std::vector<ChosenDevice>& get() const { return chosen_.get(); }

 private:
  std::promise<std::vector<ChosenDevice>> promise_;
  std::shared_future<std::vector<ChosenDevice>> chosen_;
  std::future<void> done_;  ///< its end waits for the thread
};

/// The value of an option as it is recorded: of a file, or of a BART pair by its bare name, with its checksum.
std::string with_content(const std::string& value);

/// Says on standard error, in one line, that the CPU goes on where the GPU failed.
void print_fallback(const std::string& reason);

/// Adds --matrix, --fov-mm, --trajectory-unit, --zeros and --group, by which a user tells what a scan file leaves out,
/// and --trajectory, --maps, --noise, --field-map and --field-map-unit, pieces from files of their own.
/// `options` must outlive the parse; its zeros_are_measured is the default of --zeros. `finds_field_maps`: whether
/// --field-map takes auto and off, too (app/run/echo_field_map.hpp).
void add_read_options(CLI::App& app, io::ReadOptions& options, bool finds_field_maps = false);
/// "64" -> {64, 64, 1}; "64,48" -> {64, 48, 1}; "64,64,16" or "64x64x16". Throws Error naming --matrix.
std::array<int, 3> parse_matrix_size(const std::string& text);
/// "220" -> {220, 220, 0}; "220,180,5" or "220x180x5", in mm; 0 where not given. Throws Error naming --fov-mm.
std::array<double, 3> parse_fov_mm(const std::string& text);
/// "0.5,0.2" -> {0.5, 0.2, 0}, delays of the gradients in samples. Throws Error naming `option`.
std::array<double, 3> parse_delays(const std::string& text, const std::string& option);
/// "2.3,6.9" in ms -> s. Throws Error naming --echo-times.
std::vector<double> parse_echo_times(const std::string& text);
/// The whole text as a number; false when it is none.
bool parse_number(const std::string& text, double& number);

/// Adds --compression, the level of NIfTI and PNG files, 0 ... 9. `level` must outlive the parse.
void add_compression_option(CLI::App& app, std::optional<int>& level);

/// --slices and --repetitions: which volumes of a scan.
struct VolumeSelection {
  std::string slices = "all", repetitions = "all";
  /// The object must outlive the parse.
  void add_to(CLI::App& app);
};
/// "0-3,7" -> {0, 1, 2, 3, 7}; "all" -> 0 ... count-1. Throws Error naming `option` when an index is not
/// below `count` or comes twice.
std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option);
/// How many these are: of all without a list of them.
std::int64_t selected_count(const std::string& text, std::int64_t count, const std::string& option);

}  // namespace fhd::app
