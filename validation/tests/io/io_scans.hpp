#pragma once
// Small scans and folders for the tests of io/.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <random>
#include <string>

#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::io {

using FolderTest = tests::ScratchTest;
using tests::bytes_of;
using tests::contains;
using tests::write_text;

/// The one line of the Error that `action` throws; empty when it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return line;
  }
  return {};
}

inline bool says(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const auto& s) { return contains(s, part); });
}
/// The action ends with an Error whose line contains `part`.
#define EXPECT_REFUSED(action, part) \
  EXPECT_CONTAINS(fhd::io::error_of([&] { static_cast<void>(action); }), part)

/// While it lives, no file of this process can grow beyond `bytes`: writes fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

/// A scan of random values, with maps, field map and times; positions fill k-space of the matrix to its edge.
inline Scan random_scan(std::array<int, 3> matrix_size, std::int64_t coils, std::int64_t readout,
                        std::int64_t readouts, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto complex = [&] { return Complex<float>(float(uniform(generator)), float(uniform(generator))); };
  const auto samples = readout * readouts;
  Scan scan;
  scan.geometry.matrix_size = matrix_size;
  scan.geometry.fov_mm = {240, 192, 64};
  scan.geometry.position_mm = {10, -20, 30};
  scan.geometry.read_direction = {0, 1, 0};
  scan.geometry.phase_direction = {-1, 0, 0};
  scan.trajectory.k = Array<double>({3, samples});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t m = 0; m < samples; ++m)
      scan.trajectory.k[axis * samples + m] =
          matrix_size[axis] == 1 ? 0 : uniform(generator) * matrix_size[axis] / 2;
  scan.trajectory.k[0] = matrix_size[0] / 2.0;
  scan.kspace.values = Array<Complex<float>>({coils, samples});
  for (auto& value : scan.kspace.values) value = complex();
  scan.sensitivity_maps =
      SensitivityMaps{Array<Complex<float>>({coils, matrix_size[2], matrix_size[1], matrix_size[0]})};
  for (auto& value : scan.sensitivity_maps->values) value = complex();
  scan.field_map = Array<float>(scan.geometry.image_shape());
  for (auto& value : *scan.field_map) value = float(100 * uniform(generator));
  scan.sample_time_s = Array<double>({samples});
  for (std::int64_t m = 0; m < samples; ++m) (*scan.sample_time_s)[m] = 0.004 + 5e-6 * double(m % readout);
  return scan;
}

/// Largest absolute difference of two arrays; NaN when shapes differ.
template <class T>
double largest_difference(const Array<T>& a, const Array<T>& b) {
  if (!(a.shape() == b.shape())) return NAN;
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    double difference;
    if constexpr (requires { a[i].re; })
      difference = std::hypot(double(a[i].re) - b[i].re, double(a[i].im) - b[i].im);
    else
      difference = std::abs(double(a[i]) - double(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

inline void cut_file(const std::string& path, double share) {
  std::filesystem::resize_file(
      path, static_cast<std::uintmax_t>(static_cast<double>(std::filesystem::file_size(path)) * share));
}

}  // namespace fhd::io
