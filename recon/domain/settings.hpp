#pragma once
// The image that is wanted. A method holds only the settings that belong to it. An Execution (array/execution.hpp) says
// where the work runs; Services (pipeline/context.hpp) help it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/work.hpp"
#include "recon/domain/geometry.hpp"

namespace fhd {

/// Returns the word for a value. Each enum below has its words beside it, in the order of its values: `names_of`.
template <class Enum>
requires requires(Enum value) { names_of(value); }
constexpr const char* name_of(Enum value) { return names_of(value)[static_cast<std::size_t>(value)]; }
constexpr std::array<const char*, 2> names_of(Precision) { return {"single", "double"}; }

// --- Transforms: F of a trajectory ---

/// direct: exact sums over all pairs of voxels and samples. gridded: interpolation on an oversampled grid and
/// an FFT. automatic: direct where it is affordable (pipeline/decisions.hpp).
enum class TransformKind { automatic, direct, gridded };
constexpr std::array<const char*, 3> names_of(TransformKind) { return {"auto", "direct", "gridded"}; }

/// How a GPU takes direct sums: as products of matrices on its tensor cores, with as many parts to a number as the accuracy
/// asks for (transform/direct/separable.hpp), or voxel by voxel, where sin and cos of single precision are `fast`
/// (special-function units, absolute error 2^-21) or `accurate` (sincospi, 1 ulp). automatic: matrices where they are faster
/// and as accurate as asked.
enum class GpuSums { automatic, tensor_cores, fast, accurate };
constexpr std::array<const char*, 4> names_of(GpuSums) {
  return {"auto", "tensor-cores", "fast", "accurate"};
}

struct TransformSettings {
  TransformKind kind = TransformKind::automatic;
  double accuracy = 1e-5;  ///< relative l2 error accepted, (0, 0.1]; direct sums on the CPU are always better
  GpuSums gpu_sums = GpuSums::automatic;
  bool operator==(const TransformSettings&) const = default;
};

// --- Regularizers: lambda |W rho|^2 ---

/// W = identity.
struct IdentityPenalty {};
/// An image of the same anatomy, whose edges weight the finite differences: solve/terms/terms.hpp.
struct AnatomicalPrior {
  Volume image;
  double strength = 1;  ///< > 0; larger: weaker edges of the image count too
};
/// W = finite differences between neighbours.
struct RoughnessPenalty {
  std::optional<AnatomicalPrior> prior{};
};
using Regularizer = std::variant<IdentityPenalty, RoughnessPenalty>;

/// The default: OfMeanEigenvalue; of a Cartesian scan with regular gaps, which has maps, from the misfit of a first image
/// (pipeline/first_image.hpp).
struct StandardLambda {};
/// lambda over the mean eigenvalue of E^H E, (samples) x (mean over voxels of sum |S_c|^2).
struct OfMeanEigenvalue {
  double share = 0.05;
};
/// The lambda over the mean eigenvalue that other quantities are measured by: the unit of sparse strengths, the weight of
/// voxels that no coil sees, the start of a search. A change of the default above leaves it alone.
inline constexpr double reference_lambda = 0.05;
/// lambda over the largest eigenvalue of E^H E.
struct OfLargestEigenvalue {
  double share = 0;  ///< >= 0
};
/// The lambda of the least estimated error of the image (Stein's unbiased risk), or the default where the noise is not known
/// well enough.
struct FromNoise {};
/// The floor beside sparse terms: a share of what a first image leaves of a sample, squared, over the square of its magnitude
/// (pipeline/first_image.hpp). Where the image is unstable all the same, it is held there (pipeline/stable_image.hpp).
struct BelowNoise {
  double share = 0.1;
};
using LambdaChoice =
    std::variant<StandardLambda, OfMeanEigenvalue, OfLargestEigenvalue, FromNoise, BelowNoise>;

// --- Terms beside the regularizer, whose values are magnitudes and not squares: solve/problem.hpp ---

/// wavelet: detail coefficients of an orthogonal wavelet transform. tv: total variation. tgv: total generalised variation
/// of second order. For frames (pipeline/frames.hpp) alone: temporal_tv, differences from frame to frame; llr, locally low
/// rank.
enum class SparseKind { wavelet, tv, tgv, temporal_tv, llr };
constexpr std::array<const char*, 5> names_of(SparseKind) {
  return {"wavelet", "tv", "tgv", "temporal-tv", "llr"};
}
constexpr bool is_temporal(SparseKind kind) { return kind >= SparseKind::temporal_tv; }
/// A strength means the same whatever the scale of the data and the number of samples: pipeline/sparse.cpp.
struct SparsePenalty {
  SparseKind kind = SparseKind::wavelet;
  /// > 0; 0.001 ... 0.05 is usual. Empty, of one term at most: from the noise of the scan (pipeline/sparse.cpp).
  std::optional<double> strength{};
};

// --- Methods ---

enum class NormalKind { toeplitz, explicit_product };
constexpr std::array<const char*, 2> names_of(NormalKind) { return {"toeplitz", "explicit"}; }
/// automatic: circulant (encoding/preconditioner.hpp) where E^H E is one Toeplitz operator, else none.
enum class PreconditionerKind { automatic, none };
constexpr std::array<const char*, 2> names_of(PreconditionerKind) { return {"auto", "none"}; }

/// For Cartesian scans that leave out most of one side of k-space. phase: the image is real but for the phase that the
/// symmetric centre of k-space tells, which takes the place of what is missing (pipeline/partial_fourier.hpp).
enum class PartialFourier { off, phase };
constexpr std::array<const char*, 2> names_of(PartialFourier) { return {"off", "phase"}; }

/// For frames (pipeline/frames.hpp): a voxel may take real sums of these courses in time.
struct LeadingCourses {
  std::int64_t count = 1;  ///< those of most energy in an image of low resolution
};
struct GivenCourses {
  Array<double> values;  ///< [component][frame], or [frame][component]
};
using BasisChoice = std::variant<LeadingCourses, GivenCourses>;

/// rho = argmin |E rho - d|^2 + lambda |W rho|^2 + 2 sum of weight g(A rho) over the sparse terms, E = F S. Without
/// these (E^H E + lambda W^H W) rho = E^H d, by conjugate gradient.
struct LeastSquares {
  TransformSettings transform{};
  NormalKind normal = NormalKind::toeplitz;
  PreconditionerKind preconditioner = PreconditionerKind::automatic;
  Regularizer regularizer{};
  LambdaChoice lambda{};  ///< with sparse terms not FromNoise, without not BelowNoise; 0: these alone
  std::vector<SparsePenalty> sparse{};  ///< each kind at most once
  int iterations = 30;                  ///< at most
  /// Stop when the relative residual of the normal equations falls below; with sparse terms, of the conditions of
  /// optimality (solve/admm.hpp).
  double tolerance = 1e-4;
  PartialFourier partial_fourier = PartialFourier::off;  ///< phase: without sparse terms, lambda a number
  std::optional<BasisChoice> basis{};                    ///< of frames; empty: any course
};
/// Iterations and tolerance that suit sparse terms.
inline constexpr int sparse_iterations = 100;
inline constexpr double sparse_tolerance = 5e-3;
/// The density-compensated adjoint by gridding: the conventional image.
struct ConventionalGridding {
  double accuracy = 1e-5;
};
/// F^H d without compensation.
struct PlainAdjoint {
  TransformSettings transform{};
};
/// The inverse FFT of a Cartesian scan, on the CPU.
struct CartesianFft {};
using Method = std::variant<LeastSquares, ConventionalGridding, PlainAdjoint, CartesianFft>;
inline constexpr std::array<const char*, 4> method_names{"cg", "gridded", "adjoint", "fft"};
inline const char* name_of(const Method& method) { return method_names[method.index()]; }

// --- Coils ---

/// Where sensitivity maps come from. automatic: the scan's own; without them ESPIRiT, when the method uses maps and there is
/// more than one coil. joint: maps and one image that explain the samples together (estimate_jointly), for a centre of
/// k-space that is too thin for the others.
enum class CoilMaps { automatic, file, none, espirit, adaptive, joint };
constexpr std::array<const char*, 6> names_of(CoilMaps) {
  return {"auto", "file", "none", "espirit", "adaptive", "joint"};
}
/// Returns whether a method of coils/maps.hpp is asked for.
constexpr bool asks_to_find(CoilMaps maps) { return maps > CoilMaps::none; }

/// automatic: by the noise samples of the scan, where it has them. edge: else by the edge of k-space.
enum class NoiseWhitening { automatic, edge, off };
constexpr std::array<const char*, 3> names_of(NoiseWhitening) { return {"auto", "edge", "off"}; }

/// Scans of more than `uncompressed` coils that are reconstructed with maps get a third as many virtual coils, but at least
/// that number.
struct AutomaticCompression {
  static constexpr std::int64_t uncompressed = 12;
};
struct NoCompression {};
struct VirtualCoils {
  std::int64_t count = 1;
};
/// Keeps the fewest virtual coils that hold this share of sum |d|^2.
struct KeptEnergy {
  double share = 1;
};
using CompressionChoice = std::variant<AutomaticCompression, NoCompression, VirtualCoils, KeptEnergy>;

/// How many sets of maps espirit gives, each with an image of its own (encoding/sense.hpp). automatic: two where a second
/// eigenvalue shows that the object is folded within the field of view (coils/maps.hpp).
enum class MapSetCount { one, two, automatic };
constexpr std::array<const char*, 3> names_of(MapSetCount) { return {"1", "2", "auto"}; }

struct CoilSettings {
  CoilMaps maps = CoilMaps::automatic;
  NoiseWhitening whitening = NoiseWhitening::automatic;
  CompressionChoice compression{};
  MapSetCount map_sets = MapSetCount::one;  ///< two, automatic: least squares alone, and see validate
  /// Solves a regularly undersampled Cartesian scan though nothing unfolds it; the report then holds a suspicion.
  bool allow_folding = false;

