#include "recon/fourier/gridded_cuda.hpp"

namespace fhd {
namespace {

[[noreturn]] void refuse() {
  throw Error("--device cuda", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again, or use --device cpu");
}

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory&, std::array<int, 3>,
                                                                 double) {
  refuse();
}
Array<double> density_compensation_cuda(const Trajectory&, std::array<int, 3>, int) { refuse(); }

template std::unique_ptr<FourierTransform<float>> make_gridded_transform_cuda<float>(const Trajectory&,
                                                                                     std::array<int, 3>,
                                                                                     double);
template std::unique_ptr<FourierTransform<double>> make_gridded_transform_cuda<double>(const Trajectory&,
                                                                                       std::array<int, 3>,
                                                                                       double);

}  // namespace fhd
