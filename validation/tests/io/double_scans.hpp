#pragma once
// Scans and images whose numbers are no single-precision numbers.
#include <random>

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {

/// Reads what is stored in double so.
inline const ReadOptions double_options = [] {
  ReadOptions options;
  options.precision = Precision::double_precision;
  return options;
}();

/// Adds to every value less than its rounding to single precision.
template <class Single, class Double>
void refine(Array<Single>& values, Array<Double>& in_double, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1e-8, 1e-8);
  in_double = converted<Double>(values);
  for (auto& value : in_double) {
    if constexpr (requires { value.re; })
      value = {value.re * (1 + uniform(generator)), value.im * (1 + uniform(generator))};
    else
      value *= 1 + uniform(generator);
  }
  values = converted<Single>(in_double);
}

/// random_scan with k-space, maps and field map held in double.
inline Scan random_scan_in_double(std::array<int, 3> matrix_size, std::int64_t coils, std::int64_t readout,
                                  std::int64_t readouts, unsigned seed = 1) {
  auto scan = random_scan(matrix_size, coils, readout, readouts, seed);
  refine(scan.kspace.values, scan.kspace.in_double, seed + 1);
  refine(scan.sensitivity_maps->values, scan.sensitivity_maps->in_double, seed + 2);
  refine(*scan.field_map, scan.field_map_in_double, seed + 3);
  return scan;
}

inline Image random_image_in_double(const Geometry& geometry, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Image image{Array<Complex<float>>(geometry.image_shape()), geometry};
  for (auto& value : image.values) value = {float(uniform(generator)), float(uniform(generator))};
  refine(image.values, image.in_double, seed + 1);
  return image;
}

}  // namespace fhd::io
