#pragma once
// Vector operations of the solver, on the device of their arrays. Scalars that one operation makes and the
// next one uses stay in an Array<double> on the same device: on a GPU nothing waits for the host.
//
// An array may be a stack of `count` vectors of equal size, one after the other: then every vector has scalars of its
// own, also one after the other.
#include "recon/array/array.hpp"
#include "recon/array/pointwise.hpp"

namespace fhd {

/// A quotient of two scalars that lie in arrays on the device; 0 where the denominator is 0.
struct Quotient {
  const Array<double>& numerators;
  std::int64_t numerator;
  const Array<double>& denominators;
  std::int64_t denominator;
  double factor = 1;  ///< multiplies the quotient
  /// Numerators of at most this count as 0; of a stack in a third array on the device, from its start.
  double negligible = -1;
  const Array<double>* negligible_of_each = nullptr;
  std::int64_t count = 1;  ///< of a stack

  Quotient negative() const {
    Quotient other = *this;
    other.factor = -factor;
    return other;
  }
};

/// results[index + j] = Re sum conj(a_i) b_i over the elements of vector j of `count`, summed in double in an order
/// that depends on their size alone.
template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index,
         std::int64_t count = 1);
/// y += ratio x
template <class T>
void add_scaled(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
/// y = x + ratio y
template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
/// y += factor x
template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x);
/// y *= factor
template <class T>
void scale(Array<Complex<T>>& y, T factor);
/// y = x, without allocation. Same shape and device.
template <class T>
void copy(const Array<Complex<T>>& x, Array<Complex<T>>& y);

/// y[first_y ...] = x[first_x ...], `count` elements, without allocation. Same device.
template <class T>
void copy_range(const Array<Complex<T>>& x, std::int64_t first_x, Array<Complex<T>>& y, std::int64_t first_y,
                std::int64_t count);

/// Re sum conj(a_i) b_i, on the host.
template <class T>
double real_dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b);
/// sqrt(sum |a_i|^2), on the host.
template <class T>
double norm_l2(const Array<Complex<T>>& a);

/// y = Re y: real unknowns are complex arrays whose imaginary parts are 0.
template <class T>
void keep_real_part(Array<Complex<T>>& y);
/// out(o) = sum_i weights(o, i) in(i) of the images of two stacks, one after the other; weights [image of out][image of in]
/// on their device.
template <class T>
void combine_images(const Array<T>& weights, const Array<Complex<T>>& in, Array<Complex<T>>& out);

namespace device {

/// The CUDA side, in vector_math_cuda.cu: results[0 ... count - 1], on the device of a and b.
template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, double* results, std::int64_t count);

}  // namespace device

// --- Their elements, for the loop of pointwise.hpp. Floor: each element of the vectors is moved once. ---

template <class T>
struct ConstantFactor {
  T constant;
  FHD_HOST_DEVICE T value(std::int64_t) const { return constant; }
};

/// Quotient of the vector of element i, read where its scalars lie.
template <class T>
struct QuotientFactor {
  const double *numerators, *denominators, *negligible_of_each;
  double factor, negligible;
  std::int64_t size;  ///< of a vector
  FHD_HOST_DEVICE T of_vector(std::int64_t j) const {
    const double numerator = numerators[j], denominator = denominators[j],
                 least = negligible_of_each == nullptr ? negligible : negligible_of_each[j];
    return static_cast<T>(denominator == 0 || numerator <= least ? 0 : factor * numerator / denominator);
  }
  FHD_HOST_DEVICE T value(std::int64_t i) const { return of_vector(i < size ? 0 : i / size); }
};

/// y_i += factor x_i
template <class T, class Factor>
struct AddScaled {
  static constexpr const char* name = "adding a scaled vector";
  Complex<T>* y;
  Factor factor;
  const Complex<T>* x;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] += factor.value(i) * x[i]; }
};

/// y_i = x_i + factor y_i
template <class T, class Factor>
struct ScaleAndAdd {
  static constexpr const char* name = "scaling and adding a vector";
  Complex<T>* y;
  Factor factor;
  const Complex<T>* x;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] + factor.value(i) * y[i]; }
};

/// values_j = 0 where squares_j <= limits_j
struct ZeroWhereSmall {
  static constexpr const char* name = "dropping small products";
  const double *squares, *limits;
  double* values;
  FHD_HOST_DEVICE void operator()(std::int64_t j) const {
    if (squares[j] <= limits[j]) values[j] = 0;
  }
};

/// y_i = Re y_i
template <class T>
struct RealPart {
  static constexpr const char* name = "taking the real part";
  Complex<T>* y;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i].im = 0; }
};

/// out(o) = sum_i weights(o, i) in(i). An index is a voxel of an image of `out`. Floor: out once, in once for each
/// of out.
template <class T>
struct CombineImages {
  static constexpr const char* name = "combining images";
  std::int64_t voxels, count;  ///< of an image; of images of `in`
  const T* weights;            ///< [image of out][image of in]
  const Complex<T>* in;
  Complex<T>* out;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t o = i / voxels, p = i - o * voxels;
    Complex<T> sum;
    for (std::int64_t j = 0; j < count; ++j) sum += weights[o * count + j] * in[j * voxels + p];
    out[i] = sum;
  }
};

/// y_i *= factor
template <class T>
struct Scale {
  static constexpr const char* name = "scaling a vector";
  Complex<T>* y;
  T factor;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] *= factor; }
};

}  // namespace fhd
