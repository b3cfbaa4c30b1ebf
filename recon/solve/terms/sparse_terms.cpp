// Which sparse terms there are, and what they cost; those of differences.
#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/solve/terms/difference_functors.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

/// Throws Error where the image is a single voxel.
DifferenceAxes difference_axes(const Shape& image) {
  const std::int64_t size[3] = {image[2], image[1], image[0]};
  const DifferenceAxes axes(size);
  if (axes.count == 0) throw Error(Field{"regularizer"}, "an image of more than one voxel", image.text());
  return axes;
}

/// Returns the sum over the axes of the eigenvalues 2 - 2 cos(angle) of differences: D^T D.
double laplacian(const std::array<double, 3>& angles) {
  double sum = 0;
  for (const double angle : angles) sum += 2 - 2 * std::cos(angle);
  return sum;
}

/// Every vector of `planes` values, from plane `first` on, is shortened by the threshold.
template <class T>
void shrink_vectors(int first, int planes, T threshold, std::int64_t voxels, Array<Complex<T>>& values) {
  for_each_index(values.device(), voxels,
                 ShrinkVectors<T>{voxels, planes, threshold, values.data() + first * voxels});
}

/// The sum of their lengths; at least `voxels` of scratch.
template <class T>
double sum_of_lengths(int first, int planes, std::int64_t voxels, const Array<Complex<T>>& values,
                      Complex<T>* scratch) {
  const auto roots = Array<Complex<T>>::view(scratch, Shape{voxels}, values.device());
  for_each_index(values.device(), voxels,
                 RootsOfVectors<T>{voxels, planes, values.data() + first * voxels, scratch});
  return real_dot(roots, roots);
}

/// Total variation, isotropic: A rho = the differences rho(p + 1) - rho(p) along every axis with more than one voxel, 0 at
/// its end; g = sum over voxels of sqrt(sum over axes |.|^2). Source: Rudin, Osher and Fatemi, Physica D 60:259 (1992).
template <class T>
class TvTerm final : public SparseTerm<T> {
 public:
  explicit TvTerm(const Shape& image) : image_(image), axes_(difference_axes(image)) {}

  int planes() const override { return axes_.count; }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeGradient<T>{axes_, unknowns.data(), nullptr, coefficients.data()});
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    for_each_index(unknowns.device(), axes_.voxels,
                   AddGradientTransposed<T>{axes_, factor, coefficients.data(), unknowns.data(), nullptr});
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    for_each_index(
        in.device(), axes_.voxels,
        AddRoughness<T>{in.data(), factor, nullptr, {image_[2], image_[1], image_[0]}, out.data()});
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    shrink_vectors(0, planes(), threshold, axes_.voxels, coefficients);
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    return sum_of_lengths(0, planes(), axes_.voxels, coefficients,
                          memory_for(roots_, axes_.voxels, coefficients.device()));
  }
  double circulant(const std::array<double, 3>& angles) const override { return laplacian(angles); }

 private:
  Shape image_;
  DifferenceAxes axes_;
  mutable Array<Complex<T>> roots_;  ///< scratch
};

/// Total generalised variation of second order: the least, over vector fields v, of sum |D rho - v| + 2 sum |E v|, D as
/// for tv, E v = (D' v + (D' v)^T) / 2 with backward differences D' and the norm of matrices. Slopes cost nothing, so that
/// they do not become stairs. Source: Bredies, Kunisch and Pock, SIAM J. Imaging Sci. 3:492 (2010); the ratio 2: Knoll
/// et al., MRM 65:480 (2011).
///
/// Unknowns: the image, then its slopes v along every axis. Coefficients: D rho - v, then E v, which counts twice.
template <class T>
class TgvTerm final : public SparseTerm<T> {
 public:
  explicit TgvTerm(const Shape& image) : axes_(difference_axes(image)) {}

