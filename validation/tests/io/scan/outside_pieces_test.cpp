// Pieces of a scan from files of their own: the same scan as with the pieces in its file, or one clear line.
#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numbers>

#include "io/hdf5/hdf5.hpp"
#include "io/result/nifti.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/double_scans.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t coils = 3, readout = 10, readouts = 30, samples = readout * readouts;
constexpr double rounding = 6e-8;  // 2^-24, of single precision

using P = OutsidePieces;

class OutsidePiecesTest : public FolderTest {
 protected:
  void SetUp() override {
    scan = random_scan({16, 12, 1}, coils, readout, readouts);
    write("scan.h5", scan);
  }
  void write(const std::string& name, const Scan& what, ScanFormat format = ScanFormat::fhd) const {
    write_scan(path(name), format, {1, 1, readout, {what}});
  }
  /// A scan that has nothing but its samples and where they lie.
  Scan bare() const {
    Scan plain = scan;
    plain.sensitivity_maps.reset();
    plain.field_map.reset();
    return plain;
  }
  hdf5::File created(const std::string& name) const { return hdf5::File::create(path(name), path(name)); }
  /// Positions times `scale` as a file of their own; the first `count` of them.
  void write_trajectory(const std::string& name, const std::string& unit, std::array<double, 3> scale,
                        std::int64_t count = samples) const {
    Array<double> k({count, 3});
    for (std::int64_t m = 0; m < count; ++m)
      for (int axis = 0; axis < 3; ++axis)
        k[m * 3 + axis] = scan.trajectory.k[axis * samples + m] * scale[axis];
    auto file = created(name);
    file.write("/trajectory", k.data(), {count, 3});
    if (!unit.empty()) file.write_attribute("/trajectory", "unit", unit);
    file.close();
  }
  OutsidePieces of(std::string OutsidePieces::*piece, const std::string& file,
                   FieldMapUnit unit = FieldMapUnit::rad_per_s) const {
    OutsidePieces outside;
    outside.*piece = path(file);
    outside.field_map_unit = unit;
    return outside;
  }
  Scan read(const std::string& name, const OutsidePieces& outside) const {
    ReadOptions options;
    options.outside = outside;
    return open_scan(path(name), options)->read(0, 0);
  }
  std::string error(const std::string& name, const OutsidePieces& outside) const {
    return error_of([&] { read(name, outside); });
  }
  /// The scan refuses the piece.
  std::string refusal(std::string OutsidePieces::*piece, const std::string& file) const {
    return error("scan.h5", of(piece, file));
  }
  Scan scan;
};

using OutsideTrajectory = OutsidePiecesTest;
using OutsideMaps = OutsidePiecesTest;
using OutsideNoise = OutsidePiecesTest;
using OutsideFieldMap = OutsidePiecesTest;

TEST_F(OutsideTrajectory, is_that_of_the_file_in_every_format_and_is_said) {
  auto other = scan;
  for (auto& k : other.trajectory.k) k *= -0.5;
  write("other.h5", other);
  write("other.cfl", scan, ScanFormat::bart);
  write("other.mrd", scan, ScanFormat::ismrmrd);
  write_trajectory("bare.h5", "cycles/voxel", {1.0 / 16, 1.0 / 12, 1});
  EXPECT_GE(largest_difference(read("other.h5", {}).trajectory.k, scan.trajectory.k), 1);
  for (const char* file : {"scan.h5", "bare.h5", "other_traj.cfl", "other_traj", "other.mrd"}) {
    const auto made = read("other.h5", of(&P::trajectory, file));
    EXPECT_LE(largest_difference(made.trajectory.k, scan.trajectory.k), 8 * rounding) << file;
    ASSERT_EQ(made.messages.size(), 1u);
    EXPECT_CONTAINS(made.messages[0].text, "the trajectory was taken from " + path(file));
  }
  EXPECT_EQ(
      largest_difference(read("other.h5", of(&P::trajectory, "scan.h5")).trajectory.k, scan.trajectory.k), 0);
}

