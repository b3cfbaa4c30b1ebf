#pragma once
// Where work runs: a value of its own, beside what is computed.
#include <memory>

#include "recon/array/device.hpp"
#include "recon/array/process_group.hpp"

namespace fhd {

struct Execution {
  Device device{};
  int threads = 0;  ///< of this process; at most; 0: as many as OpenMP takes
  std::shared_ptr<const ProcessGroup> processes = std::make_shared<SingleProcess>();
};

}  // namespace fhd
