// What reading a scan and preparing its coils costs.
#include <algorithm>
#include <cmath>

#include "recon/coils/calibration.hpp"
#include "recon/coils/maps.hpp"
#include "recon/pipeline/estimate_walk.hpp"
#include "recon/pipeline/surroundings.hpp"

namespace fhd {

void Walk::read() {
  MemoryLedger& host = out_.host;
  const double all = scan_.coils;
  // Measured as the peak of a run on a scan of a few kilobytes: code and tables of the program and of HDF5
  // and NIfTI.
  host.hold("program and libraries", program_bytes);
  host.hold("k-space data as read", samples_ * all * held_bytes(scan_.in_double));
  host.hold("trajectory as read", samples_ * 24);
  if (scan_.has_maps) host.hold("sensitivity maps as read", voxels_ * all * held_bytes(scan_.in_double));
  host.hold("calibration as read", scan_.calibration_samples * (all * held_bytes(scan_.in_double) + 24));
  host.hold("noise readouts", scan_.noise_samples * all * 8);
  if (scan_.has_field_map) host.hold("field map", voxels_ * 4);
  if (scan_.has_sample_time) host.hold("sample times", samples_ * 8);
  host.hold_briefly("trajectory in the order of the file", samples_ * 24);
  constexpr double read_ahead = 8 * mebibyte;  // of files that are made of readouts
  if (scan_.readout_length > 0) host.hold("readouts read ahead", std::min(read_ahead, samples_ * all * 8));
}

void Walk::look_beyond_fov() {
  if (!looks_beyond_fov(how_.settings) || scan_.told_apart == own_field) return;
  const MapsCost look =
      look_cost(scan_.matrix_size, scan_.told_apart, scan_.samples.all, scan_.coils, device_);
  out_.host.hold_briefly("image of low resolution beyond the FOV", static_cast<double>(look.scratch_bytes));
  helped_stage("surroundings", look);
  if (scan_.is_enlarged)
    out_.host.hold("scan on the matrix that holds the object",
                   samples_ * (scan_.coils * held_bytes(scan_.in_double) + 24));
}

void Walk::prepare() {
  MemoryLedger& host = out_.host;
  const Settings& settings = how_.settings;
  const double all = scan_.coils, noise = scan_.noise_samples;
  const CoilDecision& decision = out_.coil_decision =
      decide_coils({scan_.coils, scan_.coils, scan_.has_maps, scan_.noise_samples > 0}, settings);
  out_.coils = scan_.coils;
  if (decision.compresses) {
    out_.coils = virtual_coil_count(scan_.coils, settings.coils.compression);
    if (std::holds_alternative<KeptEnergy>(settings.coils.compression))
      out_.assumptions.push_back(
          "how many virtual coils keep the energy asked for is not known before the data are read: " +
          std::to_string(out_.coils) + " are assumed");
  }
  if (decision.whitens || decision.compresses || decision.finds_maps)
    host.hold("OpenBLAS and its buffers", 10 * mebibyte);
  const bool drops_maps = scan_.has_maps && !decision.maps_from_scan;
  if (decision.whitens || decision.compresses || decision.finds_maps || drops_maps) {
    const double kept_maps = decision.maps_from_scan ? voxels_ : 0;
    const bool mixes = decision.whitens || decision.compresses,
               mixes_in_double = mixes && settings.precision == Precision::double_precision;
    prepared_in_double_ = scan_.in_double || mixes_in_double;
    host.hold("scan after the preparation of its coils",
              (samples_ + kept_maps) * coils() * held_bytes(prepared_in_double_) + samples_ * 24 +
                  noise * coils() * 8);
    host.hold_briefly("calibration of these coils",
                      scan_.calibration_samples * (coils() * held_bytes(prepared_in_double_) + 24));
    if (mixes)
      host.hold_briefly("coils before mixing", (samples_ + kept_maps) * all * (mixes_in_double ? 16 : 8));
  }
  const Work mixing = mixing_work(scan_.coils, scan_.samples.all);
  if (decision.whitens) stage("whitening", mixing, 0, true);
  if (decision.compresses) stage("coil compression", mixing, 0, true);
  if (!decision.finds_maps) return;
  host.hold("sensitivity maps found", voxels_ * coils() * 8);
  const MapsCost maps = maps_cost(
      scan_.matrix_size, scan_.calibration_samples > 0 ? scan_.calibration_samples : scan_.samples.all,
      out_.coils, map_method(settings.coils.maps), scan_.calibration_sampled, settings.coils.estimation,
      device_);
  host.hold_briefly("calibration", static_cast<double>(maps.scratch_bytes));
  helped_stage("sensitivity maps", maps);
}

}  // namespace fhd
