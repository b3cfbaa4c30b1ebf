#pragma once
// How elements of an array of others lie in memory, from numbers that others state.
#include <cstdint>
#include <span>

namespace fhd::python {

/// Returns whether the elements lie one after the other, the last axis fastest; strides count elements, and those of an axis of one
/// element do not matter. An array without elements lies so whatever its strides.
inline bool lies_in_order(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) {
  for (const auto extent : extents)
    if (extent == 0) return true;
  std::int64_t step = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] < 0 || (extents[axis] != 1 && strides[axis] != step)) return false;
    if (__builtin_mul_overflow(step, extents[axis], &step)) return false;  // no memory has so many
  }
  return true;
}

}  // namespace fhd::python
