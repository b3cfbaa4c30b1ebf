#pragma once
// The operators that depend on the trajectory alone, for one matrix and one choice of transform, each made when it is first
// needed: transforms, the point-spread kernel Q, density compensation.
#include <memory>

#include "recon/domain/scan.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Returns the cost of the transform of these settings, whose kind is not automatic.
std::unique_ptr<TransformCost> cost_of(const TransformSettings& transform, const TransformSizes& sizes);

template <class T>
class TrajectoryOperators {
 public:
  /// Takes the share of the samples of this process. `transform.kind` is not automatic. `cache` may be null.
  TrajectoryOperators(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                      const TransformSettings& transform, const Execution& execution,
                      std::shared_ptr<TrajectoryCache> cache);

  /// Returns whether a scan has the same positions, matrix and choice of transform.
  bool are_of(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
              const TransformSettings& transform) const;

  const TransformSettings& settings() const { return settings_; }
  const Trajectory& trajectory() const { return trajectory_; }
  const std::array<int, 3>& matrix_size() const { return matrix_size_; }
  /// Returns the relative l2 error that the transform promises.
  double promised_accuracy() const;

  const std::shared_ptr<const FourierTransform<T>>& transform() { return transform_of(settings_); }
  /// Returns another transform of the trajectory, of which one is held at a time.
  const std::shared_ptr<const FourierTransform<T>>& transform_of(const TransformSettings& settings);
  void release_other_transform() { other_.reset(); }
  void release_transforms() { transform_.reset(), other_.reset(); }

  /// Returns q on the periodic difference grid [z][y][x], on the device, of the samples of all processes.
  const Array<Complex<T>>& point_spread(RunLog& log);
  /// Returns the same for weighted samples; not cached.
  Array<Complex<T>> weighted_point_spread(const Array<double>* weights) const;
  /// Returns the density compensation [sample], in host memory.
  const Array<double>& density(RunLog& log);

 private:
  template <class Element, class Make>
  Array<Element> from_cache_or_made(const std::string& what, const Shape& shape, Device device, RunLog& log,
                                    const Make& make);

  Trajectory trajectory_;
  std::array<int, 3> matrix_size_;
  TransformSettings settings_;
  Execution execution_;
  std::shared_ptr<TrajectoryCache> cache_;
  std::shared_ptr<const FourierTransform<T>> transform_, other_;
  TransformSettings other_settings_;
  Array<Complex<T>> point_spread_;
  Array<double> density_;
};

}  // namespace fhd
