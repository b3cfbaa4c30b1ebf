// Two sets of maps: the operator is the sum of two SENSE operators, its adjoint and its normal operator are its own, and an
// object that is folded within the field of view keeps its signal.
#include <gtest/gtest.h>

#include <cmath>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/coils/maps.hpp"
#include "recon/encoding/sense_normal.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/transform.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using data::TrajectoryKind;
using io::error_of;

struct Operators {
  std::vector<std::shared_ptr<const SenseEncoding<double>>> sets;  ///< each by itself
  std::shared_ptr<const SenseEncoding<double>> encoding;
  std::shared_ptr<const HermitianOperator<double>> normal;
};

Operators operators_of(std::array<int, 3> n, std::int64_t coils, std::int64_t coils_at_once) {
  Operators made;
  const Trajectory trajectory = tests::random_trajectory(n, 201, 1);
  const std::shared_ptr<const FourierTransform<double>> transform =
      make_direct_transform<double>(trajectory, n, Device::cpu());
  const auto maps = [&](int set) { return tests::random_values<double>({coils, n[2], n[1], n[0]}, 2 + set); };
  for (int set = 0; set < 2; ++set)
    made.sets.push_back(std::make_shared<SenseEncoding<double>>(transform, maps(set)));
  made.encoding = std::make_shared<SenseEncoding<double>>(transform, maps(0), coils_at_once, 1, maps(1));
  made.normal = make_sense_normal<double>(
      made.encoding, point_spread_direct<double>(trajectory, n, nullptr, Device::cpu()), coils_at_once);
  return made;
}

class MapSets : public testing::TestWithParam<std::array<int, 4>> {};

TEST_P(MapSets, are_the_sum_of_their_encodings_with_an_adjoint_and_a_normal_operator) {
  const auto [nx, ny, nz, at_once] = GetParam();
  constexpr double rounding = 1e-11;  // of double sums over some thousand terms
  const auto made = operators_of({nx, ny, nz}, 6, at_once);
  const auto image = tests::random_values<double>({2 * nz, ny, nx}, 7);
  const auto data = tests::random_values<double>({6, 201}, 8);
  Array<Complex<double>> samples({6, 201}), sum({6, 201}), part({6, 201}), back(image.shape()),
      normal(image.shape()), twice(image.shape());
  made.encoding->forward(image, samples);
  for (int set = 0; set < 2; ++set) {
    made.sets[set]->forward(one_of(image, Shape{nz, ny, nx}, set), part);
    add_scaled(sum, 1.0, part);
  }
  EXPECT_LE(tests::relative_error(samples, sum), rounding);
  made.encoding->adjoint(data, back);
  EXPECT_LE(std::abs(real_dot(samples, data) - real_dot(image, back)),
            rounding * norm_l2(samples) * norm_l2(data));
  made.encoding->adjoint(samples, twice);
  made.normal->forward(image, normal);
  EXPECT_LE(tests::relative_error(normal, twice), rounding);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MapSets,
                         testing::Values(std::array{9, 8, 1, 0}, std::array{9, 8, 1, 2},
                                         std::array{6, 5, 4, 3}));

/// A head 1.4 times as large: folded along y (and x), every second line and 24 more in the centre.
struct Folded {
  Scan scan;
  Array<Complex<double>> truth;  ///< root of the sum of squares of the coils' images without noise, all lines
};
Folded folded_head() {
  data::SimulationSettings settings;
  settings.trajectory.kind = TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = {96, 96, 1};
  settings.object_scale = 1.4;
  settings.coil_count = 8;
  settings.snr.reset();
  Folded folded;
  Scan all = data::simulate(settings).scan;
  all.sensitivity_maps.reset();
  Settings fft;
  fft.method = CartesianFft{};
  fft.coils.maps = CoilMaps::none;
  const auto image = reconstruct(all, fft).image.values;
  folded.truth = Array<Complex<double>>(image.shape());
  for (std::int64_t p = 0; p < image.size(); ++p) folded.truth[p] = double(abs(image[p]));
  settings.snr = 50;
  all = data::simulate(settings).scan;
  std::vector<std::int64_t> kept;
  const std::int64_t samples = all.trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m) {
    const auto line = std::lround(all.trajectory.k[samples + m]);
    if (line % 2 == 0 || std::abs(line) <= 12) kept.push_back(m);
  }
  auto some = samples_at(kept, all.trajectory, all.kspace.values);
  folded.scan.geometry = all.geometry;
  folded.scan.trajectory = std::move(some.trajectory);
  folded.scan.kspace.values = std::move(some.kspace);
  return folded;
}

Settings with_sets(MapSetCount sets) {
  Settings settings;
  settings.coils.maps = CoilMaps::espirit;
  settings.coils.map_sets = sets;
  return settings;
}

