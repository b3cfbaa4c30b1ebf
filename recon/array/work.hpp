#pragma once
// The cost of a computation, as counts of units of work. An operator states its work, a machine states its rates
// (seconds for each unit, pipeline/prediction.cpp), and their product predicts a time within a factor of two.
#include <algorithm>
#include <array>
#include <cstddef>

namespace fhd {

enum class Precision { single_precision, double_precision };
template <class T>
constexpr Precision precision_of() {
  return sizeof(T) == sizeof(float) ? Precision::single_precision : Precision::double_precision;
}
/// Returns the bytes of one complex number.
constexpr std::size_t bytes_of_complex(Precision precision) {
  return precision == Precision::single_precision ? 8 : 16;
}

enum class WorkUnit {
  pair,              ///< direct sums: a voxel and a sample
  matrix_product,    ///< direct sums on tensor cores: a computed point, a sample, and a product of parts
  fft,               ///< an operation (of 5 n log2 n) of an FFT
  kernel_point,      ///< gridding in a volume: a sample and a point of its kernel
  byte,              ///< read and written
  transferred_byte,  ///< to or from a GPU
  algebra,           ///< dense linear algebra on the CPU: a complex multiplication and addition
  region,            ///< starting and joining the threads, or launching a kernel
  count_             ///< of the units
};

class Work {
 public:
  static constexpr std::size_t units = static_cast<std::size_t>(WorkUnit::count_);

  Work() = default;
  Work(WorkUnit unit, double count, Precision precision = Precision::single_precision) {
    at(unit, precision) = count;
  }
  double& at(WorkUnit unit, Precision precision) {
    return counts_[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  }
  double at(WorkUnit unit, Precision precision) const {
    return counts_[static_cast<std::size_t>(precision)][static_cast<std::size_t>(unit)];
  }
  Work& operator+=(const Work& other) {
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t unit = 0; unit < units; ++unit) counts_[p][unit] += other.counts_[p][unit];
    return *this;
  }
  friend Work operator+(Work a, const Work& b) { return a += b; }
  friend Work operator*(double times, Work work) {
    for (auto& of_precision : work.counts_)
      for (double& count : of_precision) count *= times;
    return work;
  }

 private:
  std::array<std::array<double, units>, 2> counts_{};
};

/// The cost of an operator of known sizes.
struct OperatorCost {
  Work making, forward;           ///< of the constructor; of one product
  std::size_t bytes = 0;          ///< held on its device as long as it lives
  std::size_t making_bytes = 0;   ///< in addition while it is made
  std::size_t scratch_bytes = 0;  ///< in addition while it is applied
  Work adjoint;                   ///< of one adjoint product, where it differs from forward
};

/// Returns the bytes as a whole number; sizes beyond any machine count as 2^63.
inline std::size_t whole_bytes(double bytes) { return static_cast<std::size_t>(std::min(bytes, 0x1p63)); }

}  // namespace fhd
