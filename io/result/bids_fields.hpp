#pragma once
// What OUT.json says by the names that BIDS gives (https://bids-specification.readthedocs.io), so that it is the sidecar of
// OUT.nii.gz. Nothing in it identifies a patient, a study or a site.
#include <nlohmann/json.hpp>
#include <string>

#include "io/result/results.hpp"

namespace fhd::io {

/// Returns "least squares", "density-compensated gridding", ... as the settings of a report name the method; else an empty
/// text.
std::string name_of_method(const nlohmann::ordered_json& settings);
/// Returns the fields; what is not known is absent. Times are in s, the field in T; what differs among the repetitions is a
/// list with a number for each.
nlohmann::ordered_json bids_fields(const ImageSeries& series, const Provenance& provenance,
                                   const CompanionResults& companions);

}  // namespace fhd::io
