#pragma once
// The steps of a reconstruction in their order: reconstruct.cpp calls them, and each is a file of this folder. What
// they do is told to the journal of the context.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "recon/coils/calibration.hpp"
#include "recon/domain/scan.hpp"
#include "recon/encoding/map_sets.hpp"
#include "recon/encoding/off_resonance.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/context.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/solve/problem.hpp"
#include "recon/solve/sparse_solution.hpp"

namespace fhd {

struct ScanSizes;

/// What scans of one trajectory share where the centre of k-space is looked at, kept from scan to scan.
struct KeptCalibrations {
  std::optional<CalibrationSystem> surroundings{}, maps{};
};

// --- surroundings.cpp ---

/// The scan on a larger matrix, to be cropped, where the object reaches beyond the field of view and the samples
/// tell it apart; empty where it stays as it is. Said in a note and the stage "surroundings".
std::optional<Scan> prepare_matrix(const Scan& scan, const Context& context, KeptCalibrations& kept);

// --- prepare_coils.cpp ---

/// Coils left out when all their samples are zero, whitened, compressed, maps found, as the settings say; empty
/// when the scan enters as it is. What was done goes to the settings, stages ("whitening", "coil compression",
/// "sensitivity maps") and notes of the report. Throws Error when the settings ask for what the scan cannot
/// give, or when nothing unfolds the image (decide_folding). `device` helps to find maps; all arrays are in host
/// memory. `mixing` [virtual coil][coil] is what the coils were multiplied by, for further volumes of the scan; empty
/// where they stay.
std::optional<Scan> prepare_coils(const Scan& scan, const Settings& settings, Journal& journal,
                                  Device device = Device::cpu(), Array<Complex<double>>* mixing = nullptr,
                                  KeptCalibrations* kept = nullptr);

// --- prepare.cpp: values scaled to a largest magnitude near 1, so that no scale of a scanner or of a map leaves the
// range of T ---

/// Of one volume, or of several that share all but their samples.
template <class T>
struct Measurements {
  const Scan& scan;  ///< with the coils as prepared; its k-space is that of the first volume
  std::vector<const KSpace*> volumes{};  ///< k-space of each, with the coils as prepared
  Array<Complex<T>> samples{};           ///< [volume and coil][sample of this process], divided by the unit
  std::vector<double> units{};           ///< of each volume, a power of two; 0 when all its samples are zero

  std::int64_t volume_count() const { return static_cast<std::int64_t>(volumes.size()); }
  /// Of a volume, to multiply its image by.
  double unit(std::int64_t volume) const {
    const double of_samples = units[static_cast<std::size_t>(volume)];
    return of_samples == 0 ? 1 : of_samples;
  }
};

/// In host memory; what follows the density compensation goes to the device of the context.
template <class T>
Measurements<T> measurements_of(const Scan& scan, std::vector<const KSpace*> volumes, const Context& context);
template <class T>
void copy_to_device(Array<Complex<T>>& values, const Context& context);

/// Sensitivity maps [coil][z][y][x] on the device, those of the scan divided by `unit`, a power of two; empty
/// without. Throws Error when all are zero.
template <class T>
struct ScaledMaps {
  Array<Complex<T>> values{};
  double unit = 1;
};
template <class T>
ScaledMaps<T> maps_of(const Scan& scan, const Context& context);

/// The coil with the most energy.
std::int64_t strongest_coil(const KSpace& kspace);

// --- model.cpp: the system of least squares ---

/// E and E^H E with a regularizer, of one trajectory and one set of maps.
template <class T>
struct Model {
  std::shared_ptr<const Encoding<T>> encoding;
  /// Its first quadratic term is the regularizer, whose weight, lambda, is chosen later, as those of sparse terms.
  Problem<T> problem;
  std::shared_ptr<const SenseEncoding<T>> sense;  ///< with the maps, or one coil of ones
  /// `encoding` where the scan has two sets of maps, of which `sense` is the first; else null.
  std::shared_ptr<const MapSetsEncoding<T>> sets{};
  double map_unit = 1;    ///< the maps of the scan are those of `sense` times this, a power of two
  bool has_maps = false;  ///< of the scan, or ones
  bool corrects_off_resonance = false;
  /// Of the Toeplitz operators of time segments; else null.
  std::shared_ptr<const TurnedMaps<T>> turned_maps{};
  bool fits_scans_alike = false;  ///< depends on nothing but trajectory, matrix and maps
  /// Of E^H E, of the maps as they are here, the mean of the first set. The largest: where it is needed before the solution, else 0.
  double largest_eigenvalue = 0, mean_eigenvalue = 0;
  /// What a preconditioner is made of: circulant_of_point_spread; empty: there is none.
  Array<double> circulant{};
  std::int64_t coils_at_once = 0, images_at_once = 1;
  /// Of the problem, whose images are then [frame and z][y][x] (solve/stack.hpp); all else is of one of them.
  std::int64_t frames = 1;
  double image_share =
      1;  ///< the magnitude of images over that of what is sought, where that is another (frames.cpp)
  std::shared_ptr<const HermitianOperator<T>> preconditioner{};  ///< the last one, of a term of this weight
  double preconditioned_weight = -1;

