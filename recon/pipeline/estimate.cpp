#include "recon/pipeline/estimate.hpp"

#include <omp.h>

#include <cmath>
#include <memory>

#include "recon/coils/maps.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Bytes of the program, its libraries and what the allocator keeps, measured on scans of a few kilobytes.
constexpr double mebibyte = 1 << 20, program_bytes = 26 * mebibyte;
/// Iterations of ADMM in a search of the strength of a term: some five or six strengths (strength.cpp).
constexpr double strength_search_iterations = 44;

Work copied(double bytes) { return {WorkUnit::byte, bytes}; }
Work regions(double count) { return {WorkUnit::region, count}; }
/// Returns the bytes of a complex number of the scan: in single precision, and in double as well.
double held_bytes(bool in_double) { return in_double ? 24 : 8; }

/// Returns the iterations that bring the residual of a spectrum between lambda and `largest` + lambda down to the
/// tolerance: half of sqrt(condition) ln(2 / tolerance). Source: Shewchuk (1994), 9.
int chebyshev_iterations(double largest_over_lambda, double tolerance) {
  const double most = std::sqrt(1 + largest_over_lambda) * std::log(2 / tolerance) / 2;
  return static_cast<int>(std::min(1e9, std::ceil(most)));
}

/// Returns the iterations of the solver without a limit. The circulant preconditioner narrows the spectrum, less where
/// k-space has gaps, which coils fill and it knows nothing of. ADMM was measured.
int expected_iterations(const LeastSquares& method, bool corrects_off_resonance, double samples_per_unknown) {
  const double tolerance = std::max(method.tolerance, 1e-8);
  if (decide_solver(method) == SolverKind::admm) {
    const bool in_time = std::any_of(method.sparse.begin(), method.sparse.end(),
                                     [](const auto& each) { return each.kind == SparseKind::temporal_tv; });
    const double usual = (in_time ? 50 : 25) * (searches_strength(method) ? 0.5 : 1);
    return static_cast<int>(std::ceil(usual * std::sqrt(sparse_tolerance / tolerance)));
  }
  double ratio = 2 / reference_lambda;  // most of the spectrum lies below some twice the mean
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&method.lambda))
    ratio = of_mean->share > 0 ? 2 / of_mean->share : 1e6;
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda))
    ratio = of_largest->share > 0 ? 1 / of_largest->share : 1e6;
  if (uses_preconditioner(method, corrects_off_resonance))
    ratio /= std::clamp(8 * samples_per_unknown, 1.5, 6.0);
  return chebyshev_iterations(ratio, tolerance);
}

