#include "recon/pipeline/machine_rates.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/noise.hpp"
#include "recon/solve/residual_basis.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

constexpr Precision single = Precision::single_precision, in_double = Precision::double_precision;

struct NamedUnit {
  const char* name;
  WorkUnit unit;
  bool of_precision;
};
constexpr NamedUnit named_units[] = {{"adjoint pair", WorkUnit::adjoint_pair, true},
                                     {"adjoint row", WorkUnit::adjoint_row, true},
                                     {"forward pair", WorkUnit::forward_pair, true},
                                     {"forward row", WorkUnit::forward_row, true},
                                     {"adjoint product", WorkUnit::adjoint_product, true},
                                     {"forward product", WorkUnit::forward_product, true},
                                     {"FFT 2D", WorkUnit::fft_2d, true},
                                     {"FFT 3D", WorkUnit::fft_3d, true},
                                     {"spread 2D", WorkUnit::spread_2d, true},
                                     {"spread 3D", WorkUnit::spread_3d, true},
                                     {"interpolate 2D", WorkUnit::interpolate_2d, true},
                                     {"interpolate 3D", WorkUnit::interpolate_3d, true},
                                     {"projection", WorkUnit::projection, true},
                                     {"sort sample", WorkUnit::sorted_sample, false},
                                     {"touched byte", WorkUnit::touched_byte, false},
                                     {"copied byte", WorkUnit::copied_byte, false},
                                     {"eigenvalue", WorkUnit::eigenvalue, false},
                                     {"map voxel", WorkUnit::map_voxel, false},
                                     {"mixed value", WorkUnit::mixed_value, false},
                                     {"transferred byte", WorkUnit::transferred_byte, false},
                                     {"region", WorkUnit::region, false}};

// --- Measured here ---

using Matrix = std::array<int, 3>;

/// Seconds of the fastest run of each piece of work, gone through twice, some time apart. Work of one thread
/// is measured in its processor time: on a busy machine others take turns with it within every measurement.
class Timing {
 public:
  enum class Clock { wall, thread };
  Timing(Device device, Clock clock) : device_(device), clock_(clock) {}
  void begin_round() { next_ = 0; }
  template <class Work>
  double fastest(double budget, Work work) {
    using Wall = std::chrono::steady_clock;
    const auto begin = Wall::now();
    const auto run = [&] {
      work();
      device::synchronize(device_);
    };
    if (next_ == best_.size()) {
      if (budget > 0) run();  // warms up
      best_.push_back(1e300);
    }
    double& best = best_[next_++];
    do {
      const double start = seconds();
      run();
      best = std::min(best, seconds() - start);
    } while (std::chrono::duration<double>(Wall::now() - begin).count() < budget);
    return std::max(best, 1e-9);
  }

