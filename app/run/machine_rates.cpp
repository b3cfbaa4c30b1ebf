#include "app/run/machine_rates.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/options/devices.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/json_text.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the file of the rates; empty where there is no folder for it. Whatever is not a letter or digit becomes '-'.
std::string path_of(Device device, const std::string& gpu_name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string path;
  if (cache != nullptr && cache[0] == '/')
    path = std::string(cache) + "/fhd/rates-";
  else if (home != nullptr && home[0] == '/')
    path = std::string(home) + "/.cache/fhd/rates-";
  else
    return {};
  std::string machine;
  for (const auto& [what, value] : host_environment()) machine += value + "-";
  if (device.is_cuda()) machine += gpu_name + "-";
  for (char& c : machine)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  return path + machine.substr(0, 160) + program_version + ".json";
}

}  // namespace

std::optional<MachineRates> known_rates(Device device, const std::string& gpu_name) {
  constexpr std::size_t longest = std::size_t{1} << 16;
  const auto text = io::text_of_file(path_of(device, gpu_name), longest);
  const Json json = text ? io::flat_json(*text) : Json();
  MachineRates rates;
  for (const auto& [name, value] : rates.fields()) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) return {};
    *value = found->get<double>();
    if (!(*value >= 0 && *value < 4096)) return {};
  }
  return rates;
}

MachineRates machine_rates(Device device, const std::string& gpu_name) {
  if (const auto known = known_rates(device, gpu_name)) return *known;
  MachineRates rates = measure_rates(device);
  Json json = Json::object();
  for (const auto& [name, value] : rates.fields()) json[name] = *value;
  const std::string text = json.dump(2) + "\n", path = path_of(device, gpu_name);
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    io::write_atomically(path, text.data(), text.size());
  } catch (const std::exception&) {
    // The next process measures again.
  }
  return rates;
}

}  // namespace fhd::app
