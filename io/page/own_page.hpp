#pragma once
// Pages of fhd, told from those of others: only they may be replaced, or removed, without a question.
#include <string>

namespace fhd::io {

/// Also one that an earlier version made; none that cannot be read.
bool is_own_page(const std::string& path);
/// Throws Error with this remedy where another file than a page of fhd lies at `path`.
void require_own_page(const std::string& path, const char* remedy);
/// Also over another file with `force`. Throws Error.
void write_page(const std::string& page, const std::string& path, bool force);

}  // namespace fhd::io
