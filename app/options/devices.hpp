#pragma once
// --device and --device-memory: where a command computes.
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/device.hpp"
#include "recon/array/device_team.hpp"
#include "recon/array/memory.hpp"

namespace fhd::app {

/// The device that a command computes on.
struct ChosenDevice {
  Device device = Device::cpu();
  bool automatic = false;    ///< the user left the choice: a GPU that fails gives way to the CPU
  std::string text = "CPU";  ///< "GPU 0: NVIDIA H100 80GB HBM3, ...", "CPU, because no NVIDIA driver is ..."
  device::Description description;  ///< of the GPU
};
/// Returns "GPU 0: NVIDIA H200, ...; GPU 1: ..." for devices that work concurrently.
std::string text_of(const std::vector<ChosenDevice>& devices);
/// Returns host_environment and the devices, for the report.
std::vector<std::pair<std::string, std::string>> environment_of(const std::vector<ChosenDevice>& devices);
/// Returns the devices as a team that shares a scan. Throws Error where they are not of one kind.
std::shared_ptr<const DeviceTeam> team_of(const std::vector<ChosenDevice>& devices);
/// "cuda:0,2" -> {0, 2}; empty where it is nothing of that kind, or a number comes twice.
std::vector<int> gpu_numbers_of(const std::string& text);
/// Returns the processor, threads and instruction set in use, and a quota that bounds them: name, value.
std::vector<std::pair<std::string, std::string>> host_environment();

/// How much of a GPU's memory is used at most: a number of bytes, or a share of what the GPU has.
struct DeviceMemory {
  double bytes = 0, share = 0;  ///< > 0: which of the two it is; neither: all of it
  /// Returns the limit on a GPU with `memory_bytes`; 0: none.
  std::size_t limit_bytes(std::size_t memory_bytes) const;
};
/// "8GiB", "500 MiB", "8GB", "0.5TiB", "50%". Throws Error naming --device-memory.
DeviceMemory parse_device_memory(const std::string& text);

/// The device that is asked for.
struct DeviceOption {
  std::string name = "auto";  ///< "auto", "cpu", "cuda", "cuda:1", "cuda:all", "cuda:0,2"
  DeviceMemory memory;
  bool leaves_gpu_alone = false;  ///< "auto" is the CPU: the work is small

  /// Throws Error where `text` names no device.
  void set_name(const std::string& text);
  /// Starts the device. `preferred`: where the user does not name one of several GPUs, the one of this number modulo
  /// their count. Throws Error when it cannot be had and the user did not leave the choice, or several are asked for.
  ChosenDevice choose(int preferred = 0) const;
  /// Returns the device, or all that are asked for, which need not have started. Throws Error when the driver does not have
  /// one of them and the user did not leave the choice.
  std::vector<ChosenDevice> find_all(int preferred = 0) const;
  /// Returns whether several may be asked for: cuda:all, cuda:0,2.
  bool names_several() const;

 private:
  ChosenDevice find(int preferred) const;
};

/// Devices that are started, and their FFTs opened, while other work is done: device::warm_up.
class DevicesInBackground {
 public:
  DevicesInBackground(DeviceOption option, int preferred);
  /// Waits until the devices of DeviceOption::find_all are known. Any thread may call it. Throws Error.
  const std::vector<ChosenDevice>& get() const { return chosen_.get(); }

 private:
  std::shared_future<std::vector<ChosenDevice>> chosen_;
  std::future<void> warm_;  ///< its destructor waits for the thread
};

/// Prints on standard error, in one line, that the CPU goes on where the GPU failed.
void print_fallback(const std::string& reason);

}  // namespace fhd::app
