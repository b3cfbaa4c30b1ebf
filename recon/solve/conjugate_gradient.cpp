#include "recon/solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/array/vector_math.hpp"
#include "recon/solve/lanczos.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd {
namespace {

/// Throws unless b and x are stacks of vectors of the domain; how many.
template <class T>
std::int64_t require_systems(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                             const Array<Complex<T>>& x, const ConjugateGradientSettings& settings) {
  if (settings.iterations < 1) throw Error("iterations", "at least 1", std::to_string(settings.iterations));
  if (!(settings.tolerance >= 0 && settings.tolerance < 1))
    throw Error("tolerance", "a relative residual in [0, 1)", std::to_string(settings.tolerance));
  const std::int64_t size = a.domain().size();
  if (size < 1 || b.size() < size || b.size() % size != 0)
    throw Error("right-hand side", a.domain().text() + ", or a stack of such", b.shape().text());
  require_shape(x, b.shape(), "solution");
  return b.size() / size;
}

/// Norms of the right-hand sides, and what is small enough of |r|^2.
struct Aims {
  std::vector<double> norms;
  Array<double> small_enough;  ///< on the device

  template <class T>
  Aims(const Array<Complex<T>>& b, std::int64_t systems, double tolerance)
      : norms(static_cast<std::size_t>(systems)), small_enough(Shape{systems}) {
    Array<double> squares(Shape{systems}, b.device());
    dot(b, b, squares, 0, systems);
    squares = squares.to(Device::cpu());
    // Below the rounding of T there is nothing to gain, and residuals would shrink until they underflow.
    const double least = std::max(tolerance, 0.1 * std::numeric_limits<T>::epsilon());
    for (std::int64_t j = 0; j < systems; ++j) {
      norms[static_cast<std::size_t>(j)] = std::sqrt(squares[j]);
      small_enough[j] = least * least * squares[j];
    }
    if (b.device().is_cuda()) small_enough = small_enough.to(b.device());
  }
};

/// |r_i| / |b| of the first `done` iterations of every system, up to the first that is small enough; `squares` are
/// |r_i|^2, [iteration][system]. Whether all have one. Throws Error where the last of a system is not finite.
bool look_at_residuals(const Array<double>& squares, int done, const Aims& aims,
                       std::vector<ConjugateGradientResult>& results) {
  const Array<double> host = squares.to(Device::cpu()), small_enough = aims.small_enough.to(Device::cpu());
  bool all = true;
  for (std::size_t j = 0; j < results.size(); ++j) {
    auto& [residuals, reached, ritz_value] = results[j];
    const double norm = aims.norms[j];
    residuals.clear();
    reached = false;
    for (int i = 0; i <= done && !reached; ++i) {
      const double square =
          host[i * static_cast<std::int64_t>(results.size()) + static_cast<std::int64_t>(j)];
      residuals.push_back(norm == 0 ? 0 : std::sqrt(square) / norm);
      reached = square <= small_enough[static_cast<std::int64_t>(j)];
    }
    if (!std::isfinite(residuals.back()))
      throw Error("conjugate gradient", "a finite residual",
                  "NaN or infinity after " + std::to_string(done) + " iterations",
                  "the data or the sensitivity maps are too large for single precision; use "
                  "settings.precision = double");
    all = all && reached;
  }
  return all;
}

/// Of system j of so many after `done` iterations: T of the Lanczos process has 1 / alpha_i + beta_{i-1} / alpha_{i-1} on
/// its diagonal and sqrt(beta_i) / alpha_i beside it.
double largest_ritz_value(const Array<double>& rr, const Array<double>& pap, std::int64_t systems,
                          std::int64_t j, std::int64_t done) {
  std::vector<double> diagonal, beside;
  double from_before = 0;  // beta / alpha
  for (std::int64_t i = 0; i < done; ++i) {
    const double square = rr[i * systems + j], energy = pap[i * systems + j];
    if (!(square > 0 && energy > 0)) break;
    const double alpha = square / energy, beta = rr[(i + 1) * systems + j] / square;
    diagonal.push_back(1 / alpha + from_before);
    beside.push_back(std::sqrt(beta) / alpha);
    from_before = beta / alpha;
  }
  return diagonal.empty() ? 0 : largest_of_tridiagonal(diagonal, beside);
}

}  // namespace

