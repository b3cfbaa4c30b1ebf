// Volumes -> readouts.
#include <ismrmrd/version.h>
#include <ismrmrd/xml.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/made_by.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t most = mrd::largest_count;  // of samples in a readout, and counters of readouts

ISMRMRD::EncodingSpace space_of(const std::array<int, 3>& matrix, const std::array<double, 3>& fov_mm) {
  const auto n = [&](int axis) { return static_cast<unsigned short>(matrix[axis]); };
  const auto mm = [&](int axis) { return static_cast<float>(fov_mm[axis]); };
  ISMRMRD::EncodingSpace space;
  space.matrixSize = ISMRMRD::MatrixSize(n(0), n(1), n(2));
  space.fieldOfView_mm = {mm(0), mm(1), mm(2)};
  return space;
}

std::string header_of(const ScanSeries& series) {
  const auto& scan = series.scans.front();
  const auto& n = scan.geometry.matrix_size;
  const auto& fov = scan.geometry.fov_mm;
  ISMRMRD::IsmrmrdHeader header;
  header.experimentalConditions.H1resonanceFrequency_Hz = 0;  // required by the schema, and unknown
  ISMRMRD::AcquisitionSystemInformation system;
  system.receiverChannels = static_cast<unsigned short>(scan.kspace.coil_count());
  header.acquisitionSystemInformation = system;
  ISMRMRD::Encoding encoding;
  encoding.encodedSpace = space_of(n, fov);
  auto recon_matrix = n;
  auto recon_fov = fov;
  for (int axis = 0; axis < 3; ++axis)
    if (const int cropped = scan.cropped_matrix_size[axis]; cropped > 0) {
      recon_matrix[axis] = cropped;
      recon_fov[axis] = fov[axis] * cropped / n[axis];
    }
  encoding.reconSpace = space_of(recon_matrix, recon_fov);
  encoding.encodingLimits.slice = ISMRMRD::Limit(0, static_cast<unsigned short>(series.slice_count - 1), 0);
  const ISMRMRD::Limit volumes(0, static_cast<unsigned short>(series.repetition_count - 1), 0);
  if (series.echo_times_s.empty()) {
    encoding.encodingLimits.repetition = volumes;
  } else {
    encoding.encodingLimits.contrast = volumes;
    std::vector<float> ms;
    for (const double time : series.echo_times_s) ms.push_back(static_cast<float>(time * 1e3));
    header.sequenceParameters = ISMRMRD::SequenceParameters{};
    header.sequenceParameters->TE = ms;
  }
  encoding.trajectory =
      lies_on_grid(scan.trajectory) ? ISMRMRD::TrajectoryType::CARTESIAN : ISMRMRD::TrajectoryType::OTHER;
  header.encoding.push_back(encoding);
  ISMRMRD::UserParameters parameters;
  parameters.userParameterString.push_back(
      {mrd::unit_parameter, std::string(name_of(TrajectoryUnit::cycles_per_fov))});
  header.userParameters = parameters;
  std::ostringstream xml;
  ISMRMRD::serialize(header, xml);
  return xml.str();
}

/// The dwell time where all samples of a readout are equally spaced, else 0.
float dwell_us(const Scan& scan, std::int64_t first, std::int64_t count) {
  if (!scan.sample_time_s || count < 2) return 0;
  const auto& t = *scan.sample_time_s;
  const double dwell_s = (t[first + count - 1] - t[first]) / static_cast<double>(count - 1);
  for (auto m = first + 1; m < first + count; ++m)
    if (!(std::abs(t[m] - t[m - 1] - dwell_s) <= 1e-3 * dwell_s)) return 0;
  return static_cast<float>(dwell_s * 1e6);
}

struct OwnedReadout {
  mrd::ReadoutHead head{};
  std::vector<float> k, values;
};

