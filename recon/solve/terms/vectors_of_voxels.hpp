#pragma once
// Shared by tv and tgv: the axes of an image, the sum and the prox of lengths of vectors.
#include <cmath>

#include "recon/solve/terms/terms.hpp"
#include "recon/solve/terms/variation_functors.hpp"

namespace fhd {

/// Throws Error where the image is a single voxel.
inline DifferenceAxes difference_axes(const Shape& image) {
  const std::int64_t size[3] = {image[2], image[1], image[0]};
  const DifferenceAxes axes(size);
  if (axes.count == 0) throw Error(Field{"regularizer"}, "an image of more than one voxel", image.text());
  return axes;
}

/// Returns the sum over the axes of the eigenvalues 2 - 2 cos(angle) of differences: D^T D.
inline double laplacian(const std::array<double, 3>& angles) {
  double sum = 0;
  for (const double angle : angles) sum += 2 - 2 * std::cos(angle);
  return sum;
}

/// Every vector of `planes` values, from plane `first` on, is shortened by the threshold.
template <class T>
void shrink_vectors(int first, int planes, T threshold, std::int64_t voxels, Array<Complex<T>>& values) {
  for_each_index(values.device(), voxels,
                 ShrinkVectors<T>{voxels, planes, threshold, values.data() + first * voxels});
}

/// The sum of their lengths; at least `voxels` of scratch.
template <class T>
double sum_of_lengths(int first, int planes, std::int64_t voxels, const Array<Complex<T>>& values,
                      Complex<T>* scratch) {
  const auto roots = Array<Complex<T>>::view(scratch, Shape{voxels}, values.device());
  for_each_index(values.device(), voxels,
                 RootsOfVectors<T>{voxels, planes, values.data() + first * voxels, scratch});
  return real_dot(roots, roots);
}

}  // namespace fhd
