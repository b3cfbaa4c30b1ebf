#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/memory.hpp"
#include "recon/array/staged_copy.hpp"

namespace fhd::device::cuda {
namespace {

constexpr std::size_t piece_bytes = std::size_t{8} << 20, worth_bytes = 4 * piece_bytes;
constexpr std::size_t buffers = 3;  // one is filled, one is copied, one is emptied

/// The pinned buffers of a device, which stay until the process ends.
struct Stage {
  std::mutex in_use;
  bool is_made = false;
  std::array<void*, buffers> pinned{};
  std::array<std::unique_ptr<Event>, buffers> copied;
};

/// Returns the stage of a device.
Stage& stage_of(int number) {
  static std::mutex mutex;
  static auto& stages = *new std::map<int, Stage>;
  const std::lock_guard lock(mutex);
  return stages[number];
}

/// Makes the buffers where they are not made yet; returns whether there are all of them.
bool make(Stage& stage, Device device) {
  if (!stage.is_made) {
    stage.is_made = true;  // or never: there is one try
    const std::shared_lock lock(state_of(device).recording);
    for (std::size_t i = 0; i < buffers; ++i) {
      if (cudaMallocHost(&stage.pinned[i], piece_bytes) != cudaSuccess) {
        cudaGetLastError();
        stage.pinned[i] = nullptr;
        break;
      }
      stage.copied[i] = std::make_unique<Event>(Event::Timing::off);
    }
  }
  return std::all_of(stage.copied.begin(), stage.copied.end(),
                     [](const auto& event) { return event != nullptr; });
}

void copy_to_host(Stage& stage, char* to, const char* from, std::size_t bytes) {
  const std::size_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
  const auto length = [&](std::size_t i) { return std::min(piece_bytes, bytes - i * piece_bytes); };
  for (std::size_t i = 0; i < pieces + buffers - 1; ++i) {
    if (i < pieces) {
      check(cudaMemcpyAsync(stage.pinned[i % buffers], from + i * piece_bytes, length(i),
                            cudaMemcpyDeviceToHost, default_stream()),
            "copying to the host");
      stage.copied[i % buffers]->record();
    }
    if (i + 1 < buffers) continue;
    const std::size_t done = i + 1 - buffers;
    stage.copied[done % buffers]->synchronize();
    copy_in_parallel(to + done * piece_bytes, stage.pinned[done % buffers], length(done));
  }
}

void copy_to_device(Stage& stage, char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0, i = 0; at < bytes; at += piece_bytes, i = (i + 1) % buffers) {
    const std::size_t length = std::min(piece_bytes, bytes - at);
    stage.copied[i]->synchronize();
    copy_in_parallel(stage.pinned[i], from + at, length);
    check(cudaMemcpyAsync(to + at, stage.pinned[i], length, cudaMemcpyHostToDevice, default_stream()),
          "copying to the device");
    stage.copied[i]->record();
  }
}

}  // namespace

bool copy_staged(void* to, Device to_device, const void* from, std::size_t bytes) {
  if (bytes < worth_bytes) return false;
  int number = 0;
  check(cudaGetDevice(&number), "asking for the current device");
  Stage& stage = stage_of(number);
  const std::unique_lock lock(stage.in_use, std::try_to_lock);
  if (!lock || !make(stage, Device::cuda(number))) return false;
  for (const auto& event : stage.copied) event->synchronize();  // of another thread's copy
  try {
    if (to_device.is_cpu())
      copy_to_host(stage, static_cast<char*>(to), static_cast<const char*>(from), bytes);
    else
      copy_to_device(stage, static_cast<char*>(to), static_cast<const char*>(from), bytes);
  } catch (...) {
    cudaStreamSynchronize(default_stream());  // what is under way may have no event
    throw;
  }
  return true;
}

}  // namespace fhd::device::cuda
