#include "recon/pipeline/frames.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/steps.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/subspace.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

template <class T>
Array<T> view_of(const Array<T>& values) {
  return one_of(values, values.shape(), 0);
}

/// What is kept of the frames while their images are sought.
template <class T>
struct FrameSystems {
  std::optional<OffResonance> off_resonance{};  ///< of all samples of the scan
  Model<T> model;  ///< of the first: maps, terms, and the circulant that is the mean of all
  std::vector<std::shared_ptr<const HermitianOperator<T>>> normals;
  Array<Complex<T>> right_hand_sides;             ///< [frame][z][y][x]
  std::shared_ptr<const Subspace<T>> subspace{};  ///< of the images of all frames; null: all of them
  std::shared_ptr<const HermitianOperator<T>>
      joint_normal{};  ///< of all frames, or of the components of the subspace

  std::int64_t frames() const { return static_cast<std::int64_t>(normals.size()); }
  /// Images that are sought.
  std::int64_t unknowns() const { return subspace ? subspace->components() : frames(); }
};

/// [coil][sample] -> [frame and coil][sample of the frame], on the device.
template <class T>
Array<Complex<T>> samples_of_frames(const Array<Complex<T>>& all, const FrameLayout& layout,
                                    const Context& context) {
  const std::int64_t coils = all.extent(0), length = layout.readout_length;
  Array<Complex<T>> samples(Shape{layout.frames * coils, layout.samples_per_frame()});
  auto* to = samples.data();
  for (std::int64_t row = 0; row < layout.frames * coils; ++row)
    for (std::int64_t i = 0; i < layout.readouts_per_frame; ++i, to += length)
      std::copy_n(all.data() + row % coils * all.extent(1) + layout.readout(row / coils, i) * length, length,
                  to);
  copy_to_device(samples, context);
  return samples;
}

void add_to_mean(const Array<double>& circulant, double share, Array<double>& mean) {
  const Array<double> host = circulant.to(Device::cpu());
  if (mean.empty()) mean = Array<double>(host.shape());
  for (std::int64_t k = 0; k < host.size(); ++k) mean[k] += share * host[k];
}

/// The point spreads of pairs of components, sum over frames t of phi_k(t) phi_l(t) q_t, k <= l: one frame more.
template <class T>
void add_to_pairs(const Array<Complex<T>>& q, const Array<double>& courses, std::int64_t frame,
                  std::vector<Array<Complex<T>>>& pairs) {
  const std::int64_t components = courses.extent(0), frames = courses.extent(1);
  std::size_t pair = 0;
  for (std::int64_t k = 0; k < components; ++k)
    for (std::int64_t l = k; l < components; ++l, ++pair) {
      const auto factor = static_cast<T>(courses[k * frames + frame] * courses[l * frames + frame]);
      if (frame > 0) {
        add_scaled(pairs[pair], factor, q);
      } else {
        scale(pairs.emplace_back(q), factor);
      }
    }
}

/// Of all frames together, in the subspace where there is one.
template <class T>
void make_joint_normal(const std::vector<Array<Complex<T>>>& pairs, FrameSystems<T>& systems,
                       Journal& journal) {
  if (pairs.empty()) {
    systems.joint_normal = std::make_shared<StackedNormal<T>>(systems.normals);
    if (systems.subspace)
      systems.joint_normal = std::make_shared<SubspaceNormal<T>>(systems.joint_normal, systems.subspace,
                                                                 systems.model.encoding->domain());
    return;
  }
  std::vector<std::shared_ptr<const HermitianOperator<T>>> of_pairs;
  journal.stage("transfer function", [&] {
    for (const auto& q : pairs) of_pairs.push_back(make_toeplitz_normal(q, view_of(systems.model.maps())));
  });
  systems.joint_normal = std::make_shared<CoupledNormal<T>>(std::move(of_pairs));
}

/// The segments of the samples of one frame.
std::optional<OffResonance> part_of(const std::optional<OffResonance>& off_resonance,
                                    const FrameLayout& layout, std::int64_t frame) {
  if (!off_resonance) return std::nullopt;
  const auto samples = layout.samples_of(frame);
  const auto part = [&](const TimeSegments& of_scan) {
    return TimeSegments{of_scan.time_s, columns_of(of_scan.weights, samples), of_scan.error};
  };
  return OffResonance{part(off_resonance->segments), part(off_resonance->differences)};
}

