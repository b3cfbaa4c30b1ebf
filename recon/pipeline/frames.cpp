#include "recon/pipeline/frames.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/steps.hpp"
#include "recon/solve/admm.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/stack.hpp"
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
  Model<T> model;  ///< of the first: maps, terms, and the circulant that is the mean of all
  std::vector<std::shared_ptr<const HermitianOperator<T>>> normals;
  Array<Complex<T>> right_hand_sides;  ///< [frame][z][y][x]
};

/// [coil][sample] -> [frame and coil][sample of the frame], on the device.
template <class T>
Array<Complex<T>> samples_of_frames(const Array<Complex<T>>& all, const FrameLayout& layout,
                                    const Context& context) {
  const std::int64_t coils = all.extent(0), count = layout.samples_per_frame();
  Array<Complex<T>> samples(Shape{layout.frames * coils, count});
  for (std::int64_t row = 0; row < layout.frames * coils; ++row)
    std::copy_n(all.data() + row % coils * all.extent(1) + layout.first_sample(row / coils), count,
                samples.data() + row * count);
  copy_to_device(samples, context);
  return samples;
}

void add_to_mean(const Array<double>& circulant, double share, Array<double>& mean) {
  const Array<double> host = circulant.to(Device::cpu());
  if (mean.empty()) mean = Array<double>(host.shape());
  for (std::int64_t k = 0; k < host.size(); ++k) mean[k] += share * host[k];
}

template <class T>
FrameSystems<T> make_systems(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                             const Array<Complex<T>>& samples, const Context& context) {
  Journal& journal = context.journal;
  const Shape image = scan.geometry.image_shape(),
              of_frame{samples.extent(0) / layout.frames, layout.samples_per_frame()};
  FrameSystems<T> systems;
  systems.right_hand_sides =
      Array<Complex<T>>(Shape{layout.frames, image[0], image[1], image[2]}, context.device());
  Model<T>& model = systems.model;
  Array<double> circulant;
  for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
    const Scan part = frame_of(scan, layout, frame);
    TrajectoryOperators<T> operators(part.trajectory, scan.geometry.matrix_size, transform, context.execution,
                                     context.services.trajectory_cache);
    const auto& q = operators.point_spread(journal);
    if (frame == 0) {
      model = make_model<T>(part, {}, 0, 1, operators, context);
      journal.diagnostic_images.point_spread = central_plane(q);
      systems.normals.push_back(model.problem.normal);
    } else {
      journal.stage("transfer function",
                    [&] { systems.normals.push_back(make_toeplitz_normal(q, view_of(model.maps()))); });
    }
    if (!model.circulant.empty())
      journal.stage("preconditioner", [&] {
        add_to_mean(circulant_of_point_spread(q, image), 1 / static_cast<double>(layout.frames), circulant);
      });
    journal.stage("FhD", [&] {
      auto right_hand_side = one_of(systems.right_hand_sides, image, frame);
      const SenseEncoding<T> encoding(operators.transform(), view_of(model.maps()));
      encoding.adjoint(one_of(samples, of_frame, frame), right_hand_side);
    });
    if (journal.progress()) journal.progress()({"frames", frame + 1, layout.frames, -1});
  }
  if (!circulant.empty()) model.circulant = circulant.to(context.device());
  return systems;
}

/// The problem of all frames together.
template <class T>
Model<T> joint_model(const FrameSystems<T>& systems, const FrameLayout& layout, const Context& context) {
  const Shape image = systems.model.encoding->domain();
  Model<T> joint(systems.model);
  joint.frames = layout.frames;
  Problem<T>& problem = joint.problem;
  problem.normal = std::make_shared<StackedNormal<T>>(systems.normals);
  for (auto& term : problem.terms) term.term = std::make_shared<StackedTerm<T>>(term.term, image);
  auto spatial = systems.model.problem.sparse.begin();
  problem.sparse.clear();
  for (const auto& [kind, strength] : least_squares(context.settings)->sparse)
    if (is_temporal(kind))
      problem.sparse.push_back({temporal_term<T>(kind, image, layout.frames)});
    else
      problem.sparse.push_back(
          {std::make_shared<StackedSparseTerm<T>>((spatial++)->term, image, layout.frames)});
  return joint;
}

