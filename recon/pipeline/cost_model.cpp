#include "recon/pipeline/cost_model.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numbers>
#include <optional>
#include <random>

#include "recon/array/device.hpp"
#include "recon/array/fft.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/calibration.hpp"
#include "recon/coils/noise.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_kernels_cpu.hpp"
#include "recon/transform/transform.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/kaiser_bessel.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd {
namespace {

using Matrix = std::array<int, 3>;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double product(const Matrix& n) { return static_cast<double>(n[0]) * n[1] * n[2]; }
/// 2N per axis, without the overflow of int at sizes that no machine holds.
double difference_points(const Matrix& n) {
  double points = 1;
  for (int size : n) points *= size == 1 ? 1 : 2.0 * size;
  return points;
}

// --- Counts
// ----------------------------------------------------------------------------------------------------------

/// Pairs of a row of the direct sums: rows are computed in whole vector registers of positions x >= 0.
template <class T>
double padded_row(double n) {
  const double lanes = direct_cpu::kernels<T>().lanes;
  return 2 * lanes * std::ceil(std::ceil(n / 2) / lanes);
}
double padded_row(double n, int precision) {
  return precision == 0 ? padded_row<float>(n) : padded_row<double>(n);
}

/// Operations of FFTs of `count` sequences of length n: 5 n log2 n each. Lengths with large prime factors
/// take some three times as many.
double fft_operations(double n, double count) {
  double rest = n;
  for (double factor : {2.0, 3.0, 5.0, 7.0})
    while (rest > 1 && std::fmod(rest, factor) == 0) rest /= factor;
  return 5 * n * std::log2(std::max(n, 2.0)) * count * (rest > 1 ? 3 : 1);
}

/// Of one coil through the Toeplitz operator: rows of zeros are skipped (toeplitz_cpu.hpp).
double toeplitz_operations(const Matrix& n) {
  const double gx = n[0] == 1 ? 1 : 2.0 * n[0], gy = n[1] == 1 ? 1 : 2.0 * n[1],
               gz = n[2] == 1 ? 1 : 2.0 * n[2];
  double operations = 2 * fft_operations(gx, double(n[1]) * n[2]);
  if (gy > 1) operations += 2 * fft_operations(gy, gx * n[2]);
  if (gz > 1) operations += 2 * fft_operations(gz, gx * gy);
  return operations;
}
/// Of a whole grid, every row.
double full_fft_operations(const std::array<double, 3>& g) {
  double operations = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (g[axis] > 1) operations += fft_operations(g[axis], g[0] * g[1] * g[2] / g[axis]);
  return operations;
}

/// The kernel and grid that a gridded transform takes; see oversampling_for in gridded_cpu.cpp.
struct Gridding {
  double points = 1;  ///< of the kernel
  std::array<double, 3> grid{1, 1, 1};
  bool volume = false;

  Gridding(const Matrix& n, double accuracy) {
    constexpr double large_grid = 1 << 25;
    const double oversampling = difference_points(n) <= large_grid ? 2.0 : accuracy >= 1e-4 ? 1.25 : 1.5;
    const KaiserBessel kernel(accuracy, oversampling);
    volume = n[2] > 1;
    for (int axis = 0; axis < 3; ++axis)
      if (n[axis] > 1) {
        points *= kernel.width;
        grid[axis] = good_fft_size(
            static_cast<int>(std::min(1e8, std::max(std::ceil(oversampling * n[axis]), 2.0 * kernel.width))));
      }
  }
  double cells() const { return grid[0] * grid[1] * grid[2]; }
};

/// Smallest accuracies that a precision can give: below, the transform refuses.
double gridded_accuracy(double accuracy, int precision) {
  return std::clamp(accuracy, precision == 0 ? 1e-6 : 1e-12, 0.1);
}

/// Costs of the parts of a reconstruction on one machine.
class Costs {
 public:
  Costs(const MachineRates& rates, const Settings& settings)
      : r_(shared(rates)),
        gpu_(settings.device.is_cuda()),
        p_(settings.precision == Precision::single_precision ? 0 : 1),
        element_(p_ == 0 ? 8 : 16) {}

