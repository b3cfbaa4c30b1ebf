#include <omp.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <numbers>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/noise.hpp"
#include "recon/encoding/field_phase.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/machine_rates.hpp"
#include "recon/pipeline/partial_fourier.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

// Iterations of conjugate gradient bring the residual of a spectrum between lambda and (1 + ratio) lambda down to the
// tolerance in sqrt(1 + ratio) ln(2 / tolerance) / 2 steps (Shewchuk (1994), 9); the circulant preconditioner narrows the
// spectrum, less where k-space has gaps. ADMM was measured.
int expected_iterations(const LeastSquares& method, bool has_fields, double samples_per_unknown) {
  const double tolerance = std::max(method.tolerance, 1e-8);
  if (decide_solver(method) == SolverKind::admm) {
    const bool in_time = std::any_of(method.sparse.begin(), method.sparse.end(),
                                     [](const auto& each) { return each.kind == SparseKind::temporal_tv; });
    const double usual = (in_time ? 50 : 15) * (searches_strength(method) ? 0.5 : 1);
    return static_cast<int>(std::ceil(usual * std::sqrt(sparse_tolerance / tolerance)));
  }
  double ratio = 2 / reference_lambda;  // most of the spectrum lies below some twice the mean
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&method.lambda)) ratio = 2 / of_mean->share;
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda))
    ratio = of_largest->share > 0 ? 1 / of_largest->share : 1e6;
  if (uses_preconditioner(method, has_fields)) ratio /= std::clamp(8 * samples_per_unknown, 1.5, 6.0);
  return static_cast<int>(std::min(1e9, std::ceil(std::sqrt(1 + ratio) * std::log(2 / tolerance) / 2)));
}

ScanSizes sizes_of(const Scan& scan) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  const AxisOrder order = long_axes_first(sizes.matrix_size);
  sizes.samples = count_samples(keeps_axes(order) ? scan.trajectory : in_order(order, scan.trajectory));
  sizes.coils = scan.kspace.coil_count();
  if (sizes.coils > 1)
    sizes.calibration_sampled =
        scan.calibration.has_value() || calibration_is_sampled(scan.trajectory, sizes.matrix_size);
  sizes.resolved = resolved_field(scan);
  sizes.noise_samples = scan.noise ? scan.noise->extent(1) : 0;
  sizes.calibration_samples = scan.calibration ? scan.calibration->kspace.sample_count() : 0;
  sizes.cropped_matrix_size = scan.cropped_matrix_size;
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  sizes.has_fields = has_fields(scan);
  if (scan.field_map && scan.sample_time_s && scan.field_map->size() > 0 && scan.sample_time_s->size() > 0) {
    const auto [slow, fast] = std::minmax_element(scan.field_map->begin(), scan.field_map->end());
    const auto [begin, end] = std::minmax_element(scan.sample_time_s->begin(), scan.sample_time_s->end());
    sizes.field_turns = (double{*fast} - *slow) * (*end - *begin) / (2 * std::numbers::pi);
  }
  sizes.in_double = !scan.kspace.in_double.empty();
  return sizes;
}

namespace {

/// Returns the sizes on the matrix that holds the object (prepare_matrix).
ScanSizes on_larger_matrix(ScanSizes sizes, const std::array<int, 3>& matrix_size) {
  for (int axis = 0; axis < 3; ++axis) {
    const int own = std::exchange(sizes.matrix_size[axis], matrix_size[axis]);
    if (own == matrix_size[axis]) continue;
    sizes.is_enlarged = true;
    sizes.resolved[axis] *= static_cast<double>(own) / matrix_size[axis];
    sizes.cropped_matrix_size[axis] = own;
  }
  return sizes;
}

}  // namespace

ScanSizes sizes_of(const Scan& scan, const Settings& settings) {
  ScanSizes sizes = sizes_of(scan);
  if (const auto* method = least_squares(settings);
      method && method->partial_fourier == PartialFourier::phase)
    missing_side(scan.trajectory, scan.geometry.matrix_size);
  if (!looks_beyond_fov(settings) || sizes.resolved == own_field || !bound_to_fov(scan, settings).empty())
    return sizes;
  return on_larger_matrix(sizes, object_beyond_fov(scan, sizes.resolved).matrix_size);
}

