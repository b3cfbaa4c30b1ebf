// Frames in a temporal subspace: its operators, its courses, and their images through the whole pipeline.
#include "recon/pipeline/subspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/solve/stack.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

/// Orthonormal cosines over the frames, the first one constant.
Array<double> cosines(std::int64_t components, std::int64_t frames) {
  Array<double> courses(Shape{components, frames});
  for (std::int64_t k = 0; k < components; ++k)
    for (std::int64_t t = 0; t < frames; ++t)
      courses[k * frames + t] = std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(frames)) *
                                std::cos(std::numbers::pi * static_cast<double>(k) *
                                         (static_cast<double>(t) + 0.5) / static_cast<double>(frames));
  return courses;
}

TEST(Subspace, of_pairs_is_that_of_frames) {
  const std::int64_t components = 3, frames = 10;
  const std::array<int, 3> matrix{9, 8, 1};
  const auto maps = tests::random_values<double>({2, 1, 8, 9}, 5);
  const auto courses = cosines(components, frames);
  std::vector<std::shared_ptr<const HermitianOperator<double>>> of_frames, of_pairs;
  std::vector<Array<Complex<double>>> point_spreads;
  for (std::int64_t t = 0; t < frames; ++t) {
    const auto trajectory = tests::random_trajectory(matrix, 40, static_cast<unsigned>(t));
    point_spreads.push_back(point_spread_direct<double>(trajectory, matrix, nullptr, Device::cpu()));
    of_frames.push_back(make_toeplitz_normal(point_spreads.back(), Array<Complex<double>>(maps)));
  }
  for (std::int64_t k = 0; k < components; ++k)
    for (std::int64_t l = k; l < components; ++l) {
      Array<Complex<double>> q(point_spreads.front().shape());
      for (std::int64_t t = 0; t < frames; ++t)
        add_scaled(q, courses[k * frames + t] * courses[l * frames + t],
                   point_spreads[static_cast<std::size_t>(t)]);
      of_pairs.push_back(make_toeplitz_normal(q, Array<Complex<double>>(maps)));
    }
  const Shape image{1, 8, 9};
  const auto subspace = std::make_shared<Subspace<double>>(courses, Device::cpu());
  const SubspaceNormal<double> by_frame(std::make_shared<StackedNormal<double>>(of_frames), subspace, image);
  const CoupledNormal<double> by_pair(of_pairs);
  ASSERT_EQ(by_pair.domain(), by_frame.domain());
  const auto in = tests::random_values<double>(by_frame.domain(), 7);
  Array<Complex<double>> a(in.shape()), b(in.shape());
  by_frame.forward(in, a);
  by_pair.forward(in, b);
  EXPECT_LE(metrics::relative_l2(a, b), 1e-13);
}

data::Simulation moving(std::int64_t readouts, std::int64_t readouts_per_frame, int matrix = 32) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.readout_count = readouts;
  settings.coil_count = 4;
  settings.snr = 20;
  settings.readouts_per_frame = readouts_per_frame;
  return data::simulate(settings);
}

LeastSquares in_subspace(BasisChoice basis, std::vector<SparsePenalty> terms = {}, double tolerance = 1e-6) {
  LeastSquares method;
  method.lambda = OfMeanEigenvalue{0.05};
  method.sparse = std::move(terms);
  method.iterations = 300;
  method.tolerance = tolerance;
  method.basis = std::move(basis);
  return method;
}

std::vector<Reconstruction> frames_of(const data::Simulation& made, std::int64_t frames,
                                      const LeastSquares& method, const Services& services = {}) {
  Execution execution;
  execution.threads = 1;
  Settings settings{method};
  settings.surroundings = Surroundings::off;
  const auto layout =
      lay_out_frames(made.scan.trajectory.sample_count(), made.readout_length, {.frames = frames});
  return Reconstructor(settings, execution, services)(made.scan, layout);
}

