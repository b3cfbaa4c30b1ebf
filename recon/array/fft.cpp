#include "recon/array/fft.hpp"

#include <fftw3.h>

#include <mutex>

namespace fhd {
namespace {

// FFTW's planner is not thread-safe.
std::mutex planner;

fftwf_plan plan_many(int n, int columns, Complex<float>* data, int sign) {
  auto* at = reinterpret_cast<fftwf_complex*>(data);
  return fftwf_plan_many_dft(1, &n, columns, at, nullptr, columns, 1, at, nullptr, columns, 1, sign,
                             FFTW_ESTIMATE);
}
fftw_plan plan_many(int n, int columns, Complex<double>* data, int sign) {
  auto* at = reinterpret_cast<fftw_complex*>(data);
  return fftw_plan_many_dft(1, &n, columns, at, nullptr, columns, 1, at, nullptr, columns, 1, sign,
                            FFTW_ESTIMATE);
}
void execute(fftwf_plan plan, Complex<float>* data) {
  auto* at = reinterpret_cast<fftwf_complex*>(data);
  fftwf_execute_dft(plan, at, at);
}
void execute(fftw_plan plan, Complex<double>* data) {
  auto* at = reinterpret_cast<fftw_complex*>(data);
  fftw_execute_dft(plan, at, at);
}
void destroy(fftwf_plan plan) { fftwf_destroy_plan(plan); }
void destroy(fftw_plan plan) { fftw_destroy_plan(plan); }

}  // namespace

template <class T>
struct Fft1d<T>::Plans {
  using Plan = decltype(plan_many(0, 0, static_cast<Complex<T>*>(nullptr), 0));
  Plan forward = nullptr, backward = nullptr;
  ~Plans() {
    const std::lock_guard lock(planner);
    if (forward != nullptr) destroy(forward);
    if (backward != nullptr) destroy(backward);
  }
};

int good_fft_size(int n) {
  for (;; ++n) {
    int rest = n;
    for (int factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

template <class T>
Fft1d<T>::Fft1d(int n, int columns) : n_(n), columns_(columns), plans_(std::make_unique<Plans>()) {
  Array<Complex<T>> buffer(Shape{n, columns});
  const std::lock_guard lock(planner);
  plans_->forward = plan_many(n, columns, buffer.data(), FFTW_FORWARD);
  plans_->backward = plan_many(n, columns, buffer.data(), FFTW_BACKWARD);
  if (plans_->forward == nullptr || plans_->backward == nullptr)
    throw Error("FFT", "a plan for " + std::to_string(columns) + " transforms of length " + std::to_string(n),
                "none from FFTW");
}
template <class T>
Fft1d<T>::~Fft1d() = default;
template <class T>
Fft1d<T>::Fft1d(Fft1d&&) noexcept = default;
template <class T>
Fft1d<T>& Fft1d<T>::operator=(Fft1d&&) noexcept = default;

template <class T>
void Fft1d<T>::forward(Complex<T>* data) const {
  execute(plans_->forward, data);
}
template <class T>
void Fft1d<T>::backward(Complex<T>* data) const {
  execute(plans_->backward, data);
}

template <class T>
void fft_3d(Array<Complex<T>>& grid, int sign) {
  const std::int64_t nz = grid.extent(0), ny = grid.extent(1), nx = grid.extent(2);
  const auto run = [&](const Fft1d<T>& fft, Complex<T>* data) {
    sign < 0 ? fft.forward(data) : fft.backward(data);
  };
  if (nx > 1) {
    const Fft1d<T> fft(static_cast<int>(nx), 1);
#pragma omp parallel
    {
      Array<Complex<T>> row(Shape{nx});
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < nz * ny; ++i) {
        std::copy_n(grid.data() + i * nx, nx, row.data());
        run(fft, row.data());
        std::copy_n(row.data(), nx, grid.data() + i * nx);
      }
    }
  }
  // Along y: the columns of each plane z; along z: the columns of the whole grid seen as one plane.
  const auto columns = [&](std::int64_t planes, std::int64_t n, std::int64_t stride) {
    if (n == 1) return;
    constexpr std::int64_t wide = Fft1d<T>::wide;
    const Fft1d<T> fft(static_cast<int>(n), wide);
    const std::int64_t chunks = (stride + wide - 1) / wide;
#pragma omp parallel
    {
      Array<Complex<T>> buffer(Shape{n, wide});
#pragma omp for schedule(static)
      for (std::int64_t unit = 0; unit < planes * chunks; ++unit) {
        const std::int64_t first = unit % chunks * wide, used = std::min(wide, stride - first);
        Complex<T>* at = grid.data() + unit / chunks * n * stride + first;
        for (std::int64_t i = 0; i < n; ++i) std::copy_n(at + i * stride, used, buffer.data() + i * wide);
        run(fft, buffer.data());
        for (std::int64_t i = 0; i < n; ++i) std::copy_n(buffer.data() + i * wide, used, at + i * stride);
      }
    }
  };
  columns(nz, ny, nx);
  columns(1, nz, ny * nx);
}

template class Fft1d<float>;
template class Fft1d<double>;
template void fft_3d<float>(Array<Complex<float>>&, int);
template void fft_3d<double>(Array<Complex<double>>&, int);

}  // namespace fhd
