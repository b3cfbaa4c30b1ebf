// Factors of fields and time segments against the exact exponentials, and the operators against sums of the oracle.
#include "recon/encoding/field_factors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "recon/encoding/field_phase.hpp"
#include "recon/encoding/field_transform.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/direct/direct.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

namespace fhd {
namespace {

using tests::relative_error;

/// A 2D scan of two coils whose map runs over 2 pi x 160 rad/s and whose readouts last 20 ms.
struct OffResonanceProblem {
  OffResonanceProblem() {
    const int n = matrix[0];
    trajectory.k = Array<double>(Shape{3, samples});
    time_s = Array<double>(Shape{samples});
    for (int m = 0; m < samples; ++m) {
      const double radius = n / 2.0 * (m % readout) / readout,
                   angle = 2.4 * (m / readout) + 0.2 * (m % readout);
      trajectory.k[m] = radius * std::cos(angle);
      trajectory.k[samples + m] = radius * std::sin(angle);
      time_s[m] = 2e-3 + 20e-3 * (m % readout) / readout;
    }
    field_map = Array<float>(Shape{1, n, n});
    image = Array<Complex<double>>(Shape{1, n, n});
    maps = Array<Complex<double>>(Shape{2, 1, n, n});
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const int p = y * n + x;
        field_map[p] = static_cast<float>(500 * std::sin(3.0 * x / n) * std::cos(5.0 * y / n));
        image[p] = {std::cos(0.3 * x) + 1, std::sin(0.2 * y)};
        maps[p] = {0.5 + 0.5 * x / n, 0.1};
        maps[n * n + p] = {0.2, 1 - 0.5 * y / n};
      }
  }
  std::array<int, 3> matrix{20, 20, 1};
  static constexpr int readout = 60, samples = 12 * readout;
  Trajectory trajectory;
  Array<double> time_s;
  Array<float> field_map;
  Array<Complex<double>> image, maps;