/// E of one frame.
template <class T>
std::shared_ptr<const Encoding<T>> encoding_of(const Scan& part,
                                               const std::optional<OffResonance>& off_resonance,
                                               std::shared_ptr<const SenseEncoding<T>> sense) {
  if (!off_resonance) return sense;
  return make_off_resonance_encoding<T>(std::move(sense), *part.field_map, off_resonance->segments);
}

/// E^H E of one frame, with the maps of the model.
template <class T>
std::shared_ptr<const HermitianOperator<T>> normal_of(const Model<T>& model,
                                                      const std::optional<OffResonance>& off_resonance,
                                                      TrajectoryOperators<T>& operators, Journal& journal) {
  std::shared_ptr<const HermitianOperator<T>> normal;
  if (off_resonance) {
    const auto kernel = [&](const Array<double>& weights) {
      return operators.weighted_point_spread(&weights);
    };
    journal.stage("Q", [&] {
      normal = make_off_resonance_normal<T>(kernel, model.turned_maps, off_resonance->differences);
    });
  } else {
    const auto& q = operators.point_spread(journal);
    journal.stage("transfer function", [&] { normal = make_toeplitz_normal(q, view_of(model.maps())); });
  }
  return normal;
}

/// `courses` [component][frame] of a subspace; empty: none.
template <class T>
FrameSystems<T> make_systems(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                             std::optional<OffResonance> off_resonance, const Array<Complex<T>>& samples,
                             const Array<double>& courses, const Context& context) {
  Journal& journal = context.journal;
  const Shape image = scan.geometry.image_shape(),
              of_frame{samples.extent(0) / layout.frames, layout.samples_per_frame()};
  FrameSystems<T> systems;
  systems.off_resonance = std::move(off_resonance);
  systems.right_hand_sides =
      Array<Complex<T>>(Shape{layout.frames, image[0], image[1], image[2]}, context.device());
  Model<T>& model = systems.model;
  Array<double> circulant;
  std::vector<Array<Complex<T>>> pairs;
  if (!courses.empty()) systems.subspace = std::make_shared<Subspace<T>>(courses, context.device());
  const bool in_pairs =
      systems.subspace && !systems.off_resonance && takes_pairs(courses.extent(0), layout.frames);
  for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
    const Scan part = frame_of(scan, layout, frame);
    TrajectoryOperators<T> operators(part.trajectory, scan.geometry.matrix_size, transform, context.execution,
                                     context.services.trajectory_cache);
    const auto segments = part_of(systems.off_resonance, layout, frame);
    if (frame == 0) model = make_model<T>(part, segments, 0, 1, operators, context);
    systems.normals.push_back(frame == 0 ? model.problem.normal
                                         : normal_of(model, segments, operators, journal));
    if (frame == 0 && !segments)
      journal.diagnostic_images.point_spread = central_plane(operators.point_spread(journal));
    if (in_pairs)
      journal.stage("transfer function",
                    [&] { add_to_pairs(operators.point_spread(journal), courses, frame, pairs); });
    if (!model.circulant.empty())
      journal.stage("preconditioner", [&] {
        add_to_mean(circulant_of_point_spread(operators.point_spread(journal), image),
                    1 / static_cast<double>(layout.frames), circulant);
      });
    journal.stage("FhD", [&] {
      auto right_hand_side = one_of(systems.right_hand_sides, image, frame);
      encoding_of<T>(part, segments,
                     std::make_shared<SenseEncoding<T>>(operators.transform(), view_of(model.maps())))
          ->adjoint(one_of(samples, of_frame, frame), right_hand_side);
    });
    if (journal.progress()) journal.progress()({"frames", frame + 1, layout.frames, -1});
  }
  if (!circulant.empty()) model.circulant = circulant.to(context.device());
  make_joint_normal(pairs, systems, journal);
  return systems;
}

