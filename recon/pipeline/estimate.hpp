#pragma once
// How long a reconstruction takes and how much memory, known before it starts: a walk through its steps with
// the same decisions, in which every operator says what it costs and holds. Multiplied with the rates of a
// machine it is a prediction.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/frame_layout.hpp"
#include "recon/pipeline/machine_rates.hpp"
#include "recon/pipeline/services.hpp"
#include "recon/pipeline/surroundings.hpp"

namespace fhd {

/// What decides the cost of one image. Sizes beyond any machine are as good as others.
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
  FieldFactors told_apart = own_field;        ///< field_told_apart, of this matrix
  bool is_enlarged = false;                   ///< this matrix holds what lies beyond the FOV
  std::optional<bool> calibration_sampled{};  ///< CalibrationRegion::sampled; empty: not known
  /// Of E and of E^H E; 0: not known, they depend on the values of the field map.
  int time_segments = 0, difference_segments = 0;
  std::int64_t central_samples = 0;  ///< on both sides of k-space (partial_fourier.hpp); 0: not known

  double voxels() const { return static_cast<double>(matrix_size[0]) * matrix_size[1] * matrix_size[2]; }
  double image_voxels() const {
    double count = 1;
    for (int axis = 0; axis < 3; ++axis)
      count *= cropped_matrix_size[axis] > 0 ? cropped_matrix_size[axis] : matrix_size[axis];
    return count;
  }
};
ScanSizes sizes_of(const Scan& scan);
/// On the matrix that holds the object (prepare_matrix).
ScanSizes on_larger_matrix(ScanSizes sizes, const std::array<int, 3>& matrix_size);
/// ScanSizes::central_samples where the settings ask for them; else 0. Throws Error where no side of k-space is missing.
std::int64_t central_sample_count(const Scan& scan, const Settings& settings);
/// On the matrix that is reconstructed with these settings: looks beyond the FOV where they do.
ScanSizes sizes_of(const Scan& scan, const Settings& settings);

/// Where and how images are made, as far as it costs something.
struct EstimateSettings {
  Settings settings{};
  Device device{};                      ///< of the reconstruction
  const Verifier* verifier = nullptr;   ///< null: no certificate
  const Settings* companion = nullptr;  ///< of the gridded image made beside it; null: none
  std::int64_t coils_at_once = 0;       ///< 0: all
  std::int64_t images = 1;              ///< alike
  /// They are made one after the other, and wait in memory to be written together; else some are made side by side, and
  /// those that are finished lie in a folder.
  bool images_wait_in_memory = false;
  /// An image is then all frames of a volume, which wait in memory.
  std::optional<FrameSizes> frames{};
  /// Pseudo-replicas of the image for the maps of its noise; 0: exactly; empty: there are none.
  std::optional<std::int64_t> noise_replicas{};
};

/// Arrays that the walk meets: what is held now, and at most together.
class MemoryLedger {
 public:
  struct Item {
    std::string what;
    std::size_t bytes = 0;
  };

  /// Until release(mark()) of a mark taken before. Sizes beyond 2^63 count as that.
  void hold(std::string what, double bytes) {
    if (!(bytes >= 1)) return;
    items_.push_back({std::move(what), static_cast<std::size_t>(std::min(bytes, 0x1p63))});
    held_.push_back(items_.back().bytes);
    now_ = std::min(now_ + static_cast<double>(items_.back().bytes), 0x1p63);
    peak_ = std::max(peak_, now_);
  }
  std::size_t mark() const { return held_.size(); }
  void release(std::size_t mark) {
    for (; held_.size() > mark; held_.pop_back()) now_ -= static_cast<double>(held_.back());
  }
  void hold_briefly(std::string what, double bytes) {
    const auto before = mark();
    hold(std::move(what), bytes);
    release(before);
  }
  /// Held whenever the most is.
  void hold_beside_peak(std::string what, double bytes) {
    if (!(bytes >= 1)) return;
    items_.push_back({std::move(what), static_cast<std::size_t>(bytes)});
    peak_ = std::min(peak_ + bytes, 0x1p63);
  }
  const std::vector<Item>& items() const { return items_; }
  std::size_t peak_bytes() const { return static_cast<std::size_t>(peak_); }

 private:
  std::vector<Item> items_;
  std::vector<std::size_t> held_;
  double now_ = 0, peak_ = 0;
};

/// A search of the strength of a term: iterations of ADMM, of some five or six strengths (strength.cpp), and images beside
/// its solver: two on their way, with duals of so many planes, and what their risk is told by.
inline constexpr double strength_search_iterations = 44;
inline double strength_search_images(double planes) { return 8 + 2 * planes; }

struct EstimatedStage {
  std::string name;  ///< as in Report::stages
  Work work;
  double seconds = 0;    ///< what no unit counts, beside the work
  bool on_host = false;  ///< by the CPU also where a GPU reconstructs
  Work device_work{};    ///< of such a stage, what the GPU does for it
};

struct Estimate {
  std::int64_t coils = 0;  ///< after compression
  CoilDecision coil_decision;
  TransformDecision transform;
  /// Of conjugate gradient: the number that is expected (the Chebyshev bound of the regularised spectrum) and
  /// the limit.
  int iterations = 0, most_iterations = 0;
  double solves = 1;                     ///< systems that are solved one after the other
  std::vector<std::string> assumptions;  ///< one sentence each
  std::vector<EstimatedStage> stages;    ///< in the order of Report::stages
  EstimatedStage between;                ///< copies, sorting of samples
  Work iteration;                        ///< one of conjugate gradient, late
  MemoryLedger host, device;             ///< arrays; on the CPU `device` is empty
};

/// Of frames of a scan with its coils as prepared, and time segments as they are: their arrays on the device.
MemoryLedger frames_memory(const ScanSizes& scan, const FrameSizes& frames, const Settings& settings,
                           Device device);

/// Whether the next image of the same trajectory finds the product of a stage made.
bool is_kept(const std::string& stage, const ScanSizes& scan, const Estimate& made,
             const EstimateSettings& how);

/// Throws Error when the settings ask for what the scan does not have.
Estimate estimate(const ScanSizes& scan, const EstimateSettings& how);

/// The arrays on the device with the most coils at once that fit into `available_bytes`, which `how` is given (0:
/// all of them). Throws DeviceError with the figure needed when not even one coil at a time fits.
MemoryLedger fit_device_memory(const ScanSizes& scan, EstimateSettings& how, std::size_t available_bytes);

struct Prediction {
  std::vector<Stage> stages;
  double other_seconds = 0;       ///< between the stages
  double iterations_seconds = 0;  ///< what the iterations up to the limit take more than the expected ones
  double seconds() const;         ///< all of it, with the expected number of iterations
  double seconds_at_limit() const { return seconds() + iterations_seconds; }
  double once_seconds = 0;  ///< of these, what later images of the same trajectory find made
  std::int64_t images = 1;
  double seconds_of_all() const {
    return seconds() + static_cast<double>(images - 1) * (seconds() - once_seconds);
  }
};
/// `host`: rates of the CPU, for what a GPU leaves to it.
Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host);

}  // namespace fhd
