#pragma once
// Images with terms without squares, and the search of the strength of one of them.
#include <functional>

#include "recon/pipeline/solve.hpp"
#include "recon/solve/admm.hpp"

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

/// An image on its way from one strength of the term that is sought to the next, with what the solver left.
template <class T>
struct StrengthPath {
  Array<Complex<T>> image;  ///< of the shape of right-hand sides
  double strength = 0;      ///< of the solution; 0: none yet
  SparseSolution<T> solution{};

  /// Moves to the image of another path: *this += share (other - *this), with the duals and auxiliary unknowns.
  void move_towards(const StrengthPath& other, double share);
  int iterations() const { return static_cast<int>(solution.relative_residuals.size()) - 1; }
};

template <class T>
struct StrengthSearch {
  /// Solves by least squares.
  std::function<void(const Array<Complex<T>>& fhd, Array<Complex<T>>& image)> first_image;
  /// Solves with the term, from where the path has come; at most so many iterations, to this residual.
  std::function<void(const Array<Complex<T>>& fhd, double strength, const SparseSettings& limits,
                     StrengthPath<T>& path)>
      solve;
};
/// The strength where there is no noise to go by.
inline constexpr double default_strength = 0.005;
/// Returns the strength of the one sparse term that leaves it to the noise: the minimum of Stein's unbiased risk estimate
/// over strengths, or `default_strength`. `path` starts with the first image, and ends near that of the strength. The curve
/// goes to the report. (strength.cpp)
template <class T>
double search_strength(const StrengthSearch<T>& search, const HermitianOperator<T>& normal,
                       const Measurements<T>& data, const Array<Complex<T>>& samples,
                       const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
                       const Context& context);

}  // namespace fhd
