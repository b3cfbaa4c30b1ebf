#pragma once
// The walk of estimate.hpp through the steps of a reconstruction: estimate.cpp, and estimate_solvers.cpp for least squares.
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "recon/coils/maps.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Bytes of the program, its libraries and what the allocator keeps, measured on scans of a few kilobytes.
inline constexpr double mebibyte = 1 << 20, program_bytes = 26 * mebibyte;
/// Iterations of ADMM in a search of the strength of a term: some five or six strengths (strength.cpp).
inline constexpr double strength_search_iterations = 44;

inline Work copied(double bytes) { return {WorkUnit::byte, bytes}; }
inline Work regions(double count) { return {WorkUnit::region, count}; }
/// Returns the bytes of a complex number of the scan: in single precision, and in double as well.
inline double held_bytes(bool in_double) { return in_double ? 24 : 8; }

/// Goes through the steps of reconstruct.cpp in their order, one function each.
class Walk {
 public:
  Walk(const ScanSizes& scan, const EstimateSettings& how, bool is_part = false)
      : scan_(scan), how_(how), is_part_(is_part) {
    if (scan_.samples.x == 0) scan_.samples.x = scan_.samples.xy = scan_.samples.all;
  }

  Estimate operator()() {
    read();
    look_beyond_fov();
    prepare();
    decide();
    const auto* method = least_squares(how_.settings);
    if (method && method->partial_fourier == PartialFourier::phase) find_phase();
    take_measurements();
    if (method && how_.frames)
      solve_frames(*method);
    else if (method)
      solve(*method);
    else
      make_conventional_image();
    if (gpu_) stage("copy from the device", {WorkUnit::transferred_byte, image_});
    if (!how_.frames && how_.companion != nullptr) companion();
    if (how_.noise_replicas) map_noise(*how_.noise_replicas);
    if (helped_bytes_ > 0)
      out_.assumptions.push_back(
          "finding maps, and looking beyond the field of view, take up to " + mebibytes(helped_bytes_) +
          " of GPU memory before all other arrays; the CPU does it where less is free");
    const double arrays = out_.host.peak_bytes() - program_bytes;
    if (!is_part_) out_.host.hold_at_peak(further_images(arrays));
    if (!gpu_) out_.between.work += copied(arrays);  // the first touch
    return std::move(out_);
  }

  /// Frames, or components of a subspace, that are one unknown of the solver, and the products of operators of one
  /// image that E^H E of all is.
  double images_together = 1, products_together = 1;
  double frames_per_unknown = 1;  ///< that one frame's samples stand for

 private:
  void stage(std::string name, const Work& work) { out_.stages.push_back({std::move(name), work}); }
  void host_stage(std::string name, const Work& work, double seconds = 0) {
    out_.stages.push_back({std::move(name), {}, work, seconds});
  }
  /// Adds what the CPU does with the help of a GPU that has the memory.
  void helped_stage(std::string name, const MapsCost& cost) {
    out_.stages.push_back({std::move(name), cost.device_work, cost.work});
    helped_bytes_ = std::max(helped_bytes_, cost.device_bytes);
  }
  MemoryLedger& arrays() { return gpu_ ? out_.device : out_.host; }
  TransformSizes transform_sizes() const {
    return {scan_.matrix_size, scan_.samples, how_.settings.precision, device_};
  }
  double coils() const { return out_.coils; }
  /// Returns the coils that are solved together.
  std::int64_t channels() const { return out_.coil_decision.uses_maps() ? out_.coils : 1; }
  std::int64_t together() const {
    return how_.coils_at_once == 0 ? channels() : std::min(channels(), how_.coils_at_once);
  }
  double values() const { return samples_ * channels() * element_; }
  double unknowns() const { return images_together * voxels_; }
  /// Returns the vector operations of an iteration with `kept` earlier residuals.
  Work vectors(double kept) const { return copied((8 * kept + 6 * element_) * unknowns()) + regions(10); }
  void copy_to_device() {
    if (gpu_)
      stage("copy to the device",
            {WorkUnit::transferred_byte,
             (samples_ + (out_.coil_decision.uses_maps() ? voxels_ : 0)) * coils() * element_});
  }