TEST_F(OutsideTrajectory, serves_scans_that_have_none) {
  auto file = created("without.h5");
  file.write("/kspace", scan.kspace.values.data(), {coils, samples});
  file.write_attribute("/", "matrix_size", std::vector<int>{16, 12, 1});
  file.close();
  EXPECT_CONTAINS(error("without.h5", {}), "--trajectory");
  const auto made = read("without.h5", of(&P::trajectory, "scan.h5"));
  EXPECT_EQ(largest_difference(made.trajectory.k, scan.trajectory.k), 0);
  EXPECT_EQ(largest_difference(made.kspace.values, scan.kspace.values), 0);

  write("b.cfl", scan, ScanFormat::bart);
  for (const char* part : {"b_traj.cfl", "b_traj.hdr"}) std::filesystem::remove(path(part));
  EXPECT_CONTAINS(error("b.cfl", {}), "b_traj.hdr");
  EXPECT_EQ(largest_difference(read("b.cfl", of(&P::trajectory, "scan.h5")).trajectory.k, scan.trajectory.k),
            0);
}

TEST_F(OutsideTrajectory, of_another_number_of_samples_is_refused_with_both) {
  write_trajectory("short.h5", "cycles/FOV", {1, 1, 1}, samples - 1);
  EXPECT_CONTAINS(refusal(&P::trajectory, "short.h5"),
                  "short.h5:/trajectory: expected positions of the 300 samples (30 readouts of 10) of " +
                      path("scan.h5") + ", found 299: [299][3]; give one position per sample");
}

TEST_F(OutsideTrajectory, has_the_unit_that_it_or_the_user_states) {
  write_trajectory("voxel.h5", "", {1.0 / 16, 1.0 / 12, 1});
  EXPECT_CONTAINS(refusal(&P::trajectory, "voxel.h5"), "give the unit with --trajectory-unit");
  ReadOptions options;
  options.outside.trajectory = path("voxel.h5");
  options.trajectory_unit = TrajectoryUnit::cycles_per_voxel;
  EXPECT_LE(
      largest_difference(open_scan(path("scan.h5"), options)->read(0, 0).trajectory.k, scan.trajectory.k),
      1e-14);
  // A finer image does not stretch k-space.
  options.matrix_size = std::array{32, 24, 1};
  auto plain = bare();
  write("plain.h5", plain);
  EXPECT_LE(
      largest_difference(open_scan(path("plain.h5"), options)->read(0, 0).trajectory.k, scan.trajectory.k),
      1e-14);
  // A scan states its FOV: k in cycles per twice as much is half of k.
  plain.geometry.fov_mm = {480, 192, 64};
  write("wide.h5", plain);
  const auto made = read("scan.h5", of(&P::trajectory, "wide.h5"));
  for (const std::int64_t m : {0, 7, 299}) {
    EXPECT_EQ(made.trajectory.k[m], 0.5 * scan.trajectory.k[m]) << m;
    EXPECT_EQ(made.trajectory.k[samples + m], scan.trajectory.k[samples + m]) << m;
  }
}

TEST_F(OutsideTrajectory, that_is_no_trajectory_of_this_scan_is_refused) {
  write_trajectory("far.h5", "cycles/FOV", {2, 1, 1});
  write_trajectory("nan.h5", "cycles/FOV", {1, std::numeric_limits<double>::quiet_NaN(), 1});
  write_trajectory("voxel.h5", "cycles/FOV", {1.0 / 16, 1.0 / 12, 1});
  write("image.cfl", scan, ScanFormat::bart);
  created("empty.h5").close();
  auto scalar = created("vector.h5");
  scalar.write("/trajectory", scan.trajectory.k.data(), {samples});
  scalar.write_attribute("/trajectory", "unit", "cycles/FOV");
  scalar.close();
  for (const auto& [file, expected] : {std::pair{"far.h5", "far.h5: trajectory along x"},
                                       {"nan.h5", "nan.h5: trajectory: expected finite"},
                                       {"voxel.h5", "which reaches"},
                                       {"image.cfl", "a trajectory [3][readout][spoke]"},
                                       {"empty.h5", "an HDF5 file without them"},
                                       {"none.h5", "none.h5: expected a file"},
                                       {"vector.h5", "with 2 or 3 axes"}})
    EXPECT_CONTAINS(refusal(&P::trajectory, file), expected);
  write("folder/", scan, ScanFormat::impatient);
  EXPECT_CONTAINS(error("folder", of(&P::trajectory, "scan.h5")), "kx.dat");
}

