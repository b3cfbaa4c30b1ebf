#pragma once
// What a reconstruction takes of a GPU's memory, known before it starts.
#include "recon/reconstruct.hpp"

namespace fhd {

/// Sizes that the plan depends on.
struct MemoryDemand {
  std::array<int, 3> matrix_size{1, 1, 1};
  std::int64_t samples = 0, coils = 0;
  bool has_maps = false;
  TransformKind transform = TransformKind::direct;  ///< not automatic
};

/// Arrays with the steps during which they exist; the largest sum of one step is what the device must hold.
struct MemoryPlan {
  enum class Step { copy, q, transfer, solve };
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

}  // namespace fhd