  double further_images(double arrays) const;

  void read() {
    const double sample = scan_.coils * held_bytes(scan_.in_double);
    out_.host.hold(program_bytes + samples_ * (sample + 24) + (scan_.has_maps ? voxels_ * sample : 0) +
                   scan_.calibration_samples * (sample + 24) + scan_.noise_samples * scan_.coils * 8 +
                   (scan_.has_field_map ? voxels_ * 4 : 0) + (scan_.has_sample_time ? samples_ * 8 : 0));
    out_.host.hold_briefly(samples_ * 24);  // positions in the order of the file
  }

  void look_beyond_fov() {
    if (!looks_beyond_fov(how_.settings) || scan_.told_apart == own_field) return;
    const MapsCost look =
        look_cost(scan_.matrix_size, scan_.told_apart, scan_.samples.all, scan_.coils, device_);
    out_.host.hold_briefly(look.scratch_bytes);
    helped_stage("surroundings", look);
    if (scan_.is_enlarged) out_.host.hold(samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24));
  }

  void prepare();

  double samples_per_unknown(const LeastSquares& method) const {
    if (!how_.frames) return frames_per_unknown * samples_ / voxels_;
    const std::int64_t components = component_count(method, how_.frames->frames);
    const double frames = how_.frames->frames, unknowns = components > 0 ? components : frames;
    return frames / unknowns * how_.frames->samples_per_frame / voxels_;
  }

  void decide();
  void take_measurements();
  void make_conventional_image();
  void companion();
  void solve(const LeastSquares& method);
  Work model(const LeastSquares& method, const TransformCost& transform);
  Work segmented_model(const LeastSquares& method, const TransformCost& transform,
                       const OperatorCost& toeplitz);
  void iterate(const LeastSquares& method, const TransformCost& transform, const Work& normal);
  void run_conjugate_gradient(const LeastSquares& method, const Work& normal);
  void run_admm(const LeastSquares& method, const Work& normal);
  void predict_samples(const TransformCost& transform);

  void verify(bool solved) {
    if (how_.verifier == nullptr) return;
    const double of_image = solved ? values() : samples_ * coils() * element_;
    if (solved) out_.host.hold(of_image + 2 * image_);
    host_stage("certificate", copied(2 * of_image + 5 * image_));
  }

  void judge();
  ScanSizes prepared_sizes() const;

  Settings settings_as_prepared() const {
    Settings settings = how_.settings;
    settings.coils = CoilSettings::as_they_are();
    settings.coils.maps = out_.coil_decision.uses_maps() ? CoilMaps::file : CoilMaps::none;
    settings.surroundings = Surroundings::off;
    return settings;
  }

  void add_stage_of(std::string name, const Estimate& made);
  void find_phase();
  void map_noise(std::int64_t replicas);
  void find_temporal_basis(const LeastSquares& method);
  void solve_frames(const LeastSquares& method);

  ScanSizes scan_;
  const EstimateSettings& how_;
  bool is_part_;
  Device device_ = device_for(how_.settings, how_.device);
  bool gpu_ = device_.is_cuda();
  double element_ = static_cast<double>(bytes_of_complex(how_.settings.precision)), voxels_ = scan_.voxels(),
         image_ = voxels_ * element_, samples_ = scan_.samples.all;
  int segments_ = 0, differences_ = 0;
  std::size_t helped_bytes_ = 0;  ///< on a GPU, before the arrays of the walk
  double kept_ = 0;               ///< mark of what is kept after the solution
  bool prepared_in_double_ = scan_.in_double;
  TransformSettings transform_{};
  Estimate out_;
};

}  // namespace fhd