TEST_F(OutsideTrajectory, may_differ_from_volume_to_volume) {
  auto second = scan;
  for (auto& k : second.trajectory.k) k *= -1;
  write_scan(path("two.h5"), ScanFormat::fhd, {2, 1, readout, {scan, second}});
  write_scan(path("same.h5"), ScanFormat::fhd, {2, 1, readout, {scan, scan}});
  ReadOptions options;
  options.outside.trajectory = path("two.h5");
  EXPECT_EQ(
      largest_difference(open_scan(path("same.h5"), options)->read(0, 1).trajectory.k, second.trajectory.k),
      0);
  EXPECT_CONTAINS(
      refusal(&P::trajectory, "two.h5"),
      "of the 1 slices and 1 repetitions of " + path("scan.h5") + ", found 1 slices and 2 repetitions");
}

TEST_F(OutsideTrajectory, is_in_place_before_zeros_are_left_out) {
  auto half = scan;
  for (std::int64_t i = 0; i < half.kspace.values.size(); ++i)
    if (i % samples / readout % 2 == 1) half.kspace.values[i] = {};
  write("half.h5", half);
  const auto made = read("half.h5", of(&P::trajectory, "scan.h5"));
  ASSERT_EQ(made.kspace.sample_count(), samples / 2);
  EXPECT_EQ(made.trajectory.k[readout], scan.trajectory.k[2 * readout]);
}

TEST_F(OutsideMaps, are_those_of_the_file_in_double_too) {
  const auto exact = random_scan_in_double({16, 12, 1}, coils, readout, readouts, 7);
  write("exact.h5", exact);
  write("exact.cfl", exact, ScanFormat::bart);
  write("bare.h5", bare());
  auto options = double_options;
  options.outside.sensitivity_maps = path("exact.h5");
  const auto file = open_scan(path("bare.h5"), options);
  EXPECT_TRUE(file->summary().has_sensitivity_maps);
  const auto made = file->read(0, 0);
  EXPECT_EQ(largest_difference(made.sensitivity_maps->in_double, exact.sensitivity_maps->in_double), 0);
  EXPECT_CONTAINS(made.messages.at(0).text, "taken from " + path("exact.h5"));
  const auto replaced = read("scan.h5", of(&P::sensitivity_maps, "exact_sens.cfl"));
  EXPECT_EQ(largest_difference(replaced.sensitivity_maps->values, exact.sensitivity_maps->values), 0);
  EXPECT_CONTAINS(replaced.messages.at(0).text, "in place of the scan's own");
}

TEST_F(OutsideMaps, of_other_coils_or_voxels_or_none_are_refused) {
  for (const auto& [n, c] : {std::pair{std::array{16, 12, 1}, 2}, {std::array{12, 16, 1}, 3}}) {
    const auto other = random_scan(n, c, readout, readouts);
    write("other.h5", other);
    write("other.cfl", other, ScanFormat::bart);
    EXPECT_CONTAINS(refusal(&P::sensitivity_maps, "other.h5"),
                    "other.h5:/sensitivity_maps: expected [3][1][12][16], the coils and the matrix of " +
                        path("scan.h5") + ", found [");
    EXPECT_CONTAINS(refusal(&P::sensitivity_maps, "other_sens.cfl"),
                    "other_sens.cfl: expected sensitivity maps [16][12][1][3]");
  }
  write("bare.h5", bare());
  EXPECT_CONTAINS(refusal(&P::sensitivity_maps, "bare.h5"), "an HDF5 file without one");
  auto bad = scan;
  bad.sensitivity_maps->values[5].re = std::numeric_limits<float>::quiet_NaN();
  auto file = created("nan.h5");
  file.write("/sensitivity_maps", bad.sensitivity_maps->values.data(), {coils, 1, 12, 16});
  file.close();
  EXPECT_CONTAINS(refusal(&P::sensitivity_maps, "nan.h5"), "nan.h5: sensitivity maps: expected finite");
}

