#pragma once
// What every step of a reconstruction is given beside its values.
#include "recon/array/execution.hpp"
#include "recon/domain/settings.hpp"
#include "recon/pipeline/journal.hpp"
#include "recon/pipeline/services.hpp"

namespace fhd {

struct Context {
  const Settings& settings;
  const Execution& execution;
  const Services& services;
  Journal& journal;

  Device device() const { return execution.device; }
  const ProcessGroup& processes() const { return *execution.processes; }
};

}  // namespace fhd
