#include "app/python/arrays.hpp"

namespace fhd::python {
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
