#include "recon/solve/admm.hpp"

#include <algorithm>
#include <cmath>

#include "recon/domain/option_words.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {
namespace {

constexpr double relaxation = 1.6;
constexpr double inner_tolerance = 0.3;
constexpr int balanced_every = 10;

/// Returns the stationarity |N rho - b + sum A_j^H y_j|, relative to |sum A_j^H y_j| and |b|.
double relative_stationarity(double gradient, double force, double b) {
  constexpr double least_force = 3e-4;  // of |b|: below, the terms hardly matter
  const double scale = std::max(force, least_force * b);
  return scale > 0 ? gradient / scale : 0;
}

/// Returns the preconditioner of all unknowns: of the image its own, of the auxiliary ones the mean of the diagonal.
template <class T>
std::shared_ptr<const HermitianOperator<T>> unknowns_preconditioner(
    std::shared_ptr<const HermitianOperator<T>> of_image, const Shape& unknowns, double curvature) {
  const Device device = of_image->device();
  return hermitian_operator<T>(unknowns, device,
                               [of_image = std::move(of_image),
                                auxiliary_scale = static_cast<T>(1 / curvature)](const auto& in, auto& out) {
                                 copy(in, out);
                                 scale(out, auxiliary_scale);
                                 auto image = image_of(out, of_image->domain());
                                 of_image->forward(image_of(in, of_image->domain()), image);
                               });
}

/// The split variables of a term: z, w and A u - z.
template <class T>
struct Split {
  const SparseTerm<T>& term;
  double weight;
  Array<Complex<T>> coefficients, dual, gap;

  Split(const WeightedSparseTerm<T>& weighted, const Shape& image, Device device)
      : term(*weighted.term), weight(weighted.weight) {
    const Shape planes{term.planes(), image[0], image[1], image[2]};
    for (auto* values : {&coefficients, &dual, &gap}) *values = Array<Complex<T>>(planes, device);
  }
};

template <class T>
int auxiliary_of(const Problem<T>& problem) {
  int count = 0;
  for (const auto& [term, weight] : problem.sparse) count = std::max(count, term->auxiliary());
  return count;
}

template <class T>
class Admm {
 public:
  Admm(const Problem<T>& problem, const Array<Complex<T>>& b, Array<Complex<T>>& image,
       const AdmmSettings& settings, const PreconditionerOf<T>& preconditioner, SparseSolution<T> start)
      : b_(b),
        image_(image),
        settings_(settings),
        preconditioner_of_(preconditioner),
        unknowns_(Shape{1 + auxiliary_of(problem), b.extent(0), b.extent(1), b.extent(2)}, b.device()),
        right_hand_side_(unknowns_.shape(), b.device()),
        correction_(unknowns_.shape(), b.device()),
        product_(b.shape(), b.device()),
        quadratic_(problem.system()),
        b_norm_(norm_l2(b)) {
    for (const auto& weighted : problem.sparse) {
      splits_.emplace_back(weighted, b.shape(), b.device());
      curvature_ += weighted.term->auxiliary_curvature();
    }
    system_ = hermitian_operator<T>(unknowns_.shape(), b.device(), [this](const auto& in, auto& out) {
      out.fill_zero();
      auto of_image = image_of(out, b_.shape());
      quadratic_.forward(image_of(in, b_.shape()), of_image);
      for (const auto& split : splits_) split.term.add_normal(in, static_cast<T>(penalty_), out);
    });
    copy_range(image, 0, unknowns_, 0, image.size());
    if (!start.duals.empty()) start_from(std::move(start));
    quadratic_.forward(image, product_);
    for (auto& split : splits_) split.term.analyze(unknowns_, split.coefficients);
    set_penalty(settings.penalty);
    result_.relative_residuals.push_back(1);
    result_.objectives.push_back(quadratic_objective());
    for (auto& split : splits_)
      result_.objectives.front() += split.weight * split.term.value(split.coefficients);
  }

