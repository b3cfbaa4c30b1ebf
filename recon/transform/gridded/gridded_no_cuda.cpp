#include "recon/array/no_cuda.hpp"
#include "recon/transform/gridded/gridded_cuda.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory&, std::array<int, 3>,
                                                                 double, std::size_t) {
  refuse_cuda();
}
Array<float> density_fixed_point_cuda(const Trajectory&, std::array<int, 3>, const KaiserBessel&, int) {
  refuse_cuda();
}
template <class T>
Array<Complex<T>> periodic_point_spread_cuda(const Array<Complex<T>>&, std::array<int, 3>) {
  refuse_cuda();
}

#define FHD_INSTANTIATE(T)                                                      \
  template std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda<T>( \
      const Trajectory&, std::array<int, 3>, double, std::size_t);              \
  template Array<Complex<T>> periodic_point_spread_cuda<T>(const Array<Complex<T>>&, std::array<int, 3>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
