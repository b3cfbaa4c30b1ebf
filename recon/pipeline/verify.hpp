#pragma once
// Asks the verifier how exact a result is.
#include "recon/pipeline/solve.hpp"

namespace fhd {

/// Verifies all coils together, or `coil` without its map. Every process must call; the first judges.
template <class T>
void verify_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, TrajectoryOperators<T>& operators,
                     const Context& context);

/// Verifies a method without a system to solve by the first volume: the first of its coil images [coil][z][y][x] against
/// F^H (w d); `weights` is [sample], or null for 1.
template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, double promised_accuracy, const Context& context);

}  // namespace fhd
