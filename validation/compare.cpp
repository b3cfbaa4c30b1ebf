#include "validation/compare.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "recon/encoding/sense.hpp"
#include "recon/pipeline/prepare.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/transform.hpp"
#include "validation/metrics.hpp"

namespace fhd::validation {
namespace {

using Values = Array<Complex<double>>;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Timed {
  Values values;
  double seconds;
};

/// sum over coils of conj(S) F^H d, [z][y][x]; without maps F^H d of every coil, [coil z][y][x].
template <class T>
Timed fhd_of(const Scan& scan, const ComparisonCase& way) {
  const auto& matrix = scan.geometry.matrix_size;
  const auto coils = scan.kspace.coil_count();
  const auto samples = values_of<T>(scan.kspace);
  const Stopwatch watch;
  const auto transform =
      way.sums.kind == TransformKind::gridded
          ? make_gridded_transform<T>(scan.trajectory, matrix, way.sums.accuracy, way.device)
          : make_direct_transform<T>(scan.trajectory, matrix, way.device, choice_of(way.sums));
  Array<Complex<T>> coil_images(transform->images_shape(coils), way.device);
  transform->adjoint(samples.to(way.device), coil_images);
  Array<Complex<T>> image;
  if (scan.sensitivity_maps) {
    image = Array<Complex<T>>(scan.geometry.image_shape(), way.device);
    combine_coils(coil_images, values_of<T>(*scan.sensitivity_maps).to(way.device), image);
  } else {
    image = std::move(coil_images).reshaped({coils * matrix[2], matrix[1], matrix[0]});
  }
  auto values = converted<Complex<double>>(image);
  return {std::move(values), watch.seconds()};
}

template <class T>
Timed q_of(const Scan& scan, const ComparisonCase& way) {
  const auto& matrix = scan.geometry.matrix_size;
  const Stopwatch watch;
  const auto q =
      way.sums.kind == TransformKind::gridded
          ? point_spread_gridded<T>(scan.trajectory, matrix, nullptr, way.sums.accuracy, way.device)
          : point_spread_direct<T>(scan.trajectory, matrix, nullptr, way.device, choice_of(way.sums));
  auto values = converted<Complex<double>>(q);
  return {std::move(values), watch.seconds()};
}

Measurement measure(const Values& values, const Values& reference, const Values& truth,
                    std::array<int, 3> matrix_size, double seconds) {
  const auto scaled = metrics::scaled(values, metrics::best_scale(values, truth));
  return {seconds, metrics::relative_l2(values, reference),
          metrics::relative_maximum_error(values, reference), metrics::ssim(scaled, truth, matrix_size),
          metrics::relative_l2(scaled, truth)};
}

std::array<int, 3> matrix_of(const Values& values) {
  return {static_cast<int>(values.extent(2)), static_cast<int>(values.extent(1)),
          static_cast<int>(values.extent(0))};
}

bool is_reference(const ComparisonCase& way) {
  return way.settings.precision == Precision::double_precision && way.sums.kind == TransformKind::direct &&
         way.device.is_cpu();
}

/// Errors of every case against the case `reference`, and of images against the truth where it is known.
void measure_all(Comparison& comparison, const std::vector<Timed>& fhd, const std::vector<Timed>& q,
                 std::size_t reference, const std::optional<Image>& truth) {
  const auto& reference_image = comparison.cases[reference].values;
  comparison.matrix_size = matrix_of(reference_image);
  if (truth) {
    if (!(truth->values.shape() == reference_image.shape()))
      throw Error("true image", "the matrix " + reference_image.shape().text() + " of the reconstruction",
                  truth->values.shape().text(), "give the image of this scan with --truth");
    comparison.truth = values_of<double>(*truth);
  }
  const auto& target = comparison.truth ? *comparison.truth : reference_image;
  for (std::size_t i = 0; i < comparison.cases.size(); ++i) {
    auto& result = comparison.cases[i];
    result.fhd = measure(fhd[i].values, fhd[reference].values, fhd[reference].values,
                         matrix_of(fhd[i].values), fhd[i].seconds);
    result.q =
        measure(q[i].values, q[reference].values, q[reference].values, matrix_of(q[i].values), q[i].seconds);
    result.image =
        measure(result.values, reference_image, target, comparison.matrix_size, result.image.seconds);
  }
}

}  // namespace

std::vector<ComparisonCase> comparison_cases(const Settings& settings, Device device) {
  const auto solved = [&](const char* name, Precision precision, Device where, GpuSums sums) {
    LeastSquares method = least_squares(settings) ? *least_squares(settings) : LeastSquares{};
    method.transform.kind = TransformKind::direct;
    method.transform.gpu_sums = sums;
    return ComparisonCase{name, {method, precision, settings.coils}, method.transform, where};
  };
  const double accuracy = transform_settings(settings).accuracy;
  constexpr Precision single = Precision::single_precision;
  std::vector<ComparisonCase> cases{
      {"gridded",
       {ConventionalGridding{accuracy}, single, settings.coils},
       {TransformKind::gridded, accuracy}},
      solved("CPU.DP", Precision::double_precision, Device::cpu(), GpuSums::fast),
      solved("CPU.SP", single, Device::cpu(), GpuSums::fast)};
  if (device.is_cuda()) {
    cases.push_back(solved("GPU.accurate", single, device, GpuSums::accurate));
    cases.back().pictured = false;
    cases.push_back(solved("GPU.fast", single, device, GpuSums::fast));
    cases.back().pictured = false;
    cases.push_back(solved("GPU.tensor", single, device, GpuSums::tensor_cores));
  }
  return cases;
}

Comparison compare(const Scan& measured, const std::vector<ComparisonCase>& cases,
                   const std::optional<Image>& truth, const ProgressCallback& progress) {
  const auto reference_case = std::find_if(cases.begin(), cases.end(), is_reference);
  if (reference_case == cases.end())
    throw Error("comparison", "a case of direct sums in double precision", "none");
  const auto reference = static_cast<std::size_t>(reference_case - cases.begin());

  // All cases see the same coils and maps.
  RunLog preparation(Device::cpu(), progress);
  const auto prepared = prepare_coils(measured, reference_case->settings, preparation);
  const Scan& scan = prepared ? *prepared : measured;
  CoilSettings as_they_are = CoilSettings::as_they_are();
  as_they_are.maps = scan.sensitivity_maps ? CoilMaps::file : CoilMaps::none;

  Comparison comparison;
  comparison.reference = reference_case->name;
  std::vector<Timed> fhd, q;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Settings settings = cases[i].settings;
    settings.coils = as_they_are;
    settings.outside_fov = OutsideFov::off;
    const auto tell = [&](const char* stage) {
      if (progress)
        progress({cases[i].name + ": " + stage, static_cast<std::int64_t>(i),
                  static_cast<std::int64_t>(cases.size())});
    };
    const bool in_double = settings.precision == Precision::double_precision;
    tell("F^H d");
    fhd.push_back(in_double ? fhd_of<double>(scan, cases[i]) : fhd_of<float>(scan, cases[i]));
    tell("Q");
    q.push_back(in_double ? q_of<double>(scan, cases[i]) : q_of<float>(scan, cases[i]));
    tell("image");
    const Stopwatch watch;
    auto reconstruction = reconstruct(scan, settings, {cases[i].device});
    CaseResult result;
    result.way = cases[i];
    result.image.seconds = watch.seconds();
    result.values = values_of<double>(reconstruction.image);
    result.report = std::move(reconstruction.report);
    comparison.cases.push_back(std::move(result));
  }

