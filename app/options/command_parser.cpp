#include "app/options/command_parser.hpp"

#include <CLI/CLI.hpp>

namespace fhd::app {
namespace {

constexpr const char *no_value = "expected a value, found none", *remedy = "; leave the option out";

void refuse_empty_values(CLI::App& parser) {
  for (auto* option : parser.get_options())
    if (option->get_type_size() != 0)
      option->check([is_named = option->nonpositional()](const std::string& value) {
        return value.empty() ? std::string(no_value) + (is_named ? remedy : "") : std::string();
      });
  for (auto* command : parser.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_values(*command);
}

}  // namespace

void parse_words(CLI::App& parser, const std::vector<std::string>& words) {
  refuse_empty_values(parser);
  // CLI11 takes the word after "--name=" for the value.
  for (const auto& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw CLI::ValidationError(word.substr(0, word.size() - 1), std::string(no_value) + remedy);
  }
  parser.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants them
}

}  // namespace fhd::app
