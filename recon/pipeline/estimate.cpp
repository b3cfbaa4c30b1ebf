#include "recon/pipeline/estimate.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "recon/coils/calibration.hpp"
#include "recon/coils/maps.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

Work copied(double bytes) { return {WorkUnit::copied_byte, bytes}; }
Work touched(double bytes) { return {WorkUnit::touched_byte, bytes}; }
Work regions(double count) { return {WorkUnit::region, count}; }

/// Iterations that bring the residual of a spectrum between lambda and `largest` + lambda down to the
/// tolerance: half of sqrt(condition) ln(2 / tolerance). Source: Shewchuk (1994), 9.
int chebyshev_iterations(double largest_over_lambda, double tolerance) {
  const double most = std::sqrt(1 + largest_over_lambda) * std::log(2 / tolerance) / 2;
  return static_cast<int>(std::min(1e9, std::ceil(most)));
}

/// Of the solver, without a limit.
int expected_iterations(const LeastSquares& method, bool corrects_off_resonance) {
  const double tolerance = std::max(method.tolerance, 1e-8);
  if (decide_solver(method) ==
      SolverKind::admm)  // 12 ... 37, and some twice as many to a fifth of the tolerance, as measured
    return static_cast<int>(std::ceil(25 * std::sqrt(sparse_tolerance / tolerance)));
  // Of the mean eigenvalue: the bulk of the spectrum lies below some twice the mean.
  double ratio = 2 / OfMeanEigenvalue{}.share;
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda))
    ratio = of_largest->share > 0 ? 1 / of_largest->share : 1e6;
  if (uses_preconditioner(method, corrects_off_resonance)) ratio /= 6;  // 10 iterations for 30, as measured
  return chebyshev_iterations(ratio, tolerance);
}

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
    take_measurements();
    if (const auto* method = least_squares(how_.settings))
      solve(*method);
    else
      make_conventional_image();
    stage("copy from the device", {WorkUnit::transferred_byte, gpu_ ? voxels_ * element_ : 0});
    companion();
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
  static constexpr double mebibyte = 1 << 20, program_bytes = 25 * mebibyte;

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
    const double held = how_.settings.precision == Precision::double_precision ? 24 : 8;
    if (how_.images_wait_in_memory)
      return (how_.images - 1) * scan_.image_voxels() * held * (how_.companion != nullptr ? 2 : 1) * 4;
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
  /// Vector operations of an iteration with `kept` earlier residuals.
  Work vectors(double kept) const {
    return Work(WorkUnit::projection, voxels_ * kept, how_.settings.precision) +
           copied(6 * voxels_ * element_) + regions(10);
  }

  ScanSizes scan_;
  const EstimateSettings& how_;
  bool is_companion_;
  Device device_ = device_for(how_.settings, how_.device);
  bool gpu_ = device_.is_cuda();
  double element_ = bytes_of_complex(how_.settings.precision), voxels_ = scan_.voxels(),
         samples_ = scan_.samples.all, threads_ = std::max(1, omp_get_max_threads());
  int segments_ = 0, differences_ = 0;
  std::size_t helped_bytes_ = 0;  ///< on a GPU, before the arrays of the walk
  std::size_t kept_ = 0;          ///< mark of what the model keeps after the solution
  bool prepared_in_double_ = scan_.in_double;
  TransformSettings transform_{};
  Estimate out_;
};

