#include "recon/pipeline/frames.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/finish.hpp"
#include "recon/pipeline/sparse.hpp"
#include "recon/pipeline/subspace.hpp"
#include "recon/solve/stack.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

/// The arguments that all frames share.
struct Frames {
  const Scan& scan;  ///< with its coils as prepared
  const FrameLayout& layout;
  const TransformSettings& transform;
  const Context& context;
  std::optional<OffResonance> off_resonance{};  ///< of all samples of the scan

  std::int64_t count() const { return layout.frames; }
};

/// One frame: its samples, and what depends on its trajectory.
template <class T>
struct Frame {
  Scan scan;
  TrajectoryOperators<T> operators;
  std::optional<OffResonance> off_resonance{};  ///< the segments of its samples

  Frame(const Frames& frames, std::int64_t number)
      : scan(frame_of(frames.scan, frames.layout, number)),
        operators(scan.trajectory, scan.geometry.matrix_size, frames.transform, frames.context.execution,
                  frames.context.services.trajectory_cache) {
    if (!frames.off_resonance) return;
    const auto samples = frames.layout.samples_of(number);
    const auto part = [&](const TimeSegments& of_scan) {
      return TimeSegments{of_scan.time_s, columns_of(of_scan.weights, samples), of_scan.error};
    };
    off_resonance = {part(frames.off_resonance->segments), part(frames.off_resonance->differences)};
  }
  /// Makes E, with a view of the maps.
  std::shared_ptr<const SenseEncoding<T>> sense(const Array<Complex<T>>& maps) {
    return std::make_shared<SenseEncoding<T>>(operators.transform(), view_of(maps));
  }
  std::shared_ptr<const Encoding<T>> encoding(std::shared_ptr<const SenseEncoding<T>> sense) const {
    if (!off_resonance) return sense;
    return make_off_resonance_encoding<T>(std::move(sense), *scan.field_map, off_resonance->segments);
  }
  /// Makes E^H E with the maps of the model.
  std::shared_ptr<const HermitianOperator<T>> normal(const Model<T>& model, RunLog& log) {
    std::shared_ptr<const HermitianOperator<T>> made;
    if (off_resonance) {
      const auto kernel = [&](const Array<double>& weights) {
        return operators.weighted_point_spread(&weights);
      };
      log.stage("Q", [&] {
        made = make_off_resonance_normal<T>(kernel, model.turned_maps, off_resonance->differences);
      });
    } else {
      const auto& q = operators.point_spread(log);
      log.stage("transfer function", [&] { made = make_toeplitz_normal(q, view_of(model.maps())); });
    }
    return made;
  }
};

/// The systems of all frames.
template <class T>
struct FrameSystems {
  Model<T> model;  ///< of the first: maps, terms, and the circulant that is the mean of all
  std::vector<std::shared_ptr<const HermitianOperator<T>>> normals;  ///< E^H E of each
  Array<Complex<T>> right_hand_sides;                                ///< [frame][z][y][x]
  std::shared_ptr<const Subspace<T>> subspace{};  ///< of the images of all frames; null: all of them
  /// E^H E of all frames, or of the components of the subspace.
  std::shared_ptr<const HermitianOperator<T>> joint_normal{};

  std::int64_t frames() const { return static_cast<std::int64_t>(normals.size()); }
  /// Returns the number of images that are sought.
  std::int64_t unknowns() const { return subspace ? subspace->components() : frames(); }
};

/// Sorts [coil][sample] into [frame and coil][sample of the frame], on the device.
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

/// Computes E^H d of one frame of samples as samples_of_frames gives them.
template <class T>
void adjoint_of_frame(Frame<T>& frame, std::int64_t number, const Frames& frames, const Array<Complex<T>>& maps,
                      const Array<Complex<T>>& samples, Array<Complex<T>>& right_hand_sides) {
  const Shape of_frame{samples.extent(0) / frames.count(), frames.layout.samples_per_frame()};
  auto one = one_of(right_hand_sides, frames.scan.geometry.image_shape(), number);
  frame.encoding(frame.sense(maps))->adjoint(one_of(samples, of_frame, number), one);
}

/// Adds a share of a circulant to the mean of all, in host memory.
void add_to_mean(const Array<double>& circulant, double share, Array<double>& mean) {
  const Array<double> host = circulant.to(Device::cpu());
  if (mean.empty()) mean = Array<double>(host.shape());
  for (std::int64_t k = 0; k < host.size(); ++k) mean[k] += share * host[k];
}

