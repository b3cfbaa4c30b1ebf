#pragma once
// What happens to the coils before the reconstruction: dead coils left out, whitened, compressed, maps found.
#include <cstdint>
#include <optional>

#include "recon/coils/maps.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// Where sensitivity maps come from. automatic: the scan's own; without them ESPIRiT, when the method uses
/// maps and there is more than one coil.
enum class CoilMaps { automatic, file, espirit, adaptive, none };

/// automatic: from the noise samples of the scan, where it has them. edge: from these, else from the edge of
/// k-space.
enum class NoiseWhitening { automatic, edge, off };

struct CoilSettings {
  CoilMaps maps = CoilMaps::automatic;
  NoiseWhitening whitening = NoiseWhitening::automatic;
  /// False: never. True: as the next two say; without these, scans of more than 12 coils that are
  /// reconstructed with maps get a third as many virtual coils, but at least 12. A share of energy would be
  /// no rule for every scan: noise alone holds some thousandths.
  bool compress = true;
  std::optional<std::int64_t> coil_count;    ///< this many virtual coils
  std::optional<double> compression_energy;  ///< as many as keep this share of sum |d|^2
  MapSettings estimation;

  static constexpr std::int64_t uncompressed_coils = 12;

  /// Takes the coils, and the maps if there are any, as they are.
  static CoilSettings as_they_are() {
    CoilSettings settings;
    settings.whitening = NoiseWhitening::off;
    settings.compress = false;
    return settings;
  }
};

/// The scan as it enters the reconstruction, with other coils or maps; empty when it enters as it is.
/// `uses_maps`: whether the method gains from maps that are not in the file. Coils whose samples are all zero
/// are left out. What was done goes to the settings, stages ("whitening", "coil compression", "sensitivity
/// maps") and notes of `report`. Throws Error when the settings ask for what the scan cannot give.
std::optional<Scan> prepare_coils(const Scan& scan, const CoilSettings& settings, bool uses_maps,
                                  Report& report, const ProgressCallback& progress = {});

}  // namespace fhd
