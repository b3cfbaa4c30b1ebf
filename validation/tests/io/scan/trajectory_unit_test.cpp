#include "io/scan/trajectory_unit.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

Geometry geometry_of(std::array<int, 3> matrix_size, std::array<double, 3> fov_mm = {0, 0, 0}) {
  Geometry geometry;
  geometry.matrix_size = matrix_size;
  geometry.fov_mm = fov_mm;
  return geometry;
}

TrajectoryUnit infer(std::array<double, 3> largest_k, const Geometry& geometry) {
  return infer_trajectory_unit({largest_k, {}}, {geometry}, "scan").unit;
}

TEST(TrajectoryUnit, is_inferred_from_the_extent_of_k_space) {
  const auto plane = geometry_of({256, 256, 1}, {200, 200, 5}), unknown = geometry_of({64, 64, 1}),
             coarse = geometry_of({128, 128, 1}, {240, 240, 5});
  const struct {
    std::array<double, 3> largest_k;
    Geometry geometry;
    TrajectoryUnit unit;
  } rows[]{{{0.5, 0.5, 0}, plane, TrajectoryUnit::cycles_per_voxel},
           {{0.3, 0.2, 0}, plane, TrajectoryUnit::cycles_per_voxel},
           {{std::numbers::pi, 3.1, 0}, plane, TrajectoryUnit::radians_per_voxel},
           {{128, 127, 0}, plane, TrajectoryUnit::cycles_per_fov},
           {{95, 90, 0}, plane, TrajectoryUnit::cycles_per_fov},
           {{640, 640, 0}, plane, TrajectoryUnit::cycles_per_metre},
           // the rounding of files
           {{0.5001, 0.5, 0}, unknown, TrajectoryUnit::cycles_per_voxel},
           {{32.1, 32, 0}, unknown, TrajectoryUnit::cycles_per_fov},
           // an axis of one voxel
           {{110, 110, 1}, geometry_of({220, 220, 1}), TrajectoryUnit::cycles_per_fov},
           // a part of the edge where nothing else fits
           {{39.7, 39.7, 0}, coarse, TrajectoryUnit::cycles_per_fov},
           {{0.31, 0.31, 0}, coarse, TrajectoryUnit::cycles_per_voxel},
           {{1.9, 1.9, 0}, coarse, TrajectoryUnit::radians_per_voxel},
           {{0.6, 0.6, 0}, coarse, TrajectoryUnit::kmax},
           // positions normalised to the edge
           {{1, 1, 0}, coarse, TrajectoryUnit::kmax},
           {{1, 1, 1}, geometry_of({64, 64, 16}, {240, 240, 80}), TrajectoryUnit::kmax}};
  for (const auto& row : rows)
    EXPECT_EQ(infer(row.largest_k, row.geometry), row.unit) << row.largest_k[0] << " " << name_of(row.unit);
}

TEST(TrajectoryUnit, tells_the_reason) {
  const auto inferred = infer_trajectory_unit({{109.9, 109.7, 0}, {}}, {geometry_of({220, 220, 1})}, "scan");
  EXPECT_CONTAINS(inferred.reason, "cycles/FOV");
  EXPECT_CONTAINS(inferred.reason, "109.9");
  EXPECT_CONTAINS(inferred.reason, "220");
}

TEST(TrajectoryUnit, refuses_ambiguity) {
  // |k| = 3 with 6 voxels: the edge in cycles/FOV, and 95 % of it in radians/voxel.
  const auto line = error_of([] { infer({3, 3, 0}, geometry_of({6, 6, 1})); });
  EXPECT_CONTAINS(line, "cycles/FOV or radians/voxel");
  EXPECT_CONTAINS(line, "--trajectory-unit");
  // 1/m and cycles/FOV differ by 10 % for a FOV of 0.9 m, and both are plausible.
  EXPECT_CONTAINS(error_of([] {
                    infer({50, 50, 0}, geometry_of({128, 128, 1}, {900, 900, 5}));
                  }),
                  "cycles/FOV or 1/m");
  // Voxels of 2 mm: cycles/mm would be half of the edge in cycles/voxel, were it not for its own.
  EXPECT_CONTAINS(error_of([] {
                    infer({0.25, 0.25, 0}, geometry_of({120, 120, 1}, {240, 240, 5}));
                  }),
                  "1/mm");
}