  SparseSolution<T> operator()(const ProgressCallback& progress) {
    for (int i = 0; i < settings_.iterations && !result_.converged; ++i) {
      correct_unknowns();
      const double feasibility = split_and_update(), stationarity = find_subgradient();
      const double residual = std::max(feasibility, stationarity);
      if (!std::isfinite(residual))
        throw Error("ADMM", "a finite residual",
                    "NaN or infinity after " + std::to_string(i + 1) + " iterations",
                    "the data or the sensitivity maps are too large for single precision; use " +
                        option_words("precision", "double"));
      result_.relative_residuals.push_back(residual);
      result_.converged = residual <= settings_.tolerance;
      if (progress) progress({"ADMM", i + 1, settings_.iterations, residual});
      if ((i + 1) % balanced_every == 0 && 2 * (i + 1) <= settings_.iterations)
        balance(feasibility, stationarity);
    }
    copy_range(unknowns_, 0, image_, 0, image_.size());
    for (auto& split : splits_) {
      scale(split.dual, static_cast<T>(penalty_));
      result_.duals.push_back(std::move(split.dual));
    }
    result_.subgradient = Array<Complex<T>>(b_.shape(), b_.device());
    copy_range(right_hand_side_, 0, result_.subgradient, 0, b_.size());
    if (unknowns_.size() > b_.size()) {
      result_.auxiliary = Array<Complex<T>>(
          Shape{unknowns_.extent(0) - 1, b_.extent(0), b_.extent(1), b_.extent(2)}, b_.device());
      copy_range(unknowns_, b_.size(), result_.auxiliary, 0, result_.auxiliary.size());
    }
    return std::move(result_);
  }

 private:
  /// With penalty 1, which the first one replaces.
  void start_from(SparseSolution<T> start) {
    for (std::size_t j = 0; j < splits_.size(); ++j) splits_[j].dual = std::move(start.duals[j]);
    if (unknowns_.size() == b_.size()) return;
    copy_range(start.auxiliary, 0, unknowns_, b_.size(), start.auxiliary.size());
  }

  double quadratic_objective() const {
    const auto image = image_of(unknowns_, b_.shape());
    return 0.5 * real_dot(image, product_) - real_dot(image, b_);
  }

  /// `factor` sum A_j^H c_j, overwriting the right-hand side.
  template <class Coefficients>
  void gather(double factor, const Coefficients& coefficients_of) {
    right_hand_side_.fill_zero();
    for (auto& split : splits_)
      split.term.add_adjoint(coefficients_of(split), static_cast<T>(factor), right_hand_side_);
  }

  /// u, from the residual of its system.
  void correct_unknowns() {
    gather(-penalty_, [](Split<T>& split) -> const Array<Complex<T>>& {
      add_scaled(split.gap, T(1), split.dual);
      return split.gap;
    });
    auto of_image = image_of(right_hand_side_, b_.shape());
    add_scaled(of_image, T(1), b_);
    add_scaled(of_image, T(-1), product_);
    correction_.fill_zero();
    conjugate_gradient(*system_, right_hand_side_, correction_,
                       {.iterations = settings_.inner_iterations,
                        .tolerance = inner_tolerance,
                        .check_every = settings_.check_every,
                        .kept_residuals = 0,
                        .from_zero = true},
                       {}, preconditioner_.get());
    add_scaled(unknowns_, T(1), correction_);
    quadratic_.forward(image_of(unknowns_, b_.shape()), product_);
  }

