#pragma once
// The first step: the matrix that holds the object, coils whitened and compressed, sensitivity maps.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "recon/coils/calibration.hpp"
#include "recon/pipeline/axis_order.hpp"
#include "recon/pipeline/context.hpp"

namespace fhd {

/// A cache for scans of one trajectory, for where the centre of k-space is looked at.
struct CalibrationCache {
  std::optional<CalibrationSystem> outside_fov{}, maps{};
};

/// The volume beside which those of a series are judged, whichever of them comes first.
struct VolumeBeside {
  const Scan* measured = nullptr;
  std::mutex mutex{};
  bool is_known = false;
  KeptOfSeries kept{};
};

/// The part of a scan that volumes share: the matrix that holds the object, how coils are mixed, and their maps. The scan
/// that was prepared must outlive it.
struct Preparation {
  const Scan* measured = nullptr;
  AxisOrder order{};                 ///< in which the axes are reconstructed
  std::optional<Scan> changed{};     ///< in this order; empty where nothing had to change
  bool differs = false;              ///< whether matrix, coils or maps are not those of the measured scan
  Array<Complex<double>> mixing{};   ///< [virtual coil][coil]; empty: coils are as they are
  Report report{};                   ///< what was done
  std::int64_t volumes_at_once = 1;  ///< that the device takes together: as many as gain something, and fit
  std::shared_ptr<VolumeBeside> beside = std::make_shared<VolumeBeside>();

  const Scan& scan() const { return changed ? *changed : *measured; }
};

/// Prepares a valid scan, as the settings say. Throws Error when they ask for what the scan cannot give, or when nothing
/// unfolds the image (decide_folding). What was done goes to the log of the context.
Preparation prepare(const Scan& measured, const Context& context, CalibrationCache& cache);

/// Returns the scan on a larger matrix, to be cropped, where the object reaches beyond the field of view and the samples
/// tell it apart; else nothing. (outside_fov.cpp)
std::optional<Scan> prepare_matrix(const Scan& scan, const Context& context, CalibrationCache& cache);
/// Returns the scan with dead coils left out, whitened, compressed, and maps found; nothing when it enters as it is. `mixing`
/// [virtual coil][coil] becomes what the coils were multiplied by; empty where they stay. `order` is that of the axes of the
/// scan, for messages.
std::optional<Scan> prepare_coils(const Scan& scan, const Settings& settings, RunLog& log,
                                  Device device = Device::cpu(), Array<Complex<double>>* mixing = nullptr,
                                  CalibrationCache* cache = nullptr, const AxisOrder& order = {0, 1, 2});

/// Returns the k-space of another volume with its coils as prepared: its own, which must outlive it, where they stay as they
/// are. `in_double`: mixing does not round. Throws Error where matrix or coils are others.
std::shared_ptr<const KSpace> mixed_kspace(const Preparation& preparation, const Scan& volume,
                                           bool in_double);
/// Returns a further volume of the same object, matrix and coils at positions of its own, with coils, maps and matrix as
/// prepared. Throws as mixed_kspace.
Scan prepared_alike(const Preparation& preparation, const Scan& volume, bool in_double);

}  // namespace fhd
