#pragma once
// What files of others may cost: io/guard.

namespace CLI {
class App;
}

namespace fhd::app {

/// Adds --trust-input, --input-memory and --input-seconds, which hold for the process.
void add_input_limits(CLI::App& app);

}  // namespace fhd::app
