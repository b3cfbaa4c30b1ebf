#pragma once
// Images by least squares: E^H d, lambda, the solver, and the check of its solution.
#include <functional>
#include <optional>
#include <vector>

#include "recon/pipeline/measurements.hpp"
#include "recon/pipeline/model.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"

namespace fhd {

/// The images of volumes that were solved together, with products that a verifier compares with direct sums.
template <class T>
struct Solution {
  Array<Complex<T>> images;              ///< [volume][z][y][x]
  Array<Complex<T>> right_hand_sides{};  ///< E^H d
  Array<Complex<T>> predicted{};         ///< E image, [volume and coil][sample of this process]
  std::vector<SolvedVolume> volumes{};
  Array<Complex<T>> subgradient{};  ///< with sparse terms, which one volume is solved with: SparseSolution
};

/// Solves for the images of a model with maps, or, without, for the root of the sum of squares of the images of every coil
/// (a single coil stays complex), in units of data.unit / model.map_unit. Several volumes are solved together if they have
/// maps or one coil. Chooses lambda, of the first. The products for a verifier are left out of the result.
template <class T>
Solution<T> solve(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                  const Context& context);

/// Solves (E^H E + quadratic terms) x = b by conjugate gradient from x as given (`from_zero`: 0), for right-hand sides b
/// [volume][z][y][x], with the preconditioner of the model.
template <class T>
std::vector<ConjugateGradientResult> solve_quadratic(
    const Model<T>& model, const Array<Complex<T>>& b, Array<Complex<T>>& x, const ProgressCallback& progress,
    const Context& context, int kept_residuals = ConjugateGradientSettings{}.kept_residuals,
    bool from_zero = true);

/// Completes a solution: E images compared with `samples`, |E image - d| / |d| of each, and, where it `verifies`,
/// certificate and verdict; of all coils together, or of `coil` without its map.
template <class T>
void check_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                    const Array<Complex<T>>& samples, std::optional<std::int64_t> coil, bool verifies,
                    TrajectoryOperators<T>& operators, const Context& context);

/// Verifies a method without a system to solve by the first volume: the first of its coil images [coil][z][y][x] against
/// F^H (w d); `weights` is [sample], or null for 1. `in_fields`: F has the field map and the fields of the scan.
template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, bool in_fields, double promised_accuracy,
                        const Context& context);

/// Noise in the place of the samples of a scan, as the searches by the noise ask for it (risk.hpp).
template <class T>
struct NoiseEncoding {
  std::int64_t channels = 0;  ///< all coils of the scan, or 1: its strongest
  /// Computes right_hand_side = E^H b of b [channel][sample of the scan; of this process] on the device; returns |b|, of
  /// samples that E has several times as often.
  std::function<double(const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side)> adjoint;
};

/// Chooses lambda, the weight of the regularizer, once for a scan, as LeastSquares::lambda says; it goes to the term and to
/// the report. BelowNoise is left to solve_sparse. `samples` are all of `data`, or those of its strongest coil, `fhd` is their
/// E^H d and `noise` is of the same coils: a search solves for them. (lambda.cpp)
template <class T>
void choose_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                   const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, const Context& context);

/// Changes the default lambda where the samples are a Cartesian lattice with gaps, by a first image (first_image.hpp). Returns
/// whether `image`, which is zero, became that.
template <class T>
bool adapt_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                  const Array<Complex<T>>& fhd, Array<Complex<T>>& image, const Context& context);

/// Finds the largest eigenvalue of E^H E within some per cent, from E^H d = `fhd`, unless the model knows it.
template <class T>
double find_largest_eigenvalue(Model<T>& model, const Array<Complex<T>>& fhd);

// Images with terms without squares.

/// Solves for the image with sparse terms by ADMM, into the first image of `solution` and its volumes. `samples` are those
/// of the right-hand side; of the first of several coils the strengths become weights.
template <class T>
void solve_sparse(Model<T>& model, Solution<T>& solution, const Measurements<T>& data,
                  const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise, bool is_first,
                  const Context& context);

}  // namespace fhd
