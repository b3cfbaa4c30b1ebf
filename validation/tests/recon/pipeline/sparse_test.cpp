// Images with wavelet, tv and tgv through the whole pipeline.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/simulate.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

Settings with_terms(std::vector<SparsePenalty> terms, double tolerance = sparse_tolerance) {
  LeastSquares method;
  method.lambda = OfLargestEigenvalue{0};
  method.sparse = std::move(terms);
  method.iterations = sparse_iterations;
  method.tolerance = tolerance;
  return {method};
}

/// Golden-angle radial, or a stack of it, a quarter of Nyquist's number of readouts, 8 coils, SNR 20.
data::Simulation undersampled(std::array<int, 3> matrix_size = {64, 64, 1}) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = matrix_size;
  settings.trajectory.fov_mm = {240, 240, matrix_size[2] == 1 ? 5.0 : 120.0};
  if (matrix_size[2] > 1) settings.trajectory.kind = data::TrajectoryKind::stack_of_stars;
  settings.trajectory.undersampling = 4;
  settings.coil_count = 8;
  settings.snr = 20;
  return data::simulate(settings);
}

/// One thread: so small are the images that a busy machine would wait for others most of the time.
Execution one_thread() { return {Device::cpu(), 1}; }

Array<Complex<double>> image_of(const Scan& scan, const Settings& settings) {
  return converted<Complex<double>>(reconstruct(scan, settings, one_thread()).image.values);
}

double error(const Array<Complex<double>>& image, const data::Simulation& made) {
  return metrics::relative_l2(image, converted<Complex<double>>(made.band_limited.values));
}

TEST(SparseRecon, beats_least_squares_on_an_undersampled_scan) {
  const auto made = undersampled();
  const double least_squares = error(image_of(made.scan, {}), made);
  // The phantom is made of pieces without slope: what wavelets and differences need not pay for. Seen: 0.6 of the error of
  // least squares; half of that gain is asked.
  for (const auto& terms :
       std::vector<std::vector<SparsePenalty>>{{{SparseKind::wavelet, 0.01}},
                                               {{SparseKind::tv, 0.01}},
                                               {{SparseKind::tgv, 0.01}},
                                               {{SparseKind::wavelet, 0.005}, {SparseKind::tv, 0.005}}})
    EXPECT_LE(error(image_of(made.scan, with_terms(terms)), made), 0.8 * least_squares)
        << name_of(terms[0].kind);
}

// Neither change alters the problem: what differs is rounding, amplified where iterations stop at a residual. The demand on
// least squares is 1e-3; with sparse terms images are within some 1e-3 of the minimum, each.
struct ScaleCase {
  Scan scan;
  Settings settings;
  double tolerance;
};
std::vector<ScaleCase> scale_cases() {
  Scan without_maps = undersampled({48, 48, 1}).scan;
  without_maps.sensitivity_maps.reset();
  return {
      {without_maps, {}, 1e-3},
      {undersampled().scan, with_terms({{SparseKind::wavelet, 0.01}, {SparseKind::tv, 0.005}}, 1e-3), 2e-3}};
}

TEST(ScaleInvariance, data_times_a_factor_give_the_image_times_the_factor) {
  for (auto [scan, settings, tolerance] : scale_cases()) {
    const auto once = reconstruct(scan, settings, one_thread());
    for (auto& value : scan.kspace.values) value *= 1000;
    const auto larger = reconstruct(scan, settings, one_thread());
    EXPECT_LE(metrics::relative_l2(values_of<double>(larger.image),
                                   metrics::scaled(values_of<double>(once.image), Complex<double>(1000))),
              tolerance);
    for (std::size_t j = 0; j < once.report.terms.size(); ++j)
      EXPECT_NEAR(larger.report.terms[j].weight, 1000 * once.report.terms[j].weight,
                  once.report.terms[j].weight);
  }
}

TEST(ScaleInvariance, samples_taken_twice_give_the_same_image) {
  for (const auto& [scan, settings, tolerance] : scale_cases())
    EXPECT_LE(
        metrics::relative_l2(image_of(tests::with_samples_twice(scan), settings), image_of(scan, settings)),
        tolerance);
}

TEST(SparseRecon, tells_terms_objective_and_residuals) {
  const auto made = undersampled();
  Services services;
  services.verifier = validation::make_verifier();
  const auto report =
      reconstruct(made.scan, with_terms({{SparseKind::tv, 0.01}}), one_thread(), services).report;
  ASSERT_EQ(report.terms.size(), 1u);
  EXPECT_EQ(report.terms[0].name, "tv");
  EXPECT_EQ(report.terms[0].strength, 0.01);
  EXPECT_GT(report.terms[0].weight, 0);
  ASSERT_EQ(report.objectives.size(), report.relative_residuals.size());
  EXPECT_LT(report.objectives.back(), report.objectives.front());
  EXPECT_GT(report.objectives.back(), 0);
  EXPECT_TRUE(report.converged);
  EXPECT_LE(report.relative_residuals.back(), sparse_tolerance);
  // The pull of the data, by exact sums, against that of the terms as it is recorded.
  ASSERT_TRUE(report.certificate);
  EXPECT_TRUE(report.certificate->passed);
  EXPECT_LE(report.certificate->true_residual, 1e-4);
  EXPECT_TRUE(tests::tells(report.messages, "does not check that the latter is a subgradient"));
}

