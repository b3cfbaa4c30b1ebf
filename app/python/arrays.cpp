#include "app/python/arrays.hpp"

#include <pthread.h>

#include <atomic>

namespace fhd::python {
namespace {

std::atomic<bool> has_worked = false, is_copy = false;

}  // namespace

void begin_work() {
  if (is_copy)
    throw Error(
        "this process", "one that can start threads",
        "a copy (fork) of one in which fhd had worked, whose threads are not in it",
        "start processes anew: multiprocessing.get_context('spawn'), or multiprocessing_context='spawn' of "
        "torch's DataLoader; or fork before the first call of fhd");
  if (!has_worked.exchange(true)) pthread_atfork(nullptr, nullptr, [] { is_copy = true; });
}

std::string text_of(const AnyArray& array) {
  std::string text;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    text += "[" + std::to_string(array.shape(axis)) + "]";
  if (array.device_type() != nb::device::cpu::value) text += ", not in host memory";
  return text;
}

Device device_of(const AnyArray& array) {
  if (array.device_type() == nb::device::cpu::value) return Device::cpu();
  if (array.device_type() == nb::device::cuda::value) return Device::cuda(array.device_id());
  throw Error("array", "on the CPU or a CUDA device", "on another kind of device");
}

bool is_double(const AnyArray& array, const char* name) {
  if (holds<std::complex<double>>(array)) return true;
  if (holds<std::complex<float>>(array)) return false;
  throw Error(name, "complex64 or complex128", text_of(array));
}

}  // namespace fhd::python
