// A build without CUDA has the same entry points; asking for them is one clear error.
#include "recon/fourier/direct_cuda.hpp"

namespace fhd {
namespace {

[[noreturn]] void throw_no_cuda() {
  throw Error("--device cuda", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again, or use --device cpu");
}

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory&, std::array<int, 3>,
                                                                DirectVariant) {
  throw_no_cuda();
}
DirectKernelUse direct_kernel_use(int, DirectVariant, bool) { throw_no_cuda(); }
template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory&, std::array<int, 3>, const Array<double>*) {
  throw_no_cuda();
}

template std::unique_ptr<FourierTransform<float>> make_direct_transform_cuda<float>(const Trajectory&,
                                                                                    std::array<int, 3>,
                                                                                    DirectVariant);
template std::unique_ptr<FourierTransform<double>> make_direct_transform_cuda<double>(const Trajectory&,
                                                                                      std::array<int, 3>,
                                                                                      DirectVariant);
template Array<Complex<float>> point_spread_direct_cuda<float>(const Trajectory&, std::array<int, 3>,
                                                               const Array<double>*);
template Array<Complex<double>> point_spread_direct_cuda<double>(const Trajectory&, std::array<int, 3>,
                                                                 const Array<double>*);

}  // namespace fhd
