#include "app/options/noise_map_option.hpp"

#include <CLI/CLI.hpp>
#include <cmath>

#include "app/options/options.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

const char* const noise_map_flag = "--noise-map";

}  // namespace

void NoiseMapOption::add_to(CLI::App& app) {
  app.add_option(
         noise_map_flag, text_,
         "also write the standard deviation, SNR and g-factor of every voxel, in OUT.h5 and as "
         "OUT_noise.nii.gz, OUT_snr.nii.gz, OUT_gfactor.nii.gz: from N pseudo-replicas of the scan, or exact "
         "for Cartesian scans with regular gaps; of one volume")
      ->type_name("N|exact");
}

std::optional<NoiseMapRequest> NoiseMapOption::request() const {
  if (!text_) return {};
  if (*text_ == "exact") return NoiseMapRequest{};
  double number = 0;
  if (!parse_number(*text_, number) || !(number > 0 && number < 1e15) || number != std::floor(number))
    throw Error(noise_map_flag, "a number of replicas, or exact", "'" + *text_ + "'",
                "100 tell the deviation to 5 %");
  const NoiseMapRequest request{static_cast<std::int64_t>(number)};
  validate(request);
  return request;
}

void NoiseMapOption::require_alone(std::size_t volumes, int processes) const {
  if (!text_) return;
  if (volumes != 1)
    throw Error(noise_map_flag, "one volume", std::to_string(volumes),
                "choose one with --repetitions and --slices");
  if (processes != 1)
    throw Error(noise_map_flag, "one process", std::to_string(processes), "run it without mpirun");
}

void NoiseMapOption::require_no_frames() const {
  if (!text_) return;
  throw Error("--noise-map with --frames, --spokes-per-frame or --gate", "",
              "these options contradict each other", "leave out --noise-map");
}

}  // namespace fhd::app