/// Adds one frame to the point spreads of pairs of components, sum over frames t of phi_k(t) phi_l(t) q_t, k <= l.
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

/// Makes E^H E of all frames together, in the subspace where there is one.
template <class T>
void make_joint_normal(const std::vector<Array<Complex<T>>>& pairs, FrameSystems<T>& systems,
                       RunLog& log) {
  if (pairs.empty()) {
    systems.joint_normal = std::make_shared<StackedNormal<T>>(systems.normals);
    if (systems.subspace)
      systems.joint_normal = std::make_shared<SubspaceNormal<T>>(systems.joint_normal, systems.subspace,
                                                                 systems.model.encoding->domain());
    return;
  }
  std::vector<std::shared_ptr<const HermitianOperator<T>>> of_pairs;
  log.stage("transfer function", [&] {
    for (const auto& q : pairs) of_pairs.push_back(make_toeplitz_normal(q, view_of(systems.model.maps())));
  });
  systems.joint_normal = std::make_shared<CoupledNormal<T>>(std::move(of_pairs));
}

/// Makes the systems; `courses` [component][frame] of a subspace; empty: none.
template <class T>
FrameSystems<T> make_systems(const Frames& frames, const Array<Complex<T>>& samples, const Array<double>& courses) {
  const Context& context = frames.context;
  RunLog& log = context.log;
  const Shape image = frames.scan.geometry.image_shape();
  FrameSystems<T> systems;
  systems.right_hand_sides =
      Array<Complex<T>>(Shape{frames.count(), image[0], image[1], image[2]}, context.device());
  Model<T>& model = systems.model;
  Array<double> circulant;
  std::vector<Array<Complex<T>>> pairs;
  if (!courses.empty()) systems.subspace = std::make_shared<Subspace<T>>(courses, context.device());
  const bool in_pairs = systems.subspace && !frames.off_resonance && takes_pairs(courses.extent(0), frames.count());
  for (std::int64_t number = 0; number < frames.count(); ++number) {
    Frame<T> frame(frames, number);
    auto& operators = frame.operators;
    if (number == 0) model = make_model<T>(frame.scan, frame.off_resonance, 0, 1, operators, context);
    systems.normals.push_back(number == 0 ? model.problem.normal : frame.normal(model, log));
    if (number == 0 && !frame.off_resonance)
      log.diagnostic_images.point_spread = central_plane(operators.point_spread(log));
    if (in_pairs)
      log.stage("transfer function",
                    [&] { add_to_pairs(operators.point_spread(log), courses, number, pairs); });
    if (!model.circulant.empty())
      log.stage("preconditioner", [&] {
        add_to_mean(circulant_of_point_spread(operators.point_spread(log), image),
                    1 / static_cast<double>(frames.count()), circulant);
      });
    log.stage("FhD", [&] {
      adjoint_of_frame(frame, number, frames, model.maps(), samples, systems.right_hand_sides);
    });
    if (log.progress()) log.progress()({"frames", number + 1, frames.count(), -1});
  }
  if (!circulant.empty()) model.circulant = circulant.to(context.device());
  make_joint_normal(pairs, systems, log);
  return systems;
}

/// Returns the problem of all frames together: of their images, or of the components of the subspace.
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

/// Returns E^H of noise of the scan, as the samples of its frames have it.
template <class T>
NoiseEncoding<T> noise_of_frames(const Frames& frames, const FrameSystems<T>& systems) {
  const auto adjoint = [&](const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side) {
    const auto noise = samples_of_frames(b.to(Device::cpu()), frames.layout, frames.context);
    Array<Complex<T>> of_frames(systems.right_hand_sides.shape(), b.device());
    for (std::int64_t number = 0; number < frames.count(); ++number) {
      Frame<T> frame(frames, number);
      adjoint_of_frame(frame, number, frames, systems.model.maps(), noise, of_frames);
    }
    const Shape image = frames.scan.geometry.image_shape();
    auto all = one_of(right_hand_side, Shape{systems.unknowns(), image[0], image[1], image[2]}, 0);
    if (systems.subspace)
      systems.subspace->project(of_frames, all);
    else
      copy(of_frames, all);
    return norm_l2(noise);
  };
  return {frames.scan.kspace.coil_count(), adjoint};
}

/// Returns (E^H E + quadratic terms) image - E^H d of every frame, [frame][z][y][x].
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

/// Returns the images of the components `found`. The conditions of optimality, pull = 0, hold but for what keeps images in
/// the subspace: that is orthogonal to it, whatever it is, and counts, as a subgradient of the constraint, with those of
/// the terms:
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

