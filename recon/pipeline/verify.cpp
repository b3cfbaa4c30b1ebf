#include "recon/pipeline/verify.hpp"

#include <algorithm>
#include <mutex>

#include "recon/array/thread_limit.hpp"
#include "recon/array/vector_math.hpp"
#include "recon/pipeline/decisions.hpp"

namespace fhd {
namespace {

/// Returns what is the same for every method, of one volume; of one coil without its map.
template <class T>
VerifierInput<T> input_of(const Measurements<T>& data, std::size_t volume, std::optional<std::int64_t> coil,
                          double promised_accuracy) {
  const Scan& scan = data.scan;
  const KSpace& kspace = *data.volumes[volume];
  VerifierInput<T> input{scan.trajectory, scan.geometry.matrix_size, kspace.values.data(), 1, nullptr};
  if (std::is_same_v<T, double> && !kspace.in_double.empty())
    input.samples_in_double = kspace.in_double.data();
  input.sample_scale = 1 / data.unit(static_cast<std::int64_t>(volume));
  input.requested = promised_accuracy;
  if (coil) {
    input.samples += *coil * scan.trajectory.sample_count();
    if (input.samples_in_double) input.samples_in_double += *coil * scan.trajectory.sample_count();
  } else {
    input.coil_count = kspace.coil_count();
  }
  return input;
}

/// Returns a function for E of other images, for a verdict: one at a time, whoever calls it.
template <class T>
auto encoder(const Model<T>& model, TrajectoryOperators<T>& operators, const Context& context,
             std::mutex& mutex) {
  return [&](const Array<Complex<T>>& image) {
    const std::lock_guard lock(mutex);
    const auto& transform =
        *operators.transform_of(verdict_transform(context.settings, operators.settings()));
    Array<Complex<T>> samples(model.encoding->range(), context.device());
    model.encoding->forward_through(transform, image.to(context.device()), samples);
    return samples.to(Device::cpu());
  };
}

/// The solution and the products of its operators, in host memory: stacks of volumes.
template <class T>
struct Found {
  Array<Complex<T>> images, predicted, adjoint, normal, regularized;

  Found(const Solution<T>& solution, const Problem<T>& problem, std::int64_t sample_count,
        const ProcessGroup& processes)
      : images(solution.images.to(Device::cpu())),
        predicted(all_columns(solution.predicted.to(Device::cpu()), sample_count, processes)),
        adjoint(solution.right_hand_sides.to(Device::cpu())) {
    Array<Complex<T>> product(solution.images.shape(), solution.images.device());
    problem.normal->forward_each(solution.images, product);
    normal = product.to(Device::cpu());
    problem.system().forward_each(solution.images, product);
    if (!solution.subgradient.empty()) {
      auto of_image = one_of(product, solution.subgradient.shape(), 0);
      add_scaled(of_image, T(1), solution.subgradient);
    }
    regularized = product.to(Device::cpu());
    // The condition for real images is Re(E^H d - (E^H E + lambda W^H W) rho) = 0: the rest is no residual.
    if (problem.is_real)
      for (std::int64_t p = 0; p < regularized.size(); ++p) regularized[p].im = adjoint[p].im;
  }

  /// Gives views of one volume to the input.
  void give(const Shape& image, const Shape& samples, std::int64_t volume, VerifierInput<T>& input) const {
    input.image = one_of(images, image, volume);
    input.predicted = one_of(predicted, samples, volume);
    input.adjoint = one_of(adjoint, image, volume);
    input.normal = one_of(normal, image, volume);
    input.regularized = one_of(regularized, image, volume);
  }
};

}  // namespace

template <class T>
void verify_solution(Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, TrajectoryOperators<T>& operators,
                     const Context& context) {
  const Scan& scan = data.scan;
  RunLog& log = context.log;
  const Found<T> found(solution, model.problem, scan.trajectory.sample_count(), context.processes());
  if (context.processes().rank() > 0) return;
  const Shape samples{model.encoding->range()[0], scan.trajectory.sample_count()};
  std::vector<VerifierInput<T>> inputs;
  for (std::size_t volume = 0; volume < solution.volumes.size(); ++volume) {
    auto& input = inputs.emplace_back(input_of(data, volume, coil, operators.promised_accuracy()));
    if (!coil && scan.sensitivity_maps) {
      input.maps = scan.sensitivity_maps->values.data();
      if (std::is_same_v<T, double> && !scan.sensitivity_maps->in_double.empty())
        input.maps_in_double = scan.sensitivity_maps->in_double.data();
      input.map_scale = 1 / model.map_unit;
      if (model.sets) input.second_maps = scan.second_maps->values.data();
    }
    if (model.corrects_off_resonance) {
      input.field_map = &*scan.field_map;
      input.sample_time_s = &*scan.sample_time_s;
      input.requested = std::max(input.requested, off_resonance_accuracy(*least_squares(context.settings)));
    }
    found.give(model.encoding->domain(), samples, static_cast<std::int64_t>(volume), input);
    const auto& residuals = solution.volumes[volume].relative_residuals;
    input.solver_residual = solution.volumes[volume].stationarity.value_or(residuals.back());
    input.iterations = static_cast<int>(residuals.size()) - 1;
    input.elapsed_s = log.elapsed_s() / static_cast<double>(solution.volumes.size());
    input.volume_count = static_cast<int>(solution.volumes.size());
    input.volume = static_cast<int>(volume);
  }
  const Verifier& verifier = *context.services.verifier;
  if (!model.problem.sparse.empty())
    log.note(
        "certificate",
        "certificate: of the conditions of optimality it checks that the pull of the data and that of the "
        "terms without "
        "squares cancel; that the latter is a subgradient of these terms is the solver's word");
  if (model.problem.is_real)
    log.note("certificate",
                 "certificate: of the residual it checks the real part, all that an image has to answer for "
                 "that is real "
                 "beside its phase; that phase it takes as a part of the maps");
  log.stage("certificate", [&] {
    for_each_in_parallel(
        inputs.size(), [&](std::size_t v) { solution.volumes[v].certificate = verifier.verify(inputs[v]); });
  });
  std::mutex mutex;
  for (auto& input : inputs) {
    if (scan.noise && !coil) input.noise = &*scan.noise;
    if (context.processes().size() == 1) input.encode = encoder(model, operators, context, mutex);
  }
  log.stage("verdict", [&] {
    for_each_in_parallel(inputs.size(),
                         [&](std::size_t v) { solution.volumes[v].verdict = verifier.judge(inputs[v]); });
  });
}

template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, double promised_accuracy, const Context& context) {
  if (!context.services.verifier) return;
  RunLog& log = context.log;
  auto input = input_of(data, 0, 0, promised_accuracy);
  input.weights = weights;
  Array<Complex<T>> first(Shape{images.extent(1), images.extent(2), images.extent(3)}, images.device());
  copy_range(images, 0, first, 0, first.size());
  input.adjoint = first.to(Device::cpu());
  input.elapsed_s = log.elapsed_s();
  log.stage("certificate",
                [&] { log.report.certificate = context.services.verifier->verify(input); });
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void verify_solution<T>(Solution<T>&, const Model<T>&, const Measurements<T>&,                 \
                                   std::optional<std::int64_t>, TrajectoryOperators<T>&, const Context&); \
  template void verify_first_image<T>(const Array<Complex<T>>&, const Measurements<T>&,                   \
                                      const Array<double>*, double, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
