#pragma once
// Compares results with the oracle at chosen places, of the first coil.
#include <cstdint>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/complex.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"

namespace fhd {

/// `chosen` columns of [3][all].
inline Array<double> columns(const Array<double>& from, const std::vector<std::int64_t>& chosen) {
  const std::int64_t all = from.extent(1), count = static_cast<std::int64_t>(chosen.size());
  Array<double> result({3, count});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t i = 0; i < count; ++i)
      result[axis * count + i] = from[axis * all + chosen[static_cast<std::size_t>(i)]];
  return result;
}

/// The first `size` of `from`, [1][size]: the oracle is slow, and tests check the other coils.
template <class T>
oracle::Values first_coil(const Array<Complex<T>>& from, std::int64_t size) {
  oracle::Values values({1, size});
  for (std::int64_t i = 0; i < size; ++i) values[i] = Complex<double>(from[i]);
  return values;
}

/// Relative l2 error of the first coil of `values` [coil][all], wherever they are, at the chosen elements.
template <class T>
double error_at(const std::vector<std::int64_t>& chosen, const oracle::Values& expected,
                const Array<Complex<T>>& values) {
  const auto host = values.to(Device::cpu());
  oracle::Values found({1, static_cast<std::int64_t>(chosen.size())});
  for (std::size_t i = 0; i < chosen.size(); ++i)
    found[static_cast<std::int64_t>(i)] = Complex<double>(host[chosen[i]]);
  return metrics::relative_l2(found, expected);
}

}  // namespace fhd
