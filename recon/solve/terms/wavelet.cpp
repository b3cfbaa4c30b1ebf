#include <random>
#include <vector>

#include "recon/solve/terms/terms.hpp"
#include "recon/solve/terms/wavelet_functors.hpp"

namespace fhd {
namespace {

constexpr std::int64_t least_extent =
    8;  // that is split: above the four taps, so that a period is not its own echo

/// A corner of the image, and the axes along which it is split into means and details.
struct Level {
  std::int64_t extent[3];
  std::vector<int> axes;
};

std::vector<Level> levels_of(const std::int64_t n[3], std::int64_t means[3]) {
  std::vector<Level> levels;
  for (int axis = 0; axis < 3; ++axis) means[axis] = n[axis];
  for (;;) {
    Level level{{means[0], means[1], means[2]}, {}};
    for (int axis = 0; axis < 3; ++axis)
      if (means[axis] >= least_extent) {
        level.axes.push_back(axis);
        means[axis] = (means[axis] + 1) / 2;
      }
    if (level.axes.empty()) return levels;
    levels.push_back(std::move(level));
  }
}

/// All of 0, 1 along the axes that are split, and an even number of voxels drawn for each.
std::vector<std::array<std::int64_t, 3>> shifts_of(const std::int64_t n[3]) {
  std::mt19937 generator(20031);
  std::vector<std::array<std::int64_t, 3>> shifts;
  for (std::int64_t s = 0; s < most_wavelet_shifts; ++s) {
    std::array<std::int64_t, 3> shift{};
    bool is_new = true;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t bit = s >> axis & 1;
      if (n[axis] >= least_extent)
        shift[axis] =
            bit + 2 * static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n[axis] / 2));
      else
        is_new = is_new && bit == 0;
    }
    if (is_new) shifts.push_back(shift);
  }
  return shifts;
}

template <class T>
class WaveletTerm final : public SparseTerm<T> {
 public:
  WaveletTerm(const Shape& image, Device device) : image_(image), device_(device) {
    for (int axis = 0; axis < 3; ++axis) n_[axis] = image[2 - axis];
    levels_ = levels_of(n_, means_);
    if (levels_.empty())
      throw Error(Field{"regularizer"}, "an axis of at least 8 voxels for wavelet", image.text());
    shifts_ = shifts_of(n_);
    // Small images go through the levels side by side.
    constexpr std::int64_t small = 1 << 20;
    together_ = image.size() * shift_count() <= small ? shift_count() : 1;
    for (auto& work : work_) work = Array<Complex<T>>(Shape{together_, image[0], image[1], image[2]}, device);
  }

  int planes() const override { return static_cast<int>(shift_count()); }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for (std::int64_t first = 0; first < shift_count(); first += together_) {
      Complex<T>* values = coefficients.data() + first * image_.size();
      ShiftImage<T> shift{{n_[0], n_[1], n_[2]}, shifts_from(first), scale(), unknowns.data(), values};
      for_each_index(device_, together_ * image_.size(), shift);
      for (const Level& level : levels_) split(level, values);
    }
  }

  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    for (std::int64_t first = 0; first < shift_count(); first += together_) {
      copy_range(coefficients, first * image_.size(), work_[1], 0, work_[1].size());
      for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) join(*level);
      for_each_index(device_, image_.size(),
                     AddUnshifted<T>{{n_[0], n_[1], n_[2]},
                                     shifts_from(first),
                                     static_cast<int>(together_),
                                     factor * scale(),
                                     work_[1].data(),
                                     unknowns.data()});
    }
  }

  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    auto result = image_of(out, image_);
    add_scaled(result, factor, image_of(in, image_));
  }

  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    for (std::int64_t first = 0; first < shift_count(); first += together_)
      for_each_index(device_, together_ * image_.size(),
                     ShrinkDetails<T>{{n_[0], n_[1], n_[2]},
                                      {means_[0], means_[1], means_[2]},
                                      threshold * scale(),
                                      coefficients.data() + first * image_.size()});
  }

  double value(const Array<Complex<T>>& coefficients) const override {
    const auto roots = one_of(work_[0], image_, 0);
    for_each_index(device_, roots.size(),
                   RootsOfDetails<T>{{n_[0], n_[1], n_[2]},
                                     {means_[0], means_[1], means_[2]},
                                     planes(),
                                     coefficients.data(),
                                     work_[0].data()});
    return real_dot(roots, roots) * scale();
  }

  double circulant(const std::array<double, 3>&) const override { return 1; }

 private:
  std::int64_t shift_count() const { return static_cast<std::int64_t>(shifts_.size()); }
  T scale() const { return 1 / std::sqrt(static_cast<T>(shift_count())); }

  WaveletShifts shifts_from(std::int64_t first) const {
    WaveletShifts result{};
    for (std::int64_t s = 0; s < together_; ++s)
      for (int axis = 0; axis < 3; ++axis)
        result.of[s][axis] = shifts_[static_cast<std::size_t>(first + s)][axis];
    return result;
  }

  /// The corner of `from`, which every axis of a level goes through an odd number of times, back to `to`.
  void copy_corner(const Level& level, const Complex<T>* from, Complex<T>* to) const {
    const auto& e = level.extent;
    for_each_index(device_, together_ * e[0] * e[1] * e[2],
                   CopyCorner<T>{{n_[0], n_[1], n_[2]}, {e[0], e[1], e[2]}, from, to});
  }

  void split(const Level& level, Complex<T>* values) const {
    Complex<T>*from = values, *to = work_[0].data();
    for (const int axis : level.axes) {
      const WaveletAxis along(n_, level.extent, axis);
      for_each_index(device_, along.indices(together_), SplitAxis<T>{along, {}, from, to});
      std::swap(from, to);
    }
    if (from != values) copy_corner(level, from, values);
  }

  /// Joins work_[1] into work_[0], axis by axis.
  void join(const Level& level) const {
    Complex<T>*from = work_[1].data(), *to = work_[0].data();
    for (auto axis = level.axes.rbegin(); axis != level.axes.rend(); ++axis) {
      const WaveletAxis along(n_, level.extent, *axis);
      for_each_index(device_, along.indices(together_), JoinAxis<T>{along, {}, from, to});
      std::swap(from, to);
    }
    if (from != work_[1].data()) copy_corner(level, from, work_[1].data());
  }

  Shape image_;
  Device device_;
  std::int64_t n_[3], means_[3];  ///< x, y, z
  std::vector<Level> levels_;
  std::vector<std::array<std::int64_t, 3>> shifts_;
  std::int64_t together_ = 1;
  mutable Array<Complex<T>> work_[2];  ///< [shift][z][y][x]
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> wavelet_term(const Shape& image, Device device) {
  return std::make_shared<WaveletTerm<T>>(image, device);
}

template std::shared_ptr<const SparseTerm<float>> wavelet_term<float>(const Shape&, Device);
template std::shared_ptr<const SparseTerm<double>> wavelet_term<double>(const Shape&, Device);

}  // namespace fhd
