// Echoes of opposite directions in the volumes of a measurement: how they are aligned (epi_ghost.hpp), and what is said.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numbers>

#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"

namespace fhd::io::mrd {

bool has_both_directions(const ReadoutList& readouts) {
  const auto reversed = std::ranges::count_if(
      readouts, &ReadoutHead::is_reversed, [](const auto& each) -> auto& { return *each.head; });
  return reversed > 0 && reversed < std::ssize(readouts);
}

/// Adds to the summary what is known of the delay between echoes of opposite directions.
void VolumeAssembler::tell_ghost() {
  if (image_is_regridded_)
    summary_.inferred.push_back(ramps_->sentence());
  else if (!has_trajectory() && header_.ramp.is_sampled())
    say(summary_.missing,
        "The header describes samples on the ramps of the readout gradient, but no trajectory: they are "
        "taken to be equally spaced; the image is distorted along x unless they were regridded.");
  // Echoes of one direction each, as of a bipolar gradient echo, have no ghost.
  if (std::ranges::none_of(volumes_,
                           [&](const auto& volume) { return has_both_directions(volume.second); })) {
    if (!has_trajectory() && (header_.trajectory == "epi" || !navigators_.empty()))
      say(summary_.missing,
          "No readout of the echo trains is flagged as read backwards: if the converter turned some around, "
          "their delays are not corrected, and the image may have a ghost at half the FOV.");
    return;
  }
  if (!has_both_directions(navigators_))
    say(summary_.missing,
        "No phase-correction readouts of both directions tell how echoes of opposite directions are delayed: "
        "the image may have a ghost at half the FOV.");
  else if (has_trajectory())
    say(summary_.missing,
        "Echoes of opposite directions are taken as the trajectory says: phase-correction readouts are not "
        "used.");
  else
    say(summary_.inferred, "Echoes of opposite directions are aligned by {} phase-correction readouts.",
        navigators_.size());
}

/// Adds a suspicion where echoes of a train that says nothing of directions mirror each other.
void VolumeAssembler::tell_mirrored(const ReadoutList& echoes, const Source& source,
                                    std::vector<Message>& messages) const {
  constexpr std::size_t most = 256;  // echoes that tell enough
  const std::int64_t coils = summary_.coil_count, length = echoes.front().head->sample_count();
  MirrorTest mirrored;
  for (const auto& [number, head] : echoes) {
    if (head->sample_count() != length || mirrored.count() == most) continue;
    Array<Complex<float>> line({coils, length});
    copy_values(source(number), *head, subjects_.readout(number), line, 0);
    Array<Complex<double>> echo({coils, length});
    for (std::int64_t i = 0; i < echo.size(); ++i) echo[i] = Complex<double>(line[i]);
    mirrored.add(echo);
  }
  if (mirrored.is_likely())
    messages.push_back(
        {"ghosts", Severity::suspicion,
         "consecutive echoes mirror each other, though no readout is flagged as read backwards: "
         "the image folds over its mirror image",
         "flag those that were read backwards as reversed (ACQ_IS_REVERSE, flag 22)"});
}

/// Returns the navigators of a volume, or of its references, whose trains differ from the image's: those flagged like these, of
/// the same volume, else of another repetition of the slice; where there are none of both directions, all of the volume.
ReadoutList VolumeAssembler::navigators_of(std::int64_t slice, std::int64_t repetition,
                                           bool of_references) const {
  const auto own = [&](const ReadoutList& all) {
    ReadoutList found;
    std::ranges::copy_if(all, std::back_inserter(found), [&](const ListedReadout& each) {
      return each.head->has_flag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION) == of_references;
    });
    return found;
  };
  const auto* here = of_volume(navigator_volumes_, slice, repetition);
  if (here == nullptr) return {};
  if (auto found = own(*here); has_both_directions(found)) return found;
  for (const auto& [key, all] : navigator_volumes_)
    if (auto found = own(all); key.second == slice && has_both_directions(found)) return found;
  return *here;
}

/// Returns the correction of `lines`, the image or the references of a volume, that their navigators tell, where there are lines
/// of both directions.
std::optional<GhostCorrection> VolumeAssembler::ghost_correction(const ReadoutList& lines,
                                                                 const ReadoutList& navigators,
                                                                 const Source& source,
                                                                 std::vector<Message>& messages) const {
  const auto coils = summary_.coil_count, length = lines.front().head->sample_count();
  if (has_trajectory()) return std::nullopt;
  if (std::ranges::none_of(lines, [](const auto& line) { return line.head->is_reversed(); })) {
    if (header_.trajectory == "epi" || !navigators.empty())
      tell_mirrored(navigators.size() > 1 ? navigators : lines, source, messages);
    return std::nullopt;
  }
  if (navigators.empty()) return std::nullopt;
  Array<Complex<double>> sums[2]{Array<Complex<double>>({coils, length}),
                                 Array<Complex<double>>({coils, length})};
  std::int64_t counts[2]{};
  for (const auto& [number, head] : navigators) {
    if (head->sample_count() != length) continue;
    Array<Complex<float>> line({coils, length});
    copy_values(source(number), *head, subjects_.readout(number), line, 0);
    const bool reversed = head->is_reversed();
    ++counts[reversed];
    for (std::int64_t coil = 0; coil < coils; ++coil)
      for (std::int64_t s = 0; s < length; ++s)
        sums[reversed][coil * length + s] +=
            Complex<double>(line[coil * length + (reversed ? length - 1 - s : s)]);
  }
  const auto phase = counts[0] > 0 && counts[1] > 0 ? ghost_phase(sums[0], sums[1]) : std::nullopt;
  const auto note = [&](std::string text) {
    messages.push_back({"ghosts", Severity::note, std::move(text)});
  };
  if (!phase) {
    note("the phase-correction readouts do not tell how echoes of opposite directions are delayed");
    return std::nullopt;
  }
  note(
      fmt::format("echoes of opposite directions differ by {:.3g} samples and {:.3g} rad, as {} "
                  "phase-correction readouts tell: they are aligned",
                  phase->slope_rad * static_cast<double>(length) / (2 * std::numbers::pi), phase->offset_rad,
                  counts[0] + counts[1]));
  return std::optional<GhostCorrection>(std::in_place, *phase, static_cast<int>(length),
                                        static_cast<int>(coils));
}

}  // namespace fhd::io::mrd
