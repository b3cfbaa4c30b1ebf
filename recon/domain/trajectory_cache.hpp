#pragma once
// A cache of arrays that depend on the trajectory alone (Q, density compensation), from one reconstruction to others.
#include <array>
#include <cstddef>
#include <string>

#include "recon/domain/scan.hpp"

namespace fhd {

/// The key of an array: what it is a function of.
struct TrajectoryProduct {
  const Trajectory& trajectory;
  std::array<int, 3> matrix_size;
  std::string what;  ///< quantity, precision and how it is computed: "Q, direct, single"
};

/// Implemented where files are known. Several Reconstructors may call it at the same time.
class TrajectoryCache {
 public:
  virtual ~TrajectoryCache() = default;
  /// Fills `bytes` bytes at `values` and returns true when the product is known, of that size, and its checksum agrees.
  virtual bool load(const TrajectoryProduct& product, void* values, std::size_t bytes) = 0;
  /// Stores the product when it can; never throws because it cannot.
  virtual void store(const TrajectoryProduct& product, const void* values, std::size_t bytes) = 0;
};

}  // namespace fhd
