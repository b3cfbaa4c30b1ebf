#include "recon/solve/residual_basis.hpp"

#include <algorithm>
#include <cmath>

namespace fhd {

constexpr std::int64_t block = 4096;  // of r, in the L1 and L2 cache while the residuals stream by

template <class T>
ResidualBasis<T>::ResidualBasis(const Shape& domain, std::int64_t capacity, Device device)
    : capacity_(capacity),
      size_(domain.size()),
      blocks_((size_ + block - 1) / block),
      residuals_(Shape{capacity, size_}, device),
      squares_(Shape{capacity}, device) {
  if (device.is_cpu()) {
    products_ = Array<Complex<double>>(Shape{blocks_, capacity});
    coefficients_ = Array<Complex<T>>(Shape{capacity});
  } else {
    products_ = Array<Complex<double>>(Shape{capacity * (device::residual_basis_blocks + 1)}, device);
  }
}

template <class T>
double ResidualBasis<T>::bytes(double elements, double capacity, Device device) {
  const double scratch =
      device.is_cuda() ? device::residual_basis_blocks + 1 : std::ceil(elements / block) + 1;
  return capacity * (elements * sizeof(Complex<T>) + sizeof(double) + scratch * sizeof(Complex<double>));
}

template <class T>
void ResidualBasis<T>::keep(const Array<Complex<T>>& r, const Array<double>& squares, std::int64_t index) {
  if (count_ == capacity_) return;
  copy_bytes(residuals_.data() + count_ * size_, residuals_.device(), r.data(), r.device(),
             static_cast<std::size_t>(size_) * sizeof(Complex<T>));
  copy_bytes(squares_.data() + count_, squares_.device(), squares.data() + index, squares.device(),
             sizeof(double));
  ++count_;
}

template <class T>
void ResidualBasis<T>::project_out(Array<Complex<T>>& r) {
  if (count_ == 0) return;
  if (r.device().is_cuda()) {
    if constexpr (built_with_cuda) {
      const CurrentDevice current(r.device());
      return device::project_out(residuals_.data(), squares_.data(), count_, size_, products_.data(),
                                 r.data());
    }
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks_; ++i) {
    const std::int64_t begin = i * block, end = std::min(size_, begin + block);
    for (std::int64_t j = 0; j < count_; ++j) {
      const Complex<T>* kept = residuals_.data() + j * size_;
      double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
      for (std::int64_t p = begin; p < end; ++p) {
        const Complex<T> a = kept[p], b = r.data()[p];
        re += double(a.re) * b.re + double(a.im) * b.im;
        im += double(a.re) * b.im - double(a.im) * b.re;
      }
      products_[i * count_ + j] = {re, im};
    }
  }
  for (std::int64_t j = 0; j < count_; ++j) {
    Complex<double> sum;
    for (std::int64_t i = 0; i < blocks_; ++i) sum += products_[i * count_ + j];
    coefficients_[j] = squares_[j] == 0 ? Complex<T>() : Complex<T>((1 / squares_[j]) * sum);
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks_; ++i) {
    const std::int64_t begin = i * block, end = std::min(size_, begin + block);
    for (std::int64_t j = 0; j < count_; ++j) {
      const Complex<T>* kept = residuals_.data() + j * size_;
      const Complex<T> c = coefficients_[j];
#pragma omp simd
      for (std::int64_t p = begin; p < end; ++p) r.data()[p] -= c * kept[p];
    }
  }
}

template class ResidualBasis<float>;
template class ResidualBasis<double>;

}  // namespace fhd
