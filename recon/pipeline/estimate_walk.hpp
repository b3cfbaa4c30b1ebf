#pragma once
// The walk of estimate.hpp through the steps: the files that stand beside this one have a part of it each.
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "recon/coils/maps.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

inline Work copied(double bytes) { return {WorkUnit::copied_byte, bytes}; }
inline Work touched(double bytes) { return {WorkUnit::touched_byte, bytes}; }
inline Work regions(double count) { return {WorkUnit::region, count}; }

/// The walk: one function for each step of reconstruct.cpp, in its order.
class Walk {
 public:
  Walk(const ScanSizes& scan, const EstimateSettings& how, bool is_companion = false)
      : scan_(scan), how_(how), is_companion_(is_companion) {
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
    stage("copy from the device", {WorkUnit::transferred_byte, gpu_ ? voxels_ * element_ : 0});
    if (!how_.frames) companion();
    if (how_.noise_replicas) map_noise(*how_.noise_replicas);
    if (helped_bytes_ > 0)
      out_.assumptions.push_back(
          "finding maps, and looking beyond the field of view, take up to " + mebibytes(helped_bytes_) +
          " of GPU memory before all other arrays; the CPU does it where less is free");
    const double arrays = out_.host.peak_bytes() - program_bytes;
    // Smaller arrays stay with the C library between others in use: 2 ... 12 % of those of 2D scans, at most.
    if (!is_companion_) out_.host.hold_beside_peak("further images", further_images(arrays));
    if (!gpu_ && !is_companion_)
      out_.host.hold_beside_peak("freed, and kept by the C library", std::min(0.1 * arrays, 8 * mebibyte));
    // The libraries that write the results take this after the arrays are gone.
    constexpr double writing = 7 * mebibyte;
    if (!is_companion_ && arrays < writing)
      out_.host.hold_beside_peak("libraries that write the results", writing - arrays);
    return std::move(out_);
  }

 private:
  static constexpr double mebibyte = 1 << 20, program_bytes = 20 * mebibyte;

  /// Of a complex number of the scan: in single precision, and in double beside it.
  static double held_bytes(bool in_double) { return in_double ? 24 : 8; }
  /// What a stage takes when it takes anything.
  void stage(std::string name, const Work& work, double seconds = 0, bool on_host = false) {
    const bool transfers = name.starts_with("copy ");
    if (!transfers || gpu_) out_.stages.push_back({std::move(name), work, seconds, on_host});
  }
  /// What the CPU does with the help of a GPU that has the memory.
  void helped_stage(std::string name, const MapsCost& cost) {
    stage(std::move(name), cost.work, 0, true);
    out_.stages.back().device_work = cost.device_work;
    helped_bytes_ = std::max(helped_bytes_, cost.device_bytes);
  }
  MemoryLedger& arrays() { return gpu_ ? out_.device : out_.host; }
  TransformSizes transform_sizes() const {
    return {scan_.matrix_size, scan_.samples, how_.settings.precision, device_};
  }
  double coils() const { return out_.coils; }
  /// Of further images: those that are made side by side, each with arrays of its own, and volumes that are read
  /// before their turn. What is finished lies in a folder.
  double further_images(double arrays) const {
    // Themselves (the first is part of the walk), twice their file, and, measured on 64, as much again, freed.
    const double held = how_.settings.precision == Precision::double_precision ? 24 : 8,
                 images = static_cast<double>(how_.images) *
                          (how_.frames ? static_cast<double>(how_.frames->frames) : 1);
    if (how_.images_wait_in_memory || how_.frames)
      return (images - 1) * scan_.image_voxels() * held * (how_.companion != nullptr ? 2 : 1) * 4;
    const double volume = samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24);
    const auto side_by_side = volumes_side_by_side(device_, how_.images, static_cast<std::int64_t>(voxels_),
                                                   static_cast<std::int64_t>(threads_));
    // The picture: at most 64 slices, magnitudes (twice while the white is sought), 256 x 256 pixels, encoded.
    const double panels = std::min(64.0, static_cast<double>(how_.images) * scan_.matrix_size[2]),
                 magnitudes = 4.0 * scan_.matrix_size[0] * scan_.matrix_size[1],
                 panel = std::max(2 * magnitudes, magnitudes + 2 * 65536.0);
    return static_cast<double>(side_by_side - 1) * arrays + (how_.images > 1 ? panels * panel : 0) +
           static_cast<double>(std::min<std::int64_t>(how_.images - 1, 10)) * volume;
  }
  void copy_to_device() {
    const double values = (samples_ + (out_.coil_decision.uses_maps() ? voxels_ : 0)) * coils();
    stage("copy to the device", {WorkUnit::transferred_byte, values * element_});
  }
  /// Solved together.
  std::int64_t channels() const { return out_.coil_decision.uses_maps() ? out_.coils : 1; }
  std::int64_t together() const {
    return how_.coils_at_once == 0 ? channels() : std::min(channels(), how_.coils_at_once);
  }

  void read();
  void look_beyond_fov();
  void prepare();
  void decide();
  void take_measurements();
  void make_conventional_image();
  void solve(const LeastSquares& method);
  Work model(const LeastSquares& method, const TransformCost& transform);
  Work segmented_model(const LeastSquares& method, const TransformCost& transform,
                       const OperatorCost& toeplitz);
  void iterate(const LeastSquares& method, const TransformCost& transform, const Work& normal);
  void run_conjugate_gradient(const LeastSquares& method, const Work& normal);
  void run_admm(const LeastSquares& method, const Work& normal);
  void predict_samples(const TransformCost& transform);
  void verify(bool solved);
  void judge();
  void companion();
  void share_companion();
  void find_phase();
  void map_noise(std::int64_t replicas);
  void find_temporal_basis(const LeastSquares& method);
  void solve_frames(const LeastSquares& method);
  /// Sizes and settings of the scan with its coils as prepared.
  ScanSizes prepared_sizes() const;
  Settings settings_as_prepared() const;
  /// Of the images that are sought at once.
  double unknowns() const { return images_together_ * voxels_; }
  /// Of a coil.
  double samples_per_unknown(const LeastSquares& method) const;
  /// Vector operations of an iteration with `kept` earlier residuals.
  Work vectors(double kept) const {
    return Work(WorkUnit::projection, unknowns() * kept, how_.settings.precision) +
           copied(6 * unknowns() * element_) + regions(10);
  }

  ScanSizes scan_;
  const EstimateSettings& how_;
  bool is_companion_;
  Device device_ = device_for(how_.settings, how_.device);
  bool gpu_ = device_.is_cuda();
  double element_ = bytes_of_complex(how_.settings.precision), voxels_ = scan_.voxels(),
         samples_ = scan_.samples.all, threads_ = std::max(1, omp_get_max_threads());
  /// Frames, or components of a subspace, that are one unknown of the solver, and the products of operators of one
  /// image that E^H E of all is.
  double images_together_ = 1, products_together_ = 1;
  double frames_per_unknown_ = 1;  ///< that one frame's samples stand for
  int segments_ = 0, differences_ = 0;
  std::size_t helped_bytes_ = 0;  ///< on a GPU, before the arrays of the walk
  std::size_t kept_ = 0;          ///< mark of what is kept after the solution
  bool prepared_in_double_ = scan_.in_double;
  TransformSettings transform_{};
  Estimate out_;
};

}  // namespace fhd
