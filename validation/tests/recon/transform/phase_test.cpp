// Sums with any phase against the double-precision oracle.
#include <omp.h>

#include <functional>
#include <limits>
#include <memory>

#include "recon/encoding/sense.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "validation/tests/recon/transform/phase_checks.hpp"

namespace fhd {
namespace {

using tests::PhaseCase;

// Single precision: phases to 1e-14, sine and cosine to 2e-7, 256 terms of a sum one after another to 256^(1/2) 2^-24. One
// voxel or sample alone is not averaged.
TEST(Phase, agrees_with_the_oracle_in_single_precision) {
  tests::expect_phase_sums<float>(Device::cpu(), 1e-6);
}

// Double: phases of 300 rad to 300 x 2^-53 x (33 terms)^(1/2) = 2e-13 at most.
TEST(Phase, agrees_with_the_oracle_in_double) { tests::expect_phase_sums<double>(Device::cpu(), 1e-13); }

TEST(Phase, agrees_with_the_sums_of_a_trajectory) {
  const std::array<int, 3> n{12, 9, 4};
  const auto trajectory = tests::random_trajectory(n, 200, 2);
  PhaseTerms terms{trajectory.k, oracle::voxel_positions(n), {}, {}};
  for (auto& k : terms.coefficients) k *= 2 * std::numbers::pi;
  const auto any = make_phase_transform<double>(terms, n, Device::cpu());
  const auto direct = make_direct_transform<double>(trajectory, n, Device::cpu());
  const auto images = tests::random_values<double>(any->images_shape(2), 1),
             samples = tests::random_values<double>(any->samples_shape(2), 2);
  const auto errors = tests::errors_of(*any, images, samples, tests::results_of(*direct, images, samples));
  EXPECT_LE(errors.forward, 1e-13);
  EXPECT_LE(errors.adjoint, 1e-13);
}

TEST(Phase, the_number_of_threads_changes_no_bit) {
  const PhaseCase c{{{20, 21, 3}, 700, 5}, 4, 60, true};
  const auto transform =
      make_phase_transform<float>(tests::phase_terms(c, 1), c.sizes.matrix_size, Device::cpu());
  const auto samples = tests::random_values<float>(transform->samples_shape(5), 5);
  const auto image_of = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    Array<Complex<float>> images(transform->images_shape(5));
    transform->adjoint(samples, images);
    omp_set_num_threads(before);
    return images;
  };
  const auto one = image_of(1), three = image_of(3);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), three.begin()));
}

TEST(Phase, conjugate_gradient_finds_the_image_of_the_full_equation) {
  const PhaseCase c{{{10, 9, 1}, 600, 3}, 6, 40, true};
  const std::shared_ptr<const FourierTransform<double>> transform =
      make_phase_transform<double>(tests::phase_terms(c, 1), c.sizes.matrix_size, Device::cpu());
  const auto encoding = std::make_shared<const SenseEncoding<double>>(
      transform, tests::random_values<double>({3, 1, 9, 10}, 2));
  const auto truth = tests::random_values<double>({1, 9, 10}, 3);
  Array<Complex<double>> samples(encoding->range()), b(encoding->domain()), found(encoding->domain());
  encoding->forward(truth, samples);
  encoding->adjoint(samples, b);
  const auto normal = explicit_normal<double>(encoding);
  conjugate_gradient(*normal, b, found, {.iterations = 200, .tolerance = 1e-12, .from_zero = true});
  EXPECT_LE(tests::relative_error(found, truth), 1e-9);
}

TEST(Phase, values_that_are_not_numbers_stay_so) { tests::expect_nan_is_kept(Device::cpu()); }

TEST(Phase, sums_chosen_voxels_alone) { tests::expect_chosen_voxels_alone(Device::cpu()); }

TEST(Phase, refuses_arrays_of_other_shapes) {
  const PhaseCase c{{{6, 5, 1}, 40, 2}, 2, 10};
  tests::expect_wrong_arrays_are_refused(
      *make_phase_transform<float>(tests::phase_terms(c, 1), c.sizes.matrix_size, Device::cpu()));
}

TEST(Phase, states_its_bytes) {
  const PhaseCase c{{{64, 64, 1}, 5000, 8}, 5, 10, true};
  const auto terms = tests::phase_terms(c, 1);
  tests::expect_bytes_of_cost<float>(8, Device::cpu(), [&] {
    return make_phase_transform<float>(terms, c.sizes.matrix_size, Device::cpu());
  });
}

struct WrongTerms {
  std::string expected;
  std::function<void(PhaseTerms&)> spoil;
};

TEST(Phase, refuses_terms_in_one_line_that_says_what_is_wrong) {
  const PhaseCase c{{{6, 5, 1}, 40, 1}, 2, 10, 2};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<WrongTerms> wrong{
      {"coefficients: expected finite numbers, found NaN or infinity in 1 of 200 values",
       [&](PhaseTerms& t) { t.coefficients[3] = nan; }},
      {"voxels that are summed: expected ascending numbers from 0 to 29",
       [&](PhaseTerms& t) { t.summed_voxels = {3, 3}; }},
      {"voxels that are summed: expected ascending numbers",
       [&](PhaseTerms& t) { t.summed_voxels = {3, 30}; }},
      {"basis: expected finite numbers", [&](PhaseTerms& t) { t.basis[3] = INFINITY; }},
      {"decay: expected finite numbers", [&](PhaseTerms& t) { t.decay_per_s[0] = nan; }},
      {"sample times: expected finite numbers", [&](PhaseTerms& t) { t.sample_time_s[0] = nan; }},
      {"decay: expected rates >= 0 in 1/s, found -1", [&](PhaseTerms& t) { t.decay_per_s[0] = -1; }},
      {"decay: expected [30], found [29]", [&](PhaseTerms& t) { t.decay_per_s = Array<double>({29}); }},
      {"fraction of decay: expected 0 ... 1, found 1.5", [&](PhaseTerms& t) { t.fraction[3] = 1.5; }},
      {"fraction of decay: expected [30], found []", [&](PhaseTerms& t) { t.fraction = {}; }},
      {"decay: expected rates >= 0 in 1/s, found -2", [&](PhaseTerms& t) { t.second_decay_per_s[9] = -2; }},
      {"sample times: expected [40], found []", [&](PhaseTerms& t) { t.sample_time_s = {}; }},
      {"decay: expected R t above -60",
       [&](PhaseTerms& t) { t.decay_per_s[0] = 100, t.sample_time_s[0] = -1; }},
      {"basis: expected [5][30], found [4][30]",
       [&](PhaseTerms& t) {
         t.basis = Array<double>({4, 30});
       }},
      {"coefficients: expected [term][sample]", [&](PhaseTerms& t) { t.coefficients = Array<double>({5}); }},
      {"phases: expected at most 1e+05 rad", [&](PhaseTerms& t) { t.coefficients[0] = 1e7; }}};
  for (const auto& [expected, spoil] : wrong) {
    auto terms = tests::phase_terms(c, 1);
    spoil(terms);
    try {
      make_phase_transform<float>(terms, c.sizes.matrix_size, Device::cpu());
      ADD_FAILURE() << expected;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
    }
  }
}

}  // namespace
}  // namespace fhd