Prediction predict(const ScanSizes& scan, const EstimateSettings& how, const MachineRates& device,
                   const MachineRates& host) {
  const Estimate made = estimate(scan, how);
  const auto seconds_of = [&](const EstimatedStage& stage) {
    return host.slowdown * stage.seconds + device.seconds(stage.work) + host.seconds(stage.host_work);
  };
  Prediction result;
  result.images = how.images;
  result.other_seconds = seconds_of(made.between);
  const bool solved = least_squares(how.settings) != nullptr,
             segmented = scan.has_field_map && scan.has_sample_time;  // whose Q depend on the field map
  for (const auto& stage : made.stages) {
    double seconds = seconds_of(stage);
    if (stage.name == "certificate") {  // of each frame, with a clock of its own
      const FrameSizes frames = how.frames.value_or(FrameSizes{1, scan.samples.all});
      const std::int64_t coils = made.coil_decision.uses_maps() || !solved ? made.coils : 1;
      seconds += frames.frames *
                 how.verifier->expected_seconds({double(frames.samples_per_frame), scan.voxels(),
                                                 double(coils), solved, double(omp_get_max_threads())});
    }
    result.stages.push_back({stage.name, seconds});
    if (!how.frames && !segmented && depends_on_trajectory_alone(stage.name)) result.once_seconds += seconds;
  }
  result.iterations_seconds =
      made.solves * std::max(0, made.most_iterations - made.iterations) * device.seconds(made.iteration);
  return result;
}

double Prediction::seconds() const {
  double sum = other_seconds;
  for (const Stage& stage : stages) sum += stage.seconds;
  return sum;
}

namespace {

constexpr Precision single = Precision::single_precision, in_double = Precision::double_precision;
constexpr std::pair<const char*, WorkUnit> named_units[] = {
    {"pair", WorkUnit::pair},       {"matrix product", WorkUnit::matrix_product},
    {"FFT", WorkUnit::fft},         {"kernel point", WorkUnit::kernel_point},
    {"byte", WorkUnit::byte},       {"transferred byte", WorkUnit::transferred_byte},
    {"algebra", WorkUnit::algebra}, {"region", WorkUnit::region}};
static_assert(std::size(named_units) == Work::units);

/// Measures how long pieces of work take on a device, and how long this thread waits for a processor while it lives.
class Stopwatch {
 public:
  explicit Stopwatch(Device device) : device_(device) {}

  /// Returns the seconds of one run of `work`, after one that warms up: on a CPU without those in which other processes had
  /// the processor, on a GPU those of the fastest of several runs.
  template <class Run>
  double seconds_of(const Run& work) {
    const double budget = device_.is_cuda() ? 0.05 : 0.01;  // a GPU takes a while to reach its clock
    const auto run = [&] {
      work();
      device::synchronize(device_);
    };
    run();
    double best = 1e300;
    int runs = 0;
    const double begin = seconds(CLOCK_MONOTONIC), own_begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    double elapsed = 0;
    do {
      const double before = elapsed;
      run();
      ++runs;
      elapsed = seconds(CLOCK_MONOTONIC) - begin;
      best = std::min(best, elapsed - before);
    } while (elapsed < budget);
    if (device_.is_cuda()) return std::max(best, 1e-9);
    return std::max((seconds(CLOCK_THREAD_CPUTIME_ID) - own_begin) / runs, 1e-9);
  }
  /// Returns how many times as long as by itself everything took since the watch was made, on a CPU: not the runs alone, which
  /// end where others have taken the processor.
  double slowdown() const {
    const double own = seconds(CLOCK_THREAD_CPUTIME_ID) - own_begin_;
    return device_.is_cuda() || own <= 0 ? 1 : std::max(1.0, (seconds(CLOCK_MONOTONIC) - begin_) / own);
  }

 private:
  static double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  Device device_;
  double begin_ = seconds(CLOCK_MONOTONIC), own_begin_ = seconds(CLOCK_THREAD_CPUTIME_ID);
};

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
                       Stopwatch& watch, MachineRates& rates) {
  const Device device = transform.device();
  auto images = some_values<T>(transform.images_shape(coils), device),
       values = some_values<T>(transform.samples_shape(coils), device);
  const double seconds = watch.seconds_of([&] {
    transform.adjoint(values, images);
    transform.forward(images, values);
  });
  const Work work = transform.cost().adjoint(coils) + transform.cost().forward(coils);
  double& rate = rates.of(unit, precision_of<T>());
  rate = 0;
  rate = std::max(seconds - rates.seconds(work), 0.3 * seconds) / work.at(unit, precision_of<T>());
}

