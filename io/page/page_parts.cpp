#include "io/page/page_parts.hpp"

#include <openssl/evp.h>

#include <filesystem>

#include "io/files/input_file.hpp"
#include "io/files/shown_text.hpp"
#include "recon/error.hpp"

namespace fhd::io {

extern const char* const report_page_template;  // report_page.html, see CMakeLists.txt

namespace {

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

std::string base64(const std::vector<std::uint8_t>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a 0 at its end
  text.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                                       bytes.data(), static_cast<int>(bytes.size()))));
  return text;
}

std::string filled_page(const nlohmann::ordered_json& data) {
  constexpr auto on_error = nlohmann::ordered_json::error_handler_t::replace;
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

void require_own_page(const std::string& path, const char* remedy) {
  if (is_of_another_kind(path, head_of_page))
    throw Error(path, "a new name, or a page of 'fhd report'", "another file", remedy);
}

}  // namespace fhd::io
