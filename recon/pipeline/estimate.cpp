#include "recon/pipeline/estimate.hpp"

#include <omp.h>

#include <cmath>
#include <memory>

#include "recon/coils/maps.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/field_transform.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Bytes of the program, its libraries and what the allocator keeps, measured on scans of a few kilobytes.
constexpr double program_bytes = 26 << 20;
/// Iterations of ADMM in a search of the strength of a term: some five or six strengths (sparse.cpp).
constexpr double strength_search_iterations = 44;
/// Solutions that a search of lambda is worth.
constexpr double lambda_search_solves = 14;

/// Returns how many time segments follow so many turns to 1e-5, as measured from 0.01 to 2 turns.
int expected_segments(double turns) {
  return static_cast<int>(std::min(256.0, std::round(turns + 2.6 + 4.3 * std::sqrt(std::min(turns, 4.0)))));
}
Work copied(double bytes) { return {WorkUnit::byte, bytes}; }
/// Returns the bytes of a complex number of the scan: in single precision, and in double as well.
double held_bytes(bool in_double) { return in_double ? 24 : 8; }

/// Goes through the steps of reconstruct.cpp in their order, one function each.
class Walk {
 public:
  Walk(const ScanSizes& scan, const EstimateSettings& how) : scan_(scan), how_(how) {
    if (scan_.samples.x == 0) scan_.samples.x = scan_.samples.xy = scan_.samples.all;
  }

  Estimate operator()() {
    read();
    look_beyond_fov();
    prepare();
    decide();
    take_measurements();
    const auto first = static_cast<std::ptrdiff_t>(out_.stages.size());
    if (method_ == nullptr)
      make_conventional_image();
    else if (how_.frames)
      solve_frames();
    else
      solve();
    const EstimatedStage phase = sum_of("phase", out_, first), again = sum_of("noise map", out_, first, true);
    verify();
    if (gpu_) stage("copy from the device", {WorkUnit::transferred_byte, image_});
    if (how_.companion) companion();
    if (method_ && method_->partial_fourier == PartialFourier::phase)  // an image of the centre of k-space
      out_.stages.insert(out_.stages.begin() + first, phase);
    if (how_.noise_replicas) map_noise(*how_.noise_replicas, again);
    const double arrays = out_.host.peak_bytes() - program_bytes;
    out_.host.hold_at_peak(further_images(arrays));
    if (!gpu_) out_.between.work += copied(arrays);  // the first touch
    return std::move(out_);
  }

 private:
  /// Adds a stage, once or for each frame.
  void stage(std::string name, const Work& work, const Work& host_work = {}, double seconds = 0) {
    out_.stages.push_back({std::move(name), times_ * work, times_ * host_work, times_ * seconds});
  }
  /// Returns the ledger of frames alone where the memory of each is none of its own.
  MemoryLedger& host() { return is_of_frame_ ? of_frame_ : out_.host; }
  MemoryLedger& arrays() { return is_of_frame_ ? of_frame_ : gpu_ ? out_.device : out_.host; }
  TransformSizes transform_sizes() const {
    return {scan_.matrix_size, scan_.samples, how_.settings.precision, device_};
  }
  bool uses_maps() const { return out_.coil_decision.uses_maps(); }
  bool has_fields() const { return segments_ > 0 || scan_.sums_exactly; }
  /// Returns the cost of the transform of E without factors.
  std::unique_ptr<TransformCost> transform_cost() const {
    constexpr double bytes_of_item = 8 * 16;  // of some 16 terms
    if (scan_.sums_exactly) return std::make_unique<PhaseCost>(transform_sizes(), bytes_of_item);
    return cost_of(transform_, transform_sizes());
  }
  double coils() const { return out_.coils; }
  /// Returns the coils that are solved together.
  std::int64_t channels() const { return uses_maps() ? out_.coils : 1; }
  std::int64_t together() const {
    return how_.coils_at_once == 0 ? channels() : std::min(channels(), how_.coils_at_once);
  }
  double values() const { return samples_ * channels() * element_; }
  double unknowns() const { return images_together_ * voxels_; }
  /// Returns the vector operations of an iteration with `kept` earlier residuals.
  Work vectors(double kept) const {
    return copied((8 * kept + 6 * element_) * unknowns()) + Work(WorkUnit::region, 10);
  }
  /// Returns all stages from `first` on as one; `again`: those that another image of the trajectory, lambda and strengths has.
  static EstimatedStage sum_of(const char* name, const Estimate& made, std::ptrdiff_t first = 0,
                               bool again = false) {
    EstimatedStage all{name, {}};
    for (auto each = made.stages.begin() + first; each != made.stages.end(); ++each)
      if (!again || !(depends_on_trajectory_alone(each->name) || each->name.starts_with("search of ")))
        all.work += each->work, all.host_work += each->host_work, all.seconds += each->seconds;
    return all;
  }

