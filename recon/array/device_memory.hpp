#pragma once
// What Memory needs of a CUDA device. Implemented by memory_cuda.cu, or by memory_no_cuda.cpp, whose
// allocate() throws one clear Error.
#include <cstddef>

namespace fhd::device {

/// Makes `number` the current device of this thread and returns the one before.
int exchange_current(int number);
void restore_current(int number) noexcept;

void* allocate(std::size_t bytes);
void release(void* data, std::size_t bytes) noexcept;  ///< `bytes` as allocated
void fill_zero(void* data, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* device, std::size_t bytes);
void copy_on_device(void* to, const void* from, std::size_t bytes);

}  // namespace fhd::device
