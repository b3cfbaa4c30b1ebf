#include "validation/verdict/algebra.hpp"

#include "recon/array/linear_algebra.hpp"

namespace fhd::validation {

double energy(const Matrix& a) {
  double sum = 0;
  for (const auto& value : a) sum += norm(value);
  return sum;
}

double real_product(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (Index i = 0; i < a.size(); ++i) sum += real_product(a[i], b[i]);
  return sum;
}

Matrix rows_of(const Matrix& a, Index each, const std::vector<Index>& rows) {
  Matrix some({static_cast<Index>(rows.size()), each});
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(a.data() + rows[i] * each, each, some.data() + static_cast<Index>(i) * each);
  return some;
}

Matrix minus(Matrix a, const Matrix& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

// Rows of data are d^T: the matrix is conj(C) with C = sum d d^H, and its vectors u make u^T d for d.
Matrix strongest_mix(const Matrix& data, Index most) {
  const Index columns = data.extent(1), kept = std::min(columns, most);
  const auto eigen = hermitian_eigen(matrix_product(adjoint(data), data));
  Matrix mix({columns, kept});
  for (Index i = 0; i < mix.size(); ++i) mix[i] = eigen.vectors[i % kept * columns + i / kept];
  return mix;
}

std::optional<DampedFactor> damped_factor(Matrix a, double damping) {
  const Index n = a.extent(0);
  double trace = 0;
  for (Index p = 0; p < n; ++p) trace += a[p * n + p].re;
  const double lambda = damping * trace / static_cast<double>(n);
  for (Index p = 0; p < n; ++p) a[p * n + p].re += lambda;
  auto inverse = inverse_cholesky_factor(std::move(a));
  if (!inverse) return {};
  const double unknowns = static_cast<double>(n) - lambda * energy(*inverse);
  return DampedFactor{std::move(*inverse), lambda, unknowns};
}

std::optional<Solution> solved(const System& system) {
  const std::size_t n = system.count;
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(system.matrix[i * n + i] > 0)) return {};
    scale[i] = 1 / std::sqrt(system.matrix[i * n + i]);
  }
  Matrix scaled({static_cast<Index>(n), static_cast<Index>(n)});
  for (std::size_t i = 0; i < n * n; ++i)
    scaled[static_cast<Index>(i)] = {system.matrix[i] * scale[i / n] * scale[i % n], 0};
  const auto factor = inverse_cholesky_factor(std::move(scaled));
  if (!factor) return {};
  Solution s{std::vector<double>(n), std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t row = std::max(i, j); row < n; ++row)
        sum += (*factor)[static_cast<Index>(row * n + i)].re * (*factor)[static_cast<Index>(row * n + j)].re;
      s.inverse[i * n + j] = sum * scale[i] * scale[j];
      s.sizes[i] += s.inverse[i * n + j] * system.right[j];
    }
  for (std::size_t i = 0; i < n; ++i) s.explained += s.sizes[i] * system.right[i];
  return s;
}

}  // namespace fhd::validation