  const Array<Complex<T>>& maps() const { return sense->maps(); }
};

/// The time segments of a scan whose field map is used; says why one is not. Empty without.
struct OffResonance {
  TimeSegments segments, differences;  ///< of E and of E^H E (Toeplitz)
};
std::optional<OffResonance> off_resonance_of(const Scan& scan, const Context& context);

/// Sizes of a scan with its coils prepared (estimate.hpp), as far as arrays on the device of each process depend on it:
/// device_memory.cpp.
ScanSizes device_sizes_of(const Scan& scan, const std::optional<OffResonance>& off_resonance,
                          const ProcessGroup& processes);
/// Coils that a GPU takes together (0: all, on the CPU); the plan goes to the report: device_memory.cpp.
std::int64_t planned_coils_at_once(const Scan& scan, const TransformSettings& transform,
                                   const std::optional<OffResonance>& off_resonance, const Context& context);

/// Volumes of a series like `scan`, with its coils as prepared, that a GPU takes together: as many as gain something, and
/// fit beside much else. On the CPU one: device_memory.cpp.
std::int64_t planned_volumes_at_once(const Scan& scan, const Context& context);
/// What each of them takes there at most, beside what they share.
double device_bytes_of_volume(const Scan& scan, const Settings& settings, Device device);

/// Whether a model that is kept, which is that of the trajectory, is that of the maps of `scan` too.
template <class T>
bool model_fits(const Model<T>& model, const Scan& scan, bool corrects_off_resonance);

/// `coils_at_once`: of operators on a GPU, a divisor of the coils; 0: all. `images_at_once`: of volumes that come
/// together.
template <class T>
Model<T> make_model(const Scan& scan, const std::optional<OffResonance>& off_resonance,
                    std::int64_t coils_at_once, std::int64_t images_at_once,
                    TrajectoryOperators<T>& operators, const Context& context);

/// M^-1 of the system with this weight of its quadratic term, and with A^H A of every sparse term times a penalty; null
/// where conjugate gradient goes without.
template <class T>
std::shared_ptr<const HermitianOperator<T>> preconditioner_of(const Model<T>& model, double weight,
                                                              double sparse_penalty, const Context& context);

// --- solve.cpp: images by least squares ---

/// What is told of one volume.
struct SolvedVolume {
  std::vector<double> relative_residuals{}, objectives{};
  std::optional<double> stationarity{};  ///< SparseSolution::stationarity
  bool converged = true;
  double data_residual = 0;
  double largest_eigenvalue = 0;  ///< of E^H E, in the unit of the scan's maps
  std::optional<Certificate> certificate{};
  std::optional<Verdict> verdict{};

