#pragma once
// The HTML page with its data.
#include <nlohmann/json.hpp>
#include <string>

namespace fhd::io {

/// Returns report_page.html with its data, of which "title" is also the title of the page.
std::string filled_page(const nlohmann::ordered_json& data);

}  // namespace fhd::io
