#pragma once
// What helps or watches a reconstruction, and changes nothing in its image.
#include <memory>

#include "recon/domain/trajectory_cache.hpp"
#include "recon/pipeline/verifier.hpp"

namespace fhd {

struct Services {
  /// Null: what depends on the trajectory lives as long as the Reconstructor.
  std::shared_ptr<TrajectoryCache> trajectory_cache{};
  std::shared_ptr<const Verifier> verifier{};  ///< null: results carry no certificate
};

}  // namespace fhd