TEST(TrajectoryUnit, does_not_refuse_units_that_are_the_same) {
  EXPECT_NO_THROW(infer({64, 64, 0}, geometry_of({128, 128, 1}, {1000, 1000, 5})));
}

/// The extent alone, as where k-space cannot be looked at.
TEST(TrajectoryUnit, is_never_wrong_by_the_extent_alone) {
  constexpr std::array units{TrajectoryUnit::cycles_per_fov, TrajectoryUnit::cycles_per_voxel,
                             TrajectoryUnit::radians_per_voxel, TrajectoryUnit::cycles_per_metre,
                             TrajectoryUnit::kmax};
  int right = 0, asked = 0, wrong = 0;
  for (const int n : {16, 24, 32, 64, 99, 128, 192, 220, 256, 384, 512})
    for (const double fov_mm : {100.0, 160.0, 200.0, 220.0, 240.0, 300.0, 400.0, 500.0})
      for (const std::array<int, 3>& matrix_size : {std::array{n, n, 1}, {n, 3 * n / 4, 1}, {n, n, n / 2}})
        for (const auto unit : units)
          for (const double extent : {1.0, 0.6}) {
            const UnitReference reference{
                geometry_of(matrix_size, {fov_mm, fov_mm * matrix_size[1] / n, 80})};
            const auto scale = scale_to_cycles_per_fov(unit, reference, "");
            TrajectoryEvidence evidence;
            for (int axis = 0; axis < 3; ++axis)
              if (matrix_size[axis] > 1)
                evidence.largest_k[axis] = extent * matrix_size[axis] / 2.0 / scale[axis];
            try {
              const auto found = infer_trajectory_unit(evidence, reference, "scan").unit;
              const auto taken = scale_to_cycles_per_fov(found, reference, "");
              const bool same =
                  std::abs(taken[0] / scale[0] - 1) <= 0.005 && std::abs(taken[1] / scale[1] - 1) <= 0.005;
              ++(same ? right : wrong);
              EXPECT_TRUE(same) << name_of(unit) << " at " << extent << " taken for " << name_of(found)
                                << ", " << n << " voxels, " << fov_mm << " mm";
            } catch (const Error&) {
              ++asked;
            }
          }
  std::printf("%d right, %d asked, %d wrong\n", right, asked, wrong);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(asked, 0.06 * (right + asked + wrong));
}

/// Extents, matrices and FOVs of public scans: JEMRIS, KomaMRI, MRIReco, SPARKLING, RRSG, IMPATIENT, Parboil.
TEST(TrajectoryUnit, knows_the_units_of_real_scans) {
  const struct {
    std::array<double, 3> largest_k;
    std::array<int, 3> matrix_size;
    std::array<double, 3> fov_mm;
    TrajectoryUnit unit;
  } scans[]{{{109.93, 109.93, 0}, {220, 220, 1}, {220, 220, 1}, TrajectoryUnit::cycles_per_fov},
            {{0.5, 0.5, 0}, {99, 99, 1}, {230, 230, 1}, TrajectoryUnit::cycles_per_voxel},
            {{0.5, 0.5, 0}, {256, 256, 1}, {0, 0, 0}, TrajectoryUnit::cycles_per_voxel},
            {{1280, 1280, 0}, {512, 512, 1}, {200, 200, 3}, TrajectoryUnit::cycles_per_metre},
            {{640, 640, 0}, {256, 256, 1}, {200, 200, 3}, TrajectoryUnit::cycles_per_metre},
            {{150, 150, 0}, {300, 300, 1}, {240, 240, 5}, TrajectoryUnit::cycles_per_fov},
            {{31.9, 31.9, 8}, {64, 64, 16}, {0, 0, 0}, TrajectoryUnit::cycles_per_fov},
            {{15.9, 16.02, 16}, {32, 32, 32}, {0, 0, 0}, TrajectoryUnit::cycles_per_fov}};
  for (const auto& scan : scans)
    EXPECT_EQ(infer(scan.largest_k, geometry_of(scan.matrix_size, scan.fov_mm)), scan.unit)
        << scan.matrix_size[0] << " " << scan.largest_k[0];
}

