#pragma once
// Data and maps are brought to a largest magnitude near 1 and the image back again: no scale of a scanner or of
// a map leaves the range of T.
#include "recon/array/process_group.hpp"

namespace fhd {

/// Divides values in host memory by the power of two nearest to their largest magnitude, of any process where
/// each has a part of them: exact. Returns it, or 0 when all are zero.
template <class T>
double divide_by_magnitude(Array<Complex<T>>& values, const ProcessGroup& processes);

}  // namespace fhd