  int auxiliary() const override { return axes_.count; }
  int planes() const override { return axes_.count + matrix_planes(); }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    const Complex<T>* slopes = unknowns.data() + axes_.voxels;
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeGradient<T>{axes_, unknowns.data(), slopes, coefficients.data()});
    for_each_index(unknowns.device(), axes_.voxels,
                   TakeSymmetricGradient<T>{axes_, slopes, coefficients.data() + axes_.count * axes_.voxels});
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    Complex<T>* slopes = unknowns.data() + axes_.voxels;
    for_each_index(unknowns.device(), axes_.voxels,
                   AddGradientTransposed<T>{axes_, factor, coefficients.data(), unknowns.data(), slopes});
    for_each_index(unknowns.device(), axes_.voxels,
                   AddSymmetricGradientTransposed<T>{
                       axes_, factor, coefficients.data() + axes_.count * axes_.voxels, slopes});
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    auto coefficients =
        Array<Complex<T>>::view(scratch(in.device()), Shape{planes() * axes_.voxels}, in.device());
    analyze(in, coefficients);
    add_adjoint(coefficients, factor, out);
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    shrink_vectors(0, axes_.count, threshold, axes_.voxels, coefficients);
    shrink_vectors(axes_.count, matrix_planes(), ratio * threshold, axes_.voxels, coefficients);
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    Complex<T>* const roots = scratch(coefficients.device());
    return sum_of_lengths(0, axes_.count, axes_.voxels, coefficients, roots) +
           ratio * sum_of_lengths(axes_.count, matrix_planes(), axes_.voxels, coefficients, roots);
  }
  double circulant(const std::array<double, 3>& angles) const override { return laplacian(angles); }
  /// 1 of -v, 2 of D'_a v_a, and 1 of each other D'_b v_a.
  double auxiliary_curvature() const override { return 2 + axes_.count; }

 private:
  static constexpr T ratio = 2;
  int matrix_planes() const { return axes_.count + axes_.pairs(); }
  Complex<T>* scratch(Device device) const { return memory_for(work_, planes() * axes_.voxels, device); }

  DifferenceAxes axes_;
  mutable Array<Complex<T>> work_;  ///< [planes][z][y][x]
};

/// Total variation along time: A rho = the differences rho(t + 1) - rho(t) of every voxel, 0 after the last frame;
/// g = sum |.|, of complex numbers. Source: Feng et al., "GRASP", MRM 72:707 (2014), equation 1.
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
std::shared_ptr<const SparseTerm<T>> sparse_term(SparseKind kind, const Shape& image, Device device) {
  if (image.size() > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw Error(Field{"regularizer"}, "an image of fewer than 2^32 voxels", image.text());
  switch (kind) {
    case SparseKind::wavelet:
      return wavelet_term<T>(image, device);
    case SparseKind::tv:
      return std::make_shared<TvTerm<T>>(image);
    case SparseKind::tgv:
      return std::make_shared<TgvTerm<T>>(image);
    default:
      throw Error(Field{"regularizer"}, "frames, which " + std::string(name_of(kind)) + " couples",
                  "one image");
  }
}

template <class T>
std::shared_ptr<const SparseTerm<T>> temporal_term(SparseKind kind, const Shape& image, std::int64_t frames) {
  if (kind == SparseKind::temporal_tv) return std::make_shared<TemporalTvTerm<T>>(image, frames);
  if (kind == SparseKind::llr) return low_rank_term<T>(image, frames);
  throw Error(Field{"regularizer"}, "a term of frames", name_of(kind));
}

namespace {

SparseTermCost cost_of(SparseKind kind, const std::array<int, 3>& matrix_size) {
  // Where an element stands in the image takes longer than to copy it, as measured.
  constexpr double placing = 8;
  int axes = 0;
  for (const int n : matrix_size) axes += n > 1;
  const double matrices = axes * (axes + 1) / 2.0;
  switch (kind) {
    case SparseKind::wavelet: {
      const double shifts = 1 << axes;
      // The shift, and each axis of levels that together hold 1 + 1/2^d + ... of the image; twice what is worked on.
      return {shifts, 0, 2 * shifts, placing * shifts * (1 + axes * 1.4)};
    }
    case SparseKind::tv:
      return {static_cast<double>(axes), 0, 1, axes + 1.0};
    case SparseKind::temporal_tv:
      return {1, 0, 1, 2};
    case SparseKind::llr:
      return {2, 0, 2, 4};
    case SparseKind::tgv:
      break;
  }
  return {axes + matrices, static_cast<double>(axes), axes + matrices, placing * (2 * axes + matrices + 1)};
}

}  // namespace

SparseTermCost sparse_terms_cost(const std::vector<SparsePenalty>& penalties,
                                 const std::array<int, 3>& matrix_size) {
  SparseTermCost all;
  for (const auto& penalty : penalties) {
    const auto cost = cost_of(penalty.kind, matrix_size);
    all.planes += cost.planes, all.held += cost.held, all.passes += cost.passes;
    all.auxiliary = std::max(all.auxiliary, cost.auxiliary);
  }
  return all;
}

#define FHD_INSTANTIATE(T)                                                                        \
  template std::shared_ptr<const SparseTerm<T>> sparse_term<T>(SparseKind, const Shape&, Device); \
  template std::shared_ptr<const SparseTerm<T>> temporal_term<T>(SparseKind, const Shape&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
