#pragma once
// All choices of a run: how a scan is read, reconstructed and written. `fhd recon`, `fhd batch` and Python fill it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/options/frame_options.hpp"
#include "app/options/noise_map_option.hpp"
#include "app/options/options.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

struct RunOptions {
  VolumeSelection selection;
  bool no_gridded_image = false, phase = false, strict = false;
  /// Further formats beside the results: NAME_dicom/ and NAME_images.h5, or, where these name them, other places.
  bool dicom = false, ismrmrd_images = false;
  std::string dicom_folder, ismrmrd_images_file;
  std::optional<int> compression;
  io::ReadOptions read_options;
  ReconOptions recon;
  FrameOptions frames;
  NoiseMapOption noise_map;
  DeviceOption device;

  RunOptions() = default;
  /// Parses options, each "--name=value". Throws UsageError.
  explicit RunOptions(const std::vector<std::string>& arguments);
  /// Adds the options of `fhd batch` to a command; the object must outlive the parse.
  void add_to(CLI::App& app);

  /// Returns the settings that all options ask for. Throws Error where options contradict each other.
  Settings settings() const;
  /// Returns the cache of operators of a trajectory; null: none is used.
  std::shared_ptr<TrajectoryCache> trajectory_cache() const { return recon.trajectory_cache(); }
  TrajectoryCorrection trajectory_correction() const { return recon.trajectory_correction(); }

 private:
  std::shared_ptr<CLI::App> parser_;
};

}  // namespace fhd::app
