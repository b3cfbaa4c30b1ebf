#include "recon/transform/phase/voxel_choice.hpp"

#include <algorithm>
#include <utility>

#include "recon/array/pointwise.hpp"

namespace fhd {
namespace {

class CostOfVoxels final : public TransformCost {
 public:
  /// `chosen` outlives the cost.
  CostOfVoxels(const TransformCost& chosen, double all, double count, std::size_t element)
      : chosen_(chosen), all_(all), count_(count), element_(static_cast<double>(element)) {}
  Work making() const override { return chosen_.making() + Work(WorkUnit::byte, bytes_of_numbers()); }
  Work forward(std::int64_t coils) const override { return chosen_.forward(coils) + copies(coils); }
  Work adjoint(std::int64_t coils) const override { return chosen_.adjoint(coils) + copies(coils); }
  std::size_t bytes() const override { return chosen_.bytes() + whole_bytes(bytes_of_numbers()); }
  std::size_t scratch_bytes(std::int64_t coils) const override {
    return chosen_.scratch_bytes(coils) + whole_bytes(static_cast<double>(coils) * count_ * element_);
  }
  double accuracy() const override { return chosen_.accuracy(); }
  Work point_spread() const override { return chosen_.point_spread(); }
  std::size_t point_spread_scratch_bytes() const override { return chosen_.point_spread_scratch_bytes(); }

 private:
  double bytes_of_numbers() const { return count_ * sizeof(std::int64_t); }
  Work copies(std::int64_t coils) const {
    return Work(WorkUnit::byte, static_cast<double>(coils) * element_ * (all_ + count_));
  }
  const TransformCost& chosen_;
  double all_, count_, element_;
};

template <class T>
class TransformOfVoxels final : public FourierTransform<T> {
 public:
  TransformOfVoxels(std::unique_ptr<FourierTransform<T>> chosen, std::array<int, 3> matrix_size,
                    const std::vector<std::int64_t>& voxels)
      : FourierTransform<T>(matrix_size, chosen->sample_count(), chosen->device()),
        chosen_(std::move(chosen)),
        voxels_(numbers(voxels).to(this->device())),
        cost_(chosen_->cost(), static_cast<double>(this->images_shape(1).size()),
              static_cast<double>(voxels.size()), sizeof(Complex<T>)) {}

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    Array<Complex<T>> values(chosen_->images_shape(coils), this->device());
    copy(coils, false, values.data(), const_cast<Complex<T>*>(images.data()));  // which is read alone
    chosen_->forward(values, samples);
  }
  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    Array<Complex<T>> values(chosen_->images_shape(coils), this->device());
    chosen_->adjoint(samples, values);
    images.fill_zero();
    copy(coils, true, values.data(), images.data());
  }
  const TransformCost& cost() const override { return cost_; }

 private:
  static Array<std::int64_t> numbers(const std::vector<std::int64_t>& voxels) {
    Array<std::int64_t> result(Shape{static_cast<std::int64_t>(voxels.size())});
    std::ranges::copy(voxels, result.begin());
    return result;
  }
  void copy(std::int64_t coils, bool scatters, Complex<T>* chosen, Complex<T>* all) const {
    for_each_index(this->device(), voxels_.size(),
                   CopyVoxels<T>{voxels_.data(), coils, voxels_.size(), this->images_shape(1).size(),
                                 scatters, chosen, all});
  }

  std::unique_ptr<FourierTransform<T>> chosen_;
  Array<std::int64_t> voxels_;
  CostOfVoxels cost_;
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> transform_of_voxels(std::unique_ptr<FourierTransform<T>> chosen,
                                                         std::array<int, 3> matrix_size,
                                                         const std::vector<std::int64_t>& voxels) {
  return std::make_unique<TransformOfVoxels<T>>(std::move(chosen), matrix_size, voxels);
}

template std::unique_ptr<FourierTransform<float>> transform_of_voxels<float>(
    std::unique_ptr<FourierTransform<float>>, std::array<int, 3>, const std::vector<std::int64_t>&);
template std::unique_ptr<FourierTransform<double>> transform_of_voxels<double>(
    std::unique_ptr<FourierTransform<double>>, std::array<int, 3>, const std::vector<std::int64_t>&);

}  // namespace fhd
