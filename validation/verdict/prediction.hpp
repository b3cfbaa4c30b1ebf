#pragma once
// Cross-validation: an image of three readouts in four, near the centre of k-space, predicts the fourth one. Where
// there are hardly more values than unknowns an image explains what it should not, such as motion, and yet does not
// predict it.
#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

/// Returns |r - E x| / |d| over every fourth readout, r what the whole image leaves over and x of the r of the other
/// readouts, without what noise of `noise_variance` leaves (found with noise that is drawn); < 0 where there are
/// fewer than 8 readouts or four times as many values as unknowns, or where other readouts miss more than a tenth of
/// the energy of an image that explains all.
double prediction_error(Centre& centre, double noise_variance);

}  // namespace fhd::validation
