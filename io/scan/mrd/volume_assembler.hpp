#pragma once
// Readouts -> volumes: what the flags, counters and encoding spaces of an ISMRMRD measurement mean, from a file or a
// connection.
//
//   - The role of a readout follows from its flags and encoding space: readout.cpp. Noise readouts become the noise of
//     every scan; readouts of other roles than image, reference and navigator are skipped.
//   - Samples on the ramps of a gradient that the header describes are brought to equal distances: ramp_readouts.hpp.
//   - References (flagged as calibration alone) are samples of the image where the header calls them embedded or
//     interleaved or, where it says nothing, where they are Cartesian readouts of the image's own encoding space,
//     length, centre and contrast between (not on) its other lines; else they are a reference for the sensitivity maps
//     alone (Scan::calibration), brought to the FOV of the image. A repetition without takes those of the first that
//     has some.
//   - Echo-planar readouts of opposite directions are aligned by navigators (flagged as phase correction): epi_ghost.hpp.
//   - discard_pre and discard_post samples are left out. Averages and segments are further samples of one image. Each
//     combination of repetition, contrast, phase and set is one repetition of the output, in that order.
//   - Slices are ordered by their stack of like directions and by their place in it (recon/domain/slice_stacks.hpp), not
//     by their counters. Each has the directions and the position of its own readouts.
//   - Volumes in which the measurement was stopped are left out; other volumes without a readout are zero:
//     missing_volumes.cpp.
//   - k-space positions: see sample_positions.hpp; times of samples: sample_times.hpp; both of a Pulseq sequence:
//     sequence_readouts.hpp.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/mrd/epi_ghost.hpp"
#include "io/scan/mrd/ramp_readouts.hpp"
#include "io/scan/mrd/sample_positions.hpp"
#include "io/scan/mrd/sample_times.hpp"
#include "io/scan/mrd/sequence_readouts.hpp"

namespace fhd::io::mrd {

/// Returns whether some, but not all, were read backwards.
bool has_both_directions(const ReadoutList& readouts);

/// Takes every readout once (`add`), then describes the measurement (`finish`, `summary`), then makes volumes, for which
/// it asks for their readouts again, by the number in which they were added.
class VolumeAssembler {
 public:
  /// `inferred`: what is known before the header.
  VolumeAssembler(Header header, const ReadOptions& options, Subjects subjects,
                  std::vector<std::string> inferred = {});
  VolumeAssembler(VolumeAssembler&&) = default;
  /// Takes positions, times and labels of the `count` readouts from the Pulseq sequence that ReadOptions::outside names, if
  /// it names one. Called ahead of `add`; `heads` need not deliver values. Throws Error where they do not agree.
  void follow_sequence(std::int64_t count, const Source& heads);
  /// Takes the next readout, whose values are not needed. Throws Error when it contradicts its head.
  void add(const Readout& readout);
  /// Ends the measurement, after the last readout. `source` need not deliver values; `with_values` does, and is asked for a few readouts
  /// where the unit of the trajectory is open. Throws Error when the readouts do not agree, or are of no image.
  void finish(const Source& source, const Source& with_values);

  /// Returns everything that the readouts and their header tell.
  const ScanSummary& summary() const { return summary_; }
  /// Returns the matrix of sensitivity and field maps that come with the readouts.
  const std::array<int, 3>& map_matrix_size() const { return space_.map_matrix_size; }
  /// Returns how trajectories become positions; `axis_count` is that of the readouts of the image.
  const SamplePositions& positions() const { return placing_.positions; }
  /// Returns geometry, trajectory, k-space, sample times and noise of one volume; not validated. Throws Error.
  Scan volume(std::int64_t slice, std::int64_t repetition, const Source& source) const;

