// A chest that changes while it is measured.
#include <cmath>
#include <numbers>

#include "data/phantom.hpp"

namespace fhd::data {
namespace {

/// 0 before `onset`, then up to 1 within some times `rise`.
double uptake(double time, double onset, double rise) {
  return time <= onset ? 0 : 1 - std::exp(-(time - onset) / rise);
}

/// 0 before `onset`, 1 `rise` later, and down again: a gamma variate.
double bolus(double time, double onset, double rise) {
  const double x = (time - onset) / rise;
  return x <= 0 ? 0 : x * x * std::exp(2 * (1 - x));
}

/// `beat`, `breath`: -1 ... 1; `diaphragm`: by how much organs move, in FOV; `time` of the uptake.
Phantom chest(int dimensions, double beat, double breath, double diaphragm, double time) {
  const auto ellipsoid = [](Vector3 centre, Vector3 half_axes, double angle_rad, double intensity) {
    return PhantomPart{PhantomPart::Form::ellipsoid, centre, half_axes, angle_rad, intensity};
  };
  const double lung = 1 + 0.08 * breath, muscle = 1 + 0.05 * beat, chamber = 1 + 0.22 * beat;
  return {dimensions,
          {ellipsoid({0, 0, 0}, {0.42, 0.31, 0.40}, 0, 0.5),                             // body
           ellipsoid({-0.20, -0.04, 0}, {0.12 * lung, 0.17 * lung, 0.25}, 0.15, -0.38),  // lungs
           ellipsoid({0.21, -0.04, 0}, {0.11 * lung, 0.16 * lung, 0.25}, -0.15, -0.38),
           ellipsoid({0.03, -0.06, 0}, {0.11 * muscle, 0.12 * muscle, 0.12}, 0.4, 0.25),  // heart
           ellipsoid({0.06, -0.04, 0}, {0.045 * chamber, 0.055 * chamber, 0.07}, 0.4,     // left ventricle
                     0.1 + 0.7 * bolus(time, 0.22, 0.16)),
           ellipsoid({-0.02, -0.11, 0}, {0.035 * chamber, 0.04 * chamber, 0.06}, 0.2,  // right ventricle
                     0.1 + 0.7 * bolus(time, 0.12, 0.14)),
           ellipsoid({0.02, 0.13, 0}, {0.03, 0.03, 0.30}, 0, 0.05 + 0.8 * bolus(time, 0.26, 0.18)),  // aorta
           ellipsoid({-0.02, 0.215, 0}, {0.05, 0.045, 0.30}, 0, 0.3),         // vertebra
           ellipsoid({-0.02, 0.215, 0}, {0.018, 0.015, 0.30}, 0, -0.4),       // its canal
           ellipsoid({-0.21, 0.16 + diaphragm, 0}, {0.11, 0.06, 0.10}, -0.3,  // liver
                     0.1 + 0.35 * uptake(time, 0.40, 0.25)),
           ellipsoid({-0.24, 0.16 + diaphragm, 0}, {0.022, 0.018, 0.02}, 0, 0.4 * uptake(time, 0.30, 0.08)),
           ellipsoid({-0.17, 0.18 + diaphragm, 0}, {0.012, 0.012, 0.02}, 0, 0.4 * uptake(time, 0.55, 0.1)),
           ellipsoid({0.24, 0.17 + diaphragm, 0}, {0.06, 0.045, 0.06}, 0.5,  // spleen
                     0.1 + 0.3 * uptake(time, 0.35, 0.1))}};
}

}  // namespace

Phantom moving_phantom(int dimensions, double time) {
  const double beat = std::sin(2 * std::numbers::pi * 8 * time),
               breath = std::sin(2 * std::numbers::pi * 3 * time);
  return chest(dimensions, beat, breath, 0.02 * breath, time);
}

Phantom breathing_phantom(int dimensions, double depth) {
  return chest(dimensions, 0, 2 * depth - 1, 0.1 * (depth - 0.5), 1);
}

double depth_of_breath(double breaths, double time) {
  const double turn = 2 * std::numbers::pi,
               phase = breaths * time + 0.1 * std::sin(turn * 1.7 * time) * breaths / 10,
               rise = 0.5 - 0.5 * std::cos(turn * phase);
  return (0.9 + 0.1 * std::sin(turn * 2.3 * time + 1)) * rise * rise;
}

}  // namespace fhd::data