/// The head is packed: no reference to a float in it may be formed.
void set_dwell(ISMRMRD::Acquisition& acquisition, float dwell_us) {
  ISMRMRD::AcquisitionHeader head = acquisition.getHead();
  std::memcpy(reinterpret_cast<char*>(&head) + offsetof(ISMRMRD::ISMRMRD_AcquisitionHeader, sample_time_us),
              &dwell_us, sizeof dwell_us);
  acquisition.setHead(head);
}

/// An ISMRMRD file of `count` readouts of 8 samples, values (number, sample + 100 coil); the first `noise` of them are
/// flagged as noise, sampled every `noise_dwell_us`, the others every 4 us.
void write_ismrmrd(const std::string& name, int count, int noise, float noise_dwell_us, int channels = coils,
                   const std::string& system = "", const std::string& trajectory = "cartesian") {
  ISMRMRD::Dataset dataset(name.c_str(), "/dataset", true);
  const auto element = [](const std::string& tag, const std::string& content) {
    return "<" + tag + ">" + content + "</" + tag + ">";
  };
  dataset.writeHeader(
      "<ismrmrdHeader>" + element("acquisitionSystemInformation", system) +
      element("encoding",
              element("encodedSpace", element("matrixSize", "<x>8</x><y>8</y><z>1</z>") +
                                          element("fieldOfView_mm", "<x>80</x><y>80</y><z>5</z>")) +
                  element("trajectory", trajectory)) +
      "</ismrmrdHeader>");
  for (int i = 0; i < count; ++i) {
    ISMRMRD::Acquisition acquisition;
    acquisition.resize(8, static_cast<std::uint16_t>(channels), 0);
    set_dwell(acquisition, i < noise ? noise_dwell_us : 4);
    acquisition.center_sample() = 4;
    if (i < noise) acquisition.setFlag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
    acquisition.idx().kspace_encode_step_1 = static_cast<std::uint16_t>((i + 16 - noise) % 8);
    for (std::uint16_t s = 0; s < 8; ++s)
      for (std::uint16_t coil = 0; coil < channels; ++coil)
        acquisition.data(s, coil) = {float(i), float(s + 100 * coil)};
    dataset.appendAcquisition(acquisition);
  }
}

TEST_F(OutsideTrajectory, serves_ismrmrd_readouts_without_and_those_of_a_reference_are_not_mistaken_for_it) {
  write_ismrmrd(path("radial.mrd"), 8, 0, 4, coils, "", "radial");
  EXPECT_CONTAINS(error("radial.mrd", {}), "trajectory_dimensions 0");
  Array<double> k({64, 2});
  for (std::int64_t i = 0; i < k.size(); ++i) k[i] = double(i % 9) - 4;
  auto file = created("k.h5");
  file.write("/trajectory", k.data(), {64, 2});
  file.write_attribute("/trajectory", "unit", "cycles/FOV");
  file.close();
  const auto made = read("radial.mrd", of(&P::trajectory, "k.h5"));
  ASSERT_EQ(made.kspace.sample_count(), 64);
  for (std::int64_t m = 0; m < 64; ++m)
    for (std::int64_t axis = 0; axis < 2; ++axis)
      EXPECT_EQ(made.trajectory.k[axis * 64 + m], k[2 * m + axis]);
  // Cartesian lines for the maps alone keep the places that their steps tell.
  write_ismrmrd(path("cartesian.mrd"), 8, 0, 4);
  const auto add_references = [&](const std::string& name) {
    ISMRMRD::Dataset dataset(path(name).c_str(), "/dataset", false);
    for (int line = 2; line < 6; ++line) {
      ISMRMRD::Acquisition acquisition;
      acquisition.resize(8, coils, 0);
      std::fill_n(acquisition.getDataPtr(), acquisition.getNumberOfDataElements(), std::complex<float>(0));
      acquisition.center_sample() = 4;
      acquisition.idx().kspace_encode_step_1 = static_cast<std::uint16_t>(line);
      acquisition.idx().contrast = 1;
      acquisition.setFlag(ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION);
      acquisition.data(4, 0) = {1, float(line)};
      dataset.appendAcquisition(acquisition);
    }
  };
  add_references("cartesian.mrd");
  add_references("radial.mrd");
  const auto referenced = read("cartesian.mrd", of(&P::trajectory, "k.h5"));
  ASSERT_TRUE(referenced.calibration.has_value());
  EXPECT_EQ(largest_difference(referenced.calibration->trajectory.k,
                               read("cartesian.mrd", {}).calibration->trajectory.k),
            0);
  EXPECT_FALSE(read("radial.mrd", of(&P::trajectory, "k.h5")).calibration.has_value());
}

