#pragma once
// Libraries of CUDA that are opened at run time.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace fhd::device {

/// The first of these names that is found; null: none. The dynamic linker's own search comes first (the folder of
/// the program, LD_LIBRARY_PATH, the system's), then where CUDA is commonly installed.
inline void* open_cuda_library(const std::vector<std::string>& names) {
  std::vector<std::string> folders{""};
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* folder = std::getenv(variable)) folders.push_back(std::string(folder) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  for (const auto& name : names)
    for (const auto& folder : folders)
      if (void* handle = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

}  // namespace fhd::device