/// The problem of all frames together: of their images, or of the components of the subspace.
template <class T>
Model<T> joint_model(const FrameSystems<T>& systems, const Context& context) {
  const Shape image = systems.model.encoding->domain();
  Model<T> joint(systems.model);
  joint.frames = systems.unknowns();
  // Courses are orthonormal: a voxel's component is as large as all its frames together.
  joint.image_share = 1 / std::sqrt(static_cast<double>(systems.subspace ? systems.frames() : 1));
  Problem<T>& problem = joint.problem;
  problem.normal = systems.joint_normal;
  for (auto& term : problem.terms) term.term = std::make_shared<StackedTerm<T>>(term.term, image);
  auto spatial = systems.model.problem.sparse.begin();
  problem.sparse.clear();
  for (const auto& [kind, strength] : least_squares(context.settings)->sparse)
    if (is_temporal(kind))
      problem.sparse.push_back({temporal_term<T>(kind, image, joint.frames)});
    else
      problem.sparse.push_back(
          {std::make_shared<StackedSparseTerm<T>>((spatial++)->term, image, joint.frames)});
  return joint;
}

/// Noise of the scan, as the samples of its frames have it.
template <class T>
NoiseEncoding<T> noise_of_frames(const Scan& scan, const FrameLayout& layout,
                                 const TransformSettings& transform, const FrameSystems<T>& systems,
                                 const Context& context) {
  const auto adjoint = [&](const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side) {
    const auto noise = samples_of_frames(b.to(Device::cpu()), layout, context);
    const Shape image = systems.model.encoding->domain(),
                of_frame{noise.extent(0) / layout.frames, layout.samples_per_frame()};
    Array<Complex<T>> of_frames(systems.right_hand_sides.shape(), context.device());
    for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
      const Scan part = frame_of(scan, layout, frame);
      TrajectoryOperators<T> operators(part.trajectory, scan.geometry.matrix_size, transform,
                                       context.execution, context.services.trajectory_cache);
      auto one = one_of(of_frames, image, frame);
      encoding_of<T>(part, part_of(systems.off_resonance, layout, frame),
                     std::make_shared<SenseEncoding<T>>(operators.transform(), view_of(systems.model.maps())))
          ->adjoint(one_of(noise, of_frame, frame), one);
    }
    Array<Complex<T>> of_components;
    if (systems.subspace) {
      of_components =
          Array<Complex<T>>(Shape{systems.unknowns(), image[0], image[1], image[2]}, context.device());
      systems.subspace->project(of_frames, of_components);
    }
    copy_range(systems.subspace ? of_components : of_frames, 0, right_hand_side, 0, right_hand_side.size());
    return norm_l2(noise);
  };
  return {scan.kspace.coil_count(), adjoint};
}

/// Quadratic terms alone, of components, which samples couple.
template <class T>
void solve_quadratic(Model<T>& joint, Solution<T>& found, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  const Shape stack = joint.problem.normal->domain();
  const auto b = one_of(found.right_hand_sides, stack, 0);
  auto x = one_of(found.images, stack, 0);
  context.journal.stage("conjugate gradient", [&] {
    joint.preconditioner = preconditioner_of(joint, joint.problem.terms.front().weight, 0, context);
    auto result = conjugate_gradient(joint.problem.system(), b, x,
                                     {.iterations = method.iterations,
                                      .tolerance = method.tolerance,
                                      .check_every = residual_interval(context.device()),
                                      .kept_residuals = 0,  // each is as large as all components
                                      .from_zero = true},
                                     context.journal.progress(), joint.preconditioner.get());
    find_largest_eigenvalue(joint, b);
    SolvedVolume& volume = found.volumes.emplace_back();
    volume.relative_residuals = std::move(result.relative_residuals);
    volume.converged = result.converged;
    volume.largest_eigenvalue = joint.largest_eigenvalue;
  });
}

/// (E^H E + quadratic terms) image - E^H d of every frame, [frame][z][y][x].
template <class T>
Array<Complex<T>> pull_of_data(const FrameSystems<T>& systems, const Array<Complex<T>>& images) {
  const Shape image = systems.model.encoding->domain();
  Array<Complex<T>> pull(images.shape(), images.device());
  for (std::int64_t frame = 0; frame < systems.frames(); ++frame) {
    auto of_frame = one_of(pull, image, frame);
    RegularizedNormal<T>(systems.normals[static_cast<std::size_t>(frame)], systems.model.problem.terms)
        .forward(one_of(images, image, frame), of_frame);
    add_scaled(of_frame, T(-1), one_of(systems.right_hand_sides, image, frame));
  }
  return pull;
}

