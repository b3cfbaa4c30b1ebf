#include "io/files/installed_file.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

namespace fhd::io {

std::string installed_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const auto program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  std::vector<fs::path> folders{program, program.parent_path() / "lib/fhd"};
  static const char here = 0;
  Dl_info file{};
  // For a program this is the name that it was called by, which may lead from the working folder.
  if (dladdr(&here, &file) != 0 && fs::path(file.dli_fname).is_absolute())
    folders.insert(folders.begin(), fs::path(file.dli_fname).parent_path());
  for (const auto& folder : folders)
    if (auto path = folder / name; fs::exists(path, unknown)) return path;
  return folders.front() / name;
}

}  // namespace fhd::io