TEST_F(OutsideNoise, is_that_of_readouts_in_the_scan_itself) {
  write_ismrmrd(path("with.mrd"), 10, 2, 4);
  write_ismrmrd(path("plain.mrd"), 8, 0, 4);
  write_ismrmrd(path("noise.mrd"), 2, 2, 4);
  write_ismrmrd(path("unflagged.mrd"), 2, 0, 4);
  const auto embedded = read("with.mrd", {}).noise;
  ASSERT_TRUE(embedded && embedded->shape() == Shape({coils, 16}));
  EXPECT_FALSE(read("plain.mrd", {}).noise.has_value());
  for (const char* file : {"noise.mrd", "with.mrd", "unflagged.mrd"}) {
    const auto made = read("plain.mrd", of(&P::noise, file));
    EXPECT_EQ(largest_difference(*made.noise, *embedded), 0) << file;
    EXPECT_CONTAINS(made.messages.at(0).text, "16 samples of 2 readouts");
    EXPECT_EQ(contains(made.messages[0].text, "none is flagged"), std::string(file) == "unflagged.mrd");
  }
}

TEST_F(OutsideNoise, has_the_bandwidth_of_the_scan) {
  const std::string half = "<relativeReceiverNoiseBandwidth>0.5</relativeReceiverNoiseBandwidth>";
  write_ismrmrd(path("plain.mrd"), 8, 0, 4);
  write_ismrmrd(path("noise.mrd"), 2, 2, 16);
  write_ismrmrd(path("narrow.mrd"), 2, 2, 16, coils, half);
  write_ismrmrd(path("with.mrd"), 10, 2, 16, coils, half);
  const auto noise_of = [&](const char* file) { return *read("plain.mrd", of(&P::noise, file)).noise; };
  const auto wide = noise_of("noise.mrd"), narrow = noise_of("narrow.mrd"),
             embedded = *read("with.mrd", {}).noise;
  for (std::int64_t i = 0; i < wide.size(); ++i) {
    // Four times the dwell time: half the standard deviation, so that noise of the scan's is twice as strong.
    const double measured = static_cast<double>(i % 8 + 100 * (i / 16));
    EXPECT_NEAR(wide[i].im, 2 * measured, 4 * rounding * measured);
    EXPECT_NEAR(narrow[i].im, 2 * std::numbers::sqrt2 * measured, 8 * rounding * measured);
    EXPECT_NEAR(embedded[i].im, narrow[i].im, 4 * rounding * narrow[i].im);
  }
  EXPECT_CONTAINS(read("plain.mrd", of(&P::noise, "noise.mrd")).messages.at(0).text,
                  "scaled by 2 from a dwell time of 16 us to one of 4 us");
}

TEST_F(OutsideNoise, is_read_from_hdf5_and_bart) {
  Array<Complex<float>> noise({coils, 6});
  for (std::int64_t i = 0; i < noise.size(); ++i) noise[i] = {float(i + 1), float(-2 * i)};
  auto file = created("noise.h5");
  file.write("/noise", noise.data(), {coils, 6});
  file.close();
  // [1][3][1][coil][2]: three samples of every coil, twice.
  std::string values;
  for (int block = 0; block < 2; ++block)
    for (int coil = 0; coil < coils; ++coil)
      values.append(reinterpret_cast<const char*>(noise.data() + coil * 6 + block * 3), 3 * sizeof(noise[0]));
  write_text(path("noise.cfl"), values);
  write_text(path("noise.hdr"), "# Dimensions\n1 3 1 3 2 \n");
  for (const char* name : {"noise.h5", "noise.cfl", "noise"}) {
    const auto made = read("scan.h5", of(&P::noise, name));
    EXPECT_EQ(largest_difference(*made.noise, noise), 0) << name;
    EXPECT_CONTAINS(made.messages.at(0).text, "6 samples, not scaled");
  }
}

