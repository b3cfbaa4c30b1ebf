// Frames in a temporal subspace: its operators, its courses, and their images through the whole pipeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/pipeline/frames.hpp"
#include "recon/solve/stack.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "validation/certificate.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/recon/pipeline/frame_cases.hpp"

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
  const auto by_frame = subspace_normal<double>(stacked_normal(of_frames), subspace, image);
  const auto by_pair = coupled_normal(of_pairs);
  ASSERT_EQ(by_pair->domain(), by_frame->domain());
  const auto in = tests::random_values<double>(by_frame->domain(), 7);
  Array<Complex<double>> a(in.shape()), b(in.shape());
  by_frame->forward(in, a);
  by_pair->forward(in, b);
  EXPECT_LE(metrics::relative_l2(a, b), 1e-13);
}

using tests::error;
using tests::joined;
using tests::moving;

/// Without a basis: any course.
LeastSquares in_subspace(std::optional<BasisChoice> basis, std::vector<SparsePenalty> terms = {},
                         double tolerance = 1e-6) {
  auto method = tests::with_terms(std::move(terms), 0.05, tolerance);
  method.basis = std::move(basis);
  return method;
}

std::vector<Reconstruction> frames_of(const data::Simulation& made, std::int64_t frames,
                                      const LeastSquares& method, const Services& services = {}) {
  return tests::frames_of(made, {.frames = frames}, method, services);
}

TEST(SubspaceFrames, of_all_courses_are_those_without) {
  const auto made = moving({24, 24, 1}, 40, 10);
  // Two solutions to 1e-6 of a system of condition 2 / 0.05 or so.
  EXPECT_LE(metrics::relative_l2(joined(frames_of(made, 4, in_subspace(GivenCourses{cosines(4, 4)}))),
                                 joined(frames_of(made, 4, in_subspace({})))),
            1e-4);
}

TEST(SubspaceFrames, of_one_constant_course_are_the_image_of_all_readouts) {
  const auto made = moving({24, 24, 1}, 40, 10);
  const auto frames = frames_of(made, 4, in_subspace(GivenCourses{cosines(1, 4)}));
  const auto all = reconstruct(made.scan, tests::within_fov(in_subspace({})));
  for (const auto& frame : frames)
    EXPECT_LE(metrics::relative_l2(values_of<double>(frame.image), values_of<double>(all.image)), 1e-4);
}

TEST(SubspaceFrames, in_a_field_of_one_constant_course_are_the_image_of_all_readouts) {
  const auto made = moving({24, 24, 1}, 40, 0, 100);
  Services services;
  services.verifier = validation::make_verifier();
  const auto all = reconstruct(made.scan, tests::within_fov(in_subspace({})));
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
  const auto made = moving({24, 24, 1}, 60, 10);
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
  const auto made = moving({32, 32, 1}, 120, 10);
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
    const auto& images = frames.front().diagnostic_images;
    ASSERT_EQ(images.temporal_basis.shape(), (Shape{3, 12}));
    ASSERT_EQ(images.components.shape(), (Shape{3, 1, 32, 32}));
    // The frames are the sums of their components.
    Array<Complex<double>> sum(Shape{1, 32, 32});
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t p = 0; p < sum.size(); ++p)
        sum[p] += images.temporal_basis[k * 12 + 5] * Complex<double>(images.components[k * sum.size() + p]);
    EXPECT_LE(metrics::relative_l2(values_of<double>(frames[5].image), sum), 1e-5);
  }
}

TEST(SubspaceFrames, of_a_few_leading_courses_are_nearer_to_the_truth) {
  const auto made = moving({48, 48, 1}, 320, 8);
  const double alone = error(frames_of(made, 40, in_subspace({}, {}, 1e-4)), made);
  EXPECT_LE(error(frames_of(made, 40, in_subspace(LeadingCourses{5}, {}, 1e-4)), made), 0.7 * alone);
  EXPECT_LE(
      error(frames_of(made, 40, in_subspace(LeadingCourses{5}, {{SparseKind::llr, 0.01}}, sparse_tolerance)),
            made),
      0.6 * alone);
}

TEST(SubspaceFrames, refuse_courses_that_do_not_fit) {
  const auto made = moving({16, 16, 1}, 40, 10);
  const auto line = [&](const LeastSquares& method) {
    return io::error_of([&] { frames_of(made, 4, method); });
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
  EXPECT_EQ(
      line(in_subspace(LeadingCourses{2}, {{SparseKind::temporal_tv, 0.01}})),
      "--basis: does not go together with --regularizer temporal-tv; a subspace couples frames already; "
      "leave one of them out");
  EXPECT_THROW(reconstruct(made.scan, {in_subspace(LeadingCourses{2})}), Error);  // of one image
}

}  // namespace
}  // namespace fhd
