#include "recon/pipeline/prepare_coils.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "recon/coils/compression.hpp"
#include "recon/coils/noise.hpp"

namespace fhd {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::vector<std::int64_t> live_coils(const KSpace& kspace) {
  const std::int64_t samples = kspace.sample_count();
  std::vector<std::int64_t> live;
  for (std::int64_t coil = 0; coil < kspace.coil_count(); ++coil) {
    const Complex<float>* values = kspace.values.data() + coil * samples;
    if (std::any_of(values, values + samples, [](auto d) { return norm(d) != 0; })) live.push_back(coil);
  }
  return live;
}

/// "2", "2, 5 and 7", counted from 0 as in the file.
std::string dead_coils(const std::vector<std::int64_t>& live, std::int64_t coils) {
  std::vector<std::int64_t> dead;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    if (!std::binary_search(live.begin(), live.end(), coil)) dead.push_back(coil);
  std::string text;
  for (std::size_t i = 0; i < dead.size(); ++i)
    text += (i == 0 ? "" : i + 1 == dead.size() ? " and " : ", ") + std::to_string(dead[i]);
  return text;
}

/// `matrix` [virtual coil][coil] mixes k-space, noise and maps alike.
void mix(const Array<Complex<double>>& matrix, Scan& scan) {
  scan.kspace.values = apply_mixing(matrix, scan.kspace.values);
  if (scan.noise) scan.noise = apply_mixing(matrix, *scan.noise);
  if (scan.sensitivity_maps)
    scan.sensitivity_maps->values = apply_mixing(matrix, scan.sensitivity_maps->values);
}

void whiten(Scan& scan, Report& report) {
  const bool from_noise = scan.noise.has_value();
  const auto covariance =
      from_noise ? noise_covariance(*scan.noise)
                 : edge_noise_covariance(scan.trajectory, scan.geometry.matrix_size, scan.kspace.values);
  const Whitening result = whitening(covariance);
  mix(result.matrix, scan);
  report.settings.emplace_back("whitening", from_noise ? "noise readouts" : "edge of k-space");
  report.notes.push_back(
      std::string("coils are whitened by ") + (from_noise ? "the noise readouts" : "the edge of k-space") +
      ": " + std::to_string(covariance.sample_count) + " samples, standard deviation " +
      number(result.standard_deviation) + (result.decorrelates ? "" : "; " + result.reason));
}

void compress(const CoilSettings& settings, Scan& scan, Report& report) {
  const std::int64_t before = scan.kspace.coil_count();
  if (settings.coil_count && *settings.coil_count > before)
    throw Error("--compress", "at most the " + std::to_string(before) + " coils of the scan",
                std::to_string(*settings.coil_count));
  const auto& samples = scan.kspace.values;
  const Compression compression =
      settings.compression_energy
          ? compress_to_energy(samples, *settings.compression_energy)
          : compress_to_count(samples, settings.coil_count.value_or(
                                           std::max(CoilSettings::uncompressed_coils, (before + 2) / 3)));
  const std::int64_t after = compression.matrix.extent(0);
  if (after == before) return;
  mix(compression.matrix, scan);
  report.settings.emplace_back("virtual coils", std::to_string(after));
  report.notes.push_back(std::to_string(before) + " coils are compressed to " + std::to_string(after) +
                         " virtual coils, which leaves out " + number(100 * (1 - compression.kept_energy)) +
                         " % of the energy");
}

void find_maps(const CoilSettings& settings, Scan& scan, Report& report, const ProgressCallback& progress) {
  const bool adaptive = settings.maps == CoilMaps::adaptive;
  MapEstimate estimate =
      estimate_maps(scan, adaptive ? MapMethod::adaptive : MapMethod::espirit, settings.estimation, progress);
  scan.sensitivity_maps = std::move(estimate.maps);
  report.settings.emplace_back("coils", adaptive ? "adaptive" : "espirit");
  const auto& radius = estimate.calibration_radius;
  report.notes.push_back(
      std::string("sensitivity maps are found by ") + (adaptive ? "adaptive combination" : "ESPIRiT") +
      " from the centre of k-space, radius " +
      std::to_string(*std::max_element(radius.begin(), radius.end())) + " cycles/FOV" +
      (estimate.calibration_sampled
           ? ""
           : "; it is undersampled, and is completed by estimating image and sensitivities "
             "together"));
}

}  // namespace

std::optional<Scan> prepare_coils(const Scan& scan, const CoilSettings& settings, bool uses_maps,
                                  Report& report, const ProgressCallback& progress) {
  const bool asks_for_estimate = settings.maps == CoilMaps::espirit || settings.maps == CoilMaps::adaptive;
  if (settings.maps == CoilMaps::file && !scan.sensitivity_maps)
    throw Error("--coils file", "a scan with sensitivity maps", "none",
                "put them into the file as /sensitivity_maps, or use --coils espirit");
  if (asks_for_estimate && scan.kspace.coil_count() < 2)
    throw Error("sensitivity maps", "more than one coil", "one", "leave out --coils");

  const auto live = live_coils(scan.kspace);
  const std::int64_t all = scan.kspace.coil_count(), used = static_cast<std::int64_t>(live.size());
  if (used == 0) return std::nullopt;  // nothing to learn from zeros
  const bool from_file =
      scan.sensitivity_maps && (settings.maps == CoilMaps::file || settings.maps == CoilMaps::automatic);
  const bool estimates =
      used > 1 && (asks_for_estimate || (settings.maps == CoilMaps::automatic && !from_file && uses_maps));
  const bool whitens = used > 1 && (settings.whitening == NoiseWhitening::edge ||
                                    (settings.whitening == NoiseWhitening::automatic && scan.noise));
  const bool asks_for_compression = settings.coil_count || settings.compression_energy;
  const bool compresses =
      used > 1 && settings.compress &&
      (asks_for_compression || (used > CoilSettings::uncompressed_coils && (from_file || estimates)));
  if (!estimates) report.settings.emplace_back("coils", from_file ? "maps of the scan" : "no maps");
  const bool drops_maps = scan.sensitivity_maps && !from_file;
  if (used == all && !whitens && !compresses && !estimates && !drops_maps) return std::nullopt;

  const auto stage = [&](const char* name, auto work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    report.stages.push_back(
        {name, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  };
  Scan prepared(scan);
  if (drops_maps) prepared.sensitivity_maps.reset();
  if (used < all) {
    Array<Complex<double>> selection({used, all});
    for (std::int64_t i = 0; i < used; ++i) selection[i * all + live[static_cast<std::size_t>(i)]] = 1;
    mix(selection, prepared);
    report.notes.push_back("coils whose samples are all zero are left out: " + dead_coils(live, all));
  }
  if (whitens) stage("whitening", [&] { whiten(prepared, report); });
  if (compresses) stage("coil compression", [&] { compress(settings, prepared, report); });
  if (estimates) stage("sensitivity maps", [&] { find_maps(settings, prepared, report, progress); });
  return prepared;
}

}  // namespace fhd
