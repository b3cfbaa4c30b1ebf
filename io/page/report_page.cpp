#include "io/page/report_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "io/files/atomic_file.hpp"
#include "io/files/in_reader.hpp"
#include "io/files/input_memory.hpp"
#include "io/files/json_text.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/page/page_parts.hpp"
#include "io/page/selection.hpp"
#include "io/result/report_json.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::uint8_t>;

/// 0 ... 255 for a share 0 ... 1 of white.
std::uint8_t shade(double share) {
  return std::isfinite(share) ? static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))) : 0;
}

/// 0 ... 255 once around the circle.
std::uint8_t phase_of(Complex<double> v) {
  const double turns = std::atan2(v.im, v.re) / (2 * std::numbers::pi);
  return static_cast<std::uint8_t>(std::lround(256 * (turns - std::floor(turns)))) & 255;
}

/// Calls work(mean of the magnitudes, sum) for every block of `stride` x `stride` pixels of one plane
/// of values [plane][y][x].
template <class Work>
void for_each_block(const Array<Complex<float>>& values, std::int64_t plane, std::int64_t stride,
                    const Work& work) {
  const std::int64_t ny = values.extent(1), nx = values.extent(2);
  for (std::int64_t y = 0; y < ny; y += stride)
    for (std::int64_t x = 0; x < nx; x += stride) {
      double magnitude = 0;
      Complex<double> sum;
      int count = 0;
      for (std::int64_t j = y; j < std::min(ny, y + stride); ++j)
        for (std::int64_t i = x; i < std::min(nx, x + stride); ++i, ++count) {
          const Complex<double> v(values[(plane * ny + j) * nx + i]);
          sum += v;
          magnitude += abs(v);
        }
      work(magnitude / count, sum);
    }
}

/// Arrays of values, and which plane of each.
using Planes = std::vector<std::pair<const Array<Complex<float>>*, std::int64_t>>;

/// Returns the mean of the magnitudes and the phase of the sum of each block of pixels: single pixels would alias.
Json planes_json(const Planes& planes, std::int64_t stride) {
  double largest = 0;
  std::int64_t not_finite = 0;  ///< pixels of the page
  const auto for_each = [&](auto work) {
    for (const auto& [values, z] : planes) for_each_block(*values, z, stride, work);
  };
  for_each([&](double magnitude, Complex<double>) {
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    if (!std::isfinite(magnitude)) ++not_finite;
  });
  Bytes magnitudes, phase;
  for_each([&](double magnitude, Complex<double> sum) {
    const double share = largest > 0 ? magnitude / largest : 0;
    const auto level = static_cast<std::uint16_t>(std::isfinite(share) ? std::lround(65535 * share) : 0);
    magnitudes.push_back(level & 255);  // little-endian, as browsers are
    magnitudes.push_back(level >> 8);
    phase.push_back(std::isfinite(share) ? phase_of(sum) : 0);
  });
  Json json{{"largest", largest}, {"magnitude", base64(magnitudes)}, {"phase", base64(phase)}};
  if (not_finite > 0) json["not_finite"] = not_finite;
  return json;
}

Json volume_json(const ImageSeries& series, const Selection& selection) {
  Planes planes;
  for (const auto& [image, z] : selection.planes) planes.emplace_back(&series.images[image].values, z);
  return planes_json(planes, selection.stride);
}

/// The side of the patient towards which an axis points: "L", or empty when it is none in particular.
std::string side(const std::array<double, 3>& direction, bool reversed) {
  const auto largest = std::max_element(direction.begin(), direction.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const bool positive = (*largest > 0) != reversed;
  const auto axis = static_cast<std::size_t>(largest - direction.begin());
  return std::string(1, (positive ? "LPS" : "RAI")[axis]);
}

Json coil_maps_json(const Array<Complex<float>>& maps) {
  const std::int64_t coils = std::min<std::int64_t>(maps.extent(0), 32), ny = maps.extent(1),
                     nx = maps.extent(2), stride = (std::max(nx, ny) + 127) / 128;
  Planes planes;
  for (std::int64_t coil = 0; coil < coils; ++coil) planes.emplace_back(&maps, coil);
  Json json = planes_json(planes, stride);
  json.update({{"width", (nx + stride - 1) / stride},
               {"height", (ny + stride - 1) / stride},
               {"count", coils},
               {"of", maps.extent(0)},
               {"stride", stride}});
  return json;
}

/// Decibels from -60 (black) to 0 (white); of every block of pixels the brightest, so that no side lobe is
/// lost.
Json point_spread_json(const Array<float>& spread) {
  const std::int64_t ny = spread.extent(0), nx = spread.extent(1), stride = (std::max(nx, ny) + 255) / 256;
  const std::int64_t width = (nx + stride - 1) / stride, height = (ny + stride - 1) / stride;
  std::vector<float> brightest(static_cast<std::size_t>(width * height));
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x) {
      auto& at = brightest[static_cast<std::size_t>(y / stride * width + x / stride)];
      at = std::max(at, spread[y * nx + x]);
    }
  Bytes bytes;
  for (const float v : brightest) bytes.push_back(shade(1 + 20 * std::log10(std::max(v, 1e-9F)) / 60));
  return {{"width", width},
          {"height", height},
          {"extents", {nx, ny}},
          {"stride", stride},
          {"decibel", base64(bytes)}};
}

