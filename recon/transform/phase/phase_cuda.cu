// Phase sums on a device: which kernels take them, and the sums pair by pair.
#include <memory>
#include <numbers>

#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/phase/phase_device.hpp"
#include "recon/transform/phase/phase_pairs_cuda.cuh"

namespace fhd {
namespace {

using namespace phase_cuda;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The factors of voxels, or samples, in double.
struct Side {
  std::int64_t count, padded;
  Array<double> turns, decay;

  Side(const Array<double>& factors, double scale, const Array<double>& of_decay, Device device)
      : count(factors.extent(1)), padded(ceil_div(count, targets_of_block) * targets_of_block) {
    const std::int64_t terms = factors.extent(0);
    Array<double> host({terms, padded});
    for (std::int64_t term = 0; term < terms; ++term)
      for (std::int64_t i = 0; i < count; ++i) host[term * padded + i] = scale * factors[term * count + i];
    turns = host.to(device);
    if (of_decay.empty()) return;
    Array<double> rates(Shape{padded});
    std::copy(of_decay.begin(), of_decay.end(), rates.begin());
    decay = rates.to(device);
  }
  Factors view() const { return {turns.data(), decay.empty() ? nullptr : decay.data(), count, padded}; }
};

template <class T>
class PairSums final : public PhaseSums<T> {
 public:
  PairSums(const PhaseTerms& terms, Device device)
      : device_(device),
        terms_(static_cast<int>(terms.coefficients.extent(0))),
        voxels_(summed_of(terms.basis, terms.summed_voxels), 1,
                summed_of(terms.decay_per_s, terms.summed_voxels), device),
        samples_(terms.coefficients, 1 / (2 * std::numbers::pi),
                 terms.decay_per_s.empty() ? Array<double>() : terms.sample_time_s, device) {
    constexpr int most_terms = 512;  // of which a tile lies in shared memory
    if (terms_ > most_terms)
      throw Error("terms on a GPU", "at most " + std::to_string(most_terms), std::to_string(terms_));
  }
  double bytes_of_item() const override {
    return static_cast<double>(sizeof(double)) * (terms_ + (voxels_.decay.empty() ? 0 : 1));
  }
  void forward(const Complex<T>* images, std::int64_t coils, Complex<T>* samples) const override {
    sum(samples_, voxels_, coils, true, images, samples);
  }
  void adjoint(const Complex<T>* samples, std::int64_t coils, Complex<T>* images) const override {
    sum(voxels_, samples_, coils, false, samples, images);
  }

 private:
  /// values [coil][source] -> results [coil][target], in passes of 8, 4 and 1 coils.
  void sum(const Side& targets, const Side& sources, std::int64_t coil_count, bool is_conjugate,
           const Complex<T>* values, Complex<T>* results) const {
    const std::int64_t parts = phase_parts(targets.count, sources.count, device_);
    Array<Complex<T>> partial;
    if (parts > 1)
      partial = Array<Complex<T>>({parts, std::min<std::int64_t>(coil_count, 8), targets.count}, device_);
    const auto pass = [&]<int coils>(std::int64_t coil) {
      launch<coils>(targets, sources, is_conjugate, parts, values + coil * sources.count,
                    results + coil * targets.count, partial);
    };
    std::int64_t coil = 0;
    for (; coil + 8 <= coil_count; coil += 8) pass.template operator()<8>(coil);
    for (; coil + 4 <= coil_count; coil += 4) pass.template operator()<4>(coil);
    for (; coil < coil_count; ++coil) pass.template operator()<1>(coil);
  }
  template <int coils>
  void launch(const Side& targets, const Side& sources, bool is_conjugate, std::int64_t parts,
              const Complex<T>* values, Complex<T>* results, Array<Complex<T>>& partial) const {
    const auto kernel =
        targets.decay.empty() ? add_pairs_kernel<T, coils, false> : add_pairs_kernel<T, coils, true>;
    const std::size_t bytes = shared_bytes<T, coils>(terms_);
    device::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of phase sums");
    const std::int64_t of_part = ceil_div(ceil_div(sources.count, parts), phase_part_unit) * phase_part_unit,
                       used = ceil_div(sources.count, of_part), size = coils * targets.count;
    const dim3 blocks(static_cast<unsigned>(targets.padded / targets_of_block), static_cast<unsigned>(used));
    kernel<<<blocks, block, bytes>>>(targets.view(), sources.view(), terms_, values, of_part, is_conjugate,
                                     size, used == 1 ? results : partial.data());
    device::check_launch("add_pairs_kernel");
    if (used > 1)
      device::for_each_index(size, SumOfParts<T>{partial.data(), static_cast<int>(used), size, results});
  }

  Device device_;
  int terms_;
  Side voxels_, samples_;
};

/// Tensor cores take single precision without decay where their limbs hold the phases and nobody asks for more digits.
template <class T>
std::unique_ptr<PhaseSums<T>> make_sums(const PhaseTerms& terms, std::array<int, 3> matrix_size,
                                        Device device, GpuSums choice) {
  if constexpr (std::is_same_v<T, float>)
    if (terms.decay_per_s.empty() && choice != GpuSums::accurate && choice != GpuSums::fast) {
      auto phase = phase_limbs::reduced_phase(terms, matrix_size);
      if (const auto plan = phase_limbs::plan_limbs(phase)) {
        phase.basis = summed_of(phase.basis, terms.summed_voxels);
        return make_tensor_sums(phase, *plan, device);
      }
    }
  return std::make_unique<PairSums<T>>(terms, device);
}

template <class T>
class PhaseTransformCuda final : public FourierTransform<T> {
 public:
  PhaseTransformCuda(const PhaseTerms& terms, std::array<int, 3> matrix_size, Device device, GpuSums choice)
      : FourierTransform<T>(summed_matrix(terms, matrix_size), terms.coefficients.extent(1), device),
        sums_(make_sums<T>(terms, matrix_size, device, choice)),
        cost_({this->matrix_size(), {terms.coefficients.extent(1)}, precision_of<T>(), device},
              sums_->bytes_of_item()) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const CurrentDevice guard(this->device());
    sums_->forward(images.data(), this->check_batch(images, samples), samples.data());
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const CurrentDevice guard(this->device());
    sums_->adjoint(samples.data(), this->check_batch(images, samples), images.data());
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  std::unique_ptr<PhaseSums<T>> sums_;
  PhaseCost cost_;
};

}  // namespace

void add_phase_parts(const Array<Complex<float>>& partial, std::int64_t parts, std::int64_t size,
                     Complex<float>* results) {
  device::for_each_index(size, SumOfParts<float>{partial.data(), static_cast<int>(parts), size, results});
}

template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform_cuda(const PhaseTerms& terms,
                                                               std::array<int, 3> matrix_size, Device device,
                                                               GpuSums choice) {
  const CurrentDevice guard(device);
  return std::make_unique<PhaseTransformCuda<T>>(terms, matrix_size, device, choice);
}
template std::unique_ptr<FourierTransform<float>> make_phase_transform_cuda<float>(const PhaseTerms&,
                                                                                   std::array<int, 3>, Device,
                                                                                   GpuSums);
template std::unique_ptr<FourierTransform<double>> make_phase_transform_cuda<double>(const PhaseTerms&,
                                                                                     std::array<int, 3>,
                                                                                     Device, GpuSums);

}  // namespace fhd
