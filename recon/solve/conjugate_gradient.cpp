#include "recon/solve/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "recon/array/vector_math.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd {
namespace {

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm sequences. At least one element on
/// the diagonal, one fewer beside it.
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

/// Throws unless b and x are stacks of vectors of the domain; how many.
template <class T>
std::int64_t require_systems(const HermitianOperator<T>& a, const Array<Complex<T>>& b,
                             const Array<Complex<T>>& x) {
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
                  "the data or the sensitivity maps are too large for single precision; use " +
                      option_words("precision", "double"));
    all = all && reached;
  }
  return all;
}

/// Finds the largest Ritz value of every system, from <r, z> and <p, A p> [iteration][system] in host memory: T of the
/// Lanczos process has 1 / alpha_i + beta_{i-1} / alpha_{i-1} on its diagonal and sqrt(beta_i) / alpha_i beside it.
void find_ritz_values(const Array<double>& rr, const Array<double>& pap,
                      std::vector<ConjugateGradientResult>& results) {
  const std::size_t systems = results.size();
  for (std::size_t j = 0; j < systems; ++j) {
    std::vector<double> diagonal, beside;
    double from_before = 0;  // beta / alpha
    for (std::size_t i = 0; i + 1 < results[j].relative_residuals.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i * systems + j),
                 next = at + static_cast<std::int64_t>(systems);
      if (!(rr[at] > 0 && pap[at] > 0)) break;
      const double alpha = rr[at] / pap[at], beta = rr[next] / rr[at];
      diagonal.push_back(1 / alpha + from_before);
      beside.push_back(std::sqrt(beta) / alpha);
      from_before = beta / alpha;
    }
    results[j].largest_ritz_value = diagonal.empty() ? 0 : largest_of_tridiagonal(diagonal, beside);
  }
}

std::int64_t kept_residuals(const ConjugateGradientSettings& settings, bool preconditioned) {
  return std::min(settings.iterations,
                  preconditioned ? settings.kept_residuals / 2 : settings.kept_residuals);
}

/// z = M^-1 r and <r, z>, [iteration][system] on the device; without a preconditioner r and |r|^2 themselves.
template <class T>
class Preconditioned {
 public:
  Preconditioned(const HermitianOperator<T>* inverse, const Array<Complex<T>>& r,
                 const Array<double>& squares, const Aims& aims)
      : inverse_(inverse), r_(r), squares_(squares), aims_(aims) {
    if (inverse == nullptr) return;
    z_ = Array<Complex<T>>(r.shape(), r.device());
    products_ = Array<double>(squares.shape(), squares.device());
  }
  const Array<Complex<T>>& vectors() const { return inverse_ == nullptr ? r_ : z_; }
  const Array<double>& products() const { return inverse_ == nullptr ? squares_ : products_; }
  /// Returns the products below which a system counts as solved; with a preconditioner they are 0 once a residual is small enough.
  const Array<double>* negligible() const { return inverse_ == nullptr ? &aims_.small_enough : nullptr; }
  /// Updates z and the products for r as it is now, with |r|^2 = squares[index ...].
  void update(std::int64_t index) {
    if (inverse_ == nullptr) return;
    const std::int64_t systems = aims_.small_enough.size();
    inverse_->forward_each(r_, z_);
    dot(r_, z_, products_, index, systems);
    for_each_index(
        r_.device(), systems,
        ZeroWhereSmall{squares_.data() + index, aims_.small_enough.data(), products_.data() + index});
  }

 private:
  const HermitianOperator<T>* inverse_;
  const Array<Complex<T>>& r_;
  const Array<double>& squares_;
  const Aims& aims_;
  Array<Complex<T>> z_;
  Array<double> products_;
};

}  // namespace

