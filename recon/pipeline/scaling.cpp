#include "recon/pipeline/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fhd {
namespace {

/// Of real and imaginary parts.
template <class T>
double largest_magnitude(const Array<Complex<T>>& values) {
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::int64_t i = 0; i < values.size(); ++i)
    largest =
        std::max({largest, std::abs(double(values.data()[i].re)), std::abs(double(values.data()[i].im))});
  return largest;
}

double largest_of_all(double mine, const ProcessGroup& processes) {
  std::vector<double> of_rank(static_cast<std::size_t>(processes.size()));
  of_rank[static_cast<std::size_t>(processes.rank())] = mine;
  processes.sum(of_rank.data(), processes.size());
  return *std::max_element(of_rank.begin(), of_rank.end());
}

}  // namespace

template <class T>
double divide_by_magnitude(Array<Complex<T>>& values, const ProcessGroup& processes) {
  const double largest = largest_of_all(largest_magnitude(values), processes);
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  // In halves: 2^-exponent itself may be beyond the range of double where the values are denormal.
  const double half = std::scalbn(1.0, -exponent / 2), rest = std::scalbn(1.0, -exponent + exponent / 2);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    Complex<T>& v = values.data()[i];
    v = {static_cast<T>(double(v.re) * half * rest), static_cast<T>(double(v.im) * half * rest)};
  }
  return std::scalbn(1.0, exponent);
}

template double divide_by_magnitude<float>(Array<Complex<float>>&, const ProcessGroup&);
template double divide_by_magnitude<double>(Array<Complex<double>>&, const ProcessGroup&);

}  // namespace fhd
