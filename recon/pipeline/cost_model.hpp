#pragma once
// How long a reconstruction takes, known before it starts: the counts of its steps times the rates of this
// machine. The counts follow the code stage by stage; the rates are measured on small problems with the same
// functions that do the work (measure_rates), because constants of another machine predict nothing here.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recon/pipeline/reconstruct.hpp"
#include "recon/transform/direct/direct_cost.hpp"

namespace fhd {

/// Pairs of voxels and samples up to which `--transform auto` sums directly: about 10 s on two cores with
/// AVX-512, and 10 s on an H100.
inline double affordable_pairs(Device device) { return device.is_cpu() ? 1e12 : 1e13; }

/// In single precision the data residual is predicted with the gridded transform at its best (an error near
/// that of direct sums in single precision, at a small part of their operations), unless E is wanted in every
/// product.
inline bool predicts_by_gridding(const Settings& settings) {
  return settings.precision == Precision::single_precision && settings.normal == NormalKind::toeplitz;
}
inline constexpr double prediction_accuracy = 1e-6;

/// Pairs of samples and voxels that direct sums take for one image: F^H d of every coil, Q on half of the
/// difference grid, and the data residual; both transforms in every iteration where there is no Q. On the CPU
/// those of samples that share positions count as the work that is left of them.
double direct_pairs(const Settings& settings, std::array<int, 3> matrix_size, const SampleCount& samples,
                    std::int64_t coils);

/// What the header of a scan file says about one image of it.
struct ScanSizes {
  std::array<int, 3> matrix_size{1, 1, 1};
  std::int64_t samples = 0, coils = 0;
  std::int64_t samples_x = 0, samples_xy = 0;  ///< of SampleCount; 0: not known
  std::int64_t readout_length = 0;             ///< 0: not known
  std::int64_t noise_samples = 0;              ///< of each coil
  bool has_maps = false, has_field_map = false, has_sample_time = false;
  std::optional<bool> calibration_sampled;  ///< CalibrationRegion::sampled; empty: not known

  double voxels() const;
  SampleCount sample_count() const;
};
ScanSizes sizes_of(const Scan& scan);

/// What the settings make of a scan, as far as its sizes decide it.
struct Workload {
  ScanSizes scan;
  std::int64_t coils = 0;  ///< after compression
  bool whitens = false, compresses = false, estimates_maps = false, uses_maps = false, copies_scan = false;
  TransformKind transform = TransformKind::direct;  ///< not automatic
  double pairs = 0;                                 ///< of voxels and samples, were the sums direct
  std::string transform_reason;                     ///< one sentence
  /// Of E and of E^H E; 0 without off-resonance. They depend on the values of the field map: typical numbers.
  int time_segments = 0, difference_segments = 0;
  /// Of conjugate gradient: the number that is expected and the limit. What a tolerance takes depends on the
  /// trajectory and the data: the expected number is the Chebyshev bound of the regularised spectrum.
  int iterations = 0, most_iterations = 0;
  std::vector<std::string> assumptions;  ///< one sentence each
};
/// Sizes beyond any machine are as good as others: counts are doubles. Throws Error when the settings ask for
/// what the scan does not have.
Workload workload_of(const ScanSizes& scan, const Settings& settings);

/// Rates of one device. Seconds for each unit of work, on a CPU of one thread; [0] in single and [1] in
/// double precision.
struct MachineRates {
  std::array<double, 2> adjoint_pair{}, adjoint_row{};  ///< direct sums: per pair; per image row and sample
  std::array<double, 2> forward_pair{}, forward_row{};
  std::array<double, 2> fft_2d{}, fft_3d{};  ///< per operation of the padded FFTs of the Toeplitz operator
  std::array<double, 2> spread_2d{}, spread_3d{};            ///< per sample and point of the gridding kernel
  std::array<double, 2> interpolate_2d{}, interpolate_3d{};  ///< the same the other way
  std::array<double, 2> projection{};  ///< per element of a kept residual of conjugate gradient
  double sort_sample = 0;              ///< gridding: placing one sample in its tile
  double touched_byte = 0;             ///< memory used for the first time
  double copied_byte = 0;              ///< read and written
  double eigenvalue = 0;               ///< LAPACK, over the cube of the size of the matrix
  double map_voxel = 0;                ///< eigenvector of the coils at a voxel, per pair of coils and term
  double mixed_value = 0;              ///< whitening and compression: per sample and pair of coils
  double transferred_byte = 0;         ///< to or from a GPU; 0 on the CPU
  double region = 0;                   ///< starting and joining the threads, or launching a kernel
  double speedup = 1;                  ///< of all threads over one

  /// For files: every number under its name.
  std::vector<std::pair<std::string, double*>> fields();
};

/// Measured now, in about half a second on the CPU and two on the selected GPU. On the CPU one thread is
/// measured, and how much faster the OpenMP threads of this process are together: the smallest time of
/// several repetitions, so that what else the machine does disturbs little.
MachineRates measure_rates(Device device);
/// Of one H100 (validation/results), for a machine whose GPU is not at hand; what the CPU does there comes
/// from `cpu`.
MachineRates assumed_gpu_rates(const MachineRates& cpu);

struct Prediction {
  Workload workload;
  std::vector<Stage> stages;  ///< with the names and in the order of Report::stages
  double other_seconds = 0;   ///< between the stages: copies, sorting of samples
  double seconds_of_an_iteration = 0;
  double seconds() const;           ///< all of it, with the expected number of iterations
  double seconds_at_limit() const;  ///< with the most iterations that the settings allow
};

/// The prediction for one image. `gridded`: the settings of the gridded image that is made beside it, if one
/// is, for the stage "gridded image"; where these name the CPU and `settings` a GPU, `host` holds the rates
/// of the CPU. Costs microseconds. Throws Error as workload_of.
Prediction predict(const ScanSizes& scan, const Settings& settings, const MachineRates& rates,
                   const Settings* gridded = nullptr, const MachineRates* host = nullptr);

}  // namespace fhd
