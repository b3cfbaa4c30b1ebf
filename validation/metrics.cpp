#include "validation/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace fhd::metrics {
namespace {

void check(const Values& values, const Values& reference, const Mask& mask) {
  if (values.size() != reference.size() || values.empty())
    throw Error("metric", "as many values as the reference " + reference.shape().text(),
                values.shape().text());
  if (!mask.empty() && mask.size() != values.size())
    throw Error("metric: mask", values.shape().text(), mask.shape().text());
  if (!mask.empty() && std::none_of(mask.begin(), mask.end(), [](auto inside) { return inside != 0; }))
    throw Error("metric: mask", "at least one element inside", "none");
}

bool inside(const Mask& mask, std::int64_t i) { return mask.empty() || mask[i] != 0; }

/// max that keeps a NaN once it has met one.
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }

/// a / b for norms a, b >= 0, with 0 / 0 = 0.
double ratio(double a, double b) { return a == 0 && b == 0 ? 0.0 : a / b; }

struct Moments {
  double squared_error = 0, squared_values = 0, squared_reference = 0;
  Complex<double> product;  // sum of conj(values) reference
  double largest_error = 0, largest_reference = 0;
  std::int64_t count = 0;
};

Moments moments(const Values& values, const Values& reference, const Mask& mask) {
  check(values, reference, mask);
  Moments sums;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    if (!inside(mask, i)) continue;
    const auto error = values[i] - reference[i];
    sums.squared_error += norm(error);
    sums.squared_values += norm(values[i]);
    sums.squared_reference += norm(reference[i]);
    sums.product += conj(values[i]) * reference[i];
    sums.largest_error = larger(sums.largest_error, abs(error));
    sums.largest_reference = larger(sums.largest_reference, abs(reference[i]));
    ++sums.count;
  }
  return sums;
}

/// Normalised Gaussian of sigma 1.5 with an odd number of taps, at most 11 and at most `extent`.
std::vector<double> gaussian_taps(int extent) {
  const int radius = std::min(5, (extent - 1) / 2);
  std::vector<double> taps;
  double sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += taps.emplace_back(std::exp(-i * i / (2 * 1.5 * 1.5)));
  for (auto& tap : taps) tap /= sum;
  return taps;
}

/// Windowed means of an nx x ny picture over all windows wholly inside it: separable, x then y.
std::vector<double> windowed_mean(const std::vector<double>& picture, int nx, int ny,
                                  const std::vector<double>& taps_x, const std::vector<double>& taps_y) {
  const int width = nx - static_cast<int>(taps_x.size()) + 1,
            height = ny - static_cast<int>(taps_y.size()) + 1;
  std::vector<double> along_x(static_cast<std::size_t>(width) * ny),
      result(static_cast<std::size_t>(width) * height);
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < width; ++x)
      for (std::size_t tap = 0; tap < taps_x.size(); ++tap)
        along_x[y * width + x] += taps_x[tap] * picture[y * nx + x + tap];
  for (int y = 0; y < height; ++y)
    for (std::size_t tap = 0; tap < taps_y.size(); ++tap)
      for (int x = 0; x < width; ++x) result[y * width + x] += taps_y[tap] * along_x[(y + tap) * width + x];
  return result;
}

}  // namespace

double relative_l2(const Values& values, const Values& reference, const Mask& mask) {
  const auto sums = moments(values, reference, mask);
  return ratio(std::sqrt(sums.squared_error), std::sqrt(sums.squared_reference));
}

Complex<double> best_scale(const Values& values, const Values& reference, const Mask& mask) {
  const auto sums = moments(values, reference, mask);
  return sums.squared_values == 0 ? Complex<double>() : (1 / sums.squared_values) * sums.product;
}

double nrmse_best_scale(const Values& values, const Values& reference, const Mask& mask) {
  return relative_l2(scaled(values, best_scale(values, reference, mask)), reference, mask);
}

double relative_maximum_error(const Values& values, const Values& reference, const Mask& mask) {
  const auto sums = moments(values, reference, mask);
  return ratio(sums.largest_error, sums.largest_reference);
}

