// The sums of the full signal equation that the certificate is made of, beside those of the oracle.
#include "validation/field_phases.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>

#include "recon/array/equality.hpp"
#include "validation/certificate.hpp"
#include "validation/exact_sums.hpp"
#include "validation/oracle.hpp"

namespace fhd {
namespace {

/// A scan off the centre and oblique, with fields of every function, off-resonance, decay and displacement.
struct FieldProblem {
  Scan scan;
  Array<double> time_s;
  oracle::AnyPhase phase;
  oracle::Values image, maps;  ///< [voxel], [coil][voxel]
  std::int64_t samples, voxels, coils;

  oracle::Values seen_by(const oracle::Values& of) const {
    oracle::Values seen({coils, voxels});
    for (std::int64_t i = 0; i < seen.size(); ++i) seen[i] = maps[i] * of[i % voxels];
    return seen;
  }
  /// E^H of samples by the oracle.
  oracle::Values combined(const oracle::Values& samples_of) const {
    const auto each = oracle::adjoint(phase, samples_of);
    oracle::Values sum({voxels});
    for (std::int64_t i = 0; i < each.size(); ++i) sum[i % voxels] += conj(maps[i]) * each[i];
    return sum;
  }
};

void set_geometry(Geometry& geometry, std::array<int, 3> matrix_size) {
  geometry.matrix_size = matrix_size;
  geometry.fov_mm = {240, 200, 160};
  geometry.position_mm = {20, -30, 50};
  const double c = std::cos(0.4), s = std::sin(0.4);
  geometry.read_direction = {c, s, 0};
  geometry.phase_direction = {-s, c, 0};
}

/// Writes the positions, the functions and all terms a second time, from the formulas of physics.
void set_oracle_phase(FieldProblem& p) {
  const auto& [functions, coefficients, axes, displacement_mm] = *p.scan.fields;
  const auto& g = p.scan.geometry;
  const std::int64_t terms = 3 + std::ssize(functions) + 3 + 1;
  p.phase.coefficients = Array<double>({terms, p.samples});
  p.phase.basis = Array<double>({terms, p.voxels});
  const auto r = oracle::voxel_positions(g.matrix_size);
  const std::array directions{g.read_direction, g.phase_direction, g.slice_direction};
  for (std::int64_t m = 0; m < p.samples; ++m) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const double k = 2 * std::numbers::pi * p.scan.trajectory.k[axis * p.samples + m];
      p.phase.coefficients[axis * p.samples + m] = k;
      for (std::int64_t j = 0; j < 3; ++j)  // the axes of the magnet are L, S, P here
        p.phase.coefficients[(terms - 4 + j) * p.samples + m] +=
            k / (1e-3 * g.fov_mm[axis]) *
            (axes[j][0] * directions[axis][0] + axes[j][1] * directions[axis][1] +
             axes[j][2] * directions[axis][2]);
    }
    for (std::int64_t i = 0; i < std::ssize(functions); ++i)
      p.phase.coefficients[(3 + i) * p.samples + m] = coefficients[i * p.samples + m];
    p.phase.coefficients[(terms - 1) * p.samples + m] = p.time_s[m];
  }
  const auto positions = positions_in_magnet_m(g, *p.scan.fields);
  for (std::int64_t v = 0; v < p.voxels; ++v) {
    std::array<double, 3> at{};
    for (std::int64_t j = 0; j < 3; ++j) {
      const double moved = 1e-3 * displacement_mm[j * p.voxels + v];
      at[j] = positions[j * p.voxels + v] + moved;
      p.phase.basis[j * p.voxels + v] = r[j * p.voxels + v];
      p.phase.basis[(terms - 4 + j) * p.voxels + v] = moved;
    }
    for (std::int64_t i = 0; i < std::ssize(functions); ++i)
      p.phase.basis[(3 + i) * p.voxels + v] = value_of(functions[i], at);
    p.phase.basis[(terms - 1) * p.voxels + v] = (*p.scan.field_map)[v];
  }
  p.phase.decay_per_s = converted<double>(*p.scan.decay_per_s).reshaped({p.voxels});
  p.phase.time_s = p.time_s;
  p.phase.second_decay_per_s = converted<double>(p.scan.second_decay->per_s).reshaped({p.voxels});
  p.phase.fraction = converted<double>(p.scan.second_decay->fraction).reshaped({p.voxels});
}

