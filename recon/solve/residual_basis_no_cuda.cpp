// A build without CUDA cannot make device arrays, so that none of these is ever reached.
#include "recon/array/no_cuda.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd::device {

template <class T>
void project_out(const Complex<T>*, const double*, std::int64_t, std::int64_t, Complex<double>*,
                 Complex<T>*) {
  refuse_cuda();
}
std::int64_t residual_basis_scratch(std::int64_t) { refuse_cuda(); }

template void project_out<float>(const Complex<float>*, const double*, std::int64_t, std::int64_t,
                                 Complex<double>*, Complex<float>*);
template void project_out<double>(const Complex<double>*, const double*, std::int64_t, std::int64_t,
                                  Complex<double>*, Complex<double>*);

}  // namespace fhd::device
