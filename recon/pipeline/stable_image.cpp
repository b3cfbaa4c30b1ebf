#include "recon/pipeline/stable_image.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/first_image.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {

template <class T>
Surroundings::Surroundings(const Array<Complex<T>>& first) : magnitude_(magnitude_of(first)) {
  for (int axis = 0; axis < 3; ++axis) {
    voxels_[axis] = first.extent(axis);
    blocks_[axis] = (voxels_[axis] + block - 1) / block;
  }
  std::vector<double> own(static_cast<std::size_t>(blocks_[0] * blocks_[1] * blocks_[2]));
  const auto host = first.to(Device::cpu());
  for (std::int64_t voxel = 0; voxel < host.size(); ++voxel) {
    double& most = own[static_cast<std::size_t>(block_of(voxel))];
    most = std::max(most, norm(Complex<double>(host.data()[voxel])));
  }
  around_ = own;
  for (std::size_t place = 0; place < own.size(); ++place)
    for (const std::size_t other : beside(place)) around_[place] = std::max(around_[place], own[other]);
  for (double& square : around_) square = std::sqrt(square);
}

std::vector<std::size_t> Surroundings::beside(std::size_t place) const {
  const auto at = static_cast<std::int64_t>(place);
  std::vector<std::size_t> places;
  for (int neighbour = 0; neighbour < 27; ++neighbour) {
    const std::int64_t z = at / (blocks_[1] * blocks_[2]) + neighbour / 9 - 1,
                       y = at / blocks_[2] % blocks_[1] + neighbour / 3 % 3 - 1,
                       x = at % blocks_[2] + neighbour % 3 - 1;
    if (z >= 0 && y >= 0 && x >= 0 && z < blocks_[0] && y < blocks_[1] && x < blocks_[2])
      places.push_back(static_cast<std::size_t>((z * blocks_[1] + y) * blocks_[2] + x));
  }
  return places;
}

std::int64_t Surroundings::block_of(std::int64_t voxel) const {
  const std::int64_t z = voxel / (voxels_[1] * voxels_[2]), y = voxel / voxels_[2] % voxels_[1],
                     x = voxel % voxels_[2];
  return (z / block * blocks_[1] + y / block) * blocks_[2] + x / block;
}

template <class T>
Surroundings::Hot Surroundings::hot_voxels(const Array<Complex<T>>& image, std::vector<char>& marked) const {
  Hot hot;
  if (magnitude_ == 0) return hot;
  const auto host = image.to(Device::cpu());
  for (std::int64_t voxel = 0; voxel < host.size(); ++voxel) {
    const double bright = abs(Complex<double>(host.data()[voxel]));
    if (!(bright > magnitude_)) continue;
    const auto place = static_cast<std::size_t>(block_of(voxel));
    const double times = bright / std::max(around_[place], magnitude_ / most_times);
    if (!(times > most_times)) continue;
    for (const std::size_t other : beside(place)) marked[other] = 1;
    if (times > hot.times) hot = {voxel, times};
  }
  return hot;
}

template <class T>
StableImage<T>::StableImage(Model<T>& model, const Array<Complex<T>>& first, const Scan& scan,
                            const Context& context)
    : model_(model),
      surroundings_(first),
      matrix_size_(scan.geometry.matrix_size),
      cropped_(scan.cropped_matrix_size),
      may_hold_(std::holds_alternative<BelowNoise>(least_squares(context.settings)->lambda) &&
                !model.is_of_frames) {
  release();
}

template <class T>
void StableImage<T>::release() {
  if (model_.holds) model_.problem.terms.pop_back();
  model_.holds = false;
  marked_.assign(static_cast<std::size_t>(surroundings_.block_count()), 0);
  hot_spot_.reset();
  rounds_ = 0;
}

template <class T>
bool StableImage<T>::hold(const Array<Complex<T>>& image) {
  const auto before = marked_;
  const auto hot = surroundings_.hot_voxels(image, marked_);
  if (!hot.voxel) return false;
  if (!hot_spot_ || hot.times > hot_spot_->times) {
    const std::int64_t nx = matrix_size_[0], ny = matrix_size_[1], nz = matrix_size_[2];
    const std::int64_t at[3] = {*hot.voxel % nx, *hot.voxel / nx % ny, *hot.voxel / (nx * ny) % nz};
    hot_spot_ = HotSpot{.times = hot.times};
    for (int axis = 0; axis < 3; ++axis) {
      const int n = matrix_size_[axis], wanted = cropped_[axis] == 0 ? n : cropped_[axis];
      hot_spot_->voxel[axis] = static_cast<int>(at[axis]) - (n / 2 - wanted / 2);
    }
  }
  constexpr int most_rounds = 6;
  hot_spot_->is_held = may_hold_ && marked_ != before && ++rounds_ <= most_rounds;
  if (!hot_spot_->is_held) return false;
  Array<T> weights(image.shape());
  for (std::int64_t voxel = 0; voxel < weights.size(); ++voxel)
    weights.data()[voxel] = marked_[static_cast<std::size_t>(surroundings_.block_of(voxel))] ? T(1) : T(0);
  if (model_.holds) model_.problem.terms.pop_back();
  model_.problem.terms.push_back(
      {identity_term<T>(weights.to(image.device())), reference_lambda * model_.mean_eigenvalue});
  return model_.holds = true;
}

#define FHD_INSTANTIATE(T)                                                                             \
                                                                                                       \
  template Surroundings::Surroundings(const Array<Complex<T>>&);                                       \
  template Surroundings::Hot Surroundings::hot_voxels<T>(const Array<Complex<T>>&, std::vector<char>&) \
      const;                                                                                           \
  template class StableImage<T>;
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
