#include "recon/pipeline/first_image.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {

template <class T>
void find_first_image(const Model<T>& model, const Array<Complex<T>>& fhd, Array<Complex<T>>& image,
                      const Context& context) {
  const double lambda = reference_lambda * model.mean_eigenvalue;
  const RegularizedNormal<T> system(model.problem.normal, {{identity_term<T>(), lambda}});
  ConjugateGradientSettings settings{.iterations = first_image_iterations(!model.circulant.empty()),
                                     .tolerance = 1e-2,
                                     .check_every = residual_interval(context.device()),
                                     .from_zero = true};
  if (model.frames > 1) settings.kept_residuals = 0;  // each is as large as all frames
  conjugate_gradient(system, fhd, image, settings, {}, preconditioner_of(model, lambda, 0).get());
}

template <class T>
double magnitude_of(const Array<Complex<T>>& image) {
  const Array<Complex<T>> host = image.to(Device::cpu());
  std::vector<double> squares(host.size());
  std::transform(host.begin(), host.end(), squares.begin(),
                 [](Complex<T> v) { return norm(Complex<double>(v)); });
  double wanted = std::accumulate(squares.begin(), squares.end(), 0.) / 2;
  auto first = squares.begin(), last = squares.end();
  while (last - first > 1) {  // each time half of the voxels
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last);
    const double below = std::accumulate(first, middle, 0.);
    if (below >= wanted)
      last = middle;
    else
      wanted -= below, first = middle;
  }
  return first == last ? 0 : std::sqrt(*first);
}

template <class T>
double misfit_over_image(const Model<T>& model, const Array<Complex<T>>& image, double magnitude,
                         const Array<Complex<T>>& fhd, const Array<Complex<T>>& samples,
                         const Context& context) {
  auto values = static_cast<double>(samples.size());
  if (context.processes().is_shared()) context.processes().sum(&values, 1);
  Array<Complex<T>> product(image.shape(), image.device());
  model.problem.normal->forward(image, product);
  const double square = real_dot(image, product), match = real_dot(image, fhd),
               data = norm_of_all(samples, context.processes());
  if (!(square > 0 && magnitude > 0)) return 0;
  return std::max(0.0, data * data - match * match / square) / (values * magnitude * magnitude);
}

#define FHD_INSTANTIATE(T)                                                                         \
  template void find_first_image<T>(const Model<T>&, const Array<Complex<T>>&, Array<Complex<T>>&, \
                                    const Context&);                                               \
  template double magnitude_of<T>(const Array<Complex<T>>&);                                       \
  template double misfit_over_image<T>(const Model<T>&, const Array<Complex<T>>&, double,          \
                                       const Array<Complex<T>>&, const Array<Complex<T>>&, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
