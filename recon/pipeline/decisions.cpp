#include "recon/pipeline/decisions.hpp"

#include <algorithm>
#include <string>

#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/encoding/field_transform.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/machine_rates.hpp"
#include "recon/pipeline/trajectory_operators.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/phase/phase_backends.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {

CoilDecision decide_coils(const CoilFacts& facts, const Settings& settings) {
  const CoilSettings& coils = settings.coils;
  const bool asks_for_estimate = asks_to_find(coils.maps);
  if (coils.maps == CoilMaps::file && !facts.has_maps)
    throw Error(Field{"coils", "file"}, "a scan with sensitivity maps", "none",
                "put them into the file as /sensitivity_maps, or use " + option_words("coils", "espirit"));
  if (asks_for_estimate && facts.all < 2)
    throw Error("sensitivity maps", "more than one coil", "one", "leave out " + option_words("coils"));

  CoilDecision decision;
  const bool several = facts.live > 1;
  decision.maps_from_scan =
      facts.has_maps && (coils.maps == CoilMaps::file || coils.maps == CoilMaps::automatic);
  decision.finds_maps =
      several && (asks_for_estimate ||
                  (coils.maps == CoilMaps::automatic && !decision.maps_from_scan && least_squares(settings)));
  decision.whitens = several && (coils.whitening == NoiseWhitening::edge ||
                                 (coils.whitening == NoiseWhitening::automatic && facts.has_noise));
  const bool asks_for_compression = std::holds_alternative<VirtualCoils>(coils.compression) ||
                                    std::holds_alternative<KeptEnergy>(coils.compression);
  decision.compresses =
      several && !std::holds_alternative<NoCompression>(coils.compression) &&
      (asks_for_compression || (facts.live > AutomaticCompression::uncompressed && decision.uses_maps()));
  return decision;
}

CoilDecision decide_coils_of(const Scan& scan, const Settings& settings) {
  const std::int64_t coils = scan.kspace.coil_count();
  return decide_coils({coils, coils, scan.sensitivity_maps.has_value(), scan.noise.has_value()}, settings);
}

Folding decide_folding(const FoldingFacts& facts, const Settings& settings) {
  const bool solves = least_squares(settings) != nullptr;
  if (facts.lattice.reduction < 2 || is_method<PlainAdjoint>(settings)) return Folding::none;
  if (!facts.knows_maps()) return settings.coils.allow_folding ? Folding::suspicious : Folding::refused;
  const bool unfolds = solves && facts.lattice.reduction <= facts.live_coils;
  return unfolds ? Folding::none : Folding::suspicious;
}

std::int64_t virtual_coil_count(std::int64_t coils, const CompressionChoice& choice) {
  const auto* asked = std::get_if<VirtualCoils>(&choice);
  if (asked == nullptr) return std::max(std::min(coils, AutomaticCompression::uncompressed), (coils + 2) / 3);
  if (asked->count > coils)
    throw Error(Field{"compress"}, "at most the " + std::to_string(coils) + " coils of the scan",
                std::to_string(asked->count));
  return asked->count;
}

std::int64_t coils_at_once(std::int64_t coils, const std::function<bool(std::int64_t)>& fits) {
  for (std::int64_t count = coils; count > 0; --count)
    if (coils % count == 0 && fits(count)) return count;
  return 0;
}

double direct_pairs(const Settings& settings, Device device, const std::array<int, 3>& matrix_size,
                    const SampleCount& samples, std::int64_t coils) {
  const double voxels = static_cast<double>(matrix_size[0]) * matrix_size[1] * matrix_size[2],
               all = samples.all * voxels * coils;
  const auto* solved = least_squares(settings);
  if (solved && solved->normal == NormalKind::explicit_product) return 2 * all * solved->iterations;
  const bool shared = device.is_cpu() && samples.x < samples.all;
  const auto adjoint = [&](double points, double nx) {
    if (!shared) return samples.all * points;
    constexpr double pairs_of_a_row = 16;  // what the factor of a row costs
    return points / nx * (nx * samples.x + pairs_of_a_row * samples.xy);
  };
  const double image = adjoint(voxels, matrix_size[0]) * coils;
  if (!solved) return image;
  const double q =
      adjoint(difference_points(matrix_size), matrix_size[0] == 1 ? 1 : 2.0 * matrix_size[0]) / 2;
  return image + q + (predicts_by_gridding(settings, TransformKind::direct) ? 0 : all);
}

/// Returns the pairs up to which `automatic` sums directly: about 10 s on two cores with AVX-512; 2 s on an H100.
static double affordable_pairs(const Settings& settings, Device device) {
  if (device.is_cpu()) return 1e12;
  return suits_tensor_cores(choice_of(transform_settings(settings)), settings.precision) ? 1e14 : 1e13;
}

std::string TransformDecision::pairs_text() const {
  return short_number(pairs) + " pairs of voxels and samples" + (shares ? " that differ" : "");
}