  void read() {
    const double sample = scan_.coils * held_bytes(in_double_);
    out_.host.hold(program_bytes + samples_ * (sample + 24) + (scan_.has_maps ? voxels_ * sample : 0) +
                   scan_.calibration_samples * (sample + 24) + scan_.noise_samples * scan_.coils * 8 +
                   (scan_.has_field_map ? voxels_ * 4 : 0) + (scan_.has_sample_time ? samples_ * 8 : 0));
    out_.host.hold_briefly(samples_ * 24);  // positions in the order of the file
  }

  void look_beyond_fov() {
    if (!looks_beyond_fov(how_.settings) || scan_.resolved == own_field) return;
    const MapsCost look =
        look_cost(scan_.matrix_size, scan_.resolved, scan_.samples.all, scan_.coils, device_);
    out_.host.hold_briefly(look.scratch_bytes);
    stage("outside_fov", look.device_work, look.work);
    if (scan_.is_enlarged) out_.host.hold(samples_ * (scan_.coils * held_bytes(in_double_) + 24));
  }

  void prepare() {
    const Settings& settings = how_.settings;
    const CoilDecision& decision = out_.coil_decision =
        decide_coils({scan_.coils, scan_.coils, scan_.has_maps, scan_.noise_samples > 0}, settings);
    out_.coils =
        decision.compresses ? virtual_coil_count(scan_.coils, settings.coils.compression) : scan_.coils;
    const bool mixes = decision.whitens || decision.compresses,
               mixes_in_double = mixes && settings.precision == Precision::double_precision;
    if (mixes || decision.finds_maps || (scan_.has_maps && !decision.maps_from_scan)) {
      const double kept = samples_ + (decision.maps_from_scan ? voxels_ : 0);
      in_double_ = in_double_ || mixes_in_double;
      out_.host.hold(kept * coils() * held_bytes(in_double_) + samples_ * 24 +
                     scan_.noise_samples * coils() * 8);
      if (mixes) out_.host.hold_briefly(kept * scan_.coils * (mixes_in_double ? 16 : 8));
    }
    const Work mixing = mixing_work(scan_.coils, scan_.samples.all);
    if (decision.whitens) stage("whitening", {}, mixing);
    if (decision.compresses) stage("coil compression", {}, mixing);
    if (!decision.finds_maps) return;
    out_.host.hold(voxels_ * coils() * 8);
    const MapsCost maps = maps_cost(
        scan_.matrix_size, scan_.calibration_samples > 0 ? scan_.calibration_samples : scan_.samples.all,
        out_.coils, map_method(settings.coils.maps), scan_.calibration_sampled, device_);
    out_.host.hold_briefly(maps.scratch_bytes);
    stage("sensitivity maps", maps.device_work, maps.work);
  }

  /// Decides between exact sums and factors as field_model_of does, as far as sizes tell.
  void decide_fields() {
    const FieldSizes sizes{transform_sizes(), out_.coils};
    constexpr int assumed = 64;
    if (most_factors(sizes, transform_settings(how_.settings), transform_) == 0) {
      scan_.sums_exactly = true;
      return;
    }
    segments_ = assumed;
    out_.assumptions.push_back("how many terms the fields need is not known before they are factorised: " +
                               std::to_string(assumed) + " are assumed");
  }

