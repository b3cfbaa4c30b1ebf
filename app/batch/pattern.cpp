#include "app/batch/pattern.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

bool has_wildcards(const std::string& part) { return part.find_first_of(wildcards) != std::string::npos; }

std::string with_home(const std::string& pattern) {
  const char* const home = pattern.starts_with("~/") ? std::getenv("HOME") : nullptr;
  return home != nullptr ? home + pattern.substr(1) : pattern;
}

/// Those between '/', without empty ones.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with("/") ? folder + name : folder + "/" + name;
}

/// What is absent, and with `is_folder` what is none.
void drop_absent(std::vector<std::string>& paths, bool is_folder) {
  std::erase_if(paths, [&](const std::string& path) {
    std::error_code status;
    return is_folder ? !fs::is_directory(path, status) : !fs::exists(fs::symlink_status(path, status));
  });
}

}  // namespace

void for_each_in_folder(const std::string& folder, const std::function<void(const fs::path&)>& visit) {
  std::error_code status;
  fs::directory_iterator entry(folder, status);
  constexpr std::errc none[] = {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                                std::errc::permission_denied, std::errc::too_many_symbolic_link_levels,
                                std::errc::filename_too_long};
  if (std::any_of(std::begin(none), std::end(none), [&](std::errc each) { return status == each; })) return;
  for (const fs::directory_iterator end; !status && entry != end; entry.increment(status))
    visit(entry->path());
  if (status) throw Error(folder, "a folder that can be read to its end", status.message());
}

std::vector<std::string> PatternMatcher::within(const std::vector<std::string>& folders,
                                                const std::string& part, const std::string& pattern) {
  std::vector<std::string> found;
  for (const auto& folder : folders)
    for_each_in_folder(folder.empty() ? "." : folder, [&](const fs::path& path) {
      if (left_ == 0)
        throw Error(pattern, fmt::format("patterns for which at most {} names are looked at", most_), "more",
                    "name the folders, or give the scans in a list");
      --left_;
      const auto name = path.filename().string();
      if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) found.push_back(joined(folder, name));
    });
  return found;
}

std::vector<std::string> PatternMatcher::matches(const std::string& pattern) {
  const auto path = with_home(pattern);
  std::vector<std::string> found{path.starts_with("/") ? "/" : ""};
  bool is_many = false;
  for (const auto& part : parts_of(path)) {
    if (is_many && part == "..")
      throw Error(pattern, "a pattern without '..' behind a wildcard", "one that leads back",
                  "name the folder");
    if (has_wildcards(part)) {
      found = within(found, part, pattern);
      is_many = true;
    } else {
      for (auto& folder : found) folder = joined(folder, part);
    }
    if (is_many) drop_absent(found, false);
  }
  drop_absent(found, path.ends_with("/"));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace fhd::app
