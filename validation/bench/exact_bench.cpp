#include "validation/bench/exact_bench.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <type_traits>

#include "recon/array/device.hpp"
#include "recon/transform/direct/direct.hpp"
#include "validation/bench/gpu_timing.hpp"
#include "validation/bench/oracle_places.hpp"

namespace fhd {
namespace {

struct Case {
  std::array<int, 3> matrix_size;
  std::int64_t samples, coils;
  std::string text() const {
    const auto& n = matrix_size;
    return std::to_string(n[0]) + " x " + std::to_string(n[1]) +
           (n[2] > 1 ? " x " + std::to_string(n[2]) : "") + ", " + std::to_string(samples) + " samples, " +
           std::to_string(coils) + (coils == 1 ? " coil" : " coils");
  }
  double pairs() const {
    return static_cast<double>(matrix_size[0]) * matrix_size[1] * matrix_size[2] *
           static_cast<double>(samples * coils);
  }
};

struct Way {
  const char* name;
  DirectChoice choice;
};
constexpr Way ways[] = {{"pair by pair, fast", {GpuSums::fast}},
                        {"tensor cores, 3 products", {GpuSums::tensor_cores}},
                        {"tensor cores, 1 product", {GpuSums::tensor_cores, 1e-3}}},
              ways_in_double[] = {{"double precision, pair by pair", {GpuSums::accurate}},
                                  {"double precision, tensor cores", {GpuSums::tensor_cores}}};
template <class T>
std::span<const Way> ways_of() {
  if constexpr (std::is_same_v<T, double>) return ways_in_double;
  return ways;
}

Trajectory random_trajectory(const Case& c) {
  std::mt19937_64 generator(1);
  Trajectory trajectory{Array<double>({3, c.samples})};
  for (int axis = 0; axis < 3; ++axis) {
    const int n = c.matrix_size[static_cast<std::size_t>(axis)];
    std::uniform_real_distribution<double> uniform(-0.5 * n, 0.5 * n);
    for (std::int64_t m = 0; m < c.samples; ++m)
      trajectory.k[axis * c.samples + m] = n > 1 ? uniform(generator) : 0;
  }
  return trajectory;
}

template <class T>
Array<Complex<T>> random_values(const Shape& shape) {
  std::mt19937_64 generator(2);
  std::normal_distribution<T> normal;
  Array<Complex<T>> values(shape);
  for (auto& v : values) v = {normal(generator), normal(generator)};
  return values;
}

/// Places of a sum that are looked at, the same for all ways, and what is there in double precision, of the first coil.
struct Places {
  std::vector<std::int64_t> at;
  oracle::Values expected;
};
std::vector<std::int64_t> random_places(std::int64_t all, std::int64_t count) {
  std::mt19937_64 generator(3);
  std::vector<std::int64_t> at(static_cast<std::size_t>(std::min(all, count)));
  for (auto& place : at) place = std::uniform_int_distribution<std::int64_t>(0, all - 1)(generator);
  return at;
}
template <class T>
void add_transforms(const Case& c, bool looks, std::vector<ExactBenchRow>& rows) {
  constexpr std::int64_t most_places = 4096;
  const Trajectory trajectory = random_trajectory(c);
  const std::int64_t voxels = std::int64_t{c.matrix_size[0]} * c.matrix_size[1] * c.matrix_size[2];
  const auto images = random_values<T>({c.coils, c.matrix_size[2], c.matrix_size[1], c.matrix_size[0]});
  const auto data = random_values<T>({c.coils, c.samples});
  Places of_image{random_places(voxels, most_places), {}}, of_data{random_places(c.samples, most_places), {}};
  if (looks) {
    const auto r = oracle::voxel_positions(c.matrix_size);
    of_image.expected = oracle::adjoint(trajectory.k, columns(r, of_image.at), first_coil(data, c.samples));
    of_data.expected = oracle::forward(columns(trajectory.k, of_data.at), r, first_coil(images, voxels));
  }
  const auto device_images = images.to(Device::cuda()), device_data = data.to(Device::cuda());
  for (const auto& way : ways_of<T>()) {
    const auto transform = make_direct_transform<T>(trajectory, c.matrix_size, Device::cuda(), way.choice);
    Array<Complex<T>> found_images(images.shape(), Device::cuda()), found_data(data.shape(), Device::cuda());
    const double adjoint = median_ms([&] { transform->adjoint(device_data, found_images); }),
                 forward = median_ms([&] { transform->forward(device_images, found_data); });
    rows.push_back({"F^H, " + c.text(), way.name, adjoint, c.pairs() / adjoint * 1e3,
                    looks ? error_at(of_image.at, of_image.expected, found_images) : -1});
    rows.push_back({"F, " + c.text(), way.name, forward, c.pairs() / forward * 1e3,
                    looks ? error_at(of_data.at, of_data.expected, found_data) : -1});
  }
}

void add_point_spread(const Case& c, std::vector<ExactBenchRow>& rows) {
  const Trajectory trajectory = random_trajectory(c);
  const auto n = difference_grid(c.matrix_size);
  const double pairs = static_cast<double>(n[0]) * n[1] * n[2] / 2 * static_cast<double>(c.samples);
  for (const auto& way : ways) {
    const double ms = median_ms([&] {
      static_cast<void>(
          point_spread_direct<float>(trajectory, c.matrix_size, nullptr, Device::cuda(), way.choice));
    });
    rows.push_back({"Q, " + c.text(), way.name, ms, pairs / ms * 1e3});
  }
}

}  // namespace

std::vector<ExactBenchRow> run_exact_bench(bool quick, const ProgressCallback& progress) {
  std::vector<ExactBenchRow> rows;
  const std::vector<Case> cases =
      quick ? std::vector<Case>{{{64, 64, 1}, 4096, 2}, {{32, 32, 32}, 8192, 1}}
            : std::vector<Case>{{{128, 128, 128}, 262144, 1}, {{128, 128, 128}, 262144, 8},
                                {{256, 256, 1}, 102912, 8},   {{64, 64, 16}, 65536, 4},
                                {{256, 256, 1}, 102912, 1},   {{101, 75, 62}, 100001, 2}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (progress) progress({"direct sums, " + cases[i].text(), 0, 1, -1});
    add_transforms<float>(cases[i], i != 1, rows);  // the oracle takes long for the largest: once
  }
  const Case in_double = quick ? Case{{32, 32, 32}, 8192, 1} : Case{{64, 64, 64}, 262144, 1};
  if (progress) progress({"direct sums in double precision, " + in_double.text(), 0, 1, -1});
  add_transforms<double>(in_double, true, rows);
  if (progress) progress({"point spread", 0, 1, -1});
  add_point_spread(quick ? Case{{32, 32, 32}, 8192, 1} : Case{{128, 128, 128}, 147456, 1}, rows);
  return rows;
}

}  // namespace fhd
