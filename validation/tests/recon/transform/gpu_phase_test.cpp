// Sums with any phase on the device against the double-precision oracle.
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/transform/phase_checks.hpp"

namespace fhd {
namespace {

using tests::PhaseCase;
using GpuPhase = tests::GpuTest;

// Tensor cores: limbs that are left out add 3e-6 rad at most, sums of 512 columns are truncated to 2^-24 at each of up to 12
// steps. Decay and more than 16 terms go pair by pair.
TEST_F(GpuPhase, agrees_with_the_oracle_on_tensor_cores) {
  tests::expect_phase_sums<float>(Device::cuda(), 5e-6);
}

// Sine and cosine of the special units to 2^-21, sums of 1,024 sources to 1024^(1/2) 2^-24.
TEST_F(GpuPhase, agrees_with_the_oracle_pair_by_pair) {
  tests::expect_phase_sums<float>(Device::cuda(), 2e-6, GpuSums::accurate);
}

TEST_F(GpuPhase, agrees_with_the_oracle_in_double) {
  tests::expect_phase_sums<double>(Device::cuda(), 1e-12);
}

// Many samples and voxels, where the sums of several parts and chunks meet.
TEST_F(GpuPhase, keeps_its_accuracy_over_long_sums) {
  for (const auto& c :
       {PhaseCase{{{64, 64, 1}, 20000, 8}, 13, 300}, PhaseCase{{{30, 31, 9}, 3001, 1}, 13, 300},
        PhaseCase{{{32, 32, 8}, 4096, 32}, 14, 300}, PhaseCase{{{5, 3, 1}, 70000, 4}, 9, 300, true}}) {
    const auto errors = tests::errors_of_phases<float>(c, Device::cuda());
    EXPECT_LE(errors.forward, 5e-6) << c.text();
    EXPECT_LE(errors.adjoint, 5e-6) << c.text();
  }
}

TEST_F(GpuPhase, takes_values_of_any_size) {
  const PhaseCase c{{{24, 20, 6}, 700, 8}, 9, 100};
  const auto terms = tests::phase_terms(c, 3);
  const auto transform = make_phase_transform<float>(terms, c.sizes.matrix_size, Device::cuda());
  for (const float size : {1e-25f, 1e25f}) {
    auto samples = tests::random_values<float>(transform->samples_shape(8), 5);
    for (auto& value : samples) value = size * value;
    Array<Complex<float>> images(transform->images_shape(8), Device::cuda());
    transform->adjoint(samples.to(Device::cuda()), images);
    EXPECT_LE(
        tests::relative_error(images, oracle::adjoint(tests::oracle_of(terms), tests::in_double(samples))),
        5e-6)
        << size;
  }
}

TEST_F(GpuPhase, gives_the_same_bits_each_time) {
  const PhaseCase c{{{33, 31, 2}, 9000, 13}, 13, 300};
  const auto transform =
      make_phase_transform<float>(tests::phase_terms(c, 1), c.sizes.matrix_size, Device::cuda());
  const auto samples = tests::random_values<float>(transform->samples_shape(13), 5).to(Device::cuda());
  Array<Complex<float>> once(transform->images_shape(13), Device::cuda()), again(once);
  transform->adjoint(samples, once);
  transform->adjoint(samples, again);
  EXPECT_TRUE(tests::identical(once, again));
}

TEST_F(GpuPhase, sums_chosen_voxels_alone) { tests::expect_chosen_voxels_alone(Device::cuda()); }

TEST_F(GpuPhase, values_that_are_not_numbers_stay_so) { tests::expect_nan_is_kept(Device::cuda()); }

TEST_F(GpuPhase, states_its_bytes) {
  const PhaseCase c{{{64, 64, 8}, 20000, 8}, 5, 10};
  const auto terms = tests::phase_terms(c, 1);
  tests::expect_bytes_of_cost<float>(8, Device::cuda(), [&] {
    return make_phase_transform<float>(terms, c.sizes.matrix_size, Device::cuda());
  });
}

TEST_F(GpuPhase, refuses_arrays_of_other_shapes_and_devices) {
  const PhaseCase c{{{6, 5, 1}, 40, 2}, 2, 10};
  tests::expect_wrong_arrays_are_refused(
      *make_phase_transform<float>(tests::phase_terms(c, 1), c.sizes.matrix_size, Device::cuda()));
}

}  // namespace
}  // namespace fhd