Json pairs(const Json& object) {
  Json list = Json::array();
  if (object.is_object())
    for (const auto& [name, value] : object.items())
      list.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  return list;
}

template <class T>
Array<T> diagnostic_image(const hdf5::File& file, const std::string& name, std::size_t axes) {
  const auto dataset = file.dataset(name);
  const auto extents = axes == 3 ? dataset.complex_extents() : dataset.extents();
  constexpr std::int64_t longest = 1 << 14;
  if (extents.size() != axes ||
      std::any_of(extents.begin(), extents.end(), [](std::int64_t n) { return n < 1 || n > longest; }))
    throw Error(dataset.subject(), std::to_string(axes) + " axes of 1 ... 16384", hdf5::text_of(extents));
  return dataset.read<T>(axes == 3 ? Shape{extents[0], extents[1], extents[2]}
                                   : Shape{extents[0], extents[1]});
}

/// The report of a result; empty for a file of `fhd simulate`, which has an image and no report.
Json report_of(const hdf5::File& file) {
  if (!file.has("/report/json")) return Json::object();
  const auto text = joined_report(file.read_text("/report/json"),
                                  file.has("/environment") ? file.read_text("/environment") : "");
  require_input_memory(static_cast<double>(text.size()) * json_bytes_per_character,
                       file.subject("/report/json"));
  Json report = flat_json(text);
  if (!report.is_object())
    throw Error(file.subject("/report/json"), "the report of 'fhd recon'",
                nests_too_deep(text) ? "JSON that nests too deep" : "text that is not JSON");
  return report;
}

bool states_fov(const Geometry& geometry) { return geometry.fov_mm[0] > 0 && geometry.fov_mm[1] > 0; }

std::string subtitle_of(const ImageSeries& series, const std::string& kind, bool has_reports) {
  const auto& geometry = series.images.front().geometry;
  const auto& n = geometry.matrix_size;
  const auto& fov = geometry.fov_mm;
  std::string text = fmt::format("{} × {}{} voxels", n[0], n[1], n[2] > 1 ? fmt::format(" × {}", n[2]) : "");
  if (states_fov(geometry))
    text += fmt::format(" of {:.3g} × {:.3g}{} mm", fov[0] / n[0], fov[1] / n[1],
                        fov[2] > 0 ? fmt::format(" × {:.3g}", fov[2] / n[2]) : "");
  if (series.slice_count > 1) text += fmt::format(", {} slices", series.slice_count);
  if (const auto stacks = stacks_of(series).size(); stacks > 1) text += fmt::format(" in {} stacks", stacks);
  if (series.repetition_count > 1) text += fmt::format(", {} {}s", series.repetition_count, kind);
  if (has_reports && series.images.size() > 1)
    text +=
        "; certificate and verdict are the worst of all, time is that of all, convergence that of the first "
        "image";
  return text;
}

