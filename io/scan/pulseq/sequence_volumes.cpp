#include "io/scan/pulseq/sequence_volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::pulseq {

std::array<double, 3> scale_of(const Sequence& sequence, ScanSummary& scan) {
  auto& fov = scan.geometry.fov_mm;
  const auto& stated = sequence.fov_mm();
  std::array<double, 3> scale{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool counts = scan.geometry.matrix_size[axis] > 1;
    const char name = "xyz"[axis];
    if (fov[axis] == 0 && stated[axis] > 0) {
      fov[axis] = scan.unit_geometry.fov_mm[axis] = stated[axis];
      if (counts)
        scan.inferred.push_back(
            fmt::format("The FOV along {} is that of the sequence, {:g} mm.", name, stated[axis]));
    } else if (counts && stated[axis] > 0) {
      const double ratio = fov[axis] / stated[axis];
      if (std::abs(ratio - 1) > 0.01 && std::abs(ratio - 2) > 0.02)  // 2: an oversampled readout
        scan.inferred.push_back(fmt::format(
            "The FOV along {} of the sequence is {:g} mm and that of the scan {:g} mm: positions in 1/m are "
            "converted with that of the scan.",
            name, stated[axis], fov[axis]));
    }
    if (counts && !(fov[axis] > 0))
      throw Error(scan.path, "a known FOV to convert the positions of " + sequence.path() + " from 1/m",
                  std::string("none along ") + name, "give it with " + option_words("fov-mm", "X,Y,Z"));
    if (counts) scale[axis] = fov[axis] * 1e-3;
  }
  return scale;
}

SequenceVolumes::SequenceVolumes(Sequence sequence, ScanSummary& scan)
    : sequence_(std::move(sequence)), scale_(scale_of(sequence_, scan)), slice_count_(scan.slice_count) {
  for (const auto& remark : sequence_.remarks()) scan.inferred.push_back(remark);
  std::map<std::array<int, 5>, std::vector<std::int64_t>> volumes;
  std::set<int> slices;
  std::set<std::array<int, 4>> repetitions;
  std::vector<std::int64_t> all;
  for (std::int64_t adc = 0; adc < sequence_.adc_count(); ++adc) {
    const auto label = [&](LabelName name) { return sequence_.label(adc, name); };
    if (label(LabelName::NOISE) != 0 || label(LabelName::NAV) != 0 ||
        (label(LabelName::REF) != 0 && label(LabelName::IMA) == 0))
      continue;
    volumes[{label(LabelName::REP), label(LabelName::ECO), label(LabelName::PHS), label(LabelName::SET),
             label(LabelName::SLC)}]
        .push_back(adc);
    slices.insert(label(LabelName::SLC));
    repetitions.insert(
        {label(LabelName::REP), label(LabelName::ECO), label(LabelName::PHS), label(LabelName::SET)});
    all.push_back(adc);
    (label(LabelName::NOROT) != 0 ? is_along_magnet_ : is_along_image_) = true;
    has_times_ = has_times_ && sequence_.played().is_excited(adc);
  }
  if (all.empty()) throw Error(sequence_.path(), "ADC events of an image", "none");
  const bool agree = std::ssize(slices) == scan.slice_count &&
                     std::ssize(repetitions) == scan.repetition_count &&
                     std::ssize(volumes) == scan.slice_count * scan.repetition_count;
  if (agree)
    for (auto& [labels, adcs] : volumes) adcs_.push_back(std::move(adcs));
  else
    adcs_.push_back(std::move(all));
}

SequenceVolumes::Samples SequenceVolumes::read(std::int64_t slice, std::int64_t repetition) const {
  const auto& adcs =
      adcs_.size() == 1 ? adcs_[0] : adcs_[static_cast<std::size_t>(repetition * slice_count_ + slice)];
  const auto& played = sequence_.played();
  std::int64_t samples = 0;
  for (const auto adc : adcs) {
    samples += played.sample_count(adc);
    if (samples > most_samples) throw Error(sequence_.path(), "samples that can be counted", "more");
  }
  Samples found{Array<double>({3, samples}), Array<double>(Shape{samples})};
  std::int64_t m = 0;
  for (const auto adc : adcs) {
    const auto count = played.sample_count(adc);
    double* k = found.k.data() + m;
    played.sample(adc, 0, count, {k, k + samples, k + 2 * samples}, found.time_s.data() + m);
    m += count;
  }
  return found;
}

bool SequenceVolumes::is_along_magnet() const {
  if (is_along_magnet_ && is_along_image_)
    throw Error(sequence_.path(), "the label NOROT on all ADC events of the image, or on none", "on some",
                "choose with " + option_words("trajectory-axes", "image") +
                    " or magnet, or give the scan as ISMRMRD");
  return is_along_magnet_;
}

std::string SequenceVolumes::shape() const {
  return fmt::format(": {} ADC events of the image", adcs_[0].size());
}

}  // namespace fhd::io::pulseq