/// Images of the components `found`. Of the conditions of optimality, pull = 0 but for what keeps images in the
/// subspace: that is orthogonal to it, whatever it is, and stands, as a subgradient of the constraint, beside
/// those of the terms:
///
///     Phi s + (Phi Phi^H - 1) pull
template <class T>
Solution<T> expanded(Solution<T> found, const FrameSystems<T>& systems) {
  const Shape stack = systems.right_hand_sides.shape();
  const Device device = found.images.device();
  const Subspace<T>& subspace = *systems.subspace;
  Solution<T> solution{Array<Complex<T>>(stack, device), view_of(systems.right_hand_sides)};
  solution.volumes = std::move(found.volumes);
  subspace.expand(found.images, solution.images);
  const auto pull = pull_of_data(systems, solution.images);
  Array<Complex<T>> of_components(found.images.shape(), device);
  subspace.project(pull, of_components);
  if (!found.subgradient.empty())
    add_scaled(of_components, T(1), one_of(found.subgradient, of_components.shape(), 0));
  solution.subgradient = Array<Complex<T>>(stack, device);
  subspace.expand(of_components, solution.subgradient);
  add_scaled(solution.subgradient, T(-1), pull);
  return solution;
}

/// Images, and what is told of each, with all but what its samples tell.
template <class T>
Solution<T> solve_jointly(FrameSystems<T>& systems, const Measurements<T>& measured,
                          const Array<Complex<T>>& samples, const NoiseEncoding<T>& noise,
                          const Context& context) {
  const Shape image = systems.model.encoding->domain(),
              unknowns{systems.unknowns(), image[0], image[1], image[2]};
  Model<T> joint = joint_model(systems, context);
  Solution<T> solution{Array<Complex<T>>(unknowns, context.device()), view_of(systems.right_hand_sides)};
  if (systems.subspace) {
    solution.right_hand_sides = Array<Complex<T>>(unknowns, context.device());
    systems.subspace->project(systems.right_hand_sides, solution.right_hand_sides);
  }
  if (joint.problem.sparse.empty())
    solve_quadratic(joint, solution, context);
  else
    solve_sparse(joint, solution, measured, samples, noise, true, context);
  systems.model.preconditioner = joint.preconditioner;
  systems.model.problem.sparse = joint.problem.sparse;
  if (systems.subspace) {
    solution = expanded(std::move(solution), systems);
    context.journal.note(
        "certificate: frames stay in the temporal subspace; of the conditions of optimality it checks the "
        "part within it");
  }
  solution.volumes.resize(static_cast<std::size_t>(systems.frames()), solution.volumes.front());
  // How far the conditions of optimality of each frame are from 0.
  auto rest = pull_of_data(systems, solution.images);
  add_scaled(rest, T(1), one_of(solution.subgradient, rest.shape(), 0));
  for (std::int64_t frame = 0; frame < systems.frames(); ++frame) {
    const double size = norm_l2(one_of(systems.right_hand_sides, image, frame));
    solution.volumes[static_cast<std::size_t>(frame)].stationarity =
        size > 0 ? norm_l2(one_of(rest, image, frame)) / size : 0;
  }
  return solution;
}

template <class T>
Solution<T> solve_one_by_one(FrameSystems<T>& systems, const Context& context) {
  const LeastSquares& method = *least_squares(context.settings);
  Model<T>& model = systems.model;
  const Shape image = model.encoding->domain();
  Solution<T> solution{Array<Complex<T>>(systems.right_hand_sides.shape(), context.device()),
                       view_of(systems.right_hand_sides)};
  context.journal.stage("conjugate gradient", [&] {
    model.preconditioner = preconditioner_of(model, model.problem.terms.front().weight, 0, context);
    for (std::size_t frame = 0; frame < systems.normals.size(); ++frame) {
      const auto number = static_cast<std::int64_t>(frame);
      auto x = one_of(solution.images, image, number);
      auto result = conjugate_gradient(RegularizedNormal<T>(systems.normals[frame], model.problem.terms),
                                       one_of(systems.right_hand_sides, image, number), x,
                                       {.iterations = method.iterations,
                                        .tolerance = method.tolerance,
                                        .check_every = residual_interval(context.device()),
                                        .from_zero = true},
                                       {}, model.preconditioner.get());
      SolvedVolume& volume = solution.volumes.emplace_back();
      volume.relative_residuals = std::move(result.relative_residuals);
      volume.converged = result.converged;
      if (const auto& tell = context.journal.progress())
        tell({"frames solved", number + 1, static_cast<std::int64_t>(systems.normals.size()), -1});
    }
    find_largest_eigenvalue(model, one_of(systems.right_hand_sides, image, 0));
  });
  for (auto& volume : solution.volumes) volume.largest_eigenvalue = model.largest_eigenvalue;
  return solution;
}

