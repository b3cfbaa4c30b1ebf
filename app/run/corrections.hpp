#pragma once
// Corrects the volumes of a scan as they are read, with their calibration, so that all later steps use what is left and the
// positions as played; and gives them field maps, which are made from the echoes of a scan, for `fhd fieldmap` and for
// --field-map auto of a run.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/options/run_options.hpp"
#include "app/run/recon_engine.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::app {

/// Adds the corrections that are asked for to files at the same positions: coils and readouts are left out, a tone is taken off
/// the samples, positions are scaled, then brought to those of the gradients' impulse responses and delays. Delays are found
/// once, in the first repetition of the middle slice of the first file, when the first volume is read; the notes of every
/// volume say what was done, or why nothing was. The summary's readout_length is that of the volume read last: 0 where single
/// samples were left out. Throws Error where no coil is left; reading a volume does where it has no such readout, or none is
/// left.
void correct_readouts(const std::vector<io::ScanFile*>& files, const ReadoutCorrection& correction,
                      BeyondMatrix leaves = BeyondMatrix::samples);

/// Adds Maxwell terms at a field strength in T, or that of the header for 0, to the fields of each volume. Without a field
/// strength it adds a warning where the header states one and they would exceed 0.5 rad. Throws Error where the header states
/// none; reading a volume does where its trajectory does not tell the gradients.
void add_maxwell_terms(io::ScanFile& file, std::optional<double> field_strength_t);

inline constexpr double default_smoothing_voxels = 2;

/// One of a scan's volumes, of every slice.
struct Echo {
  io::ScanFile* file;
  std::int64_t repetition;
  double time_s;  ///< from the excitation
};
/// Returns the echoes of files, which must outlive them, in the order of their times: the times `given`, one for each echo
/// in the order of files and volumes, or those of the headers; where both differ, events.on_text says so. Throws Error
/// where there are fewer than two echoes, times are unknown or equal, or files differ in their sizes.
std::vector<Echo> find_echoes(const std::vector<io::ScanFile*>& files,
                              const std::optional<std::vector<double>>& given, const RunEvents& events);

/// Throws Error where images would not keep their phase.
void require_phase(const Settings& settings);

/// The field map of each slice, rad/s, [z][y][x], and the sentence for the report.
struct FieldMaps {
  std::vector<Array<float>> maps{};
  std::vector<Geometry> geometries{};
  std::string remark{};
};
/// Is called with the report of each image that a map is made of.
using OnEcho = std::function<void(std::int64_t slice, std::size_t echo, const Report&)>;
/// Makes the field map of every slice; `smoothing` in voxels: field_map_of_echoes.
FieldMaps field_maps_of(const std::vector<Echo>& echoes, double smoothing, const Settings& settings,
                        ReconEngine& engine, bool delays_are_corrected, const RunEvents& events,
                        const OnEcho& on_echo = {});

/// Makes a field map from the echoes of the first repetition, by least squares with the coils and the transform of
/// `settings`. Throws Error naming --field-map where there is one echo, or a time is not known.
FieldMaps found_field_map(io::ScanFile& file, const Settings& settings, const ChosenDevice& device,
                          std::shared_ptr<TrajectoryCache> cache, const RunEvents& events);
/// Gives the volumes of a file these field maps in place of their own; without maps, none.
void set_field_map(io::ScanFile& file, FieldMaps found);

}  // namespace fhd::app