template <class T>
std::vector<ConjugateGradientResult> conjugate_gradients(const HermitianOperator<T>& a,
                                                         const Array<Complex<T>>& b, Array<Complex<T>>& x,
                                                         const ConjugateGradientSettings& settings,
                                                         const ProgressCallback& progress) {
  const std::int64_t systems = require_systems(a, b, x, settings);
  const Device device = b.device();
  // From the first residual that is small enough on, alpha is 0 and x stays as it is, also where the next look comes
  // some iterations later, or other systems go on.
  const Aims aims(b, systems, settings.tolerance);
  for (std::int64_t j = 0; j < systems; ++j)
    if (aims.norms[static_cast<std::size_t>(j)] == 0) one_of(x, a.domain(), j).fill_zero();
  // Scalars stay on the device, for each iteration and system: rr[i] = |r_i|^2, pap[i] = <p_i, A p_i>.
  Array<double> rr(Shape{settings.iterations + 1, systems}, device),
      pap(Shape{settings.iterations, systems}, device);
  Array<Complex<T>> r(b), p(b.shape(), device), ap(b.shape(), device);
  ResidualBasis<T> basis(a.domain(), std::min(settings.iterations, settings.kept_residuals), device, systems);
  std::vector<ConjugateGradientResult> results(static_cast<std::size_t>(systems));
  bool converged = false;
  const auto look = [&](int done) {
    converged = look_at_residuals(rr, done, aims, results);
    double largest = 0;
    for (const auto& result : results) largest = std::max(largest, result.relative_residuals.back());
    if (progress) progress({"conjugate gradient", done, settings.iterations, largest});
  };

  if (!settings.from_zero) {
    a.forward_each(x, ap);
    add_scaled(r, T(-1), ap);  // r = b - A x
  }
  copy(r, p);  // p = r
  dot(r, r, rr, 0, systems);
  basis.keep(r, rr, 0);
  look(0);
  for (int i = 0; i < settings.iterations && !converged; ++i) {
    a.forward_each(p, ap);
    dot(p, ap, pap, i * systems, systems);
    // |r|^2 / <p, A p>
    const Quotient alpha{rr, i * systems, pap, i * systems, +1, 0, &aims.small_enough, systems};
    add_scaled(x, alpha, p);              // x = x + alpha p
    add_scaled(r, alpha.negative(), ap);  // r = r - alpha A p
    basis.project_out(r);
    dot(r, r, rr, (i + 1) * systems, systems);
    basis.keep(r, rr, (i + 1) * systems);
    // |r_new|^2 / |r|^2
    const Quotient beta{rr, (i + 1) * systems, rr, i * systems, +1, -1, nullptr, systems};
    scale_and_add(p, beta, r);  // p = r + beta p
    const bool last = i + 1 == settings.iterations;
    if (last || (i + 1) % settings.check_every == 0) look(i + 1);
  }
  rr = rr.to(Device::cpu()), pap = pap.to(Device::cpu());
  for (std::int64_t j = 0; j < systems; ++j) {
    auto& result = results[static_cast<std::size_t>(j)];
    result.largest_ritz_value = largest_ritz_value(
        rr, pap, systems, j, static_cast<std::int64_t>(result.relative_residuals.size()) - 1);
  }
  return results;
}

template <class T>
ConjugateGradientResult conjugate_gradient(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                                           Array<Complex<T>>& x, const ConjugateGradientSettings& settings,
                                           const ProgressCallback& progress) {
  require_shape(b, a.domain(), "right-hand side");
  return std::move(conjugate_gradients(a, b, x, settings, progress).front());
}

double conjugate_gradient_bytes(double elements, const ConjugateGradientSettings& settings,
                                Precision precision, Device device, double systems) {
  const double kept = std::min(settings.iterations, settings.kept_residuals);
  const double vectors = 3 * elements * static_cast<double>(bytes_of_complex(precision));  // r, p, A p
  const double scalars = (2.0 * settings.iterations + 3) * sizeof(double);
  return systems * (vectors + scalars) +
         (precision == Precision::single_precision
              ? ResidualBasis<float>::bytes(elements, kept, device, systems)
              : ResidualBasis<double>::bytes(elements, kept, device, systems));
}

#define FHD_INSTANTIATE(T)                                                       \
  template std::vector<ConjugateGradientResult> conjugate_gradients<T>(          \
      const HermitianOperator<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
      const ConjugateGradientSettings&, const ProgressCallback&);                \
  template ConjugateGradientResult conjugate_gradient<T>(                        \
      const HermitianOperator<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
      const ConjugateGradientSettings&, const ProgressCallback&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
