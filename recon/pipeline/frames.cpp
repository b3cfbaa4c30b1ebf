#include "recon/pipeline/frames.hpp"

#include <algorithm>
#include <cmath>

#include "recon/array/vector_math.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/encoding/preconditioner.hpp"
#include "recon/pipeline/conventional.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/device_memory.hpp"
#include "recon/pipeline/solve.hpp"
#include "recon/pipeline/volumes.hpp"
#include "recon/solve/stack.hpp"
#include "recon/solve/terms/terms.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

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

/// The systems of the frames of a scan with its coils as prepared, and their images.
template <class T>
class FrameSystems {
 public:
  FrameSystems(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
               const Context& context)
      : scan_(scan),
        layout_(layout),
        transform_(transform),
        context_(context),
        fields_(field_model_of(scan, transform_, context)) {
    require_memory_of_frames(scan, layout, transform_, fields_, context);
  }
  Images images() {
    RunLog& log = context_.log;
    if (scan_.sensitivity_maps)
      log.diagnostic_images.sensitivity_maps = middle_slice(scan_.sensitivity_maps->values);
    auto all = measurements_of<T>(scan_, {&scan_.kspace}, context_);
    const double unit = all.unit(0);
    const auto samples = sorted(all.samples);
    const Array<double> courses = temporal_courses<T>(scan_, layout_, transform_, context_);
    make(samples, courses);
    choose_lambda(model_, all, all.samples, noise(), one_of(right_hand_sides_, image_, 0), context_);
    all.samples = {};
    const bool by_themselves = least_squares(context_.settings)->sparse.empty() && courses.empty();
    const Solution<T> solution = by_themselves ? solve_one_by_one() : solve_jointly(all, samples);
    log.diagnostic_images.temporal_basis = courses;
    log.setting("preconditioner", model_.preconditioner ? "circulant" : "none");
    model_.preconditioner.reset();
    for (auto& term : log.report.terms) term.weight *= unit * model_.map_unit;
    Images results;
    const auto encoding = model_.encoding;  // which has the maps
    for (std::int64_t number = 0; number < count_; ++number)
      finish(number, encoding->maps(), samples, unit, solution, results);
    log.report.device_peak_bytes = device::memory_use(context_.device()).peak_bytes;
    return results;
  }

 private:
  using Operator = std::shared_ptr<const HermitianOperator<T>>;

  /// One frame: its samples, and what depends on its trajectory.
  struct Frame {
    Scan scan;
    TrajectoryOperators<T> operators;
    std::optional<FieldModel> fields{};  ///< those of its samples
    std::shared_ptr<const HeldFactors<T>> factors{};

    Frame(const FrameSystems& all, std::int64_t number)
        : scan(frame_of(all.scan_, all.layout_, number)),
          operators(scan.trajectory, scan.geometry.matrix_size, all.transform_, all.context_.execution,
                    all.context_.services.trajectory_cache) {
      if (all.fields_) fields = all.fields_->of_samples(all.layout_.samples_of(number));
    }
    /// Makes E, with a view of the maps, and the factors that it holds where it has fields.
    std::shared_ptr<const SenseEncoding<T>> encoding(const Array<Complex<T>>& maps) {
      auto transform = operators.transform();
      if (fields) {
        factors = factors_on<T>(maps.device(), *fields);
        transform = transform_in_fields<T>(*fields, factors, transform);
      }
      return std::make_shared<SenseEncoding<T>>(transform, view_of(maps));
    }
  };

