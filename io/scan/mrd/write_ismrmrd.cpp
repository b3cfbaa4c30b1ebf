// ISMRMRD files: volumes -> readouts.
#include <fmt/format.h>
#include <ismrmrd/version.h>

#include <algorithm>
#include <cmath>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/header.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t most = mrd::largest_count;  // of samples in a readout, and counters of readouts

/// Returns the header: what the schema requires and what the scans tell. Numbers have single precision.
std::string header_of(const ScanSeries& series) {
  const auto& scan = series.scans.front();
  const auto three = [](const char* name, const auto& values) {
    std::string text = fmt::format("<{}>", name);
    for (std::size_t axis = 0; axis < 3; ++axis)
      text += fmt::format("<{0}>{1}</{0}>", "xyz"[axis], values[axis]);
    return text + fmt::format("</{}>", name);
  };
  const auto number = [](double value) { return fmt::format("{:.6f}", static_cast<float>(value)); };
  const auto space = [&](const char* name, const std::array<int, 3>& matrix,
                         const std::array<double, 3>& fov) {
    const std::array mm{number(fov[0]), number(fov[1]), number(fov[2])};
    return fmt::format("<{0}>{1}{2}</{0}>", name, three("matrixSize", matrix), three("fieldOfView_mm", mm));
  };
  const auto limit = [](const char* name, std::int64_t count) {
    return fmt::format("<{0}><minimum>0</minimum><maximum>{1}</maximum><center>0</center></{0}>", name,
                       count - 1);
  };
  const auto shown = shown_geometry(scan);
  std::string echo_times;
  for (const double time : series.echo_times_s) echo_times += "<TE>" + number(time * 1e3) + "</TE>";
  return fmt::format(
      R"(<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
<acquisitionSystemInformation>{}<receiverChannels>{}</receiverChannels></acquisitionSystemInformation>
<experimentalConditions><H1resonanceFrequency_Hz>0</H1resonanceFrequency_Hz></experimentalConditions>
<encoding>
{}
{}
<encodingLimits>{}{}</encodingLimits>
<trajectory>{}</trajectory>
</encoding>
{}<userParameters><userParameterString><name>{}</name><value>{}</value></userParameterString></userParameters>
</ismrmrdHeader>
)",
      series.field_strength_t > 0
          ? fmt::format("<systemFieldStrength_T>{:g}</systemFieldStrength_T>", series.field_strength_t)
          : "",
      scan.kspace.coil_count(), space("encodedSpace", scan.geometry.matrix_size, scan.geometry.fov_mm),
      space("reconSpace", shown.matrix_size, shown.fov_mm), limit("slice", series.slice_count),
      limit(series.echo_times_s.empty() ? "repetition" : "contrast", series.repetition_count),
      lies_on_grid(scan.trajectory) ? "cartesian" : "other",
      echo_times.empty() ? "" : "<sequenceParameters>" + echo_times + "</sequenceParameters>\n",
      mrd::unit_parameter, name_of(TrajectoryUnit::cycles_per_fov));
}

/// Returns the dwell time where all samples of a readout are equally spaced, else 0.
float dwell_us(const Scan& scan, std::int64_t first, std::int64_t count) {
  if (!scan.sample_time_s || count < 2) return 0;
  const auto& t = *scan.sample_time_s;
  const double dwell_s = (t[first + count - 1] - t[first]) / static_cast<double>(count - 1);
  for (auto m = first + 1; m < first + count; ++m)
    if (!(std::abs(t[m] - t[m - 1] - dwell_s) <= 1e-3 * dwell_s)) return 0;
  return static_cast<float>(dwell_s * 1e6);
}

/// Returns samples [first, first + count) of a scan.
mrd::OwnedReadout readout_of(const Scan& scan, std::int64_t first, std::int64_t count) {
  const auto& geometry = scan.geometry;
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  const int axes = geometry.matrix_size[2] > 1 ? 3 : 2;
  mrd::OwnedReadout readout;
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
  if (!series.scans.front().kspace.in_double.empty()) say(lost, "Samples are rounded to single precision.");
  return lost;
}

}  // namespace fhd::io
