#pragma once
// Arrays of Python (numpy, CuPy, torch, ...: whatever speaks DLPack) as views of recon/array: nothing is copied.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd::python {

namespace nb = nanobind;

/// Begins work that uses threads. Throws Error in a process that was forked from one that had worked: its
/// threads are not in the copy, and waiting for them would not end.
void begin_work();

/// Any array whose elements lie one after the other, the last axis fastest, taken as it is, also one that may not be written.
/// Parameters of this type are bound with `nb::arg(...).noconvert()`: nanobind refuses others. fhd/arrays.py makes them so.
using AnyArray = nb::ndarray<nb::ro, nb::c_contig>;

/// Returns "[4][64][64]", for messages: fhd/arrays.py has seen to the type.
std::string text_of(const AnyArray& array);
/// Returns the device that holds the array. Throws Error unless that is the CPU or a CUDA device.
Device device_of(const AnyArray& array);

template <class T>
bool holds(const AnyArray& array) {
  return array.dtype() == nb::dtype<T>();
}
/// Returns whether it is complex128. Throws Error unless it is complex64 or complex128; `name` is what the message calls the array.
bool is_double(const AnyArray& array, const char* name);

/// Returns a view of its elements under `shape`, which has as many. Throws Error unless they are complex of T.
template <class T>
Array<Complex<T>> view_of(const AnyArray& array, const Shape& shape, const char* name) {
  if (!holds<std::complex<T>>(array) || static_cast<std::int64_t>(array.size()) != shape.size())
    throw Error(name, shape.text() + (sizeof(T) == 8 ? " of complex128" : " of complex64"), text_of(array));
  return Array<Complex<T>>::view(static_cast<Complex<T>*>(const_cast<void*>(array.data())), shape,
                                 device_of(array));
}

/// Returns a copy in host memory of elements of type U, as they lie there, under `shape`. Throws Error.
template <class To, class U>
Array<To> copy_of(const AnyArray& array, const Shape& shape, const char* name, const char* type) {
  static_assert(sizeof(To) == sizeof(U));
  begin_work();  // large arrays are copied by several threads
  if (!holds<U>(array) || static_cast<std::int64_t>(array.size()) != shape.size() ||
      device_of(array).is_cuda())
    throw Error(name, shape.text() + " of " + type + " in host memory", text_of(array));
  return Array<To>::view(static_cast<To*>(const_cast<void*>(array.data())), shape).to(Device::cpu());
}

template <class Element>
struct Numpy {
  using Type = Element;
};
template <class T>
struct Numpy<Complex<T>> {
  using Type = std::complex<T>;
};
/// Returns the array for numpy, without a copy: it lives as long as numpy's.
template <class Element>
nb::object to_numpy(Array<Element> array) {
  using T = typename Numpy<Element>::Type;
  std::vector<std::size_t> shape;
  for (int axis = 0; axis < array.shape().rank(); ++axis)
    shape.push_back(static_cast<std::size_t>(array.extent(axis)));
  auto* const held = new Array<Element>(std::move(array));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Array<Element>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(held->data()), shape.size(), shape.data(), owner));
}

void bind_operators(nb::module_& module);
void bind_scans(nb::module_& module);
void bind_recon(nb::module_& module);

}  // namespace fhd::python
