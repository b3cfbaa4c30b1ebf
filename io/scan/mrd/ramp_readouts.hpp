#pragma once
// Echo-planar readouts whose header describes samples on the ramps of the readout gradient (trajectoryDescription, as
// siemens_to_ismrmrd writes it), without a trajectory: they are brought to equal distances (ramp_regridding.hpp).
//
//   - Readouts of the first encoding space with as many samples as the description counts, but noise.
//   - Siemens demodulates a readout to the middle of the FOV by the gradient of the flat top: position and read direction
//     tell the offset that is taken back on the ramps.
#include <memory>
#include <string>

#include "io/scan/mrd/sample_positions.hpp"

namespace fhd::io::mrd {

class RampReadouts {
 public:
  /// Returns null where the header describes none, or a gradient that cannot be.
  static std::shared_ptr<const RampReadouts> find(const Header& header, const std::string& subject);
  /// Returns `source`, its readouts regridded; `source` itself where `ramps` is null.
  static Source regridded(std::shared_ptr<const RampReadouts> ramps, Source source);
  /// Changes the head to that of the regridded readout; returns whether it is one.
  bool put_head(ReadoutHead& head) const;
  std::string sentence() const;

 private:
  RampReadouts(const Header& header, const std::string& subject);
  double offset(const ReadoutHead& head) const;

  RampShape shape_;
  int samples_;
  double fov_mm_;  ///< the encoded one, where offsets count; else 0
  RampRegridding regridding_;
};

}  // namespace fhd::io::mrd
