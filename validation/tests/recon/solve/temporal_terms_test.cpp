// Terms that couple frames: what they are, beside definitions written out here, and stacks of images.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/solve/stack.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/tests/recon/solve/term_checks.hpp"

namespace {

using namespace fhd;
using namespace fhd::tests;

struct Case {
  std::string name;
  Shape image;
  std::int64_t frames;
  std::shared_ptr<const SparseTerm<double>> term;
  Shape unknowns() const { return {1, frames * image[0], image[1], image[2]}; }
  Shape coefficients() const { return {term->planes(), frames * image[0], image[1], image[2]}; }
};

/// Fewer and more frames than voxels of a block, odd sizes, blocks cut at the border, 3D.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [image, frames] : {std::pair{Shape{1, 11, 13}, std::int64_t{5}},
                                      {Shape{1, 3, 4}, 20},
                                      {Shape{5, 6, 7}, 3},
                                      {Shape{1, 1, 9}, 2}}) {
    all.push_back({"temporal-tv " + image.text(), image, frames,
                   temporal_term<double>(SparseKind::temporal_tv, image, frames)});
    all.push_back({"llr " + image.text(), image, frames, low_rank_term<double>(image, frames)});
    all.push_back({"tv of each " + image.text(), image, frames,
                   std::make_shared<StackedSparseTerm<double>>(
                       sparse_term<double>(SparseKind::tv, image, Device::cpu()), image, frames)});
  }
  return all;
}

TEST(TemporalTerm, adjoint_and_normal_product_belong_to_the_analysis) {
  for (const auto& c : cases())
    expect_adjoint_and_normal_of_analysis(*c.term, c.unknowns(), c.coefficients(), c.name);
}

TEST(TemporalTerm, shrinking_leaves_a_subgradient) {
  for (const auto& c : cases())  // some groups vanish and others stay
    expect_subgradient_left_by_shrinking(*c.term, c.name.starts_with("llr") ? 0.5 : 1.0, c.coefficients(),
                                         c.name);
}

TEST(TemporalTv, is_the_sum_of_the_magnitudes_of_differences) {
  const Shape image{1, 2, 3};
  const auto term = temporal_term<double>(SparseKind::temporal_tv, image, 4);
  const auto x = random_values<double>({1, 4, 2, 3}, 7);
  double expected = 0;
  for (int t = 0; t + 1 < 4; ++t)
    for (int p = 0; p < 6; ++p) expected += abs(x[(t + 1) * 6 + p] - x[t * 6 + p]);
  Array<Complex<double>> c({1, 4, 2, 3});
  term->analyze(x, c);
  EXPECT_NEAR(term->value(c), expected, rounding * expected);
  EXPECT_THROW(temporal_term<double>(SparseKind::temporal_tv, image, 1), Error);
}

/// A block whose frames are multiples of one image has one singular value, its Frobenius norm; smaller than a
/// block, both grids cut it alike only where it is at most half a block wide.
TEST(LowRank, of_one_component_is_its_length) {
  const Shape image{1, 4, 4};
  const std::int64_t frames = 6;
  const auto term = low_rank_term<double>(image, frames);
  const auto shape = random_values<double>(image, 8), course = random_values<double>({frames}, 9);
  Array<Complex<double>> x({1, frames, 4, 4}), c({term->planes(), frames, 4, 4});
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t p = 0; p < 16; ++p) x[t * 16 + p] = course[t] * shape[p];
  term->analyze(x, c);
  const double expected = (std::sqrt(16.0) + std::sqrt(6.0)) * length(shape) * length(course);
  EXPECT_NEAR(term->value(c), expected, 1e-7 * expected);  // the other five are roots of rounding
  // The prox shortens it, and changes nothing else.
  Array<Complex<double>> kept(c);
  const double threshold = 0.3 * length(shape) * length(course) / (4 + std::sqrt(6.0));
  term->shrink(threshold, kept);
  add_scaled(kept, -0.7, c);
  EXPECT_LE(length(kept), 1e-7 * length(c));
}

TEST(LowRank, does_not_care_how_many_threads_share_the_blocks) {
  const Shape image{1, 20, 20};
  const auto term = low_rank_term<float>(image, 12);
  const auto given = random_values<float>({term->planes(), 12, 20, 20}, 10);
  const auto shrunk_by = [&](int threads) {
    const ThreadLimit limit(threads);
    auto made = given;
    term->shrink(0.4F, made);
    return made;
  };
  const auto once = shrunk_by(1), again = shrunk_by(3);
  for (std::int64_t i = 0; i < once.size(); ++i) ASSERT_EQ(once[i], again[i]);
  EXPECT_LT(length(once), 0.9 * length(given));
  EXPECT_GT(length(once), 0);
}

TEST(LowRank, in_single_precision_is_that_in_double) {
  const Shape image{1, 9, 10};
  const auto given = random_values<float>({2, 7, 9, 10}, 11);
  Array<Complex<float>> single(given);
  auto twice = converted<Complex<double>>(given);
  low_rank_term<float>(image, 7)->shrink(0.4F, single);
  low_rank_term<double>(image, 7)->shrink(double{0.4F}, twice);
  EXPECT_LE(relative_error(single, twice), 1e-6);  // rounded once to float, the weight too
}

TEST(LinearAlgebra, a_failure_of_a_small_problem_is_thrown) {
  EXPECT_THROW(for_each_small_problem(5,
                                      [](std::int64_t i) {
                                        if (i == 3) throw Error("work", "", "failed");
                                      }),
               Error);
}

TEST(Stack, refuses_terms_with_unknowns_of_their_own) {
  const Shape image{1, 8, 8};
  EXPECT_THROW(
      StackedSparseTerm<double>(sparse_term<double>(SparseKind::tgv, image, Device::cpu()), image, 3), Error);
}

}  // namespace
