#pragma once
// Finds readouts that are not where the trajectory says: one lost or stored twice, with the rest moved.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns in words that from readout `first` on each holds the samples of `shift` places later.
std::string order_in_words(Index first, Index shift);

/// Returns orders that occur, [place]: which readout of the file belongs there; with words for each.
std::vector<std::pair<std::string, std::vector<Index>>> named_orders(Index readouts);
/// Says that it is none of these.
inline constexpr const char* another_order =
    "the order of the readouts: random, or another than that of the trajectory";

/// Returns what the residual r = d - p, p = E rho, says of the order of all readouts of a scan. With v_j = p_{j+s} -
/// p_j, s = -2 ... 2, the share of |r|^2 that one factor of v explains from a readout on, (sum Re <v_j, r_j>)^2 / sum
/// |v_j|^2, is the score of "from there on each readout is that of s places later"; good scans stay below 0.006. r is
/// orthogonal to what another image explains, so that the share is a lower bound. `amount`: the first readout that is
/// moved, from 0. Code "order".
std::optional<Finding> order_of_readouts(const ReadoutSet& all);

}  // namespace fhd::validation
