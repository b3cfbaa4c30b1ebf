#pragma once
// The elements of encodings, for the loop of pointwise.hpp: an index is a voxel p or a sample m, and goes
// through the coils in their order, so that sums are the same in every run. Floor: the bytes of the arrays,
// read or written once.
#include <cmath>

#include "recon/array/pointwise.hpp"

namespace fhd {

/// `f` of voxels or samples, each with all its coils: few of them pay for threads.
template <class F>
void for_each_with_coils(Device device, std::int64_t count, const F& f) {
  for_each_index(device, count, f, 1 << 11);
}

/// S(c, p) of maps [coil][voxel].
template <class T>
struct MapValues {
  const Complex<T>* maps;
  std::int64_t size, voxels;
};

/// coil_images(c, p) = S(c, p) image(p), or that much more where it `adds`
template <class T>
struct ApplyMaps {
  static constexpr const char* name = "applying sensitivity maps";
  MapValues<T> s;
  const Complex<T>* image;
  Complex<T>* coil_images;
  bool adds = false;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const Complex<T> rho = image[p];
    for (std::int64_t i = p; i < s.size; i += s.voxels)
      coil_images[i] = adds ? coil_images[i] + s.maps[i] * rho : s.maps[i] * rho;
  }
};

/// image(p) = sum over c of conj(S(c, p)) coil_images(c, p), or that much more where it `adds`
template <class T>
struct CombineCoils {
  static constexpr const char* name = "combining coils";
  MapValues<T> s;
  const Complex<T>* coil_images;
  Complex<T>* image;
  bool adds;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    Complex<T> sum;
    for (std::int64_t i = p; i < s.size; i += s.voxels) sum += conj(s.maps[i]) * coil_images[i];
    image[p] = adds ? image[p] + sum : sum;
  }
};

/// image(p) /= sum over c of |S(c, p)|^2, or 0
template <class T>
struct DivideBySquares {
  static constexpr const char* name = "dividing by the squares of the maps";
  const Complex<T>* maps;
  std::int64_t size, voxels;
  Complex<T>* image;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const T square = sum_of_squares(maps, size, voxels, p);
    image[p] = square > 0 ? (T(1) / square) * image[p] : Complex<T>();
  }
};

/// image(p) = sqrt(sum over c of |coil_images(c, p)|^2)
template <class T>
struct RootSumOfSquares {
  static constexpr const char* name = "the root of the sum of squares";
  const Complex<T>* coil_images;
  std::int64_t size, voxels;
  Complex<T>* image;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    image[p] = std::sqrt(sum_of_squares(coil_images, size, voxels, p));
  }
};

/// squares(p) = sum over c of |S(c, p)|^2
template <class T>
struct SumOfSquares {
  static constexpr const char* name = "the squares of the maps";
  const Complex<T>* maps;
  std::int64_t size, voxels;
  T* squares;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    squares[p] = sum_of_squares(maps, size, voxels, p);
  }
};

// The preconditioner on stacks of images: index i is voxel p = i mod voxels of image j = i / voxels, whose
// coil images [coil][voxel] lie at j size.

/// S(c, p) of maps [coil][voxel], and s(p).
template <class T>
struct MapsAndScale {
  const Complex<T>* maps;
  const T* scale;
  std::int64_t size, voxels;
};

/// coil_images(j, c, p) = S(c, p) s(p) images(j, p)
template <class T>
struct ApplyScaledMaps {
  static constexpr const char* name = "applying scaled maps";
  MapsAndScale<T> s;
  const Complex<T>* images;
  Complex<T>* coil_images;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t j = i < s.voxels ? 0 : i / s.voxels, p = i - j * s.voxels;
    const Complex<T> value = s.scale[p] * images[i];
    for (std::int64_t at = p; at < s.size; at += s.voxels) coil_images[j * s.size + at] = s.maps[at] * value;
  }
};

/// spectra(c, k) *= factors(k)
template <class T>
struct MultiplySpectra {
  static constexpr const char* name = "multiplying spectra";
  const T* factors;
  std::int64_t size, voxels;
  Complex<T>* spectra;
  FHD_HOST_DEVICE void operator()(std::int64_t k) const {
    const T factor = factors[k];
    for (std::int64_t i = k; i < size; i += voxels) spectra[i] = factor * spectra[i];
  }
};

/// out(j, p) = s(p) sum over c of conj(S(c, p)) coil_images(j, c, p) + bare(p) in(j, p), bare null for 0; or,
/// where it `adds`, the sum alone is added.
template <class T>
struct CombineScaled {
  static constexpr const char* name = "combining coils with scaled maps";
  MapsAndScale<T> s;
  const Complex<T>* coil_images;
  const T* bare;
  const Complex<T>* in;
  Complex<T>* out;
  bool adds;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t j = i < s.voxels ? 0 : i / s.voxels, p = i - j * s.voxels;
    Complex<T> sum;
    for (std::int64_t at = p; at < s.size; at += s.voxels)
      sum += conj(s.maps[at]) * coil_images[j * s.size + at];
    sum = s.scale[p] * sum;
    if (adds)
      sum += out[i];
    else if (bare != nullptr)
      sum += bare[p] * in[i];
    out[i] = sum;
  }
};

// The factors of the preconditioner.

