// A build without CUDA cannot make device arrays, so that this is never reached.
#include "recon/array/no_cuda.hpp"
#include "recon/solve/terms/regularizer_cuda.hpp"

namespace fhd::device {

template <class T>
void add_roughness(const Array<Complex<T>>&, T, const Array<T>&, Array<Complex<T>>&) {
  refuse_cuda();
}

template void add_roughness<float>(const Array<Complex<float>>&, float, const Array<float>&,
                                   Array<Complex<float>>&);
template void add_roughness<double>(const Array<Complex<double>>&, double, const Array<double>&,
                                    Array<Complex<double>>&);

}  // namespace fhd::device
