// What frames cost: F times what one of them costs by itself, but for the solution that they share.
#include <algorithm>
#include <cmath>

#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// Singular values of blocks of llr, twice in each iteration: its prox, and its value. On a GPU they are a few
/// milliseconds of some tens (validation/results/2026-11-23-h200-tests.md), and are left out.
Work work_of_blocks(const LeastSquares& method, double voxels, double images, Device device) {
  if (device.is_cuda()) return {};
  const auto is_low_rank = [](const SparsePenalty& each) { return each.kind == SparseKind::llr; };
  if (std::none_of(method.sparse.begin(), method.sparse.end(), is_low_rank)) return {};
  constexpr double block = 64, grids = 2;
  const double size = std::min(block, images), other = std::max(block, images);
  // Gram matrices and their eigenvectors; of so small ones in double precision, as measured.
  const double of_block = 20 * std::pow(size, 3) + 6 * size * size * other;
  return {WorkUnit::eigenvalue, 2 * grids * voxels / block * of_block};
}

/// Products of Toeplitz operators in one with E^H E of all.
double products_of(const LeastSquares& method, const FrameSizes& frames, bool corrects_off_resonance) {
  const auto components = component_count(method, frames.frames);
  const bool in_pairs = components > 0 && !corrects_off_resonance && takes_pairs(components, frames.frames);
  return static_cast<double>(in_pairs ? components * components : frames.frames);
}

void hold_frames(const ScanSizes& scan, const FrameSizes& layout, const Settings& settings, Device device,
                 MemoryLedger& memory) {
  const LeastSquares& method = *least_squares(settings);
  const auto element = static_cast<double>(bytes_of_complex(settings.precision)), voxels = scan.voxels(),
             frames = static_cast<double>(layout.frames),
             samples = static_cast<double>(layout.samples_per_frame), coils = static_cast<double>(scan.coils),
             segments = static_cast<double>(scan.time_segments), maps = coils * voxels * element;
  const double operators = std::max(scan.difference_segments, 1);  // of a frame
  const TransformSizes sizes{scan.matrix_size, {layout.samples_per_frame, 0, 0}, settings.precision, device};
  const OperatorCost toeplitz = toeplitz_cost(scan.matrix_size, scan.coils, settings.precision, device);
  const double toeplitz_bytes = static_cast<double>(toeplitz.bytes + toeplitz.scratch_bytes) - maps;
  const bool segmented = scan.difference_segments > 0,
             preconditioned = uses_preconditioner(method, segmented);
  const std::int64_t components = component_count(method, layout.frames);
  const auto unknowns = components > 0 ? static_cast<double>(components) : frames;
  memory.hold("k-space data of the frames", (frames + 2) * samples * coils * element);  // and predicted ones
  memory.hold("sensitivity maps and coil images", 2 * maps);
  memory.hold("images and right-hand sides of the frames", 2 * frames * voxels * element);
  memory.hold("Toeplitz operators of the frames", frames * operators * toeplitz_bytes);
  if (segmented) {
    memory.hold("maps of the time segments", operators * maps + frames * voxels * element);
    memory.hold("time segments of the encoding",
                2 * (segments * (voxels + samples) + samples * coils) * element);
    if (device.is_cpu())
      memory.hold("weights of the time segments",
                  (segments + operators) * (static_cast<double>(scan.samples.all) + samples) * 16);
  }
  if (preconditioned)
    memory.hold("preconditioner", static_cast<double>(preconditioner_cost(sizes, scan.coils, device).bytes));
  if (components > 0) {
    memory.hold("images of the temporal subspace", (2 * frames + 3 * unknowns) * voxels * element);
    if (!segmented && takes_pairs(components, layout.frames))
      memory.hold(
          "Toeplitz operators of pairs of components",
          0.5 * unknowns * (unknowns + 1) * (toeplitz_bytes + difference_points(scan.matrix_size) * element));
  }
  memory.hold_briefly("Q in the making", 4 * difference_points(scan.matrix_size) * element);
  const auto mark = memory.mark();
  const auto terms = sparse_terms_cost(method.sparse, scan.matrix_size);
  if (method.sparse.empty()) {
    memory.hold("vectors of the solver",
                conjugate_gradient_bytes(
                    (components > 0 ? unknowns : 1) * voxels,
                    {.iterations = method.iterations,
                     .kept_residuals = components > 0 ? 0 : ConjugateGradientSettings{}.kept_residuals},
                    settings.precision, device, 1, preconditioned));
  } else {
    memory.hold("sparse terms", (terms.held + unknowns) * voxels * element);
    memory.hold("vectors of the solver, duals and subgradient",
                admm_bytes(unknowns * voxels, terms.planes, 0, settings.precision, device, preconditioned));
    if (searches_strength(method))
      memory.hold_briefly("search of strength",
                          strength_search_images(terms.planes) * unknowns * voxels * element);
  }
  memory.release(mark);
  memory.hold("a frame and its checks", 8 * voxels * element);
  if (device.is_cpu()) memory.hold("images that are finished", frames * voxels * 16);
}

}  // namespace

