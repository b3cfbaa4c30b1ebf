#pragma once
// Arithmetic over rows of complex numbers on the CPU, compiled once per instruction set and chosen at run time. The order
// of every sum depends on the number of elements and the instruction set alone. One thread each; no alignment needed.
#include <cstdint>
#include <tuple>

#include "recon/array/complex.hpp"

namespace fhd::rows {

template <class T>
struct Kernels {
  /// to[i] = a[i] b[i]
  void (*multiply)(std::int64_t count, const Complex<T>* a, const Complex<T>* b, Complex<T>* to);
  /// to[i] = conj(a[i]) b[i], or added to what is there.
  void (*multiply_conjugate)(std::int64_t count, const Complex<T>* a, const Complex<T>* b, bool add,
                             Complex<T>* to);
  /// to[i] *= factors[i]
  void (*scale)(std::int64_t count, const T* factors, Complex<T>* to);
  /// to[i] -= factor a[i]
  void (*subtract)(std::int64_t count, Complex<T> factor, const Complex<T>* a, Complex<T>* to);
  /// sum of conj(a[i]) b[i], in double precision
  Complex<double> (*dot)(std::int64_t count, const Complex<T>* a, const Complex<T>* b);
};

using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace fhd::rows