template <class ImageOf>
metrics::Values joined(std::size_t frames, const ImageOf& image_of) {
  const std::int64_t size = image_of(0).values.size();
  metrics::Values all({static_cast<std::int64_t>(frames) * size});
  for (std::int64_t i = 0; i < all.size(); ++i)
    all[i] = Complex<double>(image_of(static_cast<std::size_t>(i / size)).values[i % size]);
  return all;
}
metrics::Values joined(const std::vector<Reconstruction>& frames) {
  return joined(frames.size(), [&](std::size_t t) -> const Image& { return frames[t].image; });
}
double error(const std::vector<Reconstruction>& made, const data::Simulation& truth) {
  return metrics::relative_l2(
      joined(made), joined(made.size(), [&](std::size_t t) -> const Image& { return truth.frames.at(t); }));
}

TEST(SubspaceFrames, of_all_courses_are_those_without) {
  const auto made = moving(40, 10, 24);
  const auto free = [&] {
    auto method = in_subspace(GivenCourses{});
    method.basis.reset();
    return method;
  }();
  // Two solutions to 1e-6 of a system of condition 2 / 0.05 or so.
  EXPECT_LE(metrics::relative_l2(joined(frames_of(made, 4, in_subspace(GivenCourses{cosines(4, 4)}))),
                                 joined(frames_of(made, 4, free))),
            1e-4);
}

TEST(SubspaceFrames, of_one_constant_course_are_the_image_of_all_readouts) {
  const auto made = moving(40, 10, 24);
  const auto frames = frames_of(made, 4, in_subspace(GivenCourses{cosines(1, 4)}));
  Settings settings{in_subspace(GivenCourses{})};
  settings.surroundings = Surroundings::off;
  auto& method = std::get<LeastSquares>(settings.method);
  method.basis.reset();
  const auto all = reconstruct(made.scan, settings);
  for (const auto& frame : frames)
    EXPECT_LE(metrics::relative_l2(values_of<double>(frame.image), values_of<double>(all.image)), 1e-4);
}

TEST(SubspaceFrames, in_a_field_of_one_constant_course_are_the_image_of_all_readouts) {
  data::SimulationSettings simulation;
  simulation.trajectory.matrix_size = {24, 24, 1};
  simulation.trajectory.fov_mm = {240, 240, 5};
  simulation.trajectory.readout_count = 40;
  simulation.trajectory.dwell_s = 8e-5;  // 4 ms
  simulation.coil_count = 4;
  simulation.field_hz = 100;
  auto made = data::simulate(simulation);
  made.scan.field_map = made.field_map;
  Services services;
  services.verifier = validation::make_verifier();
  Settings settings{in_subspace(GivenCourses{})};
  settings.surroundings = Surroundings::off;
  std::get<LeastSquares>(settings.method).basis.reset();
  const auto all = reconstruct(made.scan, settings);
  // The one leading course of an object at rest is constant but for noise, 1/30 of the object and less.
  for (const auto& [basis, tolerance] :
       {std::pair<BasisChoice, double>{GivenCourses{cosines(1, 4)}, 1e-4}, {LeadingCourses{1}, 0.05}})
    for (const auto& frame : frames_of(made, 4, in_subspace(basis), services)) {
      EXPECT_LE(metrics::relative_l2(values_of<double>(frame.image), values_of<double>(all.image)),
                tolerance);
      ASSERT_TRUE(frame.report.certificate);
      EXPECT_TRUE(frame.report.certificate->passed);
    }
}

TEST(SubspaceFrames, do_not_change_with_the_numbers_that_span_them) {
  const auto made = moving(60, 10, 24);
  const auto courses = cosines(2, 6);
  Array<double> mixed(Shape{6, 2});  // [frame][component]
  for (std::int64_t t = 0; t < 6; ++t) {
    mixed[2 * t] = 3 * courses[t] + courses[6 + t];
    mixed[2 * t + 1] = -0.1 * courses[t] + 0.2 * courses[6 + t];
  }
  const auto a = frames_of(made, 6, in_subspace(GivenCourses{courses})),
             b = frames_of(made, 6, in_subspace(GivenCourses{mixed}));
  EXPECT_LE(metrics::relative_l2(joined(a), joined(b)), 1e-4);
  const auto notes = tests::texts_of(b.front().report.messages);
  EXPECT_EQ(std::count(notes.begin(), notes.end(),
                       "the courses of the temporal subspace were made orthonormal: they span the same"),
            1);
}