void Walk::read() {
  MemoryLedger& host = out_.host;
  const double all = scan_.coils;
  // Measured as the peak of a run on a scan of a few kilobytes: code and tables of the program and of HDF5
  // and NIfTI.
  host.hold("program and libraries", program_bytes);
  host.hold("k-space data as read", samples_ * all * held_bytes(scan_.in_double));
  host.hold("trajectory as read", samples_ * 24);
  if (scan_.has_maps) host.hold("sensitivity maps as read", voxels_ * all * held_bytes(scan_.in_double));
  host.hold("calibration as read", scan_.calibration_samples * (all * held_bytes(scan_.in_double) + 24));
  host.hold("noise readouts", scan_.noise_samples * all * 8);
  if (scan_.has_field_map) host.hold("field map", voxels_ * 4);
  if (scan_.has_sample_time) host.hold("sample times", samples_ * 8);
  host.hold_briefly("trajectory in the order of the file", samples_ * 24);
  constexpr double read_ahead = 8 * mebibyte;  // of files that are made of readouts
  if (scan_.readout_length > 0) host.hold("readouts read ahead", std::min(read_ahead, samples_ * all * 8));
}

void Walk::look_beyond_fov() {
  if (!looks_beyond_fov(how_.settings) || scan_.told_apart == own_field) return;
  const MapsCost look =
      look_cost(scan_.matrix_size, scan_.told_apart, scan_.samples.all, scan_.coils, device_);
  out_.host.hold_briefly("image of low resolution beyond the FOV", static_cast<double>(look.scratch_bytes));
  helped_stage("surroundings", look);
  if (scan_.is_enlarged)
    out_.host.hold("scan on the matrix that holds the object",
                   samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24));
}

void Walk::prepare() {
  MemoryLedger& host = out_.host;
  const Settings& settings = how_.settings;
  const double all = scan_.coils, noise = scan_.noise_samples;
  const CoilDecision& decision = out_.coil_decision =
      decide_coils({scan_.coils, scan_.coils, scan_.has_maps, scan_.noise_samples > 0}, settings);
  out_.coils = scan_.coils;
  if (decision.compresses) {
    out_.coils = virtual_coil_count(scan_.coils, settings.coils.compression);
    if (std::holds_alternative<KeptEnergy>(settings.coils.compression))
      out_.assumptions.push_back(
          "how many virtual coils keep the energy asked for is not known before the data are read: " +
          std::to_string(out_.coils) + " are assumed");
  }
  if (decision.whitens || decision.compresses || decision.finds_maps)
    host.hold("OpenBLAS and its buffers", 10 * mebibyte);
  const bool drops_maps = scan_.has_maps && !decision.maps_from_scan;
  if (decision.whitens || decision.compresses || decision.finds_maps || drops_maps) {
    const double kept_maps = decision.maps_from_scan ? voxels_ : 0;
    const bool mixes = decision.whitens || decision.compresses,
               mixes_in_double = mixes && settings.precision == Precision::double_precision;
    prepared_in_double_ = scan_.in_double || mixes_in_double;
    host.hold("scan after the preparation of its coils",
              (samples_ + kept_maps) * coils() * held_bytes(prepared_in_double_) + samples_ * 24 +
                  noise * coils() * 8);
    host.hold_briefly("calibration of these coils",
                      scan_.calibration_samples * (coils() * held_bytes(prepared_in_double_) + 24));
    if (mixes)
      host.hold_briefly("coils before mixing", (samples_ + kept_maps) * all * (mixes_in_double ? 16 : 8));
  }
  const Work mixing = mixing_work(scan_.coils, scan_.samples.all);
  if (decision.whitens) stage("whitening", mixing, 0, true);
  if (decision.compresses) stage("coil compression", mixing, 0, true);
  if (!decision.finds_maps) return;
  host.hold("sensitivity maps found", voxels_ * coils() * 8);
  const MapsCost maps = maps_cost(
      scan_.matrix_size, scan_.calibration_samples > 0 ? scan_.calibration_samples : scan_.samples.all,
      out_.coils, map_method(settings.coils.maps), scan_.calibration_sampled, settings.coils.estimation,
      device_);
  host.hold_briefly("calibration", static_cast<double>(maps.scratch_bytes));
  helped_stage("sensitivity maps", maps);
}