/// The images, and how to show them.
void add_images(Json& result, const hdf5::File& file, const ImageSeries& series, const Selection& selection) {
  const auto& geometry = series.images.front().geometry;
  const auto& n = geometry.matrix_size;
  const auto width = selection.width, height = selection.height, stride = selection.stride;
  result["shown"] = {{"width", width},
                     {"height", height},
                     {"stride", stride},
                     {"matrix_size", {n[0], n[1]}},
                     {"kind", selection.kind},
                     {"repetitions", selection.repetitions},
                     {"slices", selection.slices}};
  // The size of the picture, which the last block of pixels may carry beyond the image.
  if (states_fov(geometry))
    result["shown"]["fov_mm"] = {geometry.fov_mm[0] * static_cast<double>(width * stride) / n[0],
                                 geometry.fov_mm[1] * static_cast<double>(height * stride) / n[1]};
  if (!selection.reduced.empty()) result["reduced"] = selection.reduced;
  result["image"] = volume_json(series, selection);
  if (file.has("/gridded")) {
    const ImageSeries gridded = read_image_here(file.path(), "/gridded");
    if (gridded.images.size() == series.images.size() &&
        gridded.images.front().values.shape() == series.images.front().values.shape())
      result["gridded"] = volume_json(gridded, selection);
  }
  const auto letters_of = [&](std::size_t i) {
    const auto& slice = series.images[selection.planes[i].image].geometry;
    if (!states_place(slice)) return Json::object();
    return Json{{"left", side(slice.read_direction, true)},
                {"right", side(slice.read_direction, false)},
                {"top", side(slice.phase_direction, true)},
                {"bottom", side(slice.phase_direction, false)}};
  };
  Json letters = Json::array();  // of each slice
  for (std::size_t i = 0; i < selection.slices.size(); ++i) letters.push_back(letters_of(i));
  if (states_fov(geometry) && std::ranges::any_of(letters, [](const Json& of) { return !of.empty(); }))
    result["letters"] = letters;
}

/// Adds what the report says of the first image; certificate and verdict are the worst of all.
void add_report(Json& result, const Json& report) {
  const Json first = item_of(field_of(report, "images"), 0);
  const Json& settings = field_of(first, "settings");
  result["method"] = settings.is_object() ? text_or(settings, "method", "cg") : "";
  result["settings"] = pairs(settings);
  if (const Json objectives = list_of(first, "objectives"); !objectives.empty())
    result["settings"].push_back({"objective, of that of an image of zeros", objectives.back().dump()});
  result["residuals"] = list_of(first, "relative_residuals");
  result["converged"] = field_of(first, "converged") == Json(true);
  result["data_residual"] = field_of(first, "data_residual");
  result["notes"] = Json::array();
  for (const auto& message : messages_in(first))
    if (message.severity == Severity::note) result["notes"].push_back(fhd::line_of(message));
  add_certificate(result, report);
  add_verdict(result, report);
  for (const char* curve : {"lambda_curve", "strength_curve"})
    if (field_of(first, curve).is_array()) {
      result[curve] = first[curve];
      result["noise_residual"] = field_of(first, "noise_residual");
    }
  if (field_of(first, "noise").is_object()) result["noise"] = first["noise"];
}

/// Adds the stages, whose times are sums over all images; of a single image they are as they were, with their spans. Adds the
/// seconds that all images took together.
void add_times(Json& result, const Json& images) {
  const auto seconds_of = [](const Json& of) {
    const Json& seconds = field_of(of, "seconds");
    return seconds.is_number() ? seconds.get<double>() : 0.0;
  };
  Json& stages = result["stages"] = Json::array();
  double of_images = 0, of_stages = 0;
  for (const auto& image : images) {
    of_images += seconds_of(image);
    for (const auto& stage : list_of(image, "stages")) {
      of_stages += seconds_of(stage);
      const auto name = text_or(stage, "name");
      const auto same =
          std::ranges::find_if(stages, [&](const Json& other) { return other["name"] == name; });
      if (images.size() == 1)
        stages.push_back(stage);
      else if (same == stages.end())
        stages.push_back({{"name", name}, {"seconds", seconds_of(stage)}});
      else
        (*same)["seconds"] = seconds_of(*same) + seconds_of(stage);
    }
  }
  result["seconds"] = std::max(of_images, of_stages);
}

/// Adds the times, the machine, and where everything came from.
void add_environment(Json& result, const Json& report, const std::string& path) {
  Json environment = field_of(report, "environment"), &provenance = result["provenance"] = Json::array();
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) provenance.push_back({name, value});
  };
  add("command", text_or(environment, "command_line"));
  add("program", "fhd " + text_or(report, "version", "unknown"));
  add("started", text_or(environment, "started_at"));
  add("input", text_or(environment, "input_path"));
  const Json& input = field_of(report, "input");
  add("checksum", text_or(input, "checksum"));
  const Json pieces = list_of(input, "pieces");
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Json& file = item_of(field_of(environment, "piece_paths"), i);
    add(text_or(pieces[i], "what", "piece"),
        (file.is_string() ? file.get<std::string>() : "") + ", checksum " + text_or(pieces[i], "checksum"));
  }
  add("result", path);
  add_times(result, list_of(environment, "images"));
  if (environment.is_object())
    for (const char* above : {"command_line", "started_at", "input_path", "piece_paths", "images"})
      environment.erase(above);
  result["environment"] = pairs(environment);
}

