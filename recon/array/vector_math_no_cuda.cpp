// A build without CUDA cannot make device arrays (device::allocate throws), so that none of these is ever
// reached.
#include "recon/array/no_cuda.hpp"
#include "recon/array/vector_math_cuda.hpp"

namespace fhd::device {

template <class T>
void dot(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<double>&, std::int64_t) {
  refuse_cuda();
}
template <class T>
void add_scaled(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void scale_and_add(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void add_scaled(Array<Complex<T>>&, T, const Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void scale(Array<Complex<T>>&, T) {
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<double>&, std::int64_t); \
  template void add_scaled<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);                \
  template void scale_and_add<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);             \
  template void add_scaled<T>(Array<Complex<T>>&, T, const Array<Complex<T>>&);                           \
  template void scale<T>(Array<Complex<T>>&, T);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd::device
