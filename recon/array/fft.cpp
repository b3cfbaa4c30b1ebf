#include "recon/array/fft.hpp"

#include <fftw3.h>
#include <omp.h>

#include <map>
#include <mutex>
#include <tuple>

#include "recon/array/interruption.hpp"

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
  while (!ColumnFft<float>::supports(n)) ++n;
  return n;
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
    : side_by_side_(count >= least_columns && ColumnFft<T>::supports(n)),
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
    column_fft::kernels<T>().transpose(lines, pitch, count, n, scratch, wide);
    run(scratch + columns_);
    column_fft::kernels<T>().transpose(scratch, wide, n, count, lines, pitch);
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
GridFft<T>::GridFft(const Shape& grid)
    : nz_(grid[0]),
      ny_(grid[1]),
      nx_(grid[2]),
      x_(static_cast<int>(nx_), std::min(nz_ * ny_, LineFft<T>::wide)),
      y_(static_cast<int>(ny_), Fft1d<T>::wide),
      z_(static_cast<int>(nz_), Fft1d<T>::wide),
      scratch_elements_(std::max(x_.scratch_elements(), 2 * Fft1d<T>::wide * std::max(ny_, nz_))) {}

/// for_units(count, body(unit, scratch)): for every unit of a pass, which does not depend on another.
template <class T>
template <class Units>
void GridFft<T>::transform(Complex<T>* grid, int sign, const Units& for_units) const {
  constexpr std::int64_t wide = Fft1d<T>::wide;
  const std::int64_t lines = nz_ * ny_;
  if (nx_ > 1)
    for_units((lines + wide - 1) / wide, [&](std::int64_t unit, Complex<T>* scratch) {
      x_(grid + unit * wide * nx_, nx_, std::min(wide, lines - unit * wide), sign, scratch);
    });
  // Along y: the columns of each plane z; along z: the columns of the whole grid seen as one plane.
  const auto columns = [&](const Fft1d<T>& fft, std::int64_t planes, std::int64_t stride) {
    const std::int64_t n = fft.size(), chunks = (stride + wide - 1) / wide;
    if (n == 1) return;
    for_units(planes * chunks, [&](std::int64_t unit, Complex<T>* buffer) {
      const std::int64_t first = unit % chunks * wide, used = std::min(wide, stride - first);
      Complex<T>*const at = grid + unit / chunks * n * stride + first, *const scratch = buffer + n * wide;
      if (used < wide) std::fill_n(buffer, n * wide, Complex<T>());
      for (std::int64_t i = 0; i < n; ++i) std::copy_n(at + i * stride, used, buffer + i * wide);
      sign < 0 ? fft.forward(buffer, scratch) : fft.backward(buffer, scratch);
      for (std::int64_t i = 0; i < n; ++i) std::copy_n(buffer + i * wide, used, at + i * stride);
    });
  };
  columns(y_, nz_, nx_);
  columns(z_, 1, ny_ * nx_);
}

template <class T>
void GridFft<T>::operator()(Complex<T>* grids, std::int64_t count, int sign) const {
  memory_for(scratch_, omp_get_max_threads() * scratch_elements_);
  const std::int64_t size = nz_ * ny_ * nx_;
  const auto own_scratch = [&] { return scratch_.data() + omp_get_thread_num() * scratch_elements_; };
  const Checkpoint checkpoint;
  if (count >= omp_get_max_threads()) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i)
      transform(grids + i * size, sign, [&, scratch = own_scratch()](std::int64_t units, const auto& body) {
        for (std::int64_t unit = 0; unit < units && !checkpoint.is_ended(); ++unit) body(unit, scratch);
      });
    return checkpoint.rethrow();
  }
#pragma omp parallel
  for (std::int64_t i = 0; i < count; ++i)
    transform(grids + i * size, sign, [&, scratch = own_scratch()](std::int64_t units, const auto& body) {
#pragma omp for schedule(static)
      for (std::int64_t unit = 0; unit < units; ++unit)
        if (!checkpoint.is_ended()) body(unit, scratch);
    });
  checkpoint.rethrow();
}

template <class T>
void fft_3d(Array<Complex<T>>& grid, int sign) {
  const GridFft<T> fft(grid.shape());
  fft(grid.data(), 1, sign);
}

template class Fft1d<float>;
template class Fft1d<double>;
template class LineFft<float>;
template class LineFft<double>;
template class GridFft<float>;
template class GridFft<double>;
template void fft_3d<float>(Array<Complex<float>>&, int);
template void fft_3d<double>(Array<Complex<double>>&, int);

template <class T>
StackFft<T> make_stack_fft(const Shape& image, std::int64_t count, Device device) {
  if (image.rank() != 3) throw Error("FFT", "images [z][y][x]", image.text());
  if (device.is_cpu())
    return [fft = std::make_shared<GridFft<T>>(image)](Array<Complex<T>>& stack, std::int64_t used,
                                                       int sign) { (*fft)(stack.data(), used, sign); };
  if constexpr (built_with_cuda) return device::make_stack_fft<T>(image, count, device);
  refuse_cuda();
}

template StackFft<float> make_stack_fft<float>(const Shape&, std::int64_t, Device);
template StackFft<double> make_stack_fft<double>(const Shape&, std::int64_t, Device);

}  // namespace fhd
