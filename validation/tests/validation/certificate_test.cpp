// The accuracy certificate: that it passes what is right, and finds what is wrong.
#include "validation/certificate.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "data/simulate.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd {
namespace {

Scan scan_of(std::array<int, 3> matrix_size, int coils) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = matrix_size;
  settings.trajectory.fov_mm = {240, 240, matrix_size[2] > 1 ? 240.0 : 5.0};
  if (matrix_size[2] > 1) settings.trajectory.kind = data::TrajectoryKind::stack_of_stars;
  settings.coil_count = coils;
  return data::simulate(settings).scan;
}

Certificate certificate_of(const Scan& scan, const Settings& settings = {},
                           const std::shared_ptr<const Verifier>& verifier = validation::make_verifier()) {
  return reconstruct(scan, settings, {}, {nullptr, verifier}).report.certificate.value();
}

TEST(Certificate, passes_exact_and_gridded_transforms_in_both_precisions) {
  for (const auto matrix_size : {std::array{33, 28, 1}, std::array{16, 17, 9}}) {
    const Scan scan = scan_of(matrix_size, 3);
    for (const auto transform : {TransformKind::direct, TransformKind::gridded})
      for (const auto precision : {Precision::single_precision, Precision::double_precision}) {
        const Certificate c = certificate_of(scan, {LeastSquares{.transform = {transform}}, precision});
        EXPECT_TRUE(c.passed);
        EXPECT_GE(c.voxels, 9);
        EXPECT_GE(c.samples, 16);
        // The largest of three errors, none of which may be missing.
        EXPECT_GE(std::min({c.forward_error, c.adjoint_error, c.normal_error}), 0);
        EXPECT_LE(c.error(), c.requested);
        // Rounding of T in F, F^H and the two products: a few eps each.
        const double eps = precision == Precision::single_precision ? 0x1p-23 : 0x1p-52;
        EXPECT_LE(c.adjointness, 100 * eps);
        EXPECT_LE(c.true_residual, 2 * c.solver_residual + 3 * c.requested);
      }
  }
}

TEST(Certificate, covers_every_method_and_the_scan_without_maps) {
  Scan scan = scan_of({24, 24, 1}, 4);
  for (const Method& method : {Method(ConventionalGridding{}), Method(PlainAdjoint{})}) {
    const Certificate c = certificate_of(scan, {method});
    EXPECT_TRUE(c.passed);
    EXPECT_LE(c.adjoint_error, c.requested);
    EXPECT_GE(c.adjoint_error, 0);
    EXPECT_LT(c.forward_error, 0) << "nothing is transformed forward";
  }
  scan.sensitivity_maps.reset();
  Settings settings;
  settings.coils.maps = CoilMaps::none;
  EXPECT_TRUE(certificate_of(scan, settings).passed);
}

TEST(Certificate, covers_a_cartesian_scan_with_repeated_positions) {
  constexpr int n = 12;
  Scan scan;
  scan.geometry.matrix_size = {n, n, 1};
  scan.trajectory.k = Array<double>({3, n * n + 5});
  scan.kspace.values = Array<Complex<float>>({2, n * n + 5});
  for (int m = 0; m < n * n + 5; ++m) {
    scan.trajectory.k[m] = m % n - n / 2;
    scan.trajectory.k[n * n + 5 + m] = m / n % n - n / 2;
    for (int coil = 0; coil < 2; ++coil)
      scan.kspace.values[coil * (n * n + 5) + m] = {std::sin(1.0F + m), std::cos(3.0F * m + coil)};
  }
  const Certificate c = certificate_of(scan, {CartesianFft{}});
  EXPECT_TRUE(c.passed);
  EXPECT_GE(c.adjoint_error, 0);
}

