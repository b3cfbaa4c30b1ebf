#pragma once
// Work on every index of an array that no other index waits for: written once, as a functor, and run by one
// loop on the CPU (OpenMP) or on a GPU (one thread an index).
//
//     // negate.hpp: a named functor, for both compilers; no lambda, no std::complex
//     template <class T>
//     struct Negate {
//       static constexpr const char* name = "negating";  // of the work, for errors
//       Complex<T>* y;
//       FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = -y[i]; }
//     };
//     // negate.cpp
//     for_each_index(y.device(), y.size(), Negate<T>{y.data()});
//     // negate_cuda.cu, with pointwise_cuda.cuh: its kernels
//     FHD_POINTWISE_KERNEL(Negate<float>)
//     FHD_POINTWISE_KERNEL(Negate<double>)
#include <cstdint>

#include "recon/array/complex.hpp"
#include "recon/array/device.hpp"

namespace fhd {
namespace device {

/// f(i) for 0 <= i < count on the current CUDA device, queued on the default stream.
template <class F>
void for_each_index(std::int64_t count, const F& f);

}  // namespace device

#ifndef __CUDACC__  // .cu files are compiled without OpenMP
/// f(i) for 0 <= i < count on `device`, in any order: f(i) writes what no other index reads or writes. From
/// `worth_threads` indices on, the CPU shares them out. On a GPU it is queued on the default stream, and the
/// pointers in f are of that device.
template <class F>
void for_each_index(Device device, std::int64_t count, const F& f, std::int64_t worth_threads = 16385) {
  if (device.is_cuda()) {
    if constexpr (built_with_cuda) {
      const CurrentDevice current(device);
      return device::for_each_index(count, f);
    } else {
      refuse_cuda();
    }
  }
  F body = f;  // private to each thread: its members stay in registers, whatever f(i) writes
#pragma omp parallel for simd schedule(static) firstprivate(body) if (count >= worth_threads)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}
#endif

}  // namespace fhd
