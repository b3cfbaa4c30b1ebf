// A build without CUDA cannot make device arrays, so that none of these is ever reached.
#include "recon/array/no_cuda.hpp"
#include "recon/transform/toeplitz/toeplitz_cuda.hpp"

namespace fhd {

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>&,
                                                                const Array<Complex<T>>&, std::int64_t) {
  refuse_cuda();
}
ToeplitzTiming time_toeplitz_cuda(const HermitianOperator<float>&, int) { refuse_cuda(); }

template std::unique_ptr<HermitianOperator<float>> make_toeplitz_normal_cuda<float>(
    const Array<Complex<float>>&, const Array<Complex<float>>&, std::int64_t);
template std::unique_ptr<HermitianOperator<double>> make_toeplitz_normal_cuda<double>(
    const Array<Complex<double>>&, const Array<Complex<double>>&, std::int64_t);

}  // namespace fhd
