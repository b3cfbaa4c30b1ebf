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
#include "io/files/stored_bytes.hpp"
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

}  // namespace

NLOHMANN_JSON_SERIALIZE_ENUM(Manifest::Status,
                             {{Manifest::Status::failed, "failed"}, {Manifest::Status::finished, "finished"}})

FHD_JSON_FIELDS(FileStamp, name, bytes, modified_ns)
FHD_JSON_FIELDS(Product, name, bytes, modified_ns, checksum)
FHD_JSON_FIELDS(Manifest, status, error, scan, input, input_checksum, examined_ns, settings, version,
                products, ended_ns, seconds, images, iterations, cache_hits, residual, data_residual,
                converged, messages)

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
    return json.get<Manifest>();
  } catch (const Json::exception&) {  // damaged, or of another version: the scan is done again
  } catch (const Error&) {            // none, or no file at all
  }
  return {};
}

void write_manifest(const std::string& path, const Manifest& m) {
  Json json{{"format", format_name}};
  json.update(Json(m));
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  const auto text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  AtomicFile file(path);
  write_bytes(file.temporary(), text.data(), text.size(), path);
  file.commit_unflushed();
}

std::vector<Product> products_of(const std::string& directory, const std::vector<std::string>& paths) {
  std::vector<Product> products;
  for (const auto& each : paths)
    for (const auto& path : files_of_scan(each)) {
      products.push_back({stamp_of(path), checksum_of(path)});
      products.back().name = fs::path(path).lexically_relative(directory).string();
    }
  return products;
}

std::optional<std::string> missing_product(const std::string& directory, const Manifest& manifest,
                                           const IsAbandoned& is_abandoned) {
  if (manifest.products.empty()) return "results";
  for (const auto& product : manifest.products) {
    const auto path = (fs::path(directory) / product.name).string();
    const auto name = fs::path(product.name).lexically_normal();
    if (name.empty() || name.is_absolute() || *name.begin() == "..")
      return product.name;  // of another folder
    try {
      const auto now = stamp_of(path);
      // Nothing is read of a file of holes, which fhd does not write.
      if (now.bytes == product.bytes && now.bytes <= stored_bytes_of(path) &&
          (now.modified_ns == product.modified_ns || has_checksum(path, product.checksum, is_abandoned)))
        continue;
    } catch (const Error&) {  // there is none
    }
    return product.name;
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