void Walk::decide() {
  if (gpu_) scan_.samples.x = scan_.samples.xy = scan_.samples.all;  // no sums are shared there
  out_.transform = decide_transform(how_.settings, device_, scan_.matrix_size, scan_.samples, out_.coils);
  transform_ = transform_settings(how_.settings);
  transform_.kind = out_.transform.kind;
  const auto* method = least_squares(how_.settings);
  if (method == nullptr) return;
  out_.solves = out_.coil_decision.uses_maps() ? 1 : coils();
  if (scan_.has_field_map && scan_.has_sample_time) {
    const bool toeplitz = method->normal == NormalKind::toeplitz, known = scan_.time_segments > 0;
    segments_ = known ? scan_.time_segments : 10;
    differences_ = known ? scan_.difference_segments : toeplitz ? 16 : 0;
    if (!known)
      out_.assumptions.push_back(
          "how many time segments the field map needs is not known before it is read: 10 are assumed, and 16 "
          "for the Toeplitz operator");
  }
  out_.most_iterations = method->iterations;
  out_.iterations = std::min(method->iterations, expected_iterations(*method, segments_ > 0));
  const std::string tolerance = short_number(method->tolerance), most = std::to_string(method->iterations);
  out_.assumptions.push_back(name_of(decide_solver(*method)) + std::string(" is expected to take ") +
                             std::to_string(out_.iterations) + " iterations to " + tolerance +
                             " and takes at most " + most +
                             ": the true number depends on the trajectory and the data");
}

void Walk::take_measurements() {
  const bool maps = out_.coil_decision.uses_maps();
  const double all_samples = samples_ * coils(), all_voxels = voxels_ * coils();
  out_.host.hold("trajectory of the transform", samples_ * 24);
  arrays().hold("k-space data", all_samples * element_);
  if (maps) arrays().hold("sensitivity maps", all_voxels * element_);
  // Values converted and scaled, the image cropped.
  out_.between.work = copied(4 * (all_samples + voxels_) * (8 + element_)) + touched(all_samples * element_);
  if (maps) out_.between.work += copied(4 * all_voxels * (8 + element_));
  out_.between.on_host = true;
  if (gpu_) out_.between.work = 2.0 * out_.between.work, out_.between.seconds = 0.02;  // waits for the device
}

void Walk::make_conventional_image() {
  const auto transform = cost_of(transform_, transform_sizes());
  const bool fft = is_method<CartesianFft>(how_.settings);
  arrays().hold("coil images", voxels_ * coils() * element_ * (fft ? 2 : 1));
  arrays().hold("image", voxels_ * (element_ + 8));
  if (fft) {
    double operations = 0;
    for (const int n : scan_.matrix_size)
      if (n > 1) operations += 5 * std::log2(n) * voxels_;
    stage("inverse FFT", coils() * (Work(scan_.matrix_size[2] > 1 ? WorkUnit::fft_3d : WorkUnit::fft_2d,
                                         operations, how_.settings.precision) +
                                    copied(6 * voxels_ * element_)));
    return verify(false);
  }
  if (is_method<ConventionalGridding>(how_.settings)) {
    const DensityCost density = density_cost(transform_sizes());
    out_.host.hold("density compensation", samples_ * 8);
    arrays().hold_briefly("density compensation in the making", density.bytes);
    stage("density compensation", density.work);
  }
  arrays().hold("transform", transform->bytes());
  arrays().hold("sums of the transform", transform->scratch_bytes(out_.coils));
  out_.between.work += transform->making();
  copy_to_device();
  stage(is_method<PlainAdjoint>(how_.settings) ? "FhD" : "gridded adjoint",
        transform->adjoint(out_.coils) +
            touched(transform->scratch_bytes(out_.coils) + voxels_ * coils() * element_));
  verify(false);
}