  double direct_adjoint(const SampleCount& samples, double rows, double nx) const {
    return rows * (static_cast<double>(samples.xy) * r_.adjoint_row[p_] +
                   static_cast<double>(samples.x) * row_length(nx) * r_.adjoint_pair[p_]) +
           4 * r_.region;
  }
  double direct_forward(double samples, double rows, double nx) const {
    return samples * rows * (r_.forward_row[p_] + row_length(nx) * r_.forward_pair[p_]) + 3 * r_.region;
  }
  double direct_q(const Matrix& n, const SampleCount& samples) const {
    const double points = difference_points(n), gx = n[0] == 1 ? 1 : 2.0 * n[0];
    return direct_adjoint(samples, std::ceil(points / gx / 2), gx) + touch(2.5 * points * element_) +
           copy(points * element_);
  }
  double fft(double operations, bool volume) const {
    return operations * (volume ? r_.fft_3d[p_] : r_.fft_2d[p_]);
  }
  double spread(const Gridding& g, double samples) const {
    return samples * g.points * (g.volume ? r_.spread_3d[p_] : r_.spread_2d[p_]);
  }
  double interpolate(const Gridding& g, double samples) const {
    return samples * g.points * (g.volume ? r_.interpolate_3d[p_] : r_.interpolate_2d[p_]);
  }
  /// What FFTs of a grid take longer because it comes from memory, forth and back on every axis; the rates
  /// are those of a grid in the caches. A GPU is measured with large ones.
  double beyond_cache(double bytes) const {
    constexpr double cached = 8 << 20;
    return gpu_ ? 0 : 6 * copy(std::max(0.0, bytes - cached));
  }
  /// FFTs of the oversampled grid, zeros skipped: about 3/4 (2D) or 7/12 (3D) of all rows, and filling it.
  double grid_fft(const Gridding& g) const {
    return fft(full_fft_operations(g.grid) * (g.volume ? 7.0 / 12 : 0.75), g.volume) +
           beyond_cache(g.cells() * element_) + copy(g.cells() * element_) + 4 * r_.region;
  }
  double gridded_adjoint(const Gridding& g, double samples, double coils) const {
    return coils * (spread(g, samples) + grid_fft(g));
  }
  double gridded_forward(const Gridding& g, double samples, double coils) const {
    return coils * (interpolate(g, samples) + grid_fft(g));
  }
  double sort(double samples) const { return samples * r_.sort_sample; }
  double gridded_q(const Matrix& n, double samples, double accuracy) const {
    Matrix doubled = n;
    for (int& size : doubled) size = size == 1 ? 1 : static_cast<int>(std::min(2.0 * size, 1e8));
    const Gridding g(doubled, gridded_accuracy(accuracy, p_));
    // The copy into the periodic order is one thread's.
    return sort(samples) + gridded_adjoint(g, samples, 1) +
           touch((g.cells() + 2 * product(doubled)) * element_) + 4 * copy(product(doubled) * element_);
  }
  double density(const Matrix& n, double samples) const {
    constexpr double accuracy = 1e-3;
    constexpr int iterations = 15;
    const Gridding g(n, accuracy);
    return sort(samples) + touch(g.cells() * 8) +
           iterations * (samples * g.points *
                             (g.volume ? r_.spread_3d[0] + r_.interpolate_3d[0]
                                       : r_.spread_2d[0] + r_.interpolate_2d[0]) +
                         copy((g.cells() + samples) * 8) + 16 * r_.region);
  }
  double toeplitz(const Matrix& n, double coils) const {
    return coils * (fft(toeplitz_operations(n), n[2] > 1) + beyond_cache(difference_points(n) * element_)) +
           (gpu_ ? 2 : 6 * coils) * r_.region;
  }
  double transfer(const Matrix& n, double coils) const {
    const double points = difference_points(n);
    std::array<double, 3> grid;
    for (int axis = 0; axis < 3; ++axis) grid[axis] = n[axis] == 1 ? 1 : 2.0 * n[axis];
    return fft(full_fft_operations(grid), n[2] > 1) + copy(2 * points * element_) +
           touch((2.5 * points + product(n) * coils) * element_);
  }
  double copy(double bytes) const { return bytes * r_.copied_byte; }
  double touch(double bytes) const { return bytes * r_.touched_byte; }
  /// Vector operations of an iteration with `kept` earlier residuals.
  double vectors(const Matrix& n, double kept) const {
    const double voxels = product(n);
    return voxels * kept * r_.projection[p_] + 6 * copy(voxels * element_) + 10 * r_.region;
  }
  double element() const { return element_; }
  int precision() const { return p_; }
  const MachineRates& rates() const { return r_; }

 private:
  /// Pairs of a row: a CPU computes whole vector registers.
  double row_length(double nx) const { return gpu_ ? nx : padded_row(nx, p_); }
  /// What the threads share, as if one thread were that fast.
  static MachineRates shared(MachineRates rates) {
    for (const auto& [name, value] : rates.fields())
      if (value != &rates.speedup && value != &rates.region) *value /= rates.speedup;
    return rates;
  }

