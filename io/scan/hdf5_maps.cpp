#include "io/scan/hdf5_maps.hpp"

#include <algorithm>

#include "io/scan/fields_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using hdf5::Extents;

constexpr auto time_name = "/sample_time_s", calibration_name = "/calibration",
               calibration_trajectory_name = "/calibration_trajectory";

template <class Has>
bool all_or_none(const ScanSeries& series, const hdf5::File& file, const char* name, Has has) {
  const auto count = std::ranges::count_if(series.scans, has);
  if (count != 0 && count != std::ssize(series.scans))
    throw Error(file.subject(name), "data for every slice and repetition, or for none",
                std::to_string(count) + " of " + std::to_string(series.scans.size()));
  return count != 0;
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

MapReader::MapReader(const hdf5::File& file, ScanSummary& summary)
    : has_maps_(holds(file, maps_name)),
      has_noise_(holds(file, noise_name)),
      has_calibration_(holds(file, calibration_name)),
      has_field_(holds(file, field_name)),
      has_times_(holds(file, time_name)),
      has_decay_(holds(file, decay_name)),
      has_second_decay_(holds(file, second_decay_name) || holds(file, decay_fraction_name)),
      has_fields_(holds(file, fields_name)) {
  summary.has_sensitivity_maps = has_maps_;
  summary.has_field_map = has_field_;
  summary.has_decay = has_decay_;
  summary.has_fields = has_fields_;
  for (const auto& [is_there, name] :
       {std::pair(has_noise_, noise_name), std::pair(has_calibration_, calibration_name)})
    if (is_there) summary.facts.emplace_back(name + 1, "yes");
  if (!has_times_) return;
  summary.has_sample_time = true;
  const auto stated =
      file.has_attribute(time_name, "origin") ? file.text_attribute(time_name, "origin") : std::string();
  summary.time_origin = TimeOrigin::unknown;
  if (stated.empty()) summary.time_origin = TimeOrigin::excitation;
  for (const auto origin : {TimeOrigin::excitation, TimeOrigin::readout_start, TimeOrigin::train_start})
    if (stated == name_of(origin)) summary.time_origin = origin;
}

/// Reads the times of samples.
Array<double> MapReader::times(const hdf5::File& file, std::int64_t slice, std::int64_t repetition,
                               std::int64_t samples) {
  const std::lock_guard lock(mutex_);
  if (common_times_ && common_times_->size() == samples) return *common_times_;
  const auto times = file.dataset(time_name);
  if (times.extents().size() == 3) return times.read<double>({samples}, Extents{repetition, slice});
  return common_times_.emplace(times.read<double>({samples}, {}));
}

void MapReader::read(const hdf5::File& file, const std::array<int, 3>& n, std::int64_t slice,
                     std::int64_t repetition, Precision precision, Scan& scan) {
  if (has_times_) scan.sample_time_s = times(file, slice, repetition, scan.kspace.sample_count());
  const bool reads_noise = has_noise_ && !scan.noise;
  if (!has_maps_ && !reads_noise && !has_calibration_ && !has_field_ && !has_decay_ && !has_fields_) return;
  const hdf5::LibraryLock lock;
  if (has_maps_)
    scan.sensitivity_maps = read_sensitivity_maps(file, scan.kspace.coil_count(), n, slice, precision);
  if (reads_noise) scan.noise = read_noise(file, scan.kspace.coil_count());
  if (has_calibration_) read_calibration(file, slice, scan);
  if (has_field_) {
    const auto map = file.dataset(field_name);
    map.read({n[2], n[1], n[0]}, map.extents().size() == 4 ? Extents{slice} : Extents{}, precision,
             scan.field_map.emplace(), scan.field_map_in_double);
  }
  const auto read_map = [&](const char* name) {
    const auto map = file.dataset(name);
    return map.read<float>({n[2], n[1], n[0]}, map.extents().size() == 4 ? Extents{slice} : Extents{});
  };
  if (has_decay_) scan.decay_per_s = read_map(decay_name);
  if (has_second_decay_)
    scan.second_decay = SecondDecay{read_map(second_decay_name), read_map(decay_fraction_name)};
  if (has_fields_) put_fields(read_stored_fields(file, slice, repetition), file.subject(fields_name), scan);
}

std::vector<std::string> lost_calibration(const ScanSeries& series) {
  const auto count = std::count_if(series.scans.begin(), series.scans.end(),
                                   [](const Scan& scan) { return scan.calibration.has_value(); });
  if (count == 0 || count == static_cast<std::ptrdiff_t>(series.scans.size())) return {};
  return {"The calibration is not written, because only some slices and repetitions have one."};
}

void write_maps(hdf5::File& file, const ScanSeries& series) {
  const auto& first = series.scans.front();
  if (first.noise)
    write_volumes(
        file, noise_name, series, Shared::by_all, [](const Scan& scan) -> auto& { return *scan.noise; });
  const auto all_have = [&](const char* name, auto part) {
    return all_or_none(series, file, name, [&](const Scan& scan) { return (scan.*part).has_value(); });
  };
  if (all_have(maps_name, &Scan::sensitivity_maps))
    write_volumes(
        file, maps_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return scan.sensitivity_maps->values; },
        [](const Scan& scan) -> auto& { return scan.sensitivity_maps->in_double; });
  if (first.calibration && lost_calibration(series).empty()) {
    write_volumes(
        file, calibration_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return scan.calibration->kspace.values; });
    write_volumes(
        file, calibration_trajectory_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return scan.calibration->trajectory.k; });
  }
  if (all_have(field_name, &Scan::field_map))
    write_volumes(
        file, field_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return *scan.field_map; },
        [](const Scan& scan) -> auto& { return scan.field_map_in_double; });
  if (all_have(decay_name, &Scan::decay_per_s))
    write_volumes(
        file, decay_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return *scan.decay_per_s; });
  if (all_have(second_decay_name, &Scan::second_decay)) {
    write_volumes(
        file, second_decay_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return scan.second_decay->per_s; });
    write_volumes(
        file, decay_fraction_name, series, Shared::by_repetitions,
        [](const Scan& scan) -> auto& { return scan.second_decay->fraction; });
  }
  if (all_have(fields_name, &Scan::fields) && !first.fields->functions.empty()) write_fields(file, series);
  if (!all_have(time_name, &Scan::sample_time_s)) return;
  const bool same = std::ranges::all_of(series.scans, [&](const Scan& scan) {
    return std::ranges::equal(*first.sample_time_s, *scan.sample_time_s);
  });
  write_volumes(
      file, time_name, series, same ? Shared::by_all : Shared::by_none,
      [](const Scan& scan) -> auto& { return *scan.sample_time_s; });
  file.write_attribute(time_name, "origin", name_of(series.time_origin));
}

