// Decisions that the settings leave open, made from plain values.
#include "recon/pipeline/decisions.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "recon/error.hpp"

namespace fhd {
namespace {

Settings with_maps(CoilMaps maps) {
  Settings settings;
  settings.coils.maps = maps;
  return settings;
}

TEST(DecideCoils, takes_the_maps_of_the_scan_and_finds_them_for_least_squares_alone) {
  const CoilFacts four{4, 4}, four_with_maps{4, 4, true};
  EXPECT_TRUE(decide_coils(four_with_maps, {}).maps_from_scan);
  EXPECT_FALSE(decide_coils(four_with_maps, {}).finds_maps);
  EXPECT_TRUE(decide_coils(four, {}).finds_maps);
  EXPECT_FALSE(decide_coils(four, {ConventionalGridding{}}).uses_maps());
  EXPECT_FALSE(decide_coils({4, 1}, {}).finds_maps) << "one coil has a signal";
  EXPECT_TRUE(decide_coils(four_with_maps, with_maps(CoilMaps::espirit)).finds_maps);
  EXPECT_FALSE(decide_coils(four_with_maps, with_maps(CoilMaps::none)).uses_maps());
  EXPECT_THROW(decide_coils(four, with_maps(CoilMaps::file)), Error);
  EXPECT_THROW(decide_coils({1, 1}, with_maps(CoilMaps::adaptive)), Error);
}

TEST(DecideCoils, whitens_where_the_noise_is_known_or_the_edge_is_asked_for) {
  Settings settings;
  EXPECT_FALSE(decide_coils({4, 4}, settings).whitens);
  EXPECT_TRUE(decide_coils({4, 4, false, true}, settings).whitens);
  EXPECT_FALSE(decide_coils({1, 1, false, true}, settings).whitens);
  settings.coils.whitening = NoiseWhitening::edge;
  EXPECT_TRUE(decide_coils({4, 4}, settings).whitens);
  settings.coils.whitening = NoiseWhitening::off;
  EXPECT_FALSE(decide_coils({4, 4, false, true}, settings).whitens);
}

TEST(DecideCoils, compresses_above_twelve_coils_with_maps_and_what_is_asked_for) {
  Settings settings;
  EXPECT_FALSE(decide_coils({12, 12, true}, settings).compresses);
  EXPECT_TRUE(decide_coils({13, 13, true}, settings).compresses);
  EXPECT_FALSE(decide_coils({32, 32, true}, with_maps(CoilMaps::none)).compresses);
  settings.coils.compression = VirtualCoils{3};
  EXPECT_TRUE(decide_coils({4, 4}, settings).compresses);
  settings.coils.compression = NoCompression{};
  EXPECT_FALSE(decide_coils({32, 32, true}, settings).compresses);
}

TEST(VirtualCoilCount, is_a_third_but_at_least_twelve_or_what_is_asked_for) {
  EXPECT_EQ(virtual_coil_count(32, AutomaticCompression{}), 12);
  EXPECT_EQ(virtual_coil_count(64, AutomaticCompression{}), 22);
  EXPECT_EQ(virtual_coil_count(8, KeptEnergy{0.9}), 8);
  EXPECT_EQ(virtual_coil_count(32, VirtualCoils{5}), 5);
  EXPECT_THROW(virtual_coil_count(4, VirtualCoils{5}), Error);
}

TEST(CoilsAtOnce, is_the_largest_divisor_that_fits) {
  EXPECT_EQ(coils_at_once(12, [](auto coils) { return coils <= 5; }), 4);
  EXPECT_EQ(coils_at_once(7, [](auto coils) { return coils <= 6; }), 1);
  EXPECT_EQ(coils_at_once(12, [](auto) { return true; }), 12);
  EXPECT_EQ(coils_at_once(12, [](auto) { return false; }), 0);
}

TEST(DecideTransform, sums_directly_what_is_affordable_and_obeys) {
  constexpr std::int64_t few = 10000, many = 10'000'000;
  const std::array<int, 3> matrix{128, 128, 128};
  const Device cpu;
  const auto decide = [&](const Settings& settings, std::int64_t samples, std::int64_t coils) {
    return decide_transform(settings, cpu, matrix, samples, coils, [&] {
      return SampleCount{samples, samples, samples};
    });
  };
  EXPECT_EQ(decide({}, few, 1).kind, TransformKind::direct);
  EXPECT_EQ(decide({}, many, 8).kind, TransformKind::gridded);
  const auto asked = decide({LeastSquares{.transform = {TransformKind::direct}}}, many, 8);
  EXPECT_EQ(asked.kind, TransformKind::direct);
  EXPECT_TRUE(asked.asked_for);
  EXPECT_EQ(decide({ConventionalGridding{}}, few, 1).kind, TransformKind::gridded);
  // At the limit itself: pairs as counted, and one more sample; of samples that share positions half count.
  const auto at_limit = [&](std::int64_t samples, std::int64_t x) {
    return decide_transform({PlainAdjoint{}}, cpu, {1000, 1000, 1}, samples, 1, [&] {
      return SampleCount{samples, x, x};
    });
  };
  EXPECT_EQ(at_limit(1'000'000, 500'000).pairs, 1e12) << "all, where these are not too many";
  EXPECT_EQ(at_limit(1'000'001, 1'000'001).kind, TransformKind::gridded);
  const auto shared = at_limit(1'000'001, 500'000);
  EXPECT_EQ(shared.kind, TransformKind::direct);
  EXPECT_EQ(shared.pairs, 500'000.0 * (1000 + 16) * 1000);
  EXPECT_TRUE(shared.pairs_text().ends_with(" that differ")) << shared.pairs_text();
}

TEST(DecideFolding, maps_or_a_reference_unfold_what_is_sampled_regularly) {
  const Settings solve{}, gridded{ConventionalGridding{}}, fft{CartesianFft{}}, adjoint{PlainAdjoint{}};
  Settings allowed{};
  allowed.coils.allow_folding = true;
  const LatticeSampling full{}, bare{2, 1}, thin{2, 7}, referenced{2, 8};
  using enum Folding;
  // lattice, live coils, maps, found here, calibration
  EXPECT_EQ(decide_folding({full, 1}, gridded), none);
  EXPECT_EQ(decide_folding({bare, 4, true, false, false}, solve), none) << "maps are given";
  EXPECT_EQ(decide_folding({referenced, 4, true, true, false}, solve), none);
  EXPECT_EQ(decide_folding({bare, 4, true, true, true}, solve), none) << "separate calibration";
  for (const auto& lattice : {bare, thin}) {
    EXPECT_EQ(decide_folding({lattice, 4, true, true, false}, solve), refused);
    EXPECT_EQ(decide_folding({lattice, 4, true, true, false}, allowed), suspicious);
  }
  for (const auto& settings : {solve, gridded, fft})
    EXPECT_EQ(decide_folding({referenced, 4}, settings), refused) << "no maps in use";
  EXPECT_EQ(decide_folding({bare, 1}, solve), refused) << "one coil";
  EXPECT_EQ(decide_folding({referenced, 4}, adjoint), none) << "a sum, as it is defined";
  EXPECT_EQ(decide_folding({bare, 4, true, false, false}, gridded), suspicious) << "maps do not unfold it";
  EXPECT_EQ(decide_folding({{5, 1}, 4, true, false, false}, solve), suspicious) << "fewer coils than copies";
}

TEST(DirectPairs, count_what_is_left_where_samples_share_positions_on_a_cpu) {
  const Settings adjoint{PlainAdjoint{}};
  const std::array<int, 3> matrix{64, 64, 1};
  const double all = direct_pairs(adjoint, Device::cpu(), matrix, {1000, 1000, 1000}, 2);
  EXPECT_EQ(all, 1000.0 * 64 * 64 * 2);
  // Half of the rows of x: 500 of 64 pairs, and 16 for the factor of each of 1000 rows.
  EXPECT_EQ(direct_pairs(adjoint, Device::cpu(), matrix, {1000, 500, 1000}, 2),
            (500.0 * 64 + 16 * 1000) * 64 * 2);
  EXPECT_EQ(direct_pairs(adjoint, Device::cuda(), matrix, {1000, 500, 1000}, 2), all);
  const Settings explicit_product{LeastSquares{.normal = NormalKind::explicit_product, .iterations = 7}};
  EXPECT_EQ(direct_pairs(explicit_product, Device::cpu(), matrix, {1000, 1000, 1000}, 2), 14 * all);
}

TEST(Decisions, predict_by_gridding_in_single_precision_beside_a_toeplitz_operator) {
  EXPECT_TRUE(predicts_by_gridding({}, TransformKind::direct));
  EXPECT_FALSE(predicts_by_gridding({}, TransformKind::gridded));
  EXPECT_FALSE(predicts_by_gridding({LeastSquares{}, Precision::double_precision}, TransformKind::direct));
  EXPECT_FALSE(
      predicts_by_gridding({LeastSquares{.normal = NormalKind::explicit_product}}, TransformKind::direct));
  EXPECT_FALSE(predicts_by_gridding({PlainAdjoint{}}, TransformKind::direct));
}

TEST(Decisions, one_fft_stays_on_the_cpu) {
  EXPECT_TRUE(device_for({CartesianFft{}}, Device::cuda(1)).is_cpu());
  EXPECT_EQ(device_for({}, Device::cuda(1)), Device::cuda(1));
}

}  // namespace
TEST(Decisions, a_preconditioner_needs_one_toeplitz_operator_and_a_lambda) {
  LeastSquares method;
  EXPECT_TRUE(uses_preconditioner(method, false));
  EXPECT_FALSE(uses_preconditioner(method, true)) << "a field map";
  method.lambda = OfLargestEigenvalue{0};
  EXPECT_FALSE(uses_preconditioner(method, false));
  method.lambda = OfLargestEigenvalue{1e-3};
  EXPECT_TRUE(uses_preconditioner(method, false));
  method.normal = NormalKind::explicit_product;
  EXPECT_FALSE(uses_preconditioner(method, false));
  method = {.preconditioner = PreconditionerKind::none};
  EXPECT_FALSE(uses_preconditioner(method, false));
}

}  // namespace fhd
