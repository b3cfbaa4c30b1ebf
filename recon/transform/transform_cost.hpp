#pragma once
// What a transform of one trajectory costs, holds and promises, said by the transform itself and known from
// sizes alone, so that a plan asks the same rule as the transform that is made later.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "recon/array/device.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// Samples of a trajectory, and how many of their positions along x, and along x and y, differ: the direct
/// adjoint on the CPU takes those that agree together (direct/sample_groups.hpp). Not known: all differ.
struct SampleCount {
  std::int64_t all = 0, x = 0, xy = 0;
};

struct TransformSizes {
  std::array<int, 3> matrix_size{1, 1, 1};
  SampleCount samples;
  Precision precision = Precision::single_precision;
  Device device;
};

/// Of a transform whose sizes are known. Bytes are those of the arrays on its device.
class TransformCost {
 public:
  virtual ~TransformCost() = default;
  /// Of the constructor, and of one call for so many coils.
  virtual Work making() const = 0;
  virtual Work forward(std::int64_t coils) const = 0;
  virtual Work adjoint(std::int64_t coils) const = 0;
  /// Held as long as the transform lives, before the first call.
  virtual std::size_t bytes() const = 0;
  /// Taken beside by a call for so many coils, the larger of forward and adjoint.
  virtual std::size_t scratch_bytes(std::int64_t coils) const = 0;
  /// Relative l2 error that is promised.
  virtual double accuracy() const = 0;
  /// Of the point-spread kernel q on the periodic difference grid with the same kind of sums, and what it
  /// takes in the making beside its result.
  virtual Work point_spread() const = 0;
  virtual std::size_t point_spread_scratch_bytes() const = 0;
};

}  // namespace fhd
