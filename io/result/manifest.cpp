#include "io/result/manifest.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/json_text.hpp"
#include "io/result/message_json.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format_name = "fhd manifest 2";

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) throw Error(path, "a readable file", std::strerror(errno));
  return {fs::path(path).filename().string(), static_cast<std::uint64_t>(found.st_size),
          std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

/// Calls field(name, value) for every field of a manifest but its format, in the order of the file.
template <class M, class Field>
void for_each_field(M& m, const Field& field) {
  field("status", m.status);
  field("error", m.error);
  field("scan", m.scan);
  field("input", m.input);
  field("input_checksum", m.input_checksum);
  field("examined_ns", m.examined_ns);
  field("settings", m.settings);
  field("version", m.program_version);
  field("products", m.products);
  field("ended_ns", m.ended_ns);
  field("seconds", m.seconds);
  field("images", m.images);
  field("iterations", m.iterations);
  field("cache_hits", m.cache_hits);
  field("residual", m.residual);
  field("data_residual", m.data_residual);
  field("converged", m.converged);
  field("messages", m.messages);
}

}  // namespace

NLOHMANN_JSON_SERIALIZE_ENUM(Manifest::Status,
                             {{Manifest::Status::failed, "failed"}, {Manifest::Status::finished, "finished"}})

static void to_json(Json& json, const FileStamp& stamp) {
  json = {{"name", stamp.name}, {"bytes", stamp.bytes}, {"modified_ns", stamp.modified_ns}};
}
static void from_json(const Json& json, FileStamp& stamp) {
  stamp = {json.at("name"), json.at("bytes"), json.at("modified_ns")};
}
static void to_json(Json& json, const Product& product) {
  json = product.stamp;
  json["checksum"] = product.checksum;
}
static void from_json(const Json& json, Product& product) {
  json.get_to(product.stamp);
  json.at("checksum").get_to(product.checksum);
}

std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<FileStamp> stamps_of(const std::string& scan) {
  auto files = files_of_scan(scan);
  std::sort(files.begin(), files.end());
  std::vector<FileStamp> stamps;
  for (const auto& file : files) stamps.push_back(stamp_of(file));
  return stamps;
}

std::string manifest_path(const std::string& directory, const std::string& name) {
  return (fs::path(directory) / (name + ".manifest.json")).string();
}

std::optional<Manifest> read_manifest(const std::string& path) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 26;  // of a DICOM series of 200,000 slices
  constexpr std::size_t characters_of_value = 16;            // a file that was made takes 200 for its four
  try {
    auto json = flat_json(content_of_file(path, longest, "a manifest"), characters_of_value);
    if (json.at("format") != format_name) return {};
    Manifest m;
    for_each_field(m, [&](const char* name, auto& value) { json.at(name).get_to(value); });
    return m;
  } catch (const Json::exception&) {  // damaged, or of another version: the scan is done again
  } catch (const Error&) {            // none, or no file at all
  }
  return {};
}

void write_manifest(const std::string& path, const Manifest& m) {
  Json json{{"format", format_name}};
  for_each_field(m, [&](const char* name, const auto& value) { json[name] = value; });
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  const auto text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_atomically(path, text.data(), text.size());
}

std::vector<Product> products_of(const std::string& directory, const std::vector<std::string>& paths) {
  std::vector<Product> products;
  for (const auto& each : paths)
    for (const auto& path : files_of_scan(each)) {
      products.push_back({stamp_of(path), checksum_of(path)});
      products.back().stamp.name = fs::path(path).lexically_relative(directory).string();
    }
  return products;
}

std::optional<std::string> missing_product(const std::string& directory, const Manifest& manifest,
                                           const IsAbandoned& is_abandoned) {
  if (manifest.products.empty()) return "results";
  for (const auto& [stamp, checksum] : manifest.products) {
    const auto path = (fs::path(directory) / stamp.name).string();
    const auto name = fs::path(stamp.name).lexically_normal();
    if (name.empty() || name.is_absolute() || *name.begin() == "..") return stamp.name;  // of another folder
    try {
      const auto now = stamp_of(path);
      if (now.bytes == stamp.bytes &&
          (now.modified_ns == stamp.modified_ns || has_checksum(path, checksum, is_abandoned)))
        continue;
    } catch (const Error&) {  // there is none
    }
    return stamp.name;
  }
  return {};
}

bool same_stamps(const Manifest& manifest, const std::vector<FileStamp>& input) {
  constexpr std::int64_t coarsest_time_ns = 2'000'000'000;
  return manifest.input == input && std::all_of(input.begin(), input.end(), [&](const FileStamp& stamp) {
           return stamp.modified_ns + coarsest_time_ns < manifest.examined_ns;
         });
}

}  // namespace fhd::io