template <class T>
std::vector<ConjugateGradientResult> conjugate_gradients(const HermitianOperator<T>& a,
                                                         const Array<Complex<T>>& b, Array<Complex<T>>& x,
                                                         const ConjugateGradientSettings& settings,
                                                         const ProgressCallback& progress,
                                                         const HermitianOperator<T>* preconditioner) {
  const std::int64_t systems = require_systems(a, b, x);
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
  Preconditioned<T> z(preconditioner, r, rr, aims);
  ResidualBasis<T> basis(a.domain(), kept_residuals(settings, preconditioner != nullptr), device, systems,
                         preconditioner != nullptr);
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
  dot(r, r, rr, 0, systems);
  z.update(0);           // z = M^-1 r
  copy(z.vectors(), p);  // p = z
  basis.keep(r, z.vectors(), z.products(), 0);
  look(0);
  for (int i = 0; i < settings.iterations && !converged; ++i) {
    a.forward_each(p, ap);
    dot(p, ap, pap, i * systems, systems);
    // <r, z> / <p, A p>
    const Quotient alpha{z.products(), i * systems, pap, i * systems, +1, 0, z.negligible(), systems};
    add_scaled(x, alpha, p);              // x = x + alpha p
    add_scaled(r, alpha.negative(), ap);  // r = r - alpha A p
    basis.project_out(r);
    dot(r, r, rr, (i + 1) * systems, systems);
    z.update((i + 1) * systems);
    basis.keep(r, z.vectors(), z.products(), (i + 1) * systems);
    // <r_new, z_new> / <r, z>
    const Quotient beta{z.products(), (i + 1) * systems, z.products(), i * systems, +1, -1, nullptr, systems};
    scale_and_add(p, beta, z.vectors());  // p = z + beta p
    const bool last = i + 1 == settings.iterations;
    if (last || (i + 1) % settings.check_every == 0) look(i + 1);
  }
  find_ritz_values(z.products().to(Device::cpu()), pap.to(Device::cpu()), results);
  return results;
}

double conjugate_gradient_bytes(double elements, const ConjugateGradientSettings& settings,
                                Precision precision, Device device, double systems, bool preconditioned) {
  const double kept = kept_residuals(settings, preconditioned);
  const double vectors = (preconditioned ? 4 : 3) * elements *
                         static_cast<double>(bytes_of_complex(precision));  // r, p, A p, and z
  const double scalars = ((preconditioned ? 3.0 : 2.0) * settings.iterations + 4) * sizeof(double);
  return systems * (vectors + scalars) +
         (precision == Precision::single_precision
              ? ResidualBasis<float>::bytes(elements, kept, device, systems, preconditioned)
              : ResidualBasis<double>::bytes(elements, kept, device, systems, preconditioned));
}

template <class T>
double largest_eigenvalue(const HermitianOperator<T>& a, int steps) {
  Array<Complex<T>> start(a.domain());
  std::mt19937 generator(20081);
  for (auto& v : start)
    v = {static_cast<T>(generator() * 0x1p-32 - 0.5), static_cast<T>(generator() * 0x1p-32 - 0.5)};
  return largest_eigenvalue_from(a, start.to(a.device()), steps);
}

template <class T>
double largest_eigenvalue_from(const HermitianOperator<T>& a, const Array<Complex<T>>& start, int steps) {
  const Device device = a.device();
  require_shape(start, a.domain(), "start of the Lanczos process");
  steps = static_cast<int>(std::min<std::int64_t>(steps, start.size()));
  // Three-term recurrence: beta_j v_{j+1} = A v_j - alpha_j v_j - beta_{j-1} v_{j-1}.
  Array<Complex<T>> v(start), previous(v.shape(), device), next(v.shape(), device);
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

#define FHD_INSTANTIATE(T)                                                                     \
  template std::vector<ConjugateGradientResult> conjugate_gradients<T>(                        \
      const HermitianOperator<T>&, const Array<Complex<T>>&, Array<Complex<T>>&,               \
      const ConjugateGradientSettings&, const ProgressCallback&, const HermitianOperator<T>*); \
  template double largest_eigenvalue<T>(const HermitianOperator<T>&, int);                     \
  template double largest_eigenvalue_from<T>(const HermitianOperator<T>&, const Array<Complex<T>>&, int);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
