#include "recon/pipeline/trajectory_operators.hpp"

#include <algorithm>
#include <cstdio>

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

/// Returns everything that decides the digits of a transform: the name of its products in a cache.
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
const Array<Complex<T>>& TrajectoryOperators<T>::point_spread(RunLog& log) {
  log.use_product("Q", !point_spread_.empty());
  if (point_spread_.empty())
    log.stage("Q", [&] {
      const auto n = difference_grid(matrix_size_);
      auto q = from_cache_or_made<Complex<T>>("Q, " + in_words<T>(settings_, matrix_size_, execution_.device),
                                              {n[2], n[1], n[0]}, execution_.device, log,
                                              [&] { return weighted_point_spread(nullptr); });
      sum_over(*execution_.processes, q);
      point_spread_ = std::move(q);
    });
  return point_spread_;
}

template <class T>
const Array<double>& TrajectoryOperators<T>::density(RunLog& log) {
  log.use_product("density compensation", !density_.empty());
  if (density_.empty())
    log.stage("density compensation", [&] {
      density_ = from_cache_or_made<double>(
          "density compensation", {trajectory_.sample_count()}, Device::cpu(), log,
          [&] { return density_compensation(trajectory_, matrix_size_, execution_.device); });
    });
  return density_;
}

/// Returns the values of the cache where it has them; else makes them and gives them to the cache.
template <class T>
template <class Element, class Make>
Array<Element> TrajectoryOperators<T>::from_cache_or_made(const std::string& what, const Shape& shape,
                                                          Device device, RunLog& log, const Make& make) {
  if (!cache_) return make();
  const TrajectoryProduct product{trajectory_, matrix_size_, what};
  Array<Element> values(shape);
  const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(Element);
  if (cache_->load(product, values.data(), bytes)) {
    ++log.report.trajectory_hits;
    log.note("cache", what.substr(0, what.find(',')) + " is taken from the cache");
    return device.is_cpu() ? std::move(values) : values.to(device);
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

template class TrajectoryOperators<float>;
template class TrajectoryOperators<double>;

}  // namespace fhd