  PhaseTerms terms() const {
    PhaseTerms made{Array<double>({1, samples}), Array<double>({1, field_map.size()}), {}, {}};
    std::copy(time_s.begin(), time_s.end(), made.coefficients.begin());
    std::copy(field_map.begin(), field_map.end(), made.basis.begin());
    return made;
  }
  oracle::OffResonance off_resonance() const {
    Array<double> omega(Shape{field_map.size()});
    for (std::int64_t p = 0; p < field_map.size(); ++p) omega[p] = field_map[p];
    return {omega, time_s};
  }
  oracle::Values exact_samples() const {
    return oracle::sense_forward(trajectory.k, oracle::voxel_positions(matrix), image, maps, off_resonance());
  }
  oracle::Values exact_adjoint(const oracle::Values& of) const {
    return oracle::sense_adjoint(trajectory.k, oracle::voxel_positions(matrix), of, maps, off_resonance());
  }
};

/// Returns the largest |w_m(p) - sum| over all voxels and every `step`th sample.
double measured_error(const PhaseTerms& terms, const PhaseFactors& factors, int step) {
  const std::int64_t rows = terms.basis.extent(0), voxels = terms.basis.extent(1),
                     samples = terms.coefficients.extent(1);
  const auto w = [&](const auto& kappa, double time, std::int64_t p) {
    long double angle = 0;
    for (std::int64_t l = 0; l < rows; ++l)
      angle -= static_cast<long double>(kappa(l)) * terms.basis[l * voxels + p];
    double size = terms.decay_per_s.empty() ? 1 : std::exp(-terms.decay_per_s[p] * time);
    if (!terms.fraction.empty())
      size =
          terms.fraction[p] * size + (1 - terms.fraction[p]) * std::exp(-terms.second_decay_per_s[p] * time);
    return Complex<double>(static_cast<double>(size * std::cos(angle)),
                           static_cast<double>(size * std::sin(angle)));
  };
  double worst = 0;
  for (std::int64_t p = 0; p < voxels; ++p) {
    std::vector<Complex<double>> turns;
    for (std::int64_t j = 0; j < factors.count(); ++j)
      turns.push_back(w([&](std::int64_t l) { return factors.coefficients[j * rows + l]; },
                        factors.time_s.empty() ? 0 : factors.time_s[j], p));
    for (std::int64_t m = 0; m < samples; m += step) {
      Complex<double> rest = w([&](std::int64_t l) { return terms.coefficients[l * samples + m]; },
                               terms.sample_time_s.empty() ? 0 : terms.sample_time_s[m], p);
      for (std::int64_t j = 0; j < factors.count(); ++j) rest -= factors.weights[j * samples + m] * turns[j];
      const double each = std::sqrt(norm(rest));
      if (!(each <= worst)) worst = each;
    }
  }
  return worst;
}

TEST(TimeSegments, meet_the_requested_error_at_every_frequency_and_time) {
  const OffResonanceProblem p;
  std::int64_t before = 0;
  for (double accuracy : {1e-2, 1e-4, 1e-6}) {
    const auto segments = field_factors(p.terms(), {}, accuracy, 100);
    ASSERT_TRUE(segments);
    EXPECT_GE(segments->count(), before) << "a smaller error takes no fewer segments";
    before = segments->count();
    // All voxels and times are checked: the error is that which is stated.
    EXPECT_LE(measured_error(p.terms(), *segments, 7), 1.0001 * segments->worst_error + 1e-13);
    EXPECT_EQ(segments->error, segments->worst_error);
    EXPECT_LE(segments->error, accuracy);
    EXPECT_LE(segments->rms_error, segments->worst_error);
  }
}

TEST(TimeSegments, follow_a_hot_spot_of_one_voxel) {
  OffResonanceProblem p;
  for (auto& omega : p.field_map) omega *= 0.01F;
  p.field_map[37] = 700;
  const auto segments = field_factors(p.terms(), {}, 1e-4, 100);
  ASSERT_TRUE(segments);
  EXPECT_LE(measured_error(p.terms(), *segments, 1), 1e-4);
}

TEST(TimeSegments, a_constant_map_one_time_or_no_voxel_need_one_segment) {
  OffResonanceProblem p;
  std::fill(p.field_map.begin(), p.field_map.end(), 300.0f);
  EXPECT_EQ(field_factors(p.terms(), {}, 1e-6, 100)->count(), 1);
  EXPECT_EQ(difference_factors(p.terms(), {}, 1e-6, 100)->count(), 1);
  OffResonanceProblem one_time;
  std::fill(one_time.time_s.begin(), one_time.time_s.end(), 0.01);
  EXPECT_EQ(field_factors(one_time.terms(), {}, 1e-6, 100)->count(), 1);
  const std::vector<bool> none(static_cast<std::size_t>(p.field_map.size()));
  EXPECT_EQ(field_factors(OffResonanceProblem().terms(), none, 1e-6, 100)->count(), 1);
}

TEST(TimeSegments, are_none_for_a_map_that_turns_too_fast) {
  OffResonanceProblem p;
  for (auto& omega : p.field_map) omega *= 100;
  EXPECT_FALSE(field_factors(p.terms(), {}, 1e-4, 40));
}

/// Harmonics of second and third order, off-resonance of 30 rad, decay and displacement, of 3 rad each.
struct FieldProblem {
  std::array<int, 3> matrix;
  std::int64_t coils, samples;