FieldProblem field_problem(std::array<int, 3> matrix_size, std::int64_t samples, std::int64_t coils) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  FieldProblem p;
  auto& scan = p.scan;
  set_geometry(scan.geometry, matrix_size);
  p.samples = samples, p.coils = coils, p.voxels = scan.geometry.voxel_count();
  scan.trajectory.k = Array<double>({3, samples});
  for (std::int64_t i = 0; i < 3 * samples; ++i) {
    const int n = matrix_size[static_cast<std::size_t>(i / samples)];
    scan.trajectory.k[i] = n == 1 ? 0 : uniform(generator) * n / 2;
  }
  scan.kspace.values = Array<Complex<float>>({coils, samples});
  for (auto& v : scan.kspace.values) v = {float(uniform(generator)), float(uniform(generator))};
  p.time_s = Array<double>({samples});
  for (double& t : p.time_s) t = 0.02 * std::abs(uniform(generator));
  scan.sample_time_s = p.time_s;
  scan.field_map = Array<float>(scan.geometry.image_shape());
  for (float& v : *scan.field_map) v = float(300 * uniform(generator));
  scan.decay_per_s = Array<float>(scan.geometry.image_shape());
  for (float& v : *scan.decay_per_s) v = float(50 + 50 * uniform(generator));
  auto& second = scan.second_decay.emplace(SecondDecay{*scan.decay_per_s, *scan.decay_per_s});
  for (float& v : second.per_s) v = float(20 + 20 * uniform(generator));
  for (float& v : second.fraction) v = float(0.5 + 0.5 * uniform(generator));
  Fields fields;
  fields.axes = {{{1, 0, 0}, {0, 0, 1}, {0, -1, 0}}};
  for (int i = 0; i < 20; ++i)
    if (i == 0 || i > 3) fields.functions.push_back(static_cast<FieldFunction>(i));
  fields.coefficients = Array<double>({std::ssize(fields.functions), samples});
  for (std::int64_t i = 0; i < fields.coefficients.size(); ++i)
    fields.coefficients[i] =
        uniform(generator) *
        std::pow(8.0, order_of(fields.functions[static_cast<std::size_t>(i / samples)]));  // about a radian
  const Shape image = scan.geometry.image_shape();
  fields.displacement_mm = Array<float>({3, image[0], image[1], image[2]});
  for (float& v : fields.displacement_mm) v = float(5 * uniform(generator));
  scan.fields = std::move(fields);
  p.image = oracle::Values({p.voxels});
  for (auto& v : p.image) v = {uniform(generator), uniform(generator)};
  p.maps = oracle::Values({coils, p.voxels});
  auto& maps = scan.sensitivity_maps.emplace();
  maps.values = Array<Complex<float>>({coils, image[0], image[1], image[2]});
  for (std::int64_t i = 0; i < p.maps.size(); ++i) {
    maps.values[i] = {float(uniform(generator)), float(uniform(generator))};
    p.maps[i] = Complex<double>(maps.values[i]);
  }
  scan.validate("scan");
  set_oracle_phase(p);
  return p;
}

/// Returns the input of a verifier after a perfect reconstruction.
VerifierInput<double> input_of(const FieldProblem& p) {
  VerifierInput<double> input{.trajectory = p.scan.trajectory,
                              .matrix_size = p.scan.geometry.matrix_size,
                              .samples = p.scan.kspace.values.data(),
                              .maps = p.scan.sensitivity_maps->values.data()};
  input.coil_count = p.coils;
  input.field_map = &*p.scan.field_map;
  input.sample_time_s = &*p.scan.sample_time_s;
  input.full_equation = &p.scan;
  input.requested = 1e-9;
  input.solver_residual = 10;
  const Shape image = p.scan.geometry.image_shape();
  input.image = Array<Complex<double>>(p.image).reshaped(image);
  input.predicted = oracle::forward(p.phase, p.seen_by(p.image));
  input.adjoint = p.combined(converted<Complex<double>>(p.scan.kspace.values)).reshaped(image);
  input.normal = p.combined(input.predicted).reshaped(image);
  input.regularized = input.normal;
  return input;
}

TEST(FullEquation, sums_of_the_certificate_are_those_of_the_oracle) {
  for (const auto matrix_size : {std::array{9, 8, 5}, std::array{14, 11, 1}}) {
    const auto p = field_problem(matrix_size, 70, 3);
    const auto c = validation::make_verifier()->verify(input_of(p));
    EXPECT_TRUE(c.passed);
    EXPECT_LE(c.error(), 1e-12);
    EXPECT_GE(std::min({c.forward_error, c.adjoint_error, c.normal_error, c.worst_error}), 0);
    EXPECT_LE(c.worst_error, 1e-11);
  }
}

TEST(FullEquation, certificate_finds_each_part_that_a_model_leaves_out) {
  const auto whole = field_problem({12, 11, 3}, 60, 2);
  const auto expect_found = [&](auto leave_out) {
    auto p = whole;
    leave_out(p);
    const auto expected = input_of(whole);
    auto input = input_of(p);  // results of the model without the part
    input.full_equation = &whole.scan;
    EXPECT_FALSE(validation::make_verifier()->verify(input).passed);
  };
  expect_found([](auto& p) { p.phase.decay_per_s = {}, p.phase.fraction = {}; });
  expect_found([](auto& p) { p.phase.fraction = {}; });
  for (std::int64_t term = 3; term < whole.phase.coefficients.extent(0); ++term)
    expect_found([term](auto& p) {
      for (std::int64_t m = 0; m < p.samples; ++m) p.phase.coefficients[term * p.samples + m] = 0;
    });
}

TEST(FullEquation, certificate_looks_where_off_resonance_is_largest) {
  auto p = field_problem({40, 40, 1}, 60, 2);
  for (float& v : *p.scan.field_map) v /= 10;
  const std::int64_t hot = 17 * 40 + 23;
  (*p.scan.field_map)[hot] = 3000;
  set_oracle_phase(p);
  auto input = input_of(p);
  input.adjoint[hot] *= 1.5;  // one voxel of 1,600, which no random choice would find
  const auto c = validation::make_verifier()->verify(input);
  EXPECT_FALSE(c.passed);
  EXPECT_GE(c.worst_error, 1e-3);
  EXPECT_LE(c.adjoint_error, 1e-12);
  input.adjoint[hot] = {std::numeric_limits<double>::quiet_NaN(), 0};
  EXPECT_FALSE(validation::make_verifier()->verify(input).passed);
}

}  // namespace
}  // namespace fhd
