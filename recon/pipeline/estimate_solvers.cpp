// The cost of a system of least squares: its model, its solvers, and frames that share them.
#include <algorithm>
#include <cmath>

#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Returns the iterations that bring the residual of a spectrum between lambda and `largest` + lambda down to the
/// tolerance: half of sqrt(condition) ln(2 / tolerance). Source: Shewchuk (1994), 9.
int chebyshev_iterations(double largest_over_lambda, double tolerance) {
  const double most = std::sqrt(1 + largest_over_lambda) * std::log(2 / tolerance) / 2;
  return static_cast<int>(std::min(1e9, std::ceil(most)));
}

}  // namespace

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

Work work_of_blocks(const LeastSquares& method, double voxels, double images, Device device) {
  const auto is_low_rank = [](const SparsePenalty& each) { return each.kind == SparseKind::llr; };
  if (device.is_cuda() || std::none_of(method.sparse.begin(), method.sparse.end(), is_low_rank)) return {};
  constexpr double block = 64, grids = 2;
  const double size = std::min(block, images), other = std::max(block, images),
               of_block = 20 * std::pow(size, 3) + 6 * size * size * other;
  return {WorkUnit::algebra, 3 * grids * voxels / block * of_block};
}

void hold_frames(const ScanSizes& scan, const FrameSizes& layout, const Settings& settings, Device device,
                 MemoryLedger& memory) {
  const LeastSquares& method = *least_squares(settings);
  const double element = static_cast<double>(bytes_of_complex(settings.precision)),
               image = scan.voxels() * element, frames = layout.frames, samples = layout.samples_per_frame,
               coils = scan.coils, segments = scan.time_segments, maps = coils * image;
  const double operators = std::max(scan.difference_segments, 1);  // of a frame
  const TransformSizes sizes{scan.matrix_size, {layout.samples_per_frame, 0, 0}, settings.precision, device};
  const OperatorCost toeplitz = toeplitz_cost(scan.matrix_size, scan.coils, settings.precision, device);
  const double toeplitz_bytes = (toeplitz.bytes + toeplitz.scratch_bytes) - maps,
               q = difference_points(scan.matrix_size) * element;
  const bool segmented = scan.difference_segments > 0,
             preconditioned = uses_preconditioner(method, segmented);
  const std::int64_t components = component_count(method, layout.frames);
  const double unknowns = components > 0 ? components : frames;
  memory.hold((frames + 2) * samples * coils * element);  // samples, and predicted ones
  memory.hold(2 * maps + 2 * frames * image);             // maps and coil images, images and right-hand sides
  memory.hold(frames * operators * toeplitz_bytes);
  if (segmented) {
    memory.hold(operators * maps + frames * image);  // turned maps
    memory.hold(2 * (segments * (image + samples * element) + samples * coils * element));
    if (device.is_cpu()) memory.hold((segments + operators) * (scan.samples.all + samples) * 16);
  }
  if (preconditioned) memory.hold(preconditioner_cost(sizes, scan.coils, device).bytes);
  if (components > 0) {
    memory.hold((2 * frames + 3 * unknowns) * image);  // of the subspace
    if (!segmented && takes_pairs(components, layout.frames))
      memory.hold(0.5 * unknowns * (unknowns + 1) * (toeplitz_bytes + q));
  }
  memory.hold_briefly(4 * q);  // in the making
  const auto mark = memory.mark();
  const auto terms = sparse_terms_cost(method.sparse, scan.matrix_size);
  if (method.sparse.empty()) {
    memory.hold(conjugate_gradient_bytes(
        (components > 0 ? unknowns : 1) * scan.voxels(),
        {.iterations = method.iterations,
         .kept_residuals = components > 0 ? 0 : ConjugateGradientSettings{}.kept_residuals},
        settings.precision, device, 1, preconditioned));
  } else {
    memory.hold((terms.held + unknowns) * image);
    memory.hold(
        admm_bytes(unknowns * scan.voxels(), terms.planes, 0, settings.precision, device, preconditioned));
    if (searches_strength(method))
      memory.hold_briefly(strength_search_images(terms.planes) * unknowns * image);
  }
  memory.release(mark);
  memory.hold(8 * image +
              (device.is_cpu() ? frames * scan.voxels() * 16 : 0));  // a frame's checks; finished images
}

void Walk::solve(const LeastSquares& method) {
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
Work Walk::model(const LeastSquares& method, const TransformCost& transform) {
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
Work Walk::segmented_model(const LeastSquares& method, const TransformCost& transform,
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

void Walk::iterate(const LeastSquares& method, const TransformCost& transform, const Work& normal) {
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

void Walk::run_conjugate_gradient(const LeastSquares& method, const Work& normal) {
  const ConjugateGradientSettings limits{.iterations = method.iterations};
  const double kept = std::min(limits.iterations, limits.kept_residuals);
  const bool searches = std::holds_alternative<FromNoise>(method.lambda);
  arrays().hold(conjugate_gradient_bytes(unknowns(), limits, how_.settings.precision, device_, 1,
                                         uses_preconditioner(method, segments_ > 0)) +
                (searches ? 2 * unknowns() * element_ : 0));
  const Work solve = (out_.iterations + 1) * (normal + vectors(std::min<double>(out_.iterations, kept) / 2));
  out_.iteration = normal + vectors(kept);
  if (searches) stage("search of lambda", out_.solves * 8 * solve);  // each of some eight from the one before
  stage("conjugate gradient", out_.solves * solve);
}

/// Adds the image that ADMM starts from, and its iterations with some of conjugate gradient in each.
void Walk::run_admm(const LeastSquares& method, const Work& normal) {
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
  // An iteration applies A and A^H of the terms in each inner one, and sums up planes.
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

void Walk::predict_samples(const TransformCost& transform) {
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

/// Adds the small frames whose principal components the courses are: subspace.cpp.
void Walk::find_temporal_basis(const LeastSquares& method) {
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
void Walk::solve_frames(const LeastSquares& method) {
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

}  // namespace fhd