  std::string text() const {
    return std::to_string(matrix[0]) + " x " + std::to_string(matrix[1]) + " x " + std::to_string(matrix[2]) +
           ", " + std::to_string(coils) + " coils";
  }
  Scan scan() const {
    Scan made;
    made.geometry.matrix_size = matrix;
    made.geometry.fov_mm = {220, 200, matrix[2] > 1 ? 180.0 : 5.0};
    made.geometry.position_mm = {10, -20, 30};
    made.geometry.read_direction = {0, 1, 0}, made.geometry.phase_direction = {0.6, 0, 0.8};
    made.geometry.slice_direction = {0.8, 0, -0.6};
    const std::int64_t voxels = made.geometry.voxel_count();
    made.trajectory.k = tests::random_positions(samples, 1, 3);
    for (int axis = 0; axis < 3; ++axis)
      for (std::int64_t m = 0; m < samples; ++m)
        made.trajectory.k[axis * samples + m] *= matrix[axis] == 1 ? 0 : 0.5 * matrix[axis];
    Fields fields;
    fields.functions = {FieldFunction::xy, FieldFunction::z2, FieldFunction::yx2, FieldFunction::xz2};
    fields.coefficients = Array<double>({4, samples});
    made.sample_time_s = Array<double>({samples});
    for (std::int64_t m = 0; m < samples; ++m) {
      const double t = static_cast<double>(m) / static_cast<double>(samples);
      (*made.sample_time_s)[m] = 2e-3 + 0.02 * t;
      for (int l = 0; l < 4; ++l)  // about 3 rad at 12 cm
        fields.coefficients[l * samples + m] = (l < 2 ? 200 : 1700) * std::sin(4 * t + l);
    }
    made.field_map = Array<float>(made.geometry.image_shape());
    made.decay_per_s = Array<float>(made.geometry.image_shape());
    fields.displacement_mm = Array<float>({3, matrix[2], matrix[1], matrix[0]});
    for (std::int64_t p = 0; p < voxels; ++p) {
      const double at = static_cast<double>(p) / static_cast<double>(voxels);
      (*made.field_map)[p] = static_cast<float>(1500 * std::sin(3 * at));
      (*made.decay_per_s)[p] = static_cast<float>(30 + 20 * std::cos(9 * at));
      for (int axis = 0; axis < 3; ++axis)
        fields.displacement_mm[axis * voxels + p] = static_cast<float>(2 * std::sin(5 * at + axis));
    }
    made.fields = std::move(fields);
    return made;
  }
  /// Returns that scan with decay of two components.
  Scan sodium() const {
    Scan made = scan();
    auto& second = made.second_decay.emplace(SecondDecay{*made.decay_per_s, *made.decay_per_s});
    for (std::int64_t p = 0; p < second.fraction.size(); ++p) {
      second.fraction[p] = static_cast<float>(0.5 + 0.5 * std::sin(1.7 * static_cast<double>(p)));
      (*made.decay_per_s)[p] = 300 + 5 * static_cast<float>(p % 7);
    }
    return made;
  }
};

template <class T>
Array<Complex<T>> random_values(const Shape& shape, unsigned seed) {
  const auto random = tests::random_positions(shape.size(), 1, seed);
  Array<Complex<T>> values(shape);
  for (std::int64_t i = 0; i < values.size(); ++i)
    values[i] = Complex<T>(static_cast<T>(random[i]), static_cast<T>(random[values.size() + i]));
  return values;
}

/// Compares E, E^H and E^H E of an encoding with sums of the oracle.
void expect_equal_to_sums(const std::shared_ptr<const SenseEncoding<double>>& encoding,
                          const HermitianOperator<double>& normal, const oracle::AnyPhase& phase,
                          double tolerance) {
  const auto image = random_values<double>(encoding->domain(), 5);
  const auto data = random_values<double>(encoding->range(), 6);
  const auto sums_back = [&](const oracle::Values& samples) {
    Array<Complex<double>> combined(encoding->domain());
    combine_coils(Array<Complex<double>>(oracle::adjoint(phase, samples)).reshaped(encoding->maps().shape()),
                  encoding->maps(), combined);
    return combined;
  };
  Array<Complex<double>> coil_images(encoding->maps().shape());
  apply_maps(image, encoding->maps(), coil_images);
  const auto expected =
      oracle::forward(phase, std::move(coil_images).reshaped({encoding->range()[0], image.size()}));
  Array<Complex<double>> samples(encoding->range()), back(encoding->domain()), product(encoding->domain());
  encoding->forward(image, samples);
  EXPECT_LE(relative_error(samples, expected), tolerance);
  encoding->adjoint(data, back);
  EXPECT_LE(relative_error(back, sums_back(data)), tolerance);
  EXPECT_LE(tests::adjointness_error(image, samples, data, back), 1e-12);
  normal.forward(image, product);
  EXPECT_LE(relative_error(product, sums_back(expected)), 2 * tolerance);
}

TEST(FieldFactors, both_engines_equal_direct_sums) {
  for (const FieldProblem& problem : {FieldProblem{{9, 12, 1}, 3, 150}, FieldProblem{{8, 7, 6}, 1, 200},
                                      FieldProblem{{13, 11, 1}, 1, 250}}) {
    SCOPED_TRACE(problem.text());
    const Scan scan = problem.coils == 1 ? problem.sodium() : problem.scan();
    const PhaseTerms all = all_terms(scan), terms = field_terms(scan);
    const oracle::AnyPhase phase{all.coefficients,       all.basis,   all.decay_per_s, all.sample_time_s,
                                 all.second_decay_per_s, all.fraction};
    const Shape image = scan.geometry.image_shape();
    const auto maps = random_values<double>({problem.coils, image[0], image[1], image[2]}, 7);
    const auto exact = std::make_shared<const SenseEncoding<double>>(
        make_phase_transform<double>(all, problem.matrix, Device::cpu()), maps);
    expect_equal_to_sums(exact, *explicit_normal<double>(exact), phase, 1e-12);
    constexpr double accuracy = 1e-4;
    const auto factors = field_factors(terms, {}, accuracy, 512);
    ASSERT_TRUE(factors);
    EXPECT_LE(measured_error(terms, *factors, 1), 1.0001 * factors->worst_error + 1e-13);
    EXPECT_LE(factors->error, accuracy);
    EXPECT_LE(factors->error, factors->worst_error);
    EXPECT_LE(factors->rms_error, factors->error);
    std::shared_ptr<const FourierTransform<double>> plain =
        make_direct_transform<double>(scan.trajectory, problem.matrix, Device::cpu());
    const auto fast = std::make_shared<const SenseEncoding<double>>(
        make_field_transform<double>(plain, held_factors<double>(terms, *factors, Device::cpu())), maps);
    // Random images and data: sums are incoherent, as the errors are.
    expect_equal_to_sums(fast, *explicit_normal<double>(fast), phase, 1.5 * accuracy);
    const auto differences = difference_factors(terms, {}, 1e-3, 512);
    ASSERT_TRUE(differences);
    const auto kernel = [&](const Array<double>& weights) {
      return point_spread_direct<double>(scan.trajectory, problem.matrix, &weights, Device::cpu());
    };
    const auto toeplitz =
        make_field_normal<double>(kernel, turned_maps(maps, terms, *differences), *differences);
    expect_equal_to_sums(exact, *toeplitz, phase, 5e-3);
  }
}

TEST(FieldFactors, exact_samples_keep_values_that_are_not_numbers) {
  const Scan scan = FieldProblem{{5, 4, 3}, 1, 20}.sodium();
  auto image = random_values<double>(scan.geometry.image_shape(), 8);
  image[7].re = std::numeric_limits<double>::quiet_NaN();
  for (const auto& value : exact_samples(image, scan, Device::cpu())) EXPECT_TRUE(std::isnan(value.re));
}

TEST(FieldFactors, terms_are_the_signal_equation) {
  const FieldProblem problem{{5, 4, 3}, 1, 20};
  const Scan scan = problem.sodium();
  const auto image = random_values<double>(scan.geometry.image_shape(), 8);
  const auto samples = exact_samples(image, scan, Device::cpu());
  const Geometry& g = scan.geometry;
  const Affine to_lps = voxel_to_lps_mm(g);
  const std::array directions{g.read_direction, g.phase_direction, g.slice_direction};
  Array<Complex<double>> expected({1, problem.samples});
  for (std::int64_t m = 0; m < problem.samples; ++m)
    for (std::int64_t p = 0; p < image.size(); ++p) {
      const std::array<std::int64_t, 3> n{p % 5, p / 5 % 4, p / 20};
      std::array<double, 3> r{};
      double angle = (*scan.field_map)[p] * (*scan.sample_time_s)[m];
      for (int i = 0; i < 3; ++i) {
        const double moved = scan.fields->displacement_mm[i * image.size() + p];
        r[i] = to_lps[i][3] + moved;
        for (int axis = 0; axis < 3; ++axis) {
          r[i] += to_lps[i][axis] * static_cast<double>(n[axis]);
          angle += 2 * std::numbers::pi * scan.trajectory.k[axis * problem.samples + m] *
                   directions[axis][i] * moved / g.fov_mm[axis];
        }
        r[i] *= 1e-3;
      }
      for (int axis = 0; axis < 3; ++axis)
        angle += 2 * std::numbers::pi * scan.trajectory.k[axis * problem.samples + m] *
                 static_cast<double>(n[axis] - g.matrix_size[axis] / 2) / g.matrix_size[axis];
      for (int l = 0; l < 4; ++l)
        angle += scan.fields->coefficients[l * problem.samples + m] * value_of(scan.fields->functions[l], r);
      const auto decay_of = [&](const Array<float>& rates) {
        return std::exp(-rates[p] * (*scan.sample_time_s)[m]);
      };
      const auto& [slow, fraction] = *scan.second_decay;
      const double size =
          fraction[p] * decay_of(*scan.decay_per_s) + (1 - double(fraction[p])) * decay_of(slow);
      expected[m] += Complex<double>(size * std::cos(angle), -size * std::sin(angle)) * image[p];
    }
  EXPECT_LE(relative_error(samples, expected), 1e-11);
}

/// Returns E with maps of the problem; `coils_at_once` as of SenseEncoding.
template <class T>
std::shared_ptr<const SenseEncoding<T>> encoding_of(const OffResonanceProblem& p, double accuracy,
                                                    std::int64_t coils_at_once = 0) {
  const auto factors = field_factors(p.terms(), {}, accuracy, 512);
  return std::make_shared<SenseEncoding<T>>(
      make_field_transform<T>(make_direct_transform<T>(p.trajectory, p.matrix, Device::cpu()),
                              held_factors<T>(p.terms(), factors.value(), Device::cpu())),
      converted<Complex<T>>(p.maps), coils_at_once);
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> normal_of(const OffResonanceProblem& p, double accuracy) {
  const auto differences = difference_factors(p.terms(), {}, accuracy, 512).value();
  return make_field_normal<T>(
      [&](const Array<double>& weights) {
        return point_spread_direct<T>(p.trajectory, p.matrix, &weights, Device::cpu());
      },
      turned_maps(converted<Complex<T>>(p.maps), p.terms(), differences), differences);
}

TEST(OffResonance, encoding_and_toeplitz_form_equal_the_exact_sums) {
  const OffResonanceProblem p;
  const auto encoding = encoding_of<double>(p, 1e-6);
  Array<Complex<double>> samples(encoding->range()), back(encoding->domain()), product(encoding->domain());
  encoding->forward(p.image, samples);
  // Every term of the sums is right to 1.5e-6; sums of such errors stay below that share of the data's norm
  // times the ratio of incoherent to coherent sums, which is below 10 for this smooth image.
  EXPECT_LE(relative_error(samples, p.exact_samples()), 1.5e-5);
  encoding->adjoint(samples, back);
  EXPECT_LE(relative_error(back, p.exact_adjoint(samples)), 1.5e-5);
  normal_of<double>(p, 1e-6)->forward(p.image, product);
  EXPECT_LE(relative_error(product, p.exact_adjoint(p.exact_samples())), 1.5e-5);
}

TEST(OffResonance, coil_by_coil_equals_all_coils_at_once) {
  const OffResonanceProblem p;
  const auto together = encoding_of<double>(p, 1e-3), one = encoding_of<double>(p, 1e-3, 1);
  Array<Complex<double>> samples(together->range()), same_samples(samples.shape());
  together->forward(p.image, samples);
  one->forward(p.image, same_samples);
  EXPECT_EQ(relative_error(same_samples, samples), 0) << "a coil's samples are a coil's own";
  Array<Complex<double>> back(p.image.shape()), same_back(p.image.shape());
  together->adjoint(samples, back);
  one->adjoint(samples, same_back);
  EXPECT_LE(relative_error(same_back, back), 1e-14) << "the order of the sum over coils and segments";
  EXPECT_THROW(encoding_of<double>(p, 1e-3, 3), Error);
}

TEST(OffResonance, image_comes_back_through_the_segmented_operators) {
  const OffResonanceProblem p;
  const auto encoding = encoding_of<float>(p, 1e-5);
  Array<Complex<float>> right_hand_side(encoding->domain()), image(encoding->domain());
  encoding->adjoint(converted<Complex<float>>(p.exact_samples()), right_hand_side);
  const auto result =
      conjugate_gradient<float>(*normal_of<float>(p, 1e-5), right_hand_side, image, {200, 1e-5});
  EXPECT_TRUE(result.converged);
  // The spiral covers the disc of k-space, two coils the corners: the residual of 1e-5 is amplified by a
  // condition number below 1e3.
  EXPECT_LE(relative_error(image, p.image), 1e-2);
}

}  // namespace
}  // namespace fhd
