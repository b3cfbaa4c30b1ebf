#include "io/result/series_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "io/files/json_text.hpp"
#include "io/files/atomic_file.hpp"
#include "io/result/report_json.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// In the order in which they are removed: without the first, the others are worth nothing.
constexpr const char* names[]{"series.json", "reports.jsonl", "images.raw",
                              "gridded.raw", "exhibits.raw",  "lock"};
constexpr const char* remedy = "--force begins anew, -o NAME writes beside it";

/// A folder that is held, and the one that it lies in.
struct Place {
  std::shared_ptr<const Folder> parent, folder;
};

// Recursive, as the process may end for want of memory in the very thread that holds them.
std::recursive_mutex note_mutex;
// Held where files are made or removed before remove_empty_series_folder() knows of it; never while anything is waited
// for: who stops the process waits for it.
std::recursive_mutex opening;
std::string unfinished_note;
Place empty_folder;

/// What a process that ends now is to say, or which folder to remove.
void set_end(std::string note, Place folder = {}) {
  const std::lock_guard lock(note_mutex);
  unfinished_note = std::move(note);
  empty_folder = std::move(folder);
}

void remove_folder(const Place& place) {
  for (const char* name : names) place.folder->remove(name);
  // Not empty where somebody put something there.
  place.parent->remove_empty_folder(file_name_of(place.folder->path()));
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) json.push_back(shape[axis]);
  return json;
}

/// Three extents that an image may have, else empty.
std::optional<Shape> image_shape_in(const Json& json) {
  constexpr std::int64_t longest = 1 << 16;
  if (!json.is_array() || json.size() != 3) return {};
  std::int64_t n[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!json[axis].is_number_integer()) return {};
    n[axis] = json[axis].get<std::int64_t>();
    if (n[axis] < 1 || n[axis] > longest) return {};
  }
  return Shape{n[0], n[1], n[2]};
}

Json geometry_json(const Geometry& geometry) {
  return {{"matrix_size", geometry.matrix_size},         {"fov_mm", geometry.fov_mm},
          {"position_mm", geometry.position_mm},         {"read_direction", geometry.read_direction},
          {"phase_direction", geometry.phase_direction}, {"slice_direction", geometry.slice_direction}};
}

Geometry geometry_in(const Json& json) {
  Geometry geometry;
  json.at("matrix_size").get_to(geometry.matrix_size);
  json.at("fov_mm").get_to(geometry.fov_mm);
  json.at("position_mm").get_to(geometry.position_mm);
  json.at("read_direction").get_to(geometry.read_direction);
  json.at("phase_direction").get_to(geometry.phase_direction);
  json.at("slice_direction").get_to(geometry.slice_direction);
  return geometry;
}

/// series.json; null where there is none that this version understands.
Json series_in(const Folder& folder) {
  constexpr std::size_t longest = std::size_t{1} << 24;
  const auto text = text_of_file(folder.open("series.json", O_RDONLY), longest);
  if (!text) return {};
  const auto json = flat_json(*text);
  const bool known = json.is_object() && json.value("program", Json()) == "fhd" && json.contains("series") &&
                     json["series"].is_object() && image_shape_in(json.value("shape", Json())) &&
                     json.contains("volumes") && json["volumes"].is_number_unsigned();
  return known ? json : Json();
}