TEST_F(OutsideNoise, of_other_coils_or_not_finite_is_refused) {
  write_ismrmrd(path("two.mrd"), 2, 2, 4, 2);
  EXPECT_CONTAINS(refusal(&P::noise, "two.mrd"), "two.mrd: expected noise of the 3 coils of " +
                                                     path("scan.h5") + ", [coil][sample], found [2][16]");
  Array<Complex<float>> noise({coils, 6});
  noise[7].im = std::numeric_limits<float>::infinity();
  auto file = created("nan.h5");
  file.write("/noise", noise.data(), {coils, 6});
  file.close();
  EXPECT_CONTAINS(refusal(&P::noise, "nan.h5"), "nan.h5: noise of coil 1: expected finite");
  EXPECT_CONTAINS(refusal(&P::noise, "scan.h5"), "0 of them");
}

// --- Field maps

/// rad/s at a place in the patient, mm: linear, and positive within 500 mm.
double field_at(const std::array<double, 3>& mm) { return 600 + 0.4 * mm[0] - 0.3 * mm[1] + 0.7 * mm[2]; }

std::array<double, 3> place_of(const Affine& affine, std::int64_t x, std::int64_t y, std::int64_t z) {
  std::array<double, 3> mm{};
  for (int row = 0; row < 3; ++row)
    mm[row] =
        affine[row][0] * double(x) + affine[row][1] * double(y) + affine[row][2] * double(z) + affine[row][3];
  return mm;
}

/// The field at the voxels of a geometry, [z][y][x].
Array<float> field_on(const Geometry& geometry, double factor = 1) {
  const auto affine = voxel_to_lps_mm(geometry);
  const auto [nx, ny, nz] = geometry.matrix_size;
  Array<float> values(geometry.image_shape());
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        values[(z * ny + y) * nx + x] = static_cast<float>(factor * field_at(place_of(affine, x, y, z)));
  return values;
}

void write_field(const std::string& name, const Geometry& geometry, double factor = 1) {
  Image image;
  image.geometry = geometry;
  image.values = Array<Complex<float>>(geometry.image_shape());
  const auto values = field_on(geometry, factor);
  for (std::int64_t p = 0; p < values.size(); ++p) image.values[p] = values[p];
  write_nifti(name, {1, 1, {image}}, fhd::stacks_of({geometry}).front(), name);
}

/// Another grid about the same place: half the resolution, twice the FOV, shifted, and turned by 30 degrees about z.
Geometry coarse(const Geometry& geometry) {
  Geometry other = geometry;
  other.matrix_size = {15, 13, 9};
  other.fov_mm = {480, 410, 200};
  other.position_mm = {geometry.position_mm[0] + 7.3, geometry.position_mm[1] - 4.1,
                       geometry.position_mm[2] + 2.2};
  const double c = std::cos(std::numbers::pi / 6), s = std::sin(std::numbers::pi / 6);
  other.read_direction = {c, s, 0};
  other.phase_direction = {-s, c, 0};
  other.slice_direction = {0, 0, 1};
  return other;
}

TEST_F(OutsideFieldMap, is_brought_to_the_voxels_of_the_scan) {
  for (const auto& n : {std::array{16, 12, 1}, {9, 7, 5}}) {
    const auto wanted = random_scan(n, coils, readout, readouts);
    write("wanted.h5", wanted);
    write_field(path("same.nii.gz"), wanted.geometry);
    write_field(path("coarse.nii.gz"), coarse(wanted.geometry));
    const auto expected = field_on(wanted.geometry);
    for (const char* file : {"same.nii.gz", "coarse.nii.gz"}) {
      const auto made = read("wanted.h5", of(&P::field_map, file));
      // Field and affine map are stored in single precision: 1000 rad/s, and 0.9 rad/s/mm of 500 mm, ten roundings.
      EXPECT_LE(largest_difference(*made.field_map, expected), 10 * rounding * (1000 + 0.9 * 500)) << file;
      EXPECT_CONTAINS(made.messages.at(0).text, "interpolated at the voxels");
      EXPECT_FALSE(contains(made.messages[0].text, "outside"));
    }
  }
}

