#pragma once
// Images with terms without squares.
#include <functional>

#include "recon/pipeline/solve.hpp"
#include "recon/solve/sparse_solution.hpp"

namespace fhd {

/// Noise in the place of the samples of a scan, as a search of strengths by the noise asks for it.
template <class T>
struct NoiseEncoding {
  std::int64_t channels = 0;  ///< all coils of the scan, or 1: its strongest
  /// Computes right_hand_side = E^H b of b [channel][sample of the scan; of this process] on the device; returns |b|, of
  /// samples that E has several times as often.
  std::function<double(const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side)> adjoint;
};

/// Solves for the image with sparse terms by ADMM, into the first image of `solution` and its volumes. `samples` are those
/// of the right-hand side; of the first of several coils the strengths become weights.
template <class T>
void solve_sparse(Model<T>& model, Solution<T>& solution, const Measurements<T>& data,
                  const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise, bool is_first,
                  const Context& context);

}  // namespace fhd