  MachineRates r_;
  bool gpu_;
  int p_;
  double element_;
};

/// Of sensitivity maps by ESPIRiT or adaptive combination (coils/maps.cpp), on the CPU.
double map_seconds(const Workload& work, const Settings& settings, const MachineRates& rates) {
  const ScanSizes& scan = work.scan;
  const bool volume = scan.matrix_size[2] > 1, slab = volume && scan.matrix_size[2] < 10;
  const MapSettings& s = settings.coils.estimation;
  const double coils = static_cast<double>(work.coils), pairs = coils * (coils + 1) / 2;
  const int radius = volume ? s.calibration_radius_3d : s.calibration_radius;
  Matrix small;
  for (int axis = 0; axis < 3; ++axis)
    small[axis] = std::min(scan.matrix_size[axis], good_fft_size(2 * (radius + 4)));
  // Samples fall into the small matrix in proportion to its width where readouts cross the centre.
  const double share = std::min(1.0, static_cast<double>(small[0]) / scan.matrix_size[0]);
  const double samples = static_cast<double>(scan.samples) * share;
  Settings single = settings;
  single.precision = Precision::single_precision;
  const Costs costs(rates, single);
  const Gridding g(small, 1e-4);
  const double of_a_coil = costs.toeplitz(small, 1) + costs.vectors(small, 6);
  const bool undersampled =
      !scan.calibration_sampled.value_or(scan.voxels() * 0.7 <= static_cast<double>(scan.samples));
  // Twelve iterations for each coil, or six Newton steps with up to 20 iterations each.
  double seconds = costs.density(small, samples) + costs.gridded_adjoint(g, samples, coils) +
                   costs.gridded_q(small, samples, 1e-4) + coils * (undersampled ? 60 * 2.5 : 10) * of_a_coil;
  // The eigenvectors of the neighbourhoods of k-space.
  const double wanted = volume && !slab ? s.kernel_radius_3d : s.kernel_radius;
  const double reach = std::min(wanted, std::max(1.0, 0.4 * radius));
  const double count = volume && !slab ? 4.0 / 3 * std::numbers::pi * std::pow(reach, 3) + 16
                                       : std::numbers::pi * reach * reach + 1;
  if (settings.coils.maps != CoilMaps::adaptive)
    seconds += std::pow(coils * count, 3) * costs.rates().eigenvalue * (slab ? scan.matrix_size[2] : 1);
  const double terms = 2 * 2 * std::floor(reach) + 1;
  return seconds + scan.voxels() * pairs * (terms + 20) * costs.rates().map_voxel;
}

/// Iterations that bring the residual of a spectrum between lambda and `largest` + lambda down to the
/// tolerance: half of sqrt(condition) ln(2 / tolerance). Source: Shewchuk (1994), 9.
int chebyshev_iterations(double largest_over_lambda, double tolerance) {
  const double condition = 1 + largest_over_lambda;
  return static_cast<int>(std::min(1e9, std::ceil(0.5 * std::sqrt(condition) * std::log(2 / tolerance))));
}

}  // namespace

double ScanSizes::voxels() const { return product(matrix_size); }

ScanSizes sizes_of(const Scan& scan) {
  ScanSizes sizes;
  sizes.matrix_size = scan.geometry.matrix_size;
  sizes.samples = scan.trajectory.sample_count();
  sizes.coils = scan.kspace.coil_count();
  const SampleCount counted = count_samples(scan.trajectory);
  sizes.samples_x = counted.x;
  sizes.samples_xy = counted.xy;
  if (sizes.coils > 1) sizes.calibration_sampled = calibration_is_sampled(scan.trajectory, sizes.matrix_size);
  sizes.noise_samples = scan.noise ? scan.noise->extent(1) : 0;
  sizes.has_maps = scan.sensitivity_maps.has_value();
  sizes.has_field_map = scan.field_map.has_value();
  sizes.has_sample_time = scan.sample_time_s.has_value();
  return sizes;
}

SampleCount ScanSizes::sample_count() const {
  return samples_x == 0 ? SampleCount{samples, samples, samples}
                        : SampleCount{samples, samples_x, samples_xy};
}

double direct_pairs(const Settings& settings, std::array<int, 3> matrix_size, const SampleCount& samples,
                    std::int64_t coils) {
  const double all = static_cast<double>(samples.all) * product(matrix_size) * static_cast<double>(coils);
  if (settings.method == Method::cg && settings.normal == NormalKind::explicit_product)
    return 2 * all * settings.iterations;
  const bool shared = settings.device.is_cpu() && samples.x < samples.all;
  const auto adjoint = [&](double points, double nx) {
    if (!shared) return static_cast<double>(samples.all) * points;
    constexpr double pairs_of_a_row = 16;  // what the factor of a row costs
    return points / nx *
           (nx * static_cast<double>(samples.x) + pairs_of_a_row * static_cast<double>(samples.xy));
  };
  const double image = adjoint(product(matrix_size), matrix_size[0]) * static_cast<double>(coils);
  if (settings.method != Method::cg) return image;
  const double q =
      adjoint(difference_points(matrix_size), matrix_size[0] == 1 ? 1 : 2.0 * matrix_size[0]) / 2;
  return image + q + (predicts_by_gridding(settings) ? 0 : all);
}

