#pragma once
// What a reconstruction takes of memory, known before it starts: of a GPU, and of the process on the host.
#include "recon/pipeline/cost_model.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd {

/// Sizes that the plan depends on.
struct MemoryDemand {
  std::array<int, 3> matrix_size{1, 1, 1};
  std::int64_t samples = 0, coils = 0;
  bool has_maps = false;
  TransformKind transform = TransformKind::direct;  ///< not automatic
  int time_segments = 0, difference_segments = 0;   ///< of the off-resonance correction; 0 without
};

/// Arrays with the steps during which they exist; the largest sum of one step is what the device must hold.
struct MemoryPlan {
  enum class Step { read, prepare, copy, q, transfer, solve, residual, gridded };
  struct Item {
    std::string what;
    std::size_t bytes = 0;
    Step first = Step::copy, last = Step::solve;
  };
  std::vector<Item> items;
  std::int64_t coils_at_once = 1;  ///< transformed together, a divisor of all

  std::size_t peak_bytes() const;
};

/// The plan with the most coils at once that fits into `available_bytes`. Throws DeviceError with the figure
/// needed when not even one coil at a time fits.
MemoryPlan plan_device_memory(const MemoryDemand& demand, const Settings& settings,
                              std::size_t available_bytes);

/// What the program takes of the host's memory on the CPU at most, resident (VmHWM): itself with its
/// libraries, the scan as read, the coils' preparation and the reconstruction, and the gridded image beside
/// it where `gridded` gives its settings. Sizes beyond 2^63 bytes count as that.
MemoryPlan plan_host_memory(const Workload& work, const Settings& settings,
                            const Settings* gridded = nullptr);

}  // namespace fhd
