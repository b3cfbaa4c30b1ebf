#pragma once
// The input doctor reports what a scan holds, what had to be inferred and what looks wrong, before a reconstruction
// takes time.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/domain/message.hpp"
#include "recon/domain/scan.hpp"
#include "recon/pipeline/outside_fov.hpp"

namespace fhd {

/// The cost of all images of a scan.
struct ReconstructionCost {
  double bytes = 0;
  std::string text;       ///< images, time and memory
  std::string available;  ///< memory of this machine
};

struct DiagnosisSettings {
  io::ReadOptions options;
  std::optional<Volume> prior;   ///< the image meant for --prior
  std::size_t memory_bytes = 0;  ///< of this machine; 0: not compared
  /// Returns the cost that `fhd plan` prints; empty: the cost is not judged.
  std::function<ReconstructionCost(io::ScanFile&)> cost{};
  /// Adds what a reconstruction does to volumes as they are read; empty: nothing.
  std::function<void(io::ScanFile&)> correct{};
};

/// Samples at the centre of k-space and in its outer half: levels of coils are compared there.
struct CentreAndEdge {
  explicit CentreAndEdge(const std::vector<double>& radius);
  std::vector<std::int64_t> centre, edge;
};

/// Samples by their distance from the centre of k-space.
struct RadialBands {
  explicit RadialBands(const std::vector<double>& radius);
  std::vector<int> of_sample;
  std::vector<std::vector<std::int64_t>> samples;  ///< of each band
};

/// The positions of the samples of a scan, and what they alone tell: the same for all scans that have them.
struct SampledPositions {
  /// `readout_length` is 0 where unknown: then single readouts are not checked.
  SampledPositions(const Scan& scan, std::int64_t readout_length);
  /// Returns whether a scan has these positions, on the same matrix.
  bool are_of(const Scan& scan) const;

  std::int64_t readout_length;
  std::vector<double> radius;  ///< doctor::normalised_radius of each sample
  CentreAndEdge places;
  RadialBands bands;
  std::vector<std::int64_t> edge;   ///< edge_samples, of scans without noise readouts
  FieldFactors resolved;            ///< resolved_field
  std::vector<Message> findings{};  ///< on geometry, extent and density

 private:
  Geometry geometry_;
  std::array<int, 3> cropped_matrix_size_;
  Array<double> k_, of_calibration_;
};

/// Returns findings on one volume whose parts agree (Scan::validate). `readout_length` is 0 where unknown: then single
/// readouts are not checked. `looked_beyond_fov`: a reconstruction checks the object beyond the FOV itself.
std::vector<Message> diagnose(const Scan& scan, std::int64_t readout_length, bool looked_beyond_fov = false);
/// Returns the findings on all but the values, which volumes of a series share, and those on the values.
std::vector<Message> diagnose_sampling(const Scan& scan, const SampledPositions& positions);
std::vector<Message> diagnose_values(const Scan& scan, const SampledPositions& positions,
                                     bool looked_beyond_fov = false);

/// Leaves out warnings that a mistake among the findings of a volume brings about, by their codes, and puts that mistake first.
void leave_out_consequences(std::vector<Message>& findings);

/// Returns the finding on gradient delays. They are a property of the machine: one volume of a scan is enough.
/// Takes tenths of a second in 2D, seconds in 3D.
Message diagnose_delays(const Scan& scan, std::int64_t readout_length);

/// Measures off-resonance from the echoes of a scan, in the first repetition of its middle slice and at low resolution.
/// Returns a warning if it turns phases during a readout by so much that the image suffers; empty if it does not, if
/// there is a field map, or if echoes, their times or those of the samples are not known. Takes tenths of a second in 2D.
std::optional<Message> diagnose_echoes(io::ScanFile& file);

/// Returns findings on the file `path`, most severe last. Reads every value of every slice and repetition; a part that
/// cannot be read is a problem among the findings, not an exception. The same finding in several volumes comes once,
/// with their number.
std::vector<Message> diagnose(const std::string& path, const DiagnosisSettings& settings);

/// How densely k-space is sampled, on cells of 1 cycle/FOV.
struct SamplingDensity {
  /// Mean distance of sampled cells along x, y, z within the sampled extent: 1 where none is missing, 2 where
  /// every second line is.
  std::array<double, 3> spacing{1, 1, 1};
  /// Cells between sampled ones (along some axis) and themselves, over the sampled ones: the undersampling.
  double undersampling = 1;
};

/// Computes the density; empty when the cells would take more than 1 GiB.
std::optional<SamplingDensity> sampling_density(const Trajectory& trajectory, std::array<int, 3> matrix_size);

/// Returns the median shift of the readouts' energy along their direction, cycles/FOV, of readouts that pass the centre
/// of k-space from one side to the other; a delay of the gradients shows as a shift that does not depend on
/// the direction. Empty when fewer than 8 such readouts exist.
std::optional<double> readout_shift(const Scan& scan, std::int64_t readout_length);

}  // namespace fhd
