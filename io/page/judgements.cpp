#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "io/page/page_parts.hpp"
#include "io/result/message_json.hpp"

namespace fhd::io {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the error that a certificate found over the error allowed; infinite where a figure is missing that must be
/// there. Reports write null for what was not checked, and JSON has nothing else for what is not a number.
double severity(const Json& certificate) {
  constexpr double missing = std::numeric_limits<double>::infinity();
  const auto figure = [&](const char* name) {
    const Json& number = field_of(certificate, name);
    return number.is_number() ? number.get<double>() : missing;
  };
  // The adjoint is always checked; the others where a system was solved, all of them.
  double worst = figure("adjoint_error");
  int solved = 0;
  for (const char* name : {"forward_error", "normal_error", "true_residual"})
    if (std::isfinite(figure(name))) ++solved;
  if (!std::isfinite(worst) || !std::isfinite(figure("requested")) || (solved != 0 && solved != 3))
    return missing;
  if (solved == 3) worst = std::max({worst, figure("forward_error"), figure("normal_error")});
  return worst / figure("requested");
}

/// Returns how important a verdict is for a reader.
int severity_of_verdict(const Json& verdict) {
  constexpr const char* mildest_first[] = {"explained", "untested", "varies", "not converged", "unexplained"};
  const Json& found = field_of(verdict, "judgement");
  for (int i = 0; i < 5; ++i)
    if (found == mildest_first[i]) return i;
  return 5;
}

/// Returns the warnings and suspicions of all images, with the number of the image where there are several; the same
/// text comes once.
Json doubts_of(const Json& images) {
  Json doubts = Json::array();
  for (std::size_t i = 0; i < images.size(); ++i)
    for (const auto& message : messages_in(images[i])) {
      const auto line = fhd::line_of(message);
      const auto same = [&](const Json& other) { return other["text"] == line; };
      if (is_doubt(message) && std::none_of(doubts.begin(), doubts.end(), same))
        doubts.push_back({{"image", images.size() > 1 ? static_cast<int>(i + 1) : 0},
                          {"severity", name_of(message.severity)},
                          {"text", line}});
    }
  return doubts;
}

}  // namespace

void add_certificate(Json& result, const Json& report) {
  if (!field_of(report, "images").is_array()) return;
  std::int64_t certified = 0, failed = 0;
  std::pair<bool, double> worst{false, -1};
  for (const auto& image : report["images"]) {
    Json certificate = field_of(image, "certificate");
    if (!certificate.is_object()) continue;
    const double error = severity(certificate);
    certificate["passed"] = field_of(certificate, "passed") == Json(true) && std::isfinite(error);
    ++certified;
    if (!certificate["passed"]) ++failed;
    const std::pair found{!certificate["passed"].get<bool>(), error};
    if (found <= worst) continue;
    worst = found;
    result["certificate"] = certificate;
  }
  result["certified"] = {{"images", report["images"].size()}, {"certified", certified}, {"failed", failed}};
}

void add_verdict(Json& result, const Json& report) {
  const Json images = list_of(report, "images");
  if (Json doubts = doubts_of(images); !doubts.empty()) result["doubts"] = std::move(doubts);
  int worst = -1;
  for (const auto& image : images) {
    const Json& verdict = field_of(image, "verdict");
    if (const int found = severity_of_verdict(verdict); verdict.is_object() && found > worst)
      worst = found, result["verdict"] = verdict;
  }
}

}  // namespace fhd::io
