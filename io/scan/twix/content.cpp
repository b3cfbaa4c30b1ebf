#include "io/scan/twix/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/scan/scan_parts.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::twix {
namespace {

mrd::Role role_of(const MeasurementHead& head) { return mrd::role_of(readout_head(head)).role; }

}  // namespace

Content::Content(const std::string& path, const ReadOptions& options) : file_(path) {
  choose_measurement(options.group);
  protocol_ = read_protocol(ProtocolTexts(file_.texts(file_.measurements()[chosen_])));
  facts_.reads_positions = !options.outside.trajectory.empty();
  require_supported(options);
  if (!has_own_noise_) find_noise();
  make_regridding();
}

std::string Content::name_of(std::size_t measurement) const {
  const auto& name = file_.measurements()[measurement].protocol;
  return name.empty() ? fmt::format("{}", measurement + 1) : fmt::format("{} '{}'", measurement + 1, name);
}

std::string Content::measurement() const {
  const auto count = file_.measurements().size();
  return count == 1 ? "" : fmt::format("{} of {}", name_of(chosen_), count);
}

/// Lists the readouts of a measurement, and what their heads tell.
void Content::list_readouts(std::size_t measurement) {
  chosen_ = measurement, facts_ = {}, has_own_noise_ = false;
  begins_.clear(), missing_.clear();
  const bool is_whole = file_.for_each_readout(file_.measurements()[measurement], [&](const Block& block) {
    const auto role = role_of(block.head);
    if (role == mrd::Role::image) facts_.image.add(block.head);
    if (role == mrd::Role::reference) facts_.reference.add(block.head);
    has_own_noise_ = has_own_noise_ || role == mrd::Role::noise;
    begins_.push_back(block.begin);
  });
  if (!is_whole)
    say(missing_,
        "The measurement was stopped: it has no end mark after its {} readouts. What is there is used.",
        begins_.size());
}

void Content::choose_measurement(const std::string& group) {
  const auto& all = file_.measurements();
  if (!group.empty()) {
    for (std::size_t i = all.size(); i-- > 0;)
      if (group == std::to_string(i + 1) || group == all[i].protocol) return list_readouts(i);
    std::string names;
    for (std::size_t i = 0; i < all.size(); ++i) names += (i > 0 ? ", " : "") + name_of(i);
    throw Error(
        file_.path(),
        "a measurement '" + group + "', by its number or its name, as " + option_words("group") + " says",
        names);
  }
  for (std::size_t i = all.size(); i-- > 0 && facts_.image.readouts == 0;) list_readouts(i);
  if (facts_.image.readouts == 0) list_readouts(all.size() - 1);
  if (all.size() > 1)
    say(inferred_, "The image is measurement {}, the last one with an image; {} chooses another.",
        measurement(), option_words("group"));
}

/// Takes the noise of the nearest measurement before the image's that has some, of the same channels.
void Content::find_noise() {
  if (begins_.empty() || facts_.image.channels == 0) return;
  const auto& image = file_.measurements()[chosen_];
  const Block first{begins_.front(), file_.head(begins_.front(), image.is_vb)};
  if (first.head.channels == 0) return;
  const auto channels = file_.channels(first, image.is_vb);
  for (std::size_t i = chosen_; i-- > 0;) {
    const auto& measurement = file_.measurements()[i];
    std::vector<Block> noise;
    file_.for_each_readout(measurement, [&](const Block& block) {
      if (role_of(block.head) == mrd::Role::noise && block.head.channels == channels.size())
        noise.push_back(block);
    });
    if (noise.empty()) continue;
    const auto own = file_.channels(noise.front(), measurement.is_vb);
    if (!std::ranges::is_permutation(own, channels)) continue;
    if (own != channels)
      for (const int channel : channels)
        noise_channels_.push_back(static_cast<int>(std::ranges::find(own, channel) - own.begin()));
    std::vector<std::uint64_t> begins;
    for (const auto& block : noise) begins.push_back(block.begin);
    begins_.insert(begins_.begin(), begins.begin(), begins.end());
    noise_count_ = std::ssize(noise);
    noise_protocol_ = read_protocol(ProtocolTexts(file_.texts(measurement)));
    say(inferred_, "The {} noise readouts of measurement {} are the noise of the image.", noise_count_,
        name_of(i));
    return;
  }
}

void Content::require_supported(const ReadOptions& options) const {
  const auto refuse = [&](const char* expected, const std::string& found, const std::string& remedy) {
    throw Error(file_.path(), expected, found, remedy);
  };
  const auto& image = facts_.image;
  if (protocol_.multiband > 1)
    refuse("one slice in each readout", fmt::format("{} slices excited together", protocol_.multiband),
           "separate them with the tools of the sequence, and convert to ISMRMRD");
  if (image.is_swapped)
    refuse("readouts along one direction", "readouts with read and phase direction swapped",
           "convert to ISMRMRD with a trajectory for each readout");
  if (!options.outside.trajectory.empty() || image.readouts == 0) return;
  const auto remedy = "give the k-space positions with " + option_words("trajectory", "FILE");
  if (protocol_.trajectory != 1)
    refuse("Cartesian readouts, or their trajectory beside the file",
           protocol_.trajectory == 2   ? "radial readouts"
           : protocol_.trajectory == 4 ? "spiral readouts"
                                       : fmt::format("readouts of trajectory {}", protocol_.trajectory),
           remedy);
  if (image.readouts > 1 && protocol_.lines > 1 && image.last_line == 0 && image.last_partition == 0)
    refuse("readouts that count their lines",
           fmt::format("{} readouts, all of line 0, as sequences of one's own write them", image.readouts),
           remedy);
}

