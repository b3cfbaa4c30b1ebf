#pragma once
// Images by least squares.
#include "recon/pipeline/model.hpp"
#include "recon/pipeline/prepare.hpp"

namespace fhd {

/// The image of a model with maps, or, without, the root of the sum of squares of the images of every coil (a
/// single coil stays complex), [z][y][x] in units of data.unit / model.map_unit. Chooses lambda, and fills
/// residuals and certificate of the report.
template <class T>
Array<Complex<T>> solve(Model<T>& model, const Measurements<T>& data, bool corrects_off_resonance,
                        TrajectoryOperators<T>& operators, const Context& context);

}  // namespace fhd
