#pragma once
// The CUDA side of direct.hpp and make_direct_transform, which is not in a build without it; direct_cpu.cpp chooses the
// device.
#include "recon/array/pointwise.hpp"
#include "recon/transform/direct/separable.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory& trajectory,
                                                                std::array<int, 3> matrix_size, Device device,
                                                                DirectChoice choice);
/// The result lies on the device.
template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                           const Array<double>* weights, Device device, DirectChoice choice);

/// Sums of one trajectory over one grid, on the device that is current. One call at a time: buffers are kept.
template <class T>
struct GridSums {
  virtual ~GridSums() = default;
  /// data [coil][sample] -> values [coil][z][y][x] of the grid, both on the device.
  virtual void adjoint(const Complex<T>* data, std::int64_t coils, Complex<T>* values) = 0;
  /// values [coil][z][y][x] of the grid -> data [coil][sample].
  virtual void forward(const Complex<T>* values, std::int64_t coils, Complex<T>* data) = 0;
};
/// Makes sums by products of matrices: matrix_sums_cuda.cu. `matrix_size` as in r = n / N; Parts::whole for double.
template <class T>
std::unique_ptr<GridSums<T>> make_matrix_sums(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                              const VoxelGrid& grid, Device device, matrix_sums::Parts parts);

/// q on the periodic difference grid [z][y][x] from its values at the differences of `part`, on their device;
/// those before its first are given by q(-n) = conj q(n), those that no pair of voxels reaches are zero.
template <class T>
Array<Complex<T>> periodic_point_spread(const Array<Complex<T>>& values, const VoxelGrid& part,
                                        std::array<int, 3> matrix_size);
template <class T>
struct UnfoldPointSpread {
  static constexpr const char* name = "unfolding a point-spread kernel";
  Complex<T>* q;
  const Complex<T>* values;
  VoxelGrid part;
  int matrix_size[3];

  FHD_HOST_DEVICE void operator()(std::int64_t element) const {
    std::int64_t rest = element, origin = 0, offset = 0, stride = 1;
    bool reached = true;
    for (int axis = 0; axis < 3; ++axis) {
      const int n = matrix_size[axis], size = n == 1 ? 1 : 2 * n, index = static_cast<int>(rest % size);
      const int difference = index < n ? index : index - size;
      reached = reached && difference > -n;
      origin -= stride * (part.first[axis] / 2);
      offset += stride * difference;
      stride *= part.extent[axis];
      rest /= size;
    }
    q[element] = !reached               ? Complex<T>{}
                 : origin + offset >= 0 ? values[origin + offset]
                                        : conj(values[origin - offset]);
  }
};

/// out(i) = sum over parts, `stride` apart, in order.
template <class T>
struct SumOfParts {
  static constexpr const char* name = "adding partial sums";
  const Complex<T>* parts;
  int count;
  std::int64_t stride;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    Complex<T> sum;
    for (int part = 0; part < count; ++part) sum += parts[part * stride + i];
    out[i] = sum;
  }
};

}  // namespace fhd