Workload workload_of(const ScanSizes& scan, const Settings& settings) {
  Workload work;
  work.scan = scan;
  // As prepare_coils decides, but that coils without signal are not known before the data are.
  const CoilSettings& coils = settings.coils;
  const bool from_file = scan.has_maps && (coils.maps == CoilMaps::file || coils.maps == CoilMaps::automatic);
  const bool asks = coils.maps == CoilMaps::espirit || coils.maps == CoilMaps::adaptive;
  if (coils.maps == CoilMaps::file && !scan.has_maps)
    throw Error("--coils file", "a scan with sensitivity maps", "none",
                "put them into the file as /sensitivity_maps, or use --coils espirit");
  if (asks && scan.coils < 2)
    throw Error("sensitivity maps", "more than one coil", "one", "leave out --coils");
  const bool several = scan.coils > 1;
  work.estimates_maps =
      several && (asks || (coils.maps == CoilMaps::automatic && !from_file && settings.method == Method::cg));
  work.uses_maps = from_file || work.estimates_maps;
  work.whitens = several && (coils.whitening == NoiseWhitening::edge ||
                             (coils.whitening == NoiseWhitening::automatic && scan.noise_samples > 0));
  const bool asks_for_compression = coils.coil_count || coils.compression_energy;
  work.compresses =
      several && coils.compress &&
      (asks_for_compression || (scan.coils > CoilSettings::uncompressed_coils && work.uses_maps));
  work.coils = scan.coils;
  if (work.compresses) {
    if (coils.coil_count && *coils.coil_count > scan.coils)
      throw Error("--compress", "at most the " + std::to_string(scan.coils) + " coils of the scan",
                  std::to_string(*coils.coil_count));
    work.coils = std::max(std::min(scan.coils, CoilSettings::uncompressed_coils), (scan.coils + 2) / 3);
    if (coils.coil_count) work.coils = *coils.coil_count;
    if (coils.compression_energy)
      work.assumptions.push_back(
          "how many virtual coils keep the energy asked for is not known before the data "
          "are read: " +
          std::to_string(work.coils) + " are assumed");
  }
  work.copies_scan = work.whitens || work.compresses || work.estimates_maps || (scan.has_maps && !from_file);

  work.pairs = direct_pairs(settings, scan.matrix_size, scan.sample_count(), work.coils);
  work.transform = settings.transform;
  if (settings.method == Method::gridded) {
    work.transform = TransformKind::gridded;
    work.transform_reason = "the method is gridding";
  } else if (settings.method == Method::fft) {
    work.transform = TransformKind::gridded;
    work.transform_reason = "the method is one FFT";
  } else if (settings.transform == TransformKind::automatic) {
    const double affordable = affordable_pairs(settings.device);
    work.transform = work.pairs <= affordable ? TransformKind::direct : TransformKind::gridded;
    work.transform_reason = number(work.pairs) + " pairs of voxels and samples are " +
                            (work.pairs <= affordable ? "within" : "above") + " the " + number(affordable) +
                            " that --transform auto sums directly";
  } else {
    work.transform_reason = "asked for";
  }

  if (settings.method != Method::cg) return work;
  if (scan.has_field_map && scan.has_sample_time) {
    work.time_segments = 10;
    work.difference_segments = settings.normal == NormalKind::toeplitz ? 16 : 0;
    work.assumptions.push_back(
        "how many time segments the field map needs is not known before it is read: 10 are assumed, and 16 "
        "for the Toeplitz operator");
  }
  work.most_iterations = settings.iterations;
  // Without a lambda, 0.05 of the mean eigenvalue: the bulk of the spectrum lies below some twice the mean.
  const double ratio =
      settings.lambda ? (*settings.lambda > 0 ? 1 / *settings.lambda : 1e6) : 2 / default_regularization;
  const double tolerance = std::max(settings.tolerance, 1e-8);
  work.iterations = std::min(settings.iterations, chebyshev_iterations(ratio, tolerance));
  work.assumptions.push_back("conjugate gradient is expected to take " + std::to_string(work.iterations) +
                             " iterations to " + number(settings.tolerance) + " and takes at most " +
                             std::to_string(settings.iterations) +
                             ": the true number depends on the trajectory and the data");
  return work;
}

std::vector<std::pair<std::string, double*>> MachineRates::fields() {
  std::vector<std::pair<std::string, double*>> list;
  const auto both = [&](const std::string& name, std::array<double, 2>& values) {
    list.emplace_back(name + ", single", &values[0]);
    list.emplace_back(name + ", double", &values[1]);
  };
  both("adjoint pair", adjoint_pair), both("adjoint row", adjoint_row);
  both("forward pair", forward_pair), both("forward row", forward_row);
  both("FFT 2D", fft_2d), both("FFT 3D", fft_3d);
  both("spread 2D", spread_2d), both("spread 3D", spread_3d);
  both("interpolate 2D", interpolate_2d), both("interpolate 3D", interpolate_3d);
  both("projection", projection);
  list.emplace_back("sort sample", &sort_sample);
  list.emplace_back("touched byte", &touched_byte);
  list.emplace_back("copied byte", &copied_byte);
  list.emplace_back("eigenvalue", &eigenvalue);
  list.emplace_back("map voxel", &map_voxel);
  list.emplace_back("mixed value", &mixed_value);
  list.emplace_back("transferred byte", &transferred_byte);
  list.emplace_back("region", &region);
  list.emplace_back("speedup", &speedup);
  return list;
}

// --- Measurement
// ----------------------------------------------------------------------------------------------------------

