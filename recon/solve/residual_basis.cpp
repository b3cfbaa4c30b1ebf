#include "recon/solve/residual_basis.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/rows.hpp"

namespace fhd {

constexpr std::int64_t block = 4096;  // of r, in the L1 and L2 cache while the residuals stream by

template <class T>
ResidualBasis<T>::ResidualBasis(const Shape& domain, std::int64_t capacity, Device device,
                                std::int64_t systems, bool in_pairs)
    : capacity_(capacity),
      systems_(systems),
      size_(domain.size()),
      blocks_((size_ + block - 1) / block),
      residuals_(Shape{capacity, systems, size_}, device),
      duals_(in_pairs ? Array<Complex<T>>(Shape{capacity, systems, size_}, device) : Array<Complex<T>>()),
      squares_(Shape{capacity, systems}, device) {
  if (device.is_cpu()) {
    products_ = Array<Complex<double>>(Shape{blocks_, capacity});
    coefficients_ = Array<Complex<T>>(Shape{capacity});
  } else {
    products_ = Array<Complex<double>>(Shape{capacity * systems * (device::residual_basis_blocks(size_) + 1)},
                                       device);
  }
}

template <class T>
double ResidualBasis<T>::bytes(double elements, double capacity, Device device, double systems,
                               bool in_pairs) {
  const auto size = static_cast<std::int64_t>(std::min(elements, 0x1p62));
  const double scratch = device.is_cuda()
                             ? static_cast<double>(device::residual_basis_blocks(size) + 1) * systems
                             : std::ceil(elements / block) + 1;
  return capacity * (systems * ((in_pairs ? 2 : 1) * elements * sizeof(Complex<T>) + sizeof(double)) +
                     scratch * sizeof(Complex<double>));
}

template <class T>
void ResidualBasis<T>::keep(const Array<Complex<T>>& r, const Array<Complex<T>>& z,
                            const Array<double>& products, std::int64_t index) {
  if (count_ == capacity_) return;
  const std::int64_t all = systems_ * size_;
  const auto keep_in = [&](Array<Complex<T>>& kept, const Array<Complex<T>>& vectors) {
    copy_bytes(kept.data() + count_ * all, kept.device(), vectors.data(), vectors.device(),
               static_cast<std::size_t>(all) * sizeof(Complex<T>));
  };
  keep_in(residuals_, r);
  if (!duals_.empty()) keep_in(duals_, z);
  copy_bytes(squares_.data() + count_ * systems_, squares_.device(), products.data() + index,
             products.device(), static_cast<std::size_t>(systems_) * sizeof(double));
  ++count_;
}

template <class T>
void ResidualBasis<T>::project_out(Array<Complex<T>>& r) {
  if (count_ == 0) return;
  if (r.device().is_cuda()) {
    if constexpr (built_with_cuda) {
      const CurrentDevice current(r.device());
      return device::project_out(residuals_.data(), duals().data(), squares_.data(), count_, systems_, size_,
                                 products_.data(), r.data());
    }
  }
  for (std::int64_t system = 0; system < systems_; ++system)
    project_out_on_host(system, r.data() + system * size_);
}

template <class T>
void ResidualBasis<T>::project_out_on_host(std::int64_t system, Complex<T>* r) {
  const auto of_system = [&](const Array<Complex<T>>& kept, std::int64_t j) {
    return kept.data() + (j * systems_ + system) * size_;
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks_; ++i) {
    const std::int64_t begin = i * block, end = std::min(size_, begin + block);
    for (std::int64_t j = 0; j < count_; ++j) {
      const Complex<T>* kept = of_system(duals(), j);
      products_[i * count_ + j] = rows::kernels<T>().dot(end - begin, kept + begin, r + begin);
    }
  }
  for (std::int64_t j = 0; j < count_; ++j) {
    Complex<double> sum;
    for (std::int64_t i = 0; i < blocks_; ++i) sum += products_[i * count_ + j];
    const double square = squares_[j * systems_ + system];
    coefficients_[j] = square == 0 ? Complex<T>() : Complex<T>((1 / square) * sum);
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < blocks_; ++i) {
    const std::int64_t begin = i * block, end = std::min(size_, begin + block);
    for (std::int64_t j = 0; j < count_; ++j) {
      const Complex<T>* kept = of_system(residuals_, j);
      rows::kernels<T>().subtract(end - begin, coefficients_[j], kept + begin, r + begin);
    }
  }
}

template class ResidualBasis<float>;
template class ResidualBasis<double>;

}  // namespace fhd
