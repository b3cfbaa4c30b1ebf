#include "io/scan/mrd/noise_readouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/files/in_reader.hpp"
#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
double noise_scale(double noise_dwell_us, double image_dwell_us, double relative_bandwidth) {
  const bool known = noise_dwell_us > 0 && image_dwell_us > 0;
  return known ? std::sqrt(noise_dwell_us / (image_dwell_us * relative_bandwidth)) : 1;
}

void multiply(Array<Complex<float>>& noise, double scale) {
  if (scale == 1) return;
  for (auto& value : noise)
    value = {static_cast<float>(value.re * scale), static_cast<float>(value.im * scale)};
}

NoiseMeasurement read_noise_measurement(const std::string& path) {
  const auto file = hdf5::File::open(path);
  const auto groups = ismrmrd_groups(file);
  if (groups.size() != 1)
    throw Error(path, "noise: /noise, or one ISMRMRD measurement", fmt::format("{} of them", groups.size()),
                "give a file that holds the noise alone");
  const auto group = "/" + groups.front();
  const RecordDataset records(file, group);
  const auto subject = [&](std::int64_t number) {
    return fmt::format("{}[{}]", file.subject(records_name(group)), number);
  };
  NoiseMeasurement noise;
  std::vector<std::pair<std::int64_t, ReadoutHead>> flagged, others;
  RecordReader heads(records, false);
  for (std::int64_t number = 0; number < records.count(); ++number)
    if (const auto head = heads(number).head; head.sample_count() >= 1 && head.active_channels > 0)
      (role_of(head).role == Role::noise ? flagged : others).emplace_back(number, head);
  noise.flagged = !flagged.empty();
  const auto& readouts = noise.flagged ? flagged : others;
  if (readouts.empty()) throw Error(path, "readouts of noise", "none with samples");
  const auto& first = readouts.front().second;
  std::int64_t samples = 0;
  noise.dwell_us = first.sample_time_us;
  RecordReader reader(records, true);
  for (const auto& [number, head] : readouts) {
    samples += head.sample_count();
    if (head.sample_time_us != first.sample_time_us) noise.dwell_us = 0;
    if (head.active_channels != first.active_channels)
      throw Error(subject(number), fmt::format("{} channels as in the first", first.active_channels),
                  std::to_string(head.active_channels));
    // Before memory is taken for what heads claim.
    require_length(reader(number).values.size(),
                   std::size_t{2} * head.number_of_samples * head.active_channels, subject(number) + ".data");
  }
  noise.readouts = std::ssize(readouts);
  noise.samples = Array<Complex<float>>({first.active_channels, samples});
  std::int64_t m = 0;
  for (const auto& [number, head] : readouts) {
    copy_values(reader(number), head, subject(number), noise.samples, m);
    m += head.sample_count();
  }
  const auto header = header_name(group);
  noise.relative_bandwidth =
      parse_header(file.read_text(header), file.subject(header)).relative_noise_bandwidth;
  return noise;
}

std::optional<MeasurementKind> kind_of_measurement_here(const std::string& path) {
  constexpr std::int64_t looked_at = 256;  // noise is measured first
  try {
    const auto file = hdf5::File::open(path);
    const auto groups = ismrmrd_groups(file);
    if (groups.size() != 1) return std::nullopt;
    const auto group = "/" + groups.front(), header_at = header_name(group);
    const auto header = parse_header(file.read_text(header_at), file.subject(header_at));
    MeasurementKind kind{false, true, header.measurement_id, header.noise_measurements};
    const RecordDataset records(file, group);
    RecordReader heads(records, false);
    const auto count = records.count();
    for (std::int64_t number = 0; number < count; ++number) {
      if (number == looked_at) number = std::max(number, count - 1);
      const auto head = heads(number).head;
      const bool is_noise = role_of(head).role == Role::noise;
      kind.has_noise = kind.has_noise || is_noise;
      kind.is_noise_alone = kind.is_noise_alone && is_noise;
      if (number == 0) kind.coil_count = head.active_channels;
    }
    kind.is_noise_alone = kind.is_noise_alone && kind.has_noise;
    return kind;
  } catch (const Error&) {  // whoever reads the file as a scan says what is wrong
    return std::nullopt;
  }
}

std::optional<MeasurementKind> kind_of_measurement(const std::string& path) {
  try {
    return in_reader<&kind_of_measurement_here>(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace fhd::io::mrd
