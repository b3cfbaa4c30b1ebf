#pragma once
// Compares readouts with those that lie nearest to them in k-space, whose samples resemble theirs.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns the four nearest readouts of each, the nearest first, by the mean square distance of some of their
/// places. Empty for fewer than 8 readouts, and for more than 100,000.
std::vector<std::vector<Index>> nearest_readouts(const ReadoutSet& all);

/// Returns readouts whose energy D_j = |d_j|^2 is not that of their neighbours in k-space and in time: lost
/// ones, below 5 %, or ones of another gain or of noise, above 25 times. Code "odd_readouts"; `amount`: the first
/// one, or the gain.
std::optional<Finding> odd_energies(const ReadoutSet& all, const std::vector<std::vector<Index>>& nearest);

/// Returns readouts that an image explains worse than the others, with 30 times the median of R_j = |r_j|^2. Code
/// "odd_readouts"; `amount`: the first one.
std::optional<Finding> odd_residuals(const ReadoutSet& all);

/// Returns an order of the readouts other than that of the trajectory: code "exchange". C = sum |d_a - d_b|^2
/// / sum (|d_a|^2 + |d_b|^2) over neighbours a, b whose samples are less than 1.1 cycles/FOV apart is small
/// in the right order, and 1 in a wrong one. In a plane of Cartesian lines their energies tell, which lie
/// about the centre. Meaningful where much is left over. `varies`: the signal changes with the readouts, so that those of
/// one contrast resemble each other, and no order is sought that has no name.
std::optional<Finding> order_by_neighbours(const ReadoutSet& all,
                                           const std::vector<std::vector<Index>>& nearest, bool varies);

/// Returns that the first samples of each readout do not fit: code "samples". Their residual against their
/// signal is above 10 % and 6 times that of later ones. `whole`: readouts that are not thinned out.
std::optional<Finding> first_samples(const ReadoutSet& whole);

}  // namespace fhd::validation
