// The C++ library, as another program calls it.
#include "validation/fhd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "data/simulate.hpp"

namespace fhd {
namespace {

data::Simulation simulation() {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {24, 24, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 3;
  return data::simulate(settings);
}

/// Returns positions [sample][axis] times `factor`.
Array<double> positions_of(const Trajectory& trajectory, std::int64_t axes, double factor = 1) {
  const std::int64_t samples = trajectory.sample_count();
  Array<double> positions({samples, axes});
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::int64_t axis = 0; axis < axes; ++axis)
      positions[m * axes + axis] = factor * trajectory.k[axis * samples + m];
  return positions;
}

/// Returns the Error of work().
template <class Work>
ErrorParts error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Library, takes_positions_as_python_and_files_hold_them) {
  const Scan expected = simulation().scan;
  for (const std::int64_t axes : {2, 3}) {
    const Scan scan = scan_of(expected.kspace.values, positions_of(expected.trajectory, axes), {24, 24, 1});
    ASSERT_EQ(scan.trajectory.k.shape(), expected.trajectory.k.shape());
    for (std::int64_t i = 0; i < scan.trajectory.k.size(); ++i)
      ASSERT_EQ(scan.trajectory.k[i], expected.trajectory.k[i]);
  }
  EXPECT_EQ(error_of([&] {
              (void)scan_of(expected.kspace.values, expected.trajectory.k, {24, 24, 1});
            }).subject,
            "positions")
      << "[axis][sample]";
}

TEST(Library, refuses_positions_in_another_unit) {
  const Scan scan = simulation().scan;
  for (const double factor : {1 / 24.0, 2 * M_PI / 24, 1.2, std::nan("")})
    EXPECT_FALSE(error_of([&] {
                   (void)scan_of(scan.kspace.values, positions_of(scan.trajectory, 2, factor), {24, 24, 1});
                 }).expected.empty())
        << factor;
}

TEST(Library, gives_every_result_its_certificate_and_verdict) {
  Scan scan = simulation().scan;
  const Reconstruction right = reconstruct_and_verify(scan);
  ASSERT_TRUE(right.report.certificate && right.report.verdict);
  EXPECT_TRUE(right.report.certificate->passed);
  EXPECT_EQ(right.report.verdict->judgement, Verdict::Judgement::explained) << right.report.verdict->sentence;
  EXPECT_FALSE(holds(right.report.messages, "verdict", Severity::warning));
  EXPECT_FALSE(holds(right.report.messages, codes::certificate, Severity::warning));

  for (auto& k : scan.trajectory.k) k *= 0.8;
  const auto messages = reconstruct_and_verify(scan).report.messages;  // as of an object beyond the FOV
  EXPECT_TRUE(holds(messages, "verdict", Severity::warning) ||
              holds(messages, "verdict", Severity::suspicion));
}

TEST(Library, says_that_a_scan_is_empty) {
  Scan scan = simulation().scan;
  scan.kspace.values.fill_zero();
  scan.kspace.in_double = {};
  const auto& messages = reconstruct_and_verify(scan).report.messages;
  EXPECT_TRUE(holds(messages, "values", Severity::problem));
}

TEST(Library, names_members_in_place_of_options) {
  Scan scan = simulation().scan;
  const auto field_of = [&](const Settings& settings) {
    const ErrorParts parts = error_of([&] { (void)reconstruct_and_verify(scan, settings); });
    EXPECT_TRUE(parts.subject.starts_with(parts.field)) << parts.subject;
    return parts.field;
  };
  EXPECT_EQ(field_of({LeastSquares{.iterations = 0}}), "LeastSquares::iterations");
  EXPECT_EQ(field_of({LeastSquares{.lambda = OfMeanEigenvalue{-1}}}), "LeastSquares::lambda");
  EXPECT_EQ(field_of({LeastSquares{.transform = {.accuracy = 0}}}), "TransformSettings::accuracy");
  EXPECT_EQ(field_of({ConventionalGridding{0}}), "ConventionalGridding::accuracy");
  EXPECT_EQ(field_of({LeastSquares{.sparse = {{SparseKind::tv, -1.0}}}}), "LeastSquares::sparse");
  EXPECT_EQ(field_of({CartesianFft{}}), "Settings::method");
  Settings settings;
  settings.coils.compression = KeptEnergy{2};
  EXPECT_EQ(field_of(settings), "CoilSettings::compression");
  scan.sensitivity_maps.reset();
  settings.coils = {.maps = CoilMaps::file};
  EXPECT_EQ(field_of(settings), "CoilSettings::maps");
}

}  // namespace
}  // namespace fhd
