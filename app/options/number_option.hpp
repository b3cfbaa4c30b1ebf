#pragma once
// Options that are one number: refused in words of what they take.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace fhd::app {

/// "expected a whole number from 2, found '1.5'"; with a largest one, "... from 2 to 100, ...".
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// "expected a number from 0 to 100, found 'nan'".
CLI::Validator number_between(double least, double most);

}  // namespace fhd::app