TEST_F(OutsideFieldMap, in_hz_is_that_in_rad_per_s) {
  constexpr double hz = 1 / (2 * std::numbers::pi);
  write_field(path("rad.nii.gz"), coarse(scan.geometry));
  write_field(path("hz.nii.gz"), coarse(scan.geometry), hz);
  auto file = created("hz.h5");
  Array<double> in_hz(scan.geometry.image_shape());
  for (std::int64_t p = 0; p < in_hz.size(); ++p) in_hz[p] = (*scan.field_map)[p] * hz;
  file.write("/field_map", in_hz.data(), {1, 12, 16});
  file.close();
  const auto rad = *read("scan.h5", of(&P::field_map, "rad.nii.gz")).field_map;
  const auto made = *read("scan.h5", of(&P::field_map, "hz.nii.gz", FieldMapUnit::hz)).field_map;
  EXPECT_LE(largest_difference(made, rad), 4 * rounding * 1000);
  const auto same = read("scan.h5", of(&P::field_map, "hz.h5", FieldMapUnit::hz));
  EXPECT_LE(largest_difference(*same.field_map, *scan.field_map), 2 * rounding * 100);
  EXPECT_CONTAINS(same.messages.at(0).text, "in place of the scan's own, in Hz");
}

TEST_F(OutsideFieldMap, of_hdf5_is_used_as_it_is) {
  write("bare.h5", bare());
  const auto made = read("bare.h5", of(&P::field_map, "scan.h5"));
  EXPECT_EQ(largest_difference(*made.field_map, *scan.field_map), 0);
  const auto exact = random_scan_in_double({16, 12, 1}, coils, readout, readouts);
  write("exact.h5", exact);
  auto options = double_options;
  options.outside.field_map = path("exact.h5");
  EXPECT_EQ(largest_difference(open_scan(path("bare.h5"), options)->read(0, 0).field_map_in_double,
                               exact.field_map_in_double),
            0);
  EXPECT_CONTAINS(refusal(&P::field_map, "bare.h5"), "an HDF5 file without one");
  auto silent = created("silent.h5");
  silent.write("/field_map", scan.field_map->data(), {1, 16, 12});
  silent.close();
  EXPECT_CONTAINS(
      refusal(&P::field_map, "silent.h5"),
      "silent.h5:/field_map: expected [1][12][16], the matrix of " + path("scan.h5") + ", found [1][16][12]");
}

/// An HDF5 file that says where it lies is brought to the voxels of the scan, as NIfTI is, unless it has them.
TEST_F(OutsideFieldMap, of_hdf5_elsewhere_is_interpolated) {
  const auto write_map = [&](const char* name, const std::vector<Geometry>& slices) {
    const OutputLock lock(path(name));
    FileSet files(lock);
    std::vector<Array<float>> values;
    std::vector<const Array<float>*> maps;
    for (const auto& slice : slices) values.push_back(field_on(slice));
    for (const auto& each : values) maps.push_back(&each);
    write_field_map(files, path(name), maps, slices);
    files.commit();
  };
  const auto expected = field_on(scan.geometry);
  const auto tolerance = 10 * rounding * (1000 + 0.9 * 500);
  auto wide = scan.geometry, shifted = wide;  // both of the scan's matrix
  wide.fov_mm = {480, 384, 64};
  shifted.position_mm[0] += 3;
  auto below = coarse(scan.geometry), above = below;  // two slices about that of the scan
  below.matrix_size[2] = above.matrix_size[2] = 1;
  below.position_mm[2] -= 60, above.position_mm[2] += 60;
  for (const auto& [name, slices] : {std::pair{"coarse.h5", std::vector{coarse(scan.geometry)}},
                                     {"wide.h5", {wide}},
                                     {"slices.h5", {above, below}}}) {
    write_map(name, slices);
    const auto made = read("scan.h5", of(&P::field_map, name));
    EXPECT_CONTAINS(made.messages.at(0).text, "interpolated at the voxels");
    EXPECT_LE(largest_difference(*made.field_map, expected), tolerance) << name;
  }
  write_map("shifted.h5", {shifted});
  EXPECT_CONTAINS(read("scan.h5", of(&P::field_map, "shifted.h5")).messages.at(0).text,
                  "interpolated at the");
  auto uneven = above;
  uneven.position_mm[2] += 100;
  write_map("uneven.h5", {above, below, uneven});
  EXPECT_CONTAINS(refusal(&P::field_map, "uneven.h5"), "one stack of them at even steps");
}