/// Adds what was done for one frame to what is told of all.
void take_over(const Report& of_frame, Journal& journal) {
  journal.report.trajectory_hits += of_frame.trajectory_hits;
  for (const auto& stage : of_frame.stages) {
    auto& stages = journal.report.stages;
    const auto known =
        std::find_if(stages.begin(), stages.end(), [&](const Stage& s) { return s.name == stage.name; });
    (known != stages.end() ? *known : stages.emplace_back(Stage{stage.name})).seconds += stage.seconds;
  }
  for (const auto& note : of_frame.notes) journal.note(note);
}

/// What the samples of a frame say of its image, which leaves with it. `all` are Measurements of the scan.
template <class T>
FrameImage finished_frame(const Scan& scan, const FrameLayout& layout, std::int64_t frame,
                          const TransformSettings& transform, const FrameSystems<T>& systems,
                          const Array<Complex<T>>& samples, double unit, const Solution<T>& solution,
                          const Context& context) {
  const Shape image = systems.model.encoding->domain(), stack{1, image[0], image[1], image[2]},
              of_frame{samples.extent(0) / layout.frames, layout.samples_per_frame()};
  Journal journal(context.device(), {});  // whose clock is that of this frame
  const Context own{context.settings, context.execution, context.services, journal};
  const Scan part = frame_of(scan, layout, frame);
  TrajectoryOperators<T> operators(part.trajectory, scan.geometry.matrix_size, transform, context.execution,
                                   context.services.trajectory_cache);
  Model<T> model(systems.model);
  model.problem.normal = systems.normals[static_cast<std::size_t>(frame)];
  model.sense = std::make_shared<SenseEncoding<T>>(operators.transform(), view_of(systems.model.maps()));
  model.encoding = encoding_of<T>(part, part_of(systems.off_resonance, layout, frame), model.sense);
  Measurements<T> data{part, {&part.kspace}, one_of(samples, of_frame, frame), {unit}};
  Solution<T> found{one_of(solution.images, stack, frame), one_of(solution.right_hand_sides, stack, frame)};
  found.volumes = {solution.volumes[static_cast<std::size_t>(frame)]};
  if (!solution.subgradient.empty()) found.subgradient = one_of(solution.subgradient, image, frame);
  check_solution(found, model, data, data.samples,
                 model.has_maps ? std::nullopt : std::optional(std::int64_t{0}), true, operators, own);
  FrameImage made;
  if (makes_gridded_images(model, part, own))
    made.gridded = std::move(gridded_images(model, data, operators, own).front());
  made.image = finished_image(one_of(solution.images, image, frame).to(context.device()),
                              data.unit(0) / model.map_unit, part, own);
  made.told = std::move(found.volumes.front());
  made.told.largest_eigenvalue *= model.map_unit * model.map_unit;
  take_over(journal.report, context.journal);
  return made;
}

void require_memory(const Scan& scan, std::int64_t coils, const FrameLayout& layout,
                    const std::optional<OffResonance>& off_resonance, const Settings& settings,
                    Device device) {
  ScanSizes sizes = device_sizes_of(scan, off_resonance, SingleProcess());
  sizes.coils = coils;
  const auto needed =
      static_cast<double>(frames_memory(sizes, sizes_of(layout), settings, device).peak_bytes());
  double available = 0;
  if (device.is_cpu()) {
    available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  } else {
    const auto use = device::memory_use(device);
    available = static_cast<double>(use.free_bytes + use.used_bytes);
  }
  if (needed <= available) return;
  const std::string found = mebibytes(static_cast<std::size_t>(available)) + " available";
  const std::string expected =
      mebibytes(static_cast<std::size_t>(needed)) + " for " + std::to_string(layout.frames) + " frames";
  const char* const remedy = "use fewer frames, a smaller matrix, fewer coils or settings.precision = single";
  if (device.is_cpu()) throw Error("memory", expected, found, remedy);
  throw DeviceError("GPU memory", expected, found, remedy + std::string(", or execution.device = cpu"));
}

}  // namespace

