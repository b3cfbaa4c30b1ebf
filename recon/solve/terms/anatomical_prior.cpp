#include "recon/solve/terms/anatomical_prior.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace fhd {
template <class T>
Array<T> edge_weights(const Array<float>& image, double strength) {
  if (!(strength > 0 && std::isfinite(strength)))
    throw Error("settings.prior_strength", "a number above 0", std::to_string(strength));
  if (image.shape().rank() != 3) throw Error("prior image", "[z][y][x]", image.shape().text());
  std::vector<float> magnitudes(static_cast<std::size_t>(image.size()));
  for (std::int64_t p = 0; p < image.size(); ++p)
    magnitudes[static_cast<std::size_t>(p)] = std::abs(image[p]);
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

}  // namespace fhd
