#pragma once
// NCCL, opened at run time like cuFFT: sums over the GPUs of this process. What is used of it has had the same
// binary interface since version 2.0; its header need not be there where fhd is built.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recon/array/device.hpp"

namespace fhd::nccl {

/// One communicator for each of some GPUs, which differ.
class Communicators {
 public:
  /// Null where NCCL is not there or cannot start, and why; and where the environment does not say NCCL_NVLS_ENABLE:
  /// sums by the switch (NVLink multicast) hang where a container or a virtual machine has no right to it, and only the
  /// program may turn them off (0).
  static std::unique_ptr<Communicators> make(const std::vector<Device>& devices, std::string& why_not);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// values = their sum over the GPUs, in place, on the default stream of GPU `rank`, in the order of its work:
  /// the same bits in all. Every rank calls this, each from a thread of its own. Throws DeviceError.
  void sum(int rank, float* values, std::int64_t count) const;
  void sum(int rank, double* values, std::int64_t count) const;
  /// Ends sums that wait for a rank that will not come; nothing is summed afterwards.
  void give_up() noexcept;
  bool given_up() const;
  /// "NCCL 2.27.3"
  const std::string& version() const { return version_; }

 private:
  Communicators() = default;
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string version_;
};

}  // namespace fhd::nccl
