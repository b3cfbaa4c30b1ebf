#pragma once
// The input doctor: what a scan holds, what had to be inferred, and what looks wrong, in words, before any
// time is spent on a reconstruction.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/domain/message.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// Of all images of a scan.
struct ReconstructionCost {
  double bytes = 0;
  std::string text;       ///< images, time and memory
  std::string available;  ///< memory of this machine
};

struct DiagnosisSettings {
  io::ReadOptions options;
  std::optional<Volume> prior;   ///< the image meant for --prior
  std::size_t memory_bytes = 0;  ///< of this machine; 0: not compared
  /// What a reconstruction takes, as `fhd plan` says it; empty: not judged.
  std::function<ReconstructionCost(io::ScanFile&)> cost{};
};

/// Findings on one volume whose parts agree (Scan::validate). `readout_length` is 0 where unknown: readouts
/// are then not looked at one by one. `looked_beyond_fov`: a reconstruction has (pipeline/surroundings.hpp), and says so.
std::vector<Message> diagnose(const Scan& scan, std::int64_t readout_length, bool looked_beyond_fov = false);
/// The two halves of it: of all but the values, which is the same for volumes that share it; and of the values.
std::vector<Message> diagnose_sampling(const Scan& scan, std::int64_t readout_length);
std::vector<Message> diagnose_values(const Scan& scan, std::int64_t readout_length,
                                     bool looked_beyond_fov = false);

/// The finding on gradient delays of one volume, which are those of the machine: one volume of a scan tells them.
/// Takes tenths of a second in 2D, seconds in 3D.
Message diagnose_delays(const Scan& scan, std::int64_t readout_length);

/// Off-resonance that the echoes of a scan tell, in the first repetition of its middle slice and at low
/// resolution, where it turns phases by so much during a readout that the image suffers. Empty where it does not,
/// where there is a field map, or where echoes, their times or those of the samples are not known. Takes tenths
/// of a second in 2D.
std::optional<Message> diagnose_echoes(io::ScanFile& file);

/// Findings on the file `path`, most severe last. Reads every value of every slice and repetition; what
/// cannot be read is a problem among the findings, not an exception. The same finding in several volumes
/// comes once, with their number.
std::vector<Message> diagnose(const std::string& path, const DiagnosisSettings& settings);

/// What distinguishes the sampled part of k-space from a full one, on cells of 1 cycle/FOV.
struct SamplingDensity {
  /// Mean distance of sampled cells along x, y, z within the sampled extent: 1 where none is missing, 2 where
  /// every second line is.
  std::array<double, 3> spacing{1, 1, 1};
  /// Cells between sampled ones (along some axis) and themselves, over the sampled ones: the undersampling.
  double undersampling = 1;
};

/// Empty when the cells would take more than 1 GiB.
std::optional<SamplingDensity> sampling_density(const Trajectory& trajectory, std::array<int, 3> matrix_size);

/// Median shift of the readouts' energy along their direction, cycles/FOV, of readouts that pass the centre
/// of k-space from one side to the other; a delay of the gradients shows as a shift that does not depend on
/// the direction. Empty when fewer than 8 such readouts exist.
std::optional<double> readout_shift(const Scan& scan, std::int64_t readout_length);

}  // namespace fhd