TEST(Certificate, covers_long_rows_any_number_of_coils_and_off_resonance) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {300, 7, 1};
  settings.trajectory.readout_count = 24;
  settings.trajectory.readout_length = 150;
  settings.coil_count = 5;
  const Certificate long_rows = certificate_of(data::simulate(settings).scan);
  EXPECT_TRUE(long_rows.passed);
  EXPECT_LE(long_rows.error(), long_rows.requested);
  Scan scan = scan_of({24, 24, 1}, 2);
  scan.field_map = Array<float>(scan.geometry.image_shape());
  for (std::int64_t p = 0; p < scan.field_map->size(); ++p)
    (*scan.field_map)[p] = 300 * std::sin(0.01F * static_cast<float>(p));
  scan.sample_time_s = Array<double>({scan.kspace.sample_count()});
  for (std::int64_t m = 0; m < scan.kspace.sample_count(); ++m)
    (*scan.sample_time_s)[m] =
        10e-3 * static_cast<double>(m) / static_cast<double>(scan.kspace.sample_count());
  const Certificate c = certificate_of(scan);
  EXPECT_TRUE(c.passed);
  EXPECT_LE(c.error(), c.requested);
}

/// Hands on input that `change` has falsified.
template <class Change>
class Falsified final : public Verifier {
 public:
  explicit Falsified(Change change) : change_(change) {}
  Certificate verify(const VerifierInput<float>& input) const override {
    VerifierInput<float> changed(input);
    change_(changed);
    return validation::make_verifier()->verify(changed);
  }
  Certificate verify(const VerifierInput<double>&) const override { return {}; }

 private:
  Change change_;
};

template <class Change>
Certificate falsified(const Scan& scan, Change change) {
  return certificate_of(scan, {}, std::make_shared<Falsified<Change>>(change));
}

TEST(Certificate, finds_an_operator_that_is_off_by_a_thousandth) {
  const Scan scan = scan_of({32, 32, 1}, 3);
  const auto stretch = [](Array<Complex<float>>& values) {
    for (auto& v : values) v *= 1.001F;
  };
  // A factor of 1.001 is a relative error of 1e-3; a sample of 100 voxels of an image with a bright object
  // tells the root mean square within a factor of two.
  const auto near_a_thousandth = [](double error) {
    EXPECT_GE(error, 0.5e-3);
    EXPECT_LE(error, 2e-3);
  };
  const Certificate forward = falsified(scan, [&](auto& e) { stretch(e.predicted); });
  EXPECT_FALSE(forward.passed);
  near_a_thousandth(forward.forward_error);
  const Certificate adjoint = falsified(scan, [&](auto& e) { stretch(e.adjoint); });
  EXPECT_FALSE(adjoint.passed);
  near_a_thousandth(adjoint.adjoint_error);
  near_a_thousandth(adjoint.adjointness);
  const Certificate normal = falsified(scan, [&](auto& e) { stretch(e.normal); });
  EXPECT_FALSE(normal.passed);
  near_a_thousandth(normal.normal_error);
}

TEST(Certificate, finds_an_image_that_does_not_solve_the_system) {
  const Scan scan = scan_of({32, 32, 1}, 3);
  // The image and everything made of it, consistently: a solution of another system.
  const Certificate c = falsified(scan, [](auto& e) {
    for (auto* values : {&e.image, &e.predicted, &e.normal, &e.regularized})
      for (auto& v : *values) v *= 0.9F;
  });
  EXPECT_FALSE(c.passed);
  EXPECT_LE(c.error(), c.requested) << "the operators are right";
  // E^H d - 0.9 (E^H E + lambda) rho is a tenth of E^H d.
  EXPECT_GE(c.true_residual, 0.05);
  EXPECT_LE(c.true_residual, 0.2);
}

