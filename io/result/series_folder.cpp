#include "io/result/series_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/json_text.hpp"
#include "io/files/stored_bytes.hpp"
#include "io/result/report_json.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

using Json = nlohmann::ordered_json;

/// The files in the order in which they are removed: without the first, the others are worth nothing.
constexpr const char* file_names[]{"series.json", "reports.jsonl", "images.raw", "gridded.raw",
                                   "diagnostics.raw"};
constexpr const char* anew_remedy = "--force begins anew, -o NAME writes beside it";

// Recursive, as the process may end for want of memory in the very thread that holds it.
std::recursive_mutex note_mutex;
std::string unfinished_note;

void set_note(std::string note) {
  const std::lock_guard lock(note_mutex);
  unfinished_note = std::move(note);
}

void remove_files(const Folder& folder) {
  for (const char* name : file_names) folder.remove(name);
}

Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) json.push_back(shape[axis]);
  return json;
}

/// Returns a shape of so many axes that images may have, else nothing.
std::optional<Shape> shape_in(const Json& json, std::size_t axes) {
  constexpr std::int64_t longest = 1 << 16;
  const auto is_extent = [](const Json& n) { return n.is_number_integer() && n > 0 && n <= longest; };
  if (!json.is_array() || json.size() != axes || !std::all_of(json.begin(), json.end(), is_extent)) return {};
  return axes == 2   ? Shape{json[0], json[1]}
         : axes == 3 ? Shape{json[0], json[1], json[2]}
                     : Shape{json[0], json[1], json[2], json[3]};
}

/// Calls visit(name, axes, array) for the arrays that diagnostics.raw holds, in its order.
template <class Diagnostics, class Visit>
void for_each_array(Diagnostics& diagnostics, const Visit& visit) {
  visit("sensitivity_maps", 3, diagnostics.sensitivity_maps);
  visit("point_spread", 2, diagnostics.point_spread);
  visit("set_images", 4, diagnostics.set_images);
}

/// Returns series.json; null where there is none that this version understands.
Json series_in(const Folder& folder) {
  constexpr std::size_t longest = std::size_t{1} << 24;
  const auto text = text_of_file(folder.open("series.json", O_RDONLY), longest);
  if (!text) return {};
  const auto json = flat_json(*text);
  const bool known = json.is_object() && json.value("program", Json()) == "fhd" && json.contains("series") &&
                     json["series"].is_object() && shape_in(json.value("shape", Json()), 3) &&
                     json.contains("volumes") && json["volumes"].is_number_unsigned();
  return known ? json : Json();
}

/// Throws Error where the series in the folder is not the one that is asked for.
void require_same(const std::string& path, const Json& there, const SeriesIdentity& asked) {
  const auto refuse = [&](const std::string& name, const std::string& old, const std::string& own) {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    throw Error(path, fmt::format("the volumes of an unfinished run with {} {}", name, shown(own)),
                fmt::format("those of one with {}", shown(old)), anew_remedy);
  };
  const auto text = [](const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); };
  for (const auto& [name, own] : asked) {
    const auto old = there.contains(name) ? text(there[name]) : "";
    if (old != own) refuse(name, old, own);
  }
  for (const auto& [name, old] : there.items())
    if (std::none_of(asked.begin(), asked.end(),
                     [&, key = name](const auto& own) { return own.first == key; }))
      refuse(name, text(old), "");
}

}  // namespace

std::string note_of_unfinished_series() {
  const std::lock_guard lock(note_mutex);
  return unfinished_note;
}

SeriesFolder::SeriesFolder(const std::string& prefix, std::size_t volume_count,
                           std::function<SeriesIdentity()> identity, std::function<std::string()> host,
                           bool anew)
    : path_(path_of(prefix)), identity_(std::move(identity)), host_(std::move(host)), lines_(volume_count) {
  folder_ = Folder::within(path_);
  if (!folder_) return;
  if (!folder_->find("series.json") && !folder_->names().empty())
    throw Error(path_, "a folder for the volumes of a series until all are there",
                "a folder with other files", "choose another -o");
  if (!anew) resume();
}

SeriesFolder::~SeriesFolder() {
  if (images_ && finished_ == 0) remove();
}

/// Opens one of the files, never what a link leads to.
Descriptor SeriesFolder::opened(const char* name) const {
  auto found = folder_->open_file(name, O_RDWR | O_CREAT, 0666);
  if (!found) fail_by_errno(file(name), "a file that can be written");
  return found;
}

