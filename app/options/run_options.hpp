#pragma once
// All choices of a run: how a scan is read, reconstructed and written. The table of options (table.cpp) fills it, for
// every command and for Python.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/options/devices.hpp"
#include "app/options/values.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/settings.hpp"
#include "recon/domain/trajectory_cache.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/noise_map.hpp"

namespace fhd::app {

/// Says what is wrong with the readouts of a scan, in the order in which it is corrected (app/run/corrections.hpp).
struct ReadoutCorrection {
  std::string omitted_readouts, omitted_coils;  ///< their numbers from 0, "0-3,7"; empty: none
  /// A tone of one frequency (recon/pipeline/tone.hpp): left in the samples, found there and taken off, or given.
  enum class Tone { left, automatic, given } tone = Tone::left;
  double tone_frequency = 0;  ///< where given: Hz, or cycles/sample where the scan states no sample times
  std::array<double, 3> scale{1, 1, 1};  ///< factors of k-space positions along x, y, z
  std::string girf;                      ///< file of the gradients' impulse responses; empty: none
  /// Field strength, T, with which Maxwell terms of the gradients are added; 0: that of the header; empty: none are.
  std::optional<double> concomitant_t;
  /// Gradient delays that a scan does not state (recon/trajectory/gradient_delays.hpp): ignored, found in it, or given.
  enum class Delays { off, automatic, given } delays = Delays::off;
  std::array<double, 3> delay_samples{};  ///< where given

  /// Returns whether the user gave numbers of readouts or coils, factors or delays.
  bool is_given() const {
    return !omitted_readouts.empty() || !omitted_coils.empty() || delays == Delays::given ||
           scale != std::array<double, 3>{1, 1, 1};
  }
};

/// --field-map: the map of the scan or of a file, none, or one made of the echoes of the scan.
enum class FieldMapChoice { of_scan, off, from_echoes };

/// --maps-from: sensitivity maps are found from the readouts of one volume, or of all repetitions together; automatic:
/// from all where one does not tell them.
enum class MapsFrom { automatic, series, volume };

/// --regularizer: one quadratic term, or a sum of terms with their strengths.
struct RegularizerOption {
  std::string quadratic = "identity";        ///< or "roughness"; empty: there is no quadratic term
  std::optional<double> quadratic_strength;  ///< over the mean eigenvalue; empty: --lambda says it
  std::vector<SparsePenalty> sparse;
};
/// Reads "identity"; "wavelet:0.01,tv:0.02"; "identity:0.01,wavelet:0.005"; "identity:0,tv:0.01", without a floor. Throws
/// Error naming --regularizer.
RegularizerOption parse_regularizer(const std::string& text);
/// Returns the names of its terms: the two quadratic ones, then the sparse ones.
std::vector<std::string> regularizer_names();

/// --frames, --spokes-per-frame, --sliding, --gate and --basis: frames of a continuous acquisition.
struct FrameOptions {
  FrameChoice choice;
  std::optional<std::string> gate;   ///< "self", "physiology", "physiology:K", or a file
  std::optional<std::string> basis;  ///< "K", or a file

  bool asks() const { return choice.asks() || gate; }
  /// Returns what is read from files, and from which: of --gate and --basis.
  std::vector<std::pair<std::string, std::string>> files() const;
  /// Sets the temporal subspace that is asked for. Throws Error on contradictory options.
  void take_part_in(Settings& settings) const;
  /// Returns the frames of a scan of that file. Throws Error.
  FrameLayout layout_of(const Scan& scan, const io::ScanSummary& summary) const;
  /// Throws Error unless it is one repetition that is cut into frames.
  static void require_one(const std::vector<std::int64_t>& repetitions);
  /// Returns how many frames a scan of so many samples has, and how long they are, whatever its motion. Throws Error.
  FrameSizes sizes(std::int64_t samples, std::int64_t readout_length) const;
};

struct RunOptions {
  // Volumes and outputs
  VolumeSelection selection;
  bool no_gridded_image = false, phase = false, strict = false;
  std::map<std::string, std::string> formats;  ///< further ones, as ResultRequest::paths
  std::optional<int> compression;              ///< of NIfTI and PNG files, 0 ... 9
  std::optional<NoiseMapRequest> noise_map;    ///< of one volume
  // Reading
  io::ReadOptions read_options;
  FieldMapChoice field_map = FieldMapChoice::of_scan;
  // Reconstruction
  FrameOptions frames;
  Settings chosen;      ///< of its method the kind alone: `solver` has the numbers
  LeastSquares solver;  ///< without regularizer, sparse terms and lambda, which the next fields say
  RegularizerOption regularizer;
  std::string prior;  ///< NIfTI image of the anatomy; empty: none
  double prior_strength = 1;
  std::optional<LambdaChoice> lambda;
  ReadoutCorrection correction;
  MapsFrom maps_from = MapsFrom::automatic;
  // Device, threads and cache
  DeviceOption device;
  int threads = 0;            ///< 0: all
  std::string cache = "off";  ///< folder of operators of trajectories; "auto": the user's
  // Volume and true image of `fhd compare`
  std::int64_t slice = 0, repetition = 0;
  std::string truth;

  /// The options that were given: "--lambda" -> "1e-3".
  std::map<std::string, std::string> given;

  bool is_given(const std::string& flag) const { return given.contains(flag); }

  /// Returns the settings of single images, and sets the number of threads. Reads the prior image. Throws Error where
  /// options contradict each other.
  Settings image_settings() const;
  /// Returns the settings with those of frames and noise maps. Throws Error, too.
  Settings settings() const;
  /// Throws Error where noise maps are asked for of another number of volumes than one.
  void require_noise_map_of_one(std::size_t volumes) const;
  /// Returns the cache of operators of trajectories; null: none is used.
  std::shared_ptr<TrajectoryCache> trajectory_cache() const;
};

}  // namespace fhd::app
