#pragma once
// Field maps made of the echoes of a scan, for `fhd fieldmap`, and for `fhd recon` and `fhd batch --field-map
// auto`.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/run_options.hpp"
#include "app/run/recon_engine.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

inline constexpr double default_smoothing_voxels = 2;

/// One of a scan's volumes, of every slice.
struct Echo {
  io::ScanFile* file;
  std::int64_t repetition;
  double time_s;  ///< from the excitation
};
/// Of files that outlive them, in the order of their times: those `given`, one for each echo in the order of
/// files and volumes, or those of the headers; where both differ, events.on_text says so. Throws Error: fewer than two, unknown or
/// equal times, files of other sizes.
std::vector<Echo> find_echoes(const std::vector<io::ScanFile*>& files,
                              const std::optional<std::vector<double>>& given, const RunEvents& events);

/// Throws Error where images would not keep their phase.
void require_phase(const Settings& settings);

/// Of all slices, rad/s, [z][y][x].
struct FieldMaps {
  std::vector<Array<float>> maps;
  std::vector<Geometry> geometries;
};
/// Is called with the report of each image that a map is made of.
using OnEcho = std::function<void(std::int64_t slice, std::size_t echo, const Report&)>;
/// Makes the field map of every slice; `smoothing` in voxels: field_map_of_echoes.
FieldMaps field_maps_of(const std::vector<Echo>& echoes, double smoothing, const Settings& settings,
                        ReconEngine& engine, bool delays_are_corrected, const RunEvents& events,
                        const OnEcho& on_echo = {});
/// The least and the most.
std::pair<double, double> range_hz(const FieldMaps& found);
/// "; known but for ...", where the times leave a multiple of a frequency open.
std::string openness(const std::vector<Echo>& echoes);

/// One for each slice, and the sentence for the report.
struct FoundFieldMap {
  std::vector<Array<float>> maps;
  std::string remark;
};
/// Made of the echoes of the first repetition, by least squares with the coils and the transform of `settings`.
/// Throws Error naming --field-map where there is one echo, or a time is not known.
FoundFieldMap found_field_map(io::ScanFile& file, const Settings& settings, const ChosenDevice& device,
                              std::shared_ptr<TrajectoryCache> cache, const RunEvents& events);
/// The volumes of a scan with these maps in the place of their own; without maps, with none.
std::unique_ptr<io::ScanFile> with_field_map(std::unique_ptr<io::ScanFile> file, FoundFieldMap found);

}  // namespace fhd::app