TransformDecision decide_transform(const Settings& settings, Device device,
                                   const std::array<int, 3>& matrix_size, std::int64_t samples,
                                   std::int64_t coils, const std::function<SampleCount()>& that_differ) {
  const double most = affordable_pairs(settings, device);
  TransformDecision decision{transform_settings(settings).kind};
  decision.pairs = direct_pairs(settings, device, matrix_size, {samples, samples, samples}, coils);
  decision.asked_for = decision.kind != TransformKind::automatic;
  if (decision.asked_for) return decision;
  if (decision.pairs > most && device.is_cpu()) {  // where sums of equal positions are shared
    const SampleCount count = that_differ();
    decision.shares = count.x < count.all;
    decision.pairs = direct_pairs(settings, device, matrix_size, count, coils);
  }
  decision.kind = decision.pairs <= most ? TransformKind::direct : TransformKind::gridded;
  return decision;
}

bool predicts_by_gridding(const Settings& settings, TransformKind kind) {
  const auto* solved = least_squares(settings);
  return solved && kind == TransformKind::direct && settings.precision == Precision::single_precision &&
         solved->normal == NormalKind::toeplitz;
}

std::int64_t concurrent_volumes(Device device, std::int64_t volumes, std::int64_t voxels,
                                std::int64_t threads) {
  constexpr std::int64_t few = 4, of_gpu = 6;
  if (volumes < few || voxels > voxels_of_small_volume) return 1;
  return std::min(volumes, device.is_cuda() ? std::clamp<std::int64_t>(threads, 1, of_gpu) : threads);
}

bool needs_largest_eigenvalue(const LeastSquares& method) {
  const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda);
  if (!method.sparse.empty()) return of_largest && of_largest->share > 0;  // else found with the image
  const bool is_of_mean = std::holds_alternative<OfMeanEigenvalue>(method.lambda) ||
                          std::holds_alternative<StandardLambda>(method.lambda);
  return !is_of_mean || !std::holds_alternative<IdentityPenalty>(method.regularizer);
}

bool uses_preconditioner(const LeastSquares& method, bool has_fields) {
  const auto* of_largest = std::get_if<OfLargestEigenvalue>(&method.lambda);
  return method.preconditioner == PreconditionerKind::automatic && method.normal == NormalKind::toeplitz &&
         !has_fields && !(of_largest && of_largest->share == 0 && method.sparse.empty()) &&
         // On a lattice there is no density to even out, and the side that is missing would count as its inverse.
         method.partial_fourier == PartialFourier::off;
}

TransformSettings verdict_transform(const Settings& settings, const TransformSettings& own) {
  if (own.kind == TransformKind::gridded) return own;
  return {TransformKind::gridded, predicts_by_gridding(settings, own.kind) ? prediction_accuracy : 1e-3};
}

Device device_for(const Settings& settings, Device device) {
  return is_method<CartesianFft>(settings) ? Device::cpu() : device;
}

double field_accuracy(const TransformSettings& transform) { return std::max(transform.accuracy, 1e-6); }

/// Returns the work of E^H E with so many terms.
static Work work_of_factors(const FieldSizes& of, const TransformSettings& plain, std::int64_t terms) {
  const auto transform = cost_of(plain, of.sizes);
  const FieldCost cost(*transform, of.sizes, terms);
  return cost.forward(of.coils) + cost.adjoint(of.coils);
}

std::int64_t most_factors(const FieldSizes& of, const TransformSettings& asked,
                          const TransformSettings& plain) {
  if (asked.kind == TransformKind::direct) return 0;
  if (asked.kind == TransformKind::gridded) return most_field_terms;
  constexpr double affordable_s = 30, fewest = 4;  // of one product with E^H E, by exact sums
  const MachineRates rates = assumed_rates(of.sizes.device);
  const double exact = rates.seconds(2 * of.seen * PhaseCost(of.sizes, 0).forward(of.coils)),
               worth = exact / rates.seconds(work_of_factors(of, plain, 1));
  if (worth < fewest) return 0;
  return exact > affordable_s ? most_field_terms
                              : static_cast<std::int64_t>(std::min<double>(worth, most_field_terms));
}

std::int64_t most_toeplitz_terms(const FieldSizes& of, const TransformSettings& plain, std::int64_t terms) {
  const MachineRates rates = assumed_rates(of.sizes.device);
  const OperatorCost one = toeplitz_cost(of.sizes.matrix_size, of.coils, of.sizes.precision, of.sizes.device);
  constexpr double most_bytes = 4e9;
  const double worth = rates.seconds(work_of_factors(of, plain, terms)) / rates.seconds(one.forward),
               bytes = static_cast<double>(one.bytes) + image_bytes(of.sizes) * static_cast<double>(of.coils);
  return static_cast<std::int64_t>(std::min({worth, most_bytes / bytes, double(most_field_terms)}));
}

}  // namespace fhd
