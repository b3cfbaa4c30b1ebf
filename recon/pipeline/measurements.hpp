#pragma once
// Samples and maps as the solver takes them: scaled to a largest magnitude near 1, so that no scale of a scanner or of a
// map leaves the range of T.
#include <cstdint>
#include <vector>

#include "recon/pipeline/context.hpp"

namespace fhd {

/// The code of the message on samples that are all zero.
inline constexpr auto no_signal = "values";

/// The samples of one volume, or of several that share all else.
template <class T>
struct Measurements {
  const Scan& scan;  ///< with the coils as prepared; its k-space is that of the first volume
  std::vector<const KSpace*> volumes{};  ///< k-space of each, with the coils as prepared
  Array<Complex<T>> samples{};           ///< [volume and coil][sample of this process], divided by the unit
  std::vector<double> units{};           ///< of each volume, a power of two; 0 when all its samples are zero

  std::int64_t volume_count() const { return static_cast<std::int64_t>(volumes.size()); }
  /// Returns the factor of the image of a volume.
  double unit(std::int64_t volume) const {
    const double of_samples = units[volume];
    return of_samples == 0 ? 1 : of_samples;
  }
};

/// Scales the samples, in host memory: what follows the density compensation goes to the device of the context.
template <class T>
Measurements<T> measurements_of(const Scan& scan, std::vector<const KSpace*> volumes, const Context& context);
template <class T>
void copy_to_device(Array<Complex<T>>& values, const Context& context);

/// Sensitivity maps [coil][z][y][x] on the device, divided by `unit`, a power of two; empty without.
template <class T>
struct ScaledMaps {
  Array<Complex<T>> values{};
  double unit = 1;
};
/// Scales the maps of the scan. Throws Error when all are zero.
template <class T>
ScaledMaps<T> maps_of(const Scan& scan, const Context& context);

/// Returns the coil with the most energy.
std::int64_t strongest_coil(const KSpace& kspace);
/// Returns |samples| over all processes.
template <class T>
double norm_of_all(const Array<Complex<T>>& samples, const ProcessGroup& processes);

}  // namespace fhd
