#pragma once
// Checks of the Toeplitz operator, and regularised solutions of whole encodings, on the CPU and on a GPU.
#include "recon/encoding/sense.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

namespace fhd::tests {

// Q, FFT(q) and the products carry the rounding of T through two FFTs of a few hundred points per axis: some 10 units in
// the last place (6e-8, 1e-16), and single-precision Q that of the direct sum, 3e-6 for N <= 64.
template <class T>
struct ToeplitzAccuracy {
  static constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;
  static constexpr double symmetry = sizeof(T) == 4 ? 1e-6 : 1e-13;
};

inline std::vector<TransformCase> toeplitz_cases() {
  return {{{1, 1, 1}, 3, 2},     {{7, 1, 1}, 30, 1},    {{1, 9, 1}, 12, 3},  {{1, 1, 6}, 20, 2},
          {{32, 32, 1}, 700, 1}, {{31, 33, 1}, 511, 3}, {{8, 8, 8}, 400, 2}, {{5, 9, 7}, 300, 4},
          {{12, 1, 10}, 150, 2}, {{1, 6, 5}, 64, 2},    {{2, 2, 2}, 1, 1},   {{64, 64, 1}, 1, 5},
          {{16, 3, 17}, 333, 1}};
}

/// Returns A of an image, into what held other values.
template <class T>
Array<Complex<T>> applied(const HermitianOperator<T>& a, const Array<Complex<T>>& image) {
  auto result = random_values<T>(image.shape(), 99).to(a.device());
  a.forward(image.to(a.device()), result);
  return result.to(Device::cpu());
}

/// Toeplitz equals E^H E of the direct transform in double precision, in every run, and is its own adjoint.
template <class T>
void expect_normal_of_transform(const TransformCase& c, Device device) {
  SCOPED_TRACE(c.text());
  const auto trajectory = random_trajectory(c.matrix_size, c.samples, 1);
  const std::shared_ptr<const FourierTransform<double>> transform =
      make_direct_transform<double>(trajectory, c.matrix_size, Device::cpu());
  const auto maps = random_values<T>(transform->images_shape(c.coils), 2);
  const auto toeplitz = make_toeplitz_normal(
      point_spread_direct<T>(trajectory, c.matrix_size, nullptr, device), maps.to(device));
  const auto x = random_values<T>(toeplitz->domain(), 3), y = random_values<T>(toeplitz->domain(), 4);
  const auto exact =
      explicit_normal<double>(std::make_shared<SenseEncoding<double>>(transform, in_double(maps)));
  const auto ax = applied(*toeplitz, x), ay = applied(*toeplitz, y), again = applied(*toeplitz, x);
  EXPECT_LE(relative_error(ax, applied(*exact, in_double(x))), ToeplitzAccuracy<T>::tolerance);
  EXPECT_LE(adjointness_error(x, ax, y, ay), ToeplitzAccuracy<T>::symmetry);
  // Padding that one run spoils would show in the next.
  EXPECT_TRUE(std::equal(ax.begin(), ax.end(), again.begin()));
}

template <class T>
void expect_wrong_maps_are_refused(Device device) {
  const std::array<int, 3> matrix{6, 6, 1};
  const auto q = point_spread_direct<T>(random_trajectory(matrix, 20, 1), matrix, nullptr, device);
  const auto array = [&](Shape shape) { return Array<Complex<T>>(shape, device); };
  EXPECT_THROW(make_toeplitz_normal(q, array({6, 6})), Error);
  EXPECT_THROW(make_toeplitz_normal(q, array({1, 1, 7, 6})), Error);
  const auto toeplitz = make_toeplitz_normal(q, array({1, 1, 6, 6}));
  auto image = array({1, 6, 6}), other = array({1, 6, 5});
  EXPECT_THROW(toeplitz->forward(image, other), Error);
  EXPECT_THROW(toeplitz->forward(other, image), Error);
  if (device.is_cpu()) return;
  EXPECT_THROW(make_toeplitz_normal(q, Array<Complex<T>>({1, 1, 6, 6})), Error);
  EXPECT_THROW(toeplitz->forward(Array<Complex<T>>({1, 6, 6}), image), Error);
}

/// The whole chain against the oracle's least squares: undersampled, several coils, so that lambda matters.
template <class T>
struct RegularizedProblem {
  std::array<int, 3> matrix{7, 6, 2};
  std::int64_t samples = 40, coils = 3;
  double lambda = 5;
  Device device = Device::cpu();
  Trajectory trajectory = random_trajectory(matrix, samples, 1);
  Array<Complex<T>> maps = random_values<T>({coils, matrix[2], matrix[1], matrix[0]}, 2),
                    data = random_values<T>({coils, samples}, 3);

  std::shared_ptr<const SenseEncoding<T>> encoding(std::int64_t coils_at_once = 0) const {
    return std::make_shared<SenseEncoding<T>>(make_direct_transform<T>(trajectory, matrix, device),
                                              maps.to(device), coils_at_once);
  }
  std::shared_ptr<const HermitianOperator<T>> normal(bool toeplitz) const {
    if (!toeplitz) return explicit_normal<T>(encoding());
    return make_toeplitz_normal(point_spread_direct<T>(trajectory, matrix, nullptr, device), maps.to(device));
  }
  Array<Complex<T>> solved(bool roughness, bool toeplitz) const {
    const RegularizedNormal<T> regularized(normal(toeplitz),
                                           {{roughness ? roughness_term<T>() : identity_term<T>(), lambda}});
    Array<Complex<T>> b(regularized.domain(), device), x(b.shape(), device);
    encoding()->adjoint(data.to(device), b);
    conjugate_gradient(regularized, b, x, {.iterations = 300, .tolerance = sizeof(T) == 4 ? 1e-7 : 1e-14});
    return x.to(Device::cpu());
  }
  // The largest eigenvalue is about 500, lambda 5: condition number 100 (identity), some 1000 (differences, whose smallest
  // eigenvalues are near 0 but filled by the data); times the operator's error of some 1e-7 (1e-15).
  static constexpr double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-11;
  void expect_dense_least_squares() const {
    const auto dense =
        oracle::encoding_matrix(trajectory.k, oracle::voxel_positions(matrix), in_double(maps));
    for (const bool roughness : {false, true}) {
      const auto expected = oracle::least_squares(
          dense, in_double(data), lambda,
          roughness ? oracle::finite_difference_matrix(matrix) : oracle::identity_matrix(matrix));
      for (const bool toeplitz : {false, true})
        EXPECT_LE(relative_error(solved(roughness, toeplitz), expected), tolerance) << roughness << toeplitz;
    }
  }
};

}  // namespace fhd::tests