  /// Sorts [coil][sample] into [frame and coil][sample of the frame], on the device.
  Array<Complex<T>> sorted(const Array<Complex<T>>& all) const {
    const std::int64_t coils = all.extent(0), length = layout_.readout_length;
    Array<Complex<T>> samples(Shape{count_ * coils, layout_.samples_per_frame()});
    auto* to = samples.data();
    for (std::int64_t row = 0; row < count_ * coils; ++row)
      for (std::int64_t i = 0; i < layout_.readouts_per_frame; ++i, to += length)
        std::copy_n(all.data() + row % coils * all.extent(1) + layout_.readout(row / coils, i) * length,
                    length, to);
    copy_to_device(samples, context_);
    return samples;
  }
  Array<Complex<T>> of_frame(const Array<Complex<T>>& sorted, std::int64_t number) const {
    return one_of(sorted, Shape{sorted.extent(0) / count_, layout_.samples_per_frame()}, number);
  }
  /// Computes E^H d of one frame of sorted samples.
  void adjoint(Frame& frame, std::int64_t number, const Array<Complex<T>>& sorted,
               Array<Complex<T>>& stack) const {
    auto one = one_of(stack, image_, number);
    frame.encoding(model_.maps())->adjoint(of_frame(sorted, number), one);
  }
  /// Returns the shape of the images that are sought: of all frames, or of the components of the subspace.
  Shape unknowns() const {
    return {subspace_ ? subspace_->components() : count_, image_[0], image_[1], image_[2]};
  }

  /// Makes E^H E of a frame with the maps of the model.
  Operator normal_of(Frame& frame) {
    Operator made;
    if (frame.fields && frame.fields->differences.count() == 0)
      return explicit_normal<T>(frame.encoding(model_.maps()));
    if (frame.fields) {
      const auto kernel = [&](const Array<double>& weights) {
        return frame.operators.weighted_point_spread(&weights);
      };
      context_.log.stage(
          "Q", [&] { made = make_field_normal<T>(kernel, model_.turned_maps, frame.fields->differences); });
    } else {
      const auto& q = frame.operators.point_spread(context_.log);
      context_.log.stage("transfer function",
                         [&] { made = make_toeplitz_normal(q, view_of(model_.maps())); });
    }
    return made;
  }

  /// Makes the systems; `courses` [component][frame] of a subspace; empty: none.
  void make(const Array<Complex<T>>& samples, const Array<double>& courses) {
    RunLog& log = context_.log;
    right_hand_sides_ = Array<Complex<T>>(Shape{count_, image_[0], image_[1], image_[2]}, context_.device());
    Array<double> circulant;
    std::vector<Array<Complex<T>>> pairs;
    if (!courses.empty()) subspace_ = std::make_shared<Subspace<T>>(courses, context_.device());
    const bool in_pairs = subspace_ && !fields_ && takes_pairs(courses.extent(0), count_);
    for (std::int64_t number = 0; number < count_; ++number) {
      Frame frame(*this, number);
      auto& operators = frame.operators;
      if (number == 0) model_ = make_model<T>(frame.scan, frame.fields, 0, 1, operators, context_);
      normals_.push_back(number == 0 ? model_.problem.normal : normal_of(frame));
      if (number == 0 && !frame.fields)
        log.diagnostic_images.point_spread = central_plane(operators.point_spread(log));
      if (in_pairs)
        log.stage("transfer function",
                  [&] { add_to_pairs(operators.point_spread(log), courses, number, pairs); });
      if (!model_.circulant.empty())
        log.stage("preconditioner", [&] {
          const auto own = circulant_of_point_spread(operators.point_spread(log), image_).to(Device::cpu());
          if (circulant.empty()) circulant = Array<double>(own.shape());
          for (std::int64_t k = 0; k < own.size(); ++k)
            circulant[k] += 1 / static_cast<double>(count_) * own[k];
        });
      log.stage("FhD", [&] { adjoint(frame, number, samples, right_hand_sides_); });
      tell("frames", number + 1);
    }
    if (!circulant.empty()) model_.circulant = circulant.to(context_.device());
    if (pairs.empty()) {
      joint_normal_ = stacked_normal(normals_);
      if (subspace_) joint_normal_ = subspace_normal(joint_normal_, subspace_, image_);
      return;
    }
    std::vector<Operator> of_pairs;
    log.stage("transfer function", [&] {
      for (const auto& q : pairs) of_pairs.push_back(make_toeplitz_normal(q, view_of(model_.maps())));
    });
    joint_normal_ = coupled_normal(std::move(of_pairs));
  }

