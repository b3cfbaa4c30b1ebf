#include "recon/array/vector_math.hpp"

#include <cmath>
#include <vector>

#include "recon/array/rows.hpp"

namespace fhd {
namespace {

template <class T>
void require_alike(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  require_shape(a, b.shape(), "vector");
  if (a.device() != b.device()) throw Error("vector", "arrays on one device", "arrays on two");
}

void require_there(const Array<double>& scalars, std::int64_t index, std::int64_t count, Device device) {
  if (scalars.device() != device)
    throw Error("vector", "scalars on the device of the vectors", "scalars on another");
  if (index < 0 || count < 1 || index + count > scalars.size())
    throw Error("vector", "scalars below " + std::to_string(scalars.size()),
                std::to_string(index) + " ... " + std::to_string(index + count - 1));
}

/// Elements of each of `count` vectors.
template <class T>
std::int64_t size_of_each(const Array<Complex<T>>& stack, std::int64_t count) {
  if (count < 1 || stack.size() % count != 0)
    throw Error("vector", "a stack of " + std::to_string(count) + " vectors", stack.shape().text());
  return stack.size() / count;
}

/// y_i = body(y_i, ratio, x_i): on the CPU the quotient is read once a vector, on a GPU by every thread.
template <template <class, class> class Body, class T>
void run(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_alike(y, x);
  require_there(ratio.numerators, ratio.numerator, ratio.count, y.device());
  require_there(ratio.denominators, ratio.denominator, ratio.count, y.device());
  if (ratio.negligible_of_each) require_there(*ratio.negligible_of_each, 0, ratio.count, y.device());
  const std::int64_t size = size_of_each(y, ratio.count);
  const QuotientFactor<T> factor{ratio.numerators.data() + ratio.numerator,
                                 ratio.denominators.data() + ratio.denominator,
                                 ratio.negligible_of_each ? ratio.negligible_of_each->data() : nullptr,
                                 ratio.factor,
                                 ratio.negligible,
                                 size};
  if (y.device().is_cuda())
    return for_each_index(y.device(), y.size(), Body<T, QuotientFactor<T>>{y.data(), factor, x.data()});
  for (std::int64_t j = 0; j < ratio.count; ++j)
    for_each_index(
        y.device(), size,
        Body<T, ConstantFactor<T>>{y.data() + j * size, {factor.of_vector(j)}, x.data() + j * size});
}

/// Re sum conj(a_i) b_i in host memory.
template <class T>
double host_dot(const Complex<T>* a, const Complex<T>* b, std::int64_t size) {
  constexpr std::int64_t block = 4096;
  const std::int64_t blocks = (size + block - 1) / block;
  std::vector<double> partial(blocks);
#pragma omp parallel for schedule(static) if (blocks > 4)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t begin = i * block;
    partial[i] = rows::kernels<T>().dot(std::min(block, size - begin), a + begin, b + begin).re;
  }
  double sum = 0;
  for (double p : partial) sum += p;
  return sum;
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index,
         std::int64_t count) {
  require_alike(a, b);
  require_there(results, index, count, a.device());
  const std::int64_t size = size_of_each(a, count);
  if (a.device().is_cuda()) {
    if constexpr (built_with_cuda) return device::dot(a, b, results.data() + index, count);
  }
  for (std::int64_t j = 0; j < count; ++j)
    results[index + j] = host_dot(a.data() + j * size, b.data() + j * size, size);
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

template <class T>
void keep_real_part(Array<Complex<T>>& y) {
  for_each_index(y.device(), y.size(), RealPart<T>{y.data()});
}

template <class T>
void combine_images(const Array<T>& weights, const Array<Complex<T>>& in, Array<Complex<T>>& out) {
  const std::int64_t count = weights.extent(1), voxels = in.size() / count;
  if (voxels * count != in.size() || voxels * weights.extent(0) != out.size())
    throw Error("images to combine", weights.shape().text() + " weights of them",
                in.shape().text() + " -> " + out.shape().text());
  for_each_index(out.device(), out.size(),
                 CombineImages<T>{voxels, count, weights.data(), in.data(), out.data()});
}

#define FHD_INSTANTIATE(T)                                                                               \
  template void dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<double>&, std::int64_t, \
                       std::int64_t);                                                                    \
  template void add_scaled<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);            \
  template void scale_and_add<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);         \
  template void add_scaled<T>(Array<Complex<T>>&, T, const Array<Complex<T>>&);                          \
  template void scale<T>(Array<Complex<T>>&, T);                                                         \
  template void copy<T>(const Array<Complex<T>>&, Array<Complex<T>>&);                                   \
  template void copy_range<T>(const Array<Complex<T>>&, std::int64_t, Array<Complex<T>>&, std::int64_t,  \
                              std::int64_t);                                                             \
  template void keep_real_part<T>(Array<Complex<T>>&);                                                   \
  template void combine_images<T>(const Array<T>&, const Array<Complex<T>>&, Array<Complex<T>>&);        \
  template double real_dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&);                       \
  template double norm_l2<T>(const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