/// Solves for the components, which samples couple, with quadratic terms alone.
template <class T>
void solve_components(Model<T>& joint, Solution<T>& found, const Context& context) {
  context.log.stage("conjugate gradient", [&] {
    joint.preconditioner = preconditioner_of(joint, joint.problem.terms.front().weight, 0, context);
    const Shape stack = joint.problem.normal->domain();
    const auto b = one_of(found.right_hand_sides, stack, 0);
    auto x = one_of(found.images, stack, 0);
    constexpr int kept_residuals = 0;  // each is as large as all components
    found.volumes = {std::move(
        solve_quadratic(joint, b, x, context.log.progress(), context, kept_residuals).front().volume)};
    found.volumes.front().largest_eigenvalue = find_largest_eigenvalue(joint, b);
  });
}

/// Solves for all frames together; what their samples tell of each is left to check_solution.
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
    solve_components(joint, solution, context);
  else
    solve_sparse(joint, solution, measured, samples, noise, true, context);
  systems.model.preconditioner = joint.preconditioner;
  systems.model.problem.sparse = joint.problem.sparse;
  if (systems.subspace) {
    solution = expanded(std::move(solution), systems);
    context.log.note(
        "frames",
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
  Model<T>& model = systems.model;
  const Shape image = model.encoding->domain();
  Solution<T> solution{Array<Complex<T>>(systems.right_hand_sides.shape(), context.device()),
                       view_of(systems.right_hand_sides)};
  context.log.stage("conjugate gradient", [&] {
    model.preconditioner = preconditioner_of(model, model.problem.terms.front().weight, 0, context);
    for (std::int64_t frame = 0; frame < systems.frames(); ++frame) {
      model.problem.normal = systems.normals[static_cast<std::size_t>(frame)];
      auto x = one_of(solution.images, image, frame);
      auto solved = solve_quadratic(model, one_of(systems.right_hand_sides, image, frame), x, {}, context);
      solution.volumes.push_back(std::move(solved.front().volume));
      if (const auto& progress = context.log.progress())
        progress({"frames solved", frame + 1, systems.frames(), -1});
    }
    model.problem.normal = systems.normals.front();
    find_largest_eigenvalue(model, one_of(systems.right_hand_sides, image, 0));
  });
  for (auto& volume : solution.volumes) volume.largest_eigenvalue = model.largest_eigenvalue;
  return solution;
}

/// Adds what was done for one frame to the report of all.
void add_report(const Report& of_frame, RunLog& log) {
  log.report.trajectory_hits += of_frame.trajectory_hits;
  for (const auto& stage : of_frame.stages) {
    auto& stages = log.report.stages;
    const auto known =
        std::find_if(stages.begin(), stages.end(), [&](const Stage& s) { return s.name == stage.name; });
    (known != stages.end() ? *known : stages.emplace_back(Stage{stage.name})).seconds += stage.seconds;
  }
  for (const auto& message : of_frame.messages) log.add(message);
}

/// Checks the image of a frame by its samples, and adds it, finished, to the results. `maps` are those of the model.
template <class T>
void finish_frame(const Frames& frames, std::int64_t number, FrameSystems<T>& systems, const Array<Complex<T>>& maps,
                  const Array<Complex<T>>& samples, double unit, const Solution<T>& solution, Images& results) {
  const Context& context = frames.context;
  const Shape image = systems.model.encoding->domain(), stack{1, image[0], image[1], image[2]},
              of_frame{samples.extent(0) / frames.count(), frames.layout.samples_per_frame()};
  RunLog log(context.device(), {});  // whose clock is that of this frame
  const Context own{context.settings, context.execution, context.services, log};
  Frame<T> frame(frames, number);
  Model<T>& model = systems.model;
  model.problem.normal = systems.normals[static_cast<std::size_t>(number)];
  model.sense = frame.sense(maps);
  model.encoding = frame.encoding(model.sense);
  const Measurements<T> data{frame.scan, {&frame.scan.kspace}, one_of(samples, of_frame, number), {unit}};
  Solution<T> found{one_of(solution.images, stack, number), one_of(solution.right_hand_sides, stack, number)};
  found.volumes = {solution.volumes[static_cast<std::size_t>(number)]};
  if (!solution.subgradient.empty()) found.subgradient = one_of(solution.subgradient, image, number);
  check_solution(found, model, data, data.samples,
                 model.has_maps ? std::nullopt : std::optional(std::int64_t{0}), true, frame.operators, own);
  for (auto& gridded : gridded_images(model, data, frame.operators, own))
    results.gridded.push_back(std::move(gridded));
  results.images.push_back(finished_image(one_of(solution.images, image, number).to(context.device()),
                                          data.unit(0) / model.map_unit, frame.scan, own));
  results.solved.push_back(std::move(found.volumes.front()));
  results.solved.back().largest_eigenvalue *= model.map_unit * model.map_unit;
  add_report(log.report, context.log);
  if (const auto& progress = context.log.progress())
    progress({"frames checked", number + 1, frames.count(), -1});
}

void require_memory(const Scan& scan, std::int64_t coils, const FrameLayout& layout,
                    const std::optional<OffResonance>& off_resonance, const Settings& settings,
                    Device device) {
  ScanSizes sizes = device_sizes_of(scan, off_resonance, SingleProcess());
  sizes.coils = coils;
  MemoryLedger memory;
  hold_frames(sizes, sizes_of(layout), settings, device, memory);
  const auto needed = static_cast<double>(memory.peak_bytes());
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
  const char* const remedy = "use fewer frames, a smaller matrix, fewer coils or --precision single";
  if (device.is_cpu()) throw Error("memory", expected, found, remedy);
  throw DeviceError("GPU memory", expected, found, remedy + std::string(", or --device cpu"));
}

}  // namespace