  /// Returns the problem of all frames together: of their images, or of the components of the subspace.
  Model<T> joint_model() const {
    Model<T> joint(model_);
    joint.frames = unknowns()[0];
    joint.is_of_frames = true;
    // Courses are orthonormal: a voxel's component is as large as all its frames together.
    joint.image_share = 1 / std::sqrt(static_cast<double>(subspace_ ? count_ : 1));
    Problem<T>& problem = joint.problem;
    problem.normal = joint_normal_;
    for (auto& term : problem.terms) term.term = stacked_term(term.term, image_);
    auto spatial = model_.problem.sparse.begin();
    problem.sparse.clear();
    for (const auto& [kind, strength] : least_squares(context_.settings)->sparse)
      if (is_temporal(kind))
        problem.sparse.push_back({temporal_term<T>(kind, image_, joint.frames)});
      else
        problem.sparse.push_back(
            {std::make_shared<StackedSparseTerm<T>>((spatial++)->term, image_, joint.frames)});
    return joint;
  }

  /// Returns E^H of noise of the scan, as the samples of its frames have it.
  NoiseEncoding<T> noise() const {
    return {scan_.kspace.coil_count(),
            [this](const Array<Complex<T>>& b, Array<Complex<T>>& right_hand_side) {
              const auto noise = sorted(b.to(Device::cpu()));
              Array<Complex<T>> of_frames(right_hand_sides_.shape(), b.device());
              for (std::int64_t number = 0; number < count_; ++number) {
                Frame frame(*this, number);
                adjoint(frame, number, noise, of_frames);
              }
              auto all = one_of(right_hand_side, unknowns(), 0);
              if (subspace_)
                subspace_->project(of_frames, all);
              else
                copy(of_frames, all);
              return norm_l2(noise);
            }};
  }

  /// Returns (E^H E + quadratic terms) image - E^H d of every frame, [frame][z][y][x].
  Array<Complex<T>> pull_of_data(const Array<Complex<T>>& images) const {
    Array<Complex<T>> pull(images.shape(), images.device());
    for (std::int64_t frame = 0; frame < count_; ++frame) {
      auto of_frame = one_of(pull, image_, frame);
      RegularizedNormal<T>(normals_[frame], model_.problem.terms)
          .forward(one_of(images, image_, frame), of_frame);
      add_scaled(of_frame, T(-1), one_of(right_hand_sides_, image_, frame));
    }
    return pull;
  }

  /// Returns the images of the components `found`. The conditions of optimality, pull = 0, hold but for what keeps images in
  /// the subspace: that is orthogonal to it, whatever it is, and counts, as a subgradient of the constraint, with those of
  /// the terms:
  ///
  ///     Phi s + (Phi Phi^H - 1) pull
  Solution<T> expanded(Solution<T> found) const {
    const Shape stack = right_hand_sides_.shape();
    const Device device = found.images.device();
    Solution<T> solution{Array<Complex<T>>(stack, device), view_of(right_hand_sides_)};
    solution.volumes = std::move(found.volumes);
    subspace_->expand(found.images, solution.images);
    const auto pull = pull_of_data(solution.images);
    Array<Complex<T>> of_components(found.images.shape(), device);
    subspace_->project(pull, of_components);
    if (!found.subgradient.empty())
      add_scaled(of_components, T(1), one_of(found.subgradient, of_components.shape(), 0));
    solution.subgradient = Array<Complex<T>>(stack, device);
    subspace_->expand(of_components, solution.subgradient);
    add_scaled(solution.subgradient, T(-1), pull);
    return solution;
  }

