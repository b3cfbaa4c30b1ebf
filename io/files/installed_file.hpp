#pragma once
#include <string>

namespace fhd::io {

/// Returns the path of a file that belongs to this program, such as a module that it opens: beside the file that this code
/// is part of (the program, or Python's extension), beside the program, or, as installed, in lib/fhd beside its folder.
/// Returns the first of these where there is none.
std::string installed_file(const std::string& name);

}  // namespace fhd::io
