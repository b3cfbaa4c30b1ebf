#pragma once
// Words of a command line, of a recipe or of a session on their way into the parser.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fhd::app {

/// Parses the words, which do not begin with the program's name. No option, of this parser or its commands, takes an empty
/// value: what is meant by it is left out. Throws CLI::ParseError.
void parse_words(CLI::App& parser, const std::vector<std::string>& words);

}  // namespace fhd::app
