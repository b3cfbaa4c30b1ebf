#include "recon/domain/settings.hpp"

#include <cmath>
#include <string>

#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

void require_accuracy(double accuracy) {
  if (!(accuracy > 0 && accuracy <= 0.1))
    throw Error("settings.accuracy", "a relative error in (0, 0.1]", short_number(accuracy));
}

void validate(const LeastSquares& method) {
  if (const auto* lambda = std::get_if<OfLargestEigenvalue>(&method.lambda))
    if (!(lambda->share >= 0 && std::isfinite(lambda->share)))
      throw Error("settings.lambda", "a number >= 0, relative to the largest eigenvalue of F^H F",
                  short_number(lambda->share));
  require_accuracy(method.transform.accuracy);
  if (method.iterations < 1)
    throw Error("settings.iterations", "at least 1", std::to_string(method.iterations));
  if (!(method.tolerance >= 0 && method.tolerance < 1))
    throw Error("settings.tolerance", "a relative residual in [0, 1)", short_number(method.tolerance));
}
void validate(const ConventionalGridding& method) { require_accuracy(method.accuracy); }
void validate(const PlainAdjoint& method) { require_accuracy(method.transform.accuracy); }
void validate(const CartesianFft&) {}

}  // namespace

TransformSettings transform_settings(const Settings& settings) {
  if (const auto* method = least_squares(settings)) return method->transform;
  if (const auto* method = std::get_if<PlainAdjoint>(&settings.method)) return method->transform;
  if (const auto* method = std::get_if<ConventionalGridding>(&settings.method))
    return {TransformKind::gridded, method->accuracy};
  return {TransformKind::direct};  // an FFT is as exact
}

void validate(const Settings& settings) {
  std::visit([](const auto& method) { validate(method); }, settings.method);
}

}  // namespace fhd
