#pragma once
// Cross-validation: an image of three readouts in four, near the centre of k-space, predicts the fourth one. Where there are hardly
// more values than unknowns an image explains what it should not, such as motion, and yet does not predict it.
#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

/// Returns |d - E x| / |d| over every fourth readout, x of the others, without what noise of `noise_variance` leaves (found with
/// noise that is drawn); < 0 where there are fewer than 8 readouts or four times as many values as unknowns, or where the coils do
/// not tell the readouts that are left out.
double prediction_error(const CentralSamples& samples, double noise_variance);

}  // namespace fhd::validation
