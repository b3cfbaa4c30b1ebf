#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/work.hpp"

namespace fhd::app {

struct BatchEnd {
  std::vector<Outcome> outcomes;  ///< of the scans
  std::string stopped;            ///< why it ended early; empty when it did not
};
/// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
BatchEnd do_batch(const BatchWork& work, BatchLog& log);

}  // namespace fhd::app
