#pragma once
// An object that changes while it is measured: a section (or volume) of a chest in closed form, whose heart beats, that
// breathes, and whose vessels and organs take up contrast agent, each in its own time.
#include "data/phantom.hpp"

namespace fhd::data {

/// At `time`, from 0, the beginning of the scan, to 1, its end: 8 heartbeats, 3 breaths, one bolus. The anterior is at
/// negative y. `dimensions` is 2 or 3. Throws Error for others.
Phantom moving_phantom(int dimensions, double time);

/// Returns the chest after the bolus, its heart at rest, at a depth of breath of 0 (expired) ... 1: lungs widen, and
/// the diaphragm moves organs by a tenth of the FOV.
Phantom breathing_phantom(int dimensions, double depth);

/// The depth of breath at `time`, 0 ... 1 from the beginning of the scan to its end, of so many breaths: longest
/// at rest when expired, no two alike in length and depth. 0 ... 1.
double depth_of_breath(double breaths, double time);

}  // namespace fhd::data
