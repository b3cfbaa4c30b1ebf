#pragma once
// --device: where to compute. Shared by every command that does.
#include <string>
#include <utility>
#include <vector>

#include "recon/array/device.hpp"
#include "recon/array/memory.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Where a command computes.
struct ChosenDevice {
  Device device = Device::cpu();
  bool automatic = false;    ///< the user left the choice: a GPU that fails gives way to the CPU
  std::string text = "CPU";  ///< "GPU 0: NVIDIA H100 80GB HBM3, ...", "CPU, because no NVIDIA driver is ..."
  device::Description description;  ///< of the GPU

  /// For the report: name, value, of the processor and the device.
  std::vector<std::pair<std::string, std::string>> environment() const;
};

class DeviceOption {
 public:
  /// Adds --device and, hidden, --device-memory-mib. The object must outlive the parse.
  void add_to(CLI::App& app);
  /// Starts the GPU asked for. Throws Error when it cannot be had and the user did not leave the choice.
  /// `preferred`: where the user does not name one of several GPUs, the one of this number modulo their
  /// count.
  ChosenDevice choose(int preferred = 0) const;

 private:
  std::string device_ = "auto";
  std::size_t memory_mib_ = 0;
};

/// Says on standard error, in one line, that the CPU goes on where the GPU failed.
void print_fallback(const std::string& reason);

}  // namespace fhd::app
