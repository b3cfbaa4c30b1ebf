#include "app/python/memory_scan.hpp"

#include <cmath>
#include <utility>

#include "io/files/sha256.hpp"

namespace fhd::python {
namespace {

constexpr auto subject = "scan";

bool lies_on_grid(const Trajectory& trajectory) {
  for (const double k : trajectory.k)
    if (k != std::round(k)) return false;
  return true;
}

}  // namespace

MemoryScan::MemoryScan(std::vector<Scan> volumes, std::int64_t repetition_count, std::int64_t slice_count,
                       std::int64_t readout_length)
    : volumes_(std::move(volumes)) {
  for (const auto& volume : volumes_) volume.validate(subject);
  const Scan& first = volumes_.front();
  summary_.path = subject;
  summary_.format = "arrays";
  summary_.coil_count = first.kspace.coil_count();
  summary_.samples_per_scan = first.kspace.sample_count();
  summary_.readout_length = readout_length;
  summary_.slice_count = slice_count;
  summary_.repetition_count = repetition_count;
  summary_.cartesian = lies_on_grid(first.trajectory);
  summary_.has_sensitivity_maps = first.sensitivity_maps.has_value();
  summary_.has_field_map = first.field_map.has_value();
  summary_.has_sample_time = first.sample_time_s.has_value();
  if (summary_.has_sample_time) summary_.time_origin = io::TimeOrigin::excitation;
  summary_.geometry = summary_.unit_geometry = first.geometry;
}

Scan MemoryScan::read(std::int64_t slice, std::int64_t repetition) const {
  return volumes_.at(static_cast<std::size_t>(repetition * summary_.slice_count + slice));
}

std::string MemoryScan::checksum() const {
  io::Sha256 sum(subject);
  const auto add = [&](const auto& array) {
    sum.add(array.data(), static_cast<std::size_t>(array.size()) * sizeof *array.data());
  };
  add(volumes_.front().trajectory.k);  // all have one
  for (const auto& volume : volumes_)
    if (volume.kspace.in_double.empty())
      add(volume.kspace.values);
    else
      add(volume.kspace.in_double);
  return "sha256-arrays:" + sum.hex();
}

}  // namespace fhd::python