/// Throws Error where the series in the folder is not the one that is asked for.
void require_same(const std::string& path, const Json& there, const SeriesIdentity& asked) {
  const auto refuse = [&](const std::string& name, const std::string& old, const std::string& own) {
    const auto told = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    throw Error(path, fmt::format("the volumes of an unfinished run with {} {}", name, told(own)),
                fmt::format("those of one with {}", told(old)), remedy);
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

void remove_empty_series_folder() {
  const std::lock_guard opened(opening);
  const std::lock_guard lock(note_mutex);
  if (empty_folder.folder) remove_folder(empty_folder);
}

SeriesFolder::SeriesFolder(const std::string& prefix, std::size_t volume_count,
                           std::function<SeriesIdentity()> identity, std::function<std::string()> host,
                           bool anew)
    : path_(path_of(prefix)), identity_(std::move(identity)), host_(std::move(host)), lines_(volume_count) {
  take();
  if (!anew) resume();
  begin_where_it_ended();
}

void SeriesFolder::begin_where_it_ended() {
  const std::lock_guard not_yet(opening);
  if (!images_) {  // nothing there that serves
    for (const char* name : names)
      if (std::string_view(name) != "lock") folder_->remove(name);
  }
  reports_ = opened("reports.jsonl");
  // What is cut off.
  if (ftruncate(reports_.get(), end_of_reports_) != 0)
    fail_by_errno(file("reports.jsonl"), "a file that can be written");
  tell();
}

SeriesFolder::~SeriesFolder() {
  if (removed_ || finished_ > 0) return;
  set_end({});
  remove_folder({parent_, folder_});
}

/// Makes the folder, or finds it, and locks it. One that tells of no series is as good as new.
void SeriesFolder::take() {
  const std::lock_guard not_yet(opening);
  parent_ = Folder::of(path_);
  NameRace race;
  do {
    for (make(); !folder_; make()) race.lost(path_);  // another process has just removed it
  } while (!lock(race));
  if (!folder_->find("series.json") && errno == ENOENT) set_end({}, {parent_, folder_});
}

void SeriesFolder::make() {
  constexpr auto expected = "a folder for the volumes of a series until all are there";
  const auto name = file_name_of(path_);
  if (!parent_->make_folder(name) && errno != EEXIST) fail_by_errno(path_, expected);
  folder_ = parent_->inner(name);
  if (!folder_) return;
  const bool is_ours = folder_->find("lock") || folder_->find("series.json");
  if (!is_ours && !folder_->names().empty())
    throw Error(path_, expected, "a folder with other files", "choose another -o");
}

/// One of the files, never what a link leads to.
Descriptor SeriesFolder::opened(const char* name) const {
  auto found = folder_->open_file(name, O_RDWR | O_CREAT, 0666);
  if (!found) fail_by_errno(file(name), "a file that can be written");
  return found;
}

/// False: another process has removed the folder meanwhile.
bool SeriesFolder::lock(NameRace& race) {
  lock_ = folder_->open_file("lock", O_RDWR | O_CREAT, 0666);
  if (!lock_ && errno == ENOENT) {
    race.lost(file("lock"));
    return false;
  }
  if (!lock_) fail_by_errno(file("lock"), "a file that can be written");
  // File systems without locks (some network ones) cannot tell.
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(path_, "a folder that no other run writes to", "one that another fhd is working on",
                "wait for its end, or -o NAME writes beside it");
  return race.is_kept(*folder_, lock_, "lock");
}

/// Takes up what an earlier run of the same series has left.
void SeriesFolder::resume() {
  const Json json = series_in(*folder_);
  if (json.is_null()) return;
  require_same(path_, json["series"], identity_());
  if (json["volumes"] != lines_.size())
    throw Error(path_, fmt::format("an unfinished run of {} volumes", lines_.size()),
                fmt::format("one of {}", json["volumes"].dump()), remedy);
  if (json.contains("host") && json["host"].is_string()) earlier_host_ = json["host"].get<std::string>();
  open_values(*image_shape_in(json["shape"]), image_shape_in(json.value("gridded_shape", Json())),
              json.value("in_double", Json()) == Json(true));
  read_lines();
}

void SeriesFolder::read_lines() {
  const auto stored = folder_->open_file("reports.jsonl", O_RDONLY);
  if (!stored) return;
  std::ifstream reports(file("reports.jsonl"), std::ios::binary);
  constexpr std::size_t longest = std::size_t{1} << 24;  // what follows a longer line is done again
  std::string line(longest, '\0');
  std::int64_t offset = 0;
  while (reports.getline(line.data(), longest) && !reports.eof()) {
    const auto bytes = static_cast<std::int64_t>(reports.gcount());
    const auto at = std::exchange(offset, offset + bytes);
    try {
      const auto json = flat_json(std::string_view(line).substr(0, static_cast<std::size_t>(bytes - 1)));
      if (json.is_discarded()) continue;  // none of ours, or cut off by a crash: this volume is done again
      const auto number = json.at("number").get<std::size_t>();
      const auto& n = geometry_in(json.at("geometry")).matrix_size;
      if (!(Shape{n[2], n[1], n[0]} == images_->shape())) continue;  // not of this series
      static_cast<void>(json.at("report").at("settings"));
      const bool there = number < lines_.size() && bytes <= std::numeric_limits<std::uint32_t>::max() &&
                         images_->holds(number, json.at("crc").get<std::uint32_t>()) &&
                         (!gridded_ || gridded_->holds(number, json.at("gridded_crc").get<std::uint32_t>()));
      if (!there) continue;
      if (!holds(number)) ++finished_;
      lines_[number] = {at, static_cast<std::uint32_t>(bytes)};
    } catch (const Json::exception&) {  // of another version: this volume is done again
    }
  }
  end_of_reports_ = offset;
}

/// The first volume tells how large they are.
void SeriesFolder::begin(const Image& image, const Image* gridded) {
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
  open_values(image.values.shape(), gridded_shape, !image.in_double.empty());
  const auto text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_atomically(folder_, "series.json", text.data(), text.size());
}

void SeriesFolder::open_values(const Shape& shape, const std::optional<Shape>& gridded, bool in_double) {
  images_ = std::make_shared<RawImages>(opened("images.raw"), file("images.raw"), shape, in_double);
  if (gridded)
    gridded_ = std::make_shared<RawImages>(opened("gridded.raw"), file("gridded.raw"), *gridded, in_double);
}

void SeriesFolder::add(std::size_t number, const Image& image, const Image* gridded,
                       const DiagnosticImages& exhibits, const Report& report) {
  if (!images_) begin(image, gridded);
  Json json{{"number", number}, {"crc", images_->write(number, image)}};
  if (gridded_) {
    if (!gridded) throw Error(path_, "a gridded image of every volume", "none of one");
    json["gridded_crc"] = gridded_->write(number, *gridded);
  }
  json["geometry"] = geometry_json(image.geometry);
  if (number == 0) {
    write_exhibits(exhibits);
    json["exhibits"] = {{"sensitivity_maps", shape_json(exhibits.sensitivity_maps.shape())},
                        {"point_spread", shape_json(exhibits.point_spread.shape())},
                        {"set_images", shape_json(exhibits.set_images.shape())}};
  }
  json["report"] = report_to_json(report);
  const auto text = dumped(json) + "\n";
  write_at(reports_.get(), text.data(), text.size(), static_cast<std::uint64_t>(end_of_reports_),
           file("reports.jsonl"));
  if (!holds(number)) ++finished_;
  lines_[number] = {end_of_reports_, static_cast<std::uint32_t>(text.size())};
  end_of_reports_ += static_cast<std::int64_t>(text.size());
  flush_now_and_then();
  tell();
}

/// What a power failure costs is about a second of work.
void SeriesFolder::flush_now_and_then() {
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ < std::chrono::seconds(1)) return;
  images_->flush();
  if (gridded_) gridded_->flush();
  flush_descriptor(reports_.get(), file("reports.jsonl"));
  flushed_ = now;
}

void SeriesFolder::write_exhibits(const DiagnosticImages& exhibits) {
  const auto& maps = exhibits.sensitivity_maps;
  const auto& spread = exhibits.point_spread;
  const auto& sets = exhibits.set_images;
  auto raw = opened("exhibits.raw");
  if (ftruncate(raw.get(), 0) != 0) fail_by_errno(file("exhibits.raw"), "a file that can be written");
  OutputFile out(std::move(raw), file("exhibits.raw"));
  out.write(maps.data(), static_cast<std::size_t>(maps.size()) * sizeof(Complex<float>));
  out.write(spread.data(), static_cast<std::size_t>(spread.size()) * sizeof(float));
  out.write(sets.data(), static_cast<std::size_t>(sets.size()) * sizeof(Complex<float>));
  out.close();
}

std::string SeriesFolder::line(std::size_t number) const {
  std::string text(lines_[number].bytes, '\0');
  const auto count = ::pread(reports_.get(), text.data(), text.size(), lines_[number].offset);
  if (count != static_cast<ssize_t>(text.size()))
    throw Error(file("reports.jsonl"), "the reports of all volumes", "a shorter file");
  return text;
}

std::string SeriesFolder::report(std::size_t number) const {
  return dumped(Json::parse(line(number)).at("report"));
}

Geometry SeriesFolder::geometry(std::size_t number) const {
  return geometry_in(Json::parse(line(number)).at("geometry"));
}

/// Empty where they are not what the line says: nothing else depends on them.
DiagnosticImages SeriesFolder::exhibits() const {
  DiagnosticImages exhibits;
  if (lines_.empty() || !holds(0)) return exhibits;
  const auto json = Json::parse(line(0)).value("exhibits", Json());
  if (!json.is_object()) return exhibits;
  const auto stored = folder_->open_file("exhibits.raw", O_RDONLY);
  if (!stored) return exhibits;
  std::ifstream values(file("exhibits.raw"), std::ios::binary | std::ios::ate);
  const auto there = static_cast<std::int64_t>(values.tellg());
  values.seekg(0);
  const auto read = [&]<class T>(const char* name, std::size_t axes, Array<T>& into) {
    const auto shape = json.value(name, Json::array());
    if (!values || shape.size() != axes) return;
    std::vector<std::int64_t> n;
    for (const auto& extent : shape)
      n.push_back(
          extent.is_number_integer() ? std::clamp<std::int64_t>(extent.get<std::int64_t>(), 0, 1 << 16) : 0);
    const Shape known = axes == 4   ? Shape{n[0], n[1], n[2], n[3]}
                        : axes == 3 ? Shape{n[0], n[1], n[2]}
                                    : Shape{n[0], n[1]};
    if (known.size() > there / static_cast<std::int64_t>(sizeof(T))) return;
    Array<T> found(known);
    if (values.read(reinterpret_cast<char*>(found.data()),
                    static_cast<std::streamsize>(known.size() * sizeof(T))))
      into = std::move(found);
  };
  read("sensitivity_maps", 3, exhibits.sensitivity_maps);
  read("point_spread", 2, exhibits.point_spread);
  read("set_images", 4, exhibits.set_images);
  return exhibits;
}

void SeriesFolder::remove() {
  set_end({});
  remove_folder({parent_, folder_});
  removed_ = true;
}

void SeriesFolder::tell() const {
  if (finished_ == 0) return set_end({}, {parent_, folder_});
  const auto rest =
      finished_ == lines_.size() ? ", for the next run" : "; the same command goes on with the others";
  set_end(fmt::format("{} of {} images are in {}{}", finished_, lines_.size(), path_, rest));
}

}  // namespace fhd::io
