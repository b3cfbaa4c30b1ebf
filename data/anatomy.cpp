// A head whose tissues fold, shade and have texture.
#include <cmath>
#include <numbers>

#include "data/phantom.hpp"
#include "recon/array/random_numbers.hpp"

namespace fhd::data {
namespace {

using std::numbers::pi;
using Form = PhantomPart::Form;

/// Parts added one after the other, with numbers drawn by chance, always the same.
class HeadBuilder {
 public:
  explicit HeadBuilder(int dimensions) : dimensions_(dimensions) {}

  void add(Form form, const Vector3& centre, const Vector3& half_axes, double angle_rad, double intensity) {
    parts_.push_back({form, centre, half_axes, angle_rad, intensity});
  }
  void add_pair(const Vector3& centre, const Vector3& half_axes, double angle_rad, double intensity) {
    for (const double side : {-1.0, 1.0})
      add(Form::ellipsoid, {side * centre[0], centre[1], centre[2]}, half_axes, side * angle_rad, intensity);
  }
  /// Uniform in [from, to).
  double draw(double from, double to) { return from + (to - from) * random_.uniform(drawn_++); }
  /// From `from` to `to`, as often in each octave.
  double draw_size(double from, double to) { return from * std::pow(to / from, draw(0, 1)); }
  /// Inside the ellipsoid with these half axes, evenly.
  Vector3 draw_place(const Vector3& half_axes) {
    while (true) {
      Vector3 at{draw(-1, 1), draw(-1, 1), dimensions_ == 3 ? draw(-1, 1) : 0};
      if (at[0] * at[0] + at[1] * at[1] + at[2] * at[2] > 1) continue;
      for (std::size_t axis = 0; axis < 3; ++axis) at[axis] *= half_axes[axis];
      return at;
    }
  }
  Phantom finished() const { return {dimensions_, parts_}; }

