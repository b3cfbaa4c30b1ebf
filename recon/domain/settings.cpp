#include "recon/domain/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

void require_accuracy(double accuracy) {
  if (!(accuracy > 0 && accuracy <= 0.1))
    throw Error(Field{"accuracy"}, "a relative error in (0, 0.1]", short_number(accuracy));
}

/// `what` in (0, most].
void require_share(const char* what, double share, double most) {
  if (!(share > 0 && share <= most))
    throw Error(what, "a share in (0, " + short_number(most) + "]", short_number(share));
}

void validate(const CoilSettings& coils) {
  if (const auto* choice = std::get_if<VirtualCoils>(&coils.compression); choice && choice->count < 1)
    throw Error(Field{"compress"}, "at least 1 virtual coil", std::to_string(choice->count));
  if (const auto* choice = std::get_if<KeptEnergy>(&coils.compression))
    require_share("--compress", choice->share, 1);
}

void validate_sets(const Settings& settings) {
  const char* const sets = "--map-sets";
  if (settings.coils.estimation.sets == MapSetCount::one) return;
  const auto* method = least_squares(settings);
  if (method == nullptr)
    throw Error(sets, "--method cg, for two or auto", name_of(settings.method), "leave one of them out");
  if (settings.coils.maps != CoilMaps::automatic && settings.coils.maps != CoilMaps::espirit)
    throw Error(sets, "--coils espirit, for two or auto", "another choice", "leave one of them out");
  if (method->partial_fourier != PartialFourier::off)
    throw Error(sets, "--partial-fourier off, for two or auto", "phase", "leave one of them out");
  for (const auto& [kind, strength] : method->sparse)
    if (kind == SparseKind::tgv || is_temporal(kind))
      throw Error(sets, "wavelet or tv in --regularizer, for two or auto", name_of(kind),
                  "leave one of them out");
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
  if (!kinds.empty() && std::holds_alternative<FromNoise>(method.lambda))
    throw Error(Field{"lambda"}, "a number beside " + std::string(name_of(*kinds.begin())), "auto",
                "the noise decides lambda of a quadratic regularizer alone");
}

void validate_partial_fourier(const LeastSquares& method) {
  if (method.partial_fourier == PartialFourier::off) return;
  if (!method.sparse.empty())
    throw Error(Field{"partial-fourier"}, "identity or roughness in --regularizer",
                name_of(method.sparse.front().kind), "leave one of them out");
  if (std::holds_alternative<FromNoise>(method.lambda))
    throw Error(Field{"partial-fourier"}, "a number for --lambda", "auto", "leave one of them out");
}

void validate(const LeastSquares& method) {
  validate_sparse(method);
  validate_partial_fourier(method);
  if (const auto* lambda = std::get_if<OfMeanEigenvalue>(&method.lambda))
    require_share("--lambda", lambda->share, std::numeric_limits<double>::max());
  if (const auto* roughness = std::get_if<RoughnessPenalty>(&method.regularizer);
      roughness && roughness->prior)
    if (const double strength = roughness->prior->strength; !(strength > 0 && std::isfinite(strength)))
      throw Error(Field{"prior-strength"}, "a number above 0", std::to_string(strength));
  if (const auto* lambda = std::get_if<OfLargestEigenvalue>(&method.lambda))
    if (!(lambda->share >= 0 && std::isfinite(lambda->share)))
      throw Error(Field{"lambda"}, "a number >= 0, relative to the largest eigenvalue of F^H F",
                  short_number(lambda->share));
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
  validate_sets(settings);
}

}  // namespace fhd
