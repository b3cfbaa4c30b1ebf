#include "io/scan/hdf5_maps.hpp"

#include <algorithm>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Extents;

constexpr auto time_name = "/sample_time_s", calibration_name = "/calibration",
               calibration_trajectory_name = "/calibration_trajectory";

template <class Has>
bool all_or_none(const ScanSeries& series, const hdf5::File& file, const char* name, Has has) {
  const auto count = std::count_if(series.scans.begin(), series.scans.end(), has);
  if (count != 0 && count != static_cast<std::ptrdiff_t>(series.scans.size()))
    throw Error(file.subject(name), "data for every slice and repetition, or for none",
                std::to_string(count) + " of " + std::to_string(series.scans.size()));
  return count != 0;
}

/// Whether all of a series are held in double.
template <class Is>
bool in_double(const ScanSeries& series, Is is) {
  return std::all_of(series.scans.begin(), series.scans.end(), is);
}

Extents with_leading(Extents leading, const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) leading.push_back(shape[axis]);
  return leading;
}

/// One dataset per file of one slice, else [slice] blocks of the first repetition.
template <class T, class Get>
void write_per_slice(hdf5::File& file, const char* name, const ScanSeries& series, const Get& get) {
  const Array<T>& first = get(series.scans.front());
  if (series.slice_count == 1) return file.write(name, first.data(), with_leading({}, first.shape()));
  file.create<T>(name, with_leading({series.slice_count}, first.shape()));
  for (std::int64_t slice = 0; slice < series.slice_count; ++slice) {
    require_shape(get(series.scans[slice]), first.shape(), file.subject(name));
    file.write_block<T>(name, get(series.scans[slice]), {slice});
  }
}

void read_calibration(const hdf5::File& file, std::int64_t slice, Scan& scan) {
  const auto values = file.dataset(calibration_name), positions = file.dataset(calibration_trajectory_name);
  auto extents = values.complex_extents();
  const auto leading = extents.size() == 3 ? Extents{slice} : Extents{};
  if (extents.size() < 2 || extents.size() > 3 || extents[extents.size() - 2] != scan.kspace.coil_count())
    throw Error(values.subject(), "[coil][sample] of " + std::to_string(scan.kspace.coil_count()) + " coils",
                hdf5::text_of(extents));
  scan.calibration =
      Calibration{{positions.read<double>({3, extents.back()}, leading)},
                  {values.read<Complex<float>>({scan.kspace.coil_count(), extents.back()}, leading)}};
}

}  // namespace

bool holds(const hdf5::File& file, const char* name) {
  const auto groups = file.groups();
  return file.has(name) && std::find(groups.begin(), groups.end(), name + 1) == groups.end();
}

SensitivityMaps read_sensitivity_maps(const hdf5::File& file, std::int64_t coils, const std::array<int, 3>& n,
                                      std::int64_t slice, Precision precision) {
  const auto stored = file.dataset(maps_name);
  SensitivityMaps maps;
  stored.read({coils, n[2], n[1], n[0]}, stored.complex_extents().size() == 5 ? Extents{slice} : Extents{},
              precision, maps.values, maps.in_double);
  return maps;
}

Array<Complex<float>> read_noise(const hdf5::File& file, std::int64_t coils) {
  const auto noise = file.dataset(noise_name);
  const auto extents = noise.complex_extents();
  if (extents.size() != 2 || extents[0] != coils || extents[1] == 0)
    throw Error(noise.subject(), "[coil][sample] of " + std::to_string(coils) + " coils",
                hdf5::text_of(extents));
  return noise.read<Complex<float>>({extents[0], extents[1]}, {});
}

void find_maps(const hdf5::File& file, ScanSummary& summary) {
  summary.has_sensitivity_maps = holds(file, maps_name);
  summary.has_field_map = holds(file, field_name);
  summary.has_sample_time = holds(file, time_name);
  for (const char* also : {noise_name, calibration_name})
    if (holds(file, also)) summary.facts.emplace_back(also + 1, "yes");
  if (!summary.has_sample_time) return;
  const auto stated =
      file.has_attribute(time_name, "origin") ? file.text_attribute(time_name, "origin") : std::string();
  summary.time_origin = TimeOrigin::unknown;
  if (stated.empty() || stated == name_of(TimeOrigin::excitation))
    summary.time_origin = TimeOrigin::excitation;
  if (stated == name_of(TimeOrigin::readout_start)) summary.time_origin = TimeOrigin::readout_start;
}

