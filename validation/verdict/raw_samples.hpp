#pragma once
// Finds mistakes that the samples of a file show by themselves, before coils are combined: no model of the image is
// needed.
#include <optional>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::validation {

/// Returns that the weakest samples were set to zero: scattered zeros, and no other value below some size r of a coil,
/// although 48 or more lie between r and 2 r. Where noise is spread evenly in the complex plane, a third as many lie below r.
/// Whole numbers, of which many are equal, and zeros that fill readouts up do not count. Code "lossy"; `amount`: their share
/// in %; `image_change`: the root of their share of |d|^2, which is less than that of an image whose centre of k-space
/// is sampled densely. One pass over all samples, and two more where a coil has zeros.
std::optional<Finding> lost_weak_samples(const Scan& scan);

/// Returns, on an alarm, what a converter made of the numbers (doctor::mistake_of_format), or that coils and samples are
/// transposed (doctor::is_transposed; code "transposed"); always, that samples wrap at the end of the receiver's range, +-R
/// (code "wrapped"; `amount`: their number), or that readouts are early or late (readout_lags.hpp). A linear prediction
/// from the two samples before, whose factors are fitted for each coil, misses a wrapped sample by nearly 2 R in its real
/// or imaginary part. Other misses become rarer with their size: more than half of those above R lie below 1.5 R. They
/// wrap where more than twice as many lie between 1.5 R and 2.5 R. The share of a cause is 1.
std::optional<Finding> cause_in_raw_samples(const Scan& scan, bool is_alarm);

/// Returns boards that are not locked (receiver_boards.hpp), or ramps of readouts (readout_lags.hpp), where no other cause
/// is known: wrong positions, another order and altered samples look like them.
std::optional<Finding> cause_by_elimination(const Scan& scan);

}  // namespace fhd::validation
