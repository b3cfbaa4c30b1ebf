// ADMM on small problems, against a primal-dual method without inner systems, written out here, that goes on for
// long.
#include "recon/solve/admm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using namespace fhd::tests;

/// E^H E of random rows that see an image; ill-conditioned where there are fewer rows than voxels.
class RandomNormal final : public HermitianOperator<double> {
 public:
  RandomNormal(const Shape& image, std::int64_t rows, unsigned seed)
      : image_(image), rows_(random_values<double>({rows, image.size()}, seed)) {}
  Shape domain() const override { return image_; }
  Device device() const override { return Device::cpu(); }
  void forward(const Array<Complex<double>>& in, Array<Complex<double>>& out) const override {
    const auto samples = encode(in);
    out.fill_zero();
    for (std::int64_t m = 0; m < samples.size(); ++m)
      for (std::int64_t p = 0; p < out.size(); ++p) out[p] += conj(rows_[m * image_.size() + p]) * samples[m];
  }
  Array<Complex<double>> encode(const Array<Complex<double>>& image) const {
    Array<Complex<double>> samples(Shape{rows_.extent(0)});
    for (std::int64_t m = 0; m < samples.size(); ++m)
      for (std::int64_t p = 0; p < image.size(); ++p) samples[m] += rows_[m * image_.size() + p] * image[p];
    return samples;
  }

 private:
  Shape image_;
  Array<Complex<double>> rows_;
};

/// An image of two levels and a ramp, and what rows see of it.
Array<Complex<double>> right_hand_side(const RandomNormal& normal) {
  const Shape n = normal.domain();
  Array<Complex<double>> truth(n), b(n);
  for (std::int64_t p = 0; p < truth.size(); ++p) {
    const double x = static_cast<double>(p % n[2]), y = static_cast<double>(p / n[2] % n[1]);
    truth[p] = {x < 4 ? 1.0 : 0.1 * y, x + y < 9 ? 0.5 : 0.0};
  }
  normal.forward(truth, b);
  return b;
}

Problem<double> problem_of(std::shared_ptr<const RandomNormal> normal,
                           std::vector<std::shared_ptr<const SparseTerm<double>>> terms, double weight,
                           double lambda = 0) {
  Problem<double> problem{normal, {{identity_term<double>(), lambda}}, {}};
  for (auto& term : terms) problem.sparse.push_back({std::move(term), weight});
  return problem;
}

/// min J by x = x - tau (N x - b + A^H y), y = prox of sigma g* at y + sigma A (2 x - x_before), with
/// 1 / tau - sigma |A|^2 >= L / 2. Source: Condat, J. Optim. Theory Appl. 158:460 (2013), algorithm 3.1.
double reference_objective(const Problem<double>& problem, const Array<Complex<double>>& b, int iterations) {
  int auxiliary = 0;
  for (const auto& each : problem.sparse) auxiliary = std::max(auxiliary, each.term->auxiliary());
  const auto system = problem.system();
  const double l = 1.1 * largest_eigenvalue(system, 30),
               a_square = 14.0 * static_cast<double>(problem.sparse.size()), sigma = l / (2 * a_square),
               tau = 1 / (l / 2 + sigma * a_square);
  Array<Complex<double>> x(Shape{1 + auxiliary, b.extent(0), b.extent(1), b.extent(2)}), step(x.shape()),
      ahead(x.shape()), product(b.shape());
  std::vector<Array<Complex<double>>> y;
  for (const auto& each : problem.sparse)
    y.emplace_back(Shape{each.term->planes(), b.extent(0), b.extent(1), b.extent(2)});
  for (int i = 0; i < iterations; ++i) {
    system.forward(image_of(x, b.shape()), product);
    step.fill_zero();
    auto of_image = image_of(step, b.shape());
    add_scaled(of_image, 1.0, product);
    add_scaled(of_image, -1.0, b);
    for (std::size_t j = 0; j < y.size(); ++j) problem.sparse[j].term->add_adjoint(y[j], 1, step);
    copy(x, ahead);
    add_scaled(x, -tau, step);
    scale(ahead, -1.0);
    add_scaled(ahead, 2.0, x);
    for (std::size_t j = 0; j < y.size(); ++j) {
      const auto& [term, weight] = problem.sparse[j];
      Array<Complex<double>> c(y[j].shape());
      term->analyze(ahead, c);
      add_scaled(y[j], sigma, c);
      copy(y[j], c);
      scale(c, 1 / sigma);
      term->shrink(weight / sigma, c);
      add_scaled(y[j], -sigma, c);  // Moreau
    }
  }
  const auto image = image_of(x, b.shape());
  system.forward(image, product);
  double objective = 0.5 * real_dot(image, product) - real_dot(image, b);
  for (const auto& [term, weight] : problem.sparse) {
    Array<Complex<double>> c(Shape{term->planes(), b.extent(0), b.extent(1), b.extent(2)});
    term->analyze(x, c);
    objective += weight * term->value(c);
  }
  return objective;
}