void Walk::solve(const LeastSquares& method) {
  const auto transform = cost_of(transform_, transform_sizes());
  out_.between.work += transform->making();
  copy_to_device();
  arrays().hold("transform", transform->bytes());
  if (!out_.coil_decision.uses_maps()) {
    arrays().hold("ones in the place of maps", voxels_ * element_);
    arrays().hold("images of all coils", voxels_ * coils() * element_);
    arrays().hold("samples of a coil", samples_ * element_);
  }
  const Work normal = model(method, *transform);
  arrays().hold("sums of the transform", transform->scratch_bytes(together()));
  kept_ = arrays().mark();
  iterate(method, *transform, normal);
  predict_samples(*transform);
  verify(true);
  judge();
}

/// Work of a product with E^H E.
Work Walk::model(const LeastSquares& method, const TransformCost& transform) {
  const OperatorCost sense = sense_cost(transform, transform_sizes(), channels(), how_.coils_at_once);
  arrays().hold("coil images", sense.bytes);
  if (method.normal == NormalKind::toeplitz) {
    const OperatorCost toeplitz =
        toeplitz_cost(scan_.matrix_size, channels(), how_.settings.precision, device_, how_.coils_at_once);
    if (segments_ > 0) return segmented_model(method, transform, toeplitz);
    arrays().hold("Q", difference_points(scan_.matrix_size) * element_);
    arrays().hold_briefly("Q in the making", transform.point_spread_scratch_bytes());
    stage("Q", transform.point_spread());
    arrays().hold("Toeplitz operator", toeplitz.bytes);
    arrays().hold_briefly("transfer function in the making", toeplitz.making_bytes);
    stage("transfer function", toeplitz.making);
    arrays().hold("grids of the Toeplitz operator", toeplitz.scratch_bytes);
    if (!uses_preconditioner(method, false)) return toeplitz.forward;
    const auto inverse = preconditioner_cost(transform_sizes(), channels(), device_, how_.coils_at_once);
    arrays().hold("preconditioner", inverse.bytes);
    arrays().hold_briefly("preconditioner in the making", inverse.making_bytes);
    stage("preconditioner", inverse.making);
    return toeplitz.forward + inverse.forward;
  }
  if (segments_ > 0) return segmented_model(method, transform, {});
  arrays().hold("predicted data of the explicit product", samples_ * channels() * element_);
  return sense.forward + sense.adjoint;
}

/// The same with a field map.
Work Walk::segmented_model(const LeastSquares& method, const TransformCost& transform,
                           const OperatorCost& toeplitz) {
  // Least squares of every distinct sample time with 1, 2, ... segments over 256 frequencies, or 512 differences.
  const double times = scan_.readout_length > 0 ? scan_.readout_length : std::min(samples_, 4096.0);
  constexpr double phasor_s = 2e-8;
  const auto fit_s = [&](double count, double frequencies) {
    return times * frequencies * count * (count + 1) * phasor_s / threads_;
  };
  stage("time segments", {}, fit_s(segments_, 256) + (differences_ > 0 ? fit_s(differences_, 512) : 0), true);
  const OperatorCost encoding =
      off_resonance_cost(transform, transform_sizes(), channels(), how_.coils_at_once, segments_);
  arrays().hold("time segments of the encoding", encoding.bytes);
  out_.host.hold("weights of the time segments", (segments_ + differences_) * samples_ * 16.0);
  if (method.normal == NormalKind::explicit_product) {
    arrays().hold("predicted data of the explicit product", samples_ * channels() * element_);
    return encoding.forward + encoding.adjoint;
  }
  arrays().hold(
      "Toeplitz operators of the time segments",
      static_cast<double>(differences_) * (toeplitz.bytes + toeplitz.scratch_bytes) + voxels_ * element_);
  arrays().hold_briefly("Q in the making",
                        (difference_points(scan_.matrix_size) + voxels_ * channels()) * element_ +
                            std::max(transform.point_spread_scratch_bytes(), toeplitz.making_bytes));
  stage("Q", differences_ * (transform.point_spread() + toeplitz.making));
  return differences_ * toeplitz.forward;
}

