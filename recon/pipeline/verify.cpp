#include <algorithm>

#include "recon/array/vector_math.hpp"
#include "recon/pipeline/decisions.hpp"
#include "recon/pipeline/steps.hpp"

namespace fhd {
namespace {

/// What is the same for every method; of one coil without its map.
template <class T>
VerifierInput<T> input_of(const Measurements<T>& data, std::optional<std::int64_t> coil,
                          double promised_accuracy) {
  const Scan& scan = data.scan;
  VerifierInput<T> input{scan.trajectory, scan.geometry.matrix_size, scan.kspace.values.data(), 1, nullptr};
  if (std::is_same_v<T, double> && !scan.kspace.in_double.empty())
    input.samples_in_double = scan.kspace.in_double.data();
  if (data.unit != 0) input.sample_scale = 1 / data.unit;
  input.requested = promised_accuracy;
  if (coil) {
    input.samples += *coil * scan.trajectory.sample_count();
    if (input.samples_in_double) input.samples_in_double += *coil * scan.trajectory.sample_count();
  } else {
    input.coil_count = scan.kspace.coil_count();
  }
  return input;
}

template <class T>
void verify(VerifierInput<T>& input, const Context& context) {
  Journal& journal = context.journal;
  input.elapsed_s = journal.elapsed_s();
  journal.stage("certificate",
                [&] { journal.report.certificate = context.services.verifier->verify(input); });
}

/// E of other images, for a verdict.
template <class T>
auto encoder(const Model<T>& model, TrajectoryOperators<T>& operators, const Context& context) {
  return [&](const Array<Complex<T>>& image) {
    const auto& transform =
        *operators.transform_of(verdict_transform(context.settings, operators.settings()));
    Array<Complex<T>> samples(model.encoding->range(), context.device());
    model.encoding->forward_through(transform, image.to(context.device()), samples);
    return samples.to(Device::cpu());
  };
}

}  // namespace

template <class T>
void verify_solution(const Solution<T>& solution, const Model<T>& model, const Measurements<T>& data,
                     std::optional<std::int64_t> coil, TrajectoryOperators<T>& operators,
                     const Context& context) {
  const Scan& scan = data.scan;
  auto input = input_of(data, coil, operators.promised_accuracy());
  if (!coil && scan.sensitivity_maps) {
    input.maps = scan.sensitivity_maps->values.data();
    if (std::is_same_v<T, double> && !scan.sensitivity_maps->in_double.empty())
      input.maps_in_double = scan.sensitivity_maps->in_double.data();
    input.map_scale = 1 / model.map_unit;
  }
  if (model.corrects_off_resonance) {
    input.field_map = &*scan.field_map;
    input.sample_time_s = &*scan.sample_time_s;
    input.requested = std::max(input.requested, off_resonance_accuracy(*least_squares(context.settings)));
  }
  input.image = solution.image.to(Device::cpu());
  input.predicted =
      all_columns(solution.predicted.to(Device::cpu()), scan.trajectory.sample_count(), context.processes());
  input.adjoint = solution.right_hand_side.to(Device::cpu());
  Array<Complex<T>> product(solution.image.shape(), solution.image.device());
  model.problem.normal->forward(solution.image, product);
  input.normal = product.to(Device::cpu());
  model.problem.system().forward(solution.image, product);
  input.regularized = product.to(Device::cpu());
  Journal& journal = context.journal;
  input.solver_residual = journal.report.relative_residuals.back();
  input.iterations = static_cast<int>(journal.report.relative_residuals.size()) - 1;
  if (context.processes().rank() > 0) return;
  verify(input, context);
  if (scan.noise && !coil) input.noise = &*scan.noise;
  if (context.processes().size() == 1) input.encode = encoder(model, operators, context);
  journal.stage("verdict", [&] { journal.report.verdict = context.services.verifier->judge(input); });
}

template <class T>
void verify_first_image(const Array<Complex<T>>& images, const Measurements<T>& data,
                        const Array<double>* weights, double promised_accuracy, const Context& context) {
  if (!context.services.verifier) return;
  auto input = input_of(data, 0, promised_accuracy);
  input.weights = weights;
  Array<Complex<T>> first(Shape{images.extent(1), images.extent(2), images.extent(3)}, images.device());
  copy_range(images, 0, first, 0, first.size());
  input.adjoint = first.to(Device::cpu());
  verify(input, context);
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void verify_solution<T>(const Solution<T>&, const Model<T>&, const Measurements<T>&,           \
                                   std::optional<std::int64_t>, TrajectoryOperators<T>&, const Context&); \
  template void verify_first_image<T>(const Array<Complex<T>>&, const Measurements<T>&,                   \
                                      const Array<double>*, double, const Context&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
