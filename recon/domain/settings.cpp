#include "recon/domain/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "recon/domain/compatibility.hpp"
#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

void require_accuracy(double accuracy) {
  if (!(accuracy > 0 && accuracy <= 0.1))
    throw Error(Field{"accuracy"}, "a relative error in (0, 0.1]", short_number(accuracy));
}

/// Throws Error unless `share` lies in (0, most].
void require_share(Field field, double share, double most) {
  if (!(share > 0 && share <= most))
    throw Error(field, "a share in (0, " + short_number(most) + "]", short_number(share));
}

void validate(const CoilSettings& coils) {
  if (const auto* choice = std::get_if<VirtualCoils>(&coils.compression); choice && choice->count < 1)
    throw Error(Field{"compress"}, "at least 1 virtual coil", std::to_string(choice->count));
  if (const auto* choice = std::get_if<KeptEnergy>(&coils.compression))
    require_share(Field{"compress"}, choice->share, 1);
}

void validate_sparse(const LeastSquares& method) {
  std::set<SparseKind> kinds;
  const auto open = std::count_if(method.sparse.begin(), method.sparse.end(),
                                  [](const SparsePenalty& each) { return !each.strength; });
  if (open > 1)
    throw Error(Field{"regularizer"}, "one strength from the noise (auto) at most", std::to_string(open),
                "the noise decides one number: give the others theirs, such as tv:0.005");
  for (const auto& [kind, strength] : method.sparse) {
    const std::string name = name_of(kind);
    // Beyond, single precision and the limit of iterations decide the image.
    if (strength && !(*strength >= 1e-6 && *strength <= 10))
      throw Error(Field{"regularizer"}, "a strength of " + name + " in [1e-6, 10], such as 0.01",
                  short_number(*strength));
    if (!kinds.insert(kind).second) throw Error(Field{"regularizer"}, name + " once", name + " twice");
  }
}

void validate(const LeastSquares& method) {
  validate_sparse(method);
  if (const auto* lambda = std::get_if<OfMeanEigenvalue>(&method.lambda))
    require_share(Field{"lambda"}, lambda->share, std::numeric_limits<double>::max());
  if (const auto* roughness = std::get_if<RoughnessPenalty>(&method.regularizer);
      roughness && roughness->prior)
    if (const double strength = roughness->prior->strength; !(strength > 0 && std::isfinite(strength)))
      throw Error(Field{"prior-strength"}, "a number above 0", std::to_string(strength));
  if (const auto* lambda = std::get_if<OfLargestEigenvalue>(&method.lambda))
    if (!(lambda->share >= 0 && std::isfinite(lambda->share)))
      throw Error(Field{"lambda"}, "a number >= 0, relative to the largest eigenvalue of F^H F",
                  short_number(lambda->share));
  if (const auto* floor = std::get_if<BelowNoise>(&method.lambda)) {
    require_share(Field{"lambda"}, floor->share, 1);
    if (method.sparse.empty())
      throw Error(Field{"lambda"}, "a number or auto, without sparse terms", "the floor beside sparse terms");
  }
  require_accuracy(method.transform.accuracy);
  if (method.iterations < 1)
    throw Error(Field{"iterations"}, "at least 1", std::to_string(method.iterations));
  if (!(method.tolerance >= 0 && method.tolerance < 1))
    throw Error(Field{"tolerance"}, "a relative residual in [0, 1)", short_number(method.tolerance));
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
  validate(settings.coils);
  refuse_incompatible(features_of(settings));
}

}  // namespace fhd