void Walk::iterate(const LeastSquares& method, const TransformCost& transform, const Work& normal) {
  const double image = voxels_ * element_, segments = std::max(1, segments_);
  if (needs_largest_eigenvalue(method))  // its random start is one thread's
    stage("largest eigenvalue", 10.0 * (normal + vectors(0)) + touched(4 * image), voxels_ * 1e-8);
  if (const auto* roughness = std::get_if<RoughnessPenalty>(&method.regularizer);
      roughness && roughness->prior) {
    arrays().hold("weights of the prior", 1.5 * image);
    out_.host.hold("prior image", roughness->prior->image.values.size() * 4 + voxels_ * 4);
    stage("anatomical prior", {}, voxels_ * (8 * 4e-8 / threads_ + 3e-8), true);
  }
  arrays().hold("image, right-hand side, norms and such", 2 * image + 1024);
  const Work adjoint = segments * (transform.adjoint(channels()) +
                                   copied(segments_ > 0 ? 4 * samples_ * channels() * element_ : 0));
  stage("FhD", out_.solves * adjoint +
                   touched(transform.scratch_bytes(together()) + voxels_ * channels() * element_));
  if (!method.sparse.empty())  // and which voxels no coil sees
    arrays().hold("sparse terms", (sparse_terms_cost(method.sparse, scan_.matrix_size).held + 0.5) * image);
  const auto mark = arrays().mark();
  if (decide_solver(method) == SolverKind::admm)
    run_admm(method, normal);
  else
    run_conjugate_gradient(method, normal);
  arrays().release(mark);
}

void Walk::run_conjugate_gradient(const LeastSquares& method, const Work& normal) {
  const double image = voxels_ * element_;
  const ConjugateGradientSettings limits{.iterations = method.iterations};
  const double kept = std::min(limits.iterations, limits.kept_residuals),
               before = std::min<double>(out_.iterations, kept);
  arrays().hold("vectors of the solver",
                conjugate_gradient_bytes(voxels_, limits, how_.settings.precision, device_, 1,
                                         uses_preconditioner(method, segments_ > 0)));
  if (std::holds_alternative<FromNoise>(method.lambda))
    arrays().hold("images of the search of lambda", 2 * image);
  const Work solve = out_.iterations * (normal + vectors(0)) + normal +
                     vectors(before * before / 2 + (out_.iterations - before) * kept) +
                     touched((kept + 4) * image);
  out_.iteration = normal + vectors(kept);
  // Some eight solutions, each from the one before.
  if (std::holds_alternative<FromNoise>(method.lambda)) stage("search of lambda", out_.solves * 8 * solve);
  stage("conjugate gradient", out_.solves * solve);
}

/// The image that it starts from, and iterations of ADMM with some of conjugate gradient in each.
void Walk::run_admm(const LeastSquares& method, const Work& normal) {
  const double image = voxels_ * element_;
  const bool preconditioned = uses_preconditioner(method, segments_ > 0);
  const auto terms = sparse_terms_cost(method.sparse, scan_.matrix_size);
  const ConjugateGradientSettings of_start{.iterations = first_image_iterations(preconditioned)};
  arrays().hold_briefly(
      "vectors of the first image",
      conjugate_gradient_bytes(voxels_, of_start, how_.settings.precision, device_, 1, preconditioned));
  out_.host.hold_briefly("magnitudes of the first image", voxels_ * (8 + element_));
  arrays().hold(
      "vectors of the solver, duals and subgradient",
      admm_bytes(voxels_, terms.planes, terms.auxiliary, how_.settings.precision, device_, preconditioned));
  constexpr double start_iterations = 8;  // to a per cent
  stage("first image", out_.solves * (start_iterations * (normal + vectors(0)) + touched(4 * image)),
        voxels_ * 1e-7);
  const double inner = inner_iterations(preconditioned);  // with A and A^H of the terms in each; sums of planes
  const double passes = (3 + (terms.auxiliary > 0 ? 2 * inner : 0)) * terms.passes + 10 * terms.planes;
  out_.iteration =
      inner * (normal + (1 + terms.auxiliary) * vectors(0)) + normal + copied(passes * image) + regions(60);
  const double solutions = searches_strength(method) ? 7 : 0;  // some five strengths, each twice, to twice the tolerance
  arrays().hold_briefly("search of strength", solutions > 0 ? 8 * image + samples_ * channels() * element_ : 0);
  if (solutions > 0) stage("search of strength", out_.solves * solutions * out_.iterations * out_.iteration);
  stage(name_of(SolverKind::admm),
        out_.solves * (out_.iterations * out_.iteration + touched((3 * terms.planes + 6) * image)));
}