void read_maps(const hdf5::File& file, const std::array<int, 3>& n, std::int64_t slice,
               std::int64_t repetition, Precision precision, Scan& scan) {
  if (holds(file, maps_name))
    scan.sensitivity_maps = read_sensitivity_maps(file, scan.kspace.coil_count(), n, slice, precision);
  if (holds(file, noise_name)) scan.noise = read_noise(file, scan.kspace.coil_count());
  if (holds(file, calibration_name)) read_calibration(file, slice, scan);
  if (holds(file, field_name)) {
    const auto map = file.dataset(field_name);
    map.read({n[2], n[1], n[0]}, map.extents().size() == 4 ? Extents{slice} : Extents{}, precision,
             scan.field_map.emplace(), scan.field_map_in_double);
  }
  if (holds(file, time_name)) {
    const auto times = file.dataset(time_name);
    scan.sample_time_s = times.read<double>(
        {scan.kspace.sample_count()}, times.extents().size() == 3 ? Extents{repetition, slice} : Extents{});
  }
}

std::vector<std::string> lost_calibration(const ScanSeries& series) {
  const auto count = std::count_if(series.scans.begin(), series.scans.end(),
                                   [](const Scan& scan) { return scan.calibration.has_value(); });
  if (count == 0 || count == static_cast<std::ptrdiff_t>(series.scans.size())) return {};
  return {"The calibration is not written, because only some slices and repetitions have one."};
}

void write_maps(hdf5::File& file, const ScanSeries& series) {
  if (const auto& noise = series.scans.front().noise)
    file.write(noise_name, noise->data(), with_leading({}, noise->shape()));
  if (all_or_none(series, file, maps_name,
                  [](const Scan& scan) { return scan.sensitivity_maps.has_value(); })) {
    if (in_double(series, [](const Scan& scan) { return !scan.sensitivity_maps->in_double.empty(); }))
      write_per_slice<Complex<double>>(
          file, maps_name, series,
          [](const Scan& scan) -> const Array<Complex<double>>& { return scan.sensitivity_maps->in_double; });
    else
      write_per_slice<Complex<float>>(
          file, maps_name, series,
          [](const Scan& scan) -> const Array<Complex<float>>& { return scan.sensitivity_maps->values; });
  }
  if (series.scans.front().calibration && lost_calibration(series).empty()) {
    write_per_slice<Complex<float>>(
        file, calibration_name, series,
        [](const Scan& scan) -> const Array<Complex<float>>& { return scan.calibration->kspace.values; });
    write_per_slice<double>(
        file, calibration_trajectory_name, series,
        [](const Scan& scan) -> const Array<double>& { return scan.calibration->trajectory.k; });
  }
  if (all_or_none(series, file, field_name, [](const Scan& scan) { return scan.field_map.has_value(); })) {
    if (in_double(series, [](const Scan& scan) { return !scan.field_map_in_double.empty(); }))
      write_per_slice<double>(file, field_name, series, [](const Scan& scan) -> const Array<double>& {
        return scan.field_map_in_double;
      });
    else
      write_per_slice<float>(file, field_name, series,
                             [](const Scan& scan) -> const Array<float>& { return *scan.field_map; });
  }
  if (all_or_none(series, file, time_name, [](const Scan& scan) { return scan.sample_time_s.has_value(); })) {
    const auto& first = *series.scans.front().sample_time_s;
    const bool shared = std::all_of(series.scans.begin(), series.scans.end(), [&](const Scan& scan) {
      return std::equal(first.begin(), first.end(), scan.sample_time_s->begin(), scan.sample_time_s->end());
    });
    if (shared)
      file.write(time_name, first.data(), {first.size()});
    else
      file.create<double>(time_name, {series.repetition_count, series.slice_count, first.size()});
    file.write_attribute(time_name, "origin", name_of(series.time_origin));
    for (std::size_t i = 0; !shared && i < series.scans.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      require_shape(*series.scans[i].sample_time_s, first.shape(), file.subject(time_name));
      file.write_block(time_name, *series.scans[i].sample_time_s,
                       {index / series.slice_count, index % series.slice_count});
    }
  }
}

void copy_maps(const hdf5::File& from, hdf5::File& to) {
  for (const char* name :
       {noise_name, maps_name, field_name, time_name, calibration_name, calibration_trajectory_name}) {
    if (!holds(from, name)) continue;
    const auto dataset = from.open_dataset(name);
    hdf5::check(H5Ocopy(dataset.get(), ".", to.id(), name, H5P_DEFAULT, H5P_DEFAULT), from.subject(name),
                "a dataset that can be copied");
  }
}

}  // namespace fhd::io
