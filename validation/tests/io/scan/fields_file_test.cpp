// Fields, decay and coefficients of gradients from files of their own: layouts, units, signs, axes, and what is refused.
#include "io/scan/fields_file.hpp"

#include <numbers>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/gradient_file.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/messages.hpp"

namespace fhd::io {
namespace {

using Pieces = OutsidePieces;

class FieldsFileTest : public FolderTest {
 protected:
  static constexpr std::int64_t readout = 5, samples = 20;
  void SetUp() override {
    scan = random_scan({16, 12, 1}, 2, readout, 4);
    for (auto& k : scan.trajectory.k) k *= 0.9;  // so that measured positions stay within the matrix
    write("scan.h5", scan);
  }
  void write(const std::string& name, const Scan& what, ScanFormat format = ScanFormat::fhd) const {
    write_scan(path(name), format, {1, 1, readout, {what}});
  }
  hdf5::File created(const std::string& name) const { return hdf5::File::create(path(name), path(name)); }
  Scan read(const std::string& name, std::string Pieces::*piece = nullptr,
            const std::string& file = {}) const {
    ReadOptions options;
    if (piece != nullptr) options.outside.*piece = path(file);
    return open_scan(path(name), options)->read(0, 0);
  }
  std::string refusal(std::string Pieces::*piece, const std::string& file) const {
    return error_of([&] { read("scan.h5", piece, file); });
  }
  static Array<double> terms(std::int64_t count) {
    Array<double> kappa({count, samples});
    for (std::int64_t i = 0; i < kappa.size(); ++i) kappa[i] = std::sin(1.0 + static_cast<double>(i));
    return kappa;
  }
  /// The terms x, y, z of the positions of the scan, rad/m along L, P, S; the scan's x lies along P, its y against L.
  Array<double> linear_terms() const {
    Array<double> kappa({3, samples});
    for (std::int64_t m = 0; m < samples; ++m) {
      kappa[m] = -2 * std::numbers::pi * scan.trajectory.k[samples + m] / 0.192;
      kappa[samples + m] = 2 * std::numbers::pi * scan.trajectory.k[m] / 0.24;
      kappa[2 * samples + m] = 3;
    }
    return kappa;
  }
  Scan scan;
};

using FieldsFile = FieldsFileTest;
using DecayFile = FieldsFileTest;
using GradientFile = FieldsFileTest;

TEST_F(FieldsFile, of_named_or_numbered_functions_is_part_of_the_scan) {
  const auto kappa = terms(2);
  for (const bool named : {false, true}) {
    auto file = created("fields.h5");
    file.write(fields_name, kappa);
    const double numbers[] = {8, 4};
    if (named) {
      const char names[2][8] = {"x2 - y2", "xy"};
      file.write_list("/field_basis", hdf5::text_type(8, H5T_CSET_UTF8, "names"), names, 2);
    } else {
      file.write("/field_basis", numbers, {2});
    }
    const double axes[] = {0, 1, 0, 0, 0, 1, 1, 0, 0};
    file.write("/field_axes", axes, {3, 3});
    file.close();
    const Scan found = read("scan.h5", &Pieces::fields, "fields.h5");
    ASSERT_TRUE(found.fields);
    EXPECT_EQ(found.fields->functions, (std::vector{FieldFunction::x2_y2, FieldFunction::xy}));
    EXPECT_EQ(largest_difference(found.fields->coefficients, kappa), 0);
    EXPECT_EQ(found.fields->axes[0], (std::array<double, 3>{0, 1, 0}));
    EXPECT_EQ(largest_difference(found.trajectory.k, scan.trajectory.k), 0);
    EXPECT_TRUE(tests::tells(found.messages, "fields were taken from"));
  }
}

TEST_F(FieldsFile, with_measured_positions_replaces_those_of_the_scan) {
  const auto linear = linear_terms();
  Array<double> kappa({5, samples});
  for (std::int64_t m = 0; m < samples; ++m) kappa[m] = 0.25, kappa[4 * samples + m] = 7;
  std::copy(linear.begin(), linear.end(), kappa.begin() + samples);
  kappa[2 * samples + 3] += 2 * std::numbers::pi * 0.02 / 0.24;  // 0.02 cycles/FOV along x
  const auto made = [&](const char* centre) {
    auto file = created("fields.h5");
    file.write(fields_name, kappa);
    if (*centre != 0) file.write("/field_centre", centre);
    file.close();
    return read("scan.h5", &Pieces::fields, "fields.h5");
  };
  const Scan found = made("");
  Array<double> expected = scan.trajectory.k;
  expected[3] += 0.02;
  EXPECT_LE(largest_difference(found.trajectory.k, expected), 1e-12);
  EXPECT_TRUE(tests::tells(found.messages, "up to 0.02 cycles/FOV"));
  // The centre lies at (10, -20, 30) mm: its phase is added, as a constant, and the table's fourth function is xy.
  const auto& fields = found.fields.value();
  EXPECT_EQ(fields.functions, (std::vector{FieldFunction::one, FieldFunction::one, FieldFunction::xy}));
  for (std::int64_t m = 0; m < samples; ++m) {
    const double phase =
        0.01 * kappa[samples + m] - 0.02 * kappa[2 * samples + m] + 0.03 * kappa[3 * samples + m];
    EXPECT_NEAR(fields.coefficients[m], phase, 1e-12);
    EXPECT_EQ(fields.coefficients[samples + m], 0.25);
  }
  const Scan demodulated = made("fov");
  EXPECT_EQ(demodulated.fields->functions, (std::vector{FieldFunction::one, FieldFunction::xy}));
  EXPECT_LE(largest_difference(demodulated.trajectory.k, expected), 1e-12);
}

TEST_F(FieldsFile, of_the_opposite_sign_is_noticed_and_can_be_stated) {
  auto kappa = terms(4);
  const auto linear = linear_terms();
  std::transform(linear.begin(), linear.end(), kappa.begin() + samples, std::negate());
  auto file = created("fields.h5");
  file.write(fields_name, kappa);
  file.close();
  EXPECT_CONTAINS(refusal(&Pieces::fields, "fields.h5"), "with -x, -y, z in place of x, y, z");
  auto stated = created("stated.h5");
  stated.write(fields_name, kappa);
  const double sign = -1;
  stated.write("/field_sign", &sign, {});  // one number without axes
  stated.close();
  const Scan found = read("scan.h5", &Pieces::fields, "stated.h5");
  EXPECT_LE(largest_difference(found.trajectory.k, scan.trajectory.k), 1e-12);
}

TEST_F(FieldsFile, of_other_axes_or_another_unit_than_the_scan_is_refused) {
  const auto linear = linear_terms();
  const auto refused = [&](std::array<int, 3> axes, double factor) {
    Array<double> kappa({4, samples});
    for (std::int64_t i = 0; i < linear.size(); ++i)
      kappa[samples + i] =
          factor * linear[axes[static_cast<std::size_t>(i / samples)] * samples + i % samples];
    auto file = created("fields.h5");
    file.write(fields_name, kappa);
    file.close();
    return refusal(&Pieces::fields, "fields.h5");
  };
  EXPECT_EQ(refused({0, 1, 2}, 1), "");
  EXPECT_EQ(refused({0, 1, 2}, 1.05), "");
  EXPECT_CONTAINS(refused({1, 0, 2}, 1), "with y, x, z in place of x, y, z; state the directions");
  EXPECT_CONTAINS(refused({1, 0, 2}, -1), "with -y, -x, z");
  EXPECT_CONTAINS(refused({0, 1, 2}, 1e-3), "times 1000; give phases in rad and lengths in m");  // per mm
  EXPECT_CONTAINS(refused({0, 1, 2}, 1e3), "times 0.001");
  EXPECT_CONTAINS(refused({0, 1, 2}, 0.5 / std::numbers::pi), "times 6.283");  // in turns
}

TEST_F(FieldsFile, of_a_slice_are_compared_within_it) {
  const auto linear = linear_terms();
  const auto refused = [&](std::int64_t first, std::int64_t second) {
    Array<double> kappa({4, samples});
    for (std::int64_t m = 0; m < samples; ++m) {
      kappa[samples + m] = linear[first * samples + m], kappa[2 * samples + m] = linear[second * samples + m];
      kappa[3 * samples + m] = 1e4;  // rad/m, of a slice whose rephasing is not exact
    }
    auto file = created("fields.h5");
    file.write(fields_name, kappa);
    file.close();
    return refusal(&Pieces::fields, "fields.h5");
  };
  EXPECT_EQ(refused(0, 1), "");
  EXPECT_CONTAINS(refused(1, 0), "with y, x, z in place of x, y, z");
}

TEST_F(FieldsFile, for_all_repetitions_serves_each_and_takes_the_place_of_the_scan_s_own) {
  scan.fields.emplace(Fields{{FieldFunction::xy}, terms(1)});
  scan.geometry.position_mm = {};
  scan.geometry.read_direction = {1, 0, 0}, scan.geometry.phase_direction = {0, 1, 0};
  write_scan(path("two.h5"), ScanFormat::fhd, {2, 1, readout, {scan, scan}});
  const auto kappa = terms(2);
  const auto put = [&](std::int64_t repetitions) {
    Array<double> all({repetitions, 1, 2, samples});
    for (std::int64_t i = 0; i < all.size(); ++i) all[i] = kappa[i % kappa.size()];
    auto file = created("fields.h5");
    file.write(fields_name, all);
    const double basis[] = {4, 8};
    file.write("/field_basis", basis, {2});
    file.close();
    ReadOptions options;
    options.outside.fields = path("fields.h5");
    return open_scan(path("two.h5"), options);
  };
  const Scan second = put(1)->read(0, 1);
  EXPECT_EQ(largest_difference(second.fields->coefficients, kappa), 0);
  EXPECT_EQ(std::ranges::count(second.messages, "fields", &Message::code), 1);
  EXPECT_REFUSED(put(3), "3 repetitions");
}

TEST_F(FieldsFile, of_a_scan_that_states_no_place_warns_where_the_place_counts) {
  for (const double basis : {8.0, 0.0}) {
    auto file = created("plain.h5");
    const Array<double> k({samples, 2});
    Array<Complex<float>> data({1, samples});
    for (auto& value : data) value = 1;
    file.write("/trajectory", k);
    file.write("/kspace", data);

    file.write("/field_coefficients", terms(1));
    file.write("/field_basis", &basis, {1});
    file.write_attribute("/", "matrix_size", std::vector<int>{8, 8, 1});
    file.write_attribute("/", "fov_mm", std::vector<double>{200, 200, 5});
    file.write_attribute("/trajectory", "unit", "cycles/FOV");
    file.close();
    EXPECT_EQ(holds(read("plain.h5").messages, "fields_place", Severity::warning), basis == 8);
  }
}

TEST_F(FieldsFile, of_matmri_and_text_give_what_fhd_s_own_layout_gives) {
  auto kappa = terms(9);
  const auto linear = linear_terms(), maxwell = terms(4);
  std::copy(linear.begin(), linear.end(), kappa.begin() + samples);
  auto own = created("own.h5");
  own.write(fields_name, kappa);
  own.close();
  std::string table = "# k0 kx ky kz k4 ... k8\n";
  for (std::int64_t m = 0; m < samples; ++m, table += '\n')
    for (std::int64_t term = 0; term < 9; ++term) {
      char number[40];
      std::snprintf(number, sizeof number, "%.17g\t", kappa[term * samples + m]);
      table += number;
    }
  write_text(path("camera.txt"), table);
  auto matlab = created("matmri.mat");  // whose signal is exp(+i phase)
  Array<double> opposite({9, samples}), by_sample({samples, 4});
  for (std::int64_t i = 0; i < kappa.size(); ++i) opposite[i] = -kappa[i];
  for (std::int64_t i = 0; i < maxwell.size(); ++i) by_sample[i % samples * 4 + i / samples] = -maxwell[i];
  matlab.write("/phs_spha", opposite);
  matlab.write("/phs_conc", by_sample);
  matlab.close();
  const Scan expected = read("scan.h5", &Pieces::fields, "own.h5"),
             of_text = read("scan.h5", &Pieces::fields, "camera.txt"),
             of_matmri = read("scan.h5", &Pieces::fields, "matmri.mat");
  EXPECT_EQ(of_text.fields->functions, expected.fields->functions);
  EXPECT_EQ(largest_difference(of_text.fields->coefficients, expected.fields->coefficients), 0);
  EXPECT_EQ(largest_difference(of_text.trajectory.k, expected.trajectory.k), 0);
  EXPECT_EQ(largest_difference(of_matmri.trajectory.k, expected.trajectory.k), 0);
  const auto& found = of_matmri.fields->coefficients;
  ASSERT_EQ(found.extent(0), expected.fields->coefficients.extent(0) + 4);
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto rest = i - expected.fields->coefficients.size();
    EXPECT_EQ(found[i], rest < 0 ? expected.fields->coefficients[i] : maxwell[rest]);
  }
  EXPECT_EQ(of_matmri.fields->functions.back(), FieldFunction::maxwell_yz);
}

TEST_F(FieldsFile, that_does_not_fit_is_refused_in_one_line) {
  const auto refused = [&](const Array<double>& kappa, std::vector<double> basis) {
    auto file = created("fields.h5");
    file.write(fields_name, kappa);
    if (!basis.empty()) file.write("/field_basis", basis.data(), {std::ssize(basis)});
    file.close();
    return refusal(&Pieces::fields, "fields.h5");
  };
  EXPECT_CONTAINS(refused(Array<double>({9, 19}), {}),
                  "coefficients of the 20 samples of the scan, found 19");
  EXPECT_CONTAINS(refused(Array<double>({21, 20}), {}), "1 ... 20 terms");
  EXPECT_CONTAINS(refused(terms(1), {20}), "numbers 0 ... 19");
  EXPECT_CONTAINS(refused(terms(2), {5}), "each of the 2 terms, found 1");
  EXPECT_CONTAINS(refused(terms(2), {1, 2}), "all of the terms x, y and z");
  auto not_finite = terms(1);
  not_finite[7] = NAN;
  EXPECT_CONTAINS(refused(not_finite, {8}), "finite");
  auto of_mm = terms(1);
  for (double& value : of_mm) value *= 1e9;
  EXPECT_CONTAINS(refused(of_mm, {8}), "were mm given for m?");
  write_text(path("three.txt"), "1 2 3\n");
  EXPECT_CONTAINS(refusal(&Pieces::fields, "three.txt"), "4, 9 or 16 harmonics");
  EXPECT_CONTAINS(refusal(&Pieces::fields, "scan.h5"), "fields:");
}

TEST_F(FieldsFile, of_metres_taken_for_millimetres_is_noticed) {
  auto kappa = terms(1);
  for (double& value : kappa) value *= 100 * 1e-6;  // 100 rad/m^2 per mm^2
  auto file = created("fields.h5");
  file.write(fields_name, kappa);
  const double basis = 8;
  file.write("/field_basis", &basis, {1});
  file.close();
  const Scan found = read("scan.h5", &Pieces::fields, "fields.h5");
  EXPECT_TRUE(holds(found.messages, "fields", Severity::warning));
}

TEST_F(FieldsFile, fields_and_decay_of_a_scan_s_own_file_come_back) {
  scan.decay_per_s = Array<float>(scan.geometry.image_shape());
  for (std::int64_t p = 0; p < scan.decay_per_s->size(); ++p) (*scan.decay_per_s)[p] = static_cast<float>(p);
  scan.second_decay = SecondDecay{*scan.decay_per_s, *scan.decay_per_s};
  for (float& rate : scan.second_decay->per_s) rate *= 0.25F;
  for (float& share : scan.second_decay->fraction) share = 1 / (1 + share);
  scan.fields.emplace(
      Fields{{FieldFunction::z3, FieldFunction::maxwell_xz}, terms(2), {{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}}});
  for (const auto format : {ScanFormat::fhd, ScanFormat::ismrmrd}) {
    write("with.h5", scan, format);
    const Scan found = read("with.h5");
    EXPECT_EQ(found.fields->functions, scan.fields->functions);
    EXPECT_EQ(found.fields->axes, scan.fields->axes);
    EXPECT_EQ(largest_difference(found.fields->coefficients, scan.fields->coefficients), 0);
    EXPECT_EQ(largest_difference(*found.decay_per_s, *scan.decay_per_s), 0);
    EXPECT_EQ(largest_difference(found.second_decay->per_s, scan.second_decay->per_s), 0);
    EXPECT_EQ(largest_difference(found.second_decay->fraction, scan.second_decay->fraction), 0);
  }
  const auto lost = write_scan(path("x.cfl"), ScanFormat::bart, {1, 1, readout, {scan}});
  EXPECT_TRUE(says(lost, "The fields are not written."));
}

TEST_F(DecayFile, is_read_and_checked_as_a_field_map_is) {
  Array<float> rates(scan.geometry.image_shape());
  for (std::int64_t p = 0; p < rates.size(); ++p) rates[p] = 20;
  const auto write_rates = [&](const char* dataset) {
    auto file = created("rates.h5");
    file.write(dataset, rates);
    file.close();
  };
  write_rates("/r2star");
  const Scan found = read("scan.h5", &Pieces::decay, "rates.h5");
  EXPECT_EQ(largest_difference(*found.decay_per_s, rates), 0);
  EXPECT_TRUE(tests::tells(found.messages, "map of decay was taken from"));
  EXPECT_FALSE(found.second_decay);
  const auto write_components = [&](float share, const char* fraction) {
    auto file = created("rates.h5");
    file.write("/r2star", rates);
    file.write("/r2star_second", rates);
    auto shares = rates;
    std::ranges::fill(shares, share);
    file.write(fraction, shares);
    file.close();
  };
  write_components(0.6F, "/r2star_fraction");
  const Scan of_two = read("scan.h5", &Pieces::decay, "rates.h5");
  EXPECT_EQ(largest_difference(of_two.second_decay->per_s, rates), 0);
  EXPECT_EQ(of_two.second_decay->fraction[3], 0.6F);
  EXPECT_TRUE(tests::tells(of_two.messages, "in 1/s, of two components"));
  write_components(1.6F, "/r2star_fraction");
  EXPECT_CONTAINS(refusal(&Pieces::decay, "rates.h5"), "expected 0 ... 1, found 1.6");
  write_components(0.6F, "/fraction");
  EXPECT_CONTAINS(refusal(&Pieces::decay, "rates.h5"), "/r2star_fraction [z][y][x]");
  rates[3] = -2;
  write_rates("/r2star");
  EXPECT_CONTAINS(refusal(&Pieces::decay, "rates.h5"), "1/T2* >= 0");
  write_rates("/field_map");
  EXPECT_CONTAINS(refusal(&Pieces::decay, "rates.h5"), "/r2star [z][y][x]");
  scan.sample_time_s.reset();
  write("scan.h5", scan);
  EXPECT_CONTAINS(refusal(&Pieces::decay, "rates.h5"), "sample times");
}

TEST_F(GradientFile, of_a_known_third_order_term_gives_the_known_displacement) {
  write_text(path("coeff.grad"),
             " #*[ a script ]*\n 0.25 m = R0, normalisation\n  1 A( 3, 0)  -0.1  z\n  2 A( 3, 1)  0.2  x\n"
             "  3 B( 3, 1)  0.2  y\n");
  const Scan found = read("scan.h5", &Pieces::gradient_coefficients, "coeff.grad");
  const auto& moved = found.fields->displacement_mm;
  const auto positions = positions_in_magnet_m(scan.geometry, {});  // along L, P, S
  const auto voxels = scan.geometry.voxel_count();
  double largest = 0;
  for (std::int64_t p = 0; p < voxels; ++p) {
    const double x = positions[p], y = positions[voxels + p], z = positions[2 * voxels + p],
                 r2 = x * x + y * y + z * z;
    const double third = 1e3 * 0.25 / std::pow(0.25, 3);
    // P_3^0 = (5 z^3 - 3 z r^2) / 2; N P_3^1 cos phi = sqrt(7/24) 3/2 x (5 z^2 - r^2)
    const double expected[] = {0.2 * third * std::sqrt(7 / 24.0) * 1.5 * x * (5 * z * z - r2),
                               0.2 * third * std::sqrt(7 / 24.0) * 1.5 * y * (5 * z * z - r2),
                               -0.1 * third * 0.5 * (5 * z * z * z - 3 * z * r2)};
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(moved[axis * voxels + p], expected[axis], 1e-5);
      largest = std::max(largest, std::abs(expected[axis]));
    }
  }
  EXPECT_GE(largest, 1);
  write_text(path("coeff.grad"), "A( 3, 0) 1 z\n");
  EXPECT_CONTAINS(refusal(&Pieces::gradient_coefficients, "coeff.grad"), "reference radius");
  write_text(path("coeff.grad"), "0.25 m = R0\n");
  EXPECT_CONTAINS(refusal(&Pieces::gradient_coefficients, "coeff.grad"), "coefficients of harmonics");
  write_text(path("coeff.grad"), "0.25 m = R0\n A( 3, 4) 1 z\n");
  EXPECT_CONTAINS(refusal(&Pieces::gradient_coefficients, "coeff.grad"), "line 2");
}

}  // namespace
}  // namespace fhd::io
