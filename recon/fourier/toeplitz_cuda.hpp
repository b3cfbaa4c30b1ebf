#pragma once
// The CUDA side of toeplitz.hpp, implemented by toeplitz_cuda.cu or toeplitz_no_cuda.cpp.
#include <memory>

#include "recon/array/array.hpp"
#include "recon/solve/linear_operator.hpp"

namespace fhd {

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                                const Array<Complex<T>>& maps);

/// Device memory that the operator takes with so many coils padded at once, and the most that its constructor
/// takes besides (the work area of one FFT of the whole grid).
struct ToeplitzMemory {
  std::size_t transfer_bytes = 0, grids_bytes = 0, work_bytes = 0;
};
ToeplitzMemory toeplitz_memory_cuda(std::array<int, 3> matrix_size, std::int64_t coils_at_once,
                                    std::size_t element_bytes);

/// Median milliseconds of one forward() of an operator of make_toeplitz_normal_cuda, and of its cuFFT passes
/// alone.
struct ToeplitzTiming {
  double ms = 0, cufft_ms = 0;
};
ToeplitzTiming time_toeplitz_cuda(const HermitianOperator<float>& toeplitz, int repetitions);

}  // namespace fhd
