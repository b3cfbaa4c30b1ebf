#include "recon/solve/residual_basis.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "recon/array/device_memory.hpp"

namespace fhd {

template <class T>
ResidualBasis<T>::ResidualBasis(const Shape& domain, std::int64_t capacity, Device device)
    : capacity_(capacity),
      size_(domain.size()),
      residuals_(Shape{capacity, domain.size()}, device),
      squares_(Shape{capacity}, device) {
  if (device.is_cuda())
    products_ = Array<Complex<double>>(Shape{device::residual_basis_scratch(capacity)}, device);
}

template <class T>
void ResidualBasis<T>::keep(const Array<Complex<T>>& r, const Array<double>& squares, std::int64_t index) {
  if (count_ == capacity_) return;
  const std::size_t bytes = static_cast<std::size_t>(size_) * sizeof(Complex<T>);
  Complex<T>* to = residuals_.data() + count_ * size_;
  if (r.device().is_cuda()) {
    device::copy_on_device(to, r.data(), bytes);
    device::copy_on_device(squares_.data() + count_, squares.data() + index, sizeof(double));
  } else {
    std::memcpy(to, r.data(), bytes);
    squares_[count_] = squares[index];
  }
  ++count_;
}

template <class T>
void ResidualBasis<T>::project_out(Array<Complex<T>>& r) {
  if (count_ == 0) return;
  if (r.device().is_cuda())
    return device::project_out(residuals_.data(), squares_.data(), count_, size_, products_.data(), r.data());

  constexpr std::int64_t block = 4096;  // of r, in the L1 and L2 cache while the residuals stream by
  const std::int64_t blocks = (size_ + block - 1) / block;
  std::vector<Complex<double>> partial(blocks * count_);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks; ++i) {
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
      partial[i * count_ + j] = {re, im};
    }
  }
  std::vector<Complex<T>> coefficients(count_);
  for (std::int64_t j = 0; j < count_; ++j) {
    Complex<double> sum;
    for (std::int64_t i = 0; i < blocks; ++i) sum += partial[i * count_ + j];
    coefficients[j] = squares_[j] == 0 ? Complex<T>() : Complex<T>((1 / squares_[j]) * sum);
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t begin = i * block, end = std::min(size_, begin + block);
    for (std::int64_t j = 0; j < count_; ++j) {
      const Complex<T>* kept = residuals_.data() + j * size_;
      const Complex<T> c = coefficients[j];
#pragma omp simd
      for (std::int64_t p = begin; p < end; ++p) r.data()[p] -= c * kept[p];
    }
  }
}

template class ResidualBasis<float>;
template class ResidualBasis<double>;

}  // namespace fhd