void copy_maps(const hdf5::File& from, hdf5::File& to) {
  for (const char* name : {noise_name, maps_name, field_name, time_name, calibration_name,
                           calibration_trajectory_name, decay_name, second_decay_name, decay_fraction_name,
                           fields_name, "/field_basis", "/field_axes", "/field_centre", "/field_sign"}) {
    if (!holds(from, name)) continue;
    const auto dataset = from.open_dataset(name);
    hdf5::check(H5Ocopy(dataset.get(), ".", to.id(), name, H5P_DEFAULT, H5P_DEFAULT), from.subject(name),
                "a dataset that can be copied");
  }
}

TrajectoryUnit unit_of_trajectory(const hdf5::File& file, TrajectoryUnit told,
                                  std::vector<std::string>& inferred) {
  if (told != TrajectoryUnit::automatic) {
    inferred.push_back(unit_of_options(told));
    return told;
  }
  constexpr auto expected =
      "cycles/FOV, cycles/voxel, radians/voxel, 1/m, 1/mm, radians/m, radians/mm or kmax";
  const auto subject = file.subject(trajectory_name) + " attribute 'unit'";
  if (!file.has_attribute(trajectory_name, "unit"))
    throw Error(subject, expected, "none", "give the unit with " + option_words("trajectory-unit"));
  const auto stated = parse_trajectory_unit(file.text_attribute(trajectory_name, "unit"), subject);
  if (stated == TrajectoryUnit::automatic) throw Error(subject, expected, "'auto'");
  return stated;
}

Array<double> read_stored_trajectory(const hdf5::File& file, std::int64_t slice, std::int64_t repetition) {
  const auto dataset = file.dataset(trajectory_name);
  const auto& extents = dataset.extents();
  const auto rank = extents.size();
  const auto axes = rank == 0 ? 0 : extents.back();
  if ((rank != 2 && rank != 4) || (axes != 2 && axes != 3) || extents[rank - 2] < 1)
    throw Error(dataset.subject(), "[sample][axis] or [repetition][slice][sample][axis] with 2 or 3 axes",
                hdf5::text_of(extents));
  const auto samples = extents[rank - 2];
  const auto stored =
      dataset.read<double>({samples, axes}, rank == 4 ? Extents{repetition, slice} : Extents{});
  Array<double> k({3, samples});
  for (std::int64_t axis = 0; axis < axes; ++axis)
    for (std::int64_t m = 0; m < samples; ++m) k[axis * samples + m] = stored[m * axes + axis];
  return k;
}

}  // namespace fhd::io
