#include "recon/solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/array/vector_math.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd {
namespace {

template <class T>
void require_system(const HermitianOperator<T>& a, const Array<Complex<T>>& b, const Array<Complex<T>>& x,
                    const ConjugateGradientSettings& settings) {
  if (settings.iterations < 1) throw Error("iterations", "at least 1", std::to_string(settings.iterations));
  if (!(settings.tolerance >= 0 && settings.tolerance < 1))
    throw Error("tolerance", "a relative residual in [0, 1)", std::to_string(settings.tolerance));
  require_shape(b, a.domain(), "right-hand side");
  require_shape(x, a.domain(), "solution");
}

/// |r_i| / |b| of the first `done` iterations, up to the first that is small enough; `squares` are |r_i|^2.
/// Whether there is one. Throws Error where the last is not finite.
bool look_at_residuals(const Array<double>& squares, int done, double b_norm, double small_enough,
                       std::vector<double>& relative_residuals) {
  const Array<double> host = squares.to(Device::cpu());
  relative_residuals.clear();
  bool reached = false;
  for (int i = 0; i <= done && !reached; ++i) {
    relative_residuals.push_back(std::sqrt(host[i]) / b_norm);
    reached = host[i] <= small_enough;
  }
  if (!std::isfinite(relative_residuals.back()))
    throw Error("conjugate gradient", "a finite residual",
                "NaN or infinity after " + std::to_string(done) + " iterations",
                "the data or the sensitivity maps are too large for single precision; use "
                "settings.precision = double");
  return reached;
}

}  // namespace

template <class T>
ConjugateGradientResult conjugate_gradient(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                                           Array<Complex<T>>& x, const ConjugateGradientSettings& settings,
                                           const ProgressCallback& progress) {
  require_system(a, b, x, settings);
  const double b_norm = norm_l2(b);
  ConjugateGradientResult result;
  if (b_norm == 0) {
    x.fill_zero();
    result.converged = true;
    result.relative_residuals = {0};
    return result;
  }
  const Device device = b.device();
  // Scalars stay on the device, one element for each iteration: rr[i] = |r_i|^2, pap[i] = <p_i, A p_i>.
  Array<double> rr(Shape{settings.iterations + 1}, device), pap(Shape{settings.iterations}, device);
  Array<Complex<T>> r(b), p(b.shape(), device), ap(b.shape(), device);
  ResidualBasis<T> basis(a.domain(), std::min(settings.iterations, settings.kept_residuals), device);
  // Below the rounding of T there is nothing to gain, and residuals would shrink until they underflow. From
  // the first residual that is small enough on, alpha is 0 and x stays as it is, also where the next look
  // comes some iterations later.
  const double small_enough =
      std::pow(std::max(settings.tolerance, 0.1 * std::numeric_limits<T>::epsilon()) * b_norm, 2);
  const auto look = [&](int done) {
    result.converged = look_at_residuals(rr, done, b_norm, small_enough, result.relative_residuals);
    if (progress)
      progress({"conjugate gradient", done, settings.iterations, result.relative_residuals.back()});
  };

  a.forward(x, ap);
  add_scaled(r, T(-1), ap);  // r = b - A x
  copy(r, p);                // p = r
  dot(r, r, rr, 0);
  basis.keep(r, rr, 0);
  look(0);
  for (int i = 0; i < settings.iterations && !result.converged; ++i) {
    a.forward(p, ap);
    dot(p, ap, pap, i);
    const Quotient alpha{rr, i, pap, i, +1, small_enough};  // |r|^2 / <p, A p>
    add_scaled(x, alpha, p);                                // x = x + alpha p
    add_scaled(r, alpha.negative(), ap);                    // r = r - alpha A p
    basis.project_out(r);
    dot(r, r, rr, i + 1);
    basis.keep(r, rr, i + 1);
    const Quotient beta{rr, i + 1, rr, i};  // |r_new|^2 / |r|^2
    scale_and_add(p, beta, r);              // p = r + beta p
    const bool last = i + 1 == settings.iterations;
    if (last || (i + 1) % settings.check_every == 0) look(i + 1);
  }
  return result;
}

double conjugate_gradient_bytes(double elements, const ConjugateGradientSettings& settings,
                                Precision precision, Device device) {
  const double kept = std::min(settings.iterations, settings.kept_residuals);
  const double vectors = 3 * elements * static_cast<double>(bytes_of_complex(precision));  // r, p, A p
  const double scalars = (2.0 * settings.iterations + 1) * sizeof(double);
  return vectors + scalars +
         (precision == Precision::single_precision ? ResidualBasis<float>::bytes(elements, kept, device)
                                                   : ResidualBasis<double>::bytes(elements, kept, device));
}

#define FHD_INSTANTIATE(T)                                                       \
  template ConjugateGradientResult conjugate_gradient<T>(                        \
      const HermitianOperator<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
      const ConjugateGradientSettings&, const ProgressCallback&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
