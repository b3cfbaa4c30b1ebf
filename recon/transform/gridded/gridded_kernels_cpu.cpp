#include "recon/transform/gridded/gridded_kernels_cpu.hpp"

// Baseline (SSE2), AVX2 and AVX-512; the loops have constant trip counts and are vectorised by the compiler.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/transform/gridded/gridded_kernels_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::gridded_cpu::HWY_NAMESPACE {

// phi at the `points` grid points of one axis; one Horner recurrence for all points.
template <int points, class T>
HWY_INLINE void evaluate(const KernelTable<T>& kernel, T z, T* weights) {
  T sum[points];
  for (int i = 0; i < points; ++i) sum[i] = kernel.coefficients[kernel.degree][i];
  for (int power = kernel.degree - 1; power >= 0; --power)
    for (int i = 0; i < points; ++i) sum[i] = sum[i] * z + kernel.coefficients[power][i];
  for (int i = 0; i < points; ++i) weights[i] = sum[i];
}

template <int width, class T>
struct Weights {
  T x[2 * width], y[width], z[width];  // x twice over: for the real and the imaginary part

  Weights(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
          std::int64_t m) {
    T once[width];
    axis(kernel, samples.offset[0][m], shape.points[0], once);
    for (int i = 0; i < width; ++i) x[2 * i] = x[2 * i + 1] = once[i];
    axis(kernel, samples.offset[1][m], shape.points[1], y);
    axis(kernel, samples.offset[2][m], shape.points[2], z);
  }
  static HWY_INLINE void axis(const KernelTable<T>& kernel, T offset, int points, T* weights) {
    if (points == 1) {
      for (int i = 0; i < width; ++i) weights[i] = i == 0 ? T(1) : T(0);
    } else {
      evaluate<width>(kernel, offset, weights);
    }
  }
};

template <int width, class T>
void spread_width(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                  int coils, const Complex<T>* values, std::int64_t value_stride, Complex<T>* tile) {
  for (std::int64_t m = 0; m < samples.count; ++m) {
    const Weights<width, T> weights(kernel, samples, shape, m);
    const std::int64_t corner =
        (samples.first[2][m] * shape.size[1] + samples.first[1][m]) * shape.size[0] + samples.first[0][m];
    for (int coil = 0; coil < coils; ++coil) {
      const Complex<T> value = values[coil * value_stride + samples.index[m]];
      T line[2 * width];
      for (int i = 0; i < width; ++i) {
        line[2 * i] = value.re * weights.x[2 * i];
        line[2 * i + 1] = value.im * weights.x[2 * i];
      }
      T* at = reinterpret_cast<T*>(tile + coil * shape.volume() + corner);
      for (int z = 0; z < shape.points[2]; ++z)
        for (int y = 0; y < shape.points[1]; ++y) {
          const T weight = weights.y[y] * weights.z[z];
          T* HWY_RESTRICT row = at + 2 * (z * shape.size[1] + y) * shape.size[0];
          for (int i = 0; i < 2 * width; ++i) row[i] += weight * line[i];
        }
    }
  }
}

template <int width, class T>
void interpolate_width(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                       int coils, const Complex<T>* tile, Complex<T>* values, std::int64_t value_stride) {
  for (std::int64_t m = 0; m < samples.count; ++m) {
    const Weights<width, T> weights(kernel, samples, shape, m);
    const std::int64_t corner =
        (samples.first[2][m] * shape.size[1] + samples.first[1][m]) * shape.size[0] + samples.first[0][m];
    for (int coil = 0; coil < coils; ++coil) {
      const T* at = reinterpret_cast<const T*>(tile + coil * shape.volume() + corner);
      T line[2 * width] = {};
      for (int z = 0; z < shape.points[2]; ++z)
        for (int y = 0; y < shape.points[1]; ++y) {
          const T weight = weights.y[y] * weights.z[z];
          const T* HWY_RESTRICT row = at + 2 * (z * shape.size[1] + y) * shape.size[0];
          for (int i = 0; i < 2 * width; ++i) line[i] += weight * row[i];
        }
      T re = 0, im = 0;
      for (int i = 0; i < width; ++i) {
        re += line[2 * i] * weights.x[2 * i];
        im += line[2 * i + 1] * weights.x[2 * i];
      }
      values[coil * value_stride + samples.index[m]] = {re, im};
    }
  }
}

// Calls f.operator()<W>() for the width W at run time.
template <int width = 2, class F>
void with_width(int wanted, F f) {
  if constexpr (width < KaiserBessel::largest_width) {
    if (wanted > width) return with_width<width + 1>(wanted, f);
  }
  f.template operator()<width>();
}

template <class T>
void spread(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape, int coils,
            const Complex<T>* values, std::int64_t value_stride, Complex<T>* tile) {
  with_width(kernel.width, [&]<int width>() {
    spread_width<width>(kernel, samples, shape, coils, values, value_stride, tile);
  });
}
template <class T>
void interpolate(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                 int coils, const Complex<T>* tile, Complex<T>* values, std::int64_t value_stride) {
  with_width(kernel.width, [&]<int width>() {
    interpolate_width<width>(kernel, samples, shape, coils, tile, values, value_stride);
  });
}

const AllKernels& kernels_of_target() {
  static const AllKernels all{{spread<float>, interpolate<float>}, {spread<double>, interpolate<double>}};
  return all;
}

}  // namespace fhd::gridded_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd::gridded_cpu {

HWY_EXPORT(kernels_of_target);
const AllKernels& all_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace fhd::gridded_cpu
#endif  // HWY_ONCE