void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution) {
  require_layout_of(scan, layout);
  refuse_incompatible(features_of(settings)
                          .with(Feature::frames)
                          .with(Feature::several_processes, execution.processes->is_shared()));
  const std::int64_t coils = scan.kspace.coil_count();
  const auto decision =
      decide_coils({coils, coils, scan.sensitivity_maps.has_value(), scan.noise.has_value()}, settings);
  if (coils > 1 && !decision.uses_maps())
    throw Error("frames", "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps",
                "leave out --coils none");
  const Services none;
  RunLog unheard(Device::cpu(), {});
  require_memory(scan, decision.compresses ? virtual_coil_count(coils, settings.coils.compression) : coils,
                 layout, off_resonance_of(scan, {settings, execution, none, unheard}), settings,
                 device_for(settings, execution.device));
}

void validate_for_frames(const Settings& settings) {
  refuse_incompatible(features_of(settings).with(Feature::frames));
}

template <class T>
Images frame_images(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                    const Context& context) {
  RunLog& log = context.log;
  if (scan.kspace.coil_count() > 1 && !scan.sensitivity_maps)
    throw Error("frames", "coils with signal, which tells their sensitivity maps", "k-space of zeros");
  if (layout.unused() > 0)
    log.note("frames", std::to_string(layout.unused()) + " readouts of " + std::to_string(layout.readouts) +
                 ", the last ones, are in no frame");
  const Frames frames{scan, layout, transform, context, off_resonance_of(scan, context)};
  require_memory(scan, scan.kspace.coil_count(), layout, frames.off_resonance, context.settings, context.device());
  if (scan.sensitivity_maps)
    log.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto all = measurements_of<T>(scan, {&scan.kspace}, context);
  const double unit = all.unit(0);
  const auto samples = samples_of_frames(all.samples, layout, context);
  const Array<double> courses = temporal_courses<T>(scan, layout, transform, context);
  auto systems = make_systems(frames, samples, courses);
  const Shape image = systems.model.encoding->domain();
  choose_lambda(systems.model, all, all.samples, one_of(systems.right_hand_sides, image, 0), context);
  all.samples = {};
  const bool by_themselves = least_squares(context.settings)->sparse.empty() && courses.empty();
  const Solution<T> solution =
      by_themselves ? solve_one_by_one(systems, context)
                    : solve_jointly(systems, all, samples, noise_of_frames(frames, systems), context);
  log.diagnostic_images.temporal_basis = courses;
  log.setting("preconditioner", systems.model.preconditioner ? "circulant" : "none");
  systems.model.preconditioner.reset();
  for (auto& term : log.report.terms) term.weight *= unit * systems.model.map_unit;
  Images results;
  const auto sense = systems.model.sense;  // which has the maps
  for (std::int64_t number = 0; number < layout.frames; ++number)
    finish_frame(frames, number, systems, sense->maps(), samples, unit, solution, results);
  log.report.device_peak_bytes = device::memory_use(context.device()).peak_bytes;
  return results;
}

template Images frame_images<float>(const Scan&, const FrameLayout&, const TransformSettings&, const Context&);
template Images frame_images<double>(const Scan&, const FrameLayout&, const TransformSettings&, const Context&);

}  // namespace fhd
