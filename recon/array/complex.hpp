#pragma once
// One complex number type for host and device. std::complex is kept out of device code (nvcc has dropped
// multiplications of it), and its operators check for infinities, which costs 4 x in inner loops.
// Same layout as std::complex<T>, fftw_complex, cuComplex and the HDF5 compound {r, i}.
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define FHD_HOST_DEVICE __host__ __device__
#else
#define FHD_HOST_DEVICE
#endif

namespace fhd {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re{}, im{};

  constexpr Complex() = default;
  FHD_HOST_DEVICE constexpr Complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
  template <class U>
  FHD_HOST_DEVICE constexpr explicit Complex(const Complex<U>& other)
      : re(static_cast<T>(other.re)), im(static_cast<T>(other.im)) {}

  FHD_HOST_DEVICE constexpr Complex& operator+=(Complex b) {
    re += b.re, im += b.im;
    return *this;
  }
  FHD_HOST_DEVICE constexpr Complex& operator-=(Complex b) {
    re -= b.re, im -= b.im;
    return *this;
  }
  FHD_HOST_DEVICE constexpr Complex& operator*=(T s) {
    re *= s, im *= s;
    return *this;
  }
  FHD_HOST_DEVICE friend constexpr Complex operator+(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  FHD_HOST_DEVICE friend constexpr Complex operator-(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  FHD_HOST_DEVICE friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  FHD_HOST_DEVICE friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  FHD_HOST_DEVICE friend constexpr Complex operator*(T s, Complex a) { return {s * a.re, s * a.im}; }
  FHD_HOST_DEVICE friend constexpr bool operator==(Complex a, Complex b) {
    return a.re == b.re && a.im == b.im;
  }
};

template <class T>
FHD_HOST_DEVICE constexpr Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}
/// |a|^2
template <class T>
FHD_HOST_DEVICE constexpr T norm(Complex<T> a) {
  return a.re * a.re + a.im * a.im;
}
template <class T>
T abs(Complex<T> a) {
  return std::hypot(a.re, a.im);
}

/// sum over c of |values(c, p)|^2 of values that lie behind each other at a voxel, coils or vectors, `voxels` apart
template <class T>
FHD_HOST_DEVICE T sum_of_squares(const Complex<T>* values, std::int64_t size, std::int64_t voxels,
                                 std::int64_t p) {
  T sum = 0;
  for (std::int64_t i = p; i < size; i += voxels) sum += norm(values[i]);
  return sum;
}

}  // namespace fhd