/// "brain" of out/brain.h5; where two would be the same, those as they were given, without their ending.
std::vector<std::string> names_of(const std::vector<std::string>& results) {
  std::vector<std::string> stems, paths;
  for (const auto& path : results) {
    stems.push_back(fs::path(path).stem().string());
    paths.push_back(without_result_ending(path));
  }
  return std::set<std::string>(stems.begin(), stems.end()).size() == stems.size() ? stems : paths;
}

/// Returns the curve of the first slice of a result of 'fhd recon --gate': source, readouts (how many there are), signal, bins
/// (-1: in none), stride, and slices (how many). Of very many readouts every stride-th; what is not finite is null. Null where
/// there is none. Throws Error when the two do not agree.
Json gating_curve(const hdf5::File& file) {
  constexpr std::int64_t most = 10000;
  constexpr auto signal_name = "/gating/signal", bin_name = "/gating/bin";
  if (!file.has(signal_name) || !file.has(bin_name)) return {};
  const auto signal = file.dataset(signal_name), bins = file.dataset(bin_name);
  const auto extents = signal.extents();
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1)
    throw Error(signal.subject(), "[slice][readout]", hdf5::text_of(extents));
  if (bins.extents() != extents)
    throw Error(bins.subject(), hdf5::text_of(extents) + ", as the signal has",
                hdf5::text_of(bins.extents()));
  const auto readouts = extents[1], stride = (readouts + most - 1) / most;
  const auto values = signal.read<double>({readouts}, {0}), numbers = bins.read<double>({readouts}, {0});
  Json of_signal = Json::array(), of_bins = Json::array();
  for (std::int64_t r = 0; r < readouts; r += stride) {
    of_signal.push_back(static_cast<float>(values[r]));  // as many digits as a curve needs
    const double bin = numbers[r];
    of_bins.push_back(bin >= 0 && bin < 1e6 ? static_cast<int>(bin) : -1);
  }
  return {{"source", file.has_attribute(signal_name, "source") ? file.text_attribute(signal_name, "source")
                                                               : std::string("a signal")},
          {"slices", extents[0]},
          {"readouts", readouts},
          {"stride", stride},
          {"signal", of_signal},
          {"bins", of_bins}};
}

Json result_json(const std::string& path, const std::string& title, std::size_t most_voxels) {
  const ImageSeries series = read_image_here(path, "/image");
  const auto file = hdf5::File::open(path);
  const Json report = report_of(file);
  const auto kind = kind_of_repetitions(file);
  Json result{{"title", title}, {"subtitle", subtitle_of(series, kind, report.contains("images"))}};
  add_images(result, file, series, select_shown(series, field_of(report, "images"), kind, most_voxels));
  add_report(result, report);
  add_environment(result, report, path);
  if (const auto name = "/diagnostics/0_0/sensitivity_maps"; file.has(name))
    result["coil_maps"] = coil_maps_json(diagnostic_image<Complex<float>>(file, name, 3));
  if (const auto name = "/diagnostics/0_0/point_spread"; file.has(name))
    result["point_spread"] = point_spread_json(diagnostic_image<float>(file, name, 2));
  if (auto gating = gating_curve(file); !gating.is_null()) result["gating"] = std::move(gating);
  return result;
}

}  // namespace

std::string result_text_here(const std::string& path, const std::string& title, std::uint64_t most_voxels) {
  return result_json(path, title, most_voxels).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report_page(const std::vector<std::string>& results, std::size_t most_voxels) {
  if (results.empty()) throw Error("report", "at least one result", "none", "give OUT.h5 of 'fhd recon'");
  Json list = Json::array();
  const auto names = names_of(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    complete_interrupted_set(results[i]);
    const std::uint64_t most = std::max<std::size_t>(most_voxels / results.size(), 20000);
    // A reader process answers, with text that may nest as deep as it liked.
    list.push_back(flat_json(in_reader<&result_text_here>(results[i], names[i], most)));
    if (!list.back().is_object()) throw Error(results[i], "a result of 'fhd recon'", "something else");
  }
  constexpr std::size_t most_names = 3;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), most_names));
  std::string title = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > most_names) title += fmt::format(" and {} more", names.size() - most_names);
  return filled_page({{"title", title}, {"subtitle", "Reconstructed with fhd"}, {"results", list}});
}

void write_report_page(const std::vector<std::string>& results, const std::string& path, bool force) {
  if (!force) require_own_page(path);  // before the work
  const auto page = report_page(results);
  if (!force) require_own_page(path);
  write_atomically(path, page.data(), page.size());
}

}  // namespace fhd::io