 private:
  /// Readouts by repetition (-1: none of the image's) and slice.
  using Volumes = std::map<std::pair<std::int64_t, std::int64_t>, ReadoutList>;
  /// Decides where samples of readouts lie in k-space.
  struct Placing {
    SamplePositions positions;
    std::array<double, 3> scale{1, 1, 1};  ///< to the FOV of the image
  };
  const ReadoutList& readouts_of(std::int64_t slice, std::int64_t repetition) const;
  void choose_image_readouts();
  void require_agreement();
  bool is_one_slice() const;
  bool is_other_kind(const RepetitionCounters& own) const;
  void sort_references(const Source& source, const Source& with_values);
  bool are_embedded(const Source& source) const;
  void place_references(const Source& source, const Source& with_values);
  void group_by_volume();
  void leave_out_stopped(const Source& source);
  void tell_missing();
  void require_references_in_place();
  void tell_repetition_time(const Source& source);
  void tell_ghost();
  void tell_played_axes();
  void copy_played_positions(std::int64_t number, const ReadoutHead& head, Array<double>& k,
                             std::int64_t m) const;
  void order_slices(const std::function<int(const ReadoutHead&)>& slice_of);
  Geometry geometry_of(const ReadoutHead& head, const Geometry& slice) const;
  std::array<double, 3> object_length(const ReadoutList& readouts, const Source& source,
                                      const Source& with_values, int axes, bool in_magnet) const;
  void add_facts();
  double noise_scale() const;
  Array<Complex<float>> noise(const Source& source) const;
  bool are_trains(const std::vector<TimedReadout>& readouts) const;
  void tell_times(const std::vector<TimedReadout>& readouts, const Trajectory& trajectory);
  /// Returns readouts with the labels of the sequence, brought to equal distances.
  Source prepared(const Source& stored) const {
    return RampReadouts::regridded(ramps_, SequenceReadouts::labelled(sequence_, stored));
  }
  bool has_trajectory() const { return extent_.axis_count > 0 || sequence_ || placing_.positions.outside; }
  std::optional<Array<double>> played_times(const ReadoutList& readouts) const;
  static const ReadoutList* of_volume(const Volumes& volumes, std::int64_t slice, std::int64_t repetition);
  ReadoutList navigators_of(std::int64_t slice, std::int64_t repetition, bool of_references) const;
  std::optional<GhostCorrection> ghost_correction(const ReadoutList& lines, const ReadoutList& navigators,
                                                  const Source& source, std::vector<Message>& messages) const;
  void tell_mirrored(const ReadoutList& echoes, const Source& source, std::vector<Message>& messages) const;
  std::optional<Calibration> calibration(std::int64_t slice, std::int64_t repetition,
                                         const Source& source) const;
  void collect(const ReadoutList& readouts, const Placing& placing, const Source& source,
               GhostCorrection* ghost, Trajectory& trajectory, KSpace& kspace) const;
  void copy_positions(std::int64_t number, const Readout& readout, const ReadoutHead& head,
                      const Placing& placing, Array<double>& k, std::int64_t m) const;
  void require_trajectory(const Readout& readout, const ReadoutHead& head, std::int64_t number) const;

  Header header_;
  ReadOptions options_;
  Subjects subjects_;
  ScanSummary summary_;
  EncodedSpace space_;
  std::int64_t added_ = 0;
  std::map<std::string, std::int64_t> skipped_;  ///< readouts that are left out, by the name of their role
  ReadoutKinds kinds_;
  ReadoutList image_readouts_, surface_coil_readouts_, noise_readouts_, references_, navigators_;
  Volumes volumes_, reference_volumes_, navigator_volumes_;
  TrajectoryExtent extent_, surface_coil_extent_, reference_extent_;
  std::int64_t flagged_image_count_ = 0;  ///< readouts of the image that are surface_coil_readouts_, too
  Placing placing_{}, reference_placing_{};
  bool embedded_ = false;  ///< references are samples of the image too
  bool has_gaps_ = false;  ///< repetitions are missing in the middle of the series
  std::shared_ptr<const RampReadouts> ramps_;
  bool image_is_regridded_ = false;
  std::shared_ptr<const SequenceReadouts> sequence_;
  std::array<double, 3> sequence_scale_{};  ///< from 1/m to cycles/FOV; 0 along an axis of one voxel
};

/// Readouts of one measurement in memory, in the order in which they were acquired, as they come over a connection.
/// io::source_of makes a source of it, which may be read concurrently.
class ReadoutScan {
 public:
  /// `subjects`: what errors call the measurement and its parts. Throws Error as open_scan does of a file.
  ReadoutScan(Header header, const ReadOptions& options, Subjects subjects,
              std::vector<SharedReadout> readouts);
  const ScanSummary& summary() const { return volumes_.summary(); }
  Scan read(std::int64_t slice, std::int64_t repetition) const;
  /// Returns how trajectories became positions.
  const SamplePositions& positions() const { return volumes_.positions(); }

 private:
  Readout readout(std::int64_t number) const { return readouts_[static_cast<std::size_t>(number)]->view(); }
  std::vector<SharedReadout> readouts_;
  VolumeAssembler volumes_;
};

}  // namespace fhd::io::mrd