TEST(SparseRecon, goes_without_a_preconditioner_too_to_the_same_image) {
  const auto made = undersampled({32, 32, 1});
  auto settings = with_terms({{SparseKind::tv, 0.02}}, 1e-3);
  const auto preconditioned = image_of(made.scan, settings);
  std::get<LeastSquares>(settings.method).preconditioner = PreconditionerKind::none;
  EXPECT_LE(metrics::relative_l2(image_of(made.scan, settings), preconditioned), 0.02);
}

TEST(SparseRecon, takes_volumes_and_coils_without_maps) {
  const auto volume = undersampled({24, 24, 12});
  EXPECT_LE(error(image_of(volume.scan, with_terms({{SparseKind::tgv, 0.005}})), volume),
            error(image_of(volume.scan, {}), volume));
  auto each_coil = undersampled({32, 32, 1});
  each_coil.scan.sensitivity_maps.reset();
  Settings settings = with_terms({{SparseKind::wavelet, 0.01}});
  settings.coils.maps = CoilMaps::none;
  const auto made = reconstruct(each_coil.scan, settings, one_thread());
  EXPECT_EQ(made.report.terms.size(), 1u) << "the strengths of the strongest coil serve all";
}

TEST(SparseRecon, stays_near_zero_where_no_coil_sees_anything) {
  // tgv would continue slopes into the corners for nothing.
  auto made = undersampled();
  auto& maps = made.scan.sensitivity_maps->values;
  const auto is_corner = [](std::int64_t p) {
    return std::abs(p % 64 - 32) > 24 && std::abs(p / 64 - 32) > 24;
  };
  for (std::int64_t i = 0; i < maps.size(); ++i)
    if (is_corner(i % (64 * 64))) maps[i] = {};
  const auto image = image_of(made.scan, with_terms({{SparseKind::tgv, 0.01}}));
  double corners = 0, all = 0;
  for (std::int64_t p = 0; p < image.size(); ++p) {
    all = std::max(all, abs(image[p]));
    if (is_corner(p)) corners = std::max(corners, abs(image[p]));
  }
  EXPECT_LE(corners, 0.01 * all);
}

TEST(SparseSettings, refuse_contradictions) {
  const auto refused = [](const Settings& settings) { EXPECT_THROW(validate(settings), Error); };
  refused(with_terms({{SparseKind::tv, 0}}));
  refused(with_terms({{SparseKind::tv, -0.1}}));
  refused(with_terms({{SparseKind::tv, 1e-7}}));
  refused(with_terms({{SparseKind::tv, 11}}));
  refused(with_terms({{SparseKind::tv, std::numeric_limits<double>::quiet_NaN()}}));
  refused(with_terms({{SparseKind::tv, 0.1}, {SparseKind::tv, 0.2}}));
  refused(with_terms({{SparseKind::wavelet, {}}, {SparseKind::tv, {}}}));  // two searches
  auto settings = with_terms({{SparseKind::tv, 0.1}});
  validate(settings);
  std::get<LeastSquares>(settings.method).lambda = FromNoise{};
  refused(settings);
}

TEST(Estimate, of_sparse_terms_is_part_of_the_plan) {
  ScanSizes sizes;
  sizes.matrix_size = {64, 64, 16};
  sizes.samples.all = 66592;
  sizes.coils = 4;
  sizes.has_maps = true;
  const double image = 64 * 64 * 16 * 8;
  const auto plan = [&](std::vector<SparsePenalty> terms) {
    return estimate(sizes, {with_terms(std::move(terms)), Device::cuda()});
  };
  const auto tv = plan({{SparseKind::tv, 0.01}}),
             both = plan({{SparseKind::tv, 0.01}, {SparseKind::wavelet, 0.01}});
  // Three planes of differences, thrice; eight shifts of wavelets, thrice and twice.
  EXPECT_GE(static_cast<double>(tv.device.peak_bytes()), 9 * image);
  EXPECT_GE(static_cast<double>(both.device.peak_bytes()), (9 + 40) * image);
  for (const auto& made : {tv, both}) {
    const auto is_named = [&](const char* name) {
      return std::any_of(made.stages.begin(), made.stages.end(),
                         [&](const auto& stage) { return stage.name == name; });
    };
    EXPECT_TRUE(is_named("first image"));
    EXPECT_TRUE(is_named("ADMM"));
    EXPECT_FALSE(is_named("conjugate gradient"));
    EXPECT_LE(made.iterations, made.most_iterations);
  }
}

}  // namespace
}  // namespace fhd
