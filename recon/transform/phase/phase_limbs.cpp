#include "recon/transform/phase/phase_limbs.hpp"

#include <algorithm>
#include <numbers>

namespace fhd::phase_limbs {
namespace {

constexpr double turn = 2 * std::numbers::pi;

struct Range {
  double least, most;
};
Range range_of(const double* values, std::int64_t count) {
  double least = values[0], most = values[0];
#pragma omp parallel for simd reduction(min : least) reduction(max : most)
  for (std::int64_t i = 0; i < count; ++i)
    least = std::min(least, values[i]), most = std::max(most, values[i]);
  return {least, most};
}
double largest_of(const double* values, std::int64_t count) {
  const auto [least, most] = range_of(values, count);
  return std::max(-least, most);
}

/// b = at_centre + sum over axes of slope (index - N / 2).
struct Affine {
  double at_centre = 0;
  std::array<double, 3> slope{};
};
/// Returns none unless `basis` is affine on the grid within `tolerance`.
std::optional<Affine> affine_of(const double* basis, std::array<int, 3> n, double tolerance) {
  const std::array<std::int64_t, 3> stride{1, n[0], std::int64_t{n[0]} * n[1]};
  Affine found;
  std::int64_t centre = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre += n[axis] / 2 * stride[axis];
    if (n[axis] > 1) found.slope[axis] = (basis[(n[axis] - 1) * stride[axis]] - basis[0]) / (n[axis] - 1);
  }
  found.at_centre = basis[centre];
  double worst = 0;
#pragma omp parallel for reduction(max : worst)
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x) {
        const double value = found.at_centre + found.slope[0] * (x - n[0] / 2) +
                             found.slope[1] * (y - n[1] / 2) + found.slope[2] * (z - n[2] / 2);
        worst = std::max(worst, std::abs(value - basis[z * stride[2] + y * stride[1] + x]));
      }
  return worst <= tolerance ? std::optional(found) : std::nullopt;
}

/// The terms that are put together, or kept.
struct Sorted {
  std::vector<std::pair<std::int64_t, Affine>> affine;
  std::vector<std::int64_t> others;
};
Sorted sort_terms(const PhaseTerms& terms, std::array<int, 3> n) {
  constexpr double most_error_rad = 1e-8;
  constexpr int most_grid = 2048;  // whole numbers of half precision
  const std::int64_t samples = terms.coefficients.extent(1), voxels = terms.basis.extent(1);
  Sorted sorted;
  for (std::int64_t term = 0; term < terms.basis.extent(0); ++term) {
    const double largest = largest_of(terms.coefficients.data() + term * samples, samples);
    if (largest == 0) continue;
    const auto affine = *std::max_element(n.begin(), n.end()) <= most_grid
                            ? affine_of(terms.basis.data() + term * voxels, n, most_error_rad / largest)
                            : std::nullopt;
    if (affine)
      sorted.affine.emplace_back(term, *affine);
    else
      sorted.others.push_back(term);
  }
  return sorted;
}

/// The least e with |x| <= 2^e.
int exponent_of(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5 ? exponent - 1 : exponent;
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}
double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Bounds |sum over terms| from above, in turns: over each of 4 x 4 x 4 blocks of voxels by the sum at the middle of the terms' ranges
/// there and by half the ranges. The sum of all terms' largest values, far apart in the volume, would cost a bit of each limb.
double most_turns(const ReducedPhase& phase) {
  constexpr int parts = 4;
  const std::int64_t terms = phase.coefficients.extent(0), samples = phase.coefficients.extent(1),
                     voxels = phase.basis.extent(1);
  const auto& n = phase.matrix_size;
  std::vector<double> least(parts * parts * parts * terms, 2), most(parts * parts * parts * terms, -2);
#pragma omp parallel for
  for (std::int64_t term = 0; term < terms; ++term)
    for (std::int64_t p = 0; p < voxels; ++p) {
      const std::int64_t x = p % n[0] * parts / n[0], y = p / n[0] % n[1] * parts / n[1],
                         z = p / n[0] / n[1] * parts / n[2];
      const auto at = static_cast<std::size_t>(((z * parts + y) * parts + x) * terms + term);
      least[at] = std::min(least[at], phase.basis[term * voxels + p]);
      most[at] = std::max(most[at], phase.basis[term * voxels + p]);
    }
  double largest = 0;
#pragma omp parallel for reduction(max : largest)
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::size_t block = 0; block < least.size(); block += static_cast<std::size_t>(terms)) {
      if (least[block] > most[block]) continue;  // no voxels
      double middle = 0, around = 0;
      for (std::int64_t term = 0; term < terms; ++term) {
        const double kappa = phase.coefficients[term * samples + m],
                     low = least[block + static_cast<std::size_t>(term)],
                     high = most[block + static_cast<std::size_t>(term)];
        middle += kappa * (low + high) / 2, around += std::abs(kappa) * (high - low) / 2;
      }
      largest = std::max(largest, std::abs(middle) + around);
    }
  return largest;
}

/// At most `most` of the values, evenly taken.
std::vector<double> some_of(const double* values, std::int64_t count) {
  constexpr std::int64_t most = 20000;
  std::vector<double> some;
  const std::int64_t stride = (count + most - 1) / most;
  for (std::int64_t i = 0; i < count; i += stride) some.push_back(values[i]);
  return some;
}

