#include "io/scan/mrd/ramp_readouts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace fhd::io::mrd {

RampReadouts::RampReadouts(const Header& header, const std::string& subject)
    : shape_(header.ramp),
      samples_(header.ramp_samples),
      fov_mm_(is_siemens(header.acquisition) ? header.encoded_fov_mm[0] : 0),
      regridding_(shape_, samples_, subject) {}

std::shared_ptr<const RampReadouts> RampReadouts::find(const Header& header, const std::string& subject) {
  if (!header.ramp.is_sampled() || !header.ramp.is_sane(header.ramp_samples)) return nullptr;
  return std::shared_ptr<const RampReadouts>(new RampReadouts(header, subject));
}

bool RampReadouts::put_head(ReadoutHead& head) const {
  if (head.number_of_samples != samples_ || head.trajectory_dimensions != 0 || head.encoding_space_ref != 0 ||
      head.discard_pre != 0 || head.discard_post != 0 ||
      head.has_flag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT))
    return false;
  const int after = regridding_.regridded_samples();
  head.center_sample = static_cast<std::uint16_t>(head.center_sample * after / samples_);
  head.number_of_samples = static_cast<std::uint16_t>(after);
  head.sample_time_us = static_cast<float>(shape_.adc_us / after);
  return true;
}

/// Returns the distance of the middle of the FOV from the isocentre along the readout, as a part of the encoded FOV.
double RampReadouts::offset(const ReadoutHead& head) const {
  double offset_mm = 0;
  for (int axis = 0; axis < 3; ++axis) offset_mm += double{head.position[axis]} * head.read_dir[axis];
  const double offset = fov_mm_ > 0 ? offset_mm / fov_mm_ : 0;
  return std::abs(offset) < 10 ? offset : 0;  // not for NaN
}

Source RampReadouts::regridded(std::shared_ptr<const RampReadouts> ramps, Source source) {
  if (!ramps) return source;
  return [ramps = std::move(ramps), source = std::move(source),
          values = std::vector<float>()](std::int64_t number) mutable {
    auto readout = source(number);
    const auto length = std::size_t{2} * readout.head.number_of_samples * readout.head.active_channels;
    if (!ramps->put_head(readout.head) || readout.values.size() != length) return readout;
    values = ramps->regridding_(readout.values, readout.head.active_channels, ramps->offset(readout.head),
                                readout.head.is_reversed());
    readout.values = values;
    return readout;
  };
}

std::string RampReadouts::sentence() const {
  return fmt::format(
      "Samples on the ramps of the readout gradient ({:g} + {:g} + {:g} us, {} samples from {:g} us on) are "
      "brought to equal distances in k-space, as the header's trajectoryDescription says.",
      shape_.ramp_up_us, shape_.flat_us, shape_.ramp_down_us, samples_, shape_.delay_us);
}

}  // namespace fhd::io::mrd
