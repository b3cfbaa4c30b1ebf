#include "recon/encoding/preconditioner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "recon/array/fft.hpp"
#include "recon/array/trace.hpp"
#include "recon/encoding/functors.hpp"
#include "recon/encoding/sense_normal.hpp"
#include "recon/transform/toeplitz/toeplitz_backends.hpp"

namespace fhd {
namespace {

/// Measured: with one coil of no shape the gaps of the sampling stay open, as a circulant does not tell; with eight it
/// hardly matters.
double damping_for(std::int64_t coils) { return std::clamp(1 / static_cast<double>(coils), 0.1, 1.0); }

/// Factors beside the maps: s, b [z][y][x] and g, divided by the number of voxels, on the device of the maps.
template <class T>
struct Factors {
  Array<T> scale, bare, spectrum;
};

/// Sum of f(i) for i < size, in an order that follows from the size and the kind of device alone.
template <class F>
double sum_of(Device device, std::int64_t size, const F& f) {
  const std::int64_t parts = std::min<std::int64_t>(size, device.is_cuda() ? 1 << 15 : 256);
  Array<double> sums(Shape{parts}, device);
  for_each_index(device, parts, SumInParts<F>{f, size, parts, device.is_cuda(), sums.data()},
                 size > 1 << 14 ? 1 : parts + 1);
  if (device.is_cuda()) sums = sums.to(Device::cpu());
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// On the device of `circulant` and `squares`; the penalty is in host memory.
template <class T>
Factors<T> factors_of(const Array<double>& circulant, const Array<double>& host_penalty,
                      const Array<T>& squares, double damping) {
  const Device device = squares.device();
  const Array<double> copied = device.is_cpu() ? Array<double>() : host_penalty.to(device);
  const Array<double>& penalty = copied.empty() ? host_penalty : copied;
  const std::int64_t voxels = squares.size();
  const auto n = static_cast<double>(voxels);
  const double samples = sum_of(device, voxels, Elements<double>{circulant.data()}) / n,
               mean_penalty = sum_of(device, voxels, Elements<double>{penalty.data()}) / n;
  if (!(samples > 0) || !std::isfinite(samples) || !(mean_penalty >= 0) || !std::isfinite(mean_penalty))
    throw Error("preconditioner", "a point spread and a penalty of finite, positive energy",
                std::to_string(samples) + " and " + std::to_string(mean_penalty));
  const double floor = mean_penalty / samples,  // s0
      all = sum_of(device, voxels, Elements<T>{squares.data()}),
               weighted = sum_of(device, voxels, WeightedSquares<T>{squares.data(), floor}),
               share = all > 0 ? weighted / all : 0;
  const Shape image = squares.shape();
  Factors<T> f{Array<T>(image, device), Array<T>(image, device), Array<T>(image, device)};
  for_each_index(device, voxels,
                 ScaleAndBare<T>{squares.data(), floor, samples, f.scale.data(), f.bare.data()});
  for_each_index(device, voxels,
                 InverseSpectrum<T>{circulant.data(), penalty.data(), n, share, samples, mean_penalty,
                                    damping, f.spectrum.data()});
  return f;
}

/// |S(r)|^2 of all coils.
template <class T>
Array<T> squares_of(const Array<Complex<T>>& maps) {
  Array<T> squares(Shape{maps.extent(1), maps.extent(2), maps.extent(3)}, maps.device());
  for_each_with_coils(maps.device(), squares.size(),
                      SumOfSquares<T>{maps.data(), maps.size(), squares.size(), squares.data()});
  return squares;
}

/// Coils that are taken together: on the CPU all where they are small, and threads have one each; else one by one.
std::int64_t coils_together(std::int64_t coils, std::int64_t voxels, Device device,
                            std::int64_t coils_at_once) {
  constexpr std::int64_t small = 1 << 22;
  if (device.is_cpu()) return voxels <= small / std::max<std::int64_t>(coils, 1) ? coils : 1;
  return coils_at_once == 0 ? coils : std::min(coils, coils_at_once);
}

template <class T>
class CirculantPreconditioner final : public HermitianOperator<T> {
 public:
  /// Takes these coils of the maps; b is applied with the first.
  CirculantPreconditioner(Factors<T> factors, std::shared_ptr<const SenseEncoding<T>> sense, std::int64_t set,
                          Share coils)
      : sense_(std::move(sense)),
        maps_(sense_->maps(set).data()),
        coils_(coils),
        together_(coils_together(coils.size(), domain().size(), device(), sense_->coils_at_once())),
        images_(device().is_cuda() && together_ == coils.size() ? sense_->images_at_once() : 1),
        factors_(std::move(factors)),
        fft_(make_stack_fft<T>(domain(), images_ * together_, device())) {
    const Shape image = domain();
    spectra_ = Array<Complex<T>>(Shape{images_ * together_, image[0], image[1], image[2]}, device());
    spectra_.fill_zero();
  }

  Shape domain() const override { return sense_->image(); }
  Device device() const override { return sense_->device(); }
  void forward(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override { forward_each(in, out); }
  void forward_each(const Array<Complex<T>>& in, Array<Complex<T>>& out) const override {
    const trace::Span span("preconditioner", "operator");
    const std::int64_t voxels = domain().size(), all = in.size() / voxels;
    for (std::int64_t image = 0; image < all; image += images_)
      for (std::int64_t coil = 0; coil < coils_.size(); coil += together_)
        add_coils(in.data() + image * voxels, std::min(images_, all - image), coil,
                  out.data() + image * voxels);
  }

 private:
  void add_coils(const Complex<T>* in, std::int64_t images, std::int64_t first, Complex<T>* out) const {
    const std::int64_t voxels = domain().size(), coils = std::min(together_, coils_.size() - first);
    const MapsAndScale<T> s{maps_ + (coils_.first + first) * voxels, factors_.scale.data(), coils * voxels,
                            voxels};
    for_each_with_coils(device(), images * voxels, ApplyScaledMaps<T>{s, in, spectra_.data()});
    fft_(spectra_, images * coils, -1);
    for_each_with_coils(
        device(), voxels,
        MultiplySpectra<T>{factors_.spectrum.data(), images * coils * voxels, voxels, spectra_.data()});
    fft_(spectra_, images * coils, +1);
    for_each_with_coils(
        device(), images * voxels,
        CombineScaled<T>{s, spectra_.data(), coils_.first == 0 ? factors_.bare.data() : nullptr, in, out,
                         first > 0});
  }

  std::shared_ptr<const SenseEncoding<T>> sense_;
  const Complex<T>* maps_;
  Share coils_;
  std::int64_t together_, images_;
  Factors<T> factors_;
  StackFft<T> fft_;
  mutable Array<Complex<T>> spectra_;  // [image and coil][z][y][x]
};

}  // namespace

template <class T>
Array<double> circulant_of_point_spread(const Array<Complex<T>>& point_spread, const Shape& image) {
  // Every circular difference d stands for d and d - N: q of both, by how many pairs of voxels have them.
  const Device device = point_spread.device();
  Array<Complex<double>> kernel(image, device);
  for_each_index(device, kernel.size(),
                 CirculantKernel<T>{point_spread.data(),
                                    {image[0], image[1], image[2]},
                                    {point_spread.extent(0), point_spread.extent(1), point_spread.extent(2)},
                                    kernel.data()});
  make_stack_fft<double>(image, 1, device)(kernel, 1, -1);
  Array<double> eigenvalues(image, device);
  for_each_index(device, kernel.size(), NonNegativePart{kernel.data(), eigenvalues.data()});
  return eigenvalues;
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> make_preconditioner(const Array<double>& circulant,
                                                                const Array<double>& penalty,
                                                                std::shared_ptr<const SenseEncoding<T>> sense,
                                                                std::int64_t set) {
  const Shape image = sense->image();
  const Device device = sense->device();
  const std::int64_t coils = sense->maps().extent(0);
  Factors<T> factors = factors_of<T>(circulant, penalty, squares_of(sense->maps(set)), damping_for(coils));
  const auto group = sense->group();
  const Share mine = share_of(coils, *group);
  std::shared_ptr<const HermitianOperator<T>> part;
  if (mine.size() > 0)
    part = std::make_shared<CirculantPreconditioner<T>>(std::move(factors), std::move(sense), set, mine);
  return shared_sum<T>(std::move(part), image, device, group);
}

OperatorCost preconditioner_cost(const TransformSizes& sizes, std::int64_t coils, Device device,
                                 std::int64_t coils_at_once, std::int64_t images_at_once) {
  const double image = image_bytes(sizes), all = static_cast<double>(coils);
  std::array<double, 3> n{};
  for (std::size_t axis = 0; axis < 3; ++axis) n[axis] = sizes.matrix_size[axis];
  const double voxels = n[0] * n[1] * n[2],
               together = static_cast<double>(
                   coils_together(coils, static_cast<std::int64_t>(std::min(voxels, 0x1p62)), device,
                                  coils_at_once) *
                   images_at_once);
  OperatorCost cost;
  cost.forward =
      all * (Work(WorkUnit::fft, 2 * full_fft_operations(n), sizes.precision) +
             2.0 * beyond_cache(image, device)) +
      Work(WorkUnit::byte, 3 * all * image) +
      Work(WorkUnit::region, 5 * std::ceil(all / std::min(together, all)));  // three loops, two FFTs
  cost.making = Work(WorkUnit::byte, (20 + together) * image);
  const bool needs_work = device.is_cuda() && std::any_of(sizes.matrix_size.begin(), sizes.matrix_size.end(),
                                                          [](int size) { return cufft_needs_work(size); });
  const double held = ((needs_work ? 2 : 1) * together + 1.5) * image, small = device.is_cuda() ? 256 : 0,
               eigenvalues = 8 * voxels;
  cost.bytes = whole_bytes(held + eigenvalues + small);
  // The circulant in double precision, when nothing else is there yet; what the factors are made of, before the buffers.
  const double circulant = (needs_work ? 32 : 16) * voxels,
               factors = 2 * image + (device.is_cuda() ? eigenvalues : 0);
  cost.making_bytes = whole_bytes(std::max({circulant - held, factors - held, 0.0}));
  return cost;
}

#define FHD_INSTANTIATE(T)                                                                     \
  template Array<double> circulant_of_point_spread<T>(const Array<Complex<T>>&, const Shape&); \
  template std::shared_ptr<const HermitianOperator<T>> make_preconditioner<T>(                 \
      const Array<double>&, const Array<double>&, std::shared_ptr<const SenseEncoding<T>>, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
