// Volumes of a series: each is what it is by itself, whatever is shared.
#include <gtest/gtest.h>

#include "io/result/report_json.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/recon/pipeline/series_scans.hpp"

namespace {

using namespace fhd;

/// `count` volumes of the same positions, with noise and brightness of their own.
std::vector<Scan> volumes_of(int coils, bool with_maps, int count, std::array<int, 3> matrix = {32, 30, 1}) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = matrix;
  settings.coil_count = coils;
  settings.with_maps = with_maps;
  settings.repetition_count = count;
  auto volumes = tests::volumes_of(settings, [](std::size_t v) { return 1 + 0.3f * static_cast<float>(v); });
  for (int v = 1; v < count; ++v) volumes[v].geometry.position_mm[2] += v;  // a volume keeps its own place
  return volumes;
}

std::vector<const Scan*> pointers(const std::vector<Scan>& volumes) {
  std::vector<const Scan*> result;
  for (const auto& volume : volumes) result.push_back(&volume);
  return result;
}

using tests::error_of;

TEST(Series, volumes_with_maps_are_those_of_scans_by_themselves) {
  for (const int coils : {5, 1}) {
    const auto volumes = volumes_of(coils, true, 3);
    Services services{{}, validation::make_verifier(), 1e-4};
    Reconstructor reconstructor(Settings{}, {}, services);
    const auto preparation = reconstructor.prepare(volumes[0]);
    for (const auto& volume : volumes) {
      const auto alone = reconstruct(volume, Settings{}, {}, services);
      const auto made = reconstructor.reconstruct(preparation, {&volume});
      ASSERT_EQ(made.size(), 1u);
      EXPECT_TRUE(
          std::equal(alone.image.values.begin(), alone.image.values.end(), made[0].image.values.begin()));
      EXPECT_EQ(made[0].image.geometry.position_mm, volume.geometry.position_mm);
      EXPECT_EQ(made[0].image.geometry.matrix_size, volume.geometry.matrix_size);
      EXPECT_EQ(made[0].report.relative_residuals, alone.report.relative_residuals);
      EXPECT_DOUBLE_EQ(made[0].report.data_residual, alone.report.data_residual);
      EXPECT_DOUBLE_EQ(made[0].report.lambda, alone.report.lambda);
      ASSERT_TRUE(made[0].report.certificate && made[0].report.verdict);
      EXPECT_TRUE(made[0].report.certificate->passed);
      ASSERT_TRUE(made[0].gridded && alone.gridded);
      EXPECT_TRUE(std::equal(alone.gridded->values.begin(), alone.gridded->values.end(),
                             made[0].gridded->values.begin()));
    }
  }
}

TEST(Series, reports_are_the_same_in_every_run_and_order) {
  const auto volumes = volumes_of(5, true, 4);
  const auto reports_in = [&](const std::vector<std::size_t>& order) {
    Reconstructor reconstructor(Settings{}, {}, {{}, validation::make_verifier(), 1e-4});
    const auto preparation = reconstructor.prepare(volumes[0]);
    std::vector<std::string> reports(volumes.size());
    for (const auto v : order)
      reports[v] = io::json_line(
          io::json_of(reconstructor.reconstruct(preparation, {&volumes[v]}).front().report).report);
    return reports;
  };
  const auto reports = reports_in({0, 1, 2, 3});
  EXPECT_EQ(reports, reports_in({0, 1, 2, 3}));
  EXPECT_EQ(reports, reports_in({2, 3, 0, 1}));
}

TEST(Series, coils_are_mixed_as_those_of_the_reference_and_maps_are_its) {
  const auto volumes = volumes_of(14, false, 2);
  Reconstructor reconstructor(Settings{});
  const auto preparation = reconstructor.prepare(volumes[0]);
  EXPECT_EQ(preparation->scan().kspace.coil_count(), 12);
  const auto made = reconstructor.reconstruct(preparation, {&volumes[0]});
  // The reference itself: what it is by itself.
  const auto alone = reconstruct(volumes[0]);
  EXPECT_LE(error_of(made[0].image, alone.image),
            1e-6);  // matrices are multiplied before, not after, the samples
  // Another volume has the maps of the reference: near its own but for the noise in both.
  const auto other = reconstructor.reconstruct(preparation, {&volumes[1]});
  EXPECT_LE(error_of(other[0].image, reconstruct(volumes[1]).image), 0.1);
  const auto& settings = other[0].report.settings;
  EXPECT_EQ(std::count_if(settings.begin(), settings.end(),
                          [](const auto& item) { return item.first == "virtual coils"; }),
            1);
}

TEST(Series, gridded_images_are_those_of_the_conventional_method) {
  for (const int coils : {1, 4}) {
    const auto volume = volumes_of(coils, true, 1)[0];
    Services services;
    services.gridded_accuracy = 1e-5;
    const auto made = reconstruct(volume, Settings{}, {}, services);
    Settings conventional;
    conventional.method = ConventionalGridding{1e-5};
    ASSERT_TRUE(made.gridded);
    EXPECT_LE(error_of(*made.gridded, reconstruct(volume, conventional).image),
              3e-5);  // the accuracy of both
  }
  const auto without_maps = volumes_of(3, true, 1)[0];
  Services services;
  services.gridded_accuracy = 1e-4;
  Settings settings;
  settings.coils.maps = CoilMaps::none;
  EXPECT_FALSE(reconstruct(without_maps, settings, {}, services).gridded);
}

TEST(Series, takes_a_volume_at_other_positions_by_itself_and_refuses_another_matrix_and_too_many) {
  const auto volumes = volumes_of(2, true, 2);
  Reconstructor reconstructor(Settings{});
  const auto preparation = reconstructor.prepare(volumes[0]);
  EXPECT_EQ(preparation->volumes_at_once, 1);
  EXPECT_CONTAINS(io::error_of([&] { reconstructor.reconstruct(preparation, pointers(volumes)); }),
                  "at most 1");
  Scan moved = volumes[1];
  moved.trajectory.k[3] += 1e-9;
  const auto made = reconstructor.reconstruct(preparation, {&moved});
  const auto alone = reconstruct(moved);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(std::equal(alone.image.values.begin(), alone.image.values.end(), made[0].image.values.begin()));
  EXPECT_FALSE(made[0].prepared);
  moved.geometry.matrix_size[0] += 2;
  EXPECT_CONTAINS(io::error_of([&] { reconstructor.reconstruct(preparation, {&moved}); }),
                  "the matrix and the coils");
  EXPECT_TRUE(reconstructor.reconstruct(preparation, {}).empty());
}

TEST(Series, is_refused_where_volumes_do_not_share_what_is_solved) {
  const auto volume = volumes_of(3, true, 1)[0];
  EXPECT_TRUE(takes_series({}, {}, volume));
  Settings searched;
  searched.method = LeastSquares{.lambda = FromNoise{}};
  EXPECT_FALSE(takes_series(searched, {}, volume));
  EXPECT_FALSE(takes_series({ConventionalGridding{}}, {}, volume));
  Settings without_maps;
  without_maps.coils.maps = CoilMaps::none;
  EXPECT_FALSE(takes_series(without_maps, {}, volume));
  Scan field = volume;
  field.field_map = Array<float>(field.geometry.image_shape());
  EXPECT_FALSE(takes_series({}, {}, field));
}

}  // namespace
