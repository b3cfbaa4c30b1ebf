#pragma once
// The parts of the pages of results and of batches.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recon/domain/option_words.hpp"

namespace fhd::io {

// --- Fields of JSON that others wrote: of any type, or absent

/// Returns null where `json` has no such field.
inline const nlohmann::ordered_json& field_of(const nlohmann::ordered_json& json, const char* name) {
  static const nlohmann::ordered_json none;
  return json.is_object() && json.contains(name) ? json[name] : none;
}
/// Returns an empty list where the field is no list.
inline nlohmann::ordered_json list_of(const nlohmann::ordered_json& json, const char* name) {
  const auto& field = field_of(json, name);
  return field.is_array() ? field : nlohmann::ordered_json::array();
}
/// Returns item `i` of a list, null where there is none.
inline const nlohmann::ordered_json& item_of(const nlohmann::ordered_json& list, std::size_t i) {
  static const nlohmann::ordered_json none;
  return list.is_array() && i < list.size() ? list[i] : none;
}
inline std::string text_or(const nlohmann::ordered_json& json, const char* name,
                           const std::string& other = {}) {
  const auto& field = field_of(json, name);
  return field.is_string() ? field.get<std::string>() : other;
}

// --- Certificates and verdicts. `report` is OUT.json

/// result.certificate: the worst of all images: one that failed, and of those the largest error. One that says
/// "passed" without its figures did not pass. result.certified: how many there are.
void add_certificate(nlohmann::ordered_json& result, const nlohmann::ordered_json& report);
/// Adds result.verdict, the worst of all images, and result.doubts: {image, severity, text} of their warnings and
/// suspicions, once each; image is 0 where there is one.
void add_verdict(nlohmann::ordered_json& result, const nlohmann::ordered_json& report);

// --- Pages: only those of fhd may be replaced, or removed, without a question

std::string base64(const std::vector<std::uint8_t>& bytes);
/// Returns report_page.html with its data, of which "title" is also the title of the page.
std::string filled_page(const nlohmann::ordered_json& data);
/// Returns whether fhd made the page, in this or an earlier version; false if it cannot be read.
bool is_own_page(const std::string& path);
/// Throws Error where another file than a page of fhd lies at `path`.
void require_own_page(const std::string& path,
                      const std::string& remedy = flag_words("force") + " overwrites it");

}  // namespace fhd::io