  void tell(Report& report) const;
};

/// Images [volume][z][y][x].
template <class T>
struct Solved {
  Array<Complex<T>> images;
  std::vector<SolvedVolume> volumes;
};

/// What the solver found, of volumes that were solved side by side, with products that a verifier compares with direct sums.
template <class T>
struct Solution {
  Array<Complex<T>> images;            ///< [volume][z][y][x]
  Array<Complex<T>> right_hand_sides;  ///< E^H d
  Array<Complex<T>> predicted{};       ///< E image, [volume and coil][sample of this process]
  std::vector<SolvedVolume> volumes{};
  Array<Complex<T>> subgradient{};  ///< with sparse terms, which one volume is solved with: SparseSolution
};

/// The images of a model with maps, or, without, the root of the sum of squares of the images of every coil (a
/// single coil stays complex), in units of data.unit / model.map_unit. Several volumes are solved side by side, those
/// with maps or of one coil. Chooses lambda, of the first.
template <class T>
Solved<T> solve(Model<T>& model, const Measurements<T>& data, TrajectoryOperators<T>& operators,
                const Context& context);

/// Of a solution whose volumes are told: E images beside `samples`, |E image - d| / |d| of each, and, where it `verifies`,
/// certificate and verdict of the verifier; of all coils together, or of `coil` without its map.
template <class T>
void check_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                    const Array<Complex<T>>& samples, std::optional<std::int64_t> coil, bool verifies,
                    TrajectoryOperators<T>& operators, const Context& context);

/// lambda, the weight of the regularizer, chosen once for a scan: as LeastSquares::lambda says, into the weight of
/// the term and the report. `samples` are all of `data`, or those of its strongest coil, and `fhd` is their E^H d: a
/// search solves for them. lambda.cpp.
template <class T>
void choose_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                   const Array<Complex<T>>& fhd, const Context& context);

/// Finds the largest eigenvalue of E^H E within some per cent, from E^H d = `fhd`, unless the model knows it.
template <class T>
double find_largest_eigenvalue(Model<T>& model, const Array<Complex<T>>& fhd);

/// Noise in the place of the samples of a scan, as a search of strengths by the noise asks for it.
template <class T>
struct NoiseEncoding {
  std::int64_t channels = 0;  ///< all coils of the scan, or 1: its strongest
  /// right_hand_side = E^H b of b [channel][sample of the scan; of this process] on the device; returns |b|, of samples that E
  /// has several times as often.
  std::function<double(const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side)> adjoint;
};

/// The image of sparse terms, by the solver that they ask for, into the first image of `solution` and its volumes.
/// `samples` are those of the right-hand side; of the first of several coils the strengths become weights. sparse.cpp.
template <class T>
void solve_sparse(Model<T>& model, Solution<T>& solution, const Measurements<T>& data,
                  const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise, bool is_first,
                  const Context& context);

/// An image on its way from one strength of the term that is sought to the next, with what the solver left.
template <class T>
struct StrengthPath {
  Array<Complex<T>> image;  ///< of the shape of right-hand sides
  double strength = 0;      ///< of the solution; 0: none yet
  SparseSolution<T> solution{};

  /// To the image of another path: *this += share (other - *this), with the duals and auxiliary unknowns.
  void move_towards(const StrengthPath& other, double share);
  int iterations() const { return static_cast<int>(solution.relative_residuals.size()) - 1; }
};

/// The strength of the one sparse term that leaves it to the noise: the minimum of Stein's unbiased risk estimate over
/// strengths, or `default_strength` where there is no noise to go by. `path` starts with the first image, and ends
/// near that of the strength. The curve goes to the report. strength.cpp.
inline constexpr double default_strength = 0.005;
template <class T>
struct StrengthSearch {
  /// By least squares.
  std::function<void(const Array<Complex<T>>& fhd, Array<Complex<T>>& image)> first_image;
  /// With the term, from where the path has come; at most so many iterations, to this residual.
  std::function<void(const Array<Complex<T>>& fhd, double strength, const SparseSettings& limits,
                     StrengthPath<T>& path)>
      solve;
};
template <class T>
double search_strength(const StrengthSearch<T>& search, const HermitianOperator<T>& normal,
                       const Measurements<T>& data, const Array<Complex<T>>& samples,
                       const NoiseEncoding<T>& noise, const Array<Complex<T>>& fhd, StrengthPath<T>& path,
                       const Context& context);

