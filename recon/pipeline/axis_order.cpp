#include "recon/pipeline/axis_order.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fhd {

AxisOrder long_axes_first(const std::array<int, 3>& matrix_size) {
  AxisOrder order{0, 1, 2};
  std::stable_partition(order.begin(), order.end(), [&](int axis) { return matrix_size[axis] > 1; });
  return order;
}

bool keeps_axes(const AxisOrder& order) { return order == AxisOrder{0, 1, 2}; }

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder result{};
  for (int axis = 0; axis < 3; ++axis) result[order[axis]] = axis;
  return result;
}

Geometry in_order(const AxisOrder& order, const Geometry& geometry) {
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  Geometry result = geometry;
  result.matrix_size = in_order(order, geometry.matrix_size);
  result.fov_mm = in_order(order, geometry.fov_mm);
  std::tie(result.read_direction, result.phase_direction, result.slice_direction) =
      std::tie(directions[order[0]], directions[order[1]], directions[order[2]]);
  return result;
}

Trajectory in_order(const AxisOrder& order, const Trajectory& trajectory) {
  const auto samples = trajectory.sample_count();
  Trajectory result{Array<double>(trajectory.k.shape())};
  for (int axis = 0; axis < 3; ++axis)
    std::copy_n(trajectory.k.data() + order[axis] * samples, samples, result.k.data() + axis * samples);
  return result;
}

namespace {

template <class T>
void reshape(Array<T>& values, const Shape& shape) {
  if (!values.empty()) values = std::move(values).reshaped(shape);
}

}  // namespace

Scan in_order(const AxisOrder& order, Scan scan) {
  if (keeps_axes(order)) return scan;
  scan.geometry = in_order(order, scan.geometry);
  scan.trajectory = in_order(order, scan.trajectory);
  scan.cropped_matrix_size = in_order(order, scan.cropped_matrix_size);
  const Shape image = scan.geometry.image_shape();
  for (auto* set : {&scan.sensitivity_maps, &scan.second_maps}) {
    if (!*set) continue;
    auto& maps = **set;
    const Shape shape{maps.values.extent(0), image[0], image[1], image[2]};
    reshape(maps.values, shape);
    reshape(maps.in_double, shape);
  }
  if (scan.calibration) {
    auto& [trajectory, kspace, matrix_size, fov_mm] = *scan.calibration;
    trajectory = in_order(order, trajectory);
    matrix_size = in_order(order, matrix_size);
    fov_mm = in_order(order, fov_mm);
  }
  if (scan.field_map) reshape(*scan.field_map, image);
  reshape(scan.field_map_in_double, image);
  if (scan.decay_per_s) reshape(*scan.decay_per_s, image);
  if (scan.second_decay) {
    reshape(scan.second_decay->per_s, image);
    reshape(scan.second_decay->fraction, image);
  }
  if (scan.fields) reshape(scan.fields->displacement_mm, {3, image[0], image[1], image[2]});
  return scan;
}

Image in_order(const AxisOrder& order, Image image) {
  image.geometry = in_order(order, image.geometry);
  reshape(image.values, image.geometry.image_shape());
  reshape(image.in_double, image.geometry.image_shape());
  return image;
}

}  // namespace fhd
