#pragma once
// The trajectories on which transforms are tried, and what all of them keep, on the CPU and on a GPU.
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/trajectory.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/transform.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"

namespace fhd::tests {

inline Trajectory designed(data::TrajectoryKind kind, std::array<int, 3> matrix, double undersampling = 1) {
  data::TrajectorySettings settings;
  settings.kind = kind;
  settings.matrix_size = matrix;
  settings.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 240};
  settings.undersampling = undersampling;
  return data::design_trajectory(settings).trajectory;
}

struct NamedTrajectory {
  std::string name;
  std::array<int, 3> matrix_size;
  Trajectory trajectory;
  std::int64_t coils;
};

/// Random samples on every matrix of the direct tests, and designed trajectories, odd sizes included; all of
/// them reach the edge of k-space.
inline const std::vector<NamedTrajectory>& trajectories() {
  static const auto all = [] {
    std::vector<NamedTrajectory> list;
    unsigned seed = 1;
    for (const auto& c : transform_cases())
      list.push_back({"random, " + c.text(), c.matrix_size,
                      random_trajectory(c.matrix_size, c.samples, seed++), c.coils});
    using enum data::TrajectoryKind;
    for (const auto& [kind, matrix] : std::vector<std::pair<data::TrajectoryKind, std::array<int, 3>>>{
             {radial, {48, 48, 1}},
             {golden_radial, {51, 51, 1}},
             {spiral, {64, 64, 1}},
             {variable_density_spiral, {45, 45, 1}},
             {cartesian, {20, 17, 1}},
             {stack_of_stars, {24, 24, 7}},
             {stack_of_spirals, {20, 20, 6}},
             {golden_means_radial_3d, {15, 15, 15}},
             {phyllotaxis_radial_3d, {16, 16, 12}}})
      list.push_back({std::string(data::name_of(kind)), matrix, designed(kind, matrix, 4), 2});
    return list;
  }();
  return all;
}

inline Array<double> uneven_weights(std::int64_t count) {
  Array<double> weights({count});
  for (std::int64_t m = 0; m < count; ++m) weights[m] = 0.5 + static_cast<double>(m % 7);
  return weights;
}

/// The outputs of a transform for images and samples, in double.
struct Results {
  Array<Complex<double>> samples, images;
};
/// Earlier values of the outputs must not matter.
template <class T>
Results results_of(const FourierTransform<T>& transform, const Array<Complex<T>>& images,
                   const Array<Complex<T>>& samples) {
  const Device device = transform.device();
  auto found_samples = samples.to(device), found_images = images.to(device);
  transform.forward(images.to(device), found_samples);
  transform.adjoint(samples.to(device), found_images);
  return {in_double(found_samples), in_double(found_images)};
}

struct Errors {
  double forward, adjoint, adjointness;
};
template <class T>
Errors errors_of(const FourierTransform<T>& transform, const Array<Complex<T>>& images,
                 const Array<Complex<T>>& samples, const Results& exact) {
  const auto found = results_of(transform, images, samples);
  return {relative_error(found.samples, exact.samples), relative_error(found.images, exact.images),
          adjointness_error(in_double(images), found.samples, in_double(samples), found.images)};
}

/// Errors of the direct transform against the oracle.
template <class T>
Errors errors_of_direct(const Trajectory& trajectory, std::array<int, 3> matrix, std::int64_t coils,
                        Device device, DirectChoice choice = {}) {
  const auto transform = make_direct_transform<T>(trajectory, matrix, device, choice);
  const auto images = random_values<T>(transform->images_shape(coils), 4),
             samples = random_values<T>(transform->samples_shape(coils), 5);
  const auto r = oracle::voxel_positions(matrix);
  return errors_of(*transform, images, samples,
                   {oracle::forward(trajectory.k, r, in_double(images)),
                    oracle::adjoint(trajectory.k, r, in_double(samples))});
}

/// Error of q against that of the oracle on the periodic grid, whose unreachable differences n = -N are zero.
template <class T>
double error_of_point_spread(const Trajectory& trajectory, std::array<int, 3> matrix,
                             const Array<double>* weights, Device device, DirectChoice choice = {}) {
  Array<double> ones({trajectory.sample_count()});
  for (auto& one : ones) one = 1;
  auto expected = oracle::q(trajectory.k, oracle::difference_positions(matrix), weights ? *weights : ones);
  const auto grid = difference_grid(matrix);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const std::array<std::int64_t, 3> n{i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (matrix[axis] > 1 && n[axis] == matrix[axis]) expected[i] = 0.0;
  }
  const auto q = point_spread_direct<T>(trajectory, matrix, weights, device, choice);
  EXPECT_EQ(q.shape(), (Shape{grid[2], grid[1], grid[0]}));
  return relative_error(q, expected);
}