namespace {

/// Seconds of the fastest run of each piece of work, gone through twice, some time apart. Work of one thread
/// is measured in its processor time: on a busy machine others take turns with it within every measurement.
class Timing {
 public:
  enum class Clock { wall, thread };
  Timing(Device device, Clock clock) : device_(device), clock_(clock) {}
  void begin_round() { next_ = 0; }
  template <class Work>
  double fastest(double budget, Work work) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto begin = now();
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
    } while (std::chrono::duration<double>(now() - begin).count() < budget);
    return std::max(best, 1e-9);
  }

 private:
  double seconds() const {
    timespec time{};
    clock_gettime(clock_ == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
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
void measure_transforms(Device device, Timing& timing, MachineRates& rates) {
  constexpr int p = sizeof(T) == 4 ? 0 : 1;
  const bool gpu = device.is_cuda();
  const double budget = gpu ? 0.01 : 0.002;
  const auto values = [&](Shape shape) {
    Array<Complex<T>> array(shape);
    for (std::int64_t i = 0; i < array.size(); ++i) array[i] = {T(1), static_cast<T>(i % 7) / 7};
    return array.to(device);
  };

  // Two row lengths tell what a row costs and what a pair costs. On a GPU every pair costs the same, once
  // there are enough of them.
  const std::int64_t direct_samples = gpu ? (p == 0 ? 131072 : 16384) : 1024;
  // Many rows, as images have: the tables of a sample are made once for all of them.
  const int rows = gpu ? 96 : 128, planes = gpu ? 48 : 1, coils = gpu ? 4 : 6;
  double adjoint[2], forward[2];
  const int lengths[2] = {32, gpu ? 128 : 160};
  for (int i = gpu ? 1 : 0; i < 2; ++i) {
    const Matrix n{lengths[i], rows, planes};
    const auto transform = make_direct_transform<T>(random_trajectory(n, direct_samples), n, device);
    auto images = values(transform->images_shape(coils)), samples = values(transform->samples_shape(coils));
    // A GPU takes a while to reach its clock.
    const double long_enough = gpu ? 0.1 : budget;
    adjoint[i] = timing.fastest(long_enough, [&] { transform->adjoint(samples, images); });
    forward[i] = timing.fastest(long_enough, [&] { transform->forward(images, samples); });
  }
  const double work = static_cast<double>(direct_samples) * rows * planes * coils;
  const double apart = padded_row<T>(lengths[1]) - padded_row<T>(lengths[0]);
  const auto separate = [&](const double* seconds, double& pair, double& row) {
    // Never less than half of the longer row's mean, should noise turn the slope around.
    pair = std::max((seconds[1] - seconds[0]) / work / apart,
                    0.5 * seconds[1] / work / padded_row<T>(lengths[1]));
    row = std::max(seconds[1] / work - pair * padded_row<T>(lengths[1]), 0.0);
  };
  if (gpu) {
    rates.adjoint_pair[p] = adjoint[1] / work / lengths[1];
    rates.forward_pair[p] = forward[1] / work / lengths[1];
    rates.adjoint_row[p] = rates.forward_row[p] = 0;
  } else {
    separate(adjoint, rates.adjoint_pair[p], rates.adjoint_row[p]);
    separate(forward, rates.forward_pair[p], rates.forward_row[p]);
  }

  for (const bool volume : {false, true}) {
    // Large enough to keep every unit busy.
    const Matrix n = gpu ? (volume ? Matrix{64, 64, 64} : Matrix{256, 256, 1})
                         : (volume ? Matrix{32, 32, 32} : Matrix{128, 128, 1});
    const std::int64_t count = gpu ? 262144 : 16384, grids = gpu ? 8 : 1;
    {
      const Matrix larger = volume && !gpu ? Matrix{64, 64, 16} : n;
      const std::int64_t padded = gpu ? 8 : 2;
      const auto larger_grid = difference_grid(larger);
      Array<Complex<T>> q(Shape{larger_grid[2], larger_grid[1], larger_grid[0]});
      q[0] = Complex<T>(1);
      const auto normal =
          make_toeplitz_normal<T>(q.to(device), values(Shape{padded, larger[2], larger[1], larger[0]}));
      auto in = values(normal->domain()), out = values(normal->domain());
      const double seconds = timing.fastest(budget, [&] { normal->forward(in, out); });
      (volume ? rates.fft_3d : rates.fft_2d)[p] =
          seconds / (static_cast<double>(padded) * toeplitz_operations(larger));
    }
    const Trajectory trajectory = random_trajectory(n, count);
    constexpr double accuracy = 1e-5;
    const Gridding g(n, accuracy);
    std::unique_ptr<FourierTransform<T>> transform;
    const double made = timing.fastest(
        budget / 2, [&] { transform = make_gridded_transform<T>(trajectory, n, accuracy, device); });
    if (volume && p == 0) rates.sort_sample = made / static_cast<double>(count);
    auto images = values(transform->images_shape(grids)), samples = values(transform->samples_shape(grids));
    const double to_image = timing.fastest(budget, [&] { transform->adjoint(samples, images); });
    const double to_samples = timing.fastest(budget, [&] { transform->forward(images, samples); });
    const double fft = static_cast<double>(grids) * full_fft_operations(g.grid) * (volume ? 7.0 / 12 : 0.75) *
                       (volume ? rates.fft_3d : rates.fft_2d)[p];
    const double all = static_cast<double>(count * grids) * g.points;
    (volume ? rates.spread_3d : rates.spread_2d)[p] = std::max(to_image - fft, 0.3 * to_image) / all;
    (volume ? rates.interpolate_3d : rates.interpolate_2d)[p] =
        std::max(to_samples - fft, 0.3 * to_samples) / all;
  }

  const std::int64_t elements = gpu ? 1 << 20 : 1 << 15, kept = 16;
  ResidualBasis<T> basis(Shape{elements}, kept, device);
  auto residual = values(Shape{elements});
  Array<double> one(Shape{1});
  one[0] = 1e30;  // nothing is left of the projections: the values stay finite
  const Array<double> square = one.to(device);
  for (int i = 0; i < kept; ++i) basis.keep(residual, square, 0);
  rates.projection[p] =
      timing.fastest(budget, [&] { basis.project_out(residual); }) / static_cast<double>(elements * kept);
}

/// What a GPU leaves to the CPU.
void measure_coils(Timing& timing, MachineRates& rates) {
  constexpr std::int64_t coils = 16, samples = 16384, size = 200;
  std::mt19937 generator(11);
  const auto random = [&](Shape shape) {
    Array<Complex<float>> array(shape);
    for (auto& v : array)
      v = {static_cast<float>(generator() * 0x1p-32 - 0.5), static_cast<float>(generator() * 0x1p-32 - 0.5)};
    return array;
  };
  const auto data = random(Shape{coils, samples});
  const double mixing = timing.fastest(0.01, [&] {
    const auto covariance = sum_of_outer_products(data);
    static_cast<void>(apply_mixing(covariance, data));
  });
  rates.mixed_value = mixing / static_cast<double>(coils * coils * samples);
  const auto matrix = converted<Complex<float>>(sum_of_outer_products(random(Shape{size, size})));
  rates.eigenvalue =
      timing.fastest(0.0, [&] { static_cast<void>(hermitian_eigen(matrix)); }) / std::pow(size, 3);

  // Two matrices of the same calibration region: the difference is that of the voxels.
  constexpr std::int64_t map_coils = 12;
  const Trajectory trajectory = random_trajectory({40, 40, 1}, 2048);
  const auto kspace = random(Shape{map_coils, 2048});
  double seconds[2];
  const int sizes[2] = {48, 112};
  for (int i = 0; i < 2; ++i)
    seconds[i] = timing.fastest(0.0, [&] {
      static_cast<void>(estimate_maps(trajectory, kspace, {sizes[i], sizes[i], 1}, MapMethod::espirit));
    });
  const double pairs = map_coils * (map_coils + 1) / 2.0, terms = 13 + 20;
  const double voxels = static_cast<double>(sizes[1]) * sizes[1] - static_cast<double>(sizes[0]) * sizes[0];
  rates.map_voxel = std::max(seconds[1] - seconds[0], 0.2 * seconds[1]) / voxels / pairs / terms;
}

}  // namespace

MachineRates measure_rates(Device device) {
  MachineRates rates;
  if (device.is_cuda()) rates = measure_rates(Device::cpu());
  Timing timing(device, device.is_cpu() ? Timing::Clock::thread : Timing::Clock::wall);
  for (int round = 0; round < 2; ++round) {
    timing.begin_round();
    const ThreadLimit one_thread(1);
    measure_transforms<float>(device, timing, rates);
    measure_transforms<double>(device, timing, rates);
    // Larger than what the C library keeps for later: every time new pages.
    constexpr std::size_t bytes = std::size_t{36} << 20;
    rates.touched_byte =
        timing.fastest(0, [&] { Memory fresh(bytes, device); }) / static_cast<double>(bytes);
    const std::int64_t elements = device.is_cuda() ? 1 << 24 : 1 << 20;
    Array<Complex<float>> from(Shape{elements}, device), to(Shape{elements}, device);
    const auto array_bytes = static_cast<double>(elements) * sizeof(Complex<float>);
    rates.copied_byte = timing.fastest(0.003, [&] { add_scaled(to, 0.5f, from); }) / array_bytes;
    if (device.is_cuda()) {
      Array<Complex<float>> host;
      rates.transferred_byte = timing.fastest(0.02, [&] { host = from.to(Device::cpu()); }) / array_bytes;
    }
    Array<Complex<float>> few(Shape{64}, device), other(Shape{64}, device);
    rates.region = timing.fastest(0.001, [&] { add_scaled(few, 0.5f, other); });
    if (device.is_cpu()) measure_coils(timing, rates);
  }
  if (device.is_cpu()) {
    const double threads = omp_get_max_threads();
    const Matrix n{128, 128, 1};
    const auto transform = make_direct_transform<float>(random_trajectory(n, 4096), n, Device::cpu());
    Array<Complex<float>> image(transform->images_shape(1)), samples(transform->samples_shape(1));
    const auto run = [&] { transform->adjoint(samples, image); };
    Timing scaling(Device::cpu(), Timing::Clock::wall);
    const double together = scaling.fastest(0.015, run);
    const ThreadLimit one_thread(1);
    // Threads of one core share its units; less than half of the threads' number is another process's doing.
    rates.speedup = std::clamp(scaling.fastest(0.005, run) / together, std::max(1.0, threads / 2), threads);
  } else {
    rates.speedup = 1;
  }
  return rates;
}

MachineRates assumed_gpu_rates(const MachineRates& cpu) {
  // validation/results/2026-11-20-h100*.md: 6.9e12 pairs/s and a 15th of that in double precision, gridding
  // at some 5e10 kernel points/s, 3e12 FFT operations/s, HBM at 2e12 bytes/s.
  MachineRates rates = cpu;
  rates.adjoint_pair = rates.forward_pair = {1 / 6.9e12, 15 / 6.9e12};
  rates.adjoint_row = rates.forward_row = {0, 0};
  rates.fft_2d = rates.fft_3d = {1 / 2e12, 1 / 1e12};
  rates.spread_2d = rates.spread_3d = rates.interpolate_2d = rates.interpolate_3d = {1 / 5e10, 1 / 2e10};
  rates.projection = {16 / 2e12, 32 / 2e12};
  rates.sort_sample = 1e-9;
  rates.touched_byte = 1 / 1e12;
  rates.speedup = 1;
  rates.copied_byte = 1 / 1e12;
  rates.transferred_byte = 1 / 1e10;
  rates.region = 1e-5;
  return rates;
}

// --- Prediction
// ----------------------------------------------------------------------------------------------------------

double Prediction::seconds() const {
  double sum = other_seconds;
  for (const Stage& stage : stages) sum += stage.seconds;
  return sum;
}

double Prediction::seconds_at_limit() const {
  const double channels = workload.uses_maps ? 1 : static_cast<double>(workload.coils);
  return seconds() + channels * (workload.most_iterations - workload.iterations) * seconds_of_an_iteration;
}

Prediction predict(const ScanSizes& scan, const Settings& settings, const MachineRates& rates,
                   const Settings* gridded, const MachineRates* host) {
  Prediction result;
  result.workload = workload_of(scan, settings);
  const Workload& work = result.workload;
  const Costs costs(rates, settings);
  const MachineRates& host_rates = settings.device.is_cuda() && host != nullptr ? *host : rates;
  const Costs host_costs(host_rates, settings);
  const Matrix& n = scan.matrix_size;
  const bool gpu = settings.device.is_cuda() && settings.method != Method::fft;
  SampleCount counted = scan.sample_count();
  if (gpu) counted = {scan.samples, scan.samples, scan.samples};
  const double samples = static_cast<double>(scan.samples), voxels = scan.voxels(), rows = voxels / n[0],
               coils = static_cast<double>(work.coils), all_coils = static_cast<double>(scan.coils),
               element = costs.element();
  const auto add = [&](const char* name, double seconds) { result.stages.push_back({name, seconds}); };

  const double mixing = all_coils * all_coils * samples * host_costs.rates().mixed_value +
                        5 * all_coils * samples * 8 * host_rates.touched_byte;  // copies by one thread
  if (work.whitens) add("whitening", mixing);
  if (work.compresses) add("coil compression", mixing);
  if (work.estimates_maps) add("sensitivity maps", map_seconds(work, settings, host_rates));

  const bool direct = work.transform == TransformKind::direct;
  const auto gridding = [&] { return Gridding(n, gridded_accuracy(settings.accuracy, costs.precision())); };
  const auto adjoint = [&](double together) {
    return direct ? costs.direct_adjoint(counted, rows * together, n[0]) +
                        costs.touch(voxels * together * element)
                  : costs.gridded_adjoint(gridding(), samples, together);
  };
  const auto forward = [&](double together) {
    return direct ? costs.direct_forward(samples, rows * together, n[0]) +
                        costs.touch(voxels * together * element)
                  : costs.gridded_forward(gridding(), samples, together);
  };
  // Between the stages: values converted and scaled, the image cropped, samples sorted.
  result.other_seconds = 4 * host_costs.copy((samples * coils + voxels) * (8 + element)) +
                         host_costs.touch(samples * coils * element) + (direct ? 0 : costs.sort(samples));
  if (work.uses_maps) result.other_seconds += 4 * host_costs.copy(voxels * coils * (8 + element));
  // Allocations wait for the device.
  if (gpu) result.other_seconds = 0.02 + 2 * result.other_seconds;
  const double moved = (samples * coils + (work.uses_maps ? voxels * coils : 0)) * element;

  if (settings.method == Method::gridded) {
    add("density compensation", costs.density(n, samples));
    if (gpu) add("copy to the device", moved * rates.transferred_byte);
    add("gridded adjoint", costs.gridded_adjoint(gridding(), samples, coils) +
                               costs.touch(gridding().cells() * coils * element));
  } else if (settings.method == Method::fft) {
    std::array<double, 3> grid;
    for (int axis = 0; axis < 3; ++axis) grid[axis] = n[axis];
    add("inverse FFT",
        coils * (costs.fft(full_fft_operations(grid), n[2] > 1) + 6 * costs.copy(voxels * element)));
  } else if (settings.method == Method::adjoint) {
    if (gpu) add("copy to the device", moved * rates.transferred_byte);
    add("FhD", adjoint(coils) + (direct ? 0 : costs.touch(gridding().cells() * coils * element)));
  } else {
    if (gpu) add("copy to the device", moved * rates.transferred_byte);
    // With maps the coils are solved together; without, one after the other.
    const double channels = work.uses_maps ? coils : 1, solves = work.uses_maps ? 1 : coils;
    const double q = direct ? costs.direct_q(n, counted) : costs.gridded_q(n, samples, settings.accuracy);
    const double segments = std::max(1, work.time_segments), terms = std::max(1, work.difference_segments);
    const double weighting = work.time_segments > 0 ? 4 * costs.copy(samples * channels * element) : 0;
    double normal = 0;
    if (work.time_segments > 0) {
      // Least squares of every distinct sample time with 1, 2, ... segments over 256 frequencies, or 512
      // differences.
      const double times =
          scan.readout_length > 0 ? static_cast<double>(scan.readout_length) : std::min(samples, 4096.0);
      constexpr double phasor = 2e-8;
      const double threads = std::max(1, omp_get_max_threads());
      const auto fit = [&](double count, double frequencies) {
        return times * frequencies * count * (count + 1) * phasor / threads;
      };
      add("time segments", fit(segments, 256) + (work.difference_segments > 0 ? fit(terms, 512) : 0));
    }
    if (settings.normal == NormalKind::explicit_product) {
      normal = segments * (forward(channels) + adjoint(channels) + 2 * weighting);
    } else {
      constexpr double cufft_plans = 5e-3;
      const double transfer = costs.transfer(n, channels) + (gpu ? cufft_plans : 0);
      normal = terms * costs.toeplitz(n, channels);
      if (work.time_segments > 0) {
        add("Q", terms * (q + transfer));
      } else {
        add("Q", q);
        add("transfer function", transfer);
      }
    }
    add("largest eigenvalue", 10 * (normal + costs.vectors(n, 0)) + costs.touch(4 * voxels * element) +
                                  voxels * 1e-8);  // the random start is one thread's
    if (settings.prior)
      add("anatomical prior", voxels * (8 * 4e-8 / std::max(1, omp_get_max_threads()) + 3e-8));

    const double iteration = normal + costs.vectors(n, 0);
    const double kept = std::min(settings.iterations, ConjugateGradientSettings{}.kept_residuals);
    const double before = std::min<double>(work.iterations, kept);
    const double projections =
        costs.vectors(n, before * before / 2 + (work.iterations - before) * kept) - costs.vectors(n, 0);
    const double solve =
        work.iterations * iteration + normal + projections + costs.touch((kept + 4) * voxels * element);
    const Gridding best(n, prediction_accuracy);
    const double prediction = direct && predicts_by_gridding(settings)
                                  ? costs.gridded_forward(best, samples, channels) + costs.sort(samples) +
                                        costs.touch(best.cells() * channels * element)
                                  : forward(channels);
    const double residual = segments * (prediction + weighting) + costs.touch(samples * channels * element) +
                            4 * costs.copy(samples * channels * element);
    result.seconds_of_an_iteration = iteration + costs.vectors(n, kept) - costs.vectors(n, 0);
    add("FhD", solves * segments * (adjoint(channels) + weighting));
    // Some eight solutions, each from the one before.
    if (settings.lambda_from_noise) add("search of lambda", solves * 8 * solve);
    add("conjugate gradient", solves * solve);
    add("data residual", solves * residual);
  }
  if (settings.verifier) {
    // As validation/certificate.cpp chooses: what its budget is good for, 16 ... 256 voxels and samples. Then
    // it looks at every value once.
    double before = result.other_seconds;
    for (const Stage& stage : result.stages) before += stage.seconds;
    const bool solves = settings.method == Method::cg;
    const double channels = work.uses_maps || !solves ? coils : 1;
    const double threads = host_rates.speedup,
                 budget = std::max(0.05, 0.05 * before) * 2e8 * threads / (solves ? 2 : 1);
    const double of_a_voxel = samples * ((solves ? 2 : 1) * channels + 1), of_a_sample = 2 * voxels;
    const auto checked = [&](double cost) { return std::clamp(budget / cost, 16.0, 256.0) * cost; };
    constexpr double voxel_rate = 8e8, sample_rate = 5e8;
    add("certificate", checked(of_a_voxel) / voxel_rate / threads +
                           (solves ? checked(of_a_sample) / sample_rate / threads : 0) +
                           host_costs.copy((2 * samples * channels + 5 * voxels) * element));
  }
  if (gpu) add("copy from the device", voxels * element * rates.transferred_byte);
  if (gridded != nullptr) {
    ScanSizes same_coils = scan;
    same_coils.coils = work.coils;
    same_coils.has_maps = work.uses_maps;
    const bool on_host = gridded->device != settings.device && host != nullptr;
    const Prediction beside = predict(same_coils, *gridded, on_host ? *host : rates, nullptr, host);
    add("gridded image", beside.seconds() - beside.other_seconds);
    result.other_seconds += beside.other_seconds;
  }
  return result;
}

}  // namespace fhd
