#include "app/batch/claims.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "io/result/atomic_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

fs::path claims_folder(const std::string& directory) { return fs::path(directory) / ".claims"; }

/// The NAME of a result file NAME.h5, NAME.manifest.json, ...
std::string name_of(const std::string& file) {
  for (const char* ending : {".manifest.json", ".nii.gz", ".h5", ".png", ".json", ".csv", ".html"})
    if (file.ends_with(ending)) return file.substr(0, file.size() - std::strlen(ending));
  return file;
}

struct Temporary {
  std::string path, name;
};

std::vector<Temporary> temporaries(const std::string& directory) {
  std::vector<Temporary> found;
  std::error_code status;
  for (fs::directory_iterator entry(directory, status), end; !status && entry != end; entry.increment(status))
    if (const auto final_name = io::final_name_of_temporary(entry->path().filename().string()))
      found.push_back({entry->path().string(), name_of(*final_name)});
  return found;
}

}  // namespace

std::optional<Claim> Claim::lock(const std::string& directory, const std::string& name, int operation) {
  const auto path = (claims_folder(directory) / name).string();
  while (true) {
    std::error_code ignored;
    fs::create_directory(claims_folder(directory), ignored);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      if (errno == ENOENT) continue;  // another process has just removed the empty folder
      throw Error(path, "a file that can be created", std::strerror(errno));
    }
    while (::flock(descriptor, operation) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(descriptor);
      if (error == EWOULDBLOCK) return {};
      throw Error(path, "a file system with locks (flock)", std::strerror(error));
    }
    // The holder before us removed the file on leaving: a lock on a file without a name excludes nobody.
    struct stat ours {
    }, named{};
    if (::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev)
      return Claim(descriptor, path);
    ::close(descriptor);
  }
}

std::optional<Claim> Claim::take(const std::string& directory, const std::string& name) {
  return lock(directory, name, LOCK_EX | LOCK_NB);
}

Claim Claim::wait(const std::string& directory, const std::string& name) {
  return std::move(*lock(directory, name, LOCK_EX));
}

Claim::Claim(Claim&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

Claim::~Claim() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::flock(descriptor_, LOCK_UN);  // a child process may hold a copy of the descriptor
  ::close(descriptor_);
}

void remove_temporaries(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  for (const auto& temporary : temporaries(directory))
    if (temporary.name == name) fs::remove_all(temporary.path, ignored);
}

void remove_strays(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& temporary : temporaries(directory)) names.insert(temporary.name);
  for (const auto& name : names)
    if (const auto claim = Claim::take(directory, name)) remove_temporaries(directory, name);
  // Claims of processes that were killed.
  std::error_code status;
  std::vector<std::string> claims;
  for (fs::directory_iterator entry(claims_folder(directory), status), end; !status && entry != end;
       entry.increment(status))
    claims.push_back(entry->path().filename().string());
  for (const auto& claim : claims) Claim::take(directory, claim);
  fs::remove(claims_folder(directory), status);
}

}  // namespace fhd::app
