#include "recon/solve/terms/temporal_functors.hpp"
#include "recon/solve/terms/vectors_of_voxels.hpp"

namespace fhd {
namespace {

template <class T>
class TemporalTvTerm final : public SparseTerm<T> {
 public:
  TemporalTvTerm(const Shape& image, std::int64_t frames)
      : voxels_(image.size()), all_(frames * image.size()), frames_(static_cast<double>(frames)) {
    if (frames < 2)
      throw Error(Field{"regularizer"}, "at least two frames for temporal-tv", std::to_string(frames));
  }

  int planes() const override { return 1; }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for_each_index(unknowns.device(), all_,
                   TakeTimeDifferences<T>{voxels_, all_, unknowns.data(), coefficients.data()});
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    for_each_index(
        unknowns.device(), all_,
        AddTimeDifferencesTransposed<T>{voxels_, all_, factor, coefficients.data(), unknowns.data()});
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    for_each_index(in.device(), all_,
                   AddSecondTimeDifferences<T>{voxels_, all_, factor, in.data(), out.data()});
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    shrink_vectors(0, 1, threshold, all_, coefficients);
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    return sum_of_lengths(0, 1, all_, coefficients, memory_for(roots_, all_, coefficients.device()));
  }
  /// The mean over the frequencies in time: a circulant of one image knows no more.
  double circulant(const std::array<double, 3>&) const override { return 2 * (frames_ - 1) / frames_; }

 private:
  std::int64_t voxels_, all_;
  double frames_;
  mutable Array<Complex<T>> roots_;  ///< scratch
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> temporal_tv_term(const Shape& image, std::int64_t frames) {
  return std::make_shared<TemporalTvTerm<T>>(image, frames);
}

template std::shared_ptr<const SparseTerm<float>> temporal_tv_term<float>(const Shape&, std::int64_t);
template std::shared_ptr<const SparseTerm<double>> temporal_tv_term<double>(const Shape&, std::int64_t);

}  // namespace fhd
