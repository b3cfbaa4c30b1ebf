// A file of the cache: SHA-256 of the values (64 hex digits), values.
#include "io/result/trajectory_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/sha256.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".fhdcache";
constexpr std::size_t key_digits = 64;  // as of a checksum

/// Returns whether this is a file of the cache, and no link.
bool is_entry(const fs::path& path) {
  const auto file = path.filename().string(), name = final_name_of_temporary(file).value_or(file);
  std::error_code status;
  return name.size() == key_digits + ending.size() && name.ends_with(ending) &&
         name.find_first_not_of("0123456789abcdef") == key_digits &&
         fs::is_regular_file(fs::symlink_status(path, status));
}

std::string checksum_of(const void* values, std::size_t bytes) {
  Sha256 digest("trajectory cache");
  digest.add(values, bytes);
  return digest.hex();
}

class DiskTrajectoryCache final : public TrajectoryCache {
 public:
  DiskTrajectoryCache(std::string folder, std::string program_version, std::uint64_t most_bytes)
      : folder_(std::move(folder)), program_version_(std::move(program_version)), most_bytes_(most_bytes) {
    std::error_code ignored;
    if (!folder_.empty()) fs::create_directories(folder_, ignored);
  }

  bool load(const TrajectoryProduct& product, void* values, std::size_t bytes) override {
    const auto path = file_of(product);
    std::error_code ignored;
    if (!is_entry(path)) return false;
    try {
      const InputFile file(path);
      std::string checksum(key_digits, ' ');
      if (file.size() == key_digits + bytes) {
        file.read(0, checksum.data(), key_digits);
        file.read(key_digits, values, bytes);
      }
      if (checksum == checksum_of(values, bytes)) {
        fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // it was used last
        return true;
      }
    } catch (const Error&) {  // it may be readable another time
      return false;
    }
    fs::remove(path, ignored);  // damaged
    return false;
  }

  void store(const TrajectoryProduct& product, const void* values, std::size_t bytes) override {
    if (folder_.empty() || bytes + key_digits > most_bytes_) return;
    try {
      remove_oldest(bytes + key_digits);
      const auto checksum = checksum_of(values, bytes);
      AtomicFile to(file_of(product));
      OutputFile file(to.temporary(), to.path());
      file.write(checksum.data(), key_digits);
      file.write(values, bytes);
      file.close();
      to.commit();
    } catch (const Error&) {  // a cache that cannot be written only costs time
    }
  }

 private:
  std::string file_of(const TrajectoryProduct& product) const {
    Sha256 digest("trajectory cache");
    const auto text = program_version_ + "\n" + product.what + "\n";
    digest.add(text.data(), text.size());
    digest.add(product.matrix_size.data(), sizeof product.matrix_size);
    const auto& k = product.trajectory.k;
    digest.add(k.data(), static_cast<std::size_t>(k.size()) * sizeof(double));
    return folder_ + "/" + digest.hex() + std::string(ending);
  }

  void remove_oldest(std::uint64_t wanted_bytes) const {
    struct File {
      fs::file_time_type used;
      std::uint64_t bytes;
      fs::path path;
    };
    std::vector<File> files;
    std::uint64_t sum = wanted_bytes;
    std::error_code failed, gone;  // gone: another process may have removed it
    for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      if (!is_entry(entry->path())) continue;
      const auto bytes = entry->file_size(gone);
      if (!gone) files.push_back({entry->last_write_time(gone), bytes, entry->path()}), sum += bytes;
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
    for (const auto& file : files)
      if (sum > most_bytes_ && fs::remove(file.path, gone)) sum -= file.bytes;
  }

  std::string folder_, program_version_;
  std::uint64_t most_bytes_;
};

}  // namespace

std::string default_trajectory_cache() {
  const auto beside = [](const char* variable, const char* rest) {
    const char* value = std::getenv(variable);
    return value && *value ? value + std::string(rest) : std::string();
  };
  const auto cache = beside("XDG_CACHE_HOME", "/fhd/trajectories");
  return !cache.empty() ? cache : beside("HOME", "/.cache/fhd/trajectories");
}

std::shared_ptr<TrajectoryCache> disk_trajectory_cache(const std::string& folder,
                                                       const std::string& program_version,
                                                       std::uint64_t most_bytes) {
  return std::make_shared<DiskTrajectoryCache>(folder, program_version, most_bytes);
}

}  // namespace fhd::io
