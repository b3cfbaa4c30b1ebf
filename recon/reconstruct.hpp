#pragma once
// Scan + settings -> image + report: the whole chain, on one backend.
#include "recon/report.hpp"
#include "recon/types.hpp"

namespace fhd {

enum class Method { cg, gridded, adjoint, fft };
enum class TransformKind { automatic, direct, gridded };
enum class NormalKind { toeplitz, explicit_product };
enum class RegularizerKind { identity, roughness };
enum class Precision { single_precision, double_precision };

struct Settings {
  Method method = Method::cg;
  TransformKind transform = TransformKind::automatic;  ///< direct when it is affordable, else gridded
  NormalKind normal = NormalKind::toeplitz;
  RegularizerKind regularizer = RegularizerKind::identity;
  Precision precision = Precision::single_precision;
  double lambda = 1e-3;      ///< relative to the largest eigenvalue of F^H F
  int iterations = 30;       ///< at most
  double tolerance = 1e-4;   ///< stop when the relative residual of the normal equations falls below
  double accuracy = 1e-5;    ///< requested of the gridded transform
  Backend backend = Backend::cpu;
};

struct Reconstruction {
  Image image;
  Report report;
};

/// Throws Error when the settings contradict the scan (e.g. Method::fft on a non-Cartesian trajectory).
Reconstruction reconstruct(const Scan& scan, const Settings& settings, const ProgressCallback& progress = {});

}  // namespace fhd
