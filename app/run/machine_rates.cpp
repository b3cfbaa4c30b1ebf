#include "app/run/machine_rates.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/options/options.hpp"
#include "io/files/json_text.hpp"
#include "io/files/atomic_file.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

/// "" where there is no such folder.
std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/fhd";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/fhd" : "";
}

/// Whatever is not a letter or digit becomes one '-'.
std::string as_file_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '+')
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  return name.substr(0, 160);
}

/// False when the file is absent or anything in it is not a rate.
bool read_rates(const std::string& path, MachineRates& rates) {
  constexpr std::size_t longest = std::size_t{1} << 16;
  const auto text = io::text_of_file(path, longest);
  const Json json = text ? io::flat_json(*text) : Json();
  if (!json.is_object()) return false;
  for (const auto& [name, value] : rates.fields()) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return false;
    const auto rate = found->get<double>();
    if (!(rate >= 0 && rate < 4096)) return false;
    *value = rate;
  }
  return true;
}

void write_rates(const std::string& path, MachineRates rates) {
  Json json = Json::object();
  for (const auto& [name, value] : rates.fields()) json[name] = *value;
  const std::string text = json.dump(2) + "\n";
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    io::write_atomically(path, text.data(), text.size());
  } catch (const std::exception&) {
    // The next process measures again.
  }
}

std::string path_of(Device device, const std::string& gpu_name) {
  std::string name = "rates-";
  for (const auto& [what, value] : host_environment()) name += value + "-";
  if (device.is_cuda()) name += gpu_name + "-";
  const std::string folder = cache_folder();
  return folder.empty() ? "" : folder + "/" + as_file_name(name + program_version) + ".json";
}

}  // namespace

std::optional<MachineRates> known_rates(Device device, const std::string& gpu_name) {
  const std::string path = path_of(device, gpu_name);
  MachineRates rates;
  if (path.empty() || !read_rates(path, rates)) return {};
  return rates;
}

MachineRates machine_rates(Device device, const std::string& gpu_name) {
  if (const auto known = known_rates(device, gpu_name)) return *known;
  const std::string path = path_of(device, gpu_name);
  const MachineRates rates = measure_rates(device);
  if (!path.empty()) write_rates(path, rates);
  return rates;
}

}  // namespace fhd::app
