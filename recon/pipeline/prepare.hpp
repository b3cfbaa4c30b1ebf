#pragma once
// The scan as it enters the reconstruction: coils prepared, samples scaled and on the device.
#include <optional>

#include "recon/domain/scan.hpp"
#include "recon/pipeline/context.hpp"

namespace fhd {

/// Coils left out when all their samples are zero, whitened, compressed, maps found, as the settings say; empty
/// when the scan enters as it is. What was done goes to the settings, stages ("whitening", "coil compression",
/// "sensitivity maps") and notes of the report. Throws Error when the settings ask for what the scan cannot
/// give.
std::optional<Scan> prepare_coils(const Scan& scan, const Settings& settings, Journal& journal);

template <class T>
struct Measurements {
  const Scan& scan;             ///< with the coils as prepared
  Array<Complex<T>> samples{};  ///< [coil][sample of this process]; of the scan divided by `unit`
  double unit = 1;              ///< a power of two; 0 when all samples are zero
};

/// In host memory; what follows the density compensation goes to the device of the context.
template <class T>
Measurements<T> measurements_of(const Scan& scan, const Context& context);
template <class T>
void copy_to_device(Array<Complex<T>>& values, const Context& context);

/// Sensitivity maps [coil][z][y][x] on the device, those of the scan divided by `unit`, a power of two; empty
/// without. Throws Error when all are zero.
template <class T>
struct ScaledMaps {
  Array<Complex<T>> values{};
  double unit = 1;
};
template <class T>
ScaledMaps<T> maps_of(const Scan& scan, const Context& context);

/// The coil with the most energy.
std::int64_t strongest_coil(const KSpace& kspace);

}  // namespace fhd
