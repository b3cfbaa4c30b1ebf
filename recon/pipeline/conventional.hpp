#pragma once
// Images without a system to solve: one function for each method. `data` on the device of the context; images
// [z][y][x] in units of data.unit / map_unit (PlainAdjoint: data.unit x map_unit).
#include "recon/pipeline/prepare.hpp"
#include "recon/pipeline/trajectory_operators.hpp"

namespace fhd {

/// Coil images [coil][z][y][x] -> image: sum conj(S) image / sum |S|^2 with maps (0 where all maps are 0; Roemer
/// et al., MRM 16:192 (1990)), root of the sum of squares where `maps` is empty (one coil stays complex).
template <class T>
Array<Complex<T>> combined(Array<Complex<T>> coil_images, const Array<Complex<T>>& maps);

/// Multiplies the samples, in host memory, by the density compensation.
template <class T>
void compensate_density(Measurements<T>& data, TrajectoryOperators<T>& operators, const Context& context);

template <class T>
Array<Complex<T>> gridded_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                                TrajectoryOperators<T>& operators, const Context& context);
template <class T>
Array<Complex<T>> fft_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                            TrajectoryOperators<T>& operators, const Context& context);
/// sum conj(S) F^H d with maps.
template <class T>
Array<Complex<T>> adjoint_image(const Measurements<T>& data, const Array<Complex<T>>& maps,
                                TrajectoryOperators<T>& operators, const Context& context);

}  // namespace fhd
