#pragma once
// Terms of phases, and what the phase sums keep on the CPU and on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "recon/transform/phase/phase.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

namespace fhd::tests {

struct PhaseCase {
  TransformCase sizes;
  int terms;         ///< beyond k . r
  double phase_rad;  ///< about the largest of all terms together, and of k . r
  int decays = 0;    ///< components

  std::string text() const {
    return sizes.text() + ", " + std::to_string(terms) + " terms, " + std::to_string(phase_rad) + " rad" +
           ", " + std::to_string(decays) + " components of decay";
  }
};

/// Odd and even sizes, tails of tiles, single voxels and samples; phases up to 300 rad; one coil to many.
inline std::vector<PhaseCase> phase_cases() {
  return {{{{1, 1, 1}, 1, 1}, 1, 2},           {{{7, 1, 1}, 30, 2}, 0, 20},
          {{{5, 9, 7}, 1023, 4}, 13, 300},     {{{33, 17, 1}, 257, 3}, 5, 100, 1},
          {{{18, 7, 3}, 300, 3}, 5, 100, 2},   {{{16, 16, 4}, 512, 1}, 16, 300},
          {{{16, 16, 4}, 513, 8}, 14, 300},    {{{40, 30, 1}, 777, 17}, 9, 50},
          {{{24, 20, 1}, 300, 70}, 1, 300},    {{{31, 3, 2}, 2049, 2}, 30, 300},
          {{{64, 64, 1}, 1500, 9}, 13, 300, 1}};
}

/// k . r at random places, and products of random smooth functions of sample and voxel.
inline PhaseTerms phase_terms(const PhaseCase& c, unsigned seed) {
  const auto& [n, samples, coils] = c.sizes;
  const auto r = oracle::voxel_positions(n);
  const std::int64_t voxels = r.extent(1), terms = 3 + c.terms;
  PhaseTerms made{Array<double>({terms, samples}), Array<double>({terms, voxels}), {}, {}};
  const auto random = random_positions(terms * (samples + voxels), 1, seed);
  std::int64_t next = 0;
  for (std::int64_t term = 0; term < terms; ++term) {
    const double size = c.phase_rad / 2 / (term < 3 ? 1.5 : std::max(c.terms, 1));
    for (std::int64_t m = 0; m < samples; ++m) made.coefficients[term * samples + m] = size * random[next++];
    for (std::int64_t p = 0; p < voxels; ++p)
      made.basis[term * voxels + p] = term < 3 ? r[term * voxels + p] : random[next++];
  }
  if (c.decays == 0) return made;
  made.decay_per_s = Array<double>({voxels}), made.sample_time_s = Array<double>({samples});
  for (auto& rate : made.decay_per_s) rate = 100 * std::abs(random[next++]);
  for (auto& time : made.sample_time_s) time = 0.02 * std::abs(random[next++]);
  if (c.decays == 1) return made;
  made.second_decay_per_s = Array<double>({voxels}), made.fraction = Array<double>({voxels});
  const auto more = random_positions(2 * voxels, 1, seed + 1);
  for (std::int64_t p = 0; p < voxels; ++p) {
    made.second_decay_per_s[p] = 20 * std::abs(more[2 * p]);
    made.fraction[p] = std::abs(more[2 * p + 1]);
  }
  return made;
}

inline oracle::AnyPhase oracle_of(const PhaseTerms& terms) {
  return {terms.coefficients,       terms.basis,   terms.decay_per_s, terms.sample_time_s,
          terms.second_decay_per_s, terms.fraction};
}

/// Errors against the oracle of forward and adjoint, and of the adjoint as the transpose of forward.
template <class T>
Errors errors_of_phases(const PhaseCase& c, Device device, GpuSums choice = GpuSums::automatic) {
  const auto terms = phase_terms(c, 3);
  const auto transform = make_phase_transform<T>(terms, c.sizes.matrix_size, device, choice);
  const auto images = random_values<T>(transform->images_shape(c.sizes.coils), 4),
             samples = random_values<T>(transform->samples_shape(c.sizes.coils), 5);
  const auto exact = oracle_of(terms);
  return errors_of(*transform, images, samples,
                   {oracle::forward(exact, in_double(images)), oracle::adjoint(exact, in_double(samples))});
}

template <class T>
void expect_phase_sums(Device device, double tolerance, GpuSums choice = GpuSums::automatic) {
  for (const auto& c : phase_cases()) {
    const auto errors = errors_of_phases<T>(c, device, choice);
    EXPECT_LE(errors.forward, tolerance) << c.text();
    EXPECT_LE(errors.adjoint, tolerance) << c.text();
    EXPECT_LE(errors.adjointness, tolerance) << c.text();
  }
}

/// Chosen voxels are summed as if images were zero elsewhere; there the adjoint is zero.
inline void expect_chosen_voxels_alone(Device device) {
  for (const int decays : {0, 1, 2}) {
    const PhaseCase c{{{33, 17, 3}, 257, 3}, 5, 100, decays};
    auto terms = phase_terms(c, 1);
    const auto all = make_phase_transform<float>(terms, c.sizes.matrix_size, device);
    auto images = random_values<float>(all->images_shape(3), 4);
    const auto samples = random_values<float>(all->samples_shape(3), 5);
    Array<Complex<float>> seen(all->samples_shape(3), device), image(all->images_shape(3), device);
    all->adjoint(samples.to(device), image);
    auto expected = image.to(Device::cpu());
    const std::int64_t voxels = terms.basis.extent(1);
    for (std::int64_t i = 0; i < images.size(); ++i) {
      if (i % voxels % 7 < 3) continue;
      images[i] = expected.data()[i] = {};
    }
    for (std::int64_t p = 0; p < voxels; ++p)
      if (p % 7 < 3) terms.summed_voxels.push_back(p);
    const auto some = make_phase_transform<float>(terms, c.sizes.matrix_size, device);
    some->adjoint(samples.to(device), image);
    EXPECT_LE(relative_error(image.to(Device::cpu()), expected), 5e-6) << decays;
    some->forward(images.to(device), seen);
    const auto found = seen.to(Device::cpu());
    all->forward(images.to(device), seen);
    EXPECT_LE(relative_error(found, seen.to(Device::cpu())), 5e-6) << decays;
  }
}

/// A value that is not a number shows in every result that it belongs to.
inline void expect_nan_is_kept(Device device) {
  const PhaseCase c{{{6, 5, 1}, 40, 2}, 2, 10};
  const auto transform = make_phase_transform<float>(phase_terms(c, 1), c.sizes.matrix_size, device);
  auto images = random_values<float>(transform->images_shape(2), 4);
  images[7].re = std::nanf("");
  Array<Complex<float>> samples(transform->samples_shape(2), device);
  transform->forward(images.to(device), samples);
  const auto found = samples.to(Device::cpu());
  for (std::int64_t m = 0; m < 40; ++m) {
    EXPECT_TRUE(std::isnan(found[m].re)) << m;
    EXPECT_FALSE(std::isnan(found[40 + m].re)) << m;
  }
}

}  // namespace fhd::tests
