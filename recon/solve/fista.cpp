#include "recon/solve/fista.hpp"

#include <cmath>
#include <utility>

namespace fhd {
namespace {

/// A point and N times it.
template <class T>
struct Point {
  Array<Complex<T>> values, product;

  explicit Point(const Array<Complex<T>>& start) : values(start), product(start.shape(), start.device()) {}
  /// this + factor (this - before), into `out`.
  void extrapolate(const Point& before, double factor, Point& out) const {
    copy(values, out.values);
    copy(product, out.product);
    for (auto [to, now, last] : {std::tuple{&out.values, &values, &before.values},
                                 std::tuple{&out.product, &product, &before.product}}) {
      scale(*to, static_cast<T>(1 + factor));
      add_scaled(*to, static_cast<T>(-factor), *last);
    }
  }
};

/// rho' from s; the coefficients are left as A v - shrink(A v), L times which is the dual.
template <class T>
void prox_step(const SparseTerm<T>& term, double weight, double l, const Point<T>& s, const Array<Complex<T>>& b,
               Array<Complex<T>>& v, Array<Complex<T>>& coefficients, Array<Complex<T>>& shrunk, Point<T>& next) {
  copy(s.values, v);
  add_scaled(v, static_cast<T>(-1 / l), s.product);
  add_scaled(v, static_cast<T>(1 / l), b);
  term.analyze(v, coefficients);
  copy(coefficients, shrunk);
  term.shrink(static_cast<T>(weight / l), shrunk);
  next.values.fill_zero();
  term.add_adjoint(shrunk, T(1), next.values);
  add_scaled(coefficients, T(-1), shrunk);
}

}  // namespace

template <class T>
SparseSolution<T> fista(const Problem<T>& problem, const Array<Complex<T>>& b, Array<Complex<T>>& image,
                        const FistaSettings& settings, const ProgressCallback& progress) {
  require_sparse_problem(problem, b, image, settings);
  const double l = settings.largest_eigenvalue, weight = problem.sparse.front().weight;
  if (!(l > 0)) throw Error("FISTA", "a largest eigenvalue above 0", std::to_string(l));
  const SparseTerm<T>& term = *problem.sparse.front().term;
  if (problem.sparse.size() != 1 || !term.is_tight())
    throw Error("FISTA", "one term with a prox in closed form", "other terms");
  const auto normal = problem.system();
  const double b_norm = norm_l2(b);
  Point<T> rho(image), next(image), s(image);
  Array<Complex<T>> v(b.shape(), b.device()),
      coefficients(Shape{term.planes(), b.extent(0), b.extent(1), b.extent(2)}, b.device()),
      shrunk(coefficients.shape(), b.device());
  const auto objective = [&](const Point<T>& at) {
    term.analyze(at.values, shrunk);
    return 0.5 * real_dot(at.values, at.product) - real_dot(at.values, b) + weight * term.value(shrunk);
  };
  normal.forward(rho.values, rho.product);
  copy(rho.product, s.product);
  SparseSolution<T> result;
  result.relative_residuals.push_back(1);
  result.objectives.push_back(objective(rho));
  result.subgradient = Array<Complex<T>>(b.shape(), b.device());
  double t = 1;
  for (int i = 0; i < settings.iterations && !result.converged; ++i) {
    prox_step(term, weight, l, s, b, v, coefficients, shrunk, next);
    normal.forward(next.values, next.product);
    // A^H y = L (v - rho'), for A^H A = 1.
    copy(v, result.subgradient);
    add_scaled(result.subgradient, T(-1), next.values);
    scale(result.subgradient, static_cast<T>(l));
    copy(result.subgradient, v);
    add_scaled(v, T(1), next.product);
    add_scaled(v, T(-1), b);
    const double residual = relative_stationarity(norm_l2(v), norm_l2(result.subgradient), b_norm);
    if (!std::isfinite(residual))
      throw Error("FISTA", "a finite residual", "NaN or infinity after " + std::to_string(i + 1) + " iterations",
                  "the data or the sensitivity maps are too large for single precision; use "
                  "settings.precision = double");
    result.relative_residuals.push_back(residual);
    result.objectives.push_back(objective(next));
    result.converged = residual <= settings.tolerance;
    if (progress) progress({"FISTA", i + 1, settings.iterations, residual});
    // <s - rho', rho' - rho>
    copy(s.values, v);
    add_scaled(v, T(-1), next.values);
    if (real_dot(v, next.values) - real_dot(v, rho.values) > 0) t = 1;
    const double t_next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    next.extrapolate(rho, (t - 1) / t_next, s);
    t = t_next;
    std::swap(rho, next);
  }
  copy(rho.values, image);
  scale(coefficients, static_cast<T>(l));
  result.duals.push_back(std::move(coefficients));
  return result;
}

double fista_bytes(double voxels, double planes, Precision precision) {
  // Three points with their products, v, the subgradient, the sum of a term; A v and what is left of it.
  return static_cast<double>(bytes_of_complex(precision)) * voxels * (9 + 2 * planes);
}

#define FHD_INSTANTIATE(T)                                                                              \
  template SparseSolution<T> fista<T>(const Problem<T>&, const Array<Complex<T>>&, Array<Complex<T>>&,  \
                                      const FistaSettings&, const ProgressCallback&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
