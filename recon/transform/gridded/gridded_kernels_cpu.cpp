#include "recon/transform/gridded/gridded_kernels_cpu.hpp"

#include <algorithm>
#include <type_traits>

// Scalar, SSE4, AVX2 and AVX-512.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "recon/transform/gridded/gridded_kernels_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::gridded_cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr auto lanes_of = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

/// Vectors of a row that stay in registers; a longer row is taken in parts.
constexpr int most_vectors = HWY_TARGET == HWY_AVX3 ? 12 : 6;

/// phi at the points of one axis.
template <class T>
HWY_INLINE void evaluate(const KernelTable<T>& kernel, T z, int points, T* weights) {
  if (points == 1) {
    weights[0] = 1;
    return;
  }
  const hn::ScalableTag<T> d;
  constexpr int lanes = static_cast<int>(lanes_of<T>);
  const auto at = hn::Set(d, z);
  for (int first = 0; first < points; first += lanes) {
    const T* coefficients = kernel.once.data() + kernel.degree * kernel.pitch + first;
    auto sum = hn::LoadU(d, coefficients);
    for (int power = kernel.degree; power > 0; --power) {
      coefficients -= kernel.pitch;
      sum = hn::MulAdd(sum, at, hn::LoadU(d, coefficients));
    }
    hn::StoreU(sum, d, weights + first);
  }
}

/// phi along x for `count` vectors of a row, from number `first` on.
template <int count, class D, class T>
HWY_INLINE void evaluate_row(D d, const KernelTable<T>& kernel, T z, std::int64_t first,
                             hn::Vec<D>* weights) {
  constexpr std::int64_t lanes = lanes_of<T>;
  const auto at = hn::Set(d, z);
  const T* coefficients = kernel.widened.data() + kernel.degree * kernel.widened_pitch + first;
  for (int v = 0; v < count; ++v) weights[v] = hn::LoadU(d, coefficients + v * lanes);
  for (int power = kernel.degree; power > 0; --power) {
    coefficients -= kernel.widened_pitch;
    for (int v = 0; v < count; ++v)
      weights[v] = hn::MulAdd(weights[v], at, hn::LoadU(d, coefficients + v * lanes));
  }
}

/// A vector of the numbers of a block, a power of two, over and over, from number `first` of a row on.
template <class D, class T>
HWY_INLINE hn::Vec<D> repeated(D d, const T* values, std::int64_t numbers, std::int64_t first) {
  constexpr std::int64_t lanes = lanes_of<T>;
  if (numbers >= lanes) return hn::LoadU(d, values + (first & (numbers - 1)));
#if HWY_TARGET != HWY_SCALAR
  if (numbers * sizeof(T) == 16) return hn::LoadDup128(d, values);
  if constexpr (sizeof(T) == 4)
    if (numbers == 2) return hn::OddEven(hn::Set(d, values[1]), hn::Set(d, values[0]));
#endif
#if HWY_TARGET == HWY_AVX3
  const hn::Half<D> half;
  const auto once = hn::LoadU(half, values);
  return hn::Combine(d, once, once);
#endif
  return hn::Zero(d);
}

/// The rows of a sample's kernel, from the corner on: row(numbers before it, weight).
template <class T, class Row>
HWY_INLINE void for_rows(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                         std::int64_t m, const Row& row) {
  HWY_ALIGN T y[KernelTable<T>::pitch], z[KernelTable<T>::pitch];
  evaluate(kernel, samples.offset[1][m], shape.points[1], y);
  evaluate(kernel, samples.offset[2][m], shape.points[2], z);
  const std::int64_t point = 2 * kernel.block, line = shape.size[0] * point, plane = shape.size[1] * line;
  const std::int64_t corner =
      samples.first[2][m] * plane + samples.first[1][m] * line + samples.first[0][m] * point;
  for (int k = 0; k < shape.points[2]; ++k)
    for (int j = 0; j < shape.points[1]; ++j) row(corner + k * plane + j * line, y[j] * z[k]);
}

template <int count, class T>
void spread_part(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                 std::int64_t first, const Complex<T>* values, Complex<T>* tile) {
  using D = hn::ScalableTag<T>;
  const D d;
  constexpr std::int64_t lanes = lanes_of<T>;
  const std::int64_t numbers = 2 * kernel.block;
  T* const to = reinterpret_cast<T*>(tile) + first;
  for (std::int64_t m = 0; m < samples.count; ++m) {
    hn::Vec<D> line[count];
    evaluate_row<count>(d, kernel, samples.offset[0][m], first, line);
    const T* value = reinterpret_cast<const T*>(values + m * kernel.block);
    for (int v = 0; v < count; ++v)
      line[v] = hn::Mul(line[v], repeated(d, value, numbers, first + v * lanes));
    for_rows(kernel, samples, shape, m, [&](std::int64_t at, T weight) HWY_ATTR {
      const auto w = hn::Set(d, weight);
      for (int v = 0; v < count; ++v)
        hn::StoreU(hn::MulAdd(w, line[v], hn::LoadU(d, to + at + v * lanes)), d, to + at + v * lanes);
    });
  }
}