 private:
  int dimensions_;
  RandomNumbers random_{20081};
  std::uint64_t drawn_ = 0;
  std::vector<PhantomPart> parts_;
};

constexpr Vector3 brain{0.345, 0.405, 0.36};

void add_layers(HeadBuilder& head) {
  head.add(Form::ellipsoid, {0, 0, 0}, {0.42, 0.475, 0.44}, 0, 0.9);          // scalp
  head.add(Form::ellipsoid, {0, 0.002, 0}, {0.397, 0.453, 0.415}, 0, -0.82);  // skull
  head.add(Form::ellipsoid, {0, 0.002, 0}, {0.362, 0.421, 0.378}, 0, 0.25);   // liquor
  head.add(Form::ellipsoid, {0, 0.002, 0}, brain, 0, 0.27);                   // grey matter
  head.add(Form::bump, {-0.04, -0.08, 0.05}, {0.26, 0.3, 0.26}, 0, 0.1);      // shading
}

/// Folds: liquor runs inwards from the surface of the brain, and white matter outwards between.
void add_cortex(HeadBuilder& head, int folds, double height) {
  for (int fold = 0; fold < folds; ++fold) {
    const double angle = 2 * pi * (fold + head.draw(-0.3, 0.3)) / folds, length = head.draw(0.02, 0.055),
                 width = head.draw(0.003, 0.008), at = 1 - head.draw(0.8, 1.1) * length / 0.37,
                 tilt = head.draw(-0.4, 0.4), depth = head.draw(0.03, 0.12);
    const double next = angle + pi / folds;
    head.add(Form::ellipsoid, {at * brain[0] * std::cos(angle), at * brain[1] * std::sin(angle), height},
             {length, width, depth}, angle + tilt, -0.2);
    head.add(Form::ellipsoid, {0.86 * brain[0] * std::cos(next), 0.86 * brain[1] * std::sin(next), height},
             {0.8 * length, 2.2 * width, depth}, next - tilt, 0.16);
  }
}

void add_inner_parts(HeadBuilder& head) {
  head.add_pair({0.155, -0.03, 0}, {0.125, 0.25, 0.22}, -0.12, 0.16);  // white matter
  head.add_pair({0.09, 0.16, 0}, {0.08, 0.14, 0.16}, 0.5, 0.05);
  head.add(Form::ellipsoid, {0, 0, 0.02}, {0.006, 0.4, 0.3}, 0, -0.22);  // between the halves
  head.add_pair({0.045, -0.07, 0}, {0.02, 0.1, 0.07}, 0.25, -0.34);      // ventricles
  head.add_pair({0.06, 0.1, 0}, {0.016, 0.07, 0.05}, -0.45, -0.3);
  head.add_pair({0.09, 0.0, -0.02}, {0.028, 0.05, 0.05}, 0.3, -0.09);  // deep grey matter
  head.add_pair({0.14, -0.015, -0.02}, {0.022, 0.085, 0.06}, 0.15, -0.07);
  head.add_pair({0.2, -0.01, 0}, {0.006, 0.1, 0.08}, 0.1, -0.12);
}

void add_vessels(HeadBuilder& head, int count) {
  for (int i = 0; i < count; ++i) {
    const double width = head.draw(0.0025, 0.006), longer = head.draw(1, 6);
    head.add(Form::ellipsoid, head.draw_place({0.33, 0.39, 0.34}), {longer * width, width, longer * width},
             head.draw(0, pi), i % 3 == 0 ? -0.2 : 0.35);
  }
}

/// Sizes as often in each octave, intensities with the root of them: a spectrum that falls nearly as that of photographs.
void add_texture(HeadBuilder& head, int count) {
  for (int i = 0; i < count; ++i) {
    const double size = head.draw_size(0.006, 0.1), stretched = head.draw(1, 2.5), sign = i % 2 == 0 ? 1 : -1;
    const Vector3 at = head.draw_place({0.31, 0.37, 0.32});
    head.add(Form::bump, at, {size * stretched, size, size}, head.draw(0, pi), sign * 0.45 * std::sqrt(size));
  }
}

}  // namespace

Phantom Phantom::anatomy(int dimensions) {
  HeadBuilder head(dimensions);
  add_layers(head);
  add_inner_parts(head);
  if (dimensions == 3)
    for (const double height : {-0.16, -0.05, 0.06, 0.17}) add_cortex(head, 24, height);
  else
    add_cortex(head, 44, 0);
  add_vessels(head, dimensions == 3 ? 60 : 40);
  add_texture(head, dimensions == 3 ? 400 : 320);
  return head.finished();
}

Phantom Phantom::sodium(int dimensions) {
  constexpr double grey = 0.36, white = 0.26;
  std::vector<PhantomPart> parts;
  const auto add = [&](const Vector3& centre, const Vector3& half_axes, double angle, double tissue,
                       double fluid) {
    if (tissue != 0) parts.push_back({Form::ellipsoid, centre, half_axes, angle, tissue});
    if (fluid != 0) parts.push_back({Form::ellipsoid, centre, half_axes, angle, fluid, true});
  };
  add({0, 0, 0}, {0.38, 0.44, 0.4}, 0, 0, 1);  // liquor
  add({0, 0, 0}, {0.35, 0.41, 0.37}, 0, grey, -1);
  for (const double side : {-1.0, 1.0}) {
    add({side * 0.165, -0.02, 0.02}, {0.12, 0.27, 0.24}, side * -0.1, white - grey, 0);
    add({side * 0.09, -0.04, 0.03}, {0.035, 0.15, 0.1}, side * 0.15, -white, 1);  // ventricles
    add({side * 0.15, -0.36, -0.2}, {0.05, 0.05, 0.05}, 0, 0, 0.7);
  }
  add({0.2, 0.12, 0.05}, {0.06, 0.07, 0.06}, 0, 0.3, 0);  // lesion
  return {dimensions, std::move(parts)};
}

}  // namespace fhd::data