  void decide() {
    if (gpu_) scan_.samples.x = scan_.samples.xy = scan_.samples.all;  // no sums are shared there
    out_.transform = decide_transform(how_.settings, device_, scan_.matrix_size, scan_.samples.all,
                                      out_.coils, [&] { return scan_.samples; });
    transform_ = transform_settings(how_.settings);
    transform_.kind = out_.transform.kind;
    if (method_ == nullptr) return;
    out_.solves = uses_maps() ? 1 : coils();
    if (scan_.has_fields) {
      if (transform_settings(how_.settings).kind == TransformKind::automatic)
        transform_.kind = TransformKind::gridded;
      decide_fields();
    } else if (scan_.has_field_map && scan_.has_sample_time && !scan_.sums_exactly) {
      const bool toeplitz = method_->normal == NormalKind::toeplitz, known = scan_.time_segments > 0;
      const double turns = scan_.field_turns.value_or(2);
      segments_ = known ? scan_.time_segments : expected_segments(turns);
      differences_ = known ? scan_.difference_segments : toeplitz ? expected_segments(2 * turns) : 0;
      if (!known && !scan_.field_turns)
        out_.assumptions.push_back(
            "how many time segments the field map needs is not known before it is read: " +
            std::to_string(segments_) + " are assumed, and " + std::to_string(differences_) +
            " for the Toeplitz operator");
    }
    double samples_per_unknown = samples_ / voxels_;
    if (how_.frames) {  // unknowns are frames, or components of their subspace
      if (const auto components = component_count(*method_, how_.frames->frames); components > 0)
        unknown_images_ = components;
      else
        unknown_images_ = how_.frames->frames;
      samples_per_unknown = how_.frames->frames / unknown_images_ * how_.frames->samples_per_frame / voxels_;
    }
    out_.most_iterations = method_->iterations;
    out_.iterations =
        std::min(method_->iterations, expected_iterations(*method_, has_fields(), samples_per_unknown));
    out_.assumptions.push_back(name_of(decide_solver(*method_)) + std::string(" is expected to take ") +
                               std::to_string(out_.iterations) + " iterations to " +
                               short_number(method_->tolerance) + " and takes at most " +
                               std::to_string(method_->iterations) +
                               ": the true number depends on the trajectory and the data");
  }

  void take_measurements() {
    const double maps = uses_maps() ? voxels_ * coils() : 0, all = samples_ * coils();
    out_.host.hold(samples_ * 24);
    kept_ = arrays().mark();
    arrays().hold((all + maps) * element_);
    // Values converted and scaled, the image cropped; a GPU is waited for.
    out_.between.host_work = (gpu_ ? 2.0 : 1.0) * copied(4 * (all + voxels_ + maps) * (8 + element_));
    if (!gpu_) return;
    out_.between.seconds = 0.02;
    stage("copy to the device", {WorkUnit::transferred_byte, (all + maps) * element_});
  }

  void make_conventional_image() {
    const auto transform = cost_of(transform_, transform_sizes());
    const bool fft = is_method<CartesianFft>(how_.settings);
    const double coil_images = coils() * image_;
    arrays().hold(coil_images * (fft ? 2 : 1) + image_ + voxels_ * 8);
    if (fft) {
      const double operations = 5 * std::log2(voxels_) * voxels_;
      return stage("inverse FFT", Work(WorkUnit::fft, coils() * operations, how_.settings.precision) +
                                      copied(6 * coil_images));
    }
    if (is_method<ConventionalGridding>(how_.settings)) stage("density compensation", density());
    arrays().hold(transform->bytes() + transform->scratch_bytes(out_.coils));
    out_.between.work += transform->making();
    stage(is_method<PlainAdjoint>(how_.settings) ? "FhD" : "gridded adjoint", transform->adjoint(out_.coils));
  }

  /// Adds the memory of density compensation, and returns its work.
  Work density() {
    const DensityCost density = density_cost(transform_sizes());
    host().hold(samples_ * 8);
    arrays().hold_briefly(density.bytes);
    return density.work;
  }

  void solve() {
    const auto transform = transform_cost();
    out_.between.work += times_ * transform->making();
    arrays().hold(transform->bytes());
    if (!uses_maps()) arrays().hold((1 + coils()) * image_ + samples_ * element_);
    const Work normal = model(*transform);
    arrays().hold(transform->scratch_bytes(together()));
    kept_ = arrays().mark();
    iterate(*transform, products_together_ * normal);
    predict_samples(*transform);
  }