template <int count, class T>
void interpolate_part(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                      std::int64_t first, const Complex<T>* tile, Complex<T>* values) {
  using D = hn::ScalableTag<T>;
  const D d;
  constexpr std::int64_t lanes = lanes_of<T>;
  const std::int64_t numbers = 2 * kernel.block;
  const T* const from = reinterpret_cast<const T*>(tile) + first;
  for (std::int64_t m = 0; m < samples.count; ++m) {
    hn::Vec<D> sum[count], weights[count];
    for (int v = 0; v < count; ++v) sum[v] = hn::Zero(d);
    for_rows(kernel, samples, shape, m, [&](std::int64_t at, T weight) HWY_ATTR {
      const auto w = hn::Set(d, weight);
      for (int v = 0; v < count; ++v) sum[v] = hn::MulAdd(w, hn::LoadU(d, from + at + v * lanes), sum[v]);
    });
    evaluate_row<count>(d, kernel, samples.offset[0][m], first, weights);
    T* value = reinterpret_cast<T*>(values + m * kernel.block);
    if (first == 0) std::fill_n(value, numbers, T(0));
    for (int v = 0; v < count; ++v) sum[v] = hn::Mul(sum[v], weights[v]);
    if (numbers >= lanes) {
      for (int v = 0; v < count; ++v) {
        T* const to = value + ((first + v * lanes) & (numbers - 1));
        hn::StoreU(hn::Add(sum[v], hn::LoadU(d, to)), d, to);
      }
    } else {
      for (int v = 1; v < count; ++v) sum[0] = hn::Add(sum[0], sum[v]);
      HWY_ALIGN T parts[lanes];
      hn::Store(sum[0], d, parts);
      for (std::int64_t half = lanes / 2; half >= numbers; half /= 2)
        for (std::int64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
      for (std::int64_t i = 0; i < numbers; ++i) value[i] += parts[i];
    }
  }
}

/// part.operator()<vectors>(first number) over a whole row.
template <class T, int count = most_vectors, class Part>
void for_parts(const KernelTable<T>& kernel, const Part& part, std::int64_t first = 0) {
  constexpr std::int64_t lanes = lanes_of<T>;
  const std::int64_t vectors = (kernel.row - first + lanes - 1) / lanes;
  if (vectors <= 0) return;
  if constexpr (count > 1)
    if (vectors < count) return for_parts<T, count - 1>(kernel, part, first);
  part.template operator()<count>(first);
  for_parts<T>(kernel, part, first + count * lanes);
}

template <class T>
void spread(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
            const Complex<T>* values, Complex<T>* tile) {
  for_parts(kernel, [&]<int count>(std::int64_t first) {
    spread_part<count>(kernel, samples, shape, first, values, tile);
  });
}
template <class T>
void interpolate(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                 const Complex<T>* tile, Complex<T>* values) {
  for_parts(kernel, [&]<int count>(std::int64_t first) {
    interpolate_part<count>(kernel, samples, shape, first, tile, values);
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

template <class T>
KernelTable<T>::KernelTable(const KaiserBessel& kernel, std::int64_t block_size, bool along_x)
    : width(kernel.width),
      degree(static_cast<int>(kernel.coefficients.size()) - 1),
      row(static_cast<int>(2 * block_size * (along_x ? width : 1))),
      block(block_size),
      once(static_cast<std::size_t>(degree + 1) * pitch),
      widened_pitch((row + overhang - 1) / overhang * overhang + overhang) {
  widened.resize(static_cast<std::size_t>((degree + 1) * widened_pitch));
  for (int power = 0; power <= degree; ++power)
    for (int i = 0; i < width; ++i) once[power * pitch + i] = static_cast<T>(kernel.coefficients[power][i]);
  // On an axis of one voxel the sample's point has all of the weight.
  for (int power = 0; power <= degree; ++power)
    for (int i = 0; i < row; ++i)
      widened[power * widened_pitch + i] =
          along_x ? once[power * pitch + i / (2 * block)] : T(power == 0 ? 1 : 0);
}

template struct KernelTable<float>;
template struct KernelTable<double>;

}  // namespace fhd::gridded_cpu
#endif  // HWY_ONCE