void Walk::predict_samples(const TransformCost& transform) {
  const double values = samples_ * channels() * element_, segments = std::max(1, segments_);
  arrays().hold("predicted data", values);
  Work prediction = transform.forward(channels());
  if (predicts_by_gridding(how_.settings, transform_.kind)) {
    const GriddedCost best(transform_sizes(), prediction_accuracy);
    const double bytes = best.bytes(), scratch = best.scratch_bytes(together());
    arrays().hold("gridding of the data residual", bytes + scratch);
    prediction = best.forward(channels()) + (1 / segments) * (best.making() + touched(bytes + scratch));
  }
  const Work weighting = copied(segments_ > 0 ? 4 * values : 0);
  stage("data residual",
        out_.solves * (segments * (prediction + weighting) + touched(values) + copied(4 * values)));
}

void Walk::verify(bool solved) {
  if (how_.verifier == nullptr) return;
  const double values = samples_ * (solved ? channels() : coils()) * element_;
  if (solved) out_.host.hold("input of the certificate", values + 2 * voxels_ * element_);
  stage("certificate", copied(2 * values + 5 * voxels_ * element_), 0, true);
}

/// E of the image times the field map; without a field map, and where the data are explained, some passes.
void Walk::judge() {
  if (how_.verifier == nullptr) return;
  const double values = samples_ * channels() * element_, image = voxels_ * element_;
  Work work = copied(4 * values + image);
  if (segments_ > 0) {
    const GriddedCost gridded(transform_sizes(), verdict_transform(how_.settings, transform_).accuracy);
    if (transform_.kind != TransformKind::gridded && !predicts_by_gridding(how_.settings, transform_.kind)) {
      const double bytes = gridded.bytes(), scratch = gridded.scratch_bytes(together());
      arrays().hold("gridding of the verdict", bytes + scratch);
      work += gridded.making() + touched(bytes + scratch);
    }
    arrays().hold("samples of the verdict", values + image);
    if (gpu_) out_.host.hold("samples of the verdict", values + image);
    work += segments_ * (gridded.forward(channels()) + copied(4 * values)) + touched(values + image);
  }
  stage("verdict", work, 0, true);
}

/// With the samples, the maps and, where it is one, the gridded transform of the solution: gridded_images.
void Walk::share_companion() {
  const bool own = transform_.kind == TransformKind::gridded;
  const double accuracy = own ? transform_.accuracy
                          : predicts_by_gridding(how_.settings, transform_.kind)
                              ? prediction_accuracy
                              : std::get<ConventionalGridding>(how_.companion->method).accuracy;
  const GriddedCost gridded(transform_sizes(), accuracy);
  const DensityCost density = density_cost(transform_sizes());
  const double values = samples_ * channels() * element_, image = voxels_ * element_;
  if (!gpu_)
    out_.host.release(kept_);  // what the solution took; its image and the other transform are still there
  if (!gpu_ && !own) out_.host.hold("gridding", gridded.bytes() + gridded.scratch_bytes(together()));
  out_.host.hold("density compensation", samples_ * 8);
  arrays().hold_briefly("density compensation in the making", density.bytes);
  arrays().hold("gridded image and weighted samples", 2 * image + values + samples_ * element_);
  Work work =
      density.work + gridded.adjoint(channels()) + copied(3 * values + image) + touched(values + image);
  if (!own && accuracy != prediction_accuracy) {
    const double bytes = gridded.bytes() + gridded.scratch_bytes(together());
    if (gpu_) arrays().hold("gridding of the gridded image", bytes);
    work += gridded.making() + touched(bytes);
  }
  stage("gridded image", work);
}

