#pragma once
// Scan + settings -> image + report: the whole chain, on one device.
#include <memory>
#include <optional>
#include <string>

#include "recon/array/work.hpp"
#include "recon/pipeline/prepare_coils.hpp"
#include "recon/pipeline/verifier.hpp"
#include "recon/transform/transform.hpp"
#include "recon/domain/report.hpp"
#include "recon/solve/terms/anatomical_prior.hpp"
#include "recon/encoding/process_group.hpp"
#include "recon/domain/trajectory_cache.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

enum class Method { cg, gridded, adjoint, fft };
enum class TransformKind { automatic, direct, gridded };
enum class NormalKind { toeplitz, explicit_product };
enum class RegularizerKind { identity, roughness };

/// lambda over the mean eigenvalue of E^H E, (samples) x (mean over voxels of sum |S_c|^2), when no lambda is
/// given.
inline constexpr double default_regularization = 0.05;

struct Settings {
  Method method = Method::cg;
  TransformKind transform = TransformKind::automatic;  ///< direct when it is affordable, else gridded
  NormalKind normal = NormalKind::toeplitz;
  RegularizerKind regularizer = RegularizerKind::identity;
  Precision precision = Precision::single_precision;
  /// Relative to the largest eigenvalue of E^H E. Not given: default_regularization times the mean
  /// eigenvalue, which suits trajectories with a dense centre of k-space (whose largest eigenvalue is far
  /// above the rest) as well.
  std::optional<double> lambda;
  /// Search the lambda whose data residual is the noise (discrepancy principle), instead of the default.
  bool lambda_from_noise = false;
  int iterations = 30;      ///< at most
  double tolerance = 1e-4;  ///< stop when the relative residual of the normal equations falls below
  double accuracy = 1e-5;   ///< requested of the gridded transform
  CoilSettings coils;
  std::optional<Volume> prior;     ///< an image of the same anatomy, whose edges weight the roughness
  double prior_strength = 1;       ///< see edge_weights
  Device device = Device::cpu();  ///< cuda: the device chosen with device::select
  SinCos direct_variant = SinCos::fast;
  std::shared_ptr<TrajectoryCache> trajectory_cache;  ///< null: what depends on the trajectory lives as long
                                                      ///< as the Reconstructor
  std::shared_ptr<const Verifier> verifier;         ///< null: results carry no certificate
  std::shared_ptr<const ProcessGroup> team;                   ///< null: this process reconstructs alone
};

struct Reconstruction {
  Image image;
  Report report;
  DiagnosticImages diagnostic_images;
  /// The scan with the coils and maps that were used, where these are not its own: for a further
  /// reconstruction that is to use the same (CoilSettings::as_they_are).
  std::optional<Scan> prepared;
};

/// Reconstructs scan after scan with the same settings. What depends on the trajectory alone (Q, plans,
/// density compensation) is kept, and used again when the next scan has the same trajectory and matrix.
///
/// Methods:  cg       (E^H E + lambda W^H W) rho = E^H d, E = F S
///           gridded  density-compensated adjoint by gridding: the conventional image
///           adjoint  E^H d, no compensation
///           fft      inverse FFT of a Cartesian scan
/// Coils are whitened and compressed, and maps found, as Settings::coils says. With sensitivity maps the
/// coils are combined by them; without, every coil is reconstructed on its own and the image is the root of
/// the sum of squares (a single coil stays complex).
class Reconstructor {
 public:
  explicit Reconstructor(const Settings& settings);
  ~Reconstructor();
  /// Throws Error when the settings contradict the scan (e.g. Method::fft on a non-Cartesian trajectory).
  Reconstruction operator()(const Scan& scan, const ProgressCallback& progress = {});

 private:
  class Implementation;
  template <class T>
  class ImplementationOf;
  std::unique_ptr<Implementation> implementation_;
};

/// One scan.
Reconstruction reconstruct(const Scan& scan, const Settings& settings, const ProgressCallback& progress = {});

}  // namespace fhd
