#pragma once
// What files of others may cost: io/guard.
#include <string>

namespace CLI {
class App;
}

namespace fhd::app {

/// Adds --trust-input, --input-memory and --input-seconds, which hold for the process.
void add_input_limits(CLI::App& app);

/// The largest scan, for --help.
std::string text_of_limits();

}  // namespace fhd::app
