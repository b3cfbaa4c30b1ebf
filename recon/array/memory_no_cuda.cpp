// A build without CUDA has the same entry points; asking for device memory is one clear error.
#include "recon/array/device_memory.hpp"
#include "recon/array/no_cuda.hpp"

namespace fhd::device {

void* allocate(std::size_t) { refuse_cuda(); }
void release(void*, std::size_t) noexcept {}
void fill_zero(void*, std::size_t) {}
void copy_to_device(void*, const void*, std::size_t) {}
void copy_to_host(void*, const void*, std::size_t) {}
void copy_on_device(void*, const void*, std::size_t) {}

}  // namespace fhd::device
