// fhd --version --verbose: what a report of a problem needs.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/options/devices.hpp"
#include "app/terminal/console.hpp"
#include "io/files/installed_file.hpp"
#include "io/libraries.hpp"
#include "io/reader/reader.hpp"
#include "recon/array/libraries.hpp"
#include "version.hpp"

namespace fhd::app {

std::string verbose_version() {
  std::vector<std::pair<std::string, std::string>> lines = host_environment();
  const auto inventory = device::inventory();
  for (const auto& d : inventory.devices) {
    lines.emplace_back(fmt::format("GPU {}", d.device.number()), d.text());
    lines.emplace_back("CUDA runtime", device::version_text(d.runtime_version));
  }
  if (inventory.devices.empty()) lines.emplace_back("GPU", "none, because " + inventory.reason);
  for (const auto& library : library_versions()) lines.push_back(library);
  lines.emplace_back("reading files", io::reader::text_of_state());
  lines.emplace_back("MPI", std::filesystem::exists(io::installed_file("fhd_mpi.so")) ? "yes" : "none");
  for (const auto& library : io::library_versions()) lines.push_back(library);
  lines.emplace_back(
      "fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
  lines.emplace_back("CLI11", CLI11_VERSION);
  lines.emplace_back("nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                                  NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH));
  lines.emplace_back("toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH));
#ifdef __VERSION__
  lines.emplace_back("compiler", __VERSION__);
#endif
  std::string text = program_version;
  for (const auto& [name, value] : lines) text += fmt::format("\n{:<16} {}", name, io::shown(value));
  return text;
}

}  // namespace fhd::app
