#include "recon/pipeline/trajectory_operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {
namespace {

template <class T>
std::shared_ptr<const FourierTransform<T>> make_transform(const Trajectory& trajectory,
                                                          const std::array<int, 3>& matrix_size,
                                                          const TransformSettings& settings, Device device) {
  if (settings.kind == TransformKind::direct)
    return make_direct_transform<T>(trajectory, matrix_size, device, choice_of(settings));
  return make_gridded_transform<T>(trajectory, matrix_size, settings.accuracy, device);
}

/// Everything that decides the digits of a transform: the name of its products in a cache.
template <class T>
std::string in_words(const TransformSettings& settings, const std::array<int, 3>& matrix_size,
                     Device device) {
  std::string words = precision_of<T>() == Precision::single_precision ? "single" : "double";
  words += device.is_cpu() ? ", cpu" : ", cuda";
  if (settings.kind == TransformKind::gridded) {
    char text[48];
    std::snprintf(text, sizeof text, ", gridded %.17g", settings.accuracy);
    return words + text;
  }
  return words + ", direct " +
         direct_way_of_point_spread(choice_of(settings), matrix_size, precision_of<T>(), device).text();
}

/// `count` differences of voxels, n / N along x, y, z, the first 0 and the others at random, and where they lie
/// on the periodic difference grid.
struct RandomDifferences {
  Array<double> at;  ///< [axis][difference]
  std::vector<std::int64_t> index;
};
RandomDifferences random_differences(const std::array<int, 3>& matrix_size, std::int64_t count) {
  RandomDifferences result{Array<double>(Shape{3, count}),
                           std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  std::mt19937 generator(1908);
  const auto n = difference_grid(matrix_size);
  for (std::int64_t i = 1; i < count; ++i)
    for (int axis = 2; axis >= 0; --axis) {
      // n = -N is left out: no pair of voxels reaches it, and q is zero there by definition.
      const int size = matrix_size[axis];
      int index = size == 1 ? 0 : static_cast<int>(generator() % static_cast<unsigned>(2 * size - 1));
      const int difference = index < size ? index : index - (2 * size - 1);
      index = difference < 0 ? difference + 2 * size : difference;
      result.at[axis * count + i] = static_cast<double>(difference) / size;
      auto& flat = result.index[i];
      flat = flat * n[axis] + index;
    }
  return result;
}

/// Whether weights from outside are density compensation: C w = 1, up to what the iterations leave, which is a ripple of
/// the gridded image as well. Of all designs of data/trajectory.hpp and of positions at random they leave at most half of
/// this (DensityDeviation.of_what_is_made_...). Where they leave more, the weights are made anew every time.
bool is_density(const DensityDeviation& found) {
  constexpr double most = 0.35, most_rms = 0.03;
  return found.largest <= most && found.rms <= most_rms;
}

}  // namespace

std::unique_ptr<TransformCost> cost_of(const TransformSettings& transform, const TransformSizes& sizes) {
  if (transform.kind == TransformKind::direct)
    return std::make_unique<DirectCost>(sizes, choice_of(transform));
  return std::make_unique<GriddedCost>(sizes, transform.accuracy);
}

template <class T>
TrajectoryOperators<T>::TrajectoryOperators(const Trajectory& trajectory,
                                            const std::array<int, 3>& matrix_size,
                                            const TransformSettings& transform, const Execution& execution,
                                            std::shared_ptr<TrajectoryCache> cache)
    : trajectory_{columns_of(trajectory.k, share_of(trajectory.sample_count(), *execution.processes))},
      matrix_size_(matrix_size),
      settings_(transform),
      execution_(execution),
      cache_(std::move(cache)) {}

template <class T>
bool TrajectoryOperators<T>::are_of(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                    const TransformSettings& transform) const {
  if (matrix_size_ != matrix_size || settings_ != transform) return false;
  const Share share = share_of(trajectory.sample_count(), *execution_.processes);
  if (share.size() != trajectory_.sample_count()) return false;
  for (int axis = 0; axis < 3; ++axis) {
    const double* theirs = trajectory.k.data() + axis * trajectory.sample_count() + share.first;
    if (!std::equal(theirs, theirs + share.size(), trajectory_.k.data() + axis * share.size())) return false;
  }
  return true;
}

template <class T>
double TrajectoryOperators<T>::promised_accuracy() const {
  const double direct = direct_accuracy(precision_of<T>());
  if (settings_.kind == TransformKind::gridded) return std::max(settings_.accuracy, direct);
  return direct_way_of_point_spread(choice_of(settings_), matrix_size_, precision_of<T>(), execution_.device)
      .accuracy(precision_of<T>());
}

template <class T>
const std::shared_ptr<const FourierTransform<T>>& TrajectoryOperators<T>::transform_of(
    const TransformSettings& settings) {
  const bool own = settings == settings_;
  auto& made = own ? transform_ : other_;
  if (!own && settings != other_settings_) other_.reset(), other_settings_ = settings;
  if (!made) made = make_transform<T>(trajectory_, matrix_size_, settings, execution_.device);
  return made;
}

template <class T>
Array<Complex<T>> TrajectoryOperators<T>::weighted_point_spread(const Array<double>* weights) const {
  if (settings_.kind == TransformKind::direct)
    return point_spread_direct<T>(trajectory_, matrix_size_, weights, execution_.device,
                                  choice_of(settings_));
  return point_spread_gridded<T>(trajectory_, matrix_size_, weights, settings_.accuracy, execution_.device);
}

template <class T>
const Array<Complex<T>>& TrajectoryOperators<T>::point_spread(Journal& journal) {
  journal.use_product("Q", !point_spread_.empty());
  if (point_spread_.empty())
    journal.stage("Q", [&] {
      const auto n = difference_grid(matrix_size_);
      auto q = from_cache_or_made<Complex<T>>(
          "Q, " + in_words<T>(settings_, matrix_size_, execution_.device), {n[2], n[1], n[0]},
          execution_.device, journal, [&] { return weighted_point_spread(nullptr); },
          [&](const Array<Complex<T>>& found) { return is_point_spread(found); });
      sum_over(*execution_.processes, q);
      point_spread_ = std::move(q);
    });
  return point_spread_;
}

template <class T>
const Array<double>& TrajectoryOperators<T>::density(Journal& journal) {
  journal.use_product("density compensation", !density_.empty());
  if (density_.empty())
    journal.stage("density compensation", [&] {
      density_ = from_cache_or_made<double>(
          "density compensation", {trajectory_.sample_count()}, Device::cpu(), journal,
          [&] { return density_compensation(trajectory_, matrix_size_, execution_.device); },
          [&](const Array<double>& weights) {
            return is_density(density_deviation(trajectory_, matrix_size_, weights, execution_.device));
          });
    });
  return density_;
}

/// From the cache, where it is known and right, else made and given to the cache.
template <class T>
template <class Element, class Make, class IsRight>
Array<Element> TrajectoryOperators<T>::from_cache_or_made(const std::string& what, const Shape& shape,
                                                          Device device, Journal& journal, const Make& make,
                                                          const IsRight& is_right) {
  if (!cache_) return make();
  const TrajectoryProduct product{trajectory_, matrix_size_, what};
  const std::string name = what.substr(0, what.find(','));
  Array<Element> values(shape);
  const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(Element);
  if (cache_->load(product, values.data(), bytes)) {
    if (is_right(values)) {
      ++journal.report.trajectory_hits;
      journal.note(name + " is taken from the cache");
      return device.is_cpu() ? std::move(values) : values.to(device);
    }
    cache_->forget(product);
    journal.note(name + " in the cache is not that of this trajectory: made again");
  }
  Array<Element> made = make();
  if (device.is_cpu()) {
    cache_->store(product, made.data(), bytes);
  } else {
    values = made.to(Device::cpu());
    cache_->store(product, values.data(), bytes);
  }
  return made;
}

/// Whether values from outside are q: at the origin, where it is the number of samples, and at 31 other
/// differences against the direct sum in double precision. The error is judged against q at the origin, the
/// largest value: what a transform promises is relative to a norm of q, which is no larger.
template <class T>
bool TrajectoryOperators<T>::is_point_spread(const Array<Complex<T>>& q) const {
  constexpr std::int64_t checked = 32;
  const auto differences = random_differences(matrix_size_, checked);
  Array<Complex<double>> ones(Shape{1, trajectory_.sample_count()});
  std::fill(ones.begin(), ones.end(), Complex<double>(1));
  const auto expected = general_sum<double>(trajectory_.k, differences.at, +1, ones);
  const double largest = abs(expected[0]);
  double worst = 0;
  for (std::int64_t i = 0; i < checked; ++i) {
    const auto found = Complex<double>(q[differences.index[i]]);
    if (!std::isfinite(found.re) || !std::isfinite(found.im)) return false;
    worst = std::max(worst, abs(found - expected[i]));
  }
  return worst <= promised_accuracy() * largest;
}

template class TrajectoryOperators<float>;
template class TrajectoryOperators<double>;

}  // namespace fhd
