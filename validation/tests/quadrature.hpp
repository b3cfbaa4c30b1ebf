#pragma once
// Numerical integrals over one part of a phantom, by Gauss and Legendre's rule: independent of every closed
// form.
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "data/phantom.hpp"

namespace fhd::tests {

struct Rule {
  std::vector<double> node, weight;  // of the integral over [-1, 1]
};

inline Rule gauss_legendre(int count) {
  Rule rule;
  for (int i = 0; i < count; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5)), slope = 0;
    for (int newton = 0; newton < 20; ++newton) {
      double previous = 1, value = x;
      for (int n = 2; n <= count; ++n) {
        const double next = ((2 * n - 1) * x * value - (n - 1) * previous) / n;
        previous = value;
        value = next;
      }
      slope = count * (x * value - previous) / (x * x - 1);
      x -= value / slope;
    }
    rule.node.push_back(x);
    rule.weight.push_back(2 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

/// integral over the part of intensity f(r) dr, for smooth f that turns at most `count` / 4 times across the
/// part.
template <class Function>
std::complex<double> integral_over(const data::PhantomPart& part, int dimensions, int count,
                                   const Function& f) {
  const Rule rule = gauss_legendre(count), single{{0}, {1}};
  const Rule& third = dimensions == 3 ? rule : single;
  const bool box = part.form == data::PhantomPart::Form::box;
  const auto& a = part.half_axes;
  const double c = std::cos(part.angle_rad), s = std::sin(part.angle_rad), pi = std::numbers::pi;
  const auto at = [&](double u, double v, double w) {  // of the part's own, scaled axes
    const double x = a[0] * u, y = a[1] * v, z = dimensions == 3 ? a[2] * w : 0;
    return f(
        data::Vector3{part.centre[0] + c * x - s * y, part.centre[1] + s * x + c * y, part.centre[2] + z});
  };
  const double scale = part.intensity * a[0] * a[1] * (dimensions == 3 ? a[2] : 1);
  std::complex<double> sum = 0;
  if (box) {
    for (std::size_t i = 0; i < rule.node.size(); ++i)
      for (std::size_t j = 0; j < rule.node.size(); ++j)
        for (std::size_t k = 0; k < third.node.size(); ++k)
          sum += rule.weight[i] * rule.weight[j] * third.weight[k] *
                 at(rule.node[i], rule.node[j], third.node[k]);
    return scale * sum;
  }
  const int turns = 4 * count;
  for (std::size_t i = 0; i < rule.node.size(); ++i)     // radius in [0, 1]
    for (std::size_t k = 0; k < third.node.size(); ++k)  // cosine of the polar angle
      for (int j = 0; j < turns; ++j) {  // azimuth: the trapezoidal rule of a periodic function
        const double radius = (rule.node[i] + 1) / 2, azimuth = 2 * pi * j / turns, w = third.node[k];
        const double ring = radius * std::sqrt(1 - w * w);
        sum += rule.weight[i] / 2 * third.weight[k] * (2 * pi / turns) *
               (dimensions == 3 ? radius * radius : radius) *
               at(ring * std::cos(azimuth), ring * std::sin(azimuth), radius * w);
      }
  return scale * sum;
}

}  // namespace fhd::tests