void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution) {
  require_layout_of(scan, layout);
  validate_for_frames(settings);
  if (execution.processes->is_shared())
    throw Error("frames", "one process", std::to_string(execution.processes->size()),
                "run it without mpirun");
  const std::int64_t coils = scan.kspace.coil_count();
  const auto decision =
      decide_coils({coils, coils, scan.sensitivity_maps.has_value(), scan.noise.has_value()}, settings);
  if (coils > 1 && !decision.uses_maps())
    throw Error("frames", "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps",
                "leave out settings.coils.maps = none");
  const Services none;
  Journal unheard(Device::cpu(), {});
  require_memory(scan, decision.compresses ? virtual_coil_count(coils, settings.coils.compression) : coils,
                 layout, off_resonance_of(scan, {settings, execution, none, unheard}), settings,
                 device_for(settings, execution.device));
}

void validate_for_frames(const Settings& settings) {
  const auto* method = least_squares(settings);
  if (method == nullptr)
    throw Error("frames", "settings.method = cg",
                std::string("settings.method = ") + name_of(settings.method));
  if (method->normal != NormalKind::toeplitz)
    throw Error("frames", "settings.normal = toeplitz", "settings.normal = explicit");
  if (settings.coils.estimation.sets != MapSetCount::one)
    throw Error("frames", "settings.coils.estimation.sets = 1", "two or auto", "leave it out");
  if (method->partial_fourier != PartialFourier::off)
    throw Error("frames", "settings.partial_fourier = off", "phase", "leave it out");
  if (std::holds_alternative<FromNoise>(method->lambda))
    throw Error("frames", "a number for settings.lambda", "auto",
                "the noise decides lambda of one image alone");
  for (const auto& penalty : method->sparse) {
    const std::string name = name_of(penalty.kind);
    if (method->basis && penalty.kind == SparseKind::temporal_tv)
      throw Error("settings.basis", "llr, wavelet or tv in settings.regularizer", name,
                  "a subspace couples frames already; leave one of them out");
    if (penalty.kind == SparseKind::tgv)
      throw Error("frames", "wavelet, tv, temporal-tv or llr in settings.regularizer", name,
                  "use tv in its place");
  }
}

template <class T>
std::vector<FrameImage> frame_images(const Scan& scan, const FrameLayout& layout,
                                     const TransformSettings& transform, const Context& context) {
  Journal& journal = context.journal;
  auto off_resonance = off_resonance_of(scan, context);
  require_memory(scan, scan.kspace.coil_count(), layout, off_resonance, context.settings, context.device());
  if (scan.sensitivity_maps)
    journal.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto all = measurements_of<T>(scan, {&scan.kspace}, context);
  const double unit = all.unit(0);
  const auto samples = samples_of_frames(all.samples, layout, context);
  const Array<double> courses = temporal_courses<T>(scan, layout, transform, context);
  auto systems = make_systems(scan, layout, transform, std::move(off_resonance), samples, courses, context);
  const Shape image = systems.model.encoding->domain();
  choose_lambda(systems.model, all, all.samples, one_of(systems.right_hand_sides, image, 0), context);
  all.samples = {};
  const bool by_themselves = least_squares(context.settings)->sparse.empty() && courses.empty();
  const Solution<T> solution =
      by_themselves ? solve_one_by_one(systems, context)
                    : solve_jointly(systems, all, samples,
                                    noise_of_frames(scan, layout, transform, systems, context), context);
  journal.diagnostic_images.temporal_basis = courses;
  journal.setting("preconditioner", systems.model.preconditioner ? "circulant" : "none");
  systems.model.preconditioner.reset();
  for (auto& term : journal.report.terms) term.weight *= unit * systems.model.map_unit;
  std::vector<FrameImage> made;
  for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
    made.push_back(finished_frame(scan, layout, frame, transform, systems, samples, unit, solution, context));
    if (journal.progress()) journal.progress()({"frames checked", frame + 1, layout.frames, -1});
  }
  journal.report.device_peak_bytes = device::memory_use(context.device()).peak_bytes;
  return made;
}

template std::vector<FrameImage> frame_images<float>(const Scan&, const FrameLayout&,
                                                     const TransformSettings&, const Context&);
template std::vector<FrameImage> frame_images<double>(const Scan&, const FrameLayout&,
                                                      const TransformSettings&, const Context&);

}  // namespace fhd
