// Volumes whose readouts a Pulseq sequence has played: sequence_readouts.hpp. Positions along the axes of the magnet
// (--trajectory-axes magnet, or the label NOROT) are turned into those of the image by the directions of each readout.
#include <algorithm>

#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/pulseq/sequence_volumes.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// Returns the signs of L, P, S along x, y, z of the magnet: Siemens counts these from the table, others as the patient lies.
/// Source: twixtools, geometry.py (pcs_transformations).
std::array<double, 3> signs_of_magnet(const AcquisitionInfo& scanner) {
  const auto& position = scanner.patient_position;
  if (!is_siemens(scanner)) return {1, 1, 1};
  if (position == "HFS") return {1, -1, -1};
  if (position == "HFP") return {-1, 1, -1};
  if (position == "FFS") return {-1, -1, 1};
  return {1, 1, 1};  // FFP
}

}  // namespace

void VolumeAssembler::follow_sequence(std::int64_t count, const Source& heads) {
  sequence_ = SequenceReadouts::find(options_, count, heads, subjects_.measurement);
  summary_.follows_sequence = sequence_ != nullptr;
  if (!sequence_) return;
  for (const auto& sentence : sequence_->sentences()) summary_.inferred.push_back(sentence);
  if (!sequence_->missing().empty()) summary_.missing.push_back(sequence_->missing());
  sequence_scale_ = pulseq::scale_of(sequence_->sequence(), summary_);
}

/// Puts the positions (1/m, along the axes of the image) of a readout at sample m of k [axis][sample]. Throws Error where they
/// are along those of the magnet and the readout states no directions.
void VolumeAssembler::copy_played_positions(std::int64_t number, const ReadoutHead& head, Array<double>& k,
                                            std::int64_t m) const {
  sequence_->place(number, head, k, m);
  const bool in_magnet =
      options_.trajectory_axes == TrajectoryAxes::magnet ||
      (options_.trajectory_axes == TrajectoryAxes::automatic && sequence_->is_along_magnet(number));
  if (!in_magnet) return;
  const auto directions = directions_of(head);
  if (!directions)
    throw Error(subjects_.readout(number),
                "directions at right angles, for positions along the axes of the magnet", "none",
                "take them along the axes of the image with " + option_words("trajectory-axes", "image"));
  const auto samples = k.extent(1);
  const auto [x, y, z] = signs_of_magnet(header_.acquisition);
  for (std::int64_t s = m; s < m + head.sample_count(); ++s) {
    const auto along = turned(*directions, {x * k[s], y * k[samples + s], z * k[2 * samples + s]});
    for (std::int64_t axis = 0; axis < 3; ++axis)
      k[axis * samples + s] = along[static_cast<std::size_t>(axis)];
  }
}

/// Says so where the sequence moves along an axis of one voxel, z.
void VolumeAssembler::tell_played_axes() {
  constexpr double negligible = 0.01;  // cycles/FOV
  if (!sequence_ || summary_.geometry.matrix_size[2] > 1) return;
  double largest = 0;
  for (const auto& [number, head] : readouts_of(0, 0)) {
    Array<double> k({3, head->sample_count()});
    copy_played_positions(number, *head, k, 0);
    largest = std::max(largest, largest_magnitude(k)[2] * summary_.geometry.fov_mm[2] * 1e-3);
  }
  if (largest > negligible) note_ignored_third_axis({0, 0, largest}, summary_.geometry, summary_.inferred);
}

/// Returns the times of the samples since the excitation, s; none where an ADC event comes ahead of all excitations.
std::optional<Array<double>> VolumeAssembler::played_times(const ReadoutList& readouts) const {
  if (!sequence_->has_times()) return std::nullopt;
  Array<double> times_s(Shape{sample_count(readouts)});
  std::int64_t m = 0;
  for (const auto& [number, head] : readouts) {
    sequence_->times(number, *head, times_s.data() + m);
    m += head->sample_count();
  }
  return times_s;
}

}  // namespace fhd::io::mrd
