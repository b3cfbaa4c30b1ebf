#pragma once
// Certificates and verdicts of a result, for the report page.
#include <nlohmann/json.hpp>

namespace fhd::io {

/// result.certificate: the worst of all images: one that failed, and of those the largest error. One that says
/// "passed" without its figures did not pass. result.certified: how many there are. `report` is OUT.json.
void add_certificate(nlohmann::ordered_json& result, const nlohmann::ordered_json& report);

/// Adds result.verdict, the worst of all images, and result.doubts: {image, severity, text} of their warnings and
/// suspicions, once each; image is 0 where there is one.
void add_verdict(nlohmann::ordered_json& result, const nlohmann::ordered_json& report);

}  // namespace fhd::io