TEST(SubspaceFrames, carry_a_certificate_of_the_condition_in_the_subspace) {
  const auto made = moving(120, 10);
  Services services;
  services.verifier = validation::make_verifier();
  for (const auto& terms : std::vector<std::vector<SparsePenalty>>{
           {}, {{SparseKind::llr, 0.005}}, {{SparseKind::wavelet, 0.005}, {SparseKind::tv, 0.002}}}) {
    const auto method = in_subspace(LeadingCourses{3}, terms, terms.empty() ? 1e-5 : 5e-3);
    const auto frames = frames_of(made, 12, method, services);
    for (const auto& frame : frames) {
      ASSERT_TRUE(frame.report.certificate);
      EXPECT_TRUE(frame.report.certificate->passed);
      // The share of the frame may be less than that of all together.
      EXPECT_LE(frame.report.certificate->true_residual, 10 * method.tolerance);
    }
    const auto& exhibits = frames.front().diagnostic_images;
    ASSERT_EQ(exhibits.temporal_basis.shape(), (Shape{3, 12}));
    ASSERT_EQ(exhibits.components.shape(), (Shape{3, 1, 32, 32}));
    // The frames are the sums of their components.
    Array<Complex<double>> sum(Shape{1, 32, 32});
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t p = 0; p < sum.size(); ++p)
        sum[p] +=
            exhibits.temporal_basis[k * 12 + 5] * Complex<double>(exhibits.components[k * sum.size() + p]);
    EXPECT_LE(metrics::relative_l2(values_of<double>(frames[5].image), sum), 1e-5);
  }
}

TEST(SubspaceFrames, of_a_few_leading_courses_are_nearer_to_the_truth) {
  const auto made = moving(320, 8, 48);
  LeastSquares by_frame = in_subspace(GivenCourses{}, {}, 1e-4);
  by_frame.basis.reset();
  const double alone = error(frames_of(made, 40, by_frame), made);
  EXPECT_LE(error(frames_of(made, 40, in_subspace(LeadingCourses{5}, {}, 1e-4)), made), 0.7 * alone);
  EXPECT_LE(
      error(frames_of(made, 40, in_subspace(LeadingCourses{5}, {{SparseKind::llr, 0.01}}, sparse_tolerance)),
            made),
      0.6 * alone);
}

TEST(SubspaceFrames, refuse_courses_that_do_not_fit) {
  const auto made = moving(40, 10, 16);
  const auto line = [&](const LeastSquares& method) -> std::string {
    try {
      frames_of(made, 4, method);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(line(in_subspace(LeadingCourses{5})),
            "--basis: expected 1 ... 4 components, the number of frames, found 5");
  EXPECT_NE(line(in_subspace(LeadingCourses{0})), "");
  EXPECT_EQ(line(in_subspace(GivenCourses{cosines(2, 7)})),
            "--basis: expected courses of 4 numbers, one for each frame, found 2 rows of 7 numbers");
  auto twice = cosines(2, 4);
  std::copy_n(twice.data(), 4, twice.data() + 4);
  EXPECT_EQ(line(in_subspace(GivenCourses{twice})),
            "--basis: expected courses of which none is a sum of others, or 0, found number 1 (from "
            "0), which is");
  EXPECT_EQ(line(in_subspace(LeadingCourses{2}, {{SparseKind::temporal_tv, 0.01}})),
            "--basis: does not go together with --regularizer temporal-tv; a subspace couples frames already; "
            "leave one of them out");
  EXPECT_THROW(reconstruct(made.scan, {in_subspace(LeadingCourses{2})}), Error);  // of one image
}

}  // namespace
}  // namespace fhd