TEST(TrajectoryUnit, judges_each_axis_where_a_reconstructed_fov_is_stated) {
  const UnitReference oversampled{geometry_of({256, 128, 1}, {480, 240, 5}), {240, 240, 5}};
  const auto found = infer_trajectory_unit({{64, 64, 0}, {}}, oversampled, "scan");
  EXPECT_EQ(found.unit, TrajectoryUnit::cycles_per_recon_fov);
  EXPECT_CONTAINS(found.reason, "in cycles/FOV it reaches 50 %, 100 % along x, y");
  EXPECT_EQ(scale_to_cycles_per_fov(found.unit, oversampled, "scan"), (std::array<double, 3>{2, 1, 1}));
  EXPECT_EQ(infer_trajectory_unit({{128, 64, 0}, {}}, oversampled, "scan").unit,
            TrajectoryUnit::cycles_per_fov);
  EXPECT_EQ(infer_fov_of_unit({{64, 64, 0}, {}}, oversampled).unit, TrajectoryUnit::cycles_per_recon_fov);
  EXPECT_EQ(infer_fov_of_unit({{128, 64, 0}, {}}, oversampled).unit, TrajectoryUnit::cycles_per_fov);
  EXPECT_EQ(infer_fov_of_unit({{64, 64, 0}, {}}, {geometry_of({256, 128, 1})}).unit,
            TrajectoryUnit::cycles_per_fov);
}

/// Matrices and voxels of ten protocols: radians/m is always told, radians/mm where radians/voxel does not fit as well.
TEST(TrajectoryUnit, in_radians_per_length_is_told_or_named) {
  for (const int n : {32, 48, 64, 128, 256})
    for (const double fov_mm : {160.0, 220.0}) {
      const auto geometry = geometry_of({n, n, 1}, {fov_mm, fov_mm, 5});
      const double edge = std::numbers::pi * n / fov_mm;  // radians/mm
      EXPECT_EQ(infer({1000 * edge, 1000 * edge, 0}, geometry), TrajectoryUnit::radians_per_metre) << n;
      try {
        EXPECT_EQ(infer({edge, edge, 0}, geometry), TrajectoryUnit::radians_per_mm) << n << " " << fov_mm;
      } catch (const Error& error) {
        EXPECT_CONTAINS(error.parts().remedy, "radians/mm");
      }
    }
  EXPECT_DOUBLE_EQ(scale_to_cycles_per_fov(TrajectoryUnit::radians_per_metre,
                                           {geometry_of({32, 32, 1}, {200, 200, 5})}, "")[0],
                   0.2 / (2 * std::numbers::pi));
}

TEST(TrajectoryUnit, doubts_a_statement_only_where_it_leaves_k_space_empty) {
  const auto geometry = geometry_of({128, 128, 1}, {240, 240, 5});
  const auto doubt = [&](TrajectoryUnit stated, double extent) {
    return error_of([&] { require_credible_unit(stated, {extent, extent, 0}, geometry, "scan"); });
  };
  EXPECT_CONTAINS(doubt(TrajectoryUnit::cycles_per_fov, 0.5),
                  "--trajectory-unit cycles/voxel or --trajectory-unit cycles/FOV");
  EXPECT_CONTAINS(doubt(TrajectoryUnit::cycles_per_fov, std::numbers::pi), "radians/voxel");
  EXPECT_EQ(doubt(TrajectoryUnit::cycles_per_fov, 20), "");      // low resolution
  EXPECT_EQ(doubt(TrajectoryUnit::cycles_per_voxel, 0.04), "");  // nothing else fits better
  EXPECT_CONTAINS(doubt(TrajectoryUnit::cycles_per_fov, 0.4), "80 % in cycles/voxel");
  EXPECT_CONTAINS(doubt(TrajectoryUnit::cycles_per_fov, 64 / 0.24),
                  "100 % in 1/m; give the unit with --trajectory-unit 1/m or the true matrix size");
  EXPECT_EQ(doubt(TrajectoryUnit::cycles_per_fov, 90), "");  // another matrix: no unit fits
}