 private:
  double seconds() const {
    timespec time{};
    clock_gettime(clock_ == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  }

  Device device_;
  Clock clock_;
  std::vector<double> best_;
  std::size_t next_ = 0;
};

/// Uniform in k-space: tiles of gridding are evenly filled.
Trajectory random_trajectory(const Matrix& n, std::int64_t samples) {
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

/// What is being measured, by whom.
struct Measurement {
  Device device;
  Timing& timing;
  MachineRates& rates;
  bool gpu() const { return device.is_cuda(); }
  double budget() const { return gpu() ? 0.01 : 0.002; }
  /// Of FFTs and gridding: beyond one core's caches.
  Matrix matrix_size(bool volume) const {
    return volume ? (gpu() ? Matrix{64, 64, 64} : Matrix{48, 48, 48})
                  : (gpu() ? Matrix{256, 256, 1} : Matrix{128, 128, 1});
  }
};

/// Direct sums. Two row lengths tell what a row costs and what a pair costs. On a GPU every pair costs the same,
/// once there are enough of them.
template <class T>
void measure_direct(const Measurement& m) {
  constexpr Precision p = precision_of<T>();
  const bool gpu = m.gpu();
  const std::int64_t samples = gpu ? (p == Precision::single_precision ? 131072 : 16384) : 1024;
  // Many rows, as images have: the tables of a sample are made once for all of them.
  const int rows = gpu ? 96 : 128, planes = gpu ? 48 : 1, coils = gpu ? 4 : 6;
  const int lengths[2] = {32, gpu ? 128 : 160};
  double adjoint[2], forward[2], pairs[2];
  const auto measure = [&](int length, GpuSums sums, double& of_adjoint, double& of_forward) {
    const Matrix n{length, rows, planes};
    const auto transform = make_direct_transform<T>(random_trajectory(n, samples), n, m.device, {sums});
    auto images = some_values<T>(transform->images_shape(coils), m.device),
         values = some_values<T>(transform->samples_shape(coils), m.device);
    const double long_enough = gpu ? 0.1 : m.budget();  // a GPU takes a while to reach its clock
    of_adjoint = m.timing.fastest(long_enough, [&] { transform->adjoint(values, images); });
    of_forward = m.timing.fastest(long_enough, [&] { transform->forward(images, values); });
    return transform->cost().adjoint(coils) + transform->cost().forward(coils);
  };
  for (int i = gpu ? 1 : 0; i < 2; ++i)
    pairs[i] = measure(lengths[i], GpuSums::fast, adjoint[i], forward[i]).at(WorkUnit::adjoint_pair, p);
  if (gpu) {
    double of_adjoint = 0, of_forward = 0;
    const Work work = measure(lengths[1], GpuSums::tensor_cores, of_adjoint, of_forward);
    m.rates.of(WorkUnit::adjoint_product, p) = of_adjoint / work.at(WorkUnit::adjoint_product, p);
    m.rates.of(WorkUnit::forward_product, p) = of_forward / work.at(WorkUnit::forward_product, p);
  }
  const double of_rows = samples * rows * planes * coils;
  const auto separate = [&](const double* seconds, WorkUnit pair, WorkUnit row) {
    // Never less than half of the longer row's mean, should noise turn the slope around.
    double& of_pair = m.rates.of(pair, p);
    of_pair = gpu ? seconds[1] / pairs[1]
                  : std::max((seconds[1] - seconds[0]) / (pairs[1] - pairs[0]), 0.5 * seconds[1] / pairs[1]);
    m.rates.of(row, p) = gpu ? 0 : std::max((seconds[1] - of_pair * pairs[1]) / of_rows, 0.0);
  };
  separate(adjoint, WorkUnit::adjoint_pair, WorkUnit::adjoint_row);
  separate(forward, WorkUnit::forward_pair, WorkUnit::forward_row);
}

/// Padded FFTs, by the Toeplitz operator.
template <class T>
void measure_fft(const Measurement& m, bool volume) {
  constexpr Precision p = precision_of<T>();
  const Matrix n = m.matrix_size(volume);
  const std::int64_t coils = m.gpu() ? 8 : 2;
  const auto grid = difference_grid(n);
  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  q[0] = Complex<T>(1);
  const auto normal =
      make_toeplitz_normal<T>(q.to(m.device), some_values<T>(Shape{coils, n[2], n[1], n[0]}, m.device));
  auto in = some_values<T>(normal->domain(), m.device), out = some_values<T>(normal->domain(), m.device);
  const WorkUnit unit = volume ? WorkUnit::fft_3d : WorkUnit::fft_2d;
  m.rates.of(unit, p) = m.timing.fastest(m.budget(), [&] { normal->forward(in, out); }) /
                        toeplitz_cost(n, coils, p, m.device, 0).forward.at(unit, p);
}

/// Spreading and interpolating: what a gridded transform takes beside its FFTs.
template <class T>
void measure_gridding(const Measurement& m, bool volume) {
  constexpr Precision p = precision_of<T>();
  const Matrix n = m.matrix_size(volume);
  const std::int64_t count = m.gpu() ? 262144 : 16384, grids = m.gpu() ? 8 : 4;
  const Trajectory trajectory = random_trajectory(n, count);
  std::unique_ptr<FourierTransform<T>> transform;
  const double made = m.timing.fastest(
      m.budget() / 2, [&] { transform = make_gridded_transform<T>(trajectory, n, 1e-5, m.device); });
  if (volume && p == Precision::single_precision) m.rates.of(WorkUnit::sorted_sample) = made / count;
  auto images = some_values<T>(transform->images_shape(grids), m.device),
       samples = some_values<T>(transform->samples_shape(grids), m.device);
  const auto separate = [&](double seconds, const Work& work, WorkUnit unit) {
    const WorkUnit fft = volume ? WorkUnit::fft_3d : WorkUnit::fft_2d;
    m.rates.of(unit, p) =
        std::max(seconds - work.at(fft, p) * m.rates.of(fft, p), 0.3 * seconds) / work.at(unit, p);
  };
  const TransformCost& cost = transform->cost();
  separate(m.timing.fastest(m.budget(), [&] { transform->adjoint(samples, images); }), cost.adjoint(grids),
           volume ? WorkUnit::spread_3d : WorkUnit::spread_2d);
  separate(m.timing.fastest(m.budget(), [&] { transform->forward(images, samples); }), cost.forward(grids),
           volume ? WorkUnit::interpolate_3d : WorkUnit::interpolate_2d);
}

template <class T>
void measure_projection(const Measurement& m) {
  const std::int64_t elements = m.gpu() ? 1 << 20 : 1 << 15, kept = 16;
  ResidualBasis<T> basis(Shape{elements}, kept, m.device);
  auto residual = some_values<T>(Shape{elements}, m.device);
  Array<double> one(Shape{1});
  one[0] = 1e30;  // nothing is left of the projections: the values stay finite
  const Array<double> square = one.to(m.device);
  for (int i = 0; i < kept; ++i) basis.keep(residual, residual, square, 0);
  m.rates.of(WorkUnit::projection, precision_of<T>()) = m.timing.fastest(m.budget(), [&] {
    basis.project_out(residual);
  }) / static_cast<double>(elements * kept);
}

template <class T>
void measure_transforms(const Measurement& m) {
  measure_direct<T>(m);
  for (const bool volume : {false, true}) {
    measure_fft<T>(m, volume);
    measure_gridding<T>(m, volume);
  }
  measure_projection<T>(m);
}

void measure_memory(const Measurement& m) {
  // Larger than what the C library keeps for later: every time new pages.
  constexpr std::size_t bytes = std::size_t{36} << 20;
  m.rates.of(WorkUnit::touched_byte) = m.timing.fastest(0, [&] { Memory fresh(bytes, m.device); }) / bytes;
  const std::int64_t elements = m.gpu() ? 1 << 24 : 1 << 20;
  Array<Complex<float>> from(Shape{elements}, m.device), to(Shape{elements}, m.device);
  const auto array_bytes = elements * sizeof(Complex<float>);
  m.rates.of(WorkUnit::copied_byte) =
      m.timing.fastest(0.003, [&] { add_scaled(to, 0.5f, from); }) / array_bytes;
  if (m.gpu()) {
    Array<Complex<float>> host;
    m.rates.of(WorkUnit::transferred_byte) =
        m.timing.fastest(0.02, [&] { host = from.to(Device::cpu()); }) / array_bytes;
  }
  Array<Complex<float>> few(Shape{64}, m.device), other(Shape{64}, m.device);
  m.rates.of(WorkUnit::region) = m.timing.fastest(0.001, [&] { add_scaled(few, 0.5f, other); });
}

/// What a GPU leaves to the CPU.
void measure_coils(const Measurement& m) {
  constexpr std::int64_t coils = 16, samples = 16384, size = 200;
  std::mt19937 generator(11);
  const auto random = [&](Shape shape) {
    Array<Complex<float>> array(shape);
    for (auto& v : array)
      v = {static_cast<float>(generator() * 0x1p-32 - 0.5), static_cast<float>(generator() * 0x1p-32 - 0.5)};
    return array;
  };
  const auto data = random(Shape{coils, samples});
  const double mixing = m.timing.fastest(0.01, [&] {
    const auto covariance = sum_of_outer_products(data);
    static_cast<void>(apply_mixing(covariance, data));
  });
  m.rates.of(WorkUnit::mixed_value) = mixing / static_cast<double>(coils * coils * samples);
  const auto matrix = converted<Complex<float>>(sum_of_outer_products(random(Shape{size, size})));
  m.rates.of(WorkUnit::eigenvalue) = m.timing.fastest(0.0, [&] {
    static_cast<void>(leading_eigenvectors(matrix, [](const auto&) { return size / 4; }));
  }) / std::pow(size, 3);

  // Two matrices of the same calibration region: the difference is that of the voxels.
  constexpr std::int64_t map_coils = 12;
  Scan scan;
  scan.trajectory = random_trajectory({40, 40, 1}, 2048);
  scan.kspace.values = random(Shape{map_coils, 2048});
  double seconds[2], units[2];
  const int sizes[2] = {48, 112};
  for (int i = 0; i < 2; ++i) {
    const Matrix n = scan.geometry.matrix_size = {sizes[i], sizes[i], 1};
    seconds[i] = m.timing.fastest(0.0, [&] { static_cast<void>(estimate_maps(scan, MapMethod::espirit)); });
    units[i] = maps_cost(n, 2048, map_coils, MapMethod::espirit, true)
                   .work.at(WorkUnit::map_voxel, Precision::single_precision);
  }
  m.rates.of(WorkUnit::map_voxel) =
      std::max(seconds[1] - seconds[0], 0.2 * seconds[1]) / (units[1] - units[0]);
}

/// Threads of one core share its units; less than half of the threads' number is another process's doing.
double measure_speedup() {
  const double threads = omp_get_max_threads();
  const Matrix n{128, 128, 1};
  const auto transform = make_direct_transform<float>(random_trajectory(n, 4096), n, Device::cpu());
  Array<Complex<float>> image(transform->images_shape(1)), samples(transform->samples_shape(1));
  const auto run = [&] { transform->adjoint(samples, image); };
  Timing scaling(Device::cpu(), Timing::Clock::wall);
  const double together = scaling.fastest(0.015, run);
  const ThreadLimit one_thread(1);
  return std::clamp(scaling.fastest(0.005, run) / together, std::max(1.0, threads / 2), threads);
}

}  // namespace

double MachineRates::seconds(const Work& work) const {
  double shared = 0;
  for (const auto precision : {single, in_double})
    for (const auto& [name, unit, of_precision] : named_units) {
      const double count = work.at(unit, precision);
      if (unit != WorkUnit::region) shared += count * of(unit, of_precision ? precision : single);
    }
  const double regions = work.at(WorkUnit::region, single) + work.at(WorkUnit::region, in_double);
  return shared / speedup + regions * of(WorkUnit::region);
}

std::vector<std::pair<std::string, double*>> MachineRates::fields() {
  std::vector<std::pair<std::string, double*>> list;
  for (const auto& [name, unit, of_precision] : named_units)
    if (of_precision) {
      list.emplace_back(std::string(name) + ", single", &of(unit, single));
      list.emplace_back(std::string(name) + ", double", &of(unit, in_double));
    } else {
      list.emplace_back(name, &of(unit));
    }
  list.emplace_back("speedup", &speedup);
  return list;
}

MachineRates assumed_gpu_rates(const MachineRates& cpu) {
  // validation/results/2026-11-20-h100*.md: 6.9e12 pairs/s and a 15th of that in double precision, gridding
  // at some 5e10 kernel points/s, 3e12 FFT operations/s, HBM at 2e12 bytes/s.
  MachineRates rates = cpu;
  const auto set = [&](WorkUnit unit, double in_single, double doubled) {
    rates.of(unit, single) = in_single;
    rates.of(unit, in_double) = doubled;
  };
  for (const auto unit : {WorkUnit::adjoint_pair, WorkUnit::forward_pair}) set(unit, 1 / 6.9e12, 15 / 6.9e12);
  for (const auto unit : {WorkUnit::adjoint_row, WorkUnit::forward_row}) set(unit, 0, 0);
  for (const auto unit : {WorkUnit::fft_2d, WorkUnit::fft_3d}) set(unit, 1 / 2e12, 1 / 1e12);
  for (const auto unit :
       {WorkUnit::spread_2d, WorkUnit::spread_3d, WorkUnit::interpolate_2d, WorkUnit::interpolate_3d})
    set(unit, 1 / 5e10, 1 / 2e10);
  set(WorkUnit::projection, 16 / 2e12, 32 / 2e12);
  rates.of(WorkUnit::sorted_sample) = 1e-9;
  rates.of(WorkUnit::touched_byte) = rates.of(WorkUnit::copied_byte) = 1 / 1e12;
  rates.of(WorkUnit::transferred_byte) = 1 / 1e10;
  rates.of(WorkUnit::region) = 1e-5;
  rates.speedup = 1;
  return rates;
}

MachineRates measure_rates(Device device) {
  MachineRates rates;
  if (device.is_cuda()) rates = measure_rates(Device::cpu());
  Timing timing(device, device.is_cpu() ? Timing::Clock::thread : Timing::Clock::wall);
  const Measurement measurement{device, timing, rates};
  for (int round = 0; round < 2; ++round) {
    timing.begin_round();
    const ThreadLimit one_thread(1);
    measure_transforms<float>(measurement);
    measure_transforms<double>(measurement);
    measure_memory(measurement);
    if (device.is_cpu()) measure_coils(measurement);
  }
  rates.speedup = device.is_cpu() ? measure_speedup() : 1;
  return rates;
}

}  // namespace fhd
