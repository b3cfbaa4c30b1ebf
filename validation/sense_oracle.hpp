#pragma once
// The noise of Cartesian SENSE from the textbook's formula, in plain loops: shares no code with recon/ beyond the array type.
#include <array>

#include "recon/array/array.hpp"

namespace fhd::oracle {

/// g-factor [z][y][x] of maps [coil][z][y][x] and white noise where every `reduction`-th line along `axis` (0: x) is measured,
/// a divisor of its size: sqrt((C^-1)_pp C_pp), C = S^H S of the voxels that fold onto p. 0 where no coil sees anything.
/// Source: Pruessmann et al., MRM 42:952 (1999), eq. 23.
Array<double> sense_g_factor(const Array<Complex<double>>& maps, int axis, int reduction);

}  // namespace fhd::oracle
