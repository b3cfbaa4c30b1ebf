// Which sparse terms there are, and what they cost.
#include <algorithm>
#include <limits>

#include "recon/solve/terms/terms.hpp"

namespace fhd {

template <class T>
std::shared_ptr<const SparseTerm<T>> sparse_term(SparseKind kind, const Shape& image, Device device) {
  if (image.size() > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw Error(Field{"regularizer"}, "an image of fewer than 2^32 voxels", image.text());
  switch (kind) {
    case SparseKind::wavelet:
      return wavelet_term<T>(image, device);
    case SparseKind::tv:
      return tv_term<T>(image);
    case SparseKind::tgv:
      return tgv_term<T>(image);
    default:
      throw Error(Field{"regularizer"}, "frames, which " + std::string(name_of(kind)) + " couples",
                  "one image");
  }
}

template <class T>
std::shared_ptr<const SparseTerm<T>> temporal_term(SparseKind kind, const Shape& image, std::int64_t frames) {
  if (kind == SparseKind::temporal_tv) return temporal_tv_term<T>(image, frames);
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

#define FHD_INSTANTIATE(T)                                                                             \
  template std::shared_ptr<const SparseTerm<T>> sparse_term<T>(SparseKind, const Shape&, Device);     \
  template std::shared_ptr<const SparseTerm<T>> temporal_term<T>(SparseKind, const Shape&, std::int64_t);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
