#pragma once
// Compares readouts with those that lie nearest to them in k-space, whose samples resemble theirs.
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns the four nearest readouts of each, the nearest first, by the mean square distance of some of their places. Empty
/// for fewer than 8 readouts, and for more than 1000, whose pairs take too long.
std::vector<std::vector<std::int64_t>> nearest_readouts(const ReadoutSet& all);

/// Returns readouts that are not like their neighbours in k-space and in time: code "readouts". With D_j = |d_j|^2 and R_j =
/// |r_j|^2: lost ones, D_j < 5 % of the neighbours'; ones of another gain or of noise, D_j > 25 times theirs; and, where
/// `is_unexplained`, ones or a run of them that do not fit, R_j > 30, or 4, times the median.
std::vector<Finding> odd_readouts(const ReadoutSet& all,
                                  const std::vector<std::vector<std::int64_t>>& nearest, bool is_unexplained);

/// Returns an order of the readouts other than that of the trajectory: code "exchange". C = sum |d_a - d_b|^2 / sum (|d_a|^2 +
/// |d_b|^2) over neighbours a, b whose samples are less than 1.1 cycles/FOV apart is small in the right order, and 1 in a
/// wrong one.
std::vector<Finding> order_by_neighbours(const ReadoutSet& all,
                                         const std::vector<std::vector<std::int64_t>>& nearest);

/// Returns that the first samples of each readout do not fit: code "samples". Their residual against their signal is above 10 %
/// and 6 times that of later ones. `whole`: readouts that are not thinned out.
std::vector<Finding> first_samples(const ReadoutSet& whole);

}  // namespace fhd::validation
