// A bright voxel on a grid of 16 x 16, seen by one coil along 24 spokes, and found again.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <recon/fhd.hpp>

int main() {
  constexpr int n = 16, spokes = 24, samples = spokes * 2 * n, bright_x = 11, bright_y = 5;
  constexpr double pi = 3.14159265358979;
  fhd::Scan scan;
  scan.geometry.matrix_size = {n, n, 1};
  scan.geometry.fov_mm = {240, 240, 5};
  scan.trajectory.k = fhd::Array<double>({3, samples});                // cycles/FOV
  scan.kspace.values = fhd::Array<fhd::Complex<float>>({1, samples});  // of one coil
  for (int m = 0; m < samples; ++m) {
    const double radius = (m % (2 * n) - n) / 2.0, angle = pi * (m / (2 * n)) / spokes;
    const double kx = radius * std::cos(angle), ky = radius * std::sin(angle);
    const double phase = -2 * pi * (kx * (bright_x - n / 2) + ky * (bright_y - n / 2)) / n;
    scan.trajectory.k[m] = kx, scan.trajectory.k[samples + m] = ky;
    scan.kspace.values[m] = {float(std::cos(phase)), float(std::sin(phase))};
  }
  const auto image = fhd::reconstruct(scan, fhd::Settings{}).image.values;
  const auto magnitude_below = [](auto a, auto b) { return fhd::norm(a) < fhd::norm(b); };
  const auto brightest = std::max_element(image.begin(), image.end(), magnitude_below) - image.begin();
  std::printf("the brightest voxel is (%d, %d)\n", int(brightest % n), int(brightest / n));
  return brightest == bright_y * n + bright_x ? 0 : 1;
}
