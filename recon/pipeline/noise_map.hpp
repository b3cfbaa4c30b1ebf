#pragma once
// How noisy an image is, voxel by voxel, and how sharp: beside the image, not part of it.
//
// Pseudo-replicas: the samples with further noise, like that of the scan, are reconstructed again and again with
// the same coils, maps, lambda and strengths; the images scatter as those of repeated scans would. Right for every
// method; for one that is not linear (wavelet, tv, tgv, coils without maps) it is a statement about this image
// alone, with twice the noise under it. Source: Robson et al., MRM 60:895 (2008).
//
// Exactly: where E^H E couples a voxel with its aliases alone (Cartesian lattices, each position sampled as
// often), with C the covariance of the coils and M the samples, over the aliases p' of a voxel,
//
//     N(p, p') = M sum_c conj(S_c(p)) S_c(p') turn(p - p'),    A = N + lambda,    cov = A^-1 (M S^H C S) A^-1.
//
// Source: Pruessmann et al., MRM 42:952 (1999).
//
// In both, `deviation` is that of the real part: of a magnitude well above the noise. The SNR is |rho| / deviation
// (Kellman and McVeigh, MRM 54:1439 (2005)). The g-factor is the deviation over that of as many samples spread
// evenly over a fully sampled k-space, sqrt(S^H C S / 2 M) / S^H S: Pruessmann's for Cartesian SENSE without
// lambda. Elsewhere it also holds what uneven density costs, and what lambda, or corners of k-space that are not
// measured, take off: below 1 there. Of methods that are linear, and whose image is in the unit of the
// magnetisation (all but the adjoint).
#include <cstdint>
#include <memory>
#include <optional>

#include "recon/array/execution.hpp"
#include "recon/domain/message.hpp"
#include "recon/domain/report.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd {

struct NoiseMapRequest {
  std::int64_t replicas = 0;  ///< >= 2; 0: exactly
};

/// Throws Error naming noise_map.replicas where the request is out of range.
void validate(const NoiseMapRequest& request);
/// Throws Error where noise_maps would, as far as the settings tell; and, before it is reconstructed, the scan:
/// all but that coils may not tell the aliases of a voxel apart, and that the matrix may grow
/// (settings.outside_fov).
void require_noise_maps_can(const NoiseMapRequest& request, const Settings& settings);
void require_noise_maps_can(const NoiseMapRequest& request, const Settings& settings, const Scan& scan);

/// Throws Error where the samples are no lattice of whole cycles/FOV with as many at each position, or where the scan
/// corrects off-resonance, or has several coils and no maps. (sense_noise.cpp)
void require_lattice(const Scan& scan, bool has_maps);
/// Returns the standard deviation of the real part of least squares with lambda |rho|^2 (absolute, in the unit of the
/// maps of the scan), [z][y][x] on its matrix; 0 where no coil sees anything. `covariance` [coil][coil] is that of
/// its samples, E n n^H. Throws Error as require_lattice, and where its coils cannot tell the aliases apart.
Array<double> sense_noise(const Scan& scan, const Array<Complex<double>>& covariance, double lambda);

struct NoiseMapResult {
  NoiseMaps maps;  ///< on the matrix of the image
  NoiseSummary summary;
  std::vector<Message> messages;

  void note(std::string text) { messages.push_back({"noise_map", Severity::note, std::move(text)}); }
};

/// Makes the maps of the image `made` of the scan `measured` with these settings. Progress has the stage "noise map".
/// Throws Error where there is no noise to go by, or where the exact way is asked for and `measured` is no such
/// lattice or the method not least squares with lambda |rho|^2.
NoiseMapResult noise_maps(const Reconstruction& made, const Scan& measured, const Settings& settings,
                          const Execution& execution, const NoiseMapRequest& request,
                          const std::shared_ptr<TrajectoryCache>& cache = {},
                          const ProgressCallback& progress = {});

}  // namespace fhd
