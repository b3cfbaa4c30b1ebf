// Phase sums on tensor cores: what lies on the device, and which kernel takes so many coils.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "recon/transform/coil_scales_cuda.cuh"
#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/phase/phase_device.hpp"
#include "recon/transform/phase/phase_tensor_cuda.cuh"

namespace fhd {
namespace {

using namespace phase_tensor;

constexpr int small_block = 256;
unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + small_block - 1) / small_block);
}
std::int64_t padded(std::int64_t count) { return (count + padding - 1) / padding * padding; }

/// Limbs of voxels or samples on the device, and the phasors of phases that belong to samples alone.
struct LimbSide {
  std::int64_t count;
  Array<unsigned char> limbs;
  Array<Complex<float>> phasors;  ///< empty: ones

  LimbSide(const Array<double>& factors, const phase_limbs::Plan& plan, bool is_basis, Device device)
      : count(factors.extent(1)), limbs({padded(count) / tile, limb_bytes(plan.steps)}, device) {
    const auto on_device = factors.to(device);
    make_limbs_kernel<<<blocks_for(padded(count) * tile), small_block>>>(
        on_device.data(), count, padded(count), plan, is_basis, reinterpret_cast<__half*>(limbs.data()));
    device::check_launch("make_limbs_kernel");
  }
};

class TensorSums final : public PhaseSums<float> {
 public:
  TensorSums(const phase_limbs::ReducedPhase& phase, const phase_limbs::Plan& plan, Device device)
      : device_(device),
        steps_(plan.steps),
        fraction_bits_(plan.fraction_bits),
        voxels_(phase.basis, plan, true, device),
        samples_(phase.coefficients, plan, false, device) {
    Array<Complex<float>> phasors({samples_.count});
    for (std::int64_t m = 0; m < samples_.count; ++m) {
      const double turns = phase.turns_of_sample[m],
                   angle = 2 * std::numbers::pi * (turns - std::rint(turns));
      phasors[m] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    samples_.phasors = phasors.to(device);
  }
  double bytes_of_item() const override { return static_cast<double>(limb_bytes(steps_)) / tile; }
  void forward(const Complex<float>* images, std::int64_t coils, Complex<float>* samples) const override {
    sum(samples_, voxels_, coils, true, images, samples);
  }
  void adjoint(const Complex<float>* samples, std::int64_t coils, Complex<float>* images) const override {
    sum(voxels_, samples_, coils, false, samples, images);
  }

 private:
  void sum(const LimbSide& rows, const LimbSide& columns, std::int64_t coil_count, bool is_conjugate,
           const Complex<float>* values, Complex<float>* results) const {
    std::int64_t coil = 0;
    while (coil < coil_count) {
      const std::int64_t left = coil_count - coil, taken = left <= 2 ? 1 : std::min<std::int64_t>(left, 32);
      const Complex<float>* of_coils = values + coil * columns.count;
      Complex<float>* to = results + coil * rows.count;
      const auto pass = [&]<int coil_tiles>() {
        steps_ == 4 ? launch<4, coil_tiles>(rows, columns, taken, is_conjugate, of_coils, to)
                    : launch<6, coil_tiles>(rows, columns, taken, is_conjugate, of_coils, to);
      };
      if (taken == 1)
        pass.template operator()<0>();
      else if (taken <= 8)
        pass.template operator()<2>();
      else if (taken <= 16)
        pass.template operator()<4>();
      else
        pass.template operator()<8>();
      coil += taken;
    }
  }
  template <int steps, int coil_tiles>
  void launch(const LimbSide& rows, const LimbSide& columns, std::int64_t coils, bool is_conjugate,
              const Complex<float>* values, Complex<float>* results) const {
    // Registers hold the limbs of so many rows.
    constexpr int row_tiles = coil_tiles == 0 && steps == 4 ? 4 : 2;
    const Complex<float>* phasors = columns.phasors.empty() ? nullptr : columns.phasors.data();
    const std::int64_t column_count = padded(columns.count);
    Array<unsigned char> packed({column_count / tile, value_bytes(coil_tiles)}, device_);
    Array<float> scale_memory;
    const float* scale = nullptr;
    if constexpr (coil_tiles == 0) {
      pack_values_kernel<<<blocks_for(column_count), small_block>>>(
          values, phasors, is_conjugate, columns.count, column_count,
          reinterpret_cast<Complex<float>*>(packed.data()));
      device::check_launch("pack_values_kernel");
    } else {
      scale = coil_scales(scale_memory, device_, reinterpret_cast<const float2*>(values), coils,
                          columns.count, value_exponent);
      pack_coils_kernel<<<blocks_for(column_count / tile * coil_tiles * 32), small_block>>>(
          values, scale, phasors, is_conjugate, static_cast<int>(coils), coil_tiles, columns.count,
          column_count, reinterpret_cast<uint4*>(packed.data()));
      device::check_launch("pack_coils_kernel");
    }
    constexpr std::int64_t rows_of_block = std::int64_t{warps} * row_tiles * tile;
    const std::int64_t blocks = (rows.count + rows_of_block - 1) / rows_of_block,
                       parts = phase_parts(rows.count, columns.count, device_), size = coils * rows.count,
                       of_part = (columns.count + parts * phase_part_unit - 1) / (parts * phase_part_unit) *
                                 phase_part_unit,
                       used = (columns.count + of_part - 1) / of_part;
    Array<Complex<float>> partial;
    if (used > 1) partial = Array<Complex<float>>({used, size}, device_);
    const auto kernel = add_phases_kernel<steps, row_tiles, coil_tiles>;
    constexpr int bytes = shared_bytes<steps, row_tiles, coil_tiles>;
    device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                  "shared memory of phase sums");
    kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(used)), warps * 32, bytes>>>(
        {reinterpret_cast<const uint4*>(rows.limbs.data()), columns.limbs.data(), packed.data(), scale,
         rows.phasors.empty() ? nullptr : rows.phasors.data(), rows.count, columns.count, of_part,
         static_cast<int>(coils), fraction_bits_, is_conjugate, used == 1 ? results : partial.data()});
    device::check_launch("add_phases_kernel");
    if (used > 1) add_phase_parts(partial, used, size, results);
  }

  Device device_;
  int steps_, fraction_bits_;
  LimbSide voxels_, samples_;
};

}  // namespace

std::unique_ptr<PhaseSums<float>> make_tensor_sums(const phase_limbs::ReducedPhase& phase,
                                                   const phase_limbs::Plan& plan, Device device) {
  return std::make_unique<TensorSums>(phase, plan, device);
}

}  // namespace fhd
