#pragma once
// The fixtures that the tests of the verdict share: simulated scans, mistakes in their samples, and the verdict on them.
#include <functional>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"

namespace fhd {

inline data::Simulation simulated(data::TrajectoryKind kind, std::array<int, 3> matrix_size, int coils,
                                  double object_scale = 1) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = matrix_size;
  settings.trajectory.fov_mm = {240, 240, matrix_size[2] > 1 ? 240.0 : 5.0};
  settings.coil_count = coils;
  settings.object_scale = object_scale;
  return data::simulate(settings);
}

inline Verdict verdict_of(const Scan& scan, const Settings& settings = {}) {
  return reconstruct(scan, settings, {}, {nullptr, validation::make_verifier()}).report.verdict.value();
}

/// change(value, coil, readout, place in it).
using SampleChange = std::function<Complex<float>(Complex<float>, std::int64_t, std::int64_t, std::int64_t)>;
inline void change_samples(data::Simulation& made, const SampleChange& change) {
  auto& kspace = made.scan.kspace;
  for (std::int64_t i = 0; i < kspace.values.size(); ++i) {
    const std::int64_t m = i % kspace.sample_count();
    kspace.values[i] =
        change(kspace.values[i], i / kspace.sample_count(), m / made.readout_length, m % made.readout_length);
  }
}

/// Stores in each readout the samples of readout `source`.
inline void move_readouts(data::Simulation& made, const std::function<std::int64_t(std::int64_t)>& source) {
  const auto told = made.scan.kspace.values;
  const std::int64_t all = made.scan.kspace.sample_count(), length = made.readout_length;
  for (std::int64_t i = 0; i < told.size(); ++i) {
    const std::int64_t m = i % all;
    made.scan.kspace.values[i] = told[i - m + source(m / length) * length + m % length];
  }
}

}  // namespace fhd