struct Sum {
  std::string name;
  std::vector<std::shared_ptr<const SparseTerm<double>>> terms;
  double lambda = 0;
};

const Shape image{1, 8, 11};
const auto tv = sparse_term<double>(SparseKind::tv, image, Device::cpu()),
           tgv = sparse_term<double>(SparseKind::tgv, image, Device::cpu());

AdmmSettings exact(double tolerance) {
  AdmmSettings settings{2000, tolerance};
  settings.penalty = 20;
  settings.inner_iterations = 30;
  return settings;
}

const std::vector<Sum>& sums() {
  static const auto wavelet = wavelet_term<double>(image, Device::cpu());
  static const std::vector<Sum> all{{"wavelet", {wavelet}},
                                    {"tv", {tv}},
                                    {"tgv", {tgv}},
                                    {"wavelet and tv", {wavelet, tv}},
                                    {"tv and identity", {tv}, 20}};
  return all;
}

TEST(Admm, reaches_the_objective_of_a_long_primal_dual_run) {
  const auto normal = std::make_shared<RandomNormal>(image, 60, 1);
  const auto b = right_hand_side(*normal);
  for (const auto& [name, terms, lambda] : sums()) {
    const auto problem = problem_of(normal, terms, 8, lambda);
    const double reference = reference_objective(problem, b, 20000);
    Array<Complex<double>> x(image);
    const auto found = admm(problem, b, x, exact(1e-7));
    EXPECT_TRUE(found.converged) << name << " " << found.relative_residuals.back();
    // At a residual of 1e-7 the objective, flat at its minimum, is that of the minimum to the first order of |A u - z|.
    EXPECT_NEAR(found.objectives.back(), reference, 1e-5 * std::abs(reference)) << name;
    EXPECT_LT(found.objectives.back(), 0.999 * found.objectives.front()) << name;
  }
}

TEST(Admm, leaves_duals_that_make_the_gradient_vanish_and_lie_in_the_subdifferential) {
  const auto normal = std::make_shared<RandomNormal>(image, 60, 2);
  const auto b = right_hand_side(*normal);
  const auto problem = problem_of(normal, {tv}, 8);
  Array<Complex<double>> x(image), gradient(image), c(Shape{2, 1, 8, 11});
  const AdmmSettings settings = exact(1e-8);
  const auto found = admm(problem, b, x, settings);
  problem.system().forward(x, gradient);
  add_scaled(gradient, -1.0, b);
  problem.sparse[0].term->add_adjoint(found.duals[0], 1, gradient);
  EXPECT_LE(length(gradient), 1e-8 * length(b));
  for (std::int64_t p = 0; p < image.size(); ++p)
    EXPECT_LE(std::hypot(abs(found.duals[0][p]), abs(found.duals[0][image.size() + p])), 8 * (1 + 1e-12));
  problem.sparse[0].term->analyze(x, c);
  EXPECT_NEAR(real_dot(found.duals[0], c), 8 * problem.sparse[0].term->value(c),
              1e-5 * 8 * problem.sparse[0].term->value(c));
}

TEST(Admm, goes_on_from_a_solution) {
  const auto normal = std::make_shared<RandomNormal>(image, 60, 3);
  const auto b = right_hand_side(*normal);
  const AdmmSettings settings = exact(1e-6);
  for (const auto& [name, terms, lambda] : sums()) {
    const auto problem = problem_of(normal, terms, 8, lambda);
    Array<Complex<double>> x(image);
    auto found = admm(problem, b, x, settings);
    const auto cold = found.relative_residuals.size();
    ASSERT_GT(cold, 8u) << name << ": the case proves nothing";
    const auto solved = x;
    // It is one already, but that the coefficients start as A u.
    auto again = admm(problem, b, x, settings, {}, {}, std::move(found));
    EXPECT_LT(2 * again.relative_residuals.size(), cold) << name;
    // Both within 1e-6 of stationarity and feasibility, of a problem whose curvature is some 1e-2 of its largest at least.
    add_scaled(x, -1.0, solved);
    EXPECT_LE(length(x), 1e-3 * length(solved)) << name;
  }
}

TEST(Admm, refuses_data_that_are_not_finite) {
  const auto normal = std::make_shared<RandomNormal>(image, 60, 3);
  const auto b = right_hand_side(*normal);
  Array<Complex<double>> x(image);
  auto no_number = b;
  no_number[3] = {std::numeric_limits<double>::quiet_NaN(), 0};
  EXPECT_THROW(admm(problem_of(normal, {tv}, 1), no_number, x, AdmmSettings{}), Error);
}

TEST(Admm, leave_zeros_where_there_are_no_data) {
  const auto normal = std::make_shared<RandomNormal>(image, 60, 6);
  const Array<Complex<double>> b(image);
  for (const auto& [name, terms, lambda] : sums()) {
    Array<Complex<double>> x(image);
    const auto found = admm(problem_of(normal, terms, 0, lambda), b, x, AdmmSettings{});
    EXPECT_TRUE(found.converged) << name;
    EXPECT_LE(length(x), 0.0) << name;
  }
}

}  // namespace
