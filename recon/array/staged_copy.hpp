#pragma once
// Large copies between host memory and a GPU, in pieces through pinned buffers that all threads fill or empty. The driver
// does the same with one thread: it reads 10 GB/s, and writes 3 GB/s to pages that are touched for the first time. Floor:
// the bytes over the bus, some 25 GB/s (PCIe 4) or 50 GB/s (PCIe 5).
#include <cstddef>

#include "recon/array/device.hpp"

namespace fhd::device::cuda {

/// Copies to or from the current device after the work of the calling thread there, and returns true; `to` may be read,
/// or `from` written, afterwards. Returns false, and copies nothing, where that is not worth it, where another thread
/// copies so, or where there is no pinned memory.
bool copy_staged(void* to, Device to_device, const void* from, std::size_t bytes);

}  // namespace fhd::device::cuda
