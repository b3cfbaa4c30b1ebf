#pragma once
// Checks of values that commands give to CLI11.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/options/values.hpp"

namespace fhd::app {

/// Takes these words; what is said of another one names the nearest.
CLI::Validator one_of(const std::vector<std::string>& words);
/// Takes whole numbers: "expected a whole number from 2 to 100, found '1.5'".
CLI::Validator whole_number(std::int64_t least, std::int64_t most = no_largest);
/// Takes numbers: "expected a number from 0 to 100, found 'nan'".
CLI::Validator number_between(double least, double most);

}  // namespace fhd::app
