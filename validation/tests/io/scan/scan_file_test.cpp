// Scans through every format and back; the fhd layout; what is refused.
#include "io/scan/scan_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numbers>
#include <thread>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

class ScanFileTest : public FolderTest {
 protected:
  /// A file of the fhd layout, for tests that break it.
  hdf5::File fhd_file(const std::string& name) { return hdf5::File::create(path(name), path(name)); }
};

/// Positions pass through single precision in these formats: an error of at most 2^-24 of the largest, N/2.
double float_rounding(const Scan& scan) {
  const auto& n = scan.geometry.matrix_size;
  return std::max({n[0], n[1], n[2]}) / 2.0 * std::ldexp(1.0, -24);
}

void expect_same_values(const Scan& scan, const Scan& read, double trajectory_tolerance) {
  EXPECT_EQ(largest_difference(scan.kspace.values, read.kspace.values), 0);
  EXPECT_LE(largest_difference(scan.trajectory.k, read.trajectory.k), trajectory_tolerance);
  EXPECT_EQ(scan.geometry.matrix_size, read.geometry.matrix_size);
  ASSERT_TRUE(read.sensitivity_maps);
  EXPECT_EQ(largest_difference(scan.sensitivity_maps->values, read.sensitivity_maps->values), 0);
}

void expect_same_geometry(const Scan& scan, const Scan& read) {
  // ISMRMRD stores lengths in single precision: 2^-24 of at most 256 mm.
  constexpr double tolerance = 256.0 / (1 << 24);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(scan.geometry.fov_mm[axis], read.geometry.fov_mm[axis], tolerance);
    EXPECT_NEAR(scan.geometry.position_mm[axis], read.geometry.position_mm[axis], tolerance);
    EXPECT_NEAR(scan.geometry.read_direction[axis], read.geometry.read_direction[axis], 1e-7);
    EXPECT_NEAR(scan.geometry.phase_direction[axis], read.geometry.phase_direction[axis], 1e-7);
    EXPECT_NEAR(scan.geometry.slice_direction[axis], read.geometry.slice_direction[axis], 1e-7);
  }
  EXPECT_EQ(scan.cropped_matrix_size, read.cropped_matrix_size);
}

void expect_same_maps(const Scan& scan, const Scan& read, double time_tolerance) {
  ASSERT_TRUE(read.field_map && read.sample_time_s);
  EXPECT_EQ(largest_difference(*scan.field_map, *read.field_map), 0);
  EXPECT_LE(largest_difference(*scan.sample_time_s, *read.sample_time_s), time_tolerance);
}

class EveryMatrix : public FolderTest, public testing::WithParamInterface<std::array<int, 3>> {};