// --- frames.cpp: frames of a continuous acquisition, whose layout is in frames.hpp ---

struct FrameImage {
  Image image;
  std::optional<Image> gridded;
  SolvedVolume told;
};

/// Of a scan with its coils as prepared. `transform.kind` is not automatic. Frames have one unit, lambda and strengths, and
/// without terms that couple them are solved one by one. Throws Error where they do not fit into the memory of the device.
template <class T>
std::vector<FrameImage> frame_images(const Scan& scan, const FrameLayout& layout,
                                     const TransformSettings& transform, const Context& context);
/// Of a scan as measured. Throws Error naming what frames cannot have, or the memory that they would take.
void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution);

/// |samples| of all processes.
template <class T>
double norm_of_all(const Array<Complex<T>>& samples, const ProcessGroup& processes);

// --- verify.cpp: the verifier is asked how exact a result is ---

/// Of all coils together, or of `coil` without its map. Every process must call; the first judges.
template <class T>
void verify_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, TrajectoryOperators<T>& operators,
                     const Context& context);

/// Of a method without a system to solve, of the first volume: the first of its coil images [coil][z][y][x] against F^H (w d);
/// `weights` is [sample], or null for 1.
template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, double promised_accuracy, const Context& context);

// --- conventional.cpp: images without a system to solve ---

/// Coil images [coil][z][y][x] -> image: sum conj(S) image / sum |S|^2 with maps (0 where all maps are 0; Roemer
/// et al., MRM 16:192 (1990)), root of the sum of squares where `maps` is empty (one coil stays complex).
template <class T>
Array<Complex<T>> combined(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps);

/// Of each volume. ConventionalGridding, CartesianFft: combined coil images. PlainAdjoint: sum conj(S) F^H d with maps.
/// The samples are weighted in place, and go to the device.
template <class T>
std::vector<Image> conventional_images(Measurements<T>& data, TrajectoryOperators<T>& operators,
                                       const Context& context);

/// Whether gridded_images can make the image of the conventional method: of coils with maps, or of one.
template <class T>
bool makes_gridded_images(const Model<T>& model, const Scan& scan, const Context& context) {
  return context.services.gridded_accuracy && !context.processes().is_shared() &&
         (model.has_maps || scan.kspace.coil_count() == 1);
}
/// sum conj(S) F^H (w d) / sum |S|^2 of each volume, w the density compensation: what ConventionalGridding makes, with
/// the samples and maps of a model. Its time is the stage "gridded image".
template <class T>
std::vector<Image> gridded_images(const Model<T>& model, const Measurements<T>& data,
                                  TrajectoryOperators<T>& operators, const Context& context);

// --- finish.cpp: what the report says of the settings, and the image as the user wants it ---

/// The settings as used, after all defaults; `transform.kind` is not automatic.
void describe_settings(const TransformSettings& transform, const Context& context);

/// The image [z][y][x] of the scan times `unit`, cropped to the matrix that the scan asks for. Throws Error where
/// a voxel is not finite.
template <class T>
Image finished_image(Array<Complex<T>> image, double unit, const Scan& scan, const Context& context);

/// Of the images of two sets of maps [set]: the root of the sum of squares, with the phase of the first.
Image combined_sets(const std::vector<Image>& images);
/// DiagnosticImages::set_images.
Array<Complex<float>> stacked(const std::vector<Image>& images);

/// DiagnosticImages::sensitivity_maps of maps [coil][z][y][x]: the slice z = floor(N/2).
Array<Complex<float>> middle_slice(const Array<Complex<float>>& maps);
/// DiagnosticImages::point_spread: the plane of the kernel without a difference along z.
template <class T>
Array<float> central_plane(const Array<Complex<T>>& point_spread);

}  // namespace fhd
