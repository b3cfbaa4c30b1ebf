#pragma once
// How long a reconstruction takes and how much memory, known before it starts. estimate.cpp goes through the steps in
// the order of reconstruct.cpp, with the same decisions, and adds up what each operator states of its work and bytes;
// the rates of a machine make seconds of it. Times are right within a factor of two, memory within 25 %.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/machine_rates.hpp"
#include "recon/pipeline/outside_fov.hpp"

namespace fhd {

/// The sizes that decide the cost of one image. Sizes beyond any machine are as good as others.
struct ScanSizes {
  std::array<int, 3> matrix_size{1, 1, 1};
  SampleCount samples;  ///< x == 0: not known how many positions differ
  std::int64_t coils = 0;
  std::int64_t readout_length = 0;                  ///< 0: not known
  std::int64_t noise_samples = 0;                   ///< of each coil
  std::int64_t calibration_samples = 0;             ///< of each coil, of a reference for the maps alone
  std::array<int, 3> cropped_matrix_size{0, 0, 0};  ///< of the image; 0: not cropped on that axis
  bool has_maps = false, has_field_map = false, has_sample_time = false;
  bool in_double = false;                     ///< k-space and maps are held in double too
  FieldFactors resolved = own_field;          ///< resolved_field, of this matrix
  bool is_enlarged = false;                   ///< this matrix holds what lies beyond the FOV
  std::optional<bool> calibration_sampled{};  ///< CalibrationRegion::sampled; empty: not known
  /// Terms of the factors of E and of E^H E; 0: not known, they depend on the values of the field map; none by exact sums.
  int time_segments = 0, difference_segments = 0;
  bool has_fields = false;    ///< phases or decay that no field map describes
  bool sums_exactly = false;  ///< their phases; else decided by their cost
  /// Turns between the slowest and the fastest voxel of the field map from the first sample to the last.
  std::optional<double> field_turns{};

  double voxels() const { return static_cast<double>(matrix_size[0]) * matrix_size[1] * matrix_size[2]; }
};
ScanSizes sizes_of(const Scan& scan);
/// Returns the sizes on the matrix that is reconstructed with these settings; looks beyond the FOV where they ask for it.
/// Throws Error where partial Fourier is asked for and no side of k-space is missing.
ScanSizes sizes_of(const Scan& scan, const Settings& settings);

/// Where and how images are made, as far as it costs something.
struct EstimateSettings {
  Settings settings{};
  Device device{};
  const Verifier* verifier = nullptr;  ///< null: no certificate
  bool companion = false;              ///< the gridded image is made as well
  std::int64_t coils_at_once = 0;      ///< 0: all
  std::int64_t images = 1;             ///< alike
  /// Images are made one after the other, and wait in memory to be written together; else some are made concurrently,
  /// and those that are finished lie in a folder.
  bool images_wait_in_memory = false;
  /// Then an image is all frames of a volume, which wait in memory.
  std::optional<FrameSizes> frames{};
  /// Pseudo-replicas of the image for the maps of its noise; 0: exactly; empty: there are none.
  std::optional<std::int64_t> noise_replicas{};
};

/// Bytes of arrays: of those that are held now, and the most that is held at one time.
class MemoryLedger {
 public:
  /// Adds an array that is held until release(mark()) of a mark taken before.
  void hold(double bytes) { hold_briefly(bytes), now_ += bytes; }
  void hold_briefly(double bytes) { peak_ = std::max(peak_, now_ + bytes); }
  /// Adds an array that is held whenever the most is.
  void hold_at_peak(double bytes) { peak_ += bytes; }
  double mark() const { return now_; }
  void release(double mark) { now_ = mark; }
  std::size_t peak_bytes() const { return whole_bytes(peak_); }

 private:
  double now_ = 0, peak_ = 0;
};

struct EstimatedStage {
  std::string name;    ///< as in Report::stages
  Work work;           ///< of the device
  Work host_work{};    ///< of the CPU, also where a GPU reconstructs
  double seconds = 0;  ///< what no unit counts
};

/// Returns whether the next image of the same trajectory finds the product of a stage made.
inline bool depends_on_trajectory_alone(const std::string& stage) {
  return stage == "Q" || stage == "density compensation" || stage == "transfer function" ||
         stage == "preconditioner";
}

struct Estimate {
  std::int64_t coils = 0;  ///< after compression
  CoilDecision coil_decision;
  TransformDecision transform;
  /// Iterations of the solver: the number that is expected, and the limit.
  int iterations = 0, most_iterations = 0;
  double solves = 1;                     ///< systems that are solved one after the other
  std::vector<std::string> assumptions;  ///< one sentence each
  std::vector<EstimatedStage> stages;    ///< in the order of Report::stages
  EstimatedStage between;                ///< copies, sorting of samples, first touch of memory
  Work iteration;                        ///< one of the solver, late
  MemoryLedger host, device;             ///< on the CPU `device` is empty
};

/// Returns the iterations of the solver without a limit.
int expected_iterations(const LeastSquares& method, bool has_fields, double samples_per_unknown);
/// Adds up all steps. Throws Error when the settings ask for what the scan does not have.
Estimate estimate(const ScanSizes& scan, const EstimateSettings& how);

/// Returns the bytes of arrays on the device with the most coils at once that fit into `available_bytes`, and sets
/// how.coils_at_once to them (0: all of them). Throws DeviceError with the figure needed when not even one coil at a
/// time fits.
std::size_t fit_device_memory(const ScanSizes& scan, EstimateSettings& how, std::size_t available_bytes);

struct Prediction {
  std::vector<Stage> stages;
  double other_seconds = 0;       ///< between the stages
  double iterations_seconds = 0;  ///< what the iterations up to the limit take more than the expected ones
  double once_seconds = 0;        ///< what later images of the same trajectory find made
  std::int64_t images = 1;
  /// Returns the seconds of one image with the expected number of iterations.
  double seconds() const;
  double seconds_at_limit() const { return seconds() + iterations_seconds; }
  double seconds_of_all() const {
    return seconds() + static_cast<double>(images - 1) * (seconds() - once_seconds);
  }
};
/// Multiplies an estimate with the rates. `host`: rates of the CPU, for what a GPU leaves to it.
Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host);

}  // namespace fhd