  /// z, w and the objective; |A u - z| / max(|A u|, |z|).
  double split_and_update() {
    double objective = quadratic_objective(), gaps = 0, sizes = 0, kept_sizes = 0;
    for (auto& [term, weight, z, w, gap] : splits_) {
      term.analyze(unknowns_, gap);
      objective += weight * term.value(gap);
      sizes += real_dot(gap, gap);
      add_scaled(w, T(relaxation), gap);
      add_scaled(w, T(1 - relaxation), z);
      copy(w, z);
      term.shrink(static_cast<T>(weight / penalty_), z);
      add_scaled(w, T(-1), z);
      add_scaled(gap, T(-1), z);
      gaps += real_dot(gap, gap);
      kept_sizes += real_dot(z, z);
    }
    result_.objectives.push_back(objective);
    const double size = std::max(sizes, kept_sizes);
    return size > 0 ? std::sqrt(gaps / size) : 0;
  }

  /// sum A_j^H y_j, in the place of the right-hand side; how far N rho - b + that is from 0.
  double find_subgradient() {
    gather(penalty_, [](Split<T>& split) -> const Array<Complex<T>>& { return split.dual; });
    const double force = norm_l2(right_hand_side_);
    copy(right_hand_side_, correction_);
    auto of_image = image_of(correction_, b_.shape());
    add_scaled(of_image, T(1), product_);
    add_scaled(of_image, T(-1), b_);
    result_.stationarity = b_norm_ > 0 ? norm_l2(of_image) / b_norm_ : 0;
    return relative_stationarity(norm_l2(correction_), force, b_norm_);
  }

  void set_penalty(double penalty) {
    for (auto& split : splits_) scale(split.dual, static_cast<T>(penalty_ / penalty));
    penalty_ = penalty;
    if (!preconditioner_of_) return;
    preconditioner_.reset();  // it is as large as the coils
    preconditioner_ = preconditioner_of_(penalty);
    if (preconditioner_)
      preconditioner_ = unknowns_preconditioner(std::move(preconditioner_), unknowns_.shape(),
                                                curvature_ > 0 ? penalty * curvature_ : 1);
  }

  void balance(double feasibility, double stationarity) {
    constexpr double apart = 4, step = 2;
    if (feasibility > apart * stationarity) set_penalty(penalty_ * step);
    if (stationarity > apart * feasibility) set_penalty(penalty_ / step);
  }

  const Array<Complex<T>>& b_;
  Array<Complex<T>>& image_;
  AdmmSettings settings_;
  const PreconditionerOf<T>& preconditioner_of_;
  Array<Complex<T>> unknowns_, right_hand_side_, correction_, product_;  ///< product: N of the image
  RegularizedNormal<T> quadratic_;                                       ///< N
  double penalty_ = 1;
  double b_norm_, curvature_ = 0;
  std::vector<Split<T>> splits_;
  /// N + penalty sum A_j^H A_j on unknowns [1 + auxiliary][z][y][x], and its preconditioner.
  std::shared_ptr<const HermitianOperator<T>> system_, preconditioner_;
  SparseSolution<T> result_;
};

}  // namespace

template <class T>
SparseSolution<T> admm(const Problem<T>& problem, const Array<Complex<T>>& b, Array<Complex<T>>& image,
                       const AdmmSettings& settings, const PreconditionerOf<T>& preconditioner,
                       const ProgressCallback& progress, SparseSolution<T> start) {
  return Admm<T>(problem, b, image, settings, preconditioner, std::move(start))(progress);
}

double admm_bytes(double voxels, double planes, double auxiliary, Precision precision, Device device,
                  bool preconditioned) {
  const double element = static_cast<double>(bytes_of_complex(precision)),
               unknowns = (1 + auxiliary) * voxels;
  // u, its correction and right-hand side, N rho; z, w, A u - z.
  return element * (3 * unknowns + voxels + 3 * planes * voxels) +
         conjugate_gradient_bytes(unknowns, {.iterations = 50, .kept_residuals = 0}, precision, device, 1,
                                  preconditioned);
}

#define FHD_INSTANTIATE(T)                                                                            \
  template SparseSolution<T> admm<T>(const Problem<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
                                     const AdmmSettings&, const PreconditionerOf<T>&,                 \
                                     const ProgressCallback&, SparseSolution<T>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
