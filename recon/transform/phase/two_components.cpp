#include "recon/transform/phase/two_components.hpp"

#include <utility>

#include "recon/array/pointwise.hpp"
#include "recon/array/vector_math.hpp"

namespace fhd {
namespace {

/// The cost of both components, which cost the same.
class CostOfComponents final : public TransformCost {
 public:
  /// `one` outlives the cost.
  CostOfComponents(const TransformCost& one, double voxels, double samples, std::size_t element)
      : one_(one), voxels_(voxels), samples_(samples), element_(static_cast<double>(element)) {}
  Work making() const override { return 2 * one_.making(); }
  Work forward(std::int64_t coils) const override { return 2 * (one_.forward(coils) + passes(coils)); }
  Work adjoint(std::int64_t coils) const override { return 2 * (one_.adjoint(coils) + passes(coils)); }
  std::size_t bytes() const override { return 2 * one_.bytes() + whole_bytes(voxels_ * sizeof(double)); }
  std::size_t scratch_bytes(std::int64_t coils) const override {
    return one_.scratch_bytes(coils) +
           whole_bytes(static_cast<double>(coils) * element_ * (voxels_ + samples_));
  }
  double accuracy() const override { return one_.accuracy(); }
  Work point_spread() const override { return one_.point_spread(); }
  std::size_t point_spread_scratch_bytes() const override { return one_.point_spread_scratch_bytes(); }

 private:
  Work passes(std::int64_t coils) const {
    return Work(WorkUnit::byte, static_cast<double>(coils) * element_ * (voxels_ + samples_));
  }
  const TransformCost& one_;
  double voxels_, samples_, element_;
};

template <class T>
class SumOfComponents final : public FourierTransform<T> {
 public:
  SumOfComponents(std::unique_ptr<FourierTransform<T>> first, std::unique_ptr<FourierTransform<T>> second,
                  const Array<double>& fraction)
      : FourierTransform<T>(first->matrix_size(), first->sample_count(), first->device()),
        components_{std::move(first), std::move(second)},
        fraction_(fraction.to(this->device())),
        cost_(components_[0]->cost(), static_cast<double>(fraction.size()),
              static_cast<double>(this->sample_count()), sizeof(Complex<T>)) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    Array<Complex<T>> share(this->images_shape(coils), this->device()),
        seen(this->samples_shape(coils), this->device());
    multiply(images, 0, share);
    components_[0]->forward(share, samples);
    multiply(images, 1, share);
    components_[1]->forward(share, seen);
    add_scaled(samples, T(1), seen);
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    Array<Complex<T>> of_component(this->images_shape(coils), this->device());
    for (const int component : {0, 1}) {
      components_[component]->adjoint(samples, of_component);
      multiply(of_component, component, images, component == 1);
    }
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  void multiply(const Array<Complex<T>>& from, int component, Array<Complex<T>>& to,
                bool adds = false) const {
    for_each_index(this->device(), fraction_.size(),
                   MultiplyByShare<T>{fraction_.data(), from.data(), from.size(), fraction_.size(),
                                      component == 1, adds, to.data()});
  }

  std::unique_ptr<FourierTransform<T>> components_[2];
  Array<double> fraction_;
  CostOfComponents cost_;
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> sum_of_components(std::unique_ptr<FourierTransform<T>> first,
                                                       std::unique_ptr<FourierTransform<T>> second,
                                                       const Array<double>& fraction) {
  return std::make_unique<SumOfComponents<T>>(std::move(first), std::move(second), fraction);
}

template std::unique_ptr<FourierTransform<float>> sum_of_components<float>(
    std::unique_ptr<FourierTransform<float>>, std::unique_ptr<FourierTransform<float>>, const Array<double>&);
template std::unique_ptr<FourierTransform<double>> sum_of_components<double>(
    std::unique_ptr<FourierTransform<double>>, std::unique_ptr<FourierTransform<double>>,
    const Array<double>&);

}  // namespace fhd
