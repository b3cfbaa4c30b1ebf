// A build without CUDA has the same entry points; asking for them is one clear error.
#include "recon/array/no_cuda.hpp"
#include "recon/transform/direct/direct_cuda.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory&, std::array<int, 3>,
                                                                DirectVariant) {
  refuse_cuda();
}
DirectKernelUse direct_kernel_use(int, DirectVariant, bool) { refuse_cuda(); }
template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory&, std::array<int, 3>, const Array<double>*,
                                           DirectVariant) {
  refuse_cuda();
}

template std::unique_ptr<FourierTransform<float>> make_direct_transform_cuda<float>(const Trajectory&,
                                                                                    std::array<int, 3>,
                                                                                    DirectVariant);
template std::unique_ptr<FourierTransform<double>> make_direct_transform_cuda<double>(const Trajectory&,
                                                                                      std::array<int, 3>,
                                                                                      DirectVariant);
template Array<Complex<float>> point_spread_direct_cuda<float>(const Trajectory&, std::array<int, 3>,
                                                               const Array<double>*, DirectVariant);
template Array<Complex<double>> point_spread_direct_cuda<double>(const Trajectory&, std::array<int, 3>,
                                                                 const Array<double>*, DirectVariant);

}  // namespace fhd