/// Images, and what is told of each, with all but what its samples tell.
template <class T>
Solution<T> solve_jointly(FrameSystems<T>& systems, const Measurements<T>& measured,
                          const Array<Complex<T>>& samples, const FrameLayout& layout,
                          const Context& context) {
  const Shape image = systems.model.encoding->domain(), stack = systems.right_hand_sides.shape();
  Model<T> joint = joint_model(systems, layout, context);
  Solution<T> solution{Array<Complex<T>>(stack, context.device()), view_of(systems.right_hand_sides)};
  solve_sparse(joint, solution, measured, samples, true, context);
  systems.model.preconditioner = joint.preconditioner;
  systems.model.problem.sparse = joint.problem.sparse;
  solution.volumes.resize(static_cast<std::size_t>(layout.frames), solution.volumes.front());
  // How far the conditions of optimality of each frame are from 0.
  Array<Complex<T>> rest(image, context.device());
  for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
    const auto b = one_of(systems.right_hand_sides, image, frame);
    RegularizedNormal<T>(systems.normals[static_cast<std::size_t>(frame)], systems.model.problem.terms)
        .forward(one_of(solution.images, image, frame), rest);
    add_scaled(rest, T(1), one_of(solution.subgradient, image, frame));
    add_scaled(rest, T(-1), b);
    const double size = norm_l2(b);
    solution.volumes[static_cast<std::size_t>(frame)].stationarity = size > 0 ? norm_l2(rest) / size : 0;
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
  model.encoding = model.sense;
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

void require_memory(const Scan& scan, std::int64_t coils, const FrameLayout& layout, const Settings& settings,
                    Device device) {
  const double needed = frames_bytes(scan, coils, layout, settings, device);
  double available = 0;
  if (device.is_cpu()) {
    available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  } else {
    const auto use = device::memory_use(device);
    available = static_cast<double>(use.free_bytes + use.used_bytes);
  }
  if (needed <= available) return;
  const std::string found = mebibytes(static_cast<std::size_t>(available)) + " available";
  const std::string expected = mebibytes(static_cast<std::size_t>(std::min(needed, 0x1p62))) + " for " +
                               std::to_string(layout.frames) + " frames";
  const char* const remedy = "use fewer frames, a smaller matrix, fewer coils or settings.precision = single";
  if (device.is_cpu()) throw Error("memory", expected, found, remedy);
  throw DeviceError("GPU memory", expected, found, remedy + std::string(", or execution.device = cpu"));
}

}  // namespace

FrameLayout lay_out_frames(std::int64_t samples, std::int64_t readout_length, const FrameChoice& choice) {
  if (readout_length < 1 || samples % readout_length != 0)
    throw Error("frames", "a scan made of readouts of equal length",
                "one that does not say where its readouts begin",
                "convert it to ISMRMRD, or add the attribute readout_length (samples) to an fhd HDF5 file");
  FrameLayout layout;
  layout.readout_length = readout_length;
  const std::int64_t readouts = layout.readouts = samples / readout_length;
  const auto whole_number = [](const char* name, std::int64_t least, std::int64_t most,
                               const std::string& why, std::int64_t value) {
    if (value < least || value > most)
      throw Error(name, std::to_string(least) + " ... " + std::to_string(most) + why, std::to_string(value));
  };
  const std::string of_scan = ", of the " + std::to_string(readouts) + " readouts of the scan";
  if (readouts < 2) throw Error("frames", "a scan of at least two readouts", std::to_string(readouts));
  if (choice.readouts_per_frame == 0) {
    whole_number("frames.count", 2, readouts, of_scan, choice.frames);
    layout.frames = choice.frames;
    layout.step = layout.readouts_per_frame = readouts / choice.frames;
    return layout;
  }
  layout.readouts_per_frame = choice.readouts_per_frame;
  whole_number("frames.readouts", 1, readouts - 1, of_scan, layout.readouts_per_frame);
  layout.step = choice.step == 0 ? layout.readouts_per_frame : choice.step;
  whole_number("frames.step", 1, layout.readouts_per_frame, ", the readouts of a frame", layout.step);
  layout.frames = (readouts - layout.readouts_per_frame) / layout.step + 1;
  if (layout.frames < 2)
    throw Error("frames.readouts", "room for two frames" + of_scan,
                std::to_string(layout.readouts_per_frame) + " to a frame",
                "take fewer readouts to a frame, or let frames overlap with frames.step");
  return layout;
}

