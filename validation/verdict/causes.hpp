#pragma once
// Why a model does not explain the data: mistakes that occur in what files tell, undone one at a time on the centre of
// k-space, which a small matrix shows in milliseconds. The one without which the data are explained is named.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd::validation {

/// What might be wrong, and how the scan would be without it.
struct Alternative {
  Cause cause;
  std::function<void(Scan&)> undo;
};

/// Of scans with these positions and coils, of which `scan` is one; refers to it and to `starts`, where its readouts
/// start (readouts.hpp).
std::vector<Alternative> alternatives_of(const Scan& scan, const std::vector<std::int64_t>& starts);

/// The cause whose undoing explains the centre of k-space: to less than half of what is left over as told, and to 15 %
/// or a third of it. Empty where none does. About 20 ms an alternative in 2D, 300 in 3D, some 60 of them; no more are
/// begun after `budget_s`. As much as the scan takes in memory. `coils` says whether the maps of the scan are used. What an alternative does not allow is no error.
std::optional<Cause> likeliest_cause(const Scan& scan, const CoilSettings& coils, double budget_s);

}  // namespace fhd::validation
