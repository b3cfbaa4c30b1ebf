// A build without CUDA cannot make device arrays, so that none of these is ever reached.
#include "recon/array/no_cuda.hpp"
#include "recon/encoding/sense_cuda.hpp"

namespace fhd::device {

template <class T>
void apply_maps(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void combine_coils(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void combine_coils_normalized(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&) {
  refuse_cuda();
}
template <class T>
void root_sum_of_squares(const Array<Complex<T>>&, Array<Complex<T>>&) {
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void apply_maps<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&);    \
  template void combine_coils<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&); \
  template void combine_coils_normalized<T>(const Array<Complex<T>>&, const Array<Complex<T>>&,           \
                                            Array<Complex<T>>&);                                          \
  template void root_sum_of_squares<T>(const Array<Complex<T>>&, Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd::device
