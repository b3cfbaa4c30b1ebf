// References of a measurement: readouts flagged as calibration alone (see the top of volume_assembler.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

/// Identifies a line among those of all volumes.
using LineKey = std::array<int, 7>;
LineKey line_of(const ReadoutHead& head) {
  const auto& i = head.idx;
  return {i.kspace_encode_step_1, i.kspace_encode_step_2, i.slice, i.repetition, i.contrast, i.phase, i.set};
}

}  // namespace

/// Returns whether the references are samples of the image: see the top of the header.
bool VolumeAssembler::are_embedded(const Source& source) const {
  const auto& first = *image_readouts_.front().head;
  const bool alike = std::ranges::all_of(references_, [&](const ListedReadout& reference) {
    const auto& head = *reference.head;
    return head.encoding_space_ref == 0 && head.sample_count() == first.sample_count() &&
           head.center_sample == first.center_sample &&
           head.trajectory_dimensions == first.trajectory_dimensions;
  });
  const auto& mode = header_.calibration_mode;
  if (!alike || mode == "separate" || mode == "external") return false;
  if (mode == "embedded" || mode == "interleaved") return true;
  std::set<LineKey> lines;
  std::set<std::array<int, 2>> contrasts;
  for (const auto& [number, head] : image_readouts_) {
    lines.insert(line_of(source(number).head));
    contrasts.insert({head->idx.contrast, head->idx.set});
  }
  std::int64_t repeated = 0;
  for (const auto& [number, head] : references_) {
    const auto readout = source(number);
    repeated += lines.contains(line_of(readout.head));
    Trajectory trajectory{Array<double>({3, head->sample_count()})};
    copy_positions(number, readout, *head, placing_, trajectory.k, 0);
    if (!contrasts.contains({head->idx.contrast, head->idx.set}) || !lies_on_grid(trajectory)) return false;
  }
  // Readouts that repeat the lines of the image are a measurement of their own.
  return 8 * repeated < std::ssize(references_);
}

/// Makes references samples of the image, or a calibration of their own.
void VolumeAssembler::sort_references(const Source& source, const Source& with_values) {
  if (references_.empty()) return;
  // One encoding is enough: that of the image, if it has some.
  const auto space_of = [](const ListedReadout& each) { return each.head->encoding_space_ref; };
  const auto& chosen = *std::ranges::min_element(references_, {}, space_of)->head;
  reference_extent_.axis_count = chosen.trajectory_dimensions;
  if (const auto others = std::erase_if(references_, [&](const ListedReadout& each) {
        return space_of(each) != chosen.encoding_space_ref ||
               each.head->trajectory_dimensions != chosen.trajectory_dimensions;
      }))
    skipped_["calibration of a further encoding"] += static_cast<std::int64_t>(others);
  const auto count = std::ssize(references_);
  embedded_ = are_embedded(source);
  if (!embedded_) return place_references(source, with_values);
  const bool stated = header_.calibration_mode == "embedded" || header_.calibration_mode == "interleaved";
  say(summary_.inferred, "{} calibration readouts are samples of the image too, because {}.", count,
      stated ? "the header calls them " + header_.calibration_mode
             : "they lie between its lines, and are like them");
  summary_.facts.emplace_back("calibration",
                              fmt::format("{} embedded readouts, samples of the image", count));
  for (const auto& readout : image_readouts_)
    if (readout.head->has_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING))
      references_.push_back(readout);
  image_readouts_.insert(image_readouts_.end(), references_.begin(), references_.begin() + count);
  std::ranges::sort(image_readouts_, {}, &ListedReadout::number);
  std::ranges::sort(references_, {}, &ListedReadout::number);
  reference_placing_ = placing_;
}

