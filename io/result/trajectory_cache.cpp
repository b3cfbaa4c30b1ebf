// A file of the cache: magic, key (64 hex digits), SHA-256 of the values (64 hex digits), count of bytes (8,
// little-endian as the machine), values.
#include "io/result/trajectory_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/sha256.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".fhdcache";

struct Header {
  std::array<char, 8> magic{'f', 'h', 'd', 'q', '0', '0', '0', '1'};
  std::array<char, 64> key{}, checksum{};
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Header) == 8 + 64 + 64 + 8);

/// Returns whether this is the file name of a key, or its temporary name.
bool is_entry(const std::string& name) {
  const auto file = final_name_of_temporary(name).value_or(name);
  constexpr std::size_t key_digits = 64;
  return file.size() == key_digits + ending.size() && file.ends_with(ending) &&
         file.find_first_not_of("0123456789abcdef") == key_digits;
}

std::string checksum_of(const void* values, std::size_t bytes) {
  Sha256 digest("trajectory cache");
  digest.add(values, bytes);
  return digest.hex();
}

/// Opens an entry; nothing if there is none. Does not wait for what is no file of the cache, such as a pipe.
Descriptor opened_entry(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return Descriptor();
  return file;
}

/// Returns false for a file that is cut off.
bool read_at(const Descriptor& file, void* to, std::size_t bytes, std::size_t offset) {
  for (auto* next = static_cast<char*>(to); bytes > 0;) {
    const auto count = ::pread(file.get(), next, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    offset += static_cast<std::size_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

std::string default_trajectory_cache() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/fhd/trajectories";
  if (const auto home = variable("HOME"); !home.empty()) return home + "/.cache/fhd/trajectories";
  return {};
}

DiskTrajectoryCache::DiskTrajectoryCache(std::string folder, std::string program_version,
                                         std::uint64_t most_bytes)
    : folder_(std::move(folder)), program_version_(std::move(program_version)), most_bytes_(most_bytes) {
  std::error_code ignored;
  if (!folder_.empty()) fs::create_directories(folder_, ignored);
}

std::string DiskTrajectoryCache::key(const TrajectoryProduct& product) const {
  Sha256 digest("trajectory cache");
  const auto text = program_version_ + "\n" + product.what + "\n";
  digest.add(text.data(), text.size());
  digest.add(product.matrix_size.data(), sizeof product.matrix_size);
  const auto& k = product.trajectory.k;
  digest.add(k.data(), static_cast<std::size_t>(k.size()) * sizeof(double));
  return digest.hex();
}

std::string DiskTrajectoryCache::file_of(const std::string& key) const {
  return folder_ + "/" + key + std::string(ending);
}

bool DiskTrajectoryCache::load(const TrajectoryProduct& product, void* values, std::size_t bytes) {
  const auto name = key(product);
  const auto path = file_of(name);
  const auto file = opened_entry(path);
  Header header;
  const Header expected;
  bool whole = false;
  const bool present = static_cast<bool>(file);
  if (present && read_at(file, &header, sizeof header, 0) && header.magic == expected.magic &&
      std::equal(name.begin(), name.end(), header.key.begin()) && header.bytes == bytes &&
      read_at(file, values, bytes, sizeof header)) {
    const auto checksum = checksum_of(values, bytes);
    whole = std::equal(checksum.begin(), checksum.end(), header.checksum.begin());
  }
  if (whole) {
    static_cast<void>(!::futimens(file.get(), nullptr));  // it was used last
    ++hits_;
  } else {
    std::error_code ignored;
    if (present) fs::remove(path, ignored);
    ++misses_;
  }
  return whole;
}

void DiskTrajectoryCache::store(const TrajectoryProduct& product, const void* values, std::size_t bytes) {
  if (folder_.empty() || bytes + sizeof(Header) > most_bytes_) return;
  try {
    remove_oldest(bytes + sizeof(Header));
    const auto name = key(product), checksum = checksum_of(values, bytes);
    Header header;
    std::copy(name.begin(), name.end(), header.key.begin());
    std::copy(checksum.begin(), checksum.end(), header.checksum.begin());
    header.bytes = bytes;
    AtomicFile to(file_of(name));
    OutputFile file(to.temporary(), to.path());
    file.write(&header, sizeof header);
    file.write(values, bytes);
    file.close();
    to.commit();
  } catch (const Error&) {
    // A cache that cannot be written only costs time.
  }
}

void DiskTrajectoryCache::remove_oldest(std::uint64_t wanted_bytes) const {
  struct File {
    fs::path path;
    std::uint64_t bytes;
    fs::file_time_type used;
  };
  std::vector<File> files;
  std::uint64_t sum = wanted_bytes;
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code gone;  // another process may have removed it
    if (!is_entry(entry->path().filename().string()) || entry->is_symlink(gone)) continue;
    const auto bytes = entry->file_size(gone);
    if (gone) continue;
    const auto used = entry->last_write_time(gone);
    if (gone) continue;
    files.push_back({entry->path(), bytes, used});
    sum += bytes;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const auto& file : files) {
    if (sum <= most_bytes_) return;
    std::error_code ignored;
    if (fs::remove(file.path, ignored)) sum -= file.bytes;
  }
}

}  // namespace fhd::io