TEST(TrajectoryUnit, doubts_radians_of_small_matrices) {
  for (const int n : {17, 32, 48, 64}) {
    const auto geometry = geometry_of({n, n, 1});
    const auto likelier = [&](double extent) {
      return likelier_unit(TrajectoryUnit::cycles_per_fov, {extent, extent, 0}, geometry);
    };
    EXPECT_EQ(likelier(std::numbers::pi), TrajectoryUnit::radians_per_voxel) << n;
    EXPECT_EQ(likelier(0.5), TrajectoryUnit::cycles_per_voxel) << n;
    EXPECT_EQ(likelier(n / 2.0), std::nullopt) << n;
    EXPECT_EQ(likelier(n / 5.0), std::nullopt) << n;  // low resolution
    EXPECT_EQ(likelier(0), std::nullopt) << n;
  }
}

TEST(TrajectoryUnit, refuses_what_no_unit_explains) {
  EXPECT_CONTAINS(error_of([] {
                    infer({20, 20, 0}, geometry_of({128, 128, 1}, {200, 200, 5}));
                  }),
                  "--trajectory-unit");
  EXPECT_CONTAINS(error_of([] {
                    infer({1e6, 1e6, 0}, geometry_of({128, 128, 1}, {200, 200, 5}));
                  }),
                  "--trajectory-unit");
  EXPECT_CONTAINS(error_of([] { infer({0, 0, 0}, geometry_of({128, 128, 1})); }), "trajectory is empty");
}

TEST(TrajectoryUnit, converts_to_cycles_per_fov) {
  const auto geometry = geometry_of({100, 50, 1}, {200, 100, 5});
  EXPECT_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_fov, {geometry}, ""),
            (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_voxel, {geometry}, ""),
            (std::array<double, 3>{100, 50, 1}));
  EXPECT_DOUBLE_EQ(scale_to_cycles_per_fov(TrajectoryUnit::radians_per_voxel, {geometry}, "")[0],
                   100 / (2 * std::numbers::pi));
  EXPECT_DOUBLE_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_metre, {geometry}, "")[1], 0.1);
}

TEST(TrajectoryUnit, needs_the_fov_for_cycles_per_metre) {
  EXPECT_CONTAINS(
      error_of([] {
        scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_metre, {geometry_of({64, 64, 1})}, "scan");
      }),
      "--fov-mm");
}

TEST(TrajectoryUnit, names_are_read_back) {
  for (const auto unit :
       {TrajectoryUnit::automatic, TrajectoryUnit::cycles_per_fov, TrajectoryUnit::cycles_per_voxel,
        TrajectoryUnit::radians_per_voxel, TrajectoryUnit::cycles_per_metre, TrajectoryUnit::cycles_per_mm,
        TrajectoryUnit::cycles_per_recon_fov, TrajectoryUnit::kmax, TrajectoryUnit::radians_per_metre,
        TrajectoryUnit::radians_per_mm})
    EXPECT_EQ(parse_trajectory_unit(name_of(unit), "unit"), unit);
  for (const auto& [text, unit] : std::initializer_list<std::pair<const char*, TrajectoryUnit>>{
           {"cycles/pixel", TrajectoryUnit::cycles_per_voxel},
           {"rad/voxel", TrajectoryUnit::radians_per_voxel},
           {"rad/pixel", TrajectoryUnit::radians_per_voxel},
           {"Radians / Pixel", TrajectoryUnit::radians_per_voxel},
           {"1/pixel", TrajectoryUnit::cycles_per_voxel},
           {"1/FOV", TrajectoryUnit::cycles_per_fov},
           {"cycles/fov", TrajectoryUnit::cycles_per_fov},
           {"cycles/m", TrajectoryUnit::cycles_per_metre},
           {"cycles/mm", TrajectoryUnit::cycles_per_mm},
           {"rad/m", TrajectoryUnit::radians_per_metre},
           {"rad/mm", TrajectoryUnit::radians_per_mm}})
    EXPECT_EQ(parse_trajectory_unit(text, "unit"), unit) << text;
  for (const char* text : {"parsec", "radians", "rad/cm", "", "1/", "cycles/voxel/2"})
    EXPECT_REFUSED(parse_trajectory_unit(text, "unit"), "'" + std::string(text) + "'");
}

}  // namespace
}  // namespace fhd::io
