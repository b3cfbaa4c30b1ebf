#pragma once
// One scan, reconstructed in several ways: how far apart are F^H d, Q and the image, and how long does each
// take? The comparison of Stone et al., J. Parallel Distrib. Comput. 68:1307 (2008), figure 12 and table 3.
#include <optional>
#include <string>
#include <vector>

#include "io/result/picture.hpp"
#include "recon/pipeline/reconstruct.hpp"

namespace fhd::validation {

/// One way to reconstruct.
struct ComparisonCase {
  std::string name;  ///< of the table and the picture: "CPU.DP"
  Settings settings;
  TransformSettings sums;  ///< how F^H d and Q are computed
  Device device{};
  bool pictured = true;
};

/// Gridded, CPU in double precision (the reference of the others), CPU in single precision, and with
/// Device::cuda() the GPU with accurate and with fast sin and cos; the picture shows the last. A further one
/// is one line. `settings` holds what all share (lambda, iterations, accuracy ...).
std::vector<ComparisonCase> comparison_cases(const Settings& settings, Device device = Device::cpu());

/// One quantity of one case. F^H d and Q are measured against the reference case. The image is measured
/// against it too, except for `ssim` and `nrmse`, which take the true image when that is known.
struct Measurement {
  double seconds = 0;
  double relative_l2 = 0;             ///< |a - b| / |b|
  double relative_maximum_error = 0;  ///< max |a - b| / max |b|
  double ssim = 0;                    ///< of the magnitudes, after the best complex scale
  double nrmse = 0;                   ///< |s a - b| / |b| with the best complex scale s
};

struct CaseResult {
  ComparisonCase way;
  Measurement fhd, q, image;
  Array<Complex<double>> values;  ///< of the image, [z][y][x]
  Report report;                  ///< of the reconstruction
};

struct Comparison {
  std::string reference;             ///< the name of the reference case
  std::array<int, 3> matrix_size{};  ///< of the images
  std::vector<CaseResult> cases;
  std::optional<Array<Complex<double>>> truth;  ///< [z][y][x]
};

/// Runs every case on `scan`. `truth` has the matrix of the reconstructed image. The reference is the first
/// case of direct sums in double precision. Times include planning and set-up, not the reading of the scan.
/// Throws Error.
Comparison compare(const Scan& scan, const std::vector<ComparisonCase>& cases,
                   const std::optional<Image>& truth, const ProgressCallback& progress = {});

/// The panels of one slice: the true image (or none), then every case, each after its best scale onto the
/// true image (or the reference), all in one window, captioned with name and NRMSE; below, the magnitudes of
/// the differences, x 5.
io::GrayImage picture_of(const Comparison& comparison, int slice);

}  // namespace fhd::validation
