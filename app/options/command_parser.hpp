#pragma once
// Parses the words of a command line or of a session.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fhd::app {

/// Parses the words, which do not begin with the program's name. No option of this parser or its commands takes an empty
/// value. Throws CLI::ParseError, and Error for a value.
void parse_words(CLI::App& parser, const std::vector<std::string>& words);

/// Returns in one line what is wrong with a command line that was refused for `reason`: an unknown command or option
/// comes first, with the nearest known one; else the reason. `typed`: the words after the program's name. `has_remedy`:
/// the reason ends with what to do.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& typed, const std::string& reason,
                        bool has_remedy);

}  // namespace fhd::app