  measure_all(comparison, fhd, q, reference, truth);
  return comparison;
}

namespace {

/// Magnitudes of one slice.
std::vector<float> magnitudes_of(const Values& values, int slice) {
  const auto pixels = values.extent(1) * values.extent(2);
  std::vector<float> magnitudes(static_cast<std::size_t>(pixels));
  for (std::int64_t i = 0; i < pixels; ++i)
    magnitudes[static_cast<std::size_t>(i)] = static_cast<float>(abs(values[slice * pixels + i]));
  return magnitudes;
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * fraction);
  return text;
}

}  // namespace

io::GrayImage picture_of(const Comparison& comparison, int slice) {
  constexpr float error_gain = 5;
  const auto [nx, ny, nz] = comparison.matrix_size;
  if (slice < 0 || slice >= nz)
    throw Error("slice", "0 ... " + std::to_string(nz - 1), std::to_string(slice));
  const auto reference =
      std::find_if(comparison.cases.begin(), comparison.cases.end(),
                   [&](const CaseResult& result) { return result.way.name == comparison.reference; });
  const auto& target = comparison.truth ? *comparison.truth : reference->values;
  const auto target_magnitudes = magnitudes_of(target, slice);
  const float white = io::quantile(target_magnitudes, io::white_quantile);
  const int factor = std::max(1, 288 / std::max(nx, ny));
  const auto panel = [&, nx = nx, ny = ny](const std::vector<float>& magnitudes, const std::string& caption) {
    return io::captioned(io::enlarged(io::gray_of(magnitudes.data(), nx, ny, white), factor), caption);
  };

  std::vector<io::GrayImage> images, errors;
  if (comparison.truth) {
    images.push_back(panel(target_magnitudes, "true"));
    errors.push_back(panel(std::vector<float>(target_magnitudes.size()), "errors x 5"));
  }
  for (const auto& result : comparison.cases) {
    if (!result.way.pictured) continue;
    auto scaled = metrics::scaled(result.values, metrics::best_scale(result.values, target));
    const bool is_target = !comparison.truth && result.way.name == comparison.reference;
    images.push_back(
        panel(magnitudes_of(scaled, slice),
              result.way.name + (is_target ? " (reference)" : ": " + percent(result.image.nrmse))));
    for (std::int64_t i = 0; i < scaled.size(); ++i) scaled[i] -= target[i];
    auto difference = magnitudes_of(scaled, slice);
    for (auto& magnitude : difference) magnitude *= error_gain;
    errors.push_back(panel(difference, result.way.name + (comparison.truth ? "" : " error x 5")));
  }
  const int columns = static_cast<int>(images.size());
  images.insert(images.end(), errors.begin(), errors.end());
  return io::tile(images, columns, 4);
}

}  // namespace fhd::validation
