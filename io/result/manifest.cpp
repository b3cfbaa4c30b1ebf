#include "io/result/manifest.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/result/atomic_file.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format_name = "fhd manifest 1";

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) throw Error(path, "a readable file", std::strerror(errno));
  return {fs::path(path).filename().string(), static_cast<std::uint64_t>(found.st_size),
          std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Json json_of(const FileStamp& stamp) {
  return {{"name", stamp.name}, {"bytes", stamp.bytes}, {"modified_ns", stamp.modified_ns}};
}

FileStamp stamp_from(const Json& json) { return {json.at("name"), json.at("bytes"), json.at("modified_ns")}; }

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
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
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  try {
    const Json json = Json::parse(file);
    if (json.at("format") != format_name) return {};
    Manifest m;
    m.status = json.at("status") == "finished" ? Manifest::Status::finished : Manifest::Status::failed;
    m.error = json.at("error");
    m.scan = json.at("scan");
    for (const auto& stamp : json.at("input")) m.input.push_back(stamp_from(stamp));
    m.input_sha256 = json.at("input_sha256");
    m.examined_ns = json.at("examined_ns");
    for (const auto& [name, value] : json.at("settings").items()) m.settings.emplace_back(name, value);
    m.program_version = json.at("version");
    for (const auto& product : json.at("products"))
      m.products.push_back({stamp_from(product), product.at("sha256")});
    m.ended_ns = json.at("ended_ns");
    m.seconds = json.at("seconds");
    m.images = json.at("images");
    m.iterations = json.at("iterations");
    m.cache_hits = json.at("cache_hits");
    m.residual = json.at("residual");
    m.data_residual = json.at("data_residual");
    m.converged = json.at("converged");
    m.warnings = json.at("warnings");
    return m;
  } catch (const Json::exception&) {
    return {};  // damaged, or of another version: the scan is done again
  }
}

void write_manifest(const std::string& path, const Manifest& m) {
  Json input = Json::array(), settings = Json::object(), products = Json::array();
  for (const auto& stamp : m.input) input.push_back(json_of(stamp));
  for (const auto& [name, value] : m.settings) settings[name] = value;
  for (const auto& product : m.products) {
    Json json = json_of(product.stamp);
    json["sha256"] = product.sha256;
    products.push_back(std::move(json));
  }
  const Json json{{"format", format_name},
                  {"status", m.status == Manifest::Status::finished ? "finished" : "failed"},
                  {"error", m.error},
                  {"scan", m.scan},
                  {"input", input},
                  {"input_sha256", m.input_sha256},
                  {"examined_ns", m.examined_ns},
                  {"settings", settings},
                  {"version", m.program_version},
                  {"products", products},
                  {"ended_ns", m.ended_ns},
                  {"seconds", m.seconds},
                  {"images", m.images},
                  {"iterations", m.iterations},
                  {"cache_hits", m.cache_hits},
                  {"residual", m.residual},
                  {"data_residual", m.data_residual},
                  {"converged", m.converged},
                  {"warnings", m.warnings}};
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  const auto text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_atomically(path, text.data(), text.size());
}

std::vector<Product> products_of(const std::string& directory, const std::vector<std::string>& names) {
  std::vector<Product> products;
  for (const auto& name : names) {
    const auto path = (fs::path(directory) / name).string();
    products.push_back({stamp_of(path), sha256_of(path)});
  }
  return products;
}

std::optional<std::string> missing_product(const std::string& directory, const Manifest& manifest) {
  if (manifest.products.empty()) return "results";
  for (const auto& [stamp, sha256] : manifest.products) {
    const auto path = (fs::path(directory) / stamp.name).string();
    try {
      const FileStamp now = stamp_of(path);
      if (now == stamp) continue;
      if (now.bytes != stamp.bytes || sha256_of(path) != sha256) return stamp.name;
    } catch (const Error&) {
      return stamp.name;
    }
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
