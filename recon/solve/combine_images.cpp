#include "recon/solve/combine_images.hpp"

namespace fhd {

template <class T>
void combine_images(const Array<T>& weights, const Array<Complex<T>>& in, Array<Complex<T>>& out) {
  const std::int64_t count = weights.extent(1), voxels = in.size() / count;
  if (voxels * count != in.size() || voxels * weights.extent(0) != out.size())
    throw Error("images to combine", weights.shape().text() + " weights of them",
                in.shape().text() + " -> " + out.shape().text());
  for_each_index(out.device(), out.size(),
                 CombineImages<T>{voxels, count, weights.data(), in.data(), out.data()});
}

template void combine_images<float>(const Array<float>&, const Array<Complex<float>>&,
                                    Array<Complex<float>>&);
template void combine_images<double>(const Array<double>&, const Array<Complex<double>>&,
                                     Array<Complex<double>>&);

}  // namespace fhd