  /// Returns the work of a product with E^H E.
  Work model(const TransformCost& transform) {
    const OperatorCost sense = sense_cost(transform, transform_sizes(), channels(), how_.coils_at_once);
    const auto add = [&](const char* name, const OperatorCost& cost) {
      arrays().hold(cost.bytes);
      arrays().hold_briefly(cost.making_bytes);
      stage(name, cost.making);
    };
    arrays().hold(sense.bytes);
    if (segments_ > 0) return segmented_model(transform);
    if (method_->normal == NormalKind::explicit_product || scan_.sums_exactly) {
      arrays().hold(values());
      return sense.forward + sense.adjoint;
    }
    arrays().hold(difference_points(scan_.matrix_size) * element_);
    arrays().hold_briefly(transform.point_spread_scratch_bytes());
    stage("Q", transform.point_spread());
    const OperatorCost normal = toeplitz_of(channels());
    add("transfer function", normal);
    arrays().hold(normal.scratch_bytes);
    if (!uses_preconditioner(*method_, false)) return normal.forward;
    const auto inverse = preconditioner_cost(transform_sizes(), channels(), device_, how_.coils_at_once);
    add("preconditioner", inverse);
    return normal.forward + inverse.forward;
  }
  OperatorCost toeplitz_of(std::int64_t coils) const {
    return toeplitz_cost(scan_.matrix_size, coils, how_.settings.precision, device_, how_.coils_at_once);
  }

  /// Returns the same with factors of fields.
  Work segmented_model(const TransformCost& transform) {
    // Pivots among some 1,500 columns of 512 places.
    constexpr double of_term = 2.0 * 1500 * 512;
    stage("time segments", {}, Work(WorkUnit::algebra, (segments_ + differences_) * of_term));
    const FieldCost in_fields(transform, transform_sizes(), segments_);
    const OperatorCost encoding = sense_cost(in_fields, transform_sizes(), channels(), how_.coils_at_once);
    arrays().hold(
        static_cast<double>(in_fields.bytes() - transform.bytes()) +
        static_cast<double>(in_fields.scratch_bytes(together()) - transform.scratch_bytes(together())));
    arrays().hold_briefly(8 * voxels_);  // the field map, in double
    host().hold((segments_ + differences_) * samples_ * 16.0);
    if (differences_ == 0) {
      arrays().hold(values());
      return encoding.forward + encoding.adjoint;
    }
    const OperatorCost toeplitz = toeplitz_of(channels());
    arrays().hold(differences_ * (toeplitz.bytes + toeplitz.scratch_bytes) + image_);
    arrays().hold_briefly(difference_points(scan_.matrix_size) * element_ + image_ * channels() +
                          std::max(transform.point_spread_scratch_bytes(), toeplitz.making_bytes));
    stage("Q", differences_ * (transform.point_spread() + toeplitz.making));
    return differences_ * toeplitz.forward;
  }

  void iterate(const TransformCost& transform, const Work& normal) {
    if (needs_largest_eigenvalue(*method_))  // its random start is one thread's
      stage("largest eigenvalue", 10 / times_ * (normal + vectors(0)), {}, unknowns() * 1e-8 / times_);
    arrays().hold(2 * image_ + 1024);  // the image and E^H d
    if (const auto* roughness = std::get_if<RoughnessPenalty>(&method_->regularizer);
        roughness && roughness->prior)
      arrays().hold(1.5 * image_), out_.host.hold(roughness->prior->image.values.size() * 4.0 + voxels_ * 4);
    const auto terms = sparse_terms_cost(method_->sparse, scan_.matrix_size);
    if (!method_->sparse.empty())  // and which voxels no coil sees
      arrays().hold(terms.held * image_ + (is_joint_ ? 1 : 0.5) * unknowns() * element_);
    const Work weighting = copied(segments_ > 0 ? 4 * values() : 0);
    stage("FhD", out_.solves * std::max(1, segments_) * (transform.adjoint(channels()) + weighting));
    const bool is_of_frame = std::exchange(is_of_frame_, false);
    const double times = times_;
    if (is_joint_) times_ = 1;
    const auto mark = arrays().mark();
    if (decide_solver(*method_) == SolverKind::admm)
      run_admm(normal);
    else
      run_conjugate_gradient(normal);
    arrays().release(mark);
    times_ = times, is_of_frame_ = is_of_frame;
  }

