#include "recon/pipeline/machine_rates.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/noise.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

constexpr Precision single = Precision::single_precision, in_double = Precision::double_precision;
constexpr std::pair<const char*, WorkUnit> named_units[] = {
    {"pair", WorkUnit::pair},       {"matrix product", WorkUnit::matrix_product},
    {"FFT", WorkUnit::fft},         {"kernel point", WorkUnit::kernel_point},
    {"byte", WorkUnit::byte},       {"transferred byte", WorkUnit::transferred_byte},
    {"algebra", WorkUnit::algebra}, {"region", WorkUnit::region}};
static_assert(std::size(named_units) == Work::units);

/// Returns the seconds of the fastest of several runs of `work`, after one that warms up.
template <class Run>
double fastest(Device device, const Run& work) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  // Many short runs on the CPU, so that one of them is undisturbed; a GPU takes a while to reach its clock.
  const double budget = device.is_cuda() ? 0.05 : 0.01;
  const auto run = [&] {
    work();
    device::synchronize(device);
  };
  run();
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    run();
    best = std::min(best, seconds_since(start));
  } while (seconds_since(begin) < budget);
  return std::max(best, 1e-9);
}

/// Returns positions spread evenly over k-space at random.
Trajectory random_trajectory(const std::array<int, 3>& n, std::int64_t samples) {
  Trajectory trajectory{Array<double>(Shape{3, samples})};
  std::mt19937 generator(7);
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m)
      if (n[axis] > 1) trajectory.k[axis * samples + m] = (generator() * 0x1p-32 - 0.5) * n[axis];
  return trajectory;
}

template <class T>
Array<Complex<T>> some_values(Shape shape, Device device) {
  Array<Complex<T>> array(shape);
  for (std::int64_t i = 0; i < array.size(); ++i) array[i] = {T(1), static_cast<T>(i % 7) / 7};
  return array.to(device);
}

/// Measures a forward and an adjoint product, and charges what other units do not explain to `unit`.
template <class T>
void measure_transform(const FourierTransform<T>& transform, std::int64_t coils, WorkUnit unit,
                       MachineRates& rates) {
  const Device device = transform.device();
  auto images = some_values<T>(transform.images_shape(coils), device),
       values = some_values<T>(transform.samples_shape(coils), device);
  const double seconds = fastest(device, [&] {
    transform.adjoint(values, images);
    transform.forward(images, values);
  });
  const Work work = transform.cost().adjoint(coils) + transform.cost().forward(coils);
  double& rate = rates.of(unit, precision_of<T>());
  rate = 0;
  rate = std::max(seconds - rates.seconds(work), 0.3 * seconds) / work.at(unit, precision_of<T>());
}

template <class T>
void measure_transforms(Device device, MachineRates& rates) {
  const bool gpu = device.is_cuda();
  const int size = gpu ? 64 : 24;
  const std::array<int, 3> plane{gpu ? 128 : 64, gpu ? 128 : 64, gpu ? 32 : 1}, volume{size, size, size};
  const auto positions = random_trajectory(plane, gpu ? 32768 : 512);
  measure_transform<T>(*make_direct_transform<T>(positions, plane, device, {GpuSums::fast}), 4,
                       WorkUnit::pair, rates);
  if (gpu)
    measure_transform<T>(*make_direct_transform<T>(positions, plane, device, {GpuSums::tensor_cores}), 4,
                         WorkUnit::matrix_product, rates);
  const std::int64_t coils = gpu ? 8 : 2;
  const auto grid = difference_grid(volume);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  q[0] = Complex<T>(1);
  const auto normal =
      make_toeplitz_normal<T>(q.to(device), some_values<T>(Shape{coils, size, size, size}, device));
  auto in = some_values<T>(normal->domain(), device), out = some_values<T>(normal->domain(), device);
  constexpr Precision precision = precision_of<T>();
  rates.of(WorkUnit::fft, precision) =
      fastest(device, [&] { normal->forward(in, out); }) /
      toeplitz_cost(volume, coils, precision, device).forward.at(WorkUnit::fft, precision);
  measure_transform<T>(
      *make_gridded_transform<T>(random_trajectory(volume, gpu ? 262144 : 4096), volume, 1e-5, device), 4,
      WorkUnit::kernel_point, rates);
}

void measure_memory(Device device, MachineRates& rates) {
  const std::int64_t elements = device.is_cuda() ? 1 << 24 : 1 << 20;
  Array<Complex<float>> from(Shape{elements}, device), to(Shape{elements}, device);
  const auto bytes = static_cast<double>(elements) * sizeof(Complex<float>);
  rates.of(WorkUnit::byte) = fastest(device, [&] { add_scaled(to, 0.5f, from); }) / bytes;
  if (device.is_cuda()) {
    Array<Complex<float>> host;
    rates.of(WorkUnit::transferred_byte) = fastest(device, [&] { host = from.to(Device::cpu()); }) / bytes;
  }
  Array<Complex<float>> few(Shape{64}, device), other(Shape{64}, device);
  rates.of(WorkUnit::region) = fastest(device, [&] { add_scaled(few, 0.5f, other); });
}

void measure_algebra(MachineRates& rates) {
  constexpr std::int64_t coils = 16, samples = 4096;
  const auto data = some_values<float>(Shape{coils, samples}, Device::cpu());
  const double seconds = fastest(Device::cpu(), [&] {
    const auto covariance = sum_of_outer_products(data);
    static_cast<void>(apply_mixing(covariance, data));
  });
  rates.of(WorkUnit::algebra) = seconds / static_cast<double>(coils * coils * samples);
}

}  // namespace

double MachineRates::seconds(const Work& work) const {
  double sum = 0;
  for (const auto precision : {single, in_double})
    for (const auto& [name, unit] : named_units)
      sum += work.at(unit, precision) *
             seconds_of_unit[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  return sum;
}

std::vector<std::pair<std::string, double*>> MachineRates::fields() {
  std::vector<std::pair<std::string, double*>> list;
  for (const auto& [name, unit] : named_units)
    for (const auto precision : {single, in_double})
      list.emplace_back(std::string(name) + (precision == single ? "" : ", double"), &of(unit, precision));
  return list;
}

MachineRates assumed_gpu_rates() {
  // validation/results/2026-11-20-h100*.md: 6.9e12 pairs/s and a 15th of that in double precision, gridding
  // at some 5e10 kernel points/s, 2e12 FFT operations/s, HBM at 1e12 bytes/s.
  MachineRates rates;
  const auto set = [&](WorkUnit unit, double of_single, double of_double) {
    rates.of(unit, single) = of_single;
    rates.of(unit, in_double) = of_double;
  };
  set(WorkUnit::pair, 1 / 6.9e12, 15 / 6.9e12);
  set(WorkUnit::matrix_product, 1 / 5e13, 1 / 5e12);
  set(WorkUnit::fft, 1 / 2e12, 1 / 1e12);
  set(WorkUnit::kernel_point, 1 / 5e10, 1 / 2e10);
  set(WorkUnit::byte, 1 / 1e12, 0);
  set(WorkUnit::transferred_byte, 1 / 1e10, 0);
  set(WorkUnit::region, 1e-5, 0);
  return rates;
}

MachineRates measure_rates(Device device) {
  MachineRates rates;
  measure_memory(device, rates);
  measure_transforms<float>(device, rates);
  measure_transforms<double>(device, rates);
  if (device.is_cpu()) measure_algebra(rates);
  return rates;
}

}  // namespace fhd
