#include "recon/array/vector_math.hpp"

#include <cmath>
#include <vector>

namespace fhd {
namespace {

template <class T>
void require_alike(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  require_shape(a, b.shape(), "vector");
  if (a.device() != b.device()) throw Error("vector", "arrays on one device", "arrays on two");
}

void require_there(const Array<double>& scalars, std::int64_t index, Device device) {
  if (scalars.device() != device)
    throw Error("vector", "scalars on the device of the vectors", "scalars on another");
  if (index < 0 || index >= scalars.size())
    throw Error("vector", "a scalar below " + std::to_string(scalars.size()), std::to_string(index));
}

/// y_i = body(y_i, ratio, x_i): on the CPU the quotient is read once, on a GPU by every thread.
template <template <class, class> class Body, class T>
void run(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_alike(y, x);
  require_there(ratio.numerators, ratio.numerator, y.device());
  require_there(ratio.denominators, ratio.denominator, y.device());
  const QuotientFactor<T> factor{ratio.numerators.data() + ratio.numerator,
                                 ratio.denominators.data() + ratio.denominator, ratio.factor,
                                 ratio.negligible};
  if (y.device().is_cpu())
    for_each_index(y.device(), y.size(), Body<T, ConstantFactor<T>>{y.data(), {factor.value()}, x.data()});
  else
    for_each_index(y.device(), y.size(), Body<T, QuotientFactor<T>>{y.data(), factor, x.data()});
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index) {
  require_alike(a, b);
  require_there(results, index, a.device());
  if (a.device().is_cuda()) {
    if constexpr (built_with_cuda) return device::dot(a, b, results.data() + index);
  }
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
  run<AddScaled>(y, ratio, x);
}

template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  run<ScaleAndAdd>(y, ratio, x);
}

template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x) {
  require_alike(y, x);
  for_each_index(y.device(), y.size(), AddScaled<T, ConstantFactor<T>>{y.data(), {factor}, x.data()});
}

template <class T>
void scale(Array<Complex<T>>& y, T factor) {
  for_each_index(y.device(), y.size(), Scale<T>{y.data(), factor});
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
  copy_bytes(y.data() + first_y, y.device(), x.data() + first_x, x.device(),
             static_cast<std::size_t>(count) * sizeof(Complex<T>));
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
  template void add_scaled<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);             \
  template void scale_and_add<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);          \
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
