#pragma once
// Sensitivity maps of all repetitions together, where each is undersampled in turns (TSENSE, k-t): the readouts of
// several repetitions become the calibration of each.
#include "app/options/run_options.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

/// The code of the note on volumes whose maps are found from several repetitions.
inline constexpr auto maps_from_series = "maps_from_series";

/// Gives the volumes that `file` will read a calibration: the readouts of repetitions of the same slice, contrast and set
/// from the middle of the series, until they are as many as sample k-space fully. Where the choice is automatic, volumes
/// alone get it whose centre of k-space is not determined by their own samples, but is by those of the series. Does
/// nothing where maps are not sought, and to volumes that have a calibration.
void take_maps_from_series(io::ScanFile& file, MapsFrom choice, const Settings& settings);

/// Returns at most how many samples such a calibration has, by the header; 0 where volumes get none. Throws Error where the
/// settings ask for maps that the scan does not have.
std::int64_t most_samples_of_series(const io::ScanSummary& summary, MapsFrom choice,
                                    const Settings& settings);

}  // namespace fhd::app
