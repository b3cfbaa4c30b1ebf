#pragma once
// A transform of chosen voxels as a transform of the whole matrix: forward gathers the values of these voxels, adjoint scatters
// them and gives zero elsewhere.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// chosen(c, i) = all(c, voxel[i]), or the reverse where it `scatters`, of `coils` images.
template <class T>
struct CopyVoxels {
  static constexpr const char* name = "copying the voxels that are summed";
  const std::int64_t* voxel;  ///< [i]
  std::int64_t coils, count, all_count;
  bool scatters;
  Complex<T>*chosen, *all;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    for (std::int64_t c = 0; c < coils; ++c) {
      Complex<T>&of_chosen = chosen[c * count + i], &of_all = all[c * all_count + voxel[i]];
      scatters ? of_all = of_chosen : of_chosen = of_all;
    }
  }
};

/// `chosen` transforms images [coil][1][1][voxel] of the voxels with these ascending numbers of the matrix.
template <class T>
std::unique_ptr<FourierTransform<T>> transform_of_voxels(std::unique_ptr<FourierTransform<T>> chosen,
                                                         std::array<int, 3> matrix_size,
                                                         const std::vector<std::int64_t>& voxels);

}  // namespace fhd
