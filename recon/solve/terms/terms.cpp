#include "recon/solve/terms/terms.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "recon/array/vector_math.hpp"
#include "recon/solve/terms/difference_functors.hpp"

namespace fhd {
namespace {

/// 1 where there are none.
template <class T>
double mean_of(const Array<T>& weights) {
  if (weights.empty()) return 1;
  const Array<T> host = weights.to(Device::cpu());
  double sum = 0;
  for (const T w : host) sum += w;
  return sum / static_cast<double>(host.size());
}

}  // namespace

template <class T>
std::shared_ptr<const Term<T>> identity_term(Array<T> weights) {
  const double mean = mean_of(weights);
  return std::make_shared<const Term<T>>(Term<T>{
      [weights = std::move(weights)](const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) {
        if (weights.empty()) return add_scaled(out, factor, in);
        for_each_index(in.device(), in.size(), AddWeighted<T>{in.data(), factor, weights.data(), out.data()});
      },
      [mean](const std::array<double, 3>&) { return mean; }});
}

template <class T>
std::shared_ptr<const Term<T>> roughness_term(Array<T> weights) {
  const double mean = mean_of(weights);
  return std::make_shared<const Term<T>>(
      Term<T>{[weights = std::move(weights)](const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) {
                for_each_index(in.device(), in.size(),
                               AddRoughness<T>{in.data(),
                                               factor,
                                               weights.empty() ? nullptr : weights.data(),
                                               {in.extent(2), in.extent(1), in.extent(0)},
                                               out.data()},
                               1);
              },
              [mean](const std::array<double, 3>& angles) {
                double sum = 0;
                for (const double angle : angles) sum += 2 - 2 * std::cos(angle);
                return mean * sum;
              }});
}

template <class T>
Array<T> edge_weights(const Array<float>& image, double strength) {
  if (!(strength > 0 && std::isfinite(strength)))
    throw Error(Field{"prior-strength"}, "a number above 0", std::to_string(strength));
  if (image.shape().rank() != 3) throw Error("prior image", "[z][y][x]", image.shape().text());
  std::vector<float> magnitudes(static_cast<std::size_t>(image.size()));
  for (std::int64_t p = 0; p < image.size(); ++p) magnitudes[p] = std::abs(image[p]);
  const auto percentile =
      magnitudes.begin() + static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(magnitudes.size() - 1));
  std::nth_element(magnitudes.begin(), percentile, magnitudes.end());
  const double threshold = 0.05 * *percentile / strength;
  if (!(threshold > 0)) throw Error("prior image", "values other than zero where the scan lies", "zeros");

  constexpr double smallest = 1e-3;  // keeps the solution unique across closed edges
  const std::int64_t n[3] = {image.extent(2), image.extent(1), image.extent(0)},
                     stride[3] = {1, n[0], n[0] * n[1]};
  Array<T> weights(Shape{3, n[2], n[1], n[0]});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t p = 0; p < image.size(); ++p) {
      double weight = 1;
      if (p / stride[axis] % n[axis] + 1 < n[axis]) {
        const double ratio = (static_cast<double>(image[p + stride[axis]]) - image[p]) / threshold;
        weight = std::max(smallest, 1 / (1 + ratio * ratio));
      }
      weights[axis * image.size() + p] = static_cast<T>(weight);
    }
  return weights;
}

template Array<float> edge_weights<float>(const Array<float>&, double);
template Array<double> edge_weights<double>(const Array<float>&, double);
template std::shared_ptr<const Term<float>> identity_term<float>(Array<float>);
template std::shared_ptr<const Term<double>> identity_term<double>(Array<double>);
template std::shared_ptr<const Term<float>> roughness_term<float>(Array<float>);
template std::shared_ptr<const Term<double>> roughness_term<double>(Array<double>);

}  // namespace fhd
