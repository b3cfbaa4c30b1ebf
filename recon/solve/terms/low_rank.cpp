// Blocks of llr on the CPU: eigenvectors of Gram matrices by LAPACK, a block at a time for each thread.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "recon/solve/terms/low_rank_blocks.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {

double LowRankBlocks::weight(const LowRankBlock& block) const {
  return share * (std::sqrt(static_cast<double>(block.voxels())) + std::sqrt(static_cast<double>(frames)));
}

namespace {

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

/// work(place among the coefficients, element of the matrix) of a block.
template <class Matrix, class Work>
void for_each_element(const LowRankBlocks& blocks, const LowRankBlock& block, Matrix& matrix,
                      const Work& work) {
  const std::int64_t voxels = block.voxels();
  const bool frames_are_rows = blocks.frames <= voxels;
  for (std::int64_t frame = 0; frame < blocks.frames; ++frame)
    for (std::int64_t p = 0; p < voxels; ++p) {
      const std::int64_t element = frames_are_rows ? frame * voxels + p : p * blocks.frames + frame;
      work(blocks.place(block, frame, p), matrix.values[static_cast<std::size_t>(element)]);
    }
}

template <class T>
BlockMatrix matrix_of(const LowRankBlocks& blocks, const LowRankBlock& block,
                      const Array<Complex<T>>& coefficients) {
  const std::int64_t voxels = block.voxels(), frames = blocks.frames;
  BlockMatrix matrix{std::min(frames, voxels), std::max(frames, voxels),
                     std::vector<Complex<double>>(static_cast<std::size_t>(frames * voxels))};
  for_each_element(blocks, block, matrix, [&](std::int64_t at, Complex<double>& value) {
    value = Complex<double>(coefficients.data()[at]);
  });
  return matrix;
}

template <class T>
void shorten_singular_values_cpu(const LowRankBlocks& blocks, double threshold,
                                 Array<Complex<T>>& coefficients) {
  for_each_small_problem(blocks.count(), [&](std::int64_t i) {
    const LowRankBlock block = blocks.block(i);
    BlockMatrix matrix = matrix_of(blocks, block, coefficients);
    matrix.shorten(threshold * blocks.weight(block));
    for_each_element(blocks, block, matrix, [&](std::int64_t at, const Complex<double>& value) {
      coefficients.data()[at] = Complex<T>(value);
    });
  });
}

template <class T>
double weighted_nuclear_norm_cpu(const LowRankBlocks& blocks, const Array<Complex<T>>& coefficients) {
  std::vector<double> norms(static_cast<std::size_t>(blocks.count()));
  for_each_small_problem(blocks.count(), [&](std::int64_t i) {
    const LowRankBlock block = blocks.block(i);
    norms[static_cast<std::size_t>(i)] =
        blocks.weight(block) * matrix_of(blocks, block, coefficients).nuclear_norm();
  });
  return std::accumulate(norms.begin(), norms.end(), 0.0);
}

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