MemoryLedger frames_memory(const ScanSizes& scan, const FrameSizes& frames, const Settings& settings,
                           Device device) {
  MemoryLedger memory;
  hold_frames(scan, frames, settings, device, memory);
  return memory;
}

/// The small frames whose principal components the courses are: subspace.cpp.
void Walk::find_temporal_basis(const LeastSquares& method) {
  if (!method.basis || !std::holds_alternative<LeadingCourses>(*method.basis)) return;
  ScanSizes small = prepared_sizes();
  small.matrix_size = matrix_of_small_frames(scan_.matrix_size);
  // Of readouts through the centre, along which samples are even.
  const double share = std::min(1.0, static_cast<double>(small.matrix_size[0]) / scan_.matrix_size[0]);
  const auto of_small = [&](std::int64_t samples) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(samples)));
  };
  small.samples.all = small.samples.x = small.samples.xy = of_small(scan_.samples.all);
  EstimateSettings how{settings_as_prepared(), device_};
  how.settings.method = method_of_small_frames();
  std::get<LeastSquares>(how.settings.method).transform = transform_;
  how.frames = FrameSizes{how_.frames->frames, of_small(how_.frames->samples_per_frame)};
  const Estimate made = Walk(small, how, true)();
  out_.stages.push_back({"temporal basis", made.between.work, 0, false});
  for (const auto& stage : made.stages) out_.stages.back().work += stage.work;
}

void Walk::solve_frames(const LeastSquares& method) {
  const FrameSizes frames = *how_.frames;
  const std::int64_t components = component_count(method, frames.frames);
  const auto count = static_cast<double>(frames.frames),
             unknowns = components > 0 ? static_cast<double>(components) : count;
  ScanSizes scan = prepared_sizes();
  hold_frames(scan, frames, how_.settings, device_, arrays());
  find_temporal_basis(method);
  // One of them by itself.
  scan.samples.all = scan.samples.x = scan.samples.xy = frames.samples_per_frame;
  EstimateSettings how{settings_as_prepared(), device_, how_.verifier, how_.companion};
  std::get<LeastSquares>(how.settings.method).transform = transform_;
  std::get<LeastSquares>(how.settings.method).basis.reset();
  Walk walk(scan, how, true);
  // Quadratic terms alone, without a subspace: one frame after the other.
  const bool is_stack = components > 0 || !method.sparse.empty();
  walk.frames_per_unknown_ = count / unknowns;
  if (is_stack) walk.images_together_ = unknowns;
  if (is_stack) walk.products_together_ = products_of(method, frames, segments_ > 0);
  const Estimate one = walk();
  const Work blocks = work_of_blocks(method, voxels_, unknowns, device_);
  for (EstimatedStage stage : one.stages) {
    if (stage.name.starts_with("copy ")) continue;
    const bool is_search = stage.name == "search of strength",
               is_admm = stage.name == name_of(SolverKind::admm),
               is_joint = is_stack && (is_search || is_admm || stage.name == "first image" ||
                                       stage.name == name_of(SolverKind::conjugate_gradient)),
               is_once = is_joint || stage.name == "time segments" || stage.name == "largest eigenvalue";
    const double times = is_once ? 1 : count;
    stage.work = times * stage.work, stage.seconds *= times;
    if (is_admm) stage.work += out_.iterations * blocks;
    if (is_search) stage.work += strength_search_iterations * blocks;
    out_.stages.push_back(std::move(stage));
  }
  out_.iteration = (is_stack ? 1 : count) * one.iteration + blocks;
  out_.between.work += count * one.between.work;
}

}  // namespace fhd
