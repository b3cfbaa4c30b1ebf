// Which sparse terms there are, and what they cost.
#include <algorithm>
#include <limits>

#include "recon/solve/terms/terms.hpp"

namespace fhd {

template <class T>
std::shared_ptr<const SparseTerm<T>> sparse_term(SparseKind kind, const Shape& image, Device device) {
  if (image.size() > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw Error("settings.regularizer", "an image of fewer than 2^32 voxels", image.text());
  switch (kind) {
    case SparseKind::wavelet:
      return wavelet_term<T>(image, device);
    case SparseKind::tv:
      return tv_term<T>(image);
    case SparseKind::tgv:
      return tgv_term<T>(image);
  }
  throw Error("sparse term", "a known kind", std::to_string(static_cast<int>(kind)));
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
    default:
      return {axes + matrices, static_cast<double>(axes), axes + matrices,
              placing * (2 * axes + matrices + 1)};
  }
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

template std::shared_ptr<const SparseTerm<float>> sparse_term<float>(SparseKind, const Shape&, Device);
template std::shared_ptr<const SparseTerm<double>> sparse_term<double>(SparseKind, const Shape&, Device);

}  // namespace fhd