void Content::make_regridding() {
  if (!protocol_.ramp.is_sampled() || protocol_.trajectory != 1 || facts_.reads_positions ||
      facts_.image.readouts == 0)
    return;
  regridding_ = std::make_unique<mrd::RampRegridding>(protocol_.ramp, facts_.image.samples, file_.path());
  facts_.is_regridded = true;
  say(inferred_,
      "Samples on the ramps of the readout gradient ({:g} + {:g} + {:g} us, {} samples from {:g} us on) are "
      "brought to equal distances in k-space.",
      protocol_.ramp.ramp_up_us, protocol_.ramp.flat_us, protocol_.ramp.ramp_down_us, regridding_->samples(),
      protocol_.ramp.delay_us);
}

bool Content::is_regridded(const MeasurementHead& head) const {
  if (!regridding_ || head.samples != regridding_->samples() || head.has(skip_regridding) ||
      head.has(noise_adjust))
    return false;
  const bool is_reference = head.has(pat_reference) && !head.has(pat_reference_and_image);
  return !is_reference || facts_.reference.has_reversed;
}

/// Returns the time from one sample to the next, 0 where it is unknown. That of noise is siemens_to_ismrmrd's, as heads do not
/// tell it.
double Content::dwell_us(const MeasurementHead& head, bool of_noise_measurement) const {
  const auto& protocol = of_noise_measurement ? noise_protocol_ : protocol_;
  if (head.has(noise_adjust)) {
    if (protocol.is_nx || protocol.name == "AdjCoilSens") return 5;
    if (protocol.name == "AdjQuietCoilSens") return 4;
    const double samples = std::max<int>(head.samples, 1);
    return file_.measurements()[chosen_].is_vb ? 1e6 / samples / 130 : std::floor(76800 / samples) / 10;
  }
  const auto& dwell_ns = protocol.dwell_ns;
  if (dwell_ns.empty()) return 0;
  return dwell_ns[std::min<std::size_t>(head.counters[4], dwell_ns.size() - 1)] * 1e-3;
}

double Content::read_offset(const MeasurementHead& head) const {
  const double fov_mm = encoded_read_fov_mm(protocol_, facts_), offset = head.read_offset_mm / fov_mm;
  return fov_mm > 0 && std::abs(offset) < 10 ? offset : 0;  // not for NaN
}

mrd::ReadoutHead Content::head_of(const MeasurementHead& head, bool of_noise_measurement) const {
  auto own = readout_head(head);
  own.sample_time_us = static_cast<float>(dwell_us(head, of_noise_measurement));
  if (!of_noise_measurement && mrd::role_of(own).role == mrd::Role::reference && has_reference_space(facts_))
    own.encoding_space_ref = 1;
  if (!of_noise_measurement && is_regridded(head)) {
    const int samples = regridding_->regridded_samples();
    own.center_sample = static_cast<std::uint16_t>(head.center_column * samples / head.samples);
    own.sample_time_us = static_cast<float>(protocol_.ramp.adc_us / samples);
    own.number_of_samples = static_cast<std::uint16_t>(samples);
    own.discard_pre = own.discard_post = 0;
  }
  return own;
}

mrd::Readout ReadoutReader::operator()(std::int64_t number) {
  const bool of_noise = content_.is_of_noise_measurement(number),
             is_vb = content_.file_.measurements()[content_.chosen_].is_vb;
  const auto begin = content_.begins_[static_cast<std::size_t>(number)];
  const Block block{begin, content_.file_.head(begin, is_vb)};
  mrd::Readout readout{content_.head_of(block.head, of_noise), {}, {}};
  if (!with_values_) return readout;
  content_.file_.read_values(block, is_vb, values_);
  const std::size_t length = 2 * std::size_t{block.head.samples};
  readout.values = {values_.data(), length * block.head.channels};
  if (!of_noise && content_.is_regridded(block.head)) {
    changed_ = (*content_.regridding_)(values_, block.head.channels, content_.read_offset(block.head),
                                       block.head.has(reflect));
    readout.values = changed_;
  } else if (of_noise && content_.noise_channels_.size() == block.head.channels) {
    changed_.resize(readout.values.size());
    for (std::size_t channel = 0; channel < content_.noise_channels_.size(); ++channel)
      std::copy_n(values_.data() + static_cast<std::size_t>(content_.noise_channels_[channel]) * length,
                  length, changed_.data() + channel * length);
    readout.values = changed_;
  }
  return readout;
}

}  // namespace fhd::io::twix
