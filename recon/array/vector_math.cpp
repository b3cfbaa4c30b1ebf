#include "recon/array/vector_math.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "recon/array/device_memory.hpp"
#include "recon/array/vector_math_cuda.hpp"

namespace fhd {
namespace {

template <class T>
void require_alike(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  require_shape(a, b.shape(), "vector");
  if (a.device() != b.device()) throw Error("vector", "arrays on one device", "arrays on two");
}

double value(const Quotient& ratio) {
  const double numerator = ratio.numerators[ratio.numerator],
               denominator = ratio.denominators[ratio.denominator];
  return denominator == 0 || numerator <= ratio.negligible ? 0 : ratio.factor * numerator / denominator;
}

/// body(i) for every element, in parallel when it pays.
template <class Body>
void for_each_index(std::int64_t size, Body body) {
#pragma omp parallel for simd schedule(static) if (size > 16384)
  for (std::int64_t i = 0; i < size; ++i) body(i);
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index) {
  require_alike(a, b);
  if (a.device().is_cuda()) return device::dot(a, b, results, index);
  constexpr std::int64_t block = 4096;
  const std::int64_t size = a.size(), blocks = (size + block - 1) / block;
  std::vector<double> partial(blocks);
#pragma omp parallel for schedule(static) if (blocks > 4)
  for (std::int64_t i = 0; i < blocks; ++i) {
    double sum = 0;
    const std::int64_t end = std::min(size, (i + 1) * block);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = i * block; j < end; ++j)
      sum += double(a.data()[j].re) * b.data()[j].re + double(a.data()[j].im) * b.data()[j].im;
    partial[i] = sum;
  }
  double sum = 0;
  for (double p : partial) sum += p;
  results[index] = sum;
}

template <class T>
void add_scaled(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_alike(y, x);
  if (y.device().is_cuda()) return device::add_scaled(y, ratio, x);
  add_scaled(y, static_cast<T>(value(ratio)), x);
}

template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_alike(y, x);
  if (y.device().is_cuda()) return device::scale_and_add(y, ratio, x);
  const T factor = static_cast<T>(value(ratio));
  Complex<T>* to = y.data();
  const Complex<T>* from = x.data();
  for_each_index(y.size(), [=](std::int64_t i) { to[i] = from[i] + factor * to[i]; });
}

template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x) {
  require_alike(y, x);
  if (y.device().is_cuda()) return device::add_scaled(y, factor, x);
  Complex<T>* to = y.data();
  const Complex<T>* from = x.data();
  for_each_index(y.size(), [=](std::int64_t i) { to[i] += factor * from[i]; });
}

template <class T>
void scale(Array<Complex<T>>& y, T factor) {
  if (y.device().is_cuda()) return device::scale(y, factor);
  Complex<T>* to = y.data();
  for_each_index(y.size(), [=](std::int64_t i) { to[i] *= factor; });
}

template <class T>
void copy(const Array<Complex<T>>& x, Array<Complex<T>>& y) {
  require_alike(x, y);
  copy_range(x, 0, y, 0, x.size());
}

template <class T>
void copy_range(const Array<Complex<T>>& x, std::int64_t first_x, Array<Complex<T>>& y, std::int64_t first_y,
                std::int64_t count) {
  if (count < 0 || first_x < 0 || first_y < 0 || first_x + count > x.size() || first_y + count > y.size())
    throw Error("vector", "a range within both arrays", std::to_string(count) + " elements");
  if (x.device() != y.device()) throw Error("vector", "arrays on one device", "arrays on two");
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Complex<T>);
  if (bytes == 0) return;
  if (x.device().is_cuda())
    device::copy_on_device(y.data() + first_y, x.data() + first_x, bytes);
  else
    std::memcpy(y.data() + first_y, x.data() + first_x, bytes);
}

template <class T>
double real_dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  Array<double> result(Shape{1}, a.device());
  dot(a, b, result, 0);
  return result.to(Device::cpu())[0];
}

template <class T>
double norm_l2(const Array<Complex<T>>& a) {
  return std::sqrt(real_dot(a, a));
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<double>&, std::int64_t); \
  template void add_scaled<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);                \
  template void scale_and_add<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);             \
  template void add_scaled<T>(Array<Complex<T>>&, T, const Array<Complex<T>>&);                           \
  template void scale<T>(Array<Complex<T>>&, T);                                                          \
  template void copy<T>(const Array<Complex<T>>&, Array<Complex<T>>&);                                    \
  template void copy_range<T>(const Array<Complex<T>>&, std::int64_t, Array<Complex<T>>&, std::int64_t,   \
                              std::int64_t);                                                              \
  template double real_dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&);                        \
  template double norm_l2<T>(const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
