#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <memory>
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/work.hpp"

namespace fhd::app {

struct BatchEnd {
  std::vector<Outcome> outcomes;  ///< of the scans
  std::string stopped;            ///< why it ended early; empty when it did not
  std::shared_ptr<void> workers;  ///< which are ending; its destructor waits for them
};
/// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
BatchEnd do_batch(const BatchWork& work, BatchLog& log);

}  // namespace fhd::app
