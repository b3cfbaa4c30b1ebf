#include "recon/solve/problem.hpp"

#include "recon/array/vector_math.hpp"

namespace fhd {

template <class T>
double QuadraticTerm<T>::value(const Array<Complex<T>>& image) const {
  Array<Complex<T>> product(image.shape(), image.device());
  add_normal(image, T(1), product);
  return real_dot(image, product);
}

template <class T>
void RegularizedNormal<T>::forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const {
  normal_->forward(in, out);
  for (const auto& [term, weight] : terms_)
    if (weight != 0) term->add_normal(in, static_cast<T>(weight), out);
}

template class QuadraticTerm<float>;
template class QuadraticTerm<double>;
template class RegularizedNormal<float>;
template class RegularizedNormal<double>;

}  // namespace fhd
