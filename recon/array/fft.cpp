#include "recon/array/fft.hpp"

#include <fftw3.h>

#include <map>
#include <mutex>
#include <tuple>

namespace fhd {
namespace {

// FFTW's planner is not thread-safe.
std::mutex planner;

template <class T>
struct Fftw {
  using Plan = fftwf_plan;
  using Element = fftwf_complex;
  static constexpr auto plan_many = fftwf_plan_many_dft;
  static constexpr auto execute = fftwf_execute_dft;
  static constexpr auto destroy = fftwf_destroy_plan;
};
template <>
struct Fftw<double> {
  using Plan = fftw_plan;
  using Element = fftw_complex;
  static constexpr auto plan_many = fftw_plan_many_dft;
  static constexpr auto execute = fftw_execute_dft;
  static constexpr auto destroy = fftw_destroy_plan;
};

template <class T>
std::shared_ptr<void> make_plan(int n, int columns, int sign) {
  Array<Complex<T>> buffer(Shape{n, columns});
  auto* at = reinterpret_cast<typename Fftw<T>::Element*>(buffer.data());
  const auto plan = Fftw<T>::plan_many(1, &n, columns, at, nullptr, columns, 1, at, nullptr, columns, 1, sign,
                                       FFTW_ESTIMATE);
  if (plan == nullptr)
    throw Error("FFT", "a plan for " + std::to_string(columns) + " transforms of length " + std::to_string(n),
                "none from FFTW");
  return {plan, [](void* made) { Fftw<T>::destroy(static_cast<typename Fftw<T>::Plan>(made)); }};
}

/// Planning takes longer than many short transforms do: plans are kept, up to `most` of each precision beside
/// those in use.
template <class T>
std::shared_ptr<void> plan_of(int n, int columns, int sign) {
  constexpr std::size_t most = 256;
  static std::map<std::tuple<int, int, int>, std::shared_ptr<void>> plans;
  const std::lock_guard lock(planner);
  if (plans.size() >= most)
    std::erase_if(plans, [](const auto& kept) { return kept.second.use_count() == 1; });
  auto& plan = plans[{n, columns, sign}];
  if (!plan) plan = make_plan<T>(n, columns, sign);
  return plan;
}

template <class T>
void execute(const std::shared_ptr<void>& plan, Complex<T>* data) {
  auto* at = reinterpret_cast<typename Fftw<T>::Element*>(data);
  Fftw<T>::execute(static_cast<typename Fftw<T>::Plan>(plan.get()), at, at);
}

}  // namespace

int good_fft_size(int n) {
  for (;; ++n) {
    int rest = n;
    for (int factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

template <class T>
Fft1d<T>::Fft1d(int n, int columns) : n_(n) {
  if (columns == wide && ColumnFft<T>::supports(n)) {
    columns_.emplace(n);
  } else {
    forward_ = plan_of<T>(n, columns, FFTW_FORWARD);
    backward_ = plan_of<T>(n, columns, FFTW_BACKWARD);
  }
}

template <class T>
void Fft1d<T>::run(Complex<T>* data, Complex<T>* scratch, bool backward) const {
  if (columns_)
    (*columns_)(data, scratch, backward);
  else
    execute(backward ? backward_ : forward_, data);
}

template <class T>
LineFft<T>::LineFft(int n, std::int64_t count)
    : side_by_side_(side_by_side(n, count)),
      columns_(side_by_side_ ? n * wide : (n + wide - 1) / wide * wide),
      fft_(n, side_by_side_ ? int{wide} : 1) {}

template <class T>
void LineFft<T>::operator()(Complex<T>* lines, std::int64_t pitch, std::int64_t count, int sign,
                            Complex<T>* scratch) const {
  const auto run = [&](Complex<T>* more) {
    sign < 0 ? fft_.forward(scratch, more) : fft_.backward(scratch, more);
  };
  const std::int64_t n = fft_.size();
  if (side_by_side_) {
    if (count < wide) std::fill_n(scratch, columns_, Complex<T>());
    transpose(lines, pitch, count, n, scratch, wide);
    run(scratch + columns_);
    transpose(scratch, wide, n, count, lines, pitch);
  } else {
    // FFTW's plans are made for aligned memory.
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(lines + i * pitch, n, scratch);
      run(nullptr);
      std::copy_n(scratch, n, lines + i * pitch);
    }
  }
}

template <class T>
void fft_3d(Array<Complex<T>>& grid, int sign) {
  const std::int64_t nz = grid.extent(0), ny = grid.extent(1), nx = grid.extent(2);
  constexpr std::int64_t wide = Fft1d<T>::wide;
  if (nx > 1) {
    const LineFft<T> fft(static_cast<int>(nx), std::min(nz * ny, wide));
#pragma omp parallel
    {
      Array<Complex<T>> scratch(Shape{fft.scratch_elements()});
#pragma omp for schedule(static)
      for (std::int64_t first = 0; first < nz * ny; first += wide)
        fft(grid.data() + first * nx, nx, std::min(wide, nz * ny - first), sign, scratch.data());
    }
  }
  // Along y: the columns of each plane z; along z: the columns of the whole grid seen as one plane.
  const auto columns = [&](std::int64_t planes, std::int64_t n, std::int64_t stride) {
    if (n == 1) return;
    const Fft1d<T> fft(static_cast<int>(n), wide);
    const std::int64_t chunks = (stride + wide - 1) / wide;
#pragma omp parallel
    {
      Array<Complex<T>> memory(Shape{2, n, wide});
      Complex<T>*const buffer = memory.data(), *const scratch = buffer + n * wide;
#pragma omp for schedule(static)
      for (std::int64_t unit = 0; unit < planes * chunks; ++unit) {
        const std::int64_t first = unit % chunks * wide, used = std::min(wide, stride - first);
        Complex<T>* at = grid.data() + unit / chunks * n * stride + first;
        for (std::int64_t i = 0; i < n; ++i) std::copy_n(at + i * stride, used, buffer + i * wide);
        sign < 0 ? fft.forward(buffer, scratch) : fft.backward(buffer, scratch);
        for (std::int64_t i = 0; i < n; ++i) std::copy_n(buffer + i * wide, used, at + i * stride);
      }
    }
  };
  columns(nz, ny, nx);
  columns(1, nz, ny * nx);
}

template class Fft1d<float>;
template class Fft1d<double>;
template class LineFft<float>;
template class LineFft<double>;
template void fft_3d<float>(Array<Complex<float>>&, int);
template void fft_3d<double>(Array<Complex<double>>&, int);

}  // namespace fhd
