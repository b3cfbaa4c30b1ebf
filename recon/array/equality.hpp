#pragma once
// Tells whether arrays of numbers are equal.
#include <algorithm>
#include <cstring>

#include "recon/array/array.hpp"

namespace fhd {

/// Returns whether two arrays in host memory have one shape and equal numbers, by their bytes where these are the same: NaN
/// equals NaN of the same bytes. Arrays that differ early are told apart early.
template <class T>
bool are_equal(const Array<T>& a, const Array<T>& b) {
  if (!(a.shape() == b.shape())) return false;
  if (a.empty()) return true;
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(T)) == 0 ||
         std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace fhd
