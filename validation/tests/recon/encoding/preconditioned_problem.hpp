#pragma once
// A scan of coils with its normal operator and its preconditioner, on the CPU or a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "recon/encoding/preconditioner.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"

namespace fhd::tests {

template <class T>
struct PreconditionedProblem {
  std::array<int, 3> matrix;
  Trajectory trajectory;
  Array<Complex<T>> maps;  ///< host
  double lambda = 5;
  bool roughness = false;
  Device device = Device::cpu();

  Shape image() const { return {matrix[2], matrix[1], matrix[0]}; }
  std::shared_ptr<const SenseEncoding<T>> encoding(std::int64_t coils_at_once = 0,
                                                   std::int64_t images_at_once = 1) const {
    return std::make_shared<SenseEncoding<T>>(make_direct_transform<T>(trajectory, matrix, device),
                                              maps.to(device), coils_at_once, images_at_once);
  }
  Array<Complex<T>> point_spread() const {
    return point_spread_direct<T>(trajectory, matrix, nullptr, device);
  }
  std::shared_ptr<const Term<T>> term() const { return roughness ? roughness_term<T>() : identity_term<T>(); }
  RegularizedNormal<T> system() const {
    return {make_toeplitz_normal(point_spread(), maps.to(device)), {{term(), lambda}}};
  }
  Array<double> penalty() const {
    Array<double> values(image());
    std::int64_t at = 0;
    const auto angle = [](int k, int n) { return 2 * std::numbers::pi * k / n; };
    for (int z = 0; z < matrix[2]; ++z)
      for (int y = 0; y < matrix[1]; ++y)
        for (int x = 0; x < matrix[0]; ++x)
          values[at++] =
              lambda * term()->circulant({angle(z, matrix[2]), angle(y, matrix[1]), angle(x, matrix[0])});
    return values;
  }
  std::shared_ptr<const HermitianOperator<T>> preconditioner(std::int64_t coils_at_once = 0,
                                                             std::int64_t images_at_once = 1) const {
    return make_preconditioner<T>(circulant_of_point_spread(point_spread(), image()), penalty(),
                                  encoding(coils_at_once, images_at_once));
  }

  /// The image of samples at random, down to rounding, is that of dense least squares.
  void expect_dense_least_squares() const {
    const auto data = random_values<T>({maps.extent(0), trajectory.sample_count()}, 3);
    const auto a = system();
    const auto m = preconditioner();
    Array<Complex<T>> b(image(), device), x(image(), device);
    encoding()->adjoint(data.to(device), b);
    const ConjugateGradientSettings settings{.iterations = 300, .tolerance = sizeof(T) == 4 ? 1e-7 : 1e-14};
    conjugate_gradient<T>(a, b, x, settings, {}, m.get());
    const auto expected = oracle::least_squares(
        oracle::encoding_matrix(trajectory.k, oracle::voxel_positions(matrix), in_double(maps)),
        in_double(data), lambda,
        roughness ? oracle::finite_difference_matrix(matrix) : oracle::identity_matrix(matrix));
    // Condition number 100 ... 1000 times the operator's error of some 1e-7 (1e-15).
    EXPECT_LE(relative_error(x, expected), sizeof(T) == 4 ? 1e-4 : 1e-11)
        << image().text() << (roughness ? ", roughness" : "");
  }
};

/// Axes of one voxel, odd and even sizes, one coil and several.
template <class T>
std::vector<PreconditionedProblem<T>> preconditioned_problems() {
  std::vector<PreconditionedProblem<T>> problems;
  for (const auto& [matrix, samples, coils] : {TransformCase{{1, 1, 1}, 5, 3},
                                               {{7, 1, 1}, 30, 2},
                                               {{1, 9, 1}, 12, 1},
                                               {{1, 1, 6}, 20, 1},
                                               {{7, 6, 2}, 40, 3},
                                               {{12, 1, 5}, 90, 4},
                                               {{16, 15, 1}, 300, 5}})
    problems.push_back({matrix, random_trajectory(matrix, samples, 1),
                        random_values<T>({coils, matrix[2], matrix[1], matrix[0]}, 2)});
  return problems;
}

template <class T>
void expect_dense_least_squares(Device device) {
  for (auto& problem : preconditioned_problems<T>())
    for (const bool roughness : {false, true}) {
      if (roughness && problem.image().size() == 1) continue;  // nothing is penalised
      problem.roughness = roughness;
      problem.device = device;
      problem.expect_dense_least_squares();
    }
}

}  // namespace fhd::tests
