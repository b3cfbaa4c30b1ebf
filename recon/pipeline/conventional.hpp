#pragma once
// Images without a system to solve.
#include <vector>

#include "recon/pipeline/measurements.hpp"
#include "recon/pipeline/model.hpp"

namespace fhd {

/// Combines coil images [coil][z][y][x]: sum conj(S) image / sum |S|^2 with maps (0 where all maps are 0; Roemer et al.,
/// MRM 16:192 (1990)), or, unless it `divides`, the sum alone; root of the sum of squares where `maps` is empty (one coil
/// stays complex).
template <class T>
Array<Complex<T>> combined(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                           bool divides = true);

/// Makes the image of each volume. ConventionalGridding, CartesianFft: combined coil images. PlainAdjoint: sum conj(S) F^H
/// d with maps, F with the fields. The samples are weighted in place, and go to the device.
template <class T>
std::vector<Image> conventional_images(Measurements<T>& data, const std::optional<FieldModel>& fields,
                                       TrajectoryOperators<T>& operators, const Context& context);

/// Makes the conventional image of each volume with the samples and maps of a model, sum conj(S) F^H (w d) / sum |S|^2, w
/// the density compensation: what ConventionalGridding makes. None unless Services::gridded_accuracy asks for them, or for
/// several coils without maps, or several processes. Their time is the stage "gridded image".
template <class T>
std::vector<Image> gridded_images(const Model<T>& model, const Measurements<T>& data,
                                  TrajectoryOperators<T>& operators, const Context& context);

}  // namespace fhd