/// Samples [first, first + count) of a scan.
OwnedReadout readout_of(const Scan& scan, std::int64_t first, std::int64_t count) {
  const auto& geometry = scan.geometry;
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const int axes = geometry.matrix_size[2] > 1 ? 3 : 2;
  OwnedReadout readout;
  auto& [head, k, values] = readout;
  std::int64_t center = 0;
  double nearest = INFINITY;
  for (std::int64_t s = 0; s < count; ++s) {
    double distance = 0;
    for (int axis = 0; axis < axes; ++axis) {
      const double position = scan.trajectory.k[axis * samples + first + s];
      k.push_back(static_cast<float>(position));
      distance += position * position;
    }
    if (distance < nearest) nearest = distance, center = s;
  }
  for (std::int64_t coil = 0; coil < coils; ++coil)
    for (std::int64_t s = 0; s < count; ++s) {
      const auto value = scan.kspace.values[coil * samples + first + s];
      values.insert(values.end(), {value.re, value.im});
    }
  head.version = ISMRMRD_VERSION_MAJOR;
  head.number_of_samples = static_cast<std::uint16_t>(count);
  head.available_channels = head.active_channels = static_cast<std::uint16_t>(coils);
  for (std::int64_t coil = 0; coil < std::min<std::int64_t>(coils, 64 * ISMRMRD::ISMRMRD_CHANNEL_MASKS);
       ++coil)
    head.channel_mask[coil / 64] |= std::uint64_t{1} << (coil % 64);
  head.center_sample = static_cast<std::uint16_t>(center);
  head.trajectory_dimensions = static_cast<std::uint16_t>(axes);
  head.sample_time_us = dwell_us(scan, first, count);
  for (int axis = 0; axis < 3; ++axis) {
    head.position[axis] = static_cast<float>(geometry.position_mm[axis]);
    head.read_dir[axis] = static_cast<float>(geometry.read_direction[axis]);
    head.phase_dir[axis] = static_cast<float>(geometry.phase_direction[axis]);
    head.slice_dir[axis] = static_cast<float>(geometry.slice_direction[axis]);
  }
  return readout;
}

}  // namespace

Sentences write_ismrmrd(FileSet& files, const std::string& path, const ScanSeries& series) {
  files.add(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  const auto length_of = [&](const Scan& scan) {
    return piece_length(scan.kspace.sample_count(), series.readout_length, most);
  };
  std::int64_t readout_count = 0, written = 0;
  for (const auto& scan : series.scans)
    readout_count += (scan.kspace.sample_count() + length_of(scan) - 1) / length_of(scan);
  mrd::RecordWriter records(file, header_of(series), readout_count);
  for (std::size_t i = 0; i < series.scans.size(); ++i) {
    const auto& scan = series.scans[i];
    const auto index = static_cast<std::int64_t>(i), samples = scan.kspace.sample_count(),
               length = length_of(scan);
    for (std::int64_t first = 0; first < samples; first += length, ++written) {
      const auto count = std::min(length, samples - first);
      auto [head, k, values] = readout_of(scan, first, count);
      head.scan_counter = static_cast<std::uint32_t>(written);
      head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(std::min(first / length, most));
      head.idx.slice = static_cast<std::uint16_t>(index % series.slice_count);
      (series.echo_times_s.empty() ? head.idx.repetition : head.idx.contrast) =
          static_cast<std::uint16_t>(index / series.slice_count);
      if (static_cast<std::int64_t>(scan.physiology_stamps.size()) * length == samples)
        std::copy_n(scan.physiology_stamps[static_cast<std::size_t>(first / length)].begin(), 3,
                    head.physiology_time_stamp);
      if (first == 0) head.set_flag(ISMRMRD::ISMRMRD_ACQ_FIRST_IN_SLICE);
      if (first + count == samples) head.set_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_SLICE);
      if (written + 1 == readout_count) head.set_flag(ISMRMRD::ISMRMRD_ACQ_LAST_IN_MEASUREMENT);
      records.write({head, k, values});
    }
  }
  records.close();
  write_maps(file, series);
  if (!series.made_by.empty()) file.write_attribute("/", made_by_attribute, series.made_by);
  file.close();
  auto lost = lost_calibration(series);
  if (!series.scans.front().kspace.in_double.empty())
    lost.emplace_back("Samples are rounded to single precision.");
  return lost;
}

}  // namespace fhd::io