/// Returns the singular values of blocks of llr, twice in each iteration; on a GPU they are negligible.
Work work_of_blocks(const LeastSquares& method, double voxels, double images, Device device) {
  const auto is_low_rank = [](const SparsePenalty& each) { return each.kind == SparseKind::llr; };
  if (device.is_cuda() || std::none_of(method.sparse.begin(), method.sparse.end(), is_low_rank)) return {};
  constexpr double block = 64, grids = 2;
  const double size = std::min(block, images), other = std::max(block, images),
               of_block = 20 * std::pow(size, 3) + 6 * size * size * other;
  return {WorkUnit::algebra, 3 * grids * voxels / block * of_block};
}

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

  /// Returns the bytes of images that are made concurrently, each with arrays of its own, of volumes that are read ahead,
  /// and of images that wait: each and twice its file.
  double further_images(double arrays) const {
    const double images = how_.images * (how_.frames ? how_.frames->frames : 1);
    if (how_.images_wait_in_memory || how_.frames)
      return (images - 1) * scan_.image_voxels() * (element_ == 16 ? 24 : 8) * (how_.companion ? 2 : 1) * 4;
    const double volume = samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24),
                 slices = std::min(64.0, images * scan_.matrix_size[2]), slice = 4.0 * (1 << 16);
    const auto concurrent =
        volumes_side_by_side(device_, how_.images, static_cast<std::int64_t>(voxels_), omp_get_max_threads());
    return (concurrent - 1) * arrays + (images > 1 ? slices * slice : 0) +
           std::min(images - 1, 10.0) * volume;
  }

  // --- Preparation ---

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

  void prepare() {
    MemoryLedger& host = out_.host;
    const Settings& settings = how_.settings;
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
    const bool mixes = decision.whitens || decision.compresses,
               mixes_in_double = mixes && settings.precision == Precision::double_precision;
    if (mixes || decision.finds_maps || (scan_.has_maps && !decision.maps_from_scan)) {
      const double kept_maps = decision.maps_from_scan ? voxels_ : 0;
      prepared_in_double_ = scan_.in_double || mixes_in_double;
      const double sample = coils() * held_bytes(prepared_in_double_);
      host.hold((samples_ + kept_maps) * sample + samples_ * 24 + scan_.noise_samples * coils() * 8);
      host.hold_briefly(scan_.calibration_samples * (sample + 24));
      if (mixes) host.hold_briefly((samples_ + kept_maps) * scan_.coils * (mixes_in_double ? 16 : 8));
    }
    const Work mixing = mixing_work(scan_.coils, scan_.samples.all);
    if (decision.whitens) host_stage("whitening", mixing);
    if (decision.compresses) host_stage("coil compression", mixing);
    if (!decision.finds_maps) return;
    host.hold(voxels_ * coils() * 8);
    const MapsCost maps = maps_cost(
        scan_.matrix_size, scan_.calibration_samples > 0 ? scan_.calibration_samples : scan_.samples.all,
        out_.coils, map_method(settings.coils.maps), scan_.calibration_sampled, settings.coils.estimation,
        device_);
    host.hold_briefly(maps.scratch_bytes);
    helped_stage("sensitivity maps", maps);
  }

  double samples_per_unknown(const LeastSquares& method) const {
    if (!how_.frames) return frames_per_unknown * samples_ / voxels_;
    const std::int64_t components = component_count(method, how_.frames->frames);
    const double frames = how_.frames->frames, unknowns = components > 0 ? components : frames;
    return frames / unknowns * how_.frames->samples_per_frame / voxels_;
  }

  void decide() {
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
            "how many time segments the field map needs is not known before it is read: 10 are assumed, and "
            "16 for the Toeplitz operator");
    }
    out_.most_iterations = method->iterations;
    out_.iterations = std::min(method->iterations,
                               expected_iterations(*method, segments_ > 0, samples_per_unknown(*method)));
    out_.assumptions.push_back(name_of(decide_solver(*method)) + std::string(" is expected to take ") +
                               std::to_string(out_.iterations) + " iterations to " +
                               short_number(method->tolerance) + " and takes at most " +
                               std::to_string(method->iterations) +
                               ": the true number depends on the trajectory and the data");
  }

  void take_measurements() {
    const double maps = out_.coil_decision.uses_maps() ? voxels_ * coils() : 0, all = samples_ * coils();
    out_.host.hold(samples_ * 24);
    kept_ = arrays().mark();
    arrays().hold((all + maps) * element_);
    // Values converted and scaled, the image cropped; a GPU is waited for.
    out_.between.host_work = (gpu_ ? 2.0 : 1.0) * copied(4 * (all + voxels_ + maps) * (8 + element_));
    if (gpu_) out_.between.seconds = 0.02;
  }

  // --- Images without a system to solve ---

  void make_conventional_image() {
    const auto transform = cost_of(transform_, transform_sizes());
    const bool fft = is_method<CartesianFft>(how_.settings);
    const double coil_images = coils() * image_;
    arrays().hold(coil_images * (fft ? 2 : 1) + image_ + voxels_ * 8);
    if (fft) {
      double operations = 0;
      for (const int n : scan_.matrix_size)
        if (n > 1) operations += 5 * std::log2(n) * voxels_;
      stage("inverse FFT",
            Work(WorkUnit::fft, coils() * operations, how_.settings.precision) + copied(6 * coil_images));
      return verify(false);
    }
    if (is_method<ConventionalGridding>(how_.settings)) {
      const DensityCost density = density_cost(transform_sizes());
      out_.host.hold(samples_ * 8);
      arrays().hold_briefly(density.bytes);
      stage("density compensation", density.work);
    }
    arrays().hold(transform->bytes() + transform->scratch_bytes(out_.coils));
    out_.between.work += transform->making();
    copy_to_device();
    stage(is_method<PlainAdjoint>(how_.settings) ? "FhD" : "gridded adjoint", transform->adjoint(out_.coils));
    verify(false);
  }

  /// Adds the gridded image, made with the samples, the maps and, where it is one, the gridded transform of the
  /// solution.
  void companion() {
    if (!gpu_) out_.host.release(kept_);  // what the solution took
    const bool own = transform_.kind == TransformKind::gridded,
               predicts = predicts_by_gridding(how_.settings, transform_.kind);
    const double accuracy = own        ? transform_.accuracy
                            : predicts ? prediction_accuracy
                                       : std::get<ConventionalGridding>(how_.companion->method).accuracy;
    const GriddedCost gridded(transform_sizes(), accuracy);
    const DensityCost density = density_cost(transform_sizes());
    if (!own && (!gpu_ || !predicts)) arrays().hold(gridded.bytes() + gridded.scratch_bytes(together()));
    out_.host.hold(samples_ * 8);
    arrays().hold_briefly(density.bytes);
    arrays().hold(2 * image_ + values() + samples_ * element_);  // with weighted samples
    Work work = density.work + gridded.adjoint(channels()) + copied(3 * values() + image_);
    if (!own && !predicts) work += gridded.making();
    stage("gridded image", work);
  }

  // --- Least squares ---

  void solve(const LeastSquares& method) {
    const auto transform = cost_of(transform_, transform_sizes());
    out_.between.work += transform->making();
    copy_to_device();
    arrays().hold(transform->bytes());
    if (!out_.coil_decision.uses_maps()) arrays().hold((1 + coils()) * image_ + samples_ * element_);
    const Work normal = model(method, *transform);
    arrays().hold(transform->scratch_bytes(together()));
    kept_ = arrays().mark();
    iterate(method, *transform, normal);
    predict_samples(*transform);
    verify(true);
    judge();
  }

  /// Returns the work of a product with E^H E.
  Work model(const LeastSquares& method, const TransformCost& transform) {
    const OperatorCost sense = sense_cost(transform, transform_sizes(), channels(), how_.coils_at_once);
    const auto add = [&](const char* name, const OperatorCost& cost) {
      arrays().hold(cost.bytes);
      arrays().hold_briefly(cost.making_bytes);
      stage(name, cost.making);
    };
    arrays().hold(sense.bytes);
    if (method.normal != NormalKind::toeplitz) {
      if (segments_ > 0) return segmented_model(method, transform, {});
      arrays().hold(values());
      return sense.forward + sense.adjoint;
    }
    const OperatorCost toeplitz =
        toeplitz_cost(scan_.matrix_size, channels(), how_.settings.precision, device_, how_.coils_at_once);
    if (segments_ > 0) return segmented_model(method, transform, toeplitz);
    arrays().hold(difference_points(scan_.matrix_size) * element_);
    arrays().hold_briefly(transform.point_spread_scratch_bytes());
    stage("Q", transform.point_spread());
    add("transfer function", toeplitz);
    arrays().hold(toeplitz.scratch_bytes);
    if (!uses_preconditioner(method, false)) return toeplitz.forward;
    const auto inverse = preconditioner_cost(transform_sizes(), channels(), device_, how_.coils_at_once);
    add("preconditioner", inverse);
    return toeplitz.forward + inverse.forward;
  }

  /// Returns the same with a field map.
  Work segmented_model(const LeastSquares& method, const TransformCost& transform,
                       const OperatorCost& toeplitz) {
    // Least squares of every distinct sample time with 1, 2, ... segments over 256 frequencies, or 512 differences.
    const double times = scan_.readout_length > 0 ? scan_.readout_length : std::min(samples_, 4096.0),
                 q = difference_points(scan_.matrix_size) * element_;
    const auto fit_s = [&](double count, double frequencies) {
      constexpr double phasor_s = 2e-8;
      return times * frequencies * count * (count + 1) * phasor_s / omp_get_max_threads();
    };
    host_stage("time segments", {}, fit_s(segments_, 256) + fit_s(differences_, 512));
    const OperatorCost encoding =
        off_resonance_cost(transform, transform_sizes(), channels(), how_.coils_at_once, segments_);
    arrays().hold(encoding.bytes);
    out_.host.hold((segments_ + differences_) * samples_ * 16.0);
    if (method.normal == NormalKind::explicit_product) {
      arrays().hold(values());
      return encoding.forward + encoding.adjoint;
    }
    arrays().hold(differences_ * (toeplitz.bytes + toeplitz.scratch_bytes) + image_);
    arrays().hold_briefly(q + image_ * channels() +
                          std::max(transform.point_spread_scratch_bytes(), toeplitz.making_bytes));
    stage("Q", differences_ * (transform.point_spread() + toeplitz.making));
    return differences_ * toeplitz.forward;
  }

  void iterate(const LeastSquares& method, const TransformCost& transform, const Work& normal) {
    const Work product = products_together * normal;
    if (needs_largest_eigenvalue(method)) {
      stage("largest eigenvalue", 10.0 * (product + vectors(0)));
      out_.stages.back().seconds = unknowns() * 1e-8;  // its random start is one thread's
    }
    if (const auto* roughness = std::get_if<RoughnessPenalty>(&method.regularizer);
        roughness && roughness->prior) {
      arrays().hold(1.5 * image_);
      out_.host.hold(roughness->prior->image.values.size() * 4 + voxels_ * 4);
      host_stage("anatomical prior", {}, voxels_ * 2e-7);
    }
    arrays().hold(2 * image_ + 1024);  // the image and E^H d
    const Work weighting = copied(segments_ > 0 ? 4 * values() : 0);
    stage("FhD", out_.solves * std::max(1, segments_) * (transform.adjoint(channels()) + weighting));
    if (!method.sparse.empty())  // and which voxels no coil sees
      arrays().hold((sparse_terms_cost(method.sparse, scan_.matrix_size).held + 0.5) * image_);
    const auto mark = arrays().mark();
    if (decide_solver(method) == SolverKind::admm)
      run_admm(method, product);
    else
      run_conjugate_gradient(method, product);
    arrays().release(mark);
  }

  void run_conjugate_gradient(const LeastSquares& method, const Work& normal) {
    const ConjugateGradientSettings limits{.iterations = method.iterations};
    const double kept = std::min(limits.iterations, limits.kept_residuals);
    const bool searches = std::holds_alternative<FromNoise>(method.lambda);
    arrays().hold(conjugate_gradient_bytes(unknowns(), limits, how_.settings.precision, device_, 1,
                                           uses_preconditioner(method, segments_ > 0)) +
                  (searches ? 2 * unknowns() * element_ : 0));
    const Work solve =
        (out_.iterations + 1) * (normal + vectors(std::min<double>(out_.iterations, kept) / 2));
    out_.iteration = normal + vectors(kept);
    if (searches)
      stage("search of lambda", out_.solves * 8 * solve);  // each of some eight from the one before
    stage("conjugate gradient", out_.solves * solve);
  }

  /// Adds the image that ADMM starts from, and its iterations with some of conjugate gradient in each.
  void run_admm(const LeastSquares& method, const Work& normal) {
    const double image = unknowns() * element_;
    const bool preconditioned = uses_preconditioner(method, segments_ > 0);
    const auto terms = sparse_terms_cost(method.sparse, scan_.matrix_size);
    arrays().hold_briefly(conjugate_gradient_bytes(unknowns(),
                                                   {.iterations = first_image_iterations(preconditioned)},
                                                   how_.settings.precision, device_, 1, preconditioned));
    out_.host.hold_briefly(unknowns() * (8 + element_));
    arrays().hold(admm_bytes(unknowns(), terms.planes, terms.auxiliary, how_.settings.precision, device_,
                             preconditioned));
    constexpr double start_iterations = 8;  // to a per cent
    stage("first image", out_.solves * start_iterations * (normal + vectors(0)));
    out_.stages.back().seconds = unknowns() * 1e-7;
    // With A and A^H of the terms in each, and sums of planes.
    const double inner = inner_iterations(preconditioned),
                 passes = (3 + (terms.auxiliary > 0 ? 2 * inner : 0)) * terms.passes + 10 * terms.planes;
    out_.iteration =
        inner * (normal + (1 + terms.auxiliary) * vectors(0)) + normal + copied(passes * image) + regions(60);
    if (searches_strength(method)) {
      arrays().hold_briefly(strength_search_images(terms.planes) * image + values());
      stage("search of strength", out_.solves * strength_search_iterations * out_.iteration);
    }
    stage(name_of(SolverKind::admm), out_.solves * out_.iterations * out_.iteration);
  }

  // --- Checks: the data residual, certificate and verdict ---

  void predict_samples(const TransformCost& transform) {
    const double segments = std::max(1, segments_);
    arrays().hold(values());
    Work prediction = transform.forward(channels());
    if (predicts_by_gridding(how_.settings, transform_.kind)) {
      const GriddedCost best(transform_sizes(), prediction_accuracy);
      arrays().hold(best.bytes() + best.scratch_bytes(together()));
      prediction = best.forward(channels()) + (1 / segments) * best.making();
    }
    stage("data residual", out_.solves * (segments * (prediction + copied(segments_ > 0 ? 4 * values() : 0)) +
                                          copied(4 * values())));
  }

  void verify(bool solved) {
    if (how_.verifier == nullptr) return;
    const double of_image = solved ? values() : samples_ * coils() * element_;
    if (solved) out_.host.hold(of_image + 2 * image_);
    host_stage("certificate", copied(2 * of_image + 5 * image_));
  }

  /// Adds E of the image times the field map; without a field map some passes.
  void judge() {
    if (how_.verifier == nullptr) return;
    Work work = copied(4 * values() + image_);
    if (segments_ > 0) {
      const GriddedCost gridded(transform_sizes(), verdict_transform(how_.settings, transform_).accuracy);
      if (transform_.kind != TransformKind::gridded &&
          !predicts_by_gridding(how_.settings, transform_.kind)) {
        arrays().hold(gridded.bytes() + gridded.scratch_bytes(together()));
        work += gridded.making();
      }
      arrays().hold(values() + image_);
      if (gpu_) out_.host.hold(values() + image_);
      work += segments_ * (gridded.forward(channels()) + copied(4 * values()));
    }
    host_stage("verdict", work);
  }

  // --- The prepared scan reconstructed once more: for a phase, for maps of noise, for frames ---

  ScanSizes prepared_sizes() const {
    ScanSizes scan = scan_;
    scan.coils = out_.coils;
    scan.has_maps = out_.coil_decision.uses_maps();
    scan.in_double = prepared_in_double_;
    scan.noise_samples = scan.calibration_samples = 0;
    scan.time_segments = segments_, scan.difference_segments = differences_;
    return scan;
  }

  Settings settings_as_prepared() const {
    Settings settings = how_.settings;
    settings.coils = CoilSettings::as_they_are();
    settings.coils.maps = out_.coil_decision.uses_maps() ? CoilMaps::file : CoilMaps::none;
    settings.surroundings = Surroundings::off;
    return settings;
  }

  void add_stage_of(std::string name, const Estimate& made) {
    EstimatedStage all = made.between;
    all.name = std::move(name);
    for (const auto& each : made.stages) {
      all.work += each.work;
      all.host_work += each.host_work;
      all.seconds += each.seconds;
    }
    out_.stages.push_back(std::move(all));
  }

  /// Adds an image of the centre of k-space, and a copy of the scan with its phase in the maps: partial_fourier.hpp.
  void find_phase() {
    ScanSizes centre = prepared_sizes();
    if (scan_.central_samples == 0)
      out_.assumptions.push_back(
          "how much of k-space lies on both sides is not known before the scan is read: half is assumed");
    centre.samples.all = centre.samples.x = centre.samples.xy =
        scan_.central_samples > 0 ? scan_.central_samples : scan_.samples.all / 2;
    EstimateSettings how{settings_as_prepared(), device_};
    std::get<LeastSquares>(how.settings.method).partial_fourier = PartialFourier::off;
    add_stage_of("phase", Walk(centre, how, true)());
    out_.stages.back().work += copied(40 * voxels_ * 16);
    out_.host.hold(voxels_ * 16 + (samples_ + voxels_) * coils() * held_bytes(prepared_in_double_) +
                   samples_ * 24);
  }

  /// Adds a reconstruction for each replica and, if the method is linear, each point; what depends on the trajectory
  /// is made once.
  void map_noise(std::int64_t replicas) {
    const ScanSizes scan = prepared_sizes();
    EstimateSettings how{settings_as_prepared(), device_};
    auto* method = std::get_if<LeastSquares>(&how.settings.method);
    const bool is_linear =
        (out_.coil_decision.uses_maps() || out_.coils == 1) && !(method && !method->sparse.empty());
    if (method) {  // what was searched is found
      if (std::holds_alternative<FromNoise>(method->lambda)) method->lambda = OfLargestEigenvalue{};
      for (auto& penalty : method->sparse) penalty.strength = penalty.strength.value_or(0.005);
    }
    Estimate made = Walk(scan, how, true)();
    double axes = 0;
    for (const int n : scan_.matrix_size) axes += n > 1;
    const double again = replicas + (is_linear ? 1 + 2 * axes : 0);
    for (auto& each : made.stages)
      if (!is_kept(each.name, scan, made, how)) each.work = again * each.work, each.seconds *= again;
    made.between.host_work = again * made.between.host_work;
    add_stage_of("noise map", made);
    constexpr double drawn_s = 4e-8, pair_s = 4e-9, group_s = 8e-6;
    double& seconds = out_.stages.back().seconds;
    seconds += again * samples_ * coils() * drawn_s / omp_get_max_threads();
    const double maps = scan.has_maps ? voxels_ * coils() * held_bytes(prepared_in_double_) : 0,
                 samples = samples_ * coils() * held_bytes(prepared_in_double_);
    if (!gpu_) out_.host.release(kept_);
    if (replicas == 0) {  // by one thread: pairs of aliases, each with pairs of coils, and small matrices
      const double aliases = std::max(1.0, voxels_ / samples_);
      seconds += voxels_ * aliases * coils() * coils() * pair_s + voxels_ / aliases * group_s;
      out_.host.hold_briefly(2 * maps + 24 * voxels_);
    }
    out_.host.hold(voxels_ * 64 + (method ? 2 : 1) * samples + samples_ * 48 + made.host.peak_bytes() - program_bytes);
    out_.device.hold(made.device.peak_bytes());
  }

  /// Adds the small frames whose principal components the courses are: subspace.cpp.
  void find_temporal_basis(const LeastSquares& method) {
    if (!method.basis || !std::holds_alternative<LeadingCourses>(*method.basis)) return;
    ScanSizes small = prepared_sizes();
    small.matrix_size = matrix_of_small_frames(scan_.matrix_size);
    // Samples are even along readouts through the centre.
    const double share = std::min(1.0, static_cast<double>(small.matrix_size[0]) / scan_.matrix_size[0]);
    const auto of_small = [&](std::int64_t samples) {
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(samples)));
    };
    small.samples.all = small.samples.x = small.samples.xy = of_small(scan_.samples.all);
    EstimateSettings how{settings_as_prepared(), device_};
    how.settings.method = method_of_small_frames();
    std::get<LeastSquares>(how.settings.method).transform = transform_;
    how.frames = FrameSizes{how_.frames->frames, of_small(how_.frames->samples_per_frame)};
    add_stage_of("temporal basis", Walk(small, how, true)());
  }

  /// Adds what one frame costs by itself, times their number, but for the solution that frames share.
  void solve_frames(const LeastSquares& method) {
    const FrameSizes frames = *how_.frames;
    const std::int64_t components = component_count(method, frames.frames);
    const double count = frames.frames, unknowns = components > 0 ? components : count;
    ScanSizes scan = prepared_sizes();
    hold_frames(scan, frames, how_.settings, device_, arrays());
    find_temporal_basis(method);
    scan.samples.all = scan.samples.x = scan.samples.xy = frames.samples_per_frame;
    EstimateSettings how{settings_as_prepared(), device_, how_.verifier, how_.companion};
    std::get<LeastSquares>(how.settings.method).transform = transform_;
    std::get<LeastSquares>(how.settings.method).basis.reset();
    Walk walk(scan, how, true);
    // Quadratic terms alone, without a subspace: one frame after the other.
    const bool is_stack = components > 0 || !method.sparse.empty(),
               in_pairs = components > 0 && segments_ == 0 && takes_pairs(components, frames.frames);
    walk.frames_per_unknown = count / unknowns;
    if (is_stack) walk.images_together = unknowns;
    if (is_stack) walk.products_together = in_pairs ? unknowns * unknowns : count;
    const Estimate one = walk();
    const Work blocks = work_of_blocks(method, voxels_, unknowns, device_);
    for (EstimatedStage stage : one.stages) {
      if (stage.name.starts_with("copy ")) continue;
      const bool is_search = stage.name == "search of strength",
                 is_admm = stage.name == name_of(SolverKind::admm),
                 is_joint = is_stack && (is_search || is_admm || stage.name == "first image" ||
                                         stage.name == name_of(SolverKind::conjugate_gradient));
      const double times =
          is_joint || stage.name == "time segments" || stage.name == "largest eigenvalue" ? 1 : count;
      stage.work = times * stage.work, stage.host_work = times * stage.host_work, stage.seconds *= times;
      if (is_admm) stage.work += out_.iterations * blocks;
      if (is_search) stage.work += strength_search_iterations * blocks;
      out_.stages.push_back(std::move(stage));
    }
    out_.iteration = (is_stack ? 1 : count) * one.iteration + blocks;
    out_.between.work += count * one.between.work;
  }

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

}  // namespace

Estimate estimate(const ScanSizes& scan, const EstimateSettings& how) {
  ScanSizes sizes = scan;
  const AxisOrder order = long_axes_first(scan.matrix_size);
  sizes.matrix_size = in_order(order, scan.matrix_size);
  sizes.told_apart = in_order(order, scan.told_apart);
  sizes.cropped_matrix_size = in_order(order, scan.cropped_matrix_size);
  return Walk(sizes, how)();
}

}  // namespace fhd