std::string doubt_of_frames(const Trajectory& trajectory, const FrameLayout& layout) {
  constexpr double enough = 0.5;
  const std::int64_t samples = trajectory.sample_count(), count = layout.samples_per_frame();
  const auto extent = [](const double* first, std::int64_t n) {
    const auto [least, most] = std::minmax_element(first, first + n);
    return *most - *least;
  };
  for (int axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * samples;
    const double all = extent(k, samples);
    double of_frames = 0;
    for (std::int64_t frame = 0; frame < layout.frames; ++frame)
      of_frames += extent(k + layout.first_sample(frame), count) / static_cast<double>(layout.frames);
    if (all > 0 && of_frames < enough * all)
      return "frames reach over " + std::to_string(std::lround(100 * of_frames / all)) +
             " % of the scan's k-space along " + std::string(1, "xyz"[axis]) +
             " on average: readouts that go through k-space plane by plane make no frames";
  }
  return {};
}

std::string doubt_of_gaps(const FrameLayout& layout) {
  const auto& numbers = layout.readout_numbers;
  std::int64_t missing = 0, first = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == numbers[i - 1] + 1) continue;
    if (missing == 0) first = numbers[i - 1] + 1;
    missing += numbers[i] - numbers[i - 1] - 1;
  }
  if (missing == 0) return {};
  return std::to_string(missing) + (missing == 1 ? " readout is" : " readouts are") +
         " left out between others, from number " + std::to_string(first) +
         " on: frames do not follow each other evenly, and some may hold readouts from both sides of a gap";
}

double frames_bytes(const Scan& scan, std::int64_t channels, const FrameLayout& layout,
                    const Settings& settings, Device device) {
  const LeastSquares& method = *least_squares(settings);
  const auto& matrix = scan.geometry.matrix_size;
  const auto element = static_cast<double>(bytes_of_complex(settings.precision)),
             voxels = static_cast<double>(scan.geometry.voxel_count()),
             frames = static_cast<double>(layout.frames),
             samples = static_cast<double>(layout.samples_per_frame()), coils = static_cast<double>(channels);
  const TransformSizes sizes{matrix, {layout.samples_per_frame(), 0, 0}, settings.precision, device};
  const OperatorCost toeplitz = toeplitz_cost(matrix, channels, settings.precision, device);
  const bool preconditioned = uses_preconditioner(method, false);
  double bytes = frames * static_cast<double>(toeplitz.bytes + toeplitz.scratch_bytes) +
                 (frames + 2) * samples * coils * element +  // samples, and predicted ones
                 4 * difference_points(matrix) * element +   // Q in the making
                 (2 * coils + 8) * voxels * element +        // maps, coil images, the verifier
                 2 * frames * voxels * element;              // images and right-hand sides
  if (preconditioned) bytes += static_cast<double>(preconditioner_cost(sizes, channels, device).bytes);
  if (device.is_cpu())  // images that are finished; the operators share the maps
    bytes += frames * voxels * 16 - (frames - 1) * coils * voxels * element;
  if (method.sparse.empty())
    return bytes + conjugate_gradient_bytes(voxels, {.iterations = method.iterations}, settings.precision,
                                            device, 1, preconditioned);
  const auto terms = sparse_terms_cost(method.sparse, matrix);
  return bytes + (terms.held / frames + 1) * frames * voxels * element +
         admm_bytes(frames * voxels, terms.planes, 0, settings.precision, device, preconditioned);
}

