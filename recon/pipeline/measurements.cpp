#include "recon/pipeline/measurements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "recon/array/linear_operator.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/domain/option_words.hpp"

namespace fhd {
namespace {

/// Returns the largest of |numbers|. Bits of numbers without a sign are ordered as the numbers are, and whole numbers are
/// compared several at a time.
template <class T>
T largest_of(const T* numbers, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  Bits largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<Bits>(numbers[i]) & std::numeric_limits<Bits>::max());
  return std::bit_cast<T>(largest);
}

/// Returns the largest |real or imaginary part|.
template <class T>
double largest_magnitude(const Array<Complex<T>>& values) {
  constexpr std::int64_t block = 1 << 16;
  const auto* const parts = reinterpret_cast<const T*>(values.data());
  const std::int64_t count = 2 * values.size();
  T largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::int64_t begin = 0; begin < count; begin += block)
    largest = std::max(largest, largest_of(parts + begin, std::min(block, count - begin)));
  return static_cast<double>(largest);
}

double largest_of_all(double mine, const ProcessGroup& processes) {
  std::vector<double> of_rank(processes.size());
  of_rank[processes.rank()] = mine;
  processes.sum(of_rank.data(), processes.size());
  return *std::max_element(of_rank.begin(), of_rank.end());
}

/// Writes the values, divided by the power of two nearest to their largest magnitude, to `to`, which may be where they are:
/// exact. Of any process where each has a part of them. Returns it, or 0 when all are zero, and then writes nothing.
template <class T>
double divide_by_magnitude(const Array<Complex<T>>& values, const ProcessGroup& processes, Complex<T>* to) {
  const double largest = largest_of_all(largest_magnitude(values), processes);
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  // Twice: 2^-exponent itself may be beyond the range of T where the values are denormal.
  const T half = std::scalbn(T(1), -exponent / 2), rest = std::scalbn(T(1), -exponent + exponent / 2);
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const Complex<T>& v = values.data()[i];
    to[i] = {v.re * half * rest, v.im * half * rest};
  }
  return std::scalbn(1.0, exponent);
}

/// Returns work(values) with the values of k-space, which are not copied where they are held in this precision.
template <class T, class Work>
auto with_values(const KSpace& kspace, const Work& work) {
  if constexpr (std::is_same_v<T, float>)
    return work(kspace.values);
  else if (kspace.in_double.empty())
    return work(converted<Complex<T>>(kspace.values));
  else
    return work(kspace.in_double);
}

}  // namespace

template <class T>
Measurements<T> measurements_of(const Scan& scan, std::vector<const KSpace*> volumes,
                                const Context& context) {
  Measurements<T> data{scan, std::move(volumes)};
  const auto count = static_cast<std::int64_t>(data.volumes.size());
  data.units.resize(data.volumes.size());
  const std::int64_t coils = scan.kspace.coil_count(), samples = scan.kspace.sample_count();
  if (context.processes().is_shared()) {  // each has a part of one volume
    if (count != 1) throw Error("processes that share a scan", "one volume", std::to_string(count));
    data.samples = columns_of(values_of<T>(*data.volumes.front()), share_of(samples, context.processes()));
    data.units[0] = divide_by_magnitude(data.samples, context.processes(), data.samples.data());
  } else {
    data.samples = Array<Complex<T>>(Shape{count * coils, samples});
    for_each_in_parallel(data.volumes.size(), [&](std::size_t v) {
      data.units[v] = with_values<T>(*data.volumes[v], [&](const Array<Complex<T>>& values) {
        require_shape(values, Shape{coils, samples}, "k-space of a volume");
        return divide_by_magnitude(values, SingleProcess(),
                                   data.samples.data() + static_cast<std::int64_t>(v) * values.size());
      });
    });
  }
  if (std::all_of(data.units.begin(), data.units.end(), [](double unit) { return unit == 0; }))
    context.log.note(no_signal, "all k-space values are zero, and so is the image");
  return data;
}

template <class T>
void copy_to_device(Array<Complex<T>>& values, const Context& context) {
  if (context.device().is_cuda())
    context.log.stage("copy to the device", [&] { values = values.to(context.device()); });
}

namespace {

/// Scales maps on the GPU, which saves a copy in host memory; returns nothing where the unit is beyond a float.
std::optional<ScaledMaps<float>> scaled_on_device(const Array<Complex<float>>& values,
                                                  const Context& context) {
  const double largest = largest_magnitude(values);
  if (largest == 0 || std::abs(std::ilogb(largest)) > 100) return std::nullopt;
  ScaledMaps<float> maps{{}, std::scalbn(1.0, std::ilogb(largest))};
  context.log.stage("copy to the device", [&] {
    maps.values = values.to(context.device());
    if (maps.unit != 1) scale(maps.values, static_cast<float>(1 / maps.unit));
  });
  return maps;
}

}  // namespace

template <class T>
ScaledMaps<T> maps_of(const Scan& scan, const Context& context) {
  if (!scan.sensitivity_maps) return {};
  if constexpr (std::is_same_v<T, float>)
    if (context.device().is_cuda())
      if (auto maps = scaled_on_device(scan.sensitivity_maps->values, context)) return std::move(*maps);
  ScaledMaps<T> maps{values_of<T>(*scan.sensitivity_maps)};
  maps.unit = divide_by_magnitude(maps.values, SingleProcess(), maps.values.data());
  if (maps.unit == 0)
    throw Error(
        "sensitivity maps", "values other than zero", "zeros",
        "leave them out: " + option_words("coils", "espirit") + " or " + option_words("coils", "none"));
  copy_to_device(maps.values, context);
  return maps;
}

std::int64_t strongest_coil(const KSpace& kspace) {
  std::int64_t strongest = 0;
  double most = -1;
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    double energy = 0;
    for (std::int64_t m = 0; m < kspace.sample_count(); ++m)
      energy += norm(Complex<double>(kspace.values[coil * kspace.sample_count() + m]));
    if (energy > most) most = energy, strongest = coil;
  }
  return strongest;
}

#define FHD_INSTANTIATE(T)                                                                              \
  template Measurements<T> measurements_of<T>(const Scan&, std::vector<const KSpace*>, const Context&); \
  template void copy_to_device<T>(Array<Complex<T>>&, const Context&);                                  \
  template ScaledMaps<T> maps_of<T>(const Scan&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
