#pragma once
// Arrays that depend on the trajectory alone (Q, density compensation), kept from one reconstruction to
// others.
#include <array>
#include <cstddef>
#include <string>

#include "recon/domain/scan.hpp"

namespace fhd {

/// What an array is a function of.
struct TrajectoryProduct {
  const Trajectory& trajectory;
  std::array<int, 3> matrix_size;
  std::string what;  ///< quantity, precision and how it is computed: "Q, direct, single"
};

/// Implemented where files are known. Both calls come from one thread of each Reconstructor, of several at
/// once.
class TrajectoryCache {
 public:
  virtual ~TrajectoryCache() = default;
  /// Fills `bytes` bytes at `values` and returns true when the product is known, whole and of that size.
  virtual bool load(const TrajectoryProduct& product, void* values, std::size_t bytes) = 0;
  /// Keeps the product when it can; never throws because it cannot.
  virtual void store(const TrajectoryProduct& product, const void* values, std::size_t bytes) = 0;
  /// The product that `load` gave is wrong: forget it.
  virtual void forget(const TrajectoryProduct& product) = 0;
};

}  // namespace fhd
