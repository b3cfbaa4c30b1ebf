// The phases that tensor cores make of limbs, computed here with the roundings of half precision, against the terms themselves.
#include "recon/transform/phase/phase_limbs.hpp"

#include <numbers>

#include "validation/tests/recon/transform/phase_checks.hpp"

namespace fhd {
namespace {

using namespace phase_limbs;
using tests::PhaseCase;

/// x as a number of half precision.
double stored(double x) {
  const double subnormal = std::rint(x * 0x1p24) * 0x1p-24;
  return std::abs(x) < 0x1p-14 ? subnormal : half_of(x);
}

struct Phases {
  double leading_turns = 0, small_rad = 0;
};
Phases phases_of(const ReducedPhase& phase, const Plan& plan, std::int64_t m, std::int64_t p) {
  const std::int64_t samples = phase.coefficients.extent(1), voxels = phase.basis.extent(1);
  Phases sum;
  for (int i = 0; i < plan.steps * step; ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.basis == Limb::none) continue;
    const TermBits bits = plan.bits[slot.term];
    const double k = coefficient_limb(phase.coefficients[slot.term * samples + m], bits.coefficient,
                                      slot.coefficient, slot.basis),
                 b = basis_limb(phase.basis[slot.term * voxels + p], bits.basis, slot.basis);
    const double product = stored(std::ldexp(k, slot.exponent)) * stored(std::ldexp(b, -slot.exponent));
    (i < step ? sum.leading_turns : sum.small_rad) += product;
  }
  return sum;
}

/// Root mean square of the errors in rad, at some pairs. Leading sums are multiples of 2^-G turn in range.
double error_of(const PhaseTerms& terms, const Plan& plan, const ReducedPhase& phase) {
  const std::int64_t samples = terms.coefficients.extent(1), voxels = terms.basis.extent(1);
  double squares = 0;
  std::int64_t count = 0;
  for (std::int64_t m = 0; m < samples; m += 13)
    for (std::int64_t p = 0; p < voxels; p += 37, ++count) {
      double exact = 0;
      for (std::int64_t term = 0; term < terms.basis.extent(0); ++term)
        exact += terms.coefficients[term * samples + m] * terms.basis[term * voxels + p];
      const auto found = phases_of(phase, plan, m, p);
      const double units = std::ldexp(found.leading_turns, plan.fraction_bits);
      EXPECT_EQ(units, std::rint(units));
      EXPECT_LE(std::abs(found.leading_turns), std::ldexp(1.0, 22 - plan.fraction_bits));
      const double turns = found.leading_turns + phase.turns_of_sample[m],
                   difference = exact - found.small_rad - 2 * std::numbers::pi * turns,
                   turn = 2 * std::numbers::pi, error = difference - turn * std::rint(difference / turn);
      squares += error * error;
    }
  return std::sqrt(squares / static_cast<double>(count));
}

TEST(PhaseLimbs, give_the_phases_of_the_terms) {
  int planned = 0;
  for (const auto& c : tests::phase_cases()) {
    const auto terms = tests::phase_terms(c, 3);
    const auto phase = reduced_phase(terms, c.sizes.matrix_size);
    const auto plan = plan_limbs(phase);
    const auto count = phase.basis.extent(0);
    EXPECT_EQ(plan.has_value(), count >= 1 && count <= step) << c.text();
    if (!plan) continue;
    ++planned;
    // Left out, and the rounding of products of the second rank.
    EXPECT_LE(error_of(terms, *plan, phase), 1.1 * plan->left_out_rad + 3e-7) << c.text();
    EXPECT_LE(plan->left_out_rad, most_left_out_rad) << c.text();
  }
  EXPECT_GE(planned, 6);
}

TEST(PhaseLimbs, put_affine_terms_together_and_need_fewer_steps_for_them) {
  const PhaseCase c{{{16, 12, 5}, 300, 1}, 0, 100};
  auto terms = tests::phase_terms(c, 3);
  // Oblique axes and a constant: x + y / 2 + 3, and 2 x - z.
  const std::int64_t voxels = terms.basis.extent(1);
  for (std::int64_t p = 0; p < voxels; ++p) {
    const double x = terms.basis[p], y = terms.basis[voxels + p], z = terms.basis[2 * voxels + p];
    terms.basis[p] = x + y / 2 + 3, terms.basis[voxels + p] = 2 * x - z;
  }
  const auto phase = reduced_phase(terms, c.sizes.matrix_size);
  EXPECT_EQ(phase.basis.extent(0), 3);
  const auto plan = plan_limbs(phase);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps, 4);
  EXPECT_EQ(plan->left_out_rad, 0);
  EXPECT_LE(error_of(terms, *plan, phase), 3e-7);
}

TEST(PhaseLimbs, leave_phases_of_too_many_turns_to_sums_in_double) {
  const PhaseCase c{{{6, 5, 1}, 40, 1}, 2, 1e5};
  EXPECT_FALSE(plan_limbs(reduced_phase(tests::phase_terms(c, 3), c.sizes.matrix_size)));
}

}  // namespace
}  // namespace fhd
