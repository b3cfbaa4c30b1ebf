#include "recon/solve/lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "recon/array/vector_math.hpp"

namespace fhd {

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

template double largest_eigenvalue<float>(const HermitianOperator<float>&, int);
template double largest_eigenvalue<double>(const HermitianOperator<double>&, int);
template double largest_eigenvalue_from<float>(const HermitianOperator<float>&, const Array<Complex<float>>&, int);
template double largest_eigenvalue_from<double>(const HermitianOperator<double>&, const Array<Complex<double>>&,
                                                int);

}  // namespace fhd
