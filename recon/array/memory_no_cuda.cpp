// A build without CUDA has the same entry points; asking for device memory is one clear error.
#include "recon/array/device_memory.hpp"
#include "recon/error.hpp"

namespace fhd::device {

void* allocate(std::size_t) {
  throw Error("--device cuda", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again, or use --device cpu");
}
void release(void*, std::size_t) noexcept {}
void fill_zero(void*, std::size_t) {}
void copy_to_device(void*, const void*, std::size_t) {}
void copy_to_host(void*, const void*, std::size_t) {}
void copy_on_device(void*, const void*, std::size_t) {}

}  // namespace fhd::device
