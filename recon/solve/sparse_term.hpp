#pragma once
// A term whose value is a sum of magnitudes, which makes differences or wavelet coefficients zero rather than small:
//
//     g(A u),   g(c) = sum over groups of |c_group|,
//
// A linear, from unknowns u to coefficients c. The unknowns are [1 + auxiliary][z][y][x]: the image, and behind it those
// that the term minimises over by itself (the slopes of tgv).
#include <array>

#include "recon/array/vector_math.hpp"

namespace fhd {

template <class T>
class SparseTerm {
 public:
  virtual ~SparseTerm() = default;
  /// Images of unknowns behind the image. Terms without look at the image alone.
  virtual int auxiliary() const { return 0; }
  /// Images of coefficients: c is [planes][z][y][x].
  virtual int planes() const = 0;
  /// c = A u
  virtual void analyze(const Array<Complex<T>>& unknowns, Array<Complex<T>>& coefficients) const = 0;
  /// u += factor A^H c
  virtual void add_adjoint(const Array<Complex<T>>& coefficients, T factor,
                           Array<Complex<T>>& unknowns) const = 0;
  /// out += factor A^H A in
  virtual void add_normal(const Array<Complex<T>>& in, T factor, Array<Complex<T>>& out) const = 0;
  /// c = argmin over c' of threshold g(c') + |c' - c|^2 / 2, the prox of g: every group is shortened by the threshold.
  virtual void shrink(T threshold, Array<Complex<T>>& coefficients) const = 0;
  /// g(c)
  virtual double value(const Array<Complex<T>>& coefficients) const = 0;
  /// The eigenvalue of a circulant near A^H A of the image, at these angles (Term::circulant).
  virtual double circulant(const std::array<double, 3>& angles) const = 0;
  /// The mean eigenvalue of A^H A of the auxiliary unknowns.
  virtual double auxiliary_curvature() const { return 0; }
};

/// The image among unknowns [1 + auxiliary][z][y][x] of `image` voxels: a view.
template <class T>
Array<Complex<T>> image_of(const Array<Complex<T>>& unknowns, const Shape& image) {
  return one_of(unknowns, image, 0);
}

}  // namespace fhd
