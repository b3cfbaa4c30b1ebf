#include "recon/solve/real_part.hpp"

namespace fhd {

template <class T>
void keep_real_part(Array<Complex<T>>& y) {
  for_each_index(y.device(), y.size(), RealPart<T>{y.data()});
}

template void keep_real_part<float>(Array<Complex<float>>&);
template void keep_real_part<double>(Array<Complex<double>>&);

}  // namespace fhd