double psnr_db(const Values& values, const Values& reference, const Mask& mask) {
  const auto sums = moments(values, reference, mask);
  const double root_mean_square = std::sqrt(sums.squared_error / static_cast<double>(sums.count));
  return 20 * std::log10(sums.largest_reference / root_mean_square);
}

double ssim(const Values& values, const Values& reference, std::array<int, 3> matrix_size, const Mask& mask) {
  check(values, reference, mask);
  const auto [nx, ny, nz] = matrix_size;
  if (std::int64_t{nx} * ny * nz != values.size())
    throw Error("SSIM: matrix size", values.shape().text(),
                std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz));
  const double range = moments(values, reference, mask).largest_reference;
  const double c1 = (0.01 * range) * (0.01 * range), c2 = (0.03 * range) * (0.03 * range);
  const auto taps_x = gaussian_taps(nx), taps_y = gaussian_taps(ny);
  const int radius_x = static_cast<int>(taps_x.size() / 2), radius_y = static_cast<int>(taps_y.size() / 2);
  const int width = nx - 2 * radius_x, height = ny - 2 * radius_y;

  const std::size_t pixels = static_cast<std::size_t>(nx) * ny;
  std::vector<double> a(pixels), b(pixels), aa(pixels), bb(pixels), ab(pixels);
  double sum = 0;
  std::int64_t windows = 0;
  for (int z = 0; z < nz; ++z) {
    for (std::size_t i = 0; i < pixels; ++i) {
      a[i] = abs(values[z * static_cast<std::int64_t>(pixels) + static_cast<std::int64_t>(i)]);
      b[i] = abs(reference[z * static_cast<std::int64_t>(pixels) + static_cast<std::int64_t>(i)]);
      aa[i] = a[i] * a[i], bb[i] = b[i] * b[i], ab[i] = a[i] * b[i];
    }
    const auto mean_a = windowed_mean(a, nx, ny, taps_x, taps_y),
               mean_b = windowed_mean(b, nx, ny, taps_x, taps_y);
    const auto mean_aa = windowed_mean(aa, nx, ny, taps_x, taps_y),
               mean_bb = windowed_mean(bb, nx, ny, taps_x, taps_y);
    const auto mean_ab = windowed_mean(ab, nx, ny, taps_x, taps_y);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const auto centre = (std::int64_t{z} * ny + y + radius_y) * nx + x + radius_x;
        if (!inside(mask, centre)) continue;
        const std::size_t i = static_cast<std::size_t>(y) * width + x;
        const double product = mean_a[i] * mean_b[i], squares = mean_a[i] * mean_a[i] + mean_b[i] * mean_b[i];
        const double numerator = (2 * product + c1) * (2 * (mean_ab[i] - product) + c2);
        const double denominator = (squares + c1) * (mean_aa[i] + mean_bb[i] - squares + c2);
        sum += numerator == denominator ? 1.0 : numerator / denominator;
        ++windows;
      }
  }
  if (windows == 0) throw Error("SSIM: mask", "a window whose centre lies inside", "none");
  return sum / static_cast<double>(windows);
}

double magnitude_correlation(const Values& values, const Values& reference, const Mask& mask) {
  check(values, reference, mask);
  double mean_a = 0, mean_b = 0, count = 0;
  for (std::int64_t i = 0; i < values.size(); ++i)
    if (inside(mask, i)) mean_a += abs(values[i]), mean_b += abs(reference[i]), count += 1;
  mean_a /= count, mean_b /= count;
  double aa = 0, bb = 0, ab = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    if (!inside(mask, i)) continue;
    const double a = abs(values[i]) - mean_a, b = abs(reference[i]) - mean_b;
    aa += a * a, bb += b * b, ab += a * b;
  }
  return ab / std::sqrt(aa * bb);
}

Values scaled(const Values& values, Complex<double> s) {
  Values result = values;
  for (auto& value : result) value = s * value;
  return result;
}

}  // namespace fhd::metrics
