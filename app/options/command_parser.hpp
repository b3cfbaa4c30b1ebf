#pragma once
// Parses the words of a command line or of a session.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fhd::app {

/// Parses the words, which do not begin with the program's name. No option of this parser or its commands takes an empty
/// value. Throws CLI::ParseError.
void parse_words(CLI::App& parser, const std::vector<std::string>& words);

}  // namespace fhd::app
