#include "recon/solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "recon/array/vector_math.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd {

template <class T>
ConjugateGradientResult conjugate_gradient(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                                           Array<Complex<T>>& x, const ConjugateGradientSettings& settings,
                                           const ProgressCallback& progress) {
  if (settings.iterations < 1) throw Error("iterations", "at least 1", std::to_string(settings.iterations));
  if (!(settings.tolerance >= 0 && settings.tolerance < 1))
    throw Error("tolerance", "a relative residual in [0, 1)", std::to_string(settings.tolerance));
  require_shape(b, a.domain(), "right-hand side");
  require_shape(x, a.domain(), "solution");

  const Device device = b.device();
  // rr[i] = |r_i|^2, pq[i] = <p_i, A p_i>: kept on the device, one element for each iteration.
  Array<double> rr(Shape{settings.iterations + 1}, device), pq(Shape{settings.iterations}, device);
  Array<Complex<T>> r(b), p(b.shape(), device), q(b.shape(), device);
  const double b_norm = norm_l2(b);
  ConjugateGradientResult result;
  if (b_norm == 0) {
    x.fill_zero();
    result.converged = true;
    result.relative_residuals = {0};
    return result;
  }
  a.forward(x, q);
  add_scaled(r, T(-1), q);
  copy(r, p);
  dot(r, r, rr, 0);
  ResidualBasis<T> basis(a.domain(), std::min(settings.iterations, settings.kept_residuals), device);
  basis.keep(r, rr, 0);

  // Below the rounding of T there is nothing to gain, and residuals would shrink until they underflow. From
  // the first residual that is small enough on, x stays as it is, also where the next look comes some
  // iterations later.
  const double small_enough =
      std::pow(std::max(settings.tolerance, 0.1 * std::numeric_limits<T>::epsilon()) * b_norm, 2);
  const auto look = [&](int done) {
    const Array<double> host = rr.to(Device::cpu());
    result.relative_residuals.clear();
    bool reached = false;
    for (int i = 0; i <= done && !reached; ++i) {
      result.relative_residuals.push_back(std::sqrt(host[i]) / b_norm);
      reached = host[i] <= small_enough;
    }
    const double residual = result.relative_residuals.back();
    if (!std::isfinite(residual))
      throw Error(
          "conjugate gradient", "a finite residual",
          "NaN or infinity after " + std::to_string(done) + " iterations",
          "the data or the sensitivity maps are too large for single precision; use --precision double");
    if (progress) progress({"conjugate gradient", done, settings.iterations, residual});
    return reached;
  };

  result.converged = look(0);
  for (int i = 0; i < settings.iterations && !result.converged; ++i) {
    a.forward(p, q);
    dot(p, q, pq, i);
    add_scaled(x, Quotient{rr, i, pq, i, +1, small_enough}, p);
    add_scaled(r, Quotient{rr, i, pq, i, -1, small_enough}, q);
    basis.project_out(r);
    dot(r, r, rr, i + 1);
    basis.keep(r, rr, i + 1);
    scale_and_add(p, Quotient{rr, i + 1, rr, i}, r);
    const bool last = i + 1 == settings.iterations;
    if (last || (i + 1) % settings.check_every == 0) result.converged = look(i + 1);
  }
  return result;
}

namespace {

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm sequences.
double largest_of_tridiagonal(const std::vector<double>& diagonal, const std::vector<double>& off_diagonal) {
  double low = diagonal[0], high = 0;
  const auto n = diagonal.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double left = i > 0 ? std::abs(off_diagonal[i - 1]) : 0,
                 right = i + 1 < n ? std::abs(off_diagonal[i]) : 0;
    high = std::max(high, diagonal[i] + left + right);  // Gershgorin
    low = std::max(low, diagonal[i]);
  }
  for (int step = 0; step < 60 && high - low > 1e-14 * high; ++step) {
    const double middle = (low + high) / 2;
    bool above = true;  // are all eigenvalues below `middle`: every pivot of T - middle is negative
    double pivot = diagonal[0] - middle;
    for (std::size_t i = 1; i < n && above; ++i) {
      above = pivot < 0;
      pivot = diagonal[i] - middle - off_diagonal[i - 1] * off_diagonal[i - 1] / pivot;
    }
    (above && pivot < 0 ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

template <class T>
double largest_eigenvalue(const HermitianOperator<T>& a, int steps) {
  const Device device = a.device();
  Array<Complex<T>> start(a.domain());
  std::mt19937 generator(20081);
  for (auto& v : start)
    v = {static_cast<T>(generator() * 0x1p-32 - 0.5), static_cast<T>(generator() * 0x1p-32 - 0.5)};
  steps = static_cast<int>(std::min<std::int64_t>(steps, start.size()));

  // Three-term recurrence: beta_j v_{j+1} = A v_j - alpha_j v_j - beta_{j-1} v_{j-1}.
  Array<Complex<T>> v = start.to(device), previous(v.shape(), device), next(v.shape(), device);
  scale(v, static_cast<T>(1 / norm_l2(v)));
  std::vector<double> alphas, betas;
  Array<double> product(Shape{1}, device);
  for (int step = 0; step < steps; ++step) {
    a.forward(v, next);
    dot(v, next, product, 0);
    const double alpha = product.to(Device::cpu())[0];
    alphas.push_back(alpha);
    if (step + 1 == steps) break;
    add_scaled(next, static_cast<T>(-alpha), v);
    if (step > 0) add_scaled(next, static_cast<T>(-betas.back()), previous);
    const double beta = norm_l2(next);
    if (!(beta > 1e-6 * std::abs(alpha))) break;  // an invariant subspace: the eigenvalue is exact
    betas.push_back(beta);
    scale(next, static_cast<T>(1 / beta));
    std::swap(previous, v);
    std::swap(v, next);
  }
  return largest_of_tridiagonal(alphas, betas);
}

#define FHD_INSTANTIATE(T)                                                       \
  template ConjugateGradientResult conjugate_gradient<T>(                        \
      const HermitianOperator<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
      const ConjugateGradientSettings&, const ProgressCallback&);                \
  template double largest_eigenvalue<T>(const HermitianOperator<T>&, int);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