  /// Solves for all frames together; what their samples tell of each is left to check_solution.
  Solution<T> solve_jointly(const Measurements<T>& measured, const Array<Complex<T>>& samples) {
    Model<T> joint = joint_model();
    Solution<T> solution{Array<Complex<T>>(unknowns(), context_.device()), view_of(right_hand_sides_)};
    if (subspace_) {
      solution.right_hand_sides = Array<Complex<T>>(unknowns(), context_.device());
      subspace_->project(right_hand_sides_, solution.right_hand_sides);
    }
    if (joint.problem.sparse.empty())
      context_.log.stage("conjugate gradient", [&] {  // components, which samples couple
        joint.preconditioner = preconditioner_of(joint, joint.problem.terms.front().weight, 0);
        const auto b = one_of(solution.right_hand_sides, joint.problem.normal->domain(), 0);
        auto x = one_of(solution.images, joint.problem.normal->domain(), 0);
        constexpr int kept_residuals = 0;  // each is as large as all components
        auto solved = solve_quadratic(joint, b, x, context_.log.progress(), context_, kept_residuals);
        solution.volumes = {{std::move(solved.front().relative_residuals), solved.front().converged}};
        solution.volumes.front().largest_eigenvalue = find_largest_eigenvalue(joint, b);
      });
    else
      solve_sparse(joint, solution, measured, samples, noise(), true, context_);
    model_.preconditioner = joint.preconditioner;
    model_.problem.sparse = joint.problem.sparse;
    model_.problem.terms.front().weight = joint.problem.terms.front().weight;
    if (subspace_) {
      solution = expanded(std::move(solution));
      context_.log.note(
          "frames",
          "certificate: frames stay in the temporal subspace; of the conditions of optimality it checks the "
          "part within it");
    }
    solution.volumes.resize(static_cast<std::size_t>(count_), solution.volumes.front());
    for (std::int64_t frame = 1; frame < count_; ++frame) solution.volumes[frame].hot_spot.reset();
    // How far the conditions of optimality of each frame are from 0.
    auto rest = pull_of_data(solution.images);
    add_scaled(rest, T(1), one_of(solution.subgradient, rest.shape(), 0));
    for (std::int64_t frame = 0; frame < count_; ++frame) {
      const double size = norm_l2(one_of(right_hand_sides_, image_, frame));
      solution.volumes[frame].stationarity = size > 0 ? norm_l2(one_of(rest, image_, frame)) / size : 0;
    }
    return solution;
  }

  Solution<T> solve_one_by_one() {
    Solution<T> solution{Array<Complex<T>>(right_hand_sides_.shape(), context_.device()),
                         view_of(right_hand_sides_)};
    context_.log.stage("conjugate gradient", [&] {
      model_.preconditioner = preconditioner_of(model_, model_.problem.terms.front().weight, 0);
      for (std::int64_t frame = 0; frame < count_; ++frame) {
        model_.problem.normal = normals_[frame];
        auto x = one_of(solution.images, image_, frame);
        auto solved = solve_quadratic(model_, one_of(right_hand_sides_, image_, frame), x, {}, context_);
        solution.volumes.push_back({std::move(solved.front().relative_residuals), solved.front().converged});
        tell("frames solved", frame + 1);
      }
      model_.problem.normal = normals_.front();
      find_largest_eigenvalue(model_, one_of(right_hand_sides_, image_, 0));
    });
    for (auto& volume : solution.volumes) volume.largest_eigenvalue = model_.largest_eigenvalue;
    return solution;
  }

