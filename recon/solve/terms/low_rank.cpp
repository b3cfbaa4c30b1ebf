#include "recon/solve/terms/low_rank_blocks.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

bool works_on_gpu(const LowRankBlocks& blocks, Device device) {
  if constexpr (built_with_cuda) return !device.is_cpu() && fits_low_rank_cuda(blocks, device);
  return false;
}

template <class T>
class LowRankTerm final : public SparseTerm<T> {
 public:
  LowRankTerm(const Shape& image, std::int64_t frames)
      : stack_{frames * image[0], image[1], image[2]}, blocks_(image, frames) {
    if (frames < 2) throw Error(Field{"regularizer"}, "at least two frames for llr", std::to_string(frames));
  }

  int planes() const override { return LowRankBlocks::grids; }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for (int grid = 0; grid < planes(); ++grid)
      copy_range(unknowns, 0, coefficients, grid * stack_.size(), stack_.size());
    scale(coefficients, share);
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    auto images = image_of(unknowns, stack_);
    for (int grid = 0; grid < planes(); ++grid)
      add_scaled(images, factor * share, one_of(coefficients, stack_, grid));
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    auto images = image_of(out, stack_);
    add_scaled(images, factor, image_of(in, stack_));
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    const Device device = coefficients.device();
    if (works_on_gpu(blocks_, device)) {
      if constexpr (built_with_cuda) return shorten_singular_values_cuda(blocks_, threshold, coefficients);
    }
    if (device.is_cpu()) return shorten_singular_values_cpu(blocks_, threshold, coefficients);
    auto host = coefficients.to(Device::cpu());
    shorten_singular_values_cpu(blocks_, threshold, host);
    copy_bytes(coefficients.data(), device, host.data(), Device::cpu(),
               static_cast<std::size_t>(host.size()) * sizeof(Complex<T>));
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    if (works_on_gpu(blocks_, coefficients.device())) {
      if constexpr (built_with_cuda) return weighted_nuclear_norm_cuda(blocks_, coefficients);
    }
    if (coefficients.device().is_cpu()) return weighted_nuclear_norm_cpu(blocks_, coefficients);
    return weighted_nuclear_norm_cpu(blocks_, coefficients.to(Device::cpu()));
  }
  double circulant(const std::array<double, 3>&) const override { return 1; }

 private:
  static constexpr T share = T(LowRankBlocks::share);

  Shape stack_;
  LowRankBlocks blocks_;
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> low_rank_term(const Shape& image, std::int64_t frames) {
  return std::make_shared<LowRankTerm<T>>(image, frames);
}

template std::shared_ptr<const SparseTerm<float>> low_rank_term<float>(const Shape&, std::int64_t);
template std::shared_ptr<const SparseTerm<double>> low_rank_term<double>(const Shape&, std::int64_t);

}  // namespace fhd