TEST(Certificate, never_passes_a_nan) {
  const Scan scan = scan_of({16, 16, 1}, 2);
  const Complex<float> nan(std::numeric_limits<float>::quiet_NaN());
  const auto falsify = [&](auto& e) { std::fill(e.adjoint.begin(), e.adjoint.end(), nan); };
  EXPECT_FALSE(falsified(scan, falsify).passed);
  EXPECT_FALSE(falsified(scan, [&](auto& e) { e.predicted[0] = nan; }).passed);
  EXPECT_FALSE(
      falsified(scan, [&](auto& e) { std::fill(e.regularized.begin(), e.regularized.end(), nan); }).passed);
  // A method without a system.
  const auto verifier = std::make_shared<Falsified<decltype(falsify)>>(falsify);
  EXPECT_FALSE(certificate_of(scan, {ConventionalGridding{}}, verifier).passed);
}

TEST(Certificate, the_largest_error_is_a_nan_wherever_it_stands) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double Certificate::*error :
       {&Certificate::forward_error, &Certificate::adjoint_error, &Certificate::normal_error}) {
    Certificate c;
    c.forward_error = c.adjoint_error = c.normal_error = 1e-6;
    EXPECT_EQ(c.error(), 1e-6);
    c.*error = nan;
    EXPECT_TRUE(std::isnan(c.error()));
  }
}

void expect_same(const Certificate& a, const Certificate& b) {
  EXPECT_EQ(a.passed, b.passed);
  EXPECT_EQ(a.voxels, b.voxels);
  EXPECT_EQ(a.samples, b.samples);
  for (const auto member :
       {&Certificate::forward_error, &Certificate::adjoint_error, &Certificate::normal_error,
        &Certificate::adjointness, &Certificate::true_residual})
    EXPECT_EQ(a.*member, b.*member);
}

/// Compares the certificates that some threads and one make of the same input.
class WithAnyThreads final : public Verifier {
 public:
  Certificate verify(const VerifierInput<float>& input) const override {
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    const auto made = validation::make_verifier()->verify(input);
    omp_set_num_threads(before);
    const ThreadLimit limit(1);
    expect_same(made, validation::make_verifier()->verify(input));
    return made;
  }
  Certificate verify(const VerifierInput<double>&) const override { return {}; }
};

TEST(Certificate, is_the_same_in_every_run_with_any_number_of_threads) {
  const Scan scan = scan_of({20, 20, 1}, 2);
  const auto run = [&] { return certificate_of(scan, {}, std::make_shared<WithAnyThreads>()); };
  expect_same(run(), run());
}

/// Certificates of a series, one volume of which `change` has falsified.
template <class T, class Change>
class FalsifiedVolume final : public Verifier {
 public:
  FalsifiedVolume(int volume, Change change) : left_(volume), change_(change) {}
  Certificate verify(const VerifierInput<float>&) const override { return {}; }
  Certificate verify(const VerifierInput<double>&) const override { return {}; }
  std::vector<Certificate> verify(const std::vector<VerifierInput<T>>& inputs, Kept& kept) const override {
    auto changed = inputs;
    if (left_-- == 0) change_(changed.front());
    return validation::make_verifier()->verify(changed, kept);
  }

 private:
  mutable int left_;
  Change change_;
};

constexpr int nothing_changed = -1;

/// Returns the certificates of three volumes, which differ in their brightness and a little in their shape.
template <class T = float, class Change>
std::vector<Certificate> certificates_of_series(const Scan& scan, int volume, Change change,
                                                const LeastSquares& method = {}) {
  const auto precision = std::is_same_v<T, float> ? Precision::single_precision : Precision::double_precision;
  Reconstructor reconstructor({method, precision}, {},
                              {.verifier = std::make_shared<FalsifiedVolume<T, Change>>(volume, change)});
  std::vector<Scan> scans;
  for (int v = 0; v < 3; ++v) {
    scans.push_back(scan);
    auto& values = scans.back().kspace.values;
    for (std::int64_t i = 0; i < values.size(); ++i)
      values[i] *= (1.0F + 2.0F * static_cast<float>(v)) *
                   (1.0F + 0.1F * std::sin(static_cast<float>(v) * 0.1F * static_cast<float>(i)));
  }
  const auto preparation = reconstructor.prepare(scans.front());
  std::vector<Certificate> certificates;
  for (const auto& one : scans)
    certificates.push_back(reconstructor.reconstruct(preparation, {&one}).front().report.certificate.value());
  return certificates;
}

