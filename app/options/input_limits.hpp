#pragma once
// How much reading files of others may cost: io/reader.
#include <string>
#include <vector>

#include "app/options/table.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Returns the rows of --trust-input, --input-memory and --input-seconds, which hold for the process and set no field of
/// RunOptions.
const std::vector<OptionRow>& input_limits();
/// Adds them to a command.
void add_input_limits(CLI::App& app);

/// Returns the limits of a scan, for --help.
std::string text_of_limits();

}  // namespace fhd::app