/// Takes up what an earlier run of the same series has left.
void SeriesFolder::resume() {
  const Json json = series_in(*folder_);
  if (json.is_null()) return;
  require_same(path_, json["series"], identity_());
  if (json["volumes"] != lines_.size())
    throw Error(path_, fmt::format("an unfinished run of {} volumes", lines_.size()),
                fmt::format("one of {}", json["volumes"].dump()), anew_remedy);
  if (json.contains("host") && json["host"].is_string()) earlier_host_ = json["host"].get<std::string>();
  open_files(*shape_in(json["shape"], 3), shape_in(json.value("gridded_shape", Json()), 3),
             json.value("in_double", Json()) == Json(true));
  read_lines();
  if (ftruncate(reports_.get(), end_of_reports_) != 0)  // a line that a crash has cut off
    fail_by_errno(file("reports.jsonl"), "a file that can be written");
  note_count();
}

void SeriesFolder::read_lines() {
  std::ifstream reports(file("reports.jsonl"), std::ios::binary);
  constexpr std::size_t longest = std::size_t{1} << 24;  // what follows a longer line is done again
  std::string line(longest, '\0');
  std::int64_t offset = 0;
  while (reports.getline(line.data(), longest) && !reports.eof()) {
    const auto bytes = static_cast<std::int64_t>(reports.gcount());
    const auto at = std::exchange(offset, offset + bytes);
    try {
      const auto text = std::string_view(line).substr(0, static_cast<std::size_t>(bytes - 1));
      const auto json = flat_json(text);
      if (json.is_discarded()) continue;  // cut off by a crash: this volume is done again
      const auto number = json.at("number").get<std::size_t>();
      const auto& n = json.at("geometry").get<Geometry>().matrix_size;
      if (!(Shape{n[2], n[1], n[0]} == images_->shape())) continue;  // not of this series
      if (!json.at("report").at("settings").is_object() || !report_lines_in(text)) continue;
      const bool there = number < lines_.size() && bytes <= std::numeric_limits<std::uint32_t>::max() &&
                         images_->holds(number, json.at("crc").get<std::uint32_t>()) &&
                         (!gridded_ || gridded_->holds(number, json.at("gridded_crc").get<std::uint32_t>()));
      if (!there) continue;
      if (!is_stored(number)) ++finished_;
      lines_[number] = {at, static_cast<std::uint32_t>(bytes)};
    } catch (const Json::exception&) {  // of another version: this volume is done again
    }
  }
  end_of_reports_ = offset;
}

/// Makes the folder and its files, of the sizes of the first volume.
void SeriesFolder::begin(const Image& image, const Image* gridded) {
  if (!folder_ && ::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST)
    fail_by_errno(path_, "a folder for the volumes of a series until all are there");
  if (!folder_) folder_ = Folder::within(path_);
  if (!folder_) fail_by_errno(path_, "a folder that stays");
  remove_files(*folder_);
  Json series = Json::object();
  for (const auto& [name, value] : identity_()) series[name] = value;
  Json json{{"program", "fhd"},
            {"what", "finished volumes of an unfinished run; the same command goes on"},
            {"series", series},
            {"host", host_()},
            {"volumes", lines_.size()},
            {"shape", shape_json(image.values.shape())},
            {"in_double", !image.in_double.empty()}};
  std::optional<Shape> gridded_shape;
  if (gridded) json["gridded_shape"] = shape_json(*(gridded_shape = gridded->values.shape()));
  open_files(image.values.shape(), gridded_shape, !image.in_double.empty());
  const auto text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_atomically(AtomicFile(folder_, "series.json"), text.data(), text.size());
}

void SeriesFolder::open_files(const Shape& shape, const std::optional<Shape>& gridded, bool in_double) {
  reports_ = opened("reports.jsonl");
  images_ = std::make_shared<RawImages>(opened("images.raw"), file("images.raw"), shape, in_double);
  if (gridded)
    gridded_ = std::make_shared<RawImages>(opened("gridded.raw"), file("gridded.raw"), *gridded, in_double);
}

void SeriesFolder::add(std::size_t number, const Image& image, const Image* gridded,
                       const DiagnosticImages& diagnostics, const Report& report) {
  {
    const std::lock_guard lock(mutex_);
    if (!images_) begin(image, gridded);
  }
  Json json{{"number", number}, {"crc", images_->write(number, image)}};
  if (gridded_) {
    if (!gridded) throw Error(path_, "a gridded image of every volume", "none of one");
    json["gridded_crc"] = gridded_->write(number, *gridded);
  }
  json["geometry"] = image.geometry;
  if (number == 0) {
    write_diagnostics(diagnostics);
    for_each_array(diagnostics, [&](const char* name, int, const auto& array) {
      json["diagnostics"][name] = shape_json(array.shape());
    });
  }
  auto [said, times] = json_of(report);
  json["report"] = std::move(said), json["times"] = std::move(times);
  write_line(number, json_line(json) + "\n");
  flush_now_and_then();
}

