#include "io/page/page_parts.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "io/files/input_file.hpp"
#include "io/files/shown_text.hpp"
#include "io/result/message_json.hpp"
#include "recon/error.hpp"

namespace fhd::io {

extern const char* const report_page_template;  // report_page.html, see CMakeLists.txt

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
  constexpr const char* mildest_first[] = {"explained",     "explained but for an ordinary rest",
                                           "untested",      "varies",
                                           "not converged", "unexplained"};
  const Json& found = field_of(verdict, "judgement");
  return static_cast<int>(std::ranges::find(mildest_first, found) - mildest_first);
}

/// Returns the suspicions and warnings of all images, suspicions first, with the number of the image where there are several;
/// the same text comes once.
Json doubts_of(const Json& images) {
  Json doubts = Json::array();
  for (std::size_t i = 0; i < images.size(); ++i)
    for (const auto& message : messages_in(images[i])) {
      const auto line = fhd::line_of(message);
      const auto same = [&](const Json& other) { return other["text"] == line; };
      if (is_doubt(message) && std::none_of(doubts.begin(), doubts.end(), same))
        doubts.push_back({{"image", images.size() > 1 ? static_cast<int>(i + 1) : 0},
                          {"code", message.code},
                          {"severity", name_of(message.severity)},
                          {"text", line}});
    }
  std::stable_partition(doubts.begin(), doubts.end(),
                        [](const Json& doubt) { return doubt["severity"] != "warning"; });
  return doubts;
}

/// The beginning of each page since there are pages (report_page.html).
constexpr std::string_view head_of_page =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:";

/// Returns `text` with `other` in place of every `sign`.
std::string replaced(const std::string& text, char sign, const char* other) {
  std::string made;
  for (const char c : text) made += c == sign ? std::string(other) : std::string(1, c);
  return made;
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

std::string base64(const std::vector<std::uint8_t>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a 0 at its end
  text.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                                       bytes.data(), static_cast<int>(bytes.size()))));
  return text;
}

std::string filled_page(const nlohmann::ordered_json& data) {
  constexpr auto on_error = Json::error_handler_t::replace;
  // '<' would let a file name end the script.
  const auto json = replaced(data.dump(-1, ' ', /*ensure_ascii=*/true, on_error), '<', "\\u003c");
  const auto title = replaced(replaced(shown(text_or(data, "title")), '&', "&amp;"), '<', "&lt;");
  std::string page = report_page_template;
  constexpr std::string_view data_mark = "@DATA@", title_mark = "@TITLE@";
  page.replace(page.find(data_mark), data_mark.size(), json);
  return page.replace(page.find(title_mark), title_mark.size(), title);  // it stands before the data
}

bool is_own_page(const std::string& path) try {
  std::error_code status;
  return std::filesystem::is_regular_file(path, status) && !is_of_another_kind(path, head_of_page);
} catch (const Error&) {
  return false;
}

void require_own_page(const std::string& path, const std::string& remedy) {
  if (is_of_another_kind(path, head_of_page))
    throw Error(path, "a new name, or a page of 'fhd report'", "another file", remedy);
}

}  // namespace fhd::io
