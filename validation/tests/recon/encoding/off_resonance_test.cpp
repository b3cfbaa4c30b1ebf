// Time segments against the exact exponentials, and the operators against the double-precision oracle.
#include "recon/encoding/off_resonance.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "recon/encoding/sense.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/transform/direct/direct.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"

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

TEST(TimeSegments, meet_the_requested_error_at_every_frequency_and_time) {
  const OffResonanceProblem p;
  std::size_t before = 0;
  for (double accuracy : {1e-2, 1e-4, 1e-6}) {
    const TimeSegments segments = time_segments(p.field_map, p.time_s, accuracy);
    EXPECT_GE(segments.time_s.size(), before) << "a smaller error takes no fewer segments";
    before = segments.time_s.size();
    double worst = 0;
    for (int m = 0; m < p.samples; m += 7)
      for (std::int64_t voxel = 0; voxel < p.field_map.size(); ++voxel) {
        const double omega = p.field_map[voxel];
        Complex<double> sum(std::cos(-omega * p.time_s[m]), std::sin(-omega * p.time_s[m]));
        for (std::size_t l = 0; l < segments.time_s.size(); ++l) {
          const double angle = -omega * segments.time_s[l];
          sum -= segments.weights[static_cast<std::int64_t>(l) * p.samples + m] *
                 Complex<double>(std::cos(angle), std::sin(angle));
        }
        worst = std::max(worst, std::sqrt(norm(sum)));
      }
    // Fitted at the centres of 257 bins; between them the error, a smooth function of omega, may be a little
    // larger.
    EXPECT_LE(worst, 1.5 * accuracy);
    EXPECT_LE(segments.error, accuracy);
  }
}

TEST(TimeSegments, a_constant_map_needs_one_segment) {
  Array<float> constant(Shape{1, 4, 4});
  std::fill(constant.begin(), constant.end(), 300.0f);
  EXPECT_EQ(time_segments(constant, OffResonanceProblem().time_s, 1e-6).time_s.size(), 1u);
}

TEST(TimeSegments, refuse_a_map_that_turns_too_fast) {
  OffResonanceProblem p;
  for (auto& omega : p.field_map) omega *= 1000;
  EXPECT_THROW(time_segments(p.field_map, p.time_s, 1e-4), Error);
}

/// Returns E with maps of the problem; `coils_at_once` as of SenseEncoding.
template <class T>
std::shared_ptr<const Encoding<T>> encoding_of(const OffResonanceProblem& p, const TimeSegments& segments,
                                               std::int64_t coils_at_once = 0) {
  return make_off_resonance_encoding<T>(
      std::make_shared<SenseEncoding<T>>(make_direct_transform<T>(p.trajectory, p.matrix, Device::cpu()),
                                         converted<Complex<T>>(p.maps), coils_at_once),
      p.field_map, segments);
}

template <class T>
std::shared_ptr<const HermitianOperator<T>> normal_of(const OffResonanceProblem& p, double accuracy) {
  const auto differences = difference_time_segments(p.field_map, p.time_s, accuracy);
  return make_off_resonance_normal<T>(
      [&](const Array<double>& weights) {
        return point_spread_direct<T>(p.trajectory, p.matrix, &weights, Device::cpu());
      },
      turned_maps(converted<Complex<T>>(p.maps), p.field_map, differences), differences);
}

TEST(OffResonance, encoding_and_toeplitz_form_equal_the_exact_sums) {
  const OffResonanceProblem p;
  const auto encoding = encoding_of<double>(p, time_segments(p.field_map, p.time_s, 1e-6));
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
  const auto segments = time_segments(p.field_map, p.time_s, 1e-3);
  const auto together = encoding_of<double>(p, segments), one = encoding_of<double>(p, segments, 1);
  Array<Complex<double>> samples(together->range()), same_samples(samples.shape());
  together->forward(p.image, samples);
  one->forward(p.image, same_samples);
  EXPECT_EQ(relative_error(same_samples, samples), 0) << "a coil's samples are a coil's own";
  Array<Complex<double>> back(p.image.shape()), same_back(p.image.shape());
  together->adjoint(samples, back);
  one->adjoint(samples, same_back);
  EXPECT_LE(relative_error(same_back, back), 1e-14) << "the order of the sum over coils and segments";
  EXPECT_THROW(encoding_of<double>(p, segments, 3), Error);
}

TEST(OffResonance, encoding_is_adjoint_and_may_share_a_sense_encoding) {
  const OffResonanceProblem p;
  const auto sense = std::make_shared<SenseEncoding<double>>(
      make_direct_transform<double>(p.trajectory, p.matrix, Device::cpu()), p.maps);
  const auto encoding =
      make_off_resonance_encoding<double>(sense, p.field_map, time_segments(p.field_map, p.time_s, 1e-3));
  Array<Complex<double>> samples(encoding->range()), data(encoding->range()), back(encoding->domain());
  for (std::int64_t i = 0; i < data.size(); ++i) data[i] = {std::cos(1.0 * i * i), std::sin(0.7 * i)};
  encoding->forward(p.image, samples);
  encoding->adjoint(data, back);
  EXPECT_LE(tests::adjointness_error(p.image, samples, data, back), 1e-12);
  // Without a field map the shared encoding is what it was.
  Array<Complex<double>> plain(sense->range());
  sense->forward(p.image, plain);
  EXPECT_LE(relative_error(plain, oracle::sense_forward(p.trajectory.k, oracle::voxel_positions(p.matrix),
                                                        p.image, p.maps)),
            1e-12);
}

TEST(OffResonance, image_comes_back_through_the_segmented_operators) {
  const OffResonanceProblem p;
  const auto encoding = encoding_of<float>(p, time_segments(p.field_map, p.time_s, 1e-5));
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