/// Appends the report of a volume, after which the volume counts as stored.
void SeriesFolder::write_line(std::size_t number, const std::string& text) {
  const std::lock_guard lock(mutex_);
  write_at(reports_.get(), text.data(), text.size(), static_cast<std::uint64_t>(end_of_reports_),
           file("reports.jsonl"));
  if (!is_stored(number)) ++finished_;
  lines_[number] = {end_of_reports_, static_cast<std::uint32_t>(text.size())};
  end_of_reports_ += static_cast<std::int64_t>(text.size());
  note_count();
}

/// Limits what a power failure costs to about a second of work. Other threads store volumes meanwhile.
void SeriesFolder::flush_now_and_then() {
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - flushed_ < std::chrono::seconds(1)) return;
    flushed_ = now;
  }
  images_->flush();
  if (gridded_) gridded_->flush();
  flush_descriptor(reports_.get(), file("reports.jsonl"));
}

void SeriesFolder::write_diagnostics(const DiagnosticImages& diagnostics) {
  OutputFile out(opened("diagnostics.raw"), file("diagnostics.raw"));
  for_each_array(diagnostics, [&]<class T>(const char*, int, const Array<T>& array) {
    out.write(array.data(), static_cast<std::size_t>(array.size()) * sizeof(T));
  });
  out.close();
}

std::string SeriesFolder::line(std::size_t number) const {
  std::string text(lines_[number].bytes, '\0');
  if (!read_at(reports_.get(), text.data(), text.size(), static_cast<std::uint64_t>(lines_[number].offset)))
    throw Error(file("reports.jsonl"), "the reports of all volumes", "a shorter file");
  return text;
}

ReportLines SeriesFolder::report(std::size_t number) const {
  auto lines = report_lines_in(line(number));
  if (!lines) throw Error(file("reports.jsonl"), "the reports of all volumes", "others");
  return *std::move(lines);
}

std::pair<Geometry, Report> SeriesFolder::summary(std::size_t number) const {
  const auto json = Json::parse(line(number));
  const auto& stored = json.at("report");
  Report report;
  report.messages = messages_in(stored);
  report.relative_residuals.resize(stored.value("relative_residuals", Json()).size());
  report.converged = stored.value("converged", Json()) != Json(false);
  const auto take = [](const Json& from, const char* name, double& value) {
    if (from.contains(name) && from[name].is_number()) value = from[name];
  };
  take(stored, "data_residual", report.data_residual);
  if (stored.contains("certificate") && stored["certificate"].is_object()) {
    const auto& from = stored["certificate"];
    auto& certificate = report.certificate.emplace();
    certificate.passed = from.value("passed", Json()) == Json(true);
    take(from, "forward_error", certificate.forward_error);
    take(from, "adjoint_error", certificate.adjoint_error);
    take(from, "normal_error", certificate.normal_error);
  }
  return {json.at("geometry").get<Geometry>(), report};
}

/// Leaves out what is not as the line says: nothing else depends on it.
DiagnosticImages SeriesFolder::diagnostics() const {
  DiagnosticImages diagnostics;
  const auto stored = folder_->open_file("diagnostics.raw", O_RDONLY);
  if (lines_.empty() || !is_stored(0) || !stored) return diagnostics;
  const auto shapes = Json::parse(line(0)).value("diagnostics", Json());
  if (!shapes.is_object()) return diagnostics;
  std::uint64_t offset = 0;
  for_each_array(diagnostics, [&]<class T>(const char* name, int axes, Array<T>& array) {
    const auto shape = shape_in(shapes.value(name, Json()), static_cast<std::size_t>(axes));
    const auto bytes = shape ? static_cast<std::uint64_t>(shape->size()) * sizeof(T) : 0;
    if (bytes == 0 || bytes > stored_bytes(stored.get())) return;
    Array<T> found(*shape);
    if (read_at(stored.get(), found.data(), bytes, offset)) array = std::move(found);
    offset += bytes;
  });
  return diagnostics;
}

void SeriesFolder::remove() {
  set_note({});
  if (!folder_) return;
  remove_files(*folder_);
  ::rmdir(path_.c_str());  // fails where somebody put something there
}

void SeriesFolder::note_count() const {
  if (finished_ == 0) return;
  const auto rest =
      finished_ == lines_.size() ? ", for the next run" : "; the same command goes on with the others";
  set_note(fmt::format("{} of {} images are in {}{}", finished_, lines_.size(), path_, rest));
}

}  // namespace fhd::io
