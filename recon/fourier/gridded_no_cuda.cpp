#include "recon/array/no_cuda.hpp"
#include "recon/fourier/gridded_cuda.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory&, std::array<int, 3>,
                                                                 double) {
  refuse_cuda();
}
Array<double> density_compensation_cuda(const Trajectory&, std::array<int, 3>, int) { refuse_cuda(); }

template std::unique_ptr<FourierTransform<float>> make_gridded_transform_cuda<float>(const Trajectory&,
                                                                                     std::array<int, 3>,
                                                                                     double);
template std::unique_ptr<FourierTransform<double>> make_gridded_transform_cuda<double>(const Trajectory&,
                                                                                       std::array<int, 3>,
                                                                                       double);

}  // namespace fhd