/// The gridded transform is as close to the direct one as requested, and forward and adjoint are transposes to rounding:
/// they share kernel, roll-off and FFT. 6e-8 (1e-16) times the root of the number of operations per output, times up to
/// 10 by which 1 / phi^ amplifies it. On a GPU products of halves, which serve 1e-2, err by 3.6e-4 in either, times up to 3.
template <class T>
void expect_accuracy(const Trajectory& trajectory, std::array<int, 3> matrix, std::int64_t coils,
                     const std::vector<double>& accuracies, Device device, unsigned seed = 7) {
  const auto direct = make_direct_transform<double>(trajectory, matrix, Device::cpu());
  const auto images = random_values<T>(direct->images_shape(coils), seed),
             samples = random_values<T>(direct->samples_shape(coils), seed + 1);
  const auto exact = results_of(*direct, in_double(images), in_double(samples));
  for (const double accuracy : accuracies) {
    const auto gridded = make_gridded_transform<T>(trajectory, matrix, accuracy, device);
    const auto errors = errors_of(*gridded, images, samples, exact);
    EXPECT_LE(errors.forward, accuracy);
    EXPECT_LE(errors.adjoint, accuracy);
    EXPECT_LE(errors.adjointness, sizeof(T) == 8                         ? 1e-13
                                  : device.is_cuda() && accuracy >= 1e-3 ? 2e-3
                                                                         : 3e-6)
        << accuracy;
  }
}

/// The gridded point spread is as close to the direct one as requested.
template <class T>
void expect_accurate_point_spreads(const std::vector<double>& accuracies, Device device) {
  for (const auto& c : trajectories()) {
    const auto weights = uneven_weights(c.trajectory.sample_count());
    const auto exact = point_spread_direct<double>(c.trajectory, c.matrix_size, &weights, Device::cpu());
    for (const double accuracy : accuracies) {
      const auto q = point_spread_gridded<T>(c.trajectory, c.matrix_size, &weights, accuracy, device);
      ASSERT_EQ(q.shape(), exact.shape());
      EXPECT_EQ(q.device(), device);
      EXPECT_LE(relative_error(q, exact), accuracy) << c.name;
    }
  }
}

/// Files round k: |k| up to N/2 x 1.005 is accepted by Scan::validate, and must not fall off the grid.
inline Trajectory beyond_the_edge(std::array<int, 3> matrix) {
  Trajectory trajectory{Array<double>({3, 4})};
  for (int m = 0; m < 4; ++m) {
    trajectory.k[m] = (m % 2 ? 1 : -1) * matrix[0] / 2.0 * 1.005;
    trajectory.k[4 + m] = (m / 2 ? 1 : -1) * matrix[1] / 2.0 * 1.005;
  }
  return trajectory;
}

template <class T>
void expect_wrong_arrays_are_refused(const FourierTransform<T>& transform) {
  const Device device = transform.device();
  Array<Complex<T>> images(transform.images_shape(2), device), samples(transform.samples_shape(2), device),
      more(transform.samples_shape(3), device), flat({30}, device);
  EXPECT_THROW(transform.forward(images, more), Error);
  EXPECT_THROW(transform.adjoint(more, images), Error);
  EXPECT_THROW(transform.forward(flat, samples), Error);
  if (device.is_cpu()) return;
  auto host = images.to(Device::cpu());
  EXPECT_THROW(transform.adjoint(samples, host), Error);
  EXPECT_THROW(transform.forward(images, samples = samples.to(Device::cpu())), Error);
}

/// Bytes that the C library has handed out, or arrays on a GPU take.
inline double bytes_in_use(Device device) {
  if (device.is_cuda()) return static_cast<double>(device::memory_use(device).used_bytes);
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// A transform holds the bytes that its cost says, and those of its scratch with the first call, which makes it.
template <class T, class Make>
void expect_bytes_of_cost(std::int64_t coils, Device device, const Make& make) {
  const double before = bytes_in_use(device);
  const auto transform = make();
  const double made = bytes_in_use(device) - before;
  Array<Complex<T>> images(transform->images_shape(coils), device),
      samples(transform->samples_shape(coils), device);
  const double with_arrays = bytes_in_use(device);
  device::reset_peak_memory(device);
  const auto call = [&] { transform->adjoint(samples, images), transform->forward(images, samples); };
  call();
  const double used = bytes_in_use(device),
               scratch =
                   (device.is_cuda() ? static_cast<double>(device::memory_use(device).peak_bytes) : used) -
                   with_arrays;
  // The runtime of the threads adds records of its own, and the C library counts freed blocks that threads keep.
  constexpr int calls = 16;
  for (int i = 0; i < calls; ++i) call();
  EXPECT_LE(bytes_in_use(device), used + calls * 8192);
  const double held = static_cast<double>(transform->cost().bytes()),
               all = held + static_cast<double>(transform->cost().scratch_bytes(coils));
  EXPECT_NEAR(made, held, 0.15 * made);
  EXPECT_NEAR(made + scratch, all, 0.15 * (made + scratch));
}

}  // namespace fhd::tests