struct Candidate {
  Slot slot;
  double rms_rad;
};
/// The small products of a term, with the size of each.
void add_candidates(const ReducedPhase& phase, std::int8_t term, TermBits bits, std::vector<Candidate>& all) {
  using enum Limb;
  const std::int64_t samples = phase.coefficients.extent(1), voxels = phase.basis.extent(1);
  const auto kappa = some_of(phase.coefficients.data() + term * samples, samples),
             basis = some_of(phase.basis.data() + term * voxels, voxels);
  for (const auto& [k, b] :
       {std::pair{second, first}, {first, second}, {second, second}, {first, third}, {third, first}}) {
    auto k_limbs = kappa, b_limbs = basis;
    for (double& value : k_limbs) value = coefficient_limb(value, bits.coefficient, k, b);
    for (double& value : b_limbs) value = basis_limb(value, bits.basis, b);
    const double rms = root_mean_square(k_limbs) * root_mean_square(b_limbs);
    if (rms == 0) continue;
    // Both factors about as large as each other.
    const int exponent = (exponent_of(largest_of(b_limbs)) - exponent_of(largest_of(k_limbs))) / 2;
    all.push_back({{term, k, b, static_cast<std::int8_t>(exponent)}, rms});
  }
}

}  // namespace

ReducedPhase reduced_phase(const PhaseTerms& terms, std::array<int, 3> n) {
  const auto sorted = sort_terms(terms, n);
  const std::int64_t samples = terms.coefficients.extent(1), voxels = terms.basis.extent(1);
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (std::any_of(sorted.affine.begin(), sorted.affine.end(),
                    [&](const auto& each) { return n[axis] > 1 && each.second.slope[axis] != 0; }))
      axes.push_back(axis);
  const auto grid_terms = static_cast<std::int64_t>(axes.size()),
             count = grid_terms + static_cast<std::int64_t>(sorted.others.size());
  ReducedPhase out{Array<double>({count, samples}), Array<double>({count, voxels}), Array<double>({samples}),
                   n, std::vector<int>(static_cast<std::size_t>(count), -1)};
  const auto add = [&](double* to, std::int64_t term, double factor) {
    for (std::int64_t m = 0; m < samples; ++m)
      to[m] += factor / turn * terms.coefficients[term * samples + m];
  };
  for (const auto& [term, affine] : sorted.affine) add(out.turns_of_sample.data(), term, affine.at_centre);
  for (std::int64_t i = 0; i < grid_terms; ++i) {
    const std::size_t axis = axes[static_cast<std::size_t>(i)];
    const int bits = exponent_of(n[axis] / 2);
    for (const auto& [term, affine] : sorted.affine)
      add(out.coefficients.data() + i * samples, term, std::ldexp(affine.slope[axis], bits));
    const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? n[0] : std::int64_t{n[0]} * n[1];
#pragma omp parallel for
    for (std::int64_t p = 0; p < voxels; ++p)
      out.basis[i * voxels + p] = std::ldexp(static_cast<double>(p / stride % n[axis] - n[axis] / 2), -bits);
    out.grid_bits[static_cast<std::size_t>(i)] = bits;
  }
  for (std::size_t j = 0; j < sorted.others.size(); ++j) {
    const std::int64_t i = grid_terms + static_cast<std::int64_t>(j), term = sorted.others[j];
    const double* from = terms.basis.data() + term * voxels;
    const auto [least, most] = range_of(from, voxels);
    const double centre = (least + most) / 2;
    const int exponent = exponent_of(std::max(most - centre, centre - least));
    add(out.turns_of_sample.data(), term, centre);
    add(out.coefficients.data() + i * samples, term, std::ldexp(1.0, exponent));
#pragma omp parallel for
    for (std::int64_t p = 0; p < voxels; ++p)
      out.basis[i * voxels + p] = std::ldexp(from[p] - centre, -exponent);
  }
  return out;
}

std::optional<Plan> plan_limbs(const ReducedPhase& phase) {
  const std::int64_t terms = phase.coefficients.extent(0), samples = phase.coefficients.extent(1);
  if (terms > step || terms == 0) return {};
  // Limbs are rounded, by at most 1/16 turn a term. 2^(22 - G) turns are kept apart from what the sum starts with.
  Plan plan;
  plan.fraction_bits = std::min(15, 22 - exponent_of(most_turns(phase) + 1));
  if (plan.fraction_bits < 12) return {};
  std::vector<Candidate> candidates;
  for (std::int8_t term = 0; term < terms; ++term) {
    const int largest = exponent_of(largest_of(phase.coefficients.data() + term * samples, samples)),
              e = std::max(largest, 0), of_grid = phase.grid_bits[static_cast<std::size_t>(term)],
              g = plan.fraction_bits;
    int basis = of_grid >= 0 ? of_grid : std::min(11, (g + e + 1) / 2);
    const int coefficient = std::max(0, std::min(g - basis, 11 - e));
    if (of_grid < 0) basis = std::min(11, g - coefficient);
    auto& bits = plan.bits[term];
    bits = {static_cast<std::int8_t>(coefficient), static_cast<std::int8_t>(basis)};
    plan.slots[term] = {term, Limb::leading, Limb::first, 0};
    add_candidates(phase, term, bits, candidates);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.rms_rad > b.rms_rad; });
  for (plan.steps = 4; plan.steps <= most_steps; plan.steps += 2) {
    const auto kept = std::min(candidates.size(), static_cast<std::size_t>((plan.steps - 1) * step));
    double squares = 0;
    for (std::size_t i = kept; i < candidates.size(); ++i)
      squares += candidates[i].rms_rad * candidates[i].rms_rad;
    plan.left_out_rad = std::sqrt(squares);
    if (plan.left_out_rad > most_left_out_rad && plan.steps < most_steps) continue;
    for (std::size_t i = 0; i < kept; ++i) plan.slots[step + i] = candidates[i].slot;
    break;
  }
  return plan;
}

}  // namespace fhd::phase_limbs
