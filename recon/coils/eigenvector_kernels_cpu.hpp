#pragma once
// The inner loop of sensitivity maps, compiled once per instruction set and chosen at run time.
#include <cstdint>

#include "recon/coils/matrix_field.hpp"

namespace fhd::eigenvector_cpu {

/// Voxels that are worked on side by side.
inline constexpr int lanes = eigenvector_group;

/// One row of voxels of a Hermitian matrix field, given as a sum of exponentials along the row:
///
///     G_cc'(x) = sum_t h_cc'(t) exp(-i 2 pi (t - terms/2) r_x),   c <= c'
struct Row {
  int coils, terms;
  const float *real, *imag;    ///< h, [pair][term]; pairs (0,0) (0,1) ... (1,1) ...
  std::int64_t padded_voxels;  ///< a multiple of `lanes`
  const float *cosine, *sine;  ///< exp(-i 2 pi (t - terms/2) r_x), [term][padded voxel]
  const std::uint8_t* wanted;  ///< [padded voxel]; what is found elsewhere may be anything
  float least;  ///< eigenvalues below need not be found: the voxel's eigenvector may be anything
  const float *start_real,
      *start_imag;  ///< vectors to start from, [coil][padded voxel], of any length; 0: none
  /// Unit vectors, [coil][padded voxel], to which eigenvectors are sought that are orthogonal; null: none.
  const float *beside_real = nullptr, *beside_imag = nullptr;
};

/// The largest eigenvalue of every voxel (beside those of the vectors that are given), [padded voxel], and its unit
/// eigenvector, [coil][padded voxel], of no definite phase, by power iteration from the start, or the largest column where
/// there is none or vectors are given beside which to seek. `work` holds work_size() floats.
void dominant_eigenvectors(const Row& row, float* work, float* value, float* vector_real, float* vector_imag);
std::int64_t work_size(int coils);

}  // namespace fhd::eigenvector_cpu