Scan frame_of(const Scan& scan, const FrameLayout& layout, std::int64_t frame) {
  const std::int64_t first = layout.first_sample(frame);
  const Share share{first, first + layout.samples_per_frame()};
  Scan part;
  part.geometry = scan.geometry;
  part.cropped_matrix_size = scan.cropped_matrix_size;
  part.trajectory.k = columns_of(view_of(scan.trajectory.k), share);
  part.kspace.values = columns_of(view_of(scan.kspace.values), share);
  if (!scan.kspace.in_double.empty()) part.kspace.in_double = columns_of(view_of(scan.kspace.in_double), share);
  if (scan.sensitivity_maps) {
    auto& maps = part.sensitivity_maps.emplace();
    maps.values = view_of(scan.sensitivity_maps->values);
    if (!scan.sensitivity_maps->in_double.empty()) maps.in_double = view_of(scan.sensitivity_maps->in_double);
  }
  if (scan.noise) part.noise.emplace(view_of(*scan.noise));
  return part;
}

void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution) {
  if (layout.frames < 1 || layout.step < 1 || layout.readouts_per_frame < 1 || layout.unused() < 0 ||
      layout.readouts * layout.readout_length != scan.trajectory.sample_count())
    throw Error("frames", "a layout of this scan: lay_out_frames", "another one");
  validate_for_frames(settings);
  if (scan.field_map)
    throw Error("frames", "a scan without a field map", "one with it",
                "off-resonance is not corrected in frames; leave the field map out");
  if (execution.processes->is_shared())
    throw Error("frames", "one process", std::to_string(execution.processes->size()),
                "run it without mpirun");
  const std::int64_t coils = scan.kspace.coil_count();
  const auto decision =
      decide_coils({coils, coils, scan.sensitivity_maps.has_value(), scan.noise.has_value()}, settings);
  if (coils > 1 && !decision.uses_maps())
    throw Error("frames", "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps",
                "leave out settings.coils.maps = none");
  require_memory(scan, decision.compresses ? virtual_coil_count(coils, settings.coils.compression) : coils,
                 layout, settings, device_for(settings, execution.device));
}

void validate_for_frames(const Settings& settings) {
  const auto* method = least_squares(settings);
  if (method == nullptr)
    throw Error("frames", "settings.method = cg", std::string("settings.method = ") + name_of(settings.method));
  if (method->normal != NormalKind::toeplitz)
    throw Error("frames", "settings.normal = toeplitz", "settings.normal = explicit");
  if (settings.coils.estimation.sets != MapSetCount::one)
    throw Error("frames", "settings.coils.estimation.sets = one", "two or auto", "leave it out");
  if (method->partial_fourier != PartialFourier::off)
    throw Error("frames", "settings.partial_fourier = off", "phase", "leave it out");
  if (std::holds_alternative<FromNoise>(method->lambda))
    throw Error("frames", "a number for settings.lambda", "auto",
                "the noise decides lambda of one image alone");
  for (const auto& penalty : method->sparse) {
    const std::string name = name_of(penalty.kind);
    if (penalty.kind == SparseKind::tgv)
      throw Error("frames", "wavelet, tv, temporal-tv or llr in settings.regularizer", name,
                  "use tv in its place");
    if (!penalty.strength)
      throw Error("frames", "a strength behind " + name + ", such as " + name + ":0.01", "none",
                  "the noise decides strengths of one image alone");
  }
}

template <class T>
std::vector<FrameImage> frame_images(const Scan& scan, const FrameLayout& layout,
                                     const TransformSettings& transform, const Context& context) {
  Journal& journal = context.journal;
  require_memory(scan, scan.kspace.coil_count(), layout, context.settings, context.device());
  if (scan.sensitivity_maps)
    journal.diagnostic_images.sensitivity_maps = middle_slice(scan.sensitivity_maps->values);
  auto all = measurements_of<T>(scan, {&scan.kspace}, context);
  const double unit = all.unit(0);
  const auto samples = samples_of_frames(all.samples, layout, context);
  auto systems = make_systems(scan, layout, transform, samples, context);
  const Shape image = systems.model.encoding->domain();
  choose_lambda(systems.model, all, all.samples, one_of(systems.right_hand_sides, image, 0), context);
  all.samples = {};
  const Solution<T> solution = least_squares(context.settings)->sparse.empty()
                                   ? solve_one_by_one(systems, context)
                                   : solve_jointly(systems, all, samples, layout, context);
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