  /// Takes the coils, and the maps if there are any, as they are: for scans that prepare_coils has prepared.
  static CoilSettings as_they_are() {
    CoilSettings settings;
    settings.whitening = NoiseWhitening::off;
    settings.compression = NoCompression{};
    settings.allow_folding = true;  // decided by whoever prepared them
    return settings;
  }
};

// --- The object beyond the field of view ---

/// automatic: least squares uses a larger matrix that is cropped after, where it is seen (pipeline/outside_fov.hpp).
enum class OutsideFov { automatic, off };
constexpr std::array<const char*, 2> names_of(OutsideFov) { return {"auto", "off"}; }

struct Settings {
  Method method = LeastSquares{};
  Precision precision = Precision::single_precision;
  CoilSettings coils{};
  OutsideFov outside_fov = OutsideFov::automatic;
};

/// Returns the method if it is least squares, else null.
inline const LeastSquares* least_squares(const Settings& settings) {
  return std::get_if<LeastSquares>(&settings.method);
}
/// Returns the first term of least squares that couples frames; empty: none.
inline std::optional<SparseKind> temporal_kind(const Settings& settings) {
  if (const auto* method = least_squares(settings))
    for (const auto& penalty : method->sparse)
      if (is_temporal(penalty.kind)) return penalty.kind;
  return {};
}
template <class M>
bool is_method(const Settings& settings) {
  return std::holds_alternative<M>(settings.method);
}
/// Returns the transform that the method asks for or implies.
TransformSettings transform_settings(const Settings& settings);

/// Throws Error where a number lies outside of its range or two settings do not go together (compatibility.hpp).
void validate(const Settings& settings);

}  // namespace fhd