  /// Checks the image of a frame by its samples, and adds it, finished, to the results. `maps` are those of the model.
  void finish(std::int64_t number, const Array<Complex<T>>& maps, const Array<Complex<T>>& samples,
              double unit, const Solution<T>& solution, Images& results) {
    const Shape stack{1, image_[0], image_[1], image_[2]};
    RunLog log(context_.device(), {});  // whose clock is that of this frame
    const Context own{context_.settings, context_.execution, context_.services, log};
    Frame frame(*this, number);
    model_.problem.normal = normals_[number];
    model_.encoding = frame.encoding(maps);
    model_.factors = frame.factors;
    const Measurements<T> data{frame.scan, {&frame.scan.kspace}, of_frame(samples, number), {unit}};
    Solution<T> found{one_of(solution.images, stack, number),
                      one_of(solution.right_hand_sides, stack, number)};
    found.volumes = {solution.volumes[number]};
    if (!solution.subgradient.empty()) found.subgradient = one_of(solution.subgradient, image_, number);
    check_solution(found, model_, data, data.samples,
                   model_.has_maps ? std::nullopt : std::optional(std::int64_t{0}), true, frame.operators,
                   own);
    for (auto& gridded : gridded_images(model_, data, frame.operators, own))
      results.gridded.push_back(std::move(gridded));
    results.images.push_back(finished_image(one_of(solution.images, image_, number).to(context_.device()),
                                            data.unit(0) / model_.map_unit, frame.scan, own));
    results.solved.push_back(std::move(found.volumes.front()));
    results.solved.back().largest_eigenvalue *= model_.map_unit * model_.map_unit;
    context_.log.report.trajectory_hits += log.report.trajectory_hits;
    for (const auto& stage : log.report.stages) context_.log.stage_of(stage.name).seconds += stage.seconds;
    for (const auto& message : log.report.messages) context_.log.add(message);
    tell("frames checked", number + 1);
  }

  void tell(const char* what, std::int64_t done) const {
    if (const auto& progress = context_.log.progress()) progress({what, done, count_, -1});
  }

  const Scan& scan_;
  const FrameLayout& layout_;
  TransformSettings transform_;
  const Context& context_;
  std::optional<FieldModel> fields_;  ///< those of all samples of the scan
  Shape image_ = scan_.geometry.image_shape();
  std::int64_t count_ = layout_.frames;
  Model<T> model_{};                 ///< of the first: maps, terms, and the circulant that is the mean of all
  std::vector<Operator> normals_{};  ///< E^H E of each
  Array<Complex<T>> right_hand_sides_;             ///< [frame][z][y][x]
  std::shared_ptr<const Subspace<T>> subspace_{};  ///< of the images of all frames; null: all of them
  Operator joint_normal_{};  ///< E^H E of all frames, or of the components of the subspace
};

}  // namespace

void require_frames_can(const Scan& scan, const FrameLayout& layout, const Settings& settings,
                        const Execution& execution) {
  require_layout_of(scan, layout);
  refuse_incompatible(features_of(settings)
                          .with(Feature::frames)
                          .with(Feature::several_processes, execution.processes->is_shared()));
  const std::int64_t coils = scan.kspace.coil_count();
  if (coils > 1 && !decide_coils_of(scan, settings).uses_maps())
    throw Error("frames", "sensitivity maps, or one coil", std::to_string(coils) + " coils without maps",
                "leave out " + option_words("coils", "none"));
}

template <class T>
Images frame_images(const Scan& scan, const FrameLayout& layout, const TransformSettings& transform,
                    const Context& context) {
  if (scan.kspace.coil_count() > 1 && !scan.sensitivity_maps)
    throw Error("frames", "coils with signal, which tells their sensitivity maps", "k-space of zeros");
  if (layout.unused() > 0)
    context.log.note("frames", std::to_string(layout.unused()) + " readouts of " +
                                   std::to_string(layout.readouts) + ", the last ones, are in no frame");
  return FrameSystems<T>(scan, layout, transform, context).images();
}

template Images frame_images<float>(const Scan&, const FrameLayout&, const TransformSettings&,
                                    const Context&);
template Images frame_images<double>(const Scan&, const FrameLayout&, const TransformSettings&,
                                     const Context&);

}  // namespace fhd