  void run_conjugate_gradient(const Work& normal) {
    ConjugateGradientSettings limits{.iterations = method_->iterations};
    if (is_joint_) limits.kept_residuals = 0;
    const double kept = std::min(limits.iterations, limits.kept_residuals);
    const bool searches = std::holds_alternative<FromNoise>(method_->lambda);
    arrays().hold(conjugate_gradient_bytes(unknowns(), limits, how_.settings.precision, device_, 1,
                                           uses_preconditioner(*method_, has_fields())));
    const Work solve =
        (out_.iterations + 1) * (normal + vectors(std::min<double>(out_.iterations, kept) / 2));
    out_.iteration = times_ * (normal + vectors(kept));
    if (searches) {  // images of the data and of the noise, of some six lambdas; their noise
      arrays().hold_briefly(8 * unknowns() * element_ + values());
      stage("search of lambda", out_.solves * lambda_search_solves * solve);
    }
    stage("conjugate gradient", out_.solves * solve);
  }

  /// Adds the image that ADMM starts from, and its iterations with some of conjugate gradient in each.
  void run_admm(const Work& normal) {
    const double image = unknowns() * element_;
    const bool preconditioned = uses_preconditioner(*method_, has_fields());
    const auto terms = sparse_terms_cost(method_->sparse, scan_.matrix_size);
    out_.host.hold_briefly(unknowns() * (8 + element_));
    ConjugateGradientSettings first{.iterations = first_image_iterations(preconditioned)};
    if (is_joint_) first.kept_residuals = 0;
    arrays().hold_briefly(
        conjugate_gradient_bytes(unknowns(), first, how_.settings.precision, device_, 1, preconditioned));
    arrays().hold(admm_bytes(unknowns(), terms.planes, terms.auxiliary, how_.settings.precision, device_,
                             preconditioned));
    constexpr double start_iterations = 8;  // to a per cent
    stage("first image", out_.solves * start_iterations * (normal + vectors(0)), {}, unknowns() * 1e-7);
    // An iteration applies A and A^H of the terms in each inner one, and sums up planes.
    const double inner = inner_iterations(preconditioned) / 2.,  // at most, and usually
        passes = (3 + (terms.auxiliary > 0 ? 2 * inner : 0)) * terms.passes + 10 * terms.planes;
    out_.iteration = inner * (normal + (1 + terms.auxiliary) * vectors(0)) + normal + copied(passes * image) +
                     Work(WorkUnit::region, 60) + work_of_blocks();
    if (searches_strength(
            *method_)) {  // two images on their way, with their duals, and what their risk needs
      arrays().hold_briefly((8 + 2 * terms.planes) * image + values());
      stage("search of strength", out_.solves * strength_search_iterations * out_.iteration);
    }
    stage(name_of(SolverKind::admm), out_.solves * out_.iterations * out_.iteration);
  }

  /// Returns the singular values of blocks of llr, twice in each iteration; on a GPU they are negligible.
  Work work_of_blocks() const {
    const auto is_low_rank = [](const SparsePenalty& each) { return each.kind == SparseKind::llr; };
    if (gpu_ || std::none_of(method_->sparse.begin(), method_->sparse.end(), is_low_rank)) return {};
    constexpr double block = 64, grids = 2;
    const double size = std::min(block, images_together_), other = std::max(block, images_together_),
                 of_block = 20 * std::pow(size, 3) + 6 * size * size * other;
    return {WorkUnit::algebra, 3 * grids * voxels_ / block * of_block};
  }

  void predict_samples(const TransformCost& transform) {
    const double segments = std::max(1, segments_);
    arrays().hold(values());
    Work prediction = transform.forward(channels());
    if (predicts_by_gridding(how_.settings, transform_.kind)) {
      const GriddedCost best(transform_sizes(), prediction_accuracy);
      arrays().hold(best.bytes() + best.scratch_bytes(together()));
      prediction = best.forward(channels()) + (1 / segments) * best.making();
    }
    if (segments_ > 0)  // images and samples of one term
      arrays().hold(static_cast<double>(together()) * (image_ + samples_ * element_));
    stage("data residual", out_.solves * (segments * (prediction + copied(segments_ > 0 ? 4 * values() : 0)) +
                                          copied(4 * values())));
  }