/// kernel(d) = sum of q(d'), d' = d or d - n along each axis, times the share of the voxels that have one at
/// d'; q is on the periodic grid g. Axes z, y, x.
template <class T>
struct CirculantKernel {
  static constexpr const char* name = "the kernel of a circulant";
  const Complex<T>* q;
  std::int64_t n[3], g[3];
  Complex<double>* kernel;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t d[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
    Complex<double> sum;
    for (int corner = 0; corner < 8; ++corner) {
      double pairs = 1;
      std::int64_t at = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const bool wraps = (corner >> axis & 1) != 0;
        pairs *= static_cast<double>(wraps ? d[axis] : n[axis] - d[axis]) / static_cast<double>(n[axis]);
        at = at * g[axis] + (wraps ? (d[axis] - n[axis] + g[axis]) % g[axis] : d[axis]);
      }
      if (pairs > 0) sum += pairs * Complex<double>(q[at]);
    }
    kernel[i] = sum;
  }
};

/// values(k) = Re spectrum(k), or 0 where that is negative
struct NonNegativePart {
  static constexpr const char* name = "the eigenvalues of a circulant";
  const Complex<double>* spectrum;
  double* values;
  FHD_HOST_DEVICE void operator()(std::int64_t k) const {
    values[k] = spectrum[k].re > 0 || spectrum[k].re != spectrum[k].re ? spectrum[k].re : 0;
  }
};

/// sums(part) = sum over the elements of a part of f(i): of `parts` parts, interleaved, as a GPU reads them, or
/// each by itself. Sums of all of them follow in the order of the parts.
template <class F>
struct SumInParts {
  static constexpr const char* name = "adding in parts";
  F f;
  std::int64_t size, parts;
  bool interleaved;
  double* sums;
  FHD_HOST_DEVICE void operator()(std::int64_t part) const {
    const std::int64_t of_each = (size + parts - 1) / parts, first = interleaved ? part : part * of_each,
                       step = interleaved ? parts : 1, end = interleaved ? size : first + of_each;
    double sum = 0;
    for (std::int64_t i = first; i < end && i < size; i += step) sum += f(i);
    sums[part] = sum;
  }
};

/// Returns the elements unchanged.
template <class T>
struct Elements {
  const T* values;
  FHD_HOST_DEVICE double operator()(std::int64_t i) const { return static_cast<double>(values[i]); }
};

/// |S|^2 |S|^2 / (|S|^2 + floor), or 0
template <class T>
struct WeightedSquares {
  const T* squares;
  double floor;
  FHD_HOST_DEVICE double operator()(std::int64_t p) const {
    const double square = squares[p], sum = square + floor;
    return sum > 0 ? square * square / sum : 0;
  }
};

/// scale(p) = s = 1 / (|S|^2 + floor), or 0; bare(p) = (1 - |S|^2 s)^2 s / samples
template <class T>
struct ScaleAndBare {
  static constexpr const char* name = "the scale of a preconditioner";
  const T* squares;
  double floor, samples;
  T *scale, *bare;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    const double square = squares[p], sum = square + floor, s = sum > 0 ? 1 / sum : 0, left = 1 - square * s;
    scale[p] = static_cast<T>(s);
    bare[p] = static_cast<T>(left * left * s / samples);
  }
};

/// spectrum(k) = 1 / (voxels (share circulant(k) + samples ((1 - share) penalty(k) / mean_penalty + damping)));
/// without a penalty its mean is 0.
template <class T>
struct InverseSpectrum {
  static constexpr const char* name = "the spectrum of a preconditioner";
  const double *circulant, *penalty;
  double voxels, share, samples, mean_penalty, damping;
  T* spectrum;
  FHD_HOST_DEVICE void operator()(std::int64_t k) const {
    const double relative = mean_penalty > 0 ? penalty[k] / mean_penalty : 0;
    spectrum[k] =
        static_cast<T>(1 / (voxels * (share * circulant[k] + samples * ((1 - share) * relative + damping))));
  }
};

/// turn(p) = exp(-i sum over l of kappa_l b_l(p)) D(p), the angle in double; D is 1 where decay is null, else exp(-R time), or,
/// where there is a fraction f, f exp(-R time) + (1 - f) exp(-R' time).
template <class T>
struct TurnByFields {
  static constexpr const char* name = "turning by fields";
  const double *basis, *kappa;                    ///< [term][voxel], [term]
  const double *decay, *second_decay, *fraction;  ///< [voxel]
  std::int64_t terms, voxels;
  double time_s;
  Complex<T>* turn;
  FHD_HOST_DEVICE void operator()(std::int64_t p) const {
    double angle = 0;
    for (std::int64_t l = 0; l < terms; ++l) angle -= kappa[l] * basis[l * voxels + p];
    double size = decay == nullptr ? 1 : std::exp(-decay[p] * time_s);
    if (fraction != nullptr)
      size = fraction[p] * size + (1 - fraction[p]) * std::exp(-second_decay[p] * time_s);
    turn[p] = Complex<T>(Complex<double>(size * std::cos(angle), size * std::sin(angle)));
  }
};

/// to(c, i) = f(i) from(c, i), or that much more where it `adds`; with conj(f(i)) where it `conjugates`. i is a voxel or a
/// sample.
template <class T, bool conjugates, bool adds>
struct MultiplyEach {
  static constexpr const char* name = "multiplying by factors";
  const Complex<T>*factors, *from;
  std::int64_t size, count;
  Complex<T>* to;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const {
    const Complex<T> f = conjugates ? conj(factors[i]) : factors[i];
    for (std::int64_t at = i; at < size; at += count)
      if constexpr (adds)
        to[at] += f * from[at];
      else
        to[at] = f * from[at];
  }
};

}  // namespace fhd
