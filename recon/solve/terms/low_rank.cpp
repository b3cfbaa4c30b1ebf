#include <cmath>
#include <numeric>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

/// Voxels first ... first + size - 1 along z, y, x.
struct Block {
  std::array<std::int64_t, 3> first, size;
  std::int64_t voxels() const { return size[0] * size[1] * size[2]; }
};

constexpr int grids = 2;

/// Along each axis, with more than one voxel: cuts every `side` voxels, in the second grid half a side earlier.
std::vector<Block> blocks_of(const Shape& image, int grid) {
  const std::int64_t side = image[0] > 1 && image[1] > 1 && image[2] > 1 ? 4 : 8;
  std::array<std::vector<std::int64_t>, 3> cuts;
  for (int axis = 0; axis < 3; ++axis) {
    cuts[axis].push_back(0);
    for (std::int64_t at = grid == 0 ? side : side / 2; at < image[axis]; at += side) cuts[axis].push_back(at);
    cuts[axis].push_back(image[axis]);
  }
  std::vector<Block> blocks;
  for (std::size_t z = 0; z + 1 < cuts[0].size(); ++z)
    for (std::size_t y = 0; y + 1 < cuts[1].size(); ++y)
      for (std::size_t x = 0; x + 1 < cuts[2].size(); ++x)
        blocks.push_back({{cuts[0][z], cuts[1][y], cuts[2][x]},
                          {cuts[0][z + 1] - cuts[0][z], cuts[1][y + 1] - cuts[1][y], cuts[2][x + 1] - cuts[2][x]}});
  return blocks;
}

/// A matrix in double precision whose rows, of the shorter side, are frames or voxels of the block.
struct BlockMatrix {
  std::int64_t rows, columns;
  std::vector<Complex<double>> values;  ///< [row][column]

  /// sum over columns of row a times row b conjugated.
  Array<Complex<double>> gram() const {
    Array<Complex<double>> result(Shape{rows, rows});
    for (std::int64_t a = 0; a < rows; ++a)
      for (std::int64_t b = 0; b <= a; ++b) {
        Complex<double> sum;
        for (std::int64_t j = 0; j < columns; ++j)
          sum += values[a * columns + j] * conj(values[b * columns + j]);
        result[a * rows + b] = sum;
        result[b * rows + a] = conj(sum);
      }
    return result;
  }
  double energy() const {
    double sum = 0;
    for (const auto& v : values) sum += norm(v);
    return sum;
  }
  /// Singular values s -> max(s - threshold, 0): with X X^H = U s^2 U^H it becomes U (1 - threshold / s) U^H X.
  void shorten(double threshold) {
    if (!(energy() > threshold * threshold)) return values.assign(values.size(), {});  // nor is any s above
    const auto eigen = hermitian_eigen(gram());
    std::vector<Complex<double>> shortened(values.size()), projected(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows && eigen.values[i] > threshold * threshold; ++i) {
      const Complex<double>* u = eigen.vectors.data() + i * rows;
      std::fill(projected.begin(), projected.end(), Complex<double>());
      for (std::int64_t a = 0; a < rows; ++a)
        for (std::int64_t j = 0; j < columns; ++j) projected[j] += conj(u[a]) * values[a * columns + j];
      const double factor = 1 - threshold / std::sqrt(eigen.values[i]);
      for (std::int64_t a = 0; a < rows; ++a)
        for (std::int64_t j = 0; j < columns; ++j) shortened[a * columns + j] += factor * u[a] * projected[j];
    }
    values = std::move(shortened);
  }
  double nuclear_norm() const {
    if (energy() == 0) return 0;
    double sum = 0;
    for (const double square : hermitian_eigenvalues(gram())) sum += std::sqrt(std::max(square, 0.0));
    return sum;
  }
};

template <class T>
class LowRankTerm final : public SparseTerm<T> {
 public:
  LowRankTerm(const Shape& image, std::int64_t frames)
      : image_(image), stack_{frames * image[0], image[1], image[2]}, frames_(frames) {
    if (frames < 2)
      throw Error("settings.regularizer", "at least two frames for llr", std::to_string(frames));
    for (int grid = 0; grid < grids; ++grid) {
      const auto blocks = blocks_of(image, grid);
      blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
      if (grid == 0) of_first_grid_ = static_cast<std::int64_t>(blocks.size());
    }
  }

  int planes() const override { return grids; }

