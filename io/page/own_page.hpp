#pragma once
// Pages of fhd: only they may be replaced, or removed, without a question.
#include <string>

namespace fhd::io {

/// Returns whether fhd made the page, in this or an earlier version; false if it cannot be read.
bool is_own_page(const std::string& path);
/// Throws Error with this remedy where another file than a page of fhd lies at `path`.
void require_own_page(const std::string& path, const char* remedy);
/// Writes the page, with `force` also over another file. Throws Error.
void write_page(const std::string& page, const std::string& path, bool force);

}  // namespace fhd::io