void Walk::companion() {
  if (how_.companion == nullptr) return;
  if (out_.coil_decision.uses_maps() || out_.coils == 1) return share_companion();
  // The model is still there; the coils are the same.
  if (!gpu_) out_.host.release(kept_);
  ScanSizes same_coils = scan_;
  same_coils.noise_samples = same_coils.calibration_samples = 0;
  same_coils.has_field_map = same_coils.has_sample_time = false;
  same_coils.coils = out_.coils;
  same_coils.has_maps = out_.coil_decision.uses_maps();
  same_coils.in_double = prepared_in_double_;
  EstimateSettings how{*how_.companion, device_};
  const Estimate made = Walk(same_coils, how, true)();
  out_.stages.push_back({"gridded image", {}, 0, false});
  for (const auto& stage : made.stages) out_.stages.back().work += stage.work;
  out_.between.work += made.between.work;
  arrays().hold("gridded image", (gpu_ ? made.device : made.host).peak_bytes() -
                                     (gpu_ ? 0
                                           : program_bytes + samples_ * 24 +
                                                 (samples_ + (same_coils.has_maps ? voxels_ : 0)) * coils() *
                                                     held_bytes(prepared_in_double_)));
}

}  // namespace

ScanSizes sizes_of(const Scan& scan) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  const AxisOrder order = long_axes_first(sizes.matrix_size);
  sizes.samples = count_samples(keeps_axes(order) ? scan.trajectory : in_order(order, scan.trajectory));
  sizes.coils = scan.kspace.coil_count();
  if (sizes.coils > 1)
    sizes.calibration_sampled =
        scan.calibration.has_value() || calibration_is_sampled(scan.trajectory, sizes.matrix_size);
  sizes.told_apart = field_told_apart(scan);
  sizes.noise_samples = scan.noise ? scan.noise->extent(1) : 0;
  sizes.calibration_samples = scan.calibration ? scan.calibration->kspace.sample_count() : 0;
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.in_double = !scan.kspace.in_double.empty();
  return sizes;
}

ScanSizes on_larger_matrix(ScanSizes sizes, const std::array<int, 3>& matrix_size) {
  for (int axis = 0; axis < 3; ++axis)
    sizes.told_apart[axis] *= static_cast<double>(sizes.matrix_size[axis]) / matrix_size[axis];
  sizes.is_enlarged = sizes.is_enlarged || sizes.matrix_size != matrix_size;
  for (int axis = 0; axis < 3; ++axis)
    if (sizes.matrix_size[axis] != matrix_size[axis])
      sizes.cropped_matrix_size[axis] = sizes.matrix_size[axis];
  sizes.matrix_size = matrix_size;
  return sizes;
}

ScanSizes sizes_of(const Scan& scan, const Settings& settings) {
  ScanSizes sizes = sizes_of(scan);
  if (!looks_beyond_fov(settings) || sizes.told_apart == own_field || !bound_to_fov(scan, settings).empty())
    return sizes;
  const auto object = object_beyond_fov(scan, sizes.told_apart);
  return on_larger_matrix(std::move(sizes), object.matrix_size);
}

Estimate estimate(const ScanSizes& scan, const EstimateSettings& how) {
  ScanSizes sizes = scan;
  const AxisOrder order = long_axes_first(scan.matrix_size);
  sizes.matrix_size = in_order(order, scan.matrix_size);
  sizes.told_apart = in_order(order, scan.told_apart);
  sizes.cropped_matrix_size = in_order(order, scan.cropped_matrix_size);
  return Walk(sizes, how)();
}

}  // namespace fhd
