#pragma once
// An object that changes while it is measured: a section (or volume) of a chest in closed form, whose heart beats, that
// breathes, and whose vessels and organs take up contrast agent, each in its own time.
#include "data/phantom.hpp"

namespace fhd::data {

/// At `time`, from 0, the beginning of the scan, to 1, its end: 8 heartbeats, 3 breaths, one bolus. The anterior is at
/// negative y. `dimensions` is 2 or 3. Throws Error for others.
Phantom moving_phantom(int dimensions, double time);

}  // namespace fhd::data
