#include "io/page/page_template.hpp"

#include "io/files/shown_text.hpp"
#include "io/page/fields.hpp"

namespace fhd::io {

extern const char* const report_page_template;  // report_page.html, see CMakeLists.txt

namespace {

using Json = nlohmann::ordered_json;

/// Returns text as it stands between the tags of a page.
std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text)
    html += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

}  // namespace

// '<' would let a file name end the script.
std::string filled_page(const Json& data) {
  std::string json;
  for (const char c : data.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace))
    json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string page = report_page_template;
  constexpr std::string_view mark = "@DATA@";
  page.replace(page.find(mark), mark.size(), json);
  constexpr std::string_view title = "@TITLE@";  // before the data, whatever these hold
  return page.replace(page.find(title), title.size(), escaped(shown(text_or(data, "title"))));
}

}  // namespace fhd::io
