#include "validation/bench/gridding_bench.hpp"

#include <chrono>
#include <cmath>
#include <numbers>
#include <random>

#include "data/trajectory.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/transform.hpp"
#include "validation/bench/gpu_timing.hpp"
#include "validation/metrics.hpp"

namespace fhd {
namespace {

using Matrix = std::array<int, 3>;

struct Case {
  std::string name;
  Matrix matrix_size;
  Trajectory trajectory;
};

/// Uniform in the share `extent` of k-space around its centre.
Case random_case(const std::string& name, const Matrix& n, std::int64_t samples, double extent) {
  Trajectory trajectory{Array<double>(Shape{3, samples})};
  std::mt19937 generator(11);
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m)
      trajectory.k[axis * samples + m] = (generator() * 0x1p-32 - 0.5) * n[axis] * extent;
  return {name, n, std::move(trajectory)};
}

Case designed_case(const std::string& name, data::TrajectoryKind kind, const Matrix& n, std::int64_t readouts,
                   std::int64_t length) {
  data::TrajectorySettings settings;
  settings.kind = kind;
  settings.matrix_size = n;
  settings.fov_mm = {240, 240, n[2] == 1 ? 5.0 : 240};
  settings.readout_count = readouts;
  settings.readout_length = length;
  return {name, n, data::design_trajectory(settings).trajectory};
}

/// Every so many voxels of an axis, from the middle of the first stretch on.
struct SomeVoxels {
  explicit SomeVoxels(const Matrix& n) {
    for (int axis = 0; axis < 3; ++axis) {
      count[axis] = n[axis] == 1 ? 1 : 8;
      stride[axis] = n[axis] / count[axis];
      first[axis] = stride[axis] / 2;
    }
  }
  Matrix count, stride, first;
};

/// The exact adjoint at some voxels: an image of fewer voxels over the same extent, moved by a phase of the
/// samples.
double adjoint_error(const Case& c, const Array<Complex<float>>& samples,
                     const Array<Complex<float>>& images) {
  const SomeVoxels some(c.matrix_size);
  const std::int64_t count = c.trajectory.sample_count();
  Array<Complex<double>> moved({1, count});
  for (std::int64_t m = 0; m < count; ++m) {
    double turns = 0;
    for (int axis = 0; axis < 3; ++axis)
      turns += c.trajectory.k[axis * count + m] * some.first[axis] / c.matrix_size[axis];
    const double phase = 2 * std::numbers::pi * turns;
    moved[m] = Complex<double>(std::cos(phase), std::sin(phase)) * Complex<double>(samples[m]);
  }
  const auto direct = make_direct_transform<double>(c.trajectory, some.count, Device::cuda());
  Array<Complex<double>> exact(direct->images_shape(1), Device::cuda()), found(direct->images_shape(1));
  direct->adjoint(moved.to(Device::cuda()), exact);
  std::int64_t i = 0;
  for (int z = 0; z < some.count[2]; ++z)
    for (int y = 0; y < some.count[1]; ++y)
      for (int x = 0; x < some.count[0]; ++x) {
        const std::int64_t line = std::int64_t{z * some.stride[2] + some.first[2]} * c.matrix_size[1] +
                                  y * some.stride[1] + some.first[1];
        found[i++] = Complex<double>(images[line * c.matrix_size[0] + x * some.stride[0] + some.first[0]]);
      }
  return metrics::relative_l2(found, exact.to(Device::cpu()));
}

/// The exact forward transform at 512 samples.
double forward_error(const Case& c, const Array<Complex<float>>& images,
                     const Array<Complex<float>>& samples) {
  const std::int64_t count = c.trajectory.sample_count(), some = std::min<std::int64_t>(512, count),
                     voxels = images.size() / images.extent(0);
  Trajectory few{Array<double>(Shape{3, some})};
  Array<Complex<double>> found({1, some}), image({1, c.matrix_size[2], c.matrix_size[1], c.matrix_size[0]});
  for (std::int64_t m = 0; m < some; ++m) {
    const std::int64_t of_all = m * count / some;
    found[m] = Complex<double>(samples[of_all]);
    for (int axis = 0; axis < 3; ++axis) few.k[axis * some + m] = c.trajectory.k[axis * count + of_all];
  }
  for (std::int64_t p = 0; p < voxels; ++p) image[p] = Complex<double>(images[p]);
  const auto direct = make_direct_transform<double>(few, c.matrix_size, Device::cuda());
  Array<Complex<double>> exact(direct->samples_shape(1), Device::cuda());
  direct->forward(image.to(Device::cuda()), exact);
  return metrics::relative_l2(found, exact.to(Device::cpu()));
}

std::string text_of(const Gridding& gridding) {
  std::string text =
      "width " + std::to_string(gridding.kernel.width) + ", grid " + std::to_string(gridding.grid[0]);
  for (int axis = 1; axis < 3; ++axis)
    if (gridding.grid[axis] > 1) text += " x " + std::to_string(gridding.grid[axis]);
  return text + (gridding.products == Products::half         ? ", halves"
                 : gridding.products == Products::split_half ? ", split halves"
                                                             : "");
}

GriddingBenchRow measured(const Case& c, std::int64_t coils, double accuracy) {
  const auto count = c.trajectory.sample_count();
  const auto begin = std::chrono::steady_clock::now();
  const auto transform = make_gridded_transform<float>(c.trajectory, c.matrix_size, accuracy, Device::cuda());
  device::synchronize(Device::cuda());
  GriddingBenchRow row{c.name + ", " + std::to_string(count) + " samples",
                       text_of(dynamic_cast<const GriddedCost&>(transform->cost()).gridding()), coils,
                       accuracy};
  row.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto values = random_values_of(transform->samples_shape(coils)),
             images = random_values_of(transform->images_shape(coils));
  const auto values_there = values.to(Device::cuda()), images_there = images.to(Device::cuda());
  Array<Complex<float>> found_images(images.shape(), Device::cuda()),
      found_values(values.shape(), Device::cuda());
  row.adjoint_ms = median_ms([&] { transform->adjoint(values_there, found_images); });
  row.forward_ms = median_ms([&] { transform->forward(images_there, found_values); });
  row.adjoint_error = adjoint_error(c, values, found_images.to(Device::cpu()));
  row.forward_error = forward_error(c, images, found_values.to(Device::cpu()));
  return row;
}

}  // namespace

std::vector<GriddingBenchRow> run_gridding_bench(bool quick, const ProgressCallback& progress) {
  const int n = quick ? 32 : 128, n2 = quick ? 64 : 256;
  const std::int64_t samples = quick ? 40000 : 2600000;
  using enum data::TrajectoryKind;
  const Case cases[] = {random_case("random, " + std::to_string(n) + "^3", {n, n, n}, samples, 1),
                        designed_case("radial, " + std::to_string(n) + "^3", golden_means_radial_3d,
                                      {n, n, n}, samples / (2 * n), 2 * n),
                        designed_case("radial, " + std::to_string(n2) + "^2", golden_radial, {n2, n2, 1},
                                      quick ? 100 : 402, n2),
                        random_case("one point, " + std::to_string(n) + "^3", {n, n, n}, samples, 0)};
  std::vector<GriddingBenchRow> rows;
  for (const auto& c : cases)
    for (const double accuracy : {1e-3, 1e-5})
      for (const std::int64_t coils : {8, 1}) {
        if (progress) progress({c.name, static_cast<int>(rows.size()), 16, -1});
        rows.push_back(measured(c, coils, accuracy));
      }
  return rows;
}

}  // namespace fhd
