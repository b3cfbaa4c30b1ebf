#pragma once
// Row-major memory on a device. The device is where the data lives; copies between devices happen only by
// name, with to(Device).
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "recon/array/complex.hpp"
#include "recon/array/memory.hpp"
#include "recon/error.hpp"

namespace fhd {

/// Extents of an array, slowest axis first: [coil][z][y][x]. At most five axes; no allocation.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) {
    if (extents.size() > extents_.size())
      throw Error("array", "at most 5 axes", std::to_string(extents.size()));
    for (auto extent : extents) {
      if (extent < 0) throw Error("array", "extents >= 0", std::to_string(extent));
      extents_[rank_++] = extent;
    }
    size_ = rank_ == 0 ? 0 : 1;
    for (int axis = 0; axis < rank_; ++axis)
      if (__builtin_mul_overflow(size_, extents_[axis], &size_))
        throw Error("array", "a size below 2^63 elements", text());
  }
  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const {
    assert(axis < rank_);
    return extents_[axis];
  }
  std::int64_t size() const { return size_; }
  /// "[4][16][64][64]"
  std::string text() const {
    std::string s;
    for (int axis = 0; axis < rank_; ++axis) s.append("[").append(std::to_string(extents_[axis])).append("]");
    return s.empty() ? "[]" : s;
  }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, 5> extents_{};
  std::int64_t size_ = 0;  // the product of the extents; no axes: 0
  int rank_ = 0;
};

/// Zero-initialised elements of a trivially copyable type, owned; or a view of elements that others own.
/// Copying copies the data: the copy owns it, of a view too.
template <class T>
class Array {
 public:
  using value_type = T;

  Array() = default;
  explicit Array(Shape shape, Device device = Device::cpu())
      : shape_(shape), memory_(bytes_of(shape), device) {}
  Array(const Array& other) : shape_(other.shape_), memory_(other.memory_.copy(other.device())) {}
  Array(Array&& other) noexcept { swap(other); }
  /// The elements at `data` on `device`, as they are: nothing is copied, and what is written is written there.
  /// They outlive the view and everything that it is moved to. Where work on a GPU may still be under way,
  /// wait (device::synchronize) before `data` is used or freed elsewhere.
  static Array view(T* data, Shape shape, Device device = Device::cpu()) {
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0 || (data == nullptr && shape.size() > 0))
      throw Error("array", "a view of " + std::to_string(alignof(T)) + "-byte aligned memory",
                  "another address");
    Array result;
    result.shape_ = shape;
    result.memory_ = Memory::view(data, bytes_of(shape), device);
    return result;
  }
  Array& operator=(Array other) noexcept {
    swap(other);
    return *this;
  }

  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return shape_.size(); }
  bool empty() const { return size() == 0; }
  std::int64_t extent(int axis) const { return shape_[axis]; }
  Device device() const { return memory_.device(); }
  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }

  /// Element access in host memory only.
  T& operator[](std::int64_t i) {
    assert(device().is_cpu() && i < size());
    return data()[i];
  }
  const T& operator[](std::int64_t i) const {
    assert(device().is_cpu() && i < size());
    return data()[i];
  }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  /// A copy of the data on `device`.
  Array to(Device device) const {
    Array copy;
    copy.shape_ = shape_;
    copy.memory_ = memory_.copy(device);
    return copy;
  }
  /// Returns the same data under another shape of the same size.
  Array reshaped(Shape shape) && {
    if (shape.size() != size()) throw Error("array", shape_.text(), shape.text());
    Array result(std::move(*this));
    result.shape_ = shape;
    return result;
  }
  void fill_zero() { memory_.fill_zero(); }

 private:
  static std::size_t bytes_of(const Shape& shape) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(shape.size(), std::int64_t(sizeof(T)), &bytes))
      throw Error("array", "a size below 2^63 bytes", shape.text());
    return static_cast<std::size_t>(bytes);
  }
  void swap(Array& other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(memory_, other.memory_);
  }

  Shape shape_;
  Memory memory_;
};

/// Throws unless `array` has `shape`; `name` is what the message calls it.
template <class T>
void require_shape(const Array<T>& array, const Shape& shape, std::string_view name) {
  if (!(array.shape() == shape)) throw Error(name, shape.text(), array.shape().text());
}

/// Memory of at least `size` elements with any contents, made where `array` has less.
template <class T>
T* memory_for(Array<T>& array, std::int64_t size, Device device = Device::cpu()) {
  if (array.size() < size) {
    array = {};  // first free what there is
    array = Array<T>(Shape{size}, device);
  }
  return array.data();
}

/// A host copy with another element type: float <-> double, Complex<float> <-> Complex<double>.
template <class To, class From>
Array<To> converted(const Array<From>& from) {
  if constexpr (std::is_same_v<To, From>) return from.to(Device::cpu());
  const Array<From>* source = &from;
  Array<From> host;
  if (from.device().is_cuda()) {
    host = from.to(Device::cpu());
    source = &host;
  }
  Array<To> result(from.shape());
  const From* values = source->data();
  To* at = result.data();
  const std::int64_t count = from.size();
#ifdef _OPENMP  // not in CUDA sources
#pragma omp parallel for schedule(static) if (count > 1 << 16)
#endif
  for (std::int64_t i = 0; i < count; ++i) at[i] = static_cast<To>(values[i]);
  return result;
}

}  // namespace fhd
