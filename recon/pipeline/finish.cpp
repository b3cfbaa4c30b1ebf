#include "recon/pipeline/finish.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/domain/text.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd {
namespace {

std::string in_words(const LambdaChoice& lambda) {
  if (const auto* of_largest = std::get_if<OfLargestEigenvalue>(&lambda))
    return exact_number(of_largest->share);
  if (const auto* of_mean = std::get_if<OfMeanEigenvalue>(&lambda))
    return exact_number(of_mean->share) + " of the mean eigenvalue";
  return "from the noise";
}

std::string in_words(const BasisChoice& basis) {
  if (const auto* leading = std::get_if<LeadingCourses>(&basis))
    return std::to_string(leading->count) + " leading courses";
  return "given courses, " + std::get<GivenCourses>(basis).values.shape().text();
}

/// "identity", "identity,wavelet:0.01", "tv:0.02"
std::string names_of_terms(const LeastSquares& method) {
  const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda);
  std::string text;
  if (method.sparse.empty() || !of_largest || of_largest->share > 0)
    text = std::holds_alternative<IdentityPenalty>(method.regularizer) ? "identity" : "roughness";
  for (const auto& [kind, strength] : method.sparse)
    text += (text.empty() ? "" : ",") + std::string(name_of(kind)) + ":" +
            (strength ? exact_number(*strength) : "auto");
  return text;
}

template <class T>
Image cropped(Array<Complex<T>> full, const Scan& scan) {
  Image image;
  image.geometry = scan.geometry;
  std::array<int, 3> first{};
  for (int axis = 0; axis < 3; ++axis) {
    const int n = scan.geometry.matrix_size[axis], wanted = scan.cropped_matrix_size[axis];
    if (wanted == 0 || wanted == n) continue;
    first[axis] = n / 2 - wanted / 2;  // the centre voxel floor(N/2) stays at the centre
    image.geometry.matrix_size[axis] = wanted;
    image.geometry.fov_mm[axis] *= static_cast<double>(wanted) / n;
  }
  Array<Complex<T>> values;
  const auto& n = image.geometry.matrix_size;
  const int nx = n[0], ny = n[1], nz = n[2];
  if (image.geometry.matrix_size == scan.geometry.matrix_size) {
    values = std::move(full);
  } else {
    values = Array<Complex<T>>(image.geometry.image_shape());
    const std::int64_t rows = std::int64_t{ny} * nz;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row)
      std::copy_n(full.data() +
                      ((row / ny + first[2]) * full.extent(1) + row % ny + first[1]) * full.extent(2) +
                      first[0],
                  nx, values.data() + row * nx);
  }
  if constexpr (std::is_same_v<T, float>) {
    image.values = std::move(values);
  } else {
    image.values = converted<Complex<float>>(values);
    image.in_double = std::move(values);
  }
  return image;
}

}  // namespace

void describe_settings(const TransformSettings& transform, const Context& context) {
  const Settings& s = context.settings;
  RunLog& log = context.log;
  const auto* solved = least_squares(s);
  const bool sums = solved || is_method<PlainAdjoint>(s), direct = transform.kind == TransformKind::direct;
  log.setting("method", name_of(s.method));
  log.setting("device", context.device().is_cpu() ? "cpu" : "cuda");
  log.setting("precision", s.precision == Precision::single_precision ? "single" : "double");
  if (sums) log.setting("transform", name_of(transform.kind));
  if (transform.kind == TransformKind::gridded) log.setting("accuracy", exact_number(transform.accuracy));
  if (sums && direct && context.device().is_cuda())
    log.setting("sums on the GPU", name_of(transform.gpu_sums));
  if (solved == nullptr) return;
  log.setting("normal", solved->normal == NormalKind::toeplitz ? "toeplitz" : "explicit");
  log.setting("regularizer", names_of_terms(*solved));
  if (!solved->sparse.empty()) log.setting("solver", name_of(decide_solver(*solved)));
  if (solved->partial_fourier == PartialFourier::phase) log.setting("partial Fourier", "phase");
  if (solved->basis) log.setting("basis", in_words(*solved->basis));
  log.setting("lambda", in_words(solved->lambda));
  log.setting("iterations", std::to_string(solved->iterations));
  log.setting("tolerance", exact_number(solved->tolerance));
}

template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context) {
  scale(image, static_cast<T>(unit));
  if (image.device().is_cuda())
    context.log.stage("copy from the device", [&] { image = image.to(Device::cpu()); });
  Image result = cropped(std::move(image), scan);
  const auto& values = result.values;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (std::int64_t i = 0; i < values.size(); ++i)
    finite = finite && std::isfinite(values.data()[i].re) && std::isfinite(values.data()[i].im);
  if (!finite)
    throw Error("reconstruction", "finite voxels", "NaN or infinity",
                "use --precision double, or a larger --lambda");
  return result;
}

Image combined_sets(const std::vector<Image>& images) {
  Image result = images.front();
  const auto combine = [&](auto& values, auto member) {
    for (std::int64_t p = 0; p < values.size(); ++p) {
      double square = 0;
      for (const auto& image : images) square += norm(Complex<double>((image.*member).data()[p]));
      const double first = abs(Complex<double>(values.data()[p]));
      using Value = std::decay_t<decltype(values.data()[p])>;
      const double factor = first > 0 ? std::sqrt(square) / first : 0;
      values.data()[p] = first > 0 ? Value(factor * Complex<double>(values.data()[p]))
                                   : Value(Complex<double>(std::sqrt(square)));
    }
  };
  combine(result.values, &Image::values);
  if (!result.in_double.empty()) combine(result.in_double, &Image::in_double);
  return result;
}

Array<Complex<float>> stacked(const std::vector<Image>& images) {
  const Shape image = images.front().values.shape();
  Array<Complex<float>> all({static_cast<std::int64_t>(images.size()), image[0], image[1], image[2]});
  for (std::size_t i = 0; i < images.size(); ++i)
    std::copy_n(images[i].values.data(), image.size(),
                all.data() + static_cast<std::int64_t>(i) * image.size());
  return all;
}

Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps) {
  const std::int64_t coils = maps.extent(0), nz = maps.extent(1), pixels = maps.extent(2) * maps.extent(3);
  Array<Complex<float>> slice(Shape{coils, maps.extent(2), maps.extent(3)});
  for (std::int64_t coil = 0; coil < coils; ++coil)
    std::copy_n(maps.data() + (coil * nz + nz / 2) * pixels, pixels, slice.data() + coil * pixels);
  return slice;
}

template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread) {
  const std::int64_t ny = point_spread.extent(1), nx = point_spread.extent(2);
  Array<Complex<T>> plane(Shape{ny, nx}, point_spread.device());
  copy_range(point_spread, 0, plane, 0, plane.size());
  plane = plane.to(Device::cpu());
  Array<float> centred(Shape{ny, nx});
  const double largest = abs(plane[0]);  // |q(0)| is the largest
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x)
      centred[(y + ny / 2) % ny * nx + (x + nx / 2) % nx] =
          largest == 0 ? 0.0F : static_cast<float>(abs(plane[y * nx + x]) / largest);
  return centred;
}

#define FHD_INSTANTIATE(T)                                                                  \
  template Image finished_image<T>(Array<Complex<T>>, double, const Scan&, const Context&); \
  template Array<float> central_plane<T>(const Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
