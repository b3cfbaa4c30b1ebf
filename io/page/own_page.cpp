#include "io/page/own_page.hpp"

#include <filesystem>
#include <string_view>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// The beginning of each page since there are pages (report_page.html).
constexpr std::string_view head_of_page =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:";

}  // namespace

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

void write_page(const std::string& page, const std::string& path, bool force) {
  if (!force) require_own_page(path, "--force overwrites it");
  write_atomically(path, page.data(), page.size());
}

}  // namespace fhd::io