  /// Adds certificate and verdict, which takes E of the image times the field map.
  void verify() {
    if (how_.verifier == nullptr) return;
    const double of_image = method_ ? values() : samples_ * coils() * element_;
    if (method_) host().hold(of_image + 2 * image_);
    if (method_ && how_.images > 1 && !how_.frames) host().hold(2 * (of_image + image_));  // kept of a series
    stage("certificate", {}, copied(2 * of_image + 5 * image_));
    if (method_ == nullptr) return;
    Work work = copied(4 * values() + image_);
    if (segments_ > 0) work += segments_ * GriddedCost(transform_sizes(), 1e-3).forward(channels());
    stage("verdict", {}, work);
  }

  /// Adds the gridded image, made with the samples, the maps and, where it is one, the gridded transform of the
  /// solution.
  void companion() {
    if (!gpu_) host().release(kept_);  // what the solution took
    const bool own = transform_.kind == TransformKind::gridded,
               predicts = predicts_by_gridding(how_.settings, transform_.kind);
    const GriddedCost gridded(transform_sizes(), own        ? transform_.accuracy
                                                 : predicts ? prediction_accuracy
                                                            : 1e-4);
    if (!own && (!gpu_ || !predicts)) arrays().hold(gridded.bytes() + gridded.scratch_bytes(together()));
    Work work = density() + gridded.adjoint(channels()) + copied(3 * values() + image_);
    arrays().hold(2 * image_ + values() + samples_ * element_);  // with weighted samples
    if (!own && !predicts) work += gridded.making();
    stage("gridded image", work);
  }

  /// Adds what one frame costs by itself, times their number, but for the solution that frames share.
  void solve_frames() {
    find_temporal_basis();
    const FrameSizes& sizes = *how_.frames;
    const std::int64_t components = component_count(*method_, sizes.frames);
    const bool in_pairs = components > 0 && segments_ == 0 && takes_pairs(components, sizes.frames);
    const double all_samples = std::exchange(samples_, sizes.samples_per_frame), frames = sizes.frames,
                 operators = std::max(differences_, 1), images = unknown_images_, maps = coils() * image_,
                 q = difference_points(scan_.matrix_size) * element_;
    const OperatorCost toeplitz = toeplitz_of(out_.coils);
    const double of_operator = toeplitz.bytes + toeplitz.scratch_bytes - maps;
    MemoryLedger& memory = arrays();
    // Samples and predicted ones, maps and coil images, images and right-hand sides, a frame's checks.
    memory.hold((frames + 2) * samples_ * coils() * element_ + 2 * maps + 2 * frames * image_ + 8 * image_);
    memory.hold(frames * operators * of_operator);
    if (differences_ > 0) {  // turned maps, and segments of a frame; the weights of all frames are the host's
      memory.hold(operators * maps + frames * image_ +
                  2 * (segments_ * (image_ + samples_ * element_) + samples_ * coils() * element_));
      out_.host.hold((segments_ + operators) * (all_samples + samples_) * 16);
    }
    if (uses_preconditioner(*method_, has_fields()))
      memory.hold(preconditioner_cost(transform_sizes(), channels(), device_).bytes);
    if (components > 0) memory.hold((2 * frames + 3 * images) * image_);
    if (in_pairs) memory.hold(0.5 * images * (images + 1) * (of_operator + q));
    memory.hold_briefly(4 * q);                     // in the making
    if (!gpu_) memory.hold(frames * voxels_ * 16);  // finished images
    scan_.samples.all = scan_.samples.x = scan_.samples.xy = sizes.samples_per_frame;
    times_ = frames;
    is_of_frame_ = true;
    is_joint_ = components > 0 || !method_->sparse.empty();  // else one frame after the other
    if (is_joint_) images_together_ = images, products_together_ = in_pairs ? images * images : frames;
    solve();
  }

