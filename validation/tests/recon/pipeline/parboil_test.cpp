// Q of Parboil's mri-q data sets against the outputs of its reference program. That program read the arrays
// of its input in another order than they were written (kx ky kz x y z phiR phiI instead of kx ky kz phiR
// phiI x y z), and its outputs were computed so: "as-read" positions are no grid, the "true" ones are the
// grid (i - N/2) / N.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "recon/transform/direct/direct.hpp"
#include "recon/transform/transform.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"

namespace {

using fhd::Array;
using fhd::Complex;
using fhd::oracle::Values;

struct ParboilSet {
  const char* folder;
  const char* name;
  int matrix_size;
};
const ParboilSet small{"small", "32_32_32", 32}, large{"large", "64_64_64", 64};

std::string path_of(const ParboilSet& set, const std::string& prefix, const std::string& suffix) {
  return std::string(FHD_SCANS) + "/parboil_mri/" + set.folder + "/" + prefix + set.name + "_dataset" +
         suffix;
}

struct QProblem {
  Array<double> k;          ///< [3][sample], cycles/FOV
  Array<double> positions;  ///< [3][voxel], fractions of the FOV
  Array<double> weights;    ///< |phi|^2, [sample]
};

enum class FieldOrder { as_read, as_written };

QProblem read_problem(const ParboilSet& set, FieldOrder order) {
  std::ifstream file(path_of(set, "", ".bin"), std::ios::binary);
  std::int32_t samples = 0, voxels = 0;
  file.read(reinterpret_cast<char*>(&samples), 4).read(reinterpret_cast<char*>(&voxels), 4);
  const auto block = [&](std::int32_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    file.read(reinterpret_cast<char*>(values.data()), std::int64_t{4} * count);
    return values;
  };
  QProblem problem{Array<double>({3, samples}), Array<double>({3, voxels}), Array<double>({samples})};
  const auto read_positions = [&](Array<double>& positions, std::int32_t count) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto values = block(count);
      std::copy(values.begin(), values.end(), positions.data() + std::int64_t{axis} * count);
    }
  };
  const auto read_weights = [&] {
    const auto re = block(samples), im = block(samples);
    for (std::int32_t m = 0; m < samples; ++m)
      problem.weights[m] = static_cast<double>(re[m]) * re[m] + static_cast<double>(im[m]) * im[m];
  };
  read_positions(problem.k, samples);
  if (order == FieldOrder::as_written) read_weights();
  read_positions(problem.positions, voxels);
  if (order == FieldOrder::as_read) read_weights();
  if (!file) throw fhd::Error(path_of(set, "", ".bin"), "a whole Parboil data set", "a shorter file");
  return problem;
}

Values read_reference_q(const ParboilSet& set) {
  std::ifstream file(path_of(set, "mri-q_", ".out"), std::ios::binary);
  std::uint32_t voxels = 0;
  file.read(reinterpret_cast<char*>(&voxels), 4);
  std::vector<float> re(voxels), im(voxels);
  file.read(reinterpret_cast<char*>(re.data()), std::int64_t{4} * voxels);
  file.read(reinterpret_cast<char*>(im.data()), std::int64_t{4} * voxels);
  if (!file || voxels == 0)
    throw fhd::Error(path_of(set, "mri-q_", ".out"), "a whole Parboil output", "a shorter file");
  Values q({voxels});
  for (std::uint32_t p = 0; p < voxels; ++p) q[p] = {re[p], im[p]};
  return q;
}

/// Every `step`-th voxel of positions and of values on them.
Array<double> every(const Array<double>& positions, std::int64_t step) {
  const auto voxels = positions.extent(1), kept = (voxels + step - 1) / step;
  Array<double> subset({3, kept});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t p = 0; p < kept; ++p) subset[axis * kept + p] = positions[axis * voxels + p * step];
  return subset;
}
Values every(const Values& values, std::int64_t step) {
  Values subset({(values.size() + step - 1) / step});
  for (std::int64_t p = 0; p < subset.size(); ++p) subset[p] = values[p * step];
  return subset;
}

#define SKIP_WITHOUT_SCANS()                              \
  if (!std::filesystem::exists(FHD_SCANS "/parboil_mri")) \
  GTEST_SKIP() << "no scans at " FHD_SCANS "/parboil_mri"

// The reference program sums in single precision: the oracle differs from it by about 1e-6, all of it the
// program's.
constexpr double reference_tolerance = 1e-5;

TEST(Parboil, oracle_reproduces_q_of_both_sets) {
  SKIP_WITHOUT_SCANS();
  for (const auto& [set, step] : {std::pair(small, 1), std::pair(large, 32)}) {
    const auto problem = read_problem(set, FieldOrder::as_read);
    const auto q = fhd::oracle::q(problem.k, every(problem.positions, step), problem.weights);
    EXPECT_LE(fhd::metrics::relative_l2(q, every(read_reference_q(set), step)), reference_tolerance)
        << set.folder;
  }
}

TEST(Parboil, general_sum_reproduces_q_of_both_sets) {
  SKIP_WITHOUT_SCANS();
  for (const auto& set : {small, large}) {
    SCOPED_TRACE(set.folder);
    const auto problem = read_problem(set, FieldOrder::as_read);
    const auto weights = converted<Complex<float>>(problem.weights).reshaped({1, problem.weights.size()});
    const auto q = fhd::general_sum(problem.k, problem.positions, +1.0, weights);
    EXPECT_LE(fhd::metrics::relative_l2(q, read_reference_q(set)), reference_tolerance);
  }
}

TEST(Parboil, positions_as_written_are_the_voxels_of_the_matrix) {
  SKIP_WITHOUT_SCANS();
  for (const auto& set : {small, large}) {
    const auto problem = read_problem(set, FieldOrder::as_written);
    const auto grid = fhd::oracle::voxel_positions({set.matrix_size, set.matrix_size, set.matrix_size});
    ASSERT_EQ(problem.positions.shape(), grid.shape());
    EXPECT_TRUE(std::equal(grid.begin(), grid.end(), problem.positions.begin()));
  }
}

/// Q in true order is F^H of the weights.
template <class T>
double error_of_direct_q(const ParboilSet& set, std::int64_t step) {
  const auto problem = read_problem(set, FieldOrder::as_written);
  const std::array<int, 3> matrix{set.matrix_size, set.matrix_size, set.matrix_size};
  const auto direct = fhd::make_direct_transform<T>({problem.k}, matrix, fhd::Device::cpu());
  const auto weights = converted<Complex<T>>(problem.weights).reshaped({1, problem.weights.size()});
  Array<Complex<T>> q(direct->images_shape(1));
  direct->adjoint(weights, q);
  const auto expected = fhd::oracle::q(problem.k, every(problem.positions, step), problem.weights);
  return fhd::metrics::relative_l2(every(converted<Complex<double>>(q), step), expected);
}

TEST(Parboil, direct_adjoint_of_the_true_order_equals_the_oracle) {
  SKIP_WITHOUT_SCANS();
  // The tolerances of the direct transform (recon/transform/transform.hpp).
  EXPECT_LE(error_of_direct_q<float>(small, 7), 3e-5);
  EXPECT_LE(error_of_direct_q<double>(small, 7), 1e-12);
  EXPECT_LE(error_of_direct_q<float>(large, 61), 3e-5);
}

}  // namespace
