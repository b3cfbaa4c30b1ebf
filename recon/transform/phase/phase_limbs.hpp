#pragma once
// The phase as a product of matrices of half-precision numbers, for tensor cores (phase_tensor_cuda.cu). A term kappa b, with
// kappa in turns and |b| <= 1, is taken apart in limbs,
//
//     b = b1 + b2 + b3,    kappa = k1 + rest,    h1 + h2 = 2 pi k1,    c1 + c2 = 2 pi (kappa - k1),
//
// of 11 bits each. The leading products k1 b1 of all terms are multiples of 2^-G turn: tensor cores add them without rounding to
// 3/2 2^(23-G), and the last G bits of the sum are the fraction of a turn. What is left is small, and in radians:
//
//     2 pi (kappa b - k1 b1) = c1 b1 + h1 b2 + (h2 + c1) b2 + h1 b3 + c2 b1 + (below 2^-28 of the term).
//
// Terms that are affine on the grid of voxels, k . r and a constant field above all, are put together first: three terms with
// whole numbers for b, which need no b2, and phases of the samples alone. The smallest products are left out as long as what
// they add has a root mean square below `most_left_out_rad`.
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "recon/array/complex.hpp"
#include "recon/transform/phase/phase.hpp"

namespace fhd::phase_limbs {

/// Products of one step of a tensor core, and the most terms.
inline constexpr int step = 16;
inline constexpr int most_steps = 6;
inline constexpr double most_left_out_rad = 4e-6;

/// Names a limb, or the sum h2 + c1, of kappa; of b: first, second, third.
enum class Limb : std::int8_t { none, first, second, third, leading };

/// One product: kappa's limb times 2^exponent, b's limb times 2^-exponent.
struct Slot {
  std::int8_t term = 0;
  Limb coefficient = Limb::none, basis = Limb::none;
  std::int8_t exponent = 0;
};
/// Limbs of a term are multiples of 2^-bits.
struct TermBits {
  std::int8_t coefficient = 0, basis = 0;
};
struct Plan {
  int steps = 0;          ///< the first is that of the leading products; 4 or 6
  int fraction_bits = 0;  ///< G
  TermBits bits[step]{};
  Slot slots[most_steps * step]{};
  double left_out_rad = 0;  ///< root mean square of what is left out
};

/// phi = 2 pi (turns_of_sample(m) + sum_l coefficients(l, m) basis(l, p)), |basis| <= 1.
struct ReducedPhase {
  Array<double> coefficients;     ///< [term][sample], turns
  Array<double> basis;            ///< [term][voxel]
  Array<double> turns_of_sample;  ///< [sample]
  std::array<int, 3> matrix_size;
  std::vector<int> grid_bits;  ///< basis is a multiple of 2^-bits; -1: of nothing
};
/// Returns the same phases with as few terms and as small factors as the grid of that matrix allows.
ReducedPhase reduced_phase(const PhaseTerms& terms, std::array<int, 3> matrix_size);

/// Returns none where there are more than 16 terms, or phases beyond 1,000 turns.
std::optional<Plan> plan_limbs(const ReducedPhase& phase);

/// x rounded to 11 bits.
FHD_HOST_DEVICE inline double half_of(double x) {
  int exponent = 0;
  frexp(x, &exponent);
  return ldexp(rint(ldexp(x, 11 - exponent)), exponent - 11);
}
FHD_HOST_DEVICE inline double basis_limb(double b, int bits, Limb limb) {
  const double first = ldexp(rint(ldexp(b, bits)), -bits), second = half_of(b - first);
  return limb == Limb::first ? first : limb == Limb::second ? second : b - first - second;
}
/// Limb::leading: k1 in turns; first: h1; second: c1 or, with the second of b, h2 + c1; third: c2.
FHD_HOST_DEVICE inline double coefficient_limb(double kappa, int bits, Limb limb, Limb of_basis) {
  constexpr double turn = 6.283185307179586;
  const double k1 = ldexp(rint(ldexp(kappa, bits)), -bits), h1 = half_of(turn * k1), c = turn * (kappa - k1),
               c1 = half_of(c);
  if (limb == Limb::leading) return k1;
  if (limb == Limb::first) return h1;
  if (limb == Limb::third) return c - c1;
  return of_basis == Limb::second ? turn * k1 - h1 + c1 : c1;
}

}  // namespace fhd::phase_limbs
