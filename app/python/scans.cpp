// Scans of files and of arrays, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/options/table.hpp"
#include "app/python/arrays.hpp"
#include "app/python/long_work.hpp"
#include "app/python/scan_handle.hpp"
#include "app/terminal/console.hpp"
#include "io/files/sha256.hpp"
#include "io/reader/limits.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/domain/option_words.hpp"

namespace fhd::python {
namespace {

/// Returns what the options say of a file. Sets the limits of reading it.
io::ReadOptions read_options_of(const std::map<std::string, std::string>& given) {
  app::RunOptions options;
  for (const auto& [flag, value] : given)
    app::set_option(options, *app::find_option(flag, app::in_info | app::in_process), value);
  return options.read_options;
}

/// Restores the limits of reading: those that arguments set hold for one file, which has copied them.
class LimitsOfOneFile {
 public:
  LimitsOfOneFile() : lock_(mutex()), kept_(io::reader::limits()) {}
  ~LimitsOfOneFile() { io::reader::limits() = kept_; }
  LimitsOfOneFile(const LimitsOfOneFile&) = delete;
  LimitsOfOneFile& operator=(const LimitsOfOneFile&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex of_all;
    return of_all;
  }
  const std::lock_guard<std::mutex> lock_;
  const io::reader::Limits kept_;
};

std::shared_ptr<ScanHandle> read(const std::string& path, const std::map<std::string, std::string>& given) {
  std::shared_ptr<ScanHandle> opened;
  run_interruptibly([&] {
    const LimitsOfOneFile limits;
    opened = std::make_shared<ScanHandle>(io::open_scan(path, read_options_of(given)), path);
  });
  return opened;
}

/// Copies complex values, in double, too, where they come so.
template <class Held>
Held values_of_array(const AnyArray& array, const Shape& shape, const char* name) {
  Held held;
  if (is_double(array, name)) {
    held.in_double = copy_of<Complex<double>, std::complex<double>>(array, shape, name, "complex128");
    held.values = converted<Complex<float>>(held.in_double);
  } else {
    held.values = copy_of<Complex<float>, std::complex<float>>(array, shape, name, "complex64");
  }
  return held;
}

/// Returns the part of an array [volume]... that belongs to one volume.
template <class T>
Array<T> part(const Array<T>& all, const Shape& shape, std::int64_t volume) {
  if (all.empty()) return {};
  return Array<T>::view(const_cast<T*>(all.data()) + volume * shape.size(), shape).to(Device::cpu());
}

/// Returns the factors that turn positions in `unit` into cycles/FOV, and a sentence on the unit. An empty `unit` is
/// cycles/FOV, "auto" is inferred as for files that state none; `largest_k`: of the positions, along x, y, z. Throws Error
/// where the unit is not credible, not known, or |k| reaches beyond the edge of k-space.
std::pair<std::array<double, 3>, std::string> scale_of_unit(const std::string& unit,
                                                            const std::array<double, 3>& largest_k,
                                                            const std::array<int, 3>& matrix_size,
                                                            const std::array<double, 3>& fov_mm) {
  begin_work();
  constexpr auto subject = "trajectory";
  const Geometry geometry{matrix_size, fov_mm};
  auto found = io::TrajectoryUnit::cycles_per_fov;
  std::string sentence;
  if (unit.empty()) {
    io::require_credible_unit(found, largest_k, geometry, subject);
  } else {
    found = io::parse_trajectory_unit(unit, option_words("trajectory-unit"));
    sentence = io::unit_of_options(found);
    if (found == io::TrajectoryUnit::automatic) {
      auto inferred = io::infer_trajectory_unit({largest_k, {}}, {geometry}, subject);
      found = inferred.unit;
      sentence = std::move(inferred.reason);
    }
  }
  const auto scale = io::scale_to_cycles_per_fov(found, {geometry}, subject);
  Trajectory largest{Array<double>({3, 1})};
  for (int axis = 0; axis < 3; ++axis) largest.k[axis] = largest_k[axis] * scale[axis];
  try {
    require_positions(largest, matrix_size, "");
  } catch (const Error& error) {
    auto parts = error.parts();
    parts.remedy = "give the true shape, or the unit as " + option_words("trajectory-unit", "radians/voxel") +
                   ", or as " + option_words("trajectory-unit", "1/m") + " with " +
                   option_words("fov-mm", "X,Y,Z");
    throw Error(std::move(parts));
  }
  return {scale, sentence};
}

/// Makes a scan of k-space [repetition][slice][coil][sample] and a trajectory [3][sample]; `unit`: a sentence on the unit
/// in which the trajectory was given, or empty.
std::shared_ptr<ScanHandle> scan_of_arrays(const AnyArray& kspace, const AnyArray& trajectory,
                                           const Geometry& geometry, std::int64_t readout_length,
                                           const std::optional<AnyArray>& maps,
                                           const std::optional<AnyArray>& noise,
                                           const std::optional<AnyArray>& field_map,
                                           const std::optional<AnyArray>& sample_time_s,
                                           const std::string& unit) {
  if (kspace.ndim() != 4) throw Error("kspace", "[repetition][slice][coil][sample]", text_of(kspace));
  const auto extent = [&](std::size_t axis) { return static_cast<std::int64_t>(kspace.shape(axis)); };
  const std::int64_t repetitions = extent(0), slices = extent(1), coils = extent(2), samples = extent(3);
  if (Shape{repetitions, slices, coils, samples}.size() < 1) throw Error("kspace", "values", text_of(kspace));
  const auto& n = geometry.matrix_size;
  const Shape image{n[2], n[1], n[0]};
  const auto values = values_of_array<KSpace>(kspace, {repetitions * slices, coils, samples}, "kspace");
  Scan scan;
  scan.geometry = geometry;
  scan.trajectory.k = copy_of<double, double>(trajectory, {3, samples}, "trajectory", "float64");
  if (maps)
    scan.sensitivity_maps = values_of_array<SensitivityMaps>(*maps, {coils, n[2], n[1], n[0]}, "maps");
  if (noise)
    scan.noise = copy_of<Complex<float>, std::complex<float>>(
        *noise, {coils, static_cast<std::int64_t>(noise->size()) / coils}, "noise", "complex64");
  if (field_map) scan.field_map = copy_of<float, float>(*field_map, image, "field_map", "float32");
  if (sample_time_s)
    scan.sample_time_s = copy_of<double, double>(*sample_time_s, {samples}, "sample_time_s", "float64");
  const nb::gil_scoped_release released;
  std::vector<Scan> volumes;
  for (std::int64_t i = 0; i < repetitions * slices; ++i) {
    volumes.push_back(scan);
    volumes.back().kspace = {part(values.values, {coils, samples}, i),
                             part(values.in_double, {coils, samples}, i)};
  }
  return std::make_shared<ScanHandle>(
      std::make_shared<MemoryScan>(std::move(volumes), repetitions, slices, readout_length, unit));
}

template <class Held>
nb::object complex_to_numpy(Held& held) {
  return held.in_double.empty() ? to_numpy(std::move(held.values)) : to_numpy(std::move(held.in_double));
}
/// Returns None where there is no array.
template <class Held>
nb::object optional_to_numpy(std::optional<Held>& held) {
  return held ? to_numpy(std::move(*held)) : nb::none();
}

/// Returns one volume as numpy arrays, for Python's `Volume`.
nb::dict volume_of(ScanHandle& handle, std::int64_t slice, std::int64_t repetition) {
  begin_work();
  const auto& summary = handle.file->summary();
  if (slice < 0 || slice >= summary.slice_count)
    throw Error("slice", "0 ... " + std::to_string(summary.slice_count - 1), std::to_string(slice));
  if (repetition < 0 || repetition >= summary.repetition_count)
    throw Error("repetition", "0 ... " + std::to_string(summary.repetition_count - 1),
                std::to_string(repetition));
  Scan scan;
  run_interruptibly([&] {
    const std::lock_guard lock(handle.mutex);
    scan = handle.file->read(slice, repetition);
  });
  const auto& n = scan.geometry.matrix_size;
  nb::dict volume;
  volume["kspace"] = complex_to_numpy(scan.kspace);
  volume["trajectory"] = to_numpy(std::move(scan.trajectory.k));
  volume["shape"] = nb::make_tuple(n[2], n[1], n[0]);
  volume["fov_mm"] = nb::cast(scan.geometry.fov_mm);
  volume["position_mm"] = nb::cast(scan.geometry.position_mm);
  volume["directions"] = nb::cast(
      std::array{scan.geometry.read_direction, scan.geometry.phase_direction, scan.geometry.slice_direction});
  volume["maps"] = scan.sensitivity_maps ? complex_to_numpy(*scan.sensitivity_maps) : nb::none();
  volume["noise"] = optional_to_numpy(scan.noise);
  volume["field_map"] = optional_to_numpy(scan.field_map);
  volume["sample_time_s"] = optional_to_numpy(scan.sample_time_s);
  std::vector<std::string> remarks;
  for (const auto& message : scan.messages) remarks.push_back(line_of(message));
  volume["remarks"] = nb::cast(remarks);
  return volume;
}

/// Returns the facts of a scan as JSON.
std::string summary_of(const ScanHandle& handle) {
  using Json = nlohmann::ordered_json;
  return app::facts_of(handle.file->summary()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

MemoryScan::MemoryScan(std::vector<Scan> volumes, std::int64_t repetition_count, std::int64_t slice_count,
                       std::int64_t readout_length, const std::string& unit)
    : volumes_(std::move(volumes)) {
  constexpr auto subject = "scan";
  for (const auto& volume : volumes_) volume.validate(subject);
  const Scan& first = volumes_.front();
  summary_.path = subject;
  summary_.format = "arrays";
  summary_.coil_count = first.kspace.coil_count();
  summary_.samples_per_scan = first.kspace.sample_count();
  summary_.readout_length = readout_length;
  summary_.slice_count = slice_count;
  summary_.repetition_count = repetition_count;
  if (!unit.empty()) summary_.inferred.push_back(unit);
  summary_.cartesian = std::all_of(first.trajectory.k.begin(), first.trajectory.k.end(),
                                   [](double k) { return k == std::round(k); });
  summary_.has_sensitivity_maps = first.sensitivity_maps.has_value();
  summary_.has_field_map = first.field_map.has_value();
  summary_.has_sample_time = first.sample_time_s.has_value();
  if (summary_.has_sample_time) summary_.time_origin = io::TimeOrigin::excitation;
  summary_.geometry = summary_.unit_geometry = first.geometry;
  for (std::int64_t slice = 0; slice < slice_count; ++slice)
    summary_.slice_geometries.push_back(volumes_[static_cast<std::size_t>(slice)].geometry);
}

Scan MemoryScan::read(std::int64_t slice, std::int64_t repetition) const {
  return volumes_.at(static_cast<std::size_t>(repetition * summary_.slice_count + slice));
}

std::string MemoryScan::checksum(const io::IsAbandoned& is_abandoned) const {
  io::Sha256 sum("scan");
  const auto add = [&](const auto& array) {
    constexpr std::int64_t piece = 1 << 20;
    for (std::int64_t first = 0; first < array.size() && !is_abandoned(); first += piece)
      sum.add(array.data() + first,
              static_cast<std::size_t>(std::min(piece, array.size() - first)) * sizeof *array.data());
  };
  add(volumes_.front().trajectory.k);  // all have one
  for (const auto& volume : volumes_)
    if (volume.kspace.in_double.empty())
      add(volume.kspace.values);
    else
      add(volume.kspace.in_double);
  return "sha256-arrays:" + sum.hex();
}

void bind_scans(nb::module_& module) {
  nb::class_<ScanHandle>(module, "ScanHandle")
      .def_prop_ro("summary", &summary_of)
      .def("volume", &volume_of, nb::arg("slice"), nb::arg("repetition"));
  module.def("read", &read, nb::arg("path"), nb::arg("given"));
  module.def("scale_of_unit", &scale_of_unit, nb::arg("unit"), nb::arg("largest_k"), nb::arg("matrix_size"),
             nb::arg("fov_mm"));
  module.def(
      "scan_of_arrays",
      [](const AnyArray& kspace, const AnyArray& trajectory, std::array<int, 3> matrix_size,
         std::array<double, 3> fov_mm, std::array<double, 3> position_mm,
         std::array<std::array<double, 3>, 3> directions, std::int64_t readout_length,
         const std::optional<AnyArray>& maps, const std::optional<AnyArray>& noise,
         const std::optional<AnyArray>& field_map, const std::optional<AnyArray>& sample_time_s,
         const std::string& unit) {
        const auto& [x, y, z] = directions;
        return scan_of_arrays(kspace, trajectory, {matrix_size, fov_mm, position_mm, x, y, z}, readout_length,
                              maps, noise, field_map, sample_time_s, unit);
      },
      nb::arg("kspace").noconvert(), nb::arg("trajectory").noconvert(), nb::arg("matrix_size"),
      nb::arg("fov_mm"), nb::arg("position_mm"), nb::arg("directions"), nb::arg("readout_length"),
      nb::arg("maps").noconvert().none(), nb::arg("noise").noconvert().none(),
      nb::arg("field_map").noconvert().none(), nb::arg("sample_time_s").noconvert().none(),
      nb::arg("unit") = "");
}

}  // namespace fhd::python