template <class T>
void measure_transforms(Device device, Stopwatch& watch, MachineRates& rates) {
  const bool gpu = device.is_cuda();
  const int size = gpu ? 64 : 24;
  const std::array<int, 3> plane{gpu ? 128 : 64, gpu ? 128 : 64, gpu ? 32 : 1}, volume{size, size, size};
  const auto positions = random_trajectory(plane, gpu ? 32768 : 512);
  measure_transform<T>(*make_direct_transform<T>(positions, plane, device, {GpuSums::fast}), 4,
                       WorkUnit::pair, watch, rates);
  if (gpu)
    measure_transform<T>(*make_direct_transform<T>(positions, plane, device, {GpuSums::tensor_cores}), 4,
                         WorkUnit::matrix_product, watch, rates);
  const std::int64_t coils = gpu ? 8 : 2;
  const auto grid = difference_grid(volume);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  q[0] = Complex<T>(1);
  const auto normal =
      make_toeplitz_normal<T>(q.to(device), some_values<T>(Shape{coils, size, size, size}, device));
  auto in = some_values<T>(normal->domain(), device), out = some_values<T>(normal->domain(), device);
  constexpr Precision precision = precision_of<T>();
  rates.of(WorkUnit::fft, precision) = watch.seconds_of([&] {
    normal->forward(in, out);
  }) / toeplitz_cost(volume, coils, precision, device).forward.at(WorkUnit::fft, precision);
  measure_transform<T>(
      *make_gridded_transform<T>(random_trajectory(volume, gpu ? 262144 : 4096), volume, 1e-5, device), 4,
      WorkUnit::kernel_point, watch, rates);
}

void measure_memory(Device device, Stopwatch& watch, MachineRates& rates) {
  const std::int64_t elements = device.is_cuda() ? 1 << 24 : 1 << 20;
  Array<Complex<float>> from(Shape{elements}, device), to(Shape{elements}, device);
  const auto bytes = static_cast<double>(elements) * sizeof(Complex<float>);
  rates.of(WorkUnit::byte) = watch.seconds_of([&] { add_scaled(to, 0.5f, from); }) / bytes;
  if (device.is_cuda()) {
    Array<Complex<float>> host;
    rates.of(WorkUnit::transferred_byte) = watch.seconds_of([&] { host = from.to(Device::cpu()); }) / bytes;
  }
  Array<Complex<float>> few(Shape{64}, device), other(Shape{64}, device);
  rates.of(WorkUnit::region) = watch.seconds_of([&] { add_scaled(few, 0.5f, other); });
}

void measure_algebra(Stopwatch& watch, MachineRates& rates) {
  constexpr std::int64_t coils = 16, samples = 4096;
  const auto data = some_values<float>(Shape{coils, samples}, Device::cpu());
  const double seconds = watch.seconds_of([&] {
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
  return slowdown * sum;
}

std::vector<std::pair<std::string, double*>> MachineRates::fields() {
  std::vector<std::pair<std::string, double*>> list;
  for (const auto& [name, unit] : named_units)
    for (const auto precision : {single, in_double})
      list.emplace_back(std::string(name) + (precision == single ? "" : ", double"), &of(unit, precision));
  return list;
}

MachineRates assumed_rates(Device device) {
  // validation/results/2026-11-20-h100*.md: 6.9e12 pairs/s and a 15th of that in double precision, gridding
  // at some 5e10 kernel points/s, 2e12 FFT operations/s, HBM at 1e12 bytes/s.
  MachineRates rates;
  const auto set = [&](WorkUnit unit, double of_single, double of_double) {
    rates.of(unit, single) = of_single;
    rates.of(unit, in_double) = of_double;
  };
  if (device.is_cpu()) {
    set(WorkUnit::pair, 2e-11, 4e-11);
    set(WorkUnit::fft, 1e-10, 2e-10);
    set(WorkUnit::kernel_point, 3e-10, 6e-10);
    set(WorkUnit::byte, 1e-10, 0);
    set(WorkUnit::region, 5e-6, 0);
    return rates;
  }
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
  Stopwatch watch(device);
  measure_memory(device, watch, rates);
  measure_transforms<float>(device, watch, rates);
  measure_transforms<double>(device, watch, rates);
  if (device.is_cpu()) measure_algebra(watch, rates);
  rates.slowdown = watch.slowdown();
  return rates;
}

}  // namespace fhd
