#pragma once
// A first image tells the magnitude of the object, and how much of the samples does not fit.
//
// The floor. Let e be an eigenvalue of E^H E, s^2 the mean square of what does not fit in a sample (noise, wrong maps), and c
// the magnitude of the image. Along the eigenvector least squares find a component of c with an error of s / sqrt(e); the
// samples speak where q = sqrt(e) c / s is above 1. A floor mu = f s^2 / c^2 changes this in two ways:
//
//     what it takes off,  c mu / (e + mu),  is  f q / (q^2 + f) <= sqrt(f) / 2  of that error, for every e: it is not seen;
//     what is left of it, s sqrt(e) / (e + mu),  is at most  c / (2 sqrt(f)),   for every e: it does not burst.
//
// f = 0.1: at most a sixth of the error, and 1.6 times the image. s^2 comes from the first image (least squares with the
// reference lambda): the smallest |a E rho - d|^2 over factors a, over the number of values.
//
//
// The default lambda of Cartesian scans with regular gaps is 40 s^2 / c^2: what gaps leave open are fine details, in which an
// object has some fortieth of the energy that voxels of magnitude c would have, and there the best lambda is s^2 over that. s^2
// counts wrong maps as well as noise. 40 was chosen on simulated scans, where errors are within 1.11 times the best; with a share
// of the eigenvalues up to 1.65 times (validation/results/2026-11-26-default-lambda.md).
#include "recon/pipeline/model.hpp"

namespace fhd {

/// Finds the first image, least squares with the reference lambda, to about a per cent, from E^H d = `fhd`.
template <class T>
void find_first_image(const Model<T>& model, const Array<Complex<T>>& fhd, Array<Complex<T>>& image,
                      const Context& context);

/// Returns the magnitude below which half of the energy of an image lies.
template <class T>
double magnitude_of(const Array<Complex<T>>& image);

/// Returns s^2 / c^2, in the unit of E^H E, of a first image of magnitude c. `samples` are those of this process.
template <class T>
double misfit_over_image(const Model<T>& model, const Array<Complex<T>>& image, double magnitude,
                         const Array<Complex<T>>& fhd, const Array<Complex<T>>& samples,
                         const Context& context);

}  // namespace fhd