  /// Adds the small frames whose principal components the courses are: subspace.cpp.
  void find_temporal_basis() {
    if (!method_->basis || !std::holds_alternative<LeadingCourses>(*method_->basis)) return;
    ScanSizes small = scan_;
    small.coils = out_.coils;
    small.has_maps = uses_maps();
    small.matrix_size = matrix_of_small_frames(scan_.matrix_size);
    // Samples are even along readouts through the centre.
    const double share = std::min(1.0, static_cast<double>(small.matrix_size[0]) / scan_.matrix_size[0]);
    const auto of_small = [&](double samples) { return std::llround(std::max(1.0, share * samples)); };
    small.samples.all = small.samples.x = small.samples.xy = of_small(samples_);
    small.time_segments = segments_, small.difference_segments = differences_;
    EstimateSettings how{how_.settings, device_};
    how.settings.coils = CoilSettings::as_they_are();
    how.settings.outside_fov = OutsideFov::off;
    how.settings.method = method_of_small_frames(transform_);
    how.frames = FrameSizes{how_.frames->frames, of_small(how_.frames->samples_per_frame)};
    out_.stages.push_back(sum_of("temporal basis", Walk(small, how)()));
  }

  /// Adds what is done again for each replica and, if the method is linear, each point.
  void map_noise(std::int64_t replicas, EstimatedStage all) {
    const bool is_linear = (uses_maps() || out_.coils == 1) && !(method_ && !method_->sparse.empty());
    double axes = 0;
    for (const int n : scan_.matrix_size) axes += n > 1;
    const double again = replicas + (is_linear ? 1 + 2 * axes : 0);
    constexpr double drawn_s = 4e-8;  // a number, by one thread
    all.work = again * all.work, all.host_work = again * out_.between.host_work;
    all.seconds = again * (all.seconds + samples_ * coils() * drawn_s / omp_get_max_threads());
    out_.stages.push_back(std::move(all));
    const double values = samples_ * coils() * held_bytes(in_double_);
    out_.host.hold_at_peak(voxels_ * 64 + (method_ ? 2 : 1) * values + samples_ * 48);
  }

  /// Returns the bytes of images that are made concurrently, each with arrays of its own, of volumes that are read ahead,
  /// and of images that wait: each and twice its file; none where it plans the work alone (images = 0).
  double further_images(double arrays) const {
    if (how_.images == 0) return 0;
    double image_voxels = voxels_;
    for (int axis = 0; axis < 3; ++axis)
      if (const double n = scan_.cropped_matrix_size[axis]; n > 0)
        image_voxels *= n / scan_.matrix_size[axis];
    const double images = how_.images * (how_.frames ? how_.frames->frames : 1);
    // A volume that is read has a calibration of its own, also where it is that of a series.
    const double calibration = scan_.calibration_samples * (scan_.coils * held_bytes(scan_.in_double) + 24),
                 read_bytes = samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24) + calibration;
    if (how_.images_wait_in_memory || how_.frames)
      return (images - 1) * image_voxels * (element_ == 16 ? 24 : 8) * (how_.companion ? 2 : 1) * 4 +
             std::min(images - 1, 2.0) * calibration;
    const auto concurrent =
        concurrent_volumes(device_, how_.images, static_cast<std::int64_t>(voxels_), omp_get_max_threads());
    return (concurrent - 1) * arrays + std::min(images - 1, 10.0) * read_bytes;
  }

  ScanSizes scan_;
  const EstimateSettings& how_;
  const LeastSquares* method_ = least_squares(how_.settings);  ///< null: another method
  Device device_ = device_for(how_.settings, how_.device);
  bool gpu_ = device_.is_cuda();
  double element_ = static_cast<double>(bytes_of_complex(how_.settings.precision)), voxels_ = scan_.voxels(),
         image_ = voxels_ * element_, samples_ = scan_.samples.all;
  int segments_ = 0, differences_ = 0;
  double kept_ = 0;                   ///< mark of what is kept after the solution
  bool in_double_ = scan_.in_double;  ///< the prepared scan
  TransformSettings transform_{};
  // Frames:
  double times_ = 1;  ///< that stages are done
  bool is_of_frame_ = false, is_joint_ = false;
  double unknown_images_ = 1, images_together_ = 1,
         products_together_ = 1;  ///< of one image, that E^H E of all is
  MemoryLedger of_frame_;
  Estimate out_;
};

}  // namespace

Estimate estimate(const ScanSizes& scan, const EstimateSettings& how) {
  ScanSizes sizes = scan;
  const AxisOrder order = long_axes_first(scan.matrix_size);
  sizes.matrix_size = in_order(order, scan.matrix_size);
  sizes.resolved = in_order(order, scan.resolved);
  sizes.cropped_matrix_size = in_order(order, scan.cropped_matrix_size);
  return Walk(sizes, how)();
}

}  // namespace fhd
