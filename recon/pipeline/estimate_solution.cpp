// What a system of least squares costs: its model and its solvers.
#include <algorithm>
#include <cmath>

#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

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
  const Work product = products_together_ * normal;
  if (needs_largest_eigenvalue(method))  // its random start is one thread's
    stage("largest eigenvalue", 10.0 * (product + vectors(0)) + touched(4 * unknowns() * element_),
          unknowns() * 1e-8);
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
    run_admm(method, product);
  else
    run_conjugate_gradient(method, product);
  arrays().release(mark);
}

void Walk::run_conjugate_gradient(const LeastSquares& method, const Work& normal) {
  const double image = unknowns() * element_;
  const ConjugateGradientSettings limits{.iterations = method.iterations};
  const double kept = std::min(limits.iterations, limits.kept_residuals),
               before = std::min<double>(out_.iterations, kept);
  arrays().hold("vectors of the solver",
                conjugate_gradient_bytes(unknowns(), limits, how_.settings.precision, device_, 1,
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
  const double image = unknowns() * element_;
  const bool preconditioned = uses_preconditioner(method, segments_ > 0);
  const auto terms = sparse_terms_cost(method.sparse, scan_.matrix_size);
  const ConjugateGradientSettings of_start{.iterations = first_image_iterations(preconditioned)};
  arrays().hold_briefly(
      "vectors of the first image",
      conjugate_gradient_bytes(unknowns(), of_start, how_.settings.precision, device_, 1, preconditioned));
  out_.host.hold_briefly("magnitudes of the first image", unknowns() * (8 + element_));
  arrays().hold("vectors of the solver, duals and subgradient",
                admm_bytes(unknowns(), terms.planes, terms.auxiliary, how_.settings.precision, device_,
                           preconditioned));
  constexpr double start_iterations = 8;  // to a per cent
  stage("first image", out_.solves * (start_iterations * (normal + vectors(0)) + touched(4 * image)),
        unknowns() * 1e-7);
  const double inner =
      inner_iterations(preconditioned);  // with A and A^H of the terms in each; sums of planes
  const double passes = (3 + (terms.auxiliary > 0 ? 2 * inner : 0)) * terms.passes + 10 * terms.planes;
  out_.iteration =
      inner * (normal + (1 + terms.auxiliary) * vectors(0)) + normal + copied(passes * image) + regions(60);
  if (searches_strength(method)) {
    arrays().hold_briefly("search of strength",
                          strength_search_images(terms.planes) * image + samples_ * channels() * element_);
    stage("search of strength", out_.solves * strength_search_iterations * out_.iteration);
  }
  stage(name_of(SolverKind::admm),
        out_.solves * (out_.iterations * out_.iteration + touched((3 * terms.planes + 6) * image)));
}

}  // namespace fhd
