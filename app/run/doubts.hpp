#pragma once
// Finds what is wrong with a scan or its image: warnings of the input doctor, suspicions of what the image does not explain, and
// gradient delays.
#include <string>
#include <vector>

#include "app/run/volume_reader.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {

/// Checks that are made once for a scan, in the volume that stands for it.
struct ScanChecks {
  bool delays_are_corrected = false;  ///< --trajectory-correction auto has sought gradient delays
  /// Gradient delays are sought in 3D, which takes tenths of a second, only where the verdict leaves something open.
  bool is_sparing = false;
  std::vector<Message> warnings{};  ///< of the scan as a whole, known before
};

/// Returns the warnings of each volume; volumes of a series share those of their positions.
std::vector<std::vector<Message>> warnings_of(const std::vector<const Scan*>& volumes, SliceSeries* series,
                                                  const Settings& settings);
/// Adds a suspicion, with the likeliest cause, where the verdict of an image does not explain its data. `seeks_cause`: the
/// cause is sought, which may take many seconds.
void suspect(const Scan& scan, const CoilSettings& coils, const ScanChecks& checks, bool seeks_cause,
             Report& report);
/// Adds the warnings of the scan as a whole, and whether its gradients are delayed.
void check_scan(const Scan& scan, const ScanChecks& checks, Report& report);

/// Adds a stage that followed a reconstruction.
void add_stage(Report& report, const std::string& name, double seconds);

}  // namespace fhd::app
