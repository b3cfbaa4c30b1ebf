#pragma once
// The domain: what a scan is made of. Units and conventions are written here, once.
//
//   d_c(m) = sum_p S_c(p) rho(p) exp(-i [2 pi k_m . r_p + omega(p) t_m + phi'(p, m)]) D(p, t_m) + noise
//
//   k_m    k-space position of sample m, cycles/FOV, |k| <= N/2 on every axis of N voxels
//   r_p    voxel position in fractions of the FOV: (n - floor(N/2)) / N per axis, n = 0 ... N-1
//   omega  off-resonance in rad/s, t in s from one moment on: README.md, "Off-resonance"
//   phi'   phases of fields that are not linear in space: fields.hpp
//   D      decay, exp(-R(p) t) with R = 1/T2* in 1/s, or f exp(-R t) + (1 - f) exp(-R' t) of two components
//
// Images are row-major [z][y][x], coils the slowest axis. A 2D scan has matrix size 1 in z.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/fields.hpp"
#include "recon/domain/geometry.hpp"
#include "recon/domain/message.hpp"

namespace fhd {

/// How far |k| may exceed half the matrix: the rounding of files.
inline constexpr double edge_rounding = 1.005;

/// k-space positions in cycles/FOV, [axis][sample] with the three axes x, y, z. Held in double: a float k
/// of 128 cycles/FOV is already 1e-5 rad off at the edge of the FOV.
struct Trajectory {
  Array<double> k;
  std::int64_t sample_count() const { return k.empty() ? 0 : k.extent(1); }
};

/// Measured values, [coil][sample].
struct KSpace {
  Array<Complex<float>> values;
  /// The values before rounding to single precision; empty if none are known. A change concerns both: `validate`
  /// compares them.
  Array<Complex<double>> in_double{};
  std::int64_t coil_count() const { return values.empty() ? 0 : values.extent(0); }
  std::int64_t sample_count() const { return values.empty() ? 0 : values.extent(1); }
};

/// Receive sensitivities, [coil][z][y][x].
struct SensitivityMaps {
  Array<Complex<float>> values;
  Array<Complex<double>> in_double{};  ///< as that of KSpace
};

/// A reference measured for the sensitivity maps alone, with a resolution or contrast of its own.
struct Calibration {
  Trajectory trajectory;             ///< in cycles/FOV of the scan's geometry, whatever it was measured with
  KSpace kspace;                     ///< of the coils of the scan
  std::array<int, 3> matrix_size{};  ///< its own, x, y, z; 0 where not stated
  std::array<double, 3> fov_mm{};    ///< its own; 0 where not stated
};

/// The second component of decay, of nuclei such as sodium.
struct SecondDecay {
  Array<float> per_s;     ///< R' >= 0, 1/s, [z][y][x]
  Array<float> fraction;  ///< f of the first component, 0 ... 1, [z][y][x]
};

/// One volume (or slice) at one time: everything that a reconstruction needs. The parts agree with each
/// other and are finite; `validate` says so or throws, and everything behind it may trust them.
struct Scan {
  Geometry geometry;
  Trajectory trajectory;
  KSpace kspace;
  std::optional<SensitivityMaps> sensitivity_maps;
  std::optional<Array<Complex<float>>>
      noise;                               ///< without signal, [coil][sample], as many samples as there are
  std::optional<Calibration> calibration;  ///< maps are found from it, where it is, and not from the samples
  std::optional<Array<float>> field_map;   ///< off-resonance, rad/s, [z][y][x]
  Array<double> field_map_in_double{};     ///< as KSpace::in_double
  std::optional<Array<float>> decay_per_s{};  ///< R >= 0, 1/s, [z][y][x]
  std::optional<SecondDecay>
      second_decay{};  ///< only with decay_per_s, which is then that of the first component
  std::optional<Fields> fields{};
  std::optional<Array<double>> sample_time_s;  ///< time of each sample (from when: README.md), s, [sample]
  /// The image is cropped to this matrix, about its centre, after reconstruction (readout oversampling).
  std::array<int, 3> cropped_matrix_size{0, 0, 0};  ///< 0: not cropped on that axis

  /// Numbers of the readouts in the file, if whole readouts are left out; empty: all are there, or none is known.
  std::vector<std::int64_t> readout_numbers{};
  /// For every readout in the file: times since triggers (ECG, ...), in a unit that scanners choose (ISMRMRD's
  /// physiology_time_stamp); empty: none is known.
  std::vector<std::array<std::uint32_t, 3>> physiology_stamps{};

  /// Notes of the source on what it did to the values (corrected, left out); they go to the report.
  std::vector<Message> messages;

  /// A second set of maps, of coils as they are prepared: then each set has an image of its own
  /// (encoding/sense.hpp). Files have none.
  std::optional<SensitivityMaps> second_maps{};

  /// Throws Error naming `subject` (a file) when the parts do not agree or hold a NaN or infinity, when
  /// there is no sample, or when |k| exceeds half the matrix times edge_rounding.
  void validate(const std::string& subject) const;
};

/// Throws Error, its subject beginning with `subject` ("scan.h5: ", or empty), unless every position is finite and
/// |k| <= N/2 times edge_rounding on every axis of N > 1 voxels: more belongs to another matrix or unit.
void require_positions(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                       const std::string& subject);

/// Reconstructed voxels, [z][y][x].
struct Image {
  Array<Complex<float>> values;
  Geometry geometry;
  Array<Complex<double>> in_double{};  ///< the same before rounding, of work in double precision; else empty
};

/// Returns the values of k-space, sensitivity maps or an image; in double if T is double and they are known so.
template <class T, class Held>
Array<Complex<T>> values_of(const Held& held) {
  if constexpr (std::is_same_v<T, double>)
    if (!held.in_double.empty()) return held.in_double;
  return converted<Complex<T>>(held.values);
}

}  // namespace fhd