TEST_F(OutsideFieldMap, has_its_nearest_value_outside_and_is_refused_elsewhere) {
  Geometry part = scan.geometry;  // reads along the patient's posterior
  part.matrix_size[0] = 12;       // 3/4 of the FOV, about its centre: voxels 2 to 13
  part.fov_mm[0] = 180;
  write_field(path("part.nii.gz"), part);
  const auto made = read("scan.h5", of(&P::field_map, "part.nii.gz"));
  EXPECT_CONTAINS(made.messages.at(0).text, "48 of 192 lie outside of it and have its nearest value");
  const auto& map = *made.field_map;
  for (int y = 0; y < 12; ++y) {
    EXPECT_EQ(map[y * 16], map[y * 16 + 2]);
    EXPECT_EQ(map[y * 16 + 15], map[y * 16 + 13]);
  }
  part.position_mm[1] += 160;
  write_field(path("elsewhere.nii.gz"), part);
  EXPECT_CONTAINS(refusal(&P::field_map, "elsewhere.nii.gz"),
                  "at least half of the voxels of " + path("scan.h5") + ", found ");
}

TEST_F(OutsideFieldMap, needs_sample_times_a_fov_and_finite_numbers) {
  write_field(path("b0.nii.gz"), scan.geometry);
  auto other = bare();
  other.geometry.fov_mm = {240, 0, 64};
  write("flat.h5", other);
  EXPECT_CONTAINS(error("flat.h5", of(&P::field_map, "b0.nii.gz")),
                  "none along y; give it with --fov-mm X,Y,Z");
  other.sample_time_s.reset();
  write("timeless.h5", other);
  EXPECT_CONTAINS(error("timeless.h5", of(&P::field_map, "b0.nii.gz")), "/sample_time_s");
  auto file = created("nan.h5");
  auto map = *scan.field_map;
  map[3] = std::numeric_limits<float>::quiet_NaN();
  file.write("/field_map", map.data(), {1, 12, 16});
  file.close();
  EXPECT_CONTAINS(refusal(&P::field_map, "nan.h5"), "nan.h5: field map: expected finite");
  write_field(path("nan.nii.gz"), scan.geometry, std::numeric_limits<double>::quiet_NaN());
  EXPECT_CONTAINS(refusal(&P::field_map, "nan.nii.gz"), "nan.nii.gz: expected finite");
}

// --- Time origin

TEST_F(OutsideFieldMap, says_from_when_sample_times_count) {
  EXPECT_EQ(open_scan(path("scan.h5"))->summary().time_origin, TimeOrigin::excitation);
  write_ismrmrd(path("plain.mrd"), 8, 0, 4);
  Geometry geometry;
  geometry.matrix_size = {8, 8, 1};
  geometry.fov_mm = {80, 80, 5};
  write_field(path("b0.nii.gz"), geometry);
  ReadOptions options;
  options.outside.field_map = path("b0.nii.gz");
  const auto file = open_scan(path("plain.mrd"), options);
  EXPECT_EQ(file->summary().time_origin, TimeOrigin::readout_start);
  const auto made = file->read(0, 0);
  ASSERT_EQ(made.messages.size(), 2u);
  EXPECT_CONTAINS(made.messages[1].text, "sample times counted from the start of each readout");
  // Other formats state the origin, too.
  const auto series = read_all(*file);
  for (const auto& [name, format] :
       {std::pair{"copy.h5", ScanFormat::fhd}, {"copy.mrd", ScanFormat::ismrmrd}}) {
    write_scan(path(name), format, series);
    const auto copy = open_scan(path(name));
    EXPECT_EQ(copy->summary().time_origin, TimeOrigin::readout_start) << name;
    EXPECT_EQ(copy->read(0, 0).messages.size(), 1u) << name;
  }
}

}  // namespace
}  // namespace fhd::io