TEST_P(EveryMatrix, is_read_back_from_every_format) {
  const struct {
    ScanFormat format;
    std::string name, found;
    std::vector<std::string> read_as;
    double time_tolerance;  ///< of times, in single precision 4 ms
  } formats[]{{ScanFormat::fhd, "scan.h5", "fhd", {"scan.h5"}, 0},
              {ScanFormat::ismrmrd, "scan.mrd", "ISMRMRD", {"scan.mrd"}, 0},
              {ScanFormat::bart, "scan.cfl", "BART cfl", {"scan.cfl", "scan.hdr", "scan"}, 0},
              {ScanFormat::impatient, "folder/", "IMPATIENT", {"folder"}, 1e-9}};
  for (const auto& one : formats) {
    const bool is_hdf5 = one.format == ScanFormat::fhd || one.format == ScanFormat::ismrmrd;
    auto scan = random_scan(GetParam(), 3, 20, 7);
    if (is_hdf5) scan.cropped_matrix_size = {GetParam()[0] / 2, 0, 0};
    EXPECT_EQ(write_scan(path(one.name), one.format, {1, 1, 20, {scan}}).empty(), is_hdf5);
    for (const auto& name : one.read_as) {
      const auto file = open_scan(path(name));
      EXPECT_EQ(file->summary().format, one.found);
      EXPECT_EQ(file->summary().readout_length, 20);
      EXPECT_FALSE(file->summary().cartesian);
      EXPECT_EQ(file->summary().missing.empty(), is_hdf5);
      const auto read = file->read(0, 0);
      expect_same_values(scan, read, one.format == ScanFormat::fhd ? 0 : float_rounding(scan));
      if (is_hdf5) expect_same_geometry(scan, read);
      if (one.format != ScanFormat::bart) expect_same_maps(scan, read, one.time_tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ScanFile, EveryMatrix,
                         testing::Values(std::array{16, 16, 1}, std::array{15, 22, 1}, std::array{16, 9, 7},
                                         std::array{8, 8, 8}));

TEST_F(ScanFileTest, keeps_slices_and_repetitions_apart) {
  ScanSeries series{3, 2, 10, {}};
  for (unsigned i = 0; i < 6; ++i) {
    series.scans.push_back(random_scan({16, 16, 1}, 2, 10, 4, i));
    auto& geometry = series.scans.back().geometry;
    geometry.position_mm = {0, 0, 5.0 * (i % 2)};
    if (i % 2 == 1) geometry.phase_direction = {0, 0, -1}, geometry.slice_direction = {-1, 0, 0};
    if (i >= 2) {  // maps belong to a slice, not to a repetition
      series.scans.back().sensitivity_maps = series.scans[i % 2].sensitivity_maps;
      series.scans.back().field_map = series.scans[i % 2].field_map;
    }
  }
  for (const auto& [name, format] : {std::pair{"scan.h5", ScanFormat::fhd},
                                     {"scan.mrd", ScanFormat::ismrmrd},
                                     {"scan.cfl", ScanFormat::bart}}) {
    write_scan(path(name), format, series);
    const auto file = open_scan(path(name));
    EXPECT_EQ(file->summary().repetition_count, 3) << name;
    EXPECT_EQ(file->summary().slice_count, 2) << name;
    const auto read = read_all(*file);
    for (std::size_t i = 0; i < 6; ++i) {
      expect_same_values(series.scans[i], read.scans[i], float_rounding(series.scans[i]));
      if (format != ScanFormat::bart) {
        expect_same_maps(series.scans[i], read.scans[i], 0);
        expect_same_geometry(series.scans[i], read.scans[i]);
      }
    }
    EXPECT_REFUSED(file->read(2, 0), "slice from 0 to 1");
    EXPECT_REFUSED(file->read(0, -1), "repetition from 0 to 2");
  }
  EXPECT_REFUSED(write_scan(path("impatient"), ScanFormat::impatient, series),
                 "one slice and one repetition");
}

TEST_F(ScanFileTest, keeps_maps_with_the_slices_that_it_sorts) {
  ScanSeries series{1, 3, 10, {}};
  for (unsigned i = 0; i < 3; ++i) {
    series.scans.push_back(random_scan({16, 16, 1}, 2, 10, 4, i));
    series.scans.back().geometry.position_mm = {0, 0, i == 0 ? 7.0 : 3.0 * i};  // 7, 3, 6
  }
  write_scan(path("scan.h5"), ScanFormat::ismrmrd, series);
  write_scan(path("pieces.cfl"), ScanFormat::bart, series);
  ReadOptions options;
  options.outside.trajectory = path("pieces_traj.cfl");
  options.outside.sensitivity_maps = path("pieces_sens.cfl");
  for (const auto& each : {ReadOptions{}, options}) {
    const auto file = open_scan(path("scan.h5"), each);
    EXPECT_EQ(file->summary().slice_counters, (std::vector{1, 2, 0}));
    const auto read = read_all(*file);
    for (std::size_t place = 0; place < 3; ++place) {
      const auto& own = series.scans[(place + 1) % 3];
      expect_same_values(own, read.scans[place], float_rounding(own));
      expect_same_geometry(own, read.scans[place]);
    }
  }
}

// Three times the number of slices overflowed: found by the fuzz target of these files. More are claimed than stored.
TEST_F(ScanFileTest, of_more_slices_than_any_file_holds_is_refused) {
  auto made = hdf5::File::create(path("scan.h5"), path("scan.h5"));
  const std::vector<double> positions(24);
  made.write("/trajectory", positions.data(), {3, 8});
  const hsize_t extents[] = {1, hsize_t{1} << 60, 2, 8}, chunk[] = {1, 1, 2, 8};
  const auto type = H5Tcreate(H5T_COMPOUND, 8), space = H5Screate_simple(4, extents, nullptr),
             properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT), H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
  H5Pset_chunk(properties, 4, chunk);
  H5Dclose(H5Dcreate2(made.id(), "/kspace", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  made.close();
  EXPECT_REFUSED(open_scan(path("scan.h5")), "[2][8], found 0 stored bytes");
}

TEST_F(ScanFileTest, shares_one_trajectory_among_repetitions) {
  auto scan = random_scan({16, 16, 1}, 2, 10, 4);
  write_scan(path("scan.h5"), ScanFormat::fhd, {2, 1, 0, {scan, scan}});
  EXPECT_EQ(hdf5::File::open(path("scan.h5")).dataset("/trajectory").extents(), (hdf5::Extents{40, 3}));
  EXPECT_EQ(largest_difference(open_scan(path("scan.h5"))->read(0, 1).trajectory.k, scan.trajectory.k), 0);
}

TEST_F(ScanFileTest, splits_long_scans_into_ismrmrd_readouts) {
  // 131,074 = 2 x 65,537 samples exceed the 16 bits of number_of_samples and have no divisor near the limit.
  auto scan = random_scan({16, 16, 1}, 1, 65537, 2);
  write_scan(path("scan.mrd"), ScanFormat::ismrmrd, {1, 1, 0, {scan}});
  expect_same_values(scan, open_scan(path("scan.mrd"))->read(0, 0), float_rounding(scan));
}

TEST_F(ScanFileTest, converts_every_stated_unit) {
  const auto scan = random_scan({20, 10, 1}, 1, 10, 4);
  const struct {
    const char* unit;
    std::array<double, 2> per_cycle_per_fov;
  } cases[] = {{"cycles/FOV", {1, 1}},
               {"cycles/voxel", {1.0 / 20, 1.0 / 10}},
               {"radians/voxel", {2 * std::numbers::pi / 20, 2 * std::numbers::pi / 10}},
               {"1/m", {1 / 0.240, 1 / 0.192}}};
  for (const auto& one : cases) {
    auto file = fhd_file("scan.h5");
    std::vector<double> k;
    for (int m = 0; m < 40; ++m)
      for (int axis = 0; axis < 2; ++axis)
        k.push_back(scan.trajectory.k[axis * 40 + m] * one.per_cycle_per_fov[axis]);
    file.write("/trajectory", k.data(), {40, 2});
    file.write_attribute("/trajectory", "unit", one.unit);
    file.write("/kspace", scan.kspace.values.data(), {1, 40});
    file.write_attribute("/", "matrix_size", std::vector<int>{20, 10, 1});
    file.write_attribute("/", "fov_mm", std::vector<double>{240, 192, 64});
    file.close();
    // A multiplication and a division in double.
    EXPECT_LE(largest_difference(open_scan(path("scan.h5"))->read(0, 0).trajectory.k, scan.trajectory.k),
              1e-14)
        << one.unit;
  }
  // A finer image does not stretch k-space.
  ReadOptions options;
  options.matrix_size = {40, 20, 1};
  const auto finer = open_scan(path("scan.h5"), options)->read(0, 0);
  EXPECT_EQ(finer.geometry.matrix_size, (std::array{40, 20, 1}));
  EXPECT_LE(largest_difference(finer.trajectory.k, scan.trajectory.k), 1e-14);
}

TEST_F(ScanFileTest, reads_complex_numbers_of_every_kind) {
  const std::vector<double> k{0, 0, 1, 1, -2, 3}, pairs{1, 2, 3, 4, 5, 6};
  const Complex<float> expected[3]{{1, 2}, {3, 4}, {5, 6}};
  for (const bool named : {false, true}) {
    auto file = fhd_file("scan.h5");
    file.write("/trajectory", k.data(), {3, 2});
    file.write_attribute("/trajectory", "unit", "cycles/FOV");
    file.write_attribute("/", "matrix_size", std::vector<int>{8, 8, 1});
    if (named) {
      const hdf5::Handle type(H5Tcreate(H5T_COMPOUND, 16), H5Tclose, "", "");
      H5Tinsert(type.get(), "real", 0, H5T_NATIVE_DOUBLE);
      H5Tinsert(type.get(), "imag", 8, H5T_NATIVE_DOUBLE);
      const auto space = hdf5::space_of({1, 3}, "");
      const hdf5::Handle dataset(
          H5Dcreate2(file.id(), "/kspace", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          H5Dclose, "", "");
      ASSERT_GE(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pairs.data()), 0);
    } else {
      file.write("/kspace", pairs.data(), {1, 3, 2});
    }
    file.close();
    const auto values = open_scan(path("scan.h5"))->read(0, 0).kspace.values;
    for (int m = 0; m < 3; ++m) EXPECT_EQ(values[m], expected[m]) << named;
  }
}

TEST_F(ScanFileTest, rejects_missing_units) {
  const auto scan = random_scan({16, 16, 1}, 1, 10, 4);
  write_scan(path("scan.h5"), ScanFormat::fhd, {1, 1, 0, {scan}});
  const hid_t file = H5Fopen(path("scan.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Adelete_by_name(file, "/trajectory", "unit", H5P_DEFAULT), 0);
  H5Fclose(file);
  const auto line = error_of([&] { open_scan(path("scan.h5")); });
  EXPECT_CONTAINS(line, "scan.h5:/trajectory attribute 'unit'");
  EXPECT_CONTAINS(line, "--trajectory-unit");
  ReadOptions options;
  options.trajectory_unit = TrajectoryUnit::cycles_per_fov;
  const auto opened = open_scan(path("scan.h5"), options);
  EXPECT_EQ(largest_difference(opened->read(0, 0).trajectory.k, scan.trajectory.k), 0);
  ASSERT_FALSE(opened->summary().inferred.empty());
  EXPECT_CONTAINS(opened->summary().inferred[0], "--trajectory-unit");
}

TEST_F(ScanFileTest, rejects_what_is_no_scan) {
  write_text(path("text.h5"), "these are not the bytes you are looking for");
  EXPECT_REFUSED(open_scan(path("text.h5")), "text.h5: expected an HDF5 file, found another format");
  write_text(path("empty.h5"), "");
  EXPECT_REFUSED(open_scan(path("empty.h5")), "an empty file");
  EXPECT_REFUSED(open_scan(path("absent.h5")), "found none");
  EXPECT_REFUSED(open_scan(folder().string()), "IMPATIENT");
  fhd_file("bare.h5").close();
  EXPECT_REFUSED(open_scan(path("bare.h5")), "expected a scan");
}

TEST_F(ScanFileTest, rejects_truncated_files) {
  const auto scan = random_scan({16, 16, 1}, 2, 200, 4);
  for (const auto& [name, format] :
       {std::pair{"scan.h5", ScanFormat::fhd}, {"scan.mrd", ScanFormat::ismrmrd}})
    for (const double share : {0.01, 0.3, 0.9, 0.999}) {
      write_scan(path(name), format, {1, 1, 200, {scan}});
      cut_file(path(name), share);
      const auto line = error_of([&, name = name] { open_scan(path(name))->read(0, 0); });
      EXPECT_CONTAINS(line, path(name)) << share;
      EXPECT_CONTAINS(line, "truncated") << share;
      EXPECT_CONTAINS(line, "copy or download it again") << share;
    }
  write_scan(path("bart.cfl"), ScanFormat::bart, {1, 1, 200, {scan}});
  cut_file(path("bart.cfl"), 0.9);
  EXPECT_REFUSED(open_scan(path("bart.cfl")), "cut off");
  write_scan(path("impatient"), ScanFormat::impatient, {1, 1, 200, {scan}});
  cut_file(path("impatient/kdata_r.dat"), 0.9);
  EXPECT_REFUSED(open_scan(path("impatient"))->read(0, 0), "cut off");
}

TEST_F(ScanFileTest, rejects_parts_that_do_not_agree) {
  const std::vector<double> k(20, 0);
  const std::vector<Complex<float>> values(12);
  const auto write = [&](hdf5::Extents trajectory, hdf5::Extents kspace,
                         std::vector<int> matrix_size = {8, 8, 1}) {
    auto file = fhd_file("scan.h5");
    file.write("/trajectory", k.data(), trajectory);
    file.write_attribute("/trajectory", "unit", "cycles/FOV");
    file.write("/kspace", values.data(), kspace);
    file.write_attribute("/", "matrix_size", matrix_size);
    file.close();
    return error_of([&] { open_scan(path("scan.h5"))->read(0, 0); });
  };
  EXPECT_EQ(write({6, 2}, {2, 6}), "");
  EXPECT_CONTAINS(write({5, 2}, {2, 6}), "scan.h5:/trajectory: expected [6][2], found [5][2]");
  EXPECT_CONTAINS(write({5, 4}, {2, 6}), "2 or 3 axes");
  EXPECT_CONTAINS(write({12}, {2, 6}), "2 or 3 axes");
  EXPECT_CONTAINS(write({6, 2}, {6}), "scan.h5:/kspace: expected [coil][sample]");
  EXPECT_CONTAINS(write({6, 2}, {2, 6}, {8}), "3 numbers");
  EXPECT_CONTAINS(write({6, 2}, {2, 6}, {8, 8, 0}), "matrix size");
  EXPECT_CONTAINS(write({6, 2}, {2, 6}, {8, 8, -1}), "matrix_size");
  EXPECT_CONTAINS(write({6, 2}, {2, 6}, {100000, 8, 1}), "matrix_size");
}

TEST_F(ScanFileTest, takes_a_matrix_and_a_fov_of_two_numbers_for_2d) {
  auto file = fhd_file("scan.h5");
  const std::vector<float> k{-4, -4, 3, 3, 0, 1};
  const std::vector<Complex<float>> values(3, {1, 0});
  file.write("/trajectory", k.data(), {3, 2});
  file.write_attribute("/trajectory", "unit", "cycles/FOV");
  file.write("/kspace", values.data(), {1, 3});
  file.write_attribute("/", "matrix_size", std::vector<int>{8, 8});
  file.write_attribute("/", "fov_mm", std::vector<double>{240, 200});
  file.close();
  const auto opened = open_scan(path("scan.h5"));
  EXPECT_EQ(opened->read(0, 0).geometry.matrix_size, (std::array{8, 8, 1}));
  EXPECT_EQ(opened->read(0, 0).geometry.fov_mm, (std::array<double, 3>{240, 200, 0}));
  ASSERT_EQ(opened->summary().inferred.size(), 2u);
  EXPECT_CONTAINS(opened->summary().inferred[0], "'matrix_size' has two numbers");
  EXPECT_CONTAINS(opened->summary().inferred[1], "'fov_mm' has two numbers");
}

/// A statement that makes the scan a point at the centre of k-space is a mistake.
TEST_F(ScanFileTest, refuses_normalised_positions_that_are_said_to_be_cycles_per_fov) {
  auto scan = random_scan({64, 64, 1}, 1, 10, 4);
  scan.sensitivity_maps.reset();
  for (auto& k : scan.trajectory.k) k /= 64;
  write_scan(path("scan.h5"), ScanFormat::fhd, {1, 1, 0, {scan}});
  EXPECT_REFUSED(open_scan(path("scan.h5")),
                 "--trajectory-unit cycles/voxel or --trajectory-unit cycles/FOV");
  write_scan(path("scan"), ScanFormat::bart, {1, 1, 10, {scan}});
  EXPECT_REFUSED(open_scan(path("scan")), "--trajectory-unit cycles/voxel");
  ReadOptions options;
  options.matrix_size = {64, 64, 1};
  EXPECT_REFUSED(open_scan(path("scan"), options), "which reaches 2 %");
  options.trajectory_unit = TrajectoryUnit::cycles_per_voxel;
  EXPECT_EQ(open_scan(path("scan"), options)->read(0, 0).trajectory.k[0], 32);
  options.trajectory_unit = TrajectoryUnit::cycles_per_fov;  // the user's word is not doubted
  EXPECT_EQ(open_scan(path("scan"), options)->read(0, 0).trajectory.k[0], 0.5);
  write_scan(path("impatient"), ScanFormat::impatient, {1, 1, 10, {scan}});
  EXPECT_REFUSED(open_scan(path("impatient")), "which reaches 2 %");
}

TEST_F(ScanFileTest, rejects_nan_and_positions_outside_the_matrix) {
  const auto good = random_scan({16, 16, 1}, 1, 10, 4);
  const auto refused = [&](auto change) {
    auto file = fhd_file("scan.h5");
    auto k = converted<double>(good.trajectory.k);
    auto values = good.kspace.values;
    change(k, values);
    std::vector<double> positions;
    for (int m = 0; m < 40; ++m)
      for (int axis = 0; axis < 3; ++axis) positions.push_back(k[axis * 40 + m]);
    file.write("/trajectory", positions.data(), {40, 3});
    file.write_attribute("/trajectory", "unit", "cycles/FOV");
    file.write("/kspace", values.data(), {1, 40});
    file.write_attribute("/", "matrix_size", std::vector<int>{16, 16, 1});
    file.close();
    return error_of([&] { open_scan(path("scan.h5"))->read(0, 0); });
  };
  EXPECT_EQ(refused([](auto&, auto&) {}), "");
  EXPECT_CONTAINS(refused([](auto& k, auto&) { k[3] = NAN; }), "trajectory: expected finite numbers");
  EXPECT_CONTAINS(refused([](auto&, auto& values) { values[3].im = NAN; }),
                  "k-space of coil 0: expected finite numbers");
  EXPECT_CONTAINS(refused([](auto&, auto& values) { values[39].re = INFINITY; }),
                  "k-space of coil 0: expected finite numbers");
  EXPECT_CONTAINS(refused([](auto& k, auto&) { k[3] = 8.2; }), "--trajectory-unit");
}

TEST_F(ScanFileTest, does_not_trust_hostile_extents) {
  // 2^40 samples that were never stored: refused before memory is asked for.
  auto file = fhd_file("scan.h5");
  file.create<double>("/small", {3});
  for (const auto& [name, extents] : {std::pair{"/trajectory", std::vector<hsize_t>{hsize_t{1} << 40, 3}},
                                      {"/kspace", {1, hsize_t{1} << 40, 2}}}) {
    const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "", "");
    const std::vector<hsize_t> chunk(extents.size(), 1);
    H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
    const hdf5::Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                             H5Sclose, "", "");
    const hdf5::Handle dataset(H5Dcreate2(file.id(), name, H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT,
                                          properties.get(), H5P_DEFAULT),
                               H5Dclose, "", "");
  }
  file.write_attribute("/trajectory", "unit", "cycles/FOV");
  file.write_attribute("/", "matrix_size", std::vector<int>{16, 16, 1});
  file.close();
  EXPECT_REFUSED(open_scan(path("scan.h5")), "stored bytes");
}

TEST_F(ScanFileTest, bart_pairs_must_agree) {
  const auto scan = random_scan({16, 16, 1}, 2, 10, 4);
  const auto write = [&] { write_scan(path("scan"), ScanFormat::bart, {1, 1, 10, {scan}}); };
  write();
  write_text(path("scan.hdr"), "# Dimensions\n1 10 4 3\n");
  EXPECT_REFUSED(open_scan(path("scan")), "scan.cfl: expected 960 bytes");
  write();
  write_text(path("scan_traj.hdr"), "# Dimensions\n3 20 2\n");
  EXPECT_REFUSED(open_scan(path("scan")), "scan_traj.cfl: expected [3][10][4]");
  write();
  write_text(path("scan.hdr"), "# Dimensions\n1 99999999999 99999999999\n");
  EXPECT_REFUSED(open_scan(path("scan")), "scan.hdr: expected up to 16 extents");
  write_text(path("scan.hdr"), "nonsense");
  EXPECT_REFUSED(open_scan(path("scan")), "scan.hdr");
  write();
  std::filesystem::remove(path("scan_traj.hdr"));
  EXPECT_REFUSED(open_scan(path("scan")), "trajectory");
}

TEST_F(ScanFileTest, bart_matrix_is_inferred_from_the_extent_of_k_space) {
  auto scan = random_scan({16, 12, 1}, 1, 10, 4);
  scan.sensitivity_maps.reset();
  scan.trajectory.k[40 + 3] = -6;
  write_scan(path("scan"), ScanFormat::bart, {1, 1, 10, {scan}});
  const auto file = open_scan(path("scan"));
  EXPECT_EQ(file->summary().geometry.matrix_size, (std::array{16, 12, 1}));
  EXPECT_CONTAINS(file->summary().inferred[1], "twice the largest |k|");
}

/// BART itself would write these bytes: first axis fastest, positions as x, y, z triplets.
TEST_F(ScanFileTest, bart_positions_are_triplets) {
  const auto scan = random_scan({8, 8, 1}, 1, 10, 4);
  write_scan(path("scan"), ScanFormat::bart, {1, 1, 10, {scan}});
  float first[6];
  std::memcpy(first, bytes_of(path("scan_traj.cfl")).data(), sizeof(first));
  EXPECT_EQ(first[0], float(scan.trajectory.k[0]));
  EXPECT_EQ(first[2], float(scan.trajectory.k[40]));
}

TEST_F(ScanFileTest, impatient_offset_of_voxels_becomes_a_phase) {
  auto scan = random_scan({8, 8, 1}, 2, 10, 4);
  scan.sensitivity_maps.reset();
  write_scan(path("scan"), ScanFormat::impatient, {1, 1, 10, {scan}});
  // Move all voxels by an eighth of a voxel along x.
  auto bytes = bytes_of(path("scan/ix.dat"));
  const auto start = bytes.find("Binary:\n") + 8;
  for (std::size_t i = 0; i < 64; ++i) {
    float position;
    std::memcpy(&position, bytes.data() + start + 4 * i, 4);
    position += 1.0f / 64;
    std::memcpy(bytes.data() + start + 4 * i, &position, 4);
  }
  write_text(path("scan/ix.dat"), bytes);
  const auto file = open_scan(path("scan"));
  const auto read = file->read(0, 0);
  double error = 0;
  for (int coil = 0; coil < 2; ++coil)
    for (int m = 0; m < 40; ++m) {
      const double angle = 2 * std::numbers::pi * scan.trajectory.k[m] / 64;
      const auto expected = Complex<double>(scan.kspace.values[coil * 40 + m]) *
                            Complex<double>(std::cos(angle), std::sin(angle));
      error = std::max(error, abs(expected - Complex<double>(read.kspace.values[coil * 40 + m])));
    }
  // |d| <= sqrt(2); single-precision k (4 x 2^-24 cycles) and result.
  EXPECT_LE(error, 5e-7);
  EXPECT_TRUE(says(file->summary().inferred, "0.125 voxels off centre along x"));
}

// They were divided by.
TEST_F(ScanFileTest, impatient_directory_without_samples_is_refused) {
  write_scan(path("scan"), ScanFormat::impatient, {1, 1, 10, {random_scan({8, 8, 1}, 2, 10, 4)}});
  for (const char* name : {"kx", "ky", "kz", "t"})
    write_text(path("scan/") + name + ".dat", "version = 1.000000\nEOF\n");
  const auto refused = "scan/kx.dat: expected at least one sample, found none";
  EXPECT_REFUSED(open_scan(path("scan")), refused);
  std::filesystem::remove(path("scan/kdata_r.dat"));
  EXPECT_REFUSED(open_scan(path("scan")), refused) << "also without k-space";
}

TEST_F(ScanFileTest, impatient_maps_of_another_matrix_are_refused) {
  write_scan(path("scan"), ScanFormat::impatient, {1, 1, 10, {random_scan({8, 6, 1}, 2, 10, 4)}});
  for (const std::array<int, 3> other : {std::array{16, 12, 1}, std::array{4, 4, 1}, std::array{6, 8, 1}}) {
    ReadOptions options;
    options.matrix_size = other;
    EXPECT_NE(error_of([&] { open_scan(path("scan"), options)->read(0, 0); }), "") << other[0];
  }
}

TEST_F(ScanFileTest, impatient_directory_without_k_space_is_refused_only_when_read) {
  write_scan(path("scan"), ScanFormat::impatient, {1, 1, 10, {random_scan({8, 8, 1}, 2, 10, 4)}});
  std::filesystem::remove(path("scan/kdata_r.dat"));
  const auto file = open_scan(path("scan"));
  EXPECT_CONTAINS(file->summary().missing[0], "no k-space");
  EXPECT_REFUSED(file->read(0, 0), "only a trajectory");
}

TEST_F(ScanFileTest, is_not_written_over_a_directory_or_into_none) {
  const ScanSeries series{1, 1, 0, {random_scan({8, 8, 1}, 1, 10, 4)}};
  EXPECT_REFUSED(write_scan(path("none/scan.h5"), ScanFormat::fhd, series), "existing folder");
  std::filesystem::create_directory(path("taken"));
  EXPECT_REFUSED(write_scan(path("taken"), ScanFormat::fhd, series), "a directory");
  write_text(path("taken/file"), "keep");
  EXPECT_REFUSED(write_scan(path("taken"), ScanFormat::impatient, series), "new or empty directory");
  EXPECT_EQ(bytes_of(path("taken/file")), "keep");
}

// --- Real scans
// --------------------------------------------------------------------------------------------------

TEST(RealScan, impatient_directories_are_read) {
  const struct {
    const char* name;
    std::array<int, 3> matrix_size;
    std::int64_t samples;  ///< 0: a trajectory alone
  } directories[]{{"64x64x16-4coils", {64, 64, 16}, 66592},
                  {"64x64x1", {64, 64, 1}, 3770},
                  {"384x384x1-32coils", {384, 384, 1}, 0},
                  {"512x512x1-32coils", {512, 512, 1}, 0}};
  for (const auto& [name, matrix_size, samples] : directories) {
    const auto directory = std::string(FHD_SCANS) + "/impatient_brain_spiral/" + name;
    if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no " << directory;
    const auto file = open_scan(directory);
    EXPECT_EQ(file->summary().geometry.matrix_size, matrix_size);
    if (samples == 0) {
      EXPECT_REFUSED(file->read(0, 0), "only a trajectory");
      continue;
    }
    EXPECT_EQ(file->summary().samples_per_scan, samples);
    EXPECT_NO_THROW(file->read(0, 0));
    if (matrix_size[2] == 1) continue;
    EXPECT_EQ(file->summary().coil_count, 4);
    EXPECT_EQ(file->summary().readout_length, 4162);
    EXPECT_TRUE(file->summary().has_sensitivity_maps);
    EXPECT_FALSE(file->summary().has_field_map);
  }
}

TEST_F(ScanFileTest, ismrmrd_volumes_are_read_by_several_threads_at_once) {
  ScanSeries series{24, 1, 32, {}};
  for (unsigned seed = 1; seed <= 24; ++seed)
    series.scans.push_back(random_scan({16, 16, 1}, 3, 32, 20, seed));
  write_scan(path("series.mrd"), ScanFormat::ismrmrd, series);
  const auto file = open_scan(path("series.mrd"));
  if (!file->reads_concurrently()) GTEST_SKIP() << "libhdf5 is built without threads";
  std::vector<Scan> read(24);
  std::vector<std::thread> threads;
  for (std::int64_t first = 0; first < 4; ++first)
    threads.emplace_back([&, first] {
      for (std::int64_t i = first; i < 24; i += 4) read[static_cast<std::size_t>(i)] = file->read(0, i);
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(largest_difference(series.scans[i].kspace.values, read[i].kspace.values), 0) << i;
    EXPECT_LE(largest_difference(series.scans[i].trajectory.k, read[i].trajectory.k),
              float_rounding(series.scans[i]))
        << i;
  }
}

}  // namespace
}  // namespace fhd::io
