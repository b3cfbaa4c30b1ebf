#pragma once
// Phantoms whose k-space is known in closed form, so that no simulated scan is made with the transforms that
// reconstruct it.
//
//   P(k) = integral rho(r) exp(-i 2 pi k . r) dr,   r in fractions of the FOV, k in cycles/FOV
//
// A phantom is a sum of ellipses and rectangles (2D) or ellipsoids and boxes (3D), and of smooth bumps, each turned about z:
//
//   ellipse    P(k) = intensity pi a b         disc_transform(x)                exp(-i 2 pi k . centre)
//   ellipsoid  P(k) = intensity 4/3 pi a b c   ball_transform(x)                exp(-i 2 pi k . centre)
//   box        P(k) = intensity 2a 2b (2c)     product over axes of sin(x_i)/x_i   exp(-i 2 pi k . centre)
//   bump       P(k) = intensity a b (c)        exp(-x^2 / (4 pi))                  exp(-i 2 pi k . centre)
//
// a bump being intensity exp(-pi d^2), d the distance from the centre in half axes, with x_i = 2 pi (half axis i) (k in the part's own axes)_i and x = |(x_1, x_2, x_3)|.
// Koay, Sarlls, Ozarslan, MRM 58:430 (2007), doi:10.1002/mrm.21292, equations 1-6.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::data {

using Vector3 = std::array<double, 3>;

struct PhantomPart {
  enum class Form { ellipsoid, box, bump } form = Form::ellipsoid;
  Vector3 centre{};  ///< fractions of the FOV
  Vector3
      half_axes{};  ///< fractions of the FOV, > 0; the third has no meaning in 2D; a bump is exp(-pi) there
  double angle_rad = 0;   ///< turns the part about z, from x towards y
  double intensity = 0;   ///< added to what is already there
  bool is_fluid = false;  ///< decays as the slow one of two components alone; other parts as both
};

class Phantom {
 public:
  /// `dimensions` is 2 or 3; in 2D a part does not depend on z and P(k) on k_z.
  Phantom(int dimensions, std::vector<PhantomPart> parts);

  /// 2D: the contrast-modified Shepp-Logan head (Toft 1996). 3D: the Kak-Slaney head with the contrast of
  /// Koay et al. 2007. The head's anterior is at negative y, so that it is on top in a picture whose rows run
  /// down (LPS coordinates).
  static Phantom shepp_logan(int dimensions);
  /// A disc (ball) with groups of bars 1/24 ... 1/128 FOV wide along x, y (and z), and small holes.
  static Phantom resolution(int dimensions);
  /// A head in which little is flat: scalp, skull, folded cortex, white matter, ventricles, vessels, and a texture of bumps from
  /// a voxel or two to a tenth of the FOV, whose intensities grow with their sizes as those of photographs do. The
  /// details are drawn by chance, always the same. On top in a picture: as shepp_logan.
  static Phantom anatomy(int dimensions);

  /// A head as sodium shows it: fluid at 1, grey and white matter at 0.36 and 0.26, and a lesion.
  static Phantom sodium(int dimensions);

  /// Returns the phantom with the intensities times `of_fluid` where parts are fluid, else times `of_tissue`.
  Phantom weighted(double of_tissue, double of_fluid) const;
  /// Returns the phantom `factor` times as large about the centre of the FOV.
  Phantom scaled(double factor) const;
  /// Returns the section of a phantom of 3 dimensions with a plane at height z (fractions of the FOV), in 2: of ellipsoids
  /// ellipses, of boxes rectangles, of bumps fainter ones.
  Phantom section(double z) const;

  int dimensions() const { return dimensions_; }
  const std::vector<PhantomPart>& parts() const { return parts_; }
  /// rho(r); parts but bumps are closed sets.
  double value(const Vector3& r) const;
  /// P(k).
  Complex<double> fourier_integral(const Vector3& k) const;
  /// Computes the integrals at many positions, whose axes are as many numbers as there are `values`.
  void fourier_integrals(const std::array<std::span<const double>, 3>& k,
                         std::span<Complex<double>> values) const;
  /// The share of part `part` in P(k), were its centre at 0: a real number. Of many positions at a time,
  /// `shares` as many as each axis of `k` has.
  void centred_integrals(std::size_t part, const std::array<std::span<const double>, 3>& k,
                         std::span<double> shares) const;

 private:
  int dimensions_;
  std::vector<PhantomPart> parts_;
  struct Turn {
    double cosine, sine;
  };
  std::vector<Turn> turns_;  ///< of each part's angle: fourier_integral is called for every sample
};

/// Returns a section (or volume) of a chest at `time`, from 0, the beginning of the scan, to 1, its end: 8 heartbeats, 3
/// breaths, and contrast agent that vessels and organs take up, each in its own time. The anterior is at negative y.
Phantom moving_phantom(int dimensions, double time);
/// Returns the chest after the bolus, its heart at rest, at a depth of breath of 0 (expired) ... 1: lungs widen, and
/// the diaphragm moves organs by a tenth of the FOV.
Phantom breathing_phantom(int dimensions, double depth);
/// Returns the depth of breath, 0 ... 1, at `time`, 0 ... 1 from the beginning of the scan to its end, of so many breaths:
/// longest at rest when expired, no two alike in length and depth.
double depth_of_breath(double breaths, double time);

/// Calls work(i, scratch) for i from 0 to `count` by all threads, each with scratch of its own that `make` makes.
template <class Make, class Work>
void for_each_with_scratch(std::int64_t count, const Make& make, const Work& work) {
  ParallelFailure failure;
#pragma omp parallel
  {
    auto scratch = failure.made_by(make);
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i)
      if (scratch) failure.guard([&] { work(i, *scratch); });
  }
  failure.rethrow();
}

/// exp(sign i 2 pi k . r)
Complex<double> exponential(int sign, const Vector3& k, const Vector3& r);
/// 2 J_1(x) / x, 1 at x = 0.
double disc_transform(double x);

/// The mean of rho over each voxel, [z][y][x], from 8 points per axis where the edge of a part may cross it.
Array<double> ideal_image(const Phantom& phantom, std::array<int, 3> matrix_size);

/// The image whose model samples (recon/transform/transform.hpp) equal voxel_count P(k) at the N integer positions
/// -floor(N/2) ... of every axis, [z][y][x]: rho as a fully sampled Cartesian scan of this matrix shows it.
/// For even N the edge -N/2 has no partner at +N/2, so the image has a small imaginary part.
Array<Complex<double>> band_limited_image(const Phantom& phantom, std::array<int, 3> matrix_size);

}  // namespace fhd::data
