#pragma once
// The inner loop of the phase sums on the CPU, compiled for several instruction sets. Voxels and samples play the same part:
// targets are what is summed for, sources what is summed over,
//
//     sum_c(t) = sum_s value_c(s) exp(i 2 pi u(t, s) - a(t) b(s)),    u(t, s) = sum_l f_l(t) g_l(s) in turns.
#include <cstdint>
#include <tuple>

#include "recon/array/complex.hpp"

namespace fhd::phase_cpu {

/// Factors of so many targets, or sources, lie together: [tile][term][lane].
inline constexpr int tile = 16;
/// Sources are taken so many at a time: values beyond the last are zero.
inline constexpr int source_step = 4;

/// One tile of targets and some tiles of sources.
template <class T>
struct Product {
  int terms, coils;
  int sources;                 ///< a multiple of source_step
  const double* target_turns;  ///< f, [term][tile]
  const double* source_turns;  ///< g, [tile of sources][term][tile]
  const double* target_decay;  ///< a, [tile]; null: none
  const double* source_decay;  ///< b, [source]
  const Complex<T>* values;    ///< [source][coil]
  T* sums;                     ///< [coil][re, im][tile], added to
};

/// T is float or double; arrays of factors and sums are 64-byte aligned.
template <class T>
struct Kernels {
  void (*add_sources)(const Product<T>& product);
};

using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
/// Returns the kernels for the processor that the program runs on.
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace fhd::phase_cpu