constexpr auto unchanged = [](auto&) {};

TEST(CertificateOfSeries, passes_what_is_right_in_both_precisions) {
  const auto expect_passed = [](const std::vector<Certificate>& all, double eps) {
    for (const Certificate& c : all) {
      EXPECT_TRUE(c.passed);
      EXPECT_GE(std::min({c.forward_error, c.adjoint_error, c.normal_error}), 0);
      EXPECT_LE(c.error(), c.requested);
      EXPECT_LE(c.adjointness, 100 * eps);
      EXPECT_GE(std::min(c.voxels, c.samples), 9);
    }
  };
  const auto expect_both_passed = [&](std::array<int, 3> matrix_size, int coils, TransformKind kind) {
    const Scan scan = scan_of(matrix_size, coils);
    const LeastSquares method{.transform = {kind}};
    expect_passed(certificates_of_series<float>(scan, nothing_changed, unchanged, method), 0x1p-23);
    expect_passed(certificates_of_series<double>(scan, nothing_changed, unchanged, method), 0x1p-52);
  };
  expect_both_passed({33, 28, 1}, 5, TransformKind::direct);
  expect_both_passed({33, 28, 1}, 1, TransformKind::gridded);
  expect_both_passed({12, 13, 9}, 3, TransformKind::direct);
  expect_both_passed({300, 7, 1}, 2, TransformKind::gridded);  // of more voxels along x than a block
}

TEST(CertificateOfSeries, finds_the_volume_that_is_off_by_a_thousandth) {
  const Scan scan = scan_of({32, 32, 1}, 3);
  const auto stretch = [](Array<Complex<float>>& values) {
    for (auto& v : values) v *= 1.001F;
  };
  const auto expect_found = [&](double Certificate::*error, auto change) {
    const auto all = certificates_of_series(scan, 2, change);
    for (std::size_t v = 0; v < all.size(); ++v) EXPECT_EQ(all[v].passed, v != 2) << v;
    // The mean of two squares of random combinations is within these factors of its expectation, but once in 500 times.
    EXPECT_GE(all[2].*error, 1e-3 / 32);
    EXPECT_LE(all[2].*error, 3e-3);
  };
  expect_found(&Certificate::forward_error, [&](auto& e) { stretch(e.predicted); });
  expect_found(&Certificate::adjoint_error, [&](auto& e) { stretch(e.adjoint); });
  expect_found(&Certificate::normal_error, [&](auto& e) { stretch(e.normal); });
}

TEST(CertificateOfSeries, finds_an_image_of_another_volume_and_a_nan) {
  const Scan scan = scan_of({32, 32, 1}, 3);
  const auto shrink = [](auto& e) {
    for (auto* values : {&e.image, &e.predicted, &e.normal, &e.regularized})
      for (auto& v : *values) v *= 0.9F;
  };
  const Complex<float> nan(std::numeric_limits<float>::quiet_NaN());
  const auto expect_found = [&](auto change) {
    const auto all = certificates_of_series(scan, 1, change);
    for (std::size_t v = 0; v < all.size(); ++v) EXPECT_EQ(all[v].passed, v != 1) << v;
  };
  expect_found(shrink);
  expect_found([&](auto& e) { e.predicted[5] = nan; });
  expect_found([&](auto& e) { e.image[5] = nan; });
  expect_found([&](auto& e) { e.adjoint[5] = nan; });
  expect_found([&](auto& e) { e.regularized[5] = nan; });
}

TEST(Certificate, of_an_image_of_zeros_passes) {
  Scan scan = scan_of({16, 16, 1}, 2);
  scan.kspace.values.fill_zero();
  EXPECT_TRUE(certificate_of(scan).passed);
}

}  // namespace
}  // namespace fhd
