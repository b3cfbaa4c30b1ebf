#pragma once
// The two kinds of phase sums on a device, pair by pair (phase_cuda.cu) and on tensor cores (phase_tensor_cuda.cu). The device is
// current in all of it.
#include <memory>

#include "recon/array/array.hpp"
#include "recon/transform/phase/phase_limbs.hpp"

namespace fhd {

/// Sums of one set of terms: arrays [coil][z][y][x] and [coil][sample] on the device. Const: scratch belongs to a call.
template <class T>
struct PhaseSums {
  virtual ~PhaseSums() = default;
  /// Held for each voxel and sample.
  virtual double bytes_of_item() const = 0;
  virtual void forward(const Complex<T>* images, std::int64_t coils, Complex<T>* samples) const = 0;
  virtual void adjoint(const Complex<T>* samples, std::int64_t coils, Complex<T>* images) const = 0;
};
std::unique_ptr<PhaseSums<float>> make_tensor_sums(const phase_limbs::ReducedPhase& phase,
                                                   const phase_limbs::Plan& plan, Device device);

/// results[i] = sum over parts of partial[part][i], in order.
void add_phase_parts(const Array<Complex<float>>& partial, std::int64_t parts, std::int64_t size,
                     Complex<float>* results);

}  // namespace fhd