  void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const override {
    for (int grid = 0; grid < grids; ++grid)
      copy_range(unknowns, 0, coefficients, grid * stack_.size(), stack_.size());
    scale(coefficients, share);
  }
  void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                   Array<Complex<T>>& unknowns) const override {
    auto images = image_of(unknowns, stack_);
    for (int grid = 0; grid < grids; ++grid)
      add_scaled(images, factor * share, one_of(coefficients, stack_, grid));
  }
  void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const override {
    auto images = image_of(out, stack_);
    add_scaled(images, factor, image_of(in, stack_));
  }
  void shrink(T threshold, Array<Complex<T>>& coefficients) const override {
    const Device device = coefficients.device();
    if (device.is_cpu()) return shrink_on_host(threshold, coefficients);
    auto host = coefficients.to(Device::cpu());
    shrink_on_host(threshold, host);
    copy_bytes(coefficients.data(), device, host.data(), Device::cpu(),
               static_cast<std::size_t>(host.size()) * sizeof(Complex<T>));
  }
  double value(const Array<Complex<T>>& coefficients) const override {
    const Array<Complex<T>> copied =
        coefficients.device().is_cpu() ? Array<Complex<T>>() : coefficients.to(Device::cpu());
    const Array<Complex<T>>& host = copied.empty() ? coefficients : copied;
    std::vector<double> norms(blocks_.size());
    for_each_small_problem(block_count(), [&](std::int64_t i) {
      norms[static_cast<std::size_t>(i)] = weight_of(i) * matrix_of(i, host).nuclear_norm();
    });
    return std::accumulate(norms.begin(), norms.end(), 0.0);
  }
  double circulant(const std::array<double, 3>&) const override { return 1; }

 private:
  static constexpr T share = T(0.70710678118654752);  ///< 1 / sqrt(grids)

  std::int64_t block_count() const { return static_cast<std::int64_t>(blocks_.size()); }
  double weight_of(std::int64_t i) const {
    const auto voxels = static_cast<double>(blocks_[static_cast<std::size_t>(i)].voxels());
    return share * (std::sqrt(voxels) + std::sqrt(static_cast<double>(frames_)));
  }
  void shrink_on_host(T threshold, Array<Complex<T>>& coefficients) const {
    for_each_small_problem(block_count(), [&](std::int64_t i) {
      BlockMatrix matrix = matrix_of(i, coefficients);
      matrix.shorten(threshold * weight_of(i));
      for_each_element(i, matrix, [&](std::int64_t at, const Complex<double>& value) {
        coefficients.data()[at] = Complex<T>(value);
      });
    });
  }
  BlockMatrix matrix_of(std::int64_t i, const Array<Complex<T>>& coefficients) const {
    const std::int64_t voxels = blocks_[static_cast<std::size_t>(i)].voxels();
    BlockMatrix matrix{std::min(frames_, voxels), std::max(frames_, voxels),
                       std::vector<Complex<double>>(static_cast<std::size_t>(frames_ * voxels))};
    for_each_element(i, matrix, [&](std::int64_t at, Complex<double>& value) {
      value = Complex<double>(coefficients.data()[at]);
    });
    return matrix;
  }
  /// work(place among the coefficients, element of the matrix) of block i.
  template <class Matrix, class Work>
  void for_each_element(std::int64_t i, Matrix& matrix, const Work& work) const {
    const Block& block = blocks_[static_cast<std::size_t>(i)];
    const std::int64_t grid = i < of_first_grid_ ? 0 : 1, voxels = block.voxels();
    const bool frames_are_rows = frames_ <= voxels;
    for (std::int64_t frame = 0; frame < frames_; ++frame)
      for (std::int64_t p = 0; p < voxels; ++p) {
        const std::int64_t x = block.first[2] + p % block.size[2],
                           y = block.first[1] + p / block.size[2] % block.size[1],
                           z = block.first[0] + p / (block.size[2] * block.size[1]);
        const std::int64_t element = frames_are_rows ? frame * voxels + p : p * frames_ + frame;
        work(grid * stack_.size() + ((frame * image_[0] + z) * image_[1] + y) * image_[2] + x,
             matrix.values[static_cast<std::size_t>(element)]);
      }
  }

  Shape image_, stack_;
  std::int64_t frames_, of_first_grid_ = 0;
  std::vector<Block> blocks_;  ///< of both grids
};

}  // namespace

template <class T>
std::shared_ptr<const SparseTerm<T>> low_rank_term(const Shape& image, std::int64_t frames) {
  return std::make_shared<LowRankTerm<T>>(image, frames);
}

template std::shared_ptr<const SparseTerm<float>> low_rank_term<float>(const Shape&, std::int64_t);
template std::shared_ptr<const SparseTerm<double>> low_rank_term<double>(const Shape&, std::int64_t);

}  // namespace fhd