/// Decides where the samples of a separate reference lie; leaves out references where that is unknown.
void VolumeAssembler::place_references(const Source& source, const Source& with_values) {
  const auto space = references_.front().head->encoding_space_ref;
  const EncodingHeader& encoding = space == 0 ? header_ : header_.others[space - 1U];
  const auto count = references_.size();
  reference_placing_ = placing_;
  try {
    std::vector<std::string> not_told;
    ReadOptions options;
    options.trajectory_unit = options_.trajectory_unit;
    options.trajectory_axes = placing_.positions.in_magnet ? TrajectoryAxes::magnet : TrajectoryAxes::image;
    const auto length = [&](int axes, bool in_magnet) {
      return object_length(references_, source, with_values, axes, in_magnet);
    };
    if (space != 0 || placing_.positions.outside || reference_extent_.axis_count != extent_.axis_count)
      reference_placing_.positions =
          choose_positions(encoding, header_.trajectory_unit, options,
                           encoded_space(encoding, options, subjects_.header, not_told), reference_extent_,
                           length, subjects_, not_told);
  } catch (const Error& error) {
    say(summary_.missing, "{} calibration readouts are left out, because their positions are unknown: {}.",
        count, error.what());
    skipped_["calibration"] += static_cast<std::int64_t>(count);
    return references_.clear();
  }
  for (int axis = 0; axis < 3; ++axis)
    if (const double own = encoding.encoded_fov_mm[axis], image = header_.encoded_fov_mm[axis];
        own > 0 && image > 0)
      reference_placing_.scale[axis] = image / own;
  const auto& n = encoding.encoded_matrix;
  const auto& fov = encoding.encoded_fov_mm;
  const auto what =
      fmt::format("{} separate readouts of {} samples, encoded with {} x {} x {} and {:g} x {:g} x {:g} mm",
                  count, references_.front().head->sample_count(), n[0], n[1], n[2], fov[0], fov[1], fov[2]);
  summary_.facts.emplace_back("calibration", what + ", for the maps alone");
  summary_.inferred.push_back("Calibration for the sensitivity maps alone: " + what + ".");
}

/// Leaves out references of another place in the patient, which say nothing about the maps of this one.
void VolumeAssembler::require_references_in_place() {
  if (embedded_) return;
  for (const auto& [key, readouts] : reference_volumes_) {
    const auto* images = of_volume(volumes_, key.second, key.first);
    if (images == nullptr) continue;
    const auto &reference = *readouts.front().head, &image = *images->front().head;
    double offset_mm = 0, turned = 0;
    for (int axis = 0; axis < 3; ++axis) {
      offset_mm = std::max(offset_mm, std::abs(double{reference.position[axis]} - image.position[axis]));
      turned = std::max({turned, std::abs(double{reference.read_dir[axis]} - image.read_dir[axis]),
                         std::abs(double{reference.phase_dir[axis]} - image.phase_dir[axis])});
    }
    if (offset_mm <= 1 && turned <= 0.01) continue;
    say(summary_.missing,
        "{} calibration readouts are left out, because they lie elsewhere than the image: {:.3g} mm off, "
        "directions that differ by {:.2g}.",
        references_.size(), offset_mm, turned);
    reference_volumes_.clear();
    return;
  }
}

/// Returns nothing without a reference, and where it is part of the volume's own samples.
std::optional<Calibration> VolumeAssembler::calibration(std::int64_t slice, std::int64_t repetition,
                                                        const Source& source) const {
  const auto* readouts = of_volume(reference_volumes_, slice, repetition);
  if (readouts == nullptr || reference_placing_.positions.outside ||
      (embedded_ && reference_volumes_.count({repetition, slice}) > 0))
    return std::nullopt;
  const auto space = readouts->front().head->encoding_space_ref;
  const EncodingHeader& encoding = space == 0 ? header_ : header_.others[space - 1U];
  Calibration calibration{{}, {}, encoding.encoded_matrix, encoding.encoded_fov_mm};
  std::vector<Message> said;  // of the image it is said already
  auto ghost = ghost_correction(*readouts, navigators_of(slice, repetition, true), source, said);
  collect(*readouts, reference_placing_, source, ghost ? &*ghost : nullptr, calibration.trajectory,
          calibration.kspace);
  return calibration;
}

}  // namespace fhd::io::mrd
