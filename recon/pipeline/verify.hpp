#pragma once
// The step that asks the verifier how exact a result is, from what the reconstruction used and found.
#include "recon/pipeline/model.hpp"
#include "recon/pipeline/prepare.hpp"

namespace fhd {

/// Products of the solver that a verifier compares with direct sums.
template <class T>
struct Solution {
  Array<Complex<T>> image;            ///< [z][y][x]
  Array<Complex<T>> right_hand_side;  ///< E^H d
  Array<Complex<T>> predicted{};      ///< E image, the samples of this process
};

/// Of all coils together, or of `coil` without its map. Every process must call; the first judges.
template <class T>
void verify_solution(const Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, bool corrects_off_resonance, double promised_accuracy,
                     const Context& context);

/// Of a method without a system to solve: the first of its coil images [coil][z][y][x] against F^H (w d);
/// `weights` is [sample], or null for 1.
template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, double promised_accuracy, const Context& context);

}  // namespace fhd