double error_of_sets(const Folded& folded, const Settings& settings) {
  const auto made = reconstruct(folded.scan, settings, {}, {.verifier = validation::make_verifier()});
  const auto& certificate = *made.report.certificate;
  EXPECT_TRUE(certificate.passed) << certificate.forward_error << " " << certificate.adjoint_error << " "
                                  << certificate.normal_error << " " << certificate.true_residual;
  Array<Complex<double>> magnitude(folded.truth.shape());
  for (std::int64_t p = 0; p < magnitude.size(); ++p) magnitude[p] = double(abs(made.image.values[p]));
  return metrics::nrmse_best_scale(magnitude, folded.truth);
}

TEST(TwoSetsOfMaps, keep_the_signal_of_a_folded_object) {
  const auto folded = folded_head();
  const double one = error_of_sets(folded, with_sets(MapSetCount::one)),
               two = error_of_sets(folded, with_sets(MapSetCount::two)),
               automatic = error_of_sets(folded, with_sets(MapSetCount::automatic));
  std::printf("error with one set %.4f, with two %.4f\n", one, two);
  EXPECT_LE(one, 0.1);  // 0.237 with maps that jump between the two places of a voxel
  EXPECT_LE(two, 0.6 * one);
  EXPECT_EQ(automatic, two);
  Settings sparse = with_sets(MapSetCount::two);
  std::get<LeastSquares>(sparse.method).sparse = {{SparseKind::wavelet, 0.002}};
  std::get<LeastSquares>(sparse.method).lambda = OfLargestEigenvalue{0};
  std::get<LeastSquares>(sparse.method).iterations = sparse_iterations;
  std::get<LeastSquares>(sparse.method).tolerance = sparse_tolerance;
  const double wavelet = error_of_sets(folded, sparse);
  std::printf("with two and wavelet %.4f\n", wavelet);
  EXPECT_LE(wavelet, 1.2 * two);
}

TEST(TwoSetsOfMaps, are_not_taken_by_themselves_where_nothing_is_folded) {
  for (const auto kind : {TrajectoryKind::cartesian, TrajectoryKind::radial, TrajectoryKind::spiral}) {
    data::SimulationSettings settings;
    settings.trajectory.kind = kind;
    settings.trajectory.matrix_size = {96, 96, 1};
    const Scan scan = data::simulate(settings).scan;
    const auto estimate = estimate_maps(scan, MapMethod::espirit, MapSetCount::automatic);
    std::printf("%s: second eigenvalue in %.2f %% of the voxels with a map\n",
                std::string(data::name_of(kind)).c_str(), 100 * estimate.second_share);
    EXPECT_FALSE(estimate.second);
  }
}

TEST(TwoSetsOfMaps, are_orthogonal_and_of_length_one) {
  const auto folded = folded_head();
  const auto estimate = estimate_maps(folded.scan, MapMethod::espirit, MapSetCount::two);
  const auto &first = estimate.maps.values, &second = estimate.second->values;
  const std::int64_t voxels = 96 * 96;
  for (std::int64_t p = 0; p < voxels; ++p) {
    Complex<double> product;
    double square = 0;
    for (std::int64_t i = p; i < first.size(); i += voxels)
      product += conj(Complex<double>(first[i])) * Complex<double>(second[i]), square += norm(second[i]);
    ASSERT_LE(abs(product), 1e-4) << p;  // sums of eight products in float
    if (square > 0) {
      ASSERT_NEAR(square, 1, 1e-5) << p;
    }
  }
}

TEST(TwoSetsOfMaps, refuse_what_they_cannot_do) {
  const auto folded = folded_head();
  auto settings = with_sets(MapSetCount::two);
  std::get<LeastSquares>(settings.method).sparse = {{SparseKind::tgv, 0.01}};
  EXPECT_CONTAINS(error_of([&] { reconstruct(folded.scan, settings); }), "tgv");
  settings = with_sets(MapSetCount::two);
  settings.coils.maps = CoilMaps::adaptive;
  EXPECT_CONTAINS(error_of([&] { reconstruct(folded.scan, settings); }), "espirit");
  settings = with_sets(MapSetCount::automatic);
  settings.method = PlainAdjoint{};
  EXPECT_CONTAINS(error_of([&] { reconstruct(folded.scan, settings); }), "a method other than cg");
  settings = with_sets(MapSetCount::two);
  settings.coils.maps = CoilMaps::automatic;
  Scan with_maps = folded.scan;
  with_maps.sensitivity_maps = estimate_maps(with_maps, MapMethod::espirit).maps;
  EXPECT_CONTAINS(error_of([&] { reconstruct(with_maps, settings); }), "one set, given with the scan");
}

}  // namespace
