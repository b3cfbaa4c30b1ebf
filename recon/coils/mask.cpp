#include <algorithm>
#include <cmath>

#include "recon/coils/calibration.hpp"
#include "recon/encoding/sense.hpp"

namespace fhd {
namespace {

using Mask = Array<std::uint8_t>;  // [z][y][x]

/// Whether at + step is inside the matrix, and where.
bool step_inside(const Position& at, const Position& step, const std::array<int, 3>& n, Position& to) {
  bool inside = true;
  for (int axis = 0; axis < 3; ++axis) {
    to[axis] = at[axis] + step[axis];
    inside = inside && to[axis] >= 0 && to[axis] < n[axis];
  }
  return inside;
}

/// Root of the sum of squares of the coils' low-resolution images.
Array<Complex<float>> low_resolution_image(const CalibrationRegion& region) {
  auto images = windowed(region);
  centred_fft(images, +1);
  return root_sum_of_squares(images);
}

/// The root mean square, weighted by energy: background does not count.
double typical_signal(const Array<Complex<float>>& magnitude) {
  double square = 0, fourth = 0;
  for (const auto& a : magnitude) {
    const double energy = norm(Complex<double>(a));
    square += energy, fourth += energy * energy;
  }
  return std::sqrt(fourth / square);
}

/// Voxels within 1/16 FOV of those that reach the threshold.
Mask near_signal(const Array<Complex<float>>& magnitude, double threshold, const std::array<int, 3>& n) {
  std::array<double, 3> reach{};
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] > 1) reach[axis] = std::max(1.0, n[axis] / 16.0);
  const auto neighbours = ball(reach);
  Mask wanted(magnitude.shape());
  Position to;
  for_each_position(n, [&](const Position& at) {
    if (abs(magnitude.data()[row_major(at, n)]) < threshold) return;
    for (const Position& step : neighbours)
      if (step_inside(at, step, n, to)) wanted.data()[row_major(to, n)] = 1;
  });
  return wanted;
}

/// What the edge of the FOV along x and y reaches within a plane outside of `wanted`; holes are no background.
Mask background_of(const Mask& wanted, const std::array<int, 3>& n) {
  Mask background(wanted.shape());
  std::vector<Position> front;
  const auto visit = [&](const Position& at) {
    const std::int64_t i = row_major(at, n);
    if (background.data()[i] || wanted.data()[i]) return;
    background.data()[i] = 1;
    front.push_back(at);
  };
  for_each_position(n, [&](const Position& at) {
    if (at[0] == 0 || at[0] == n[0] - 1 || at[1] == 0 || at[1] == n[1] - 1) visit(at);
  });
  Position to;
  while (!front.empty()) {
    const Position at = front.back();
    front.pop_back();
    for (const Position& step :
         {Position{1, 0, 0}, Position{-1, 0, 0}, Position{0, 1, 0}, Position{0, -1, 0}})
      if (step_inside(at, step, n, to)) visit(to);
  }
  return background;
}

}  // namespace

Mask signal_mask(const CalibrationRegion& region, double share, std::array<int, 3> matrix_size) {
  const auto n = region.matrix_size();
  const auto magnitude = low_resolution_image(region);
  const Mask wanted = near_signal(magnitude, share * typical_signal(magnitude), n);
  const Mask background = background_of(wanted, n);
  std::array<std::vector<int>, 3> nearest;  // of the region, to a voxel of the matrix
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (int at = 0; at < matrix_size[axis]; ++at) {
      const double r = static_cast<double>(at - matrix_size[axis] / 2) / matrix_size[axis];
      nearest[axis].push_back(
          std::clamp(static_cast<int>(std::lround(r * n[axis])) + n[axis] / 2, 0, n[axis] - 1));
    }
  Mask mask({matrix_size[2], matrix_size[1], matrix_size[0]});
  constexpr std::int64_t worth_threads = 1 << 17;
#pragma omp parallel for schedule(static) if (mask.size() >= worth_threads)
  for (std::int64_t row = 0; row < std::int64_t{matrix_size[2]} * matrix_size[1]; ++row) {
    const std::uint8_t* from =
        background.data() +
        row_major({0, nearest[1][row % matrix_size[1]], nearest[2][row / matrix_size[1]]}, n);
    std::uint8_t* to = mask.data() + row * matrix_size[0];
    for (int x = 0; x < matrix_size[0]; ++x) to[x] = !from[nearest[0][x]];
  }
  return mask;
}

}  // namespace fhd
