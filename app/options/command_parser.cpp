#include "app/options/command_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/options/command_table.hpp"
#include "app/options/nearest_word.hpp"
#include "io/result/result_request.hpp"

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

std::string without_dashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

bool looks_like_option(const std::string& word) {
  const auto first = word.find_first_not_of('-');
  return word.starts_with('-') && first != std::string::npos &&
         std::isalpha(static_cast<unsigned char>(word[first])) != 0;
}

std::string help_of(const std::string& command) { return "see '" + command + " --help'"; }

/// Returns what is wrong with a word that a command has no place for.
std::string no_place_for(const CLI::App& command, const std::string& word) {
  const auto name = command.get_name();
  const bool is_result = !word.ends_with(".h5") && io::without_result_ending(word) != word;
  std::error_code status;
  if (name == "recon" && !is_result && std::filesystem::exists(word, status))
    return name + " takes one scan, found another: " + word + "; 'fhd batch SCANS -o FOLDER' takes several";
  const auto names_result = command.get_option_no_throw("--output") != nullptr;
  return name + " has no place for '" + word + "'; " +
         (names_result ? "-o " + word + " names the result" : help_of("fhd " + name));
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

std::string usage_error(const CLI::App& app, const std::vector<std::string>& typed, const std::string& reason,
                        bool has_remedy) {
  const auto is_command = [&](const std::string& word) {
    return !app.get_subcommands([&](const CLI::App* each) { return each->get_name() == word; }).empty();
  };  // hidden ones too
  const auto begins_with_option = !typed.empty() && typed.front().starts_with('-');
  if (begins_with_option)
    if (const auto command = std::find_if(typed.begin(), typed.end(), is_command); command != typed.end())
      return "options stand behind the command: fhd " + *command + " " + typed.front() + " ...";
  const bool is_known = typed.empty() || begins_with_option || is_command(typed.front());
  if (!is_known) {
    std::vector<std::string> commands;
    for (const auto* each : shown_commands(app))
      if (each != &app) commands.push_back(each->get_name());
    std::error_code status;
    if (std::filesystem::exists(typed.front(), status))
      return typed.front() + " is a file: 'fhd recon " + typed.front() + "' reconstructs it";
    const auto hint = did_you_mean(typed.front(), commands);
    return "unknown command '" + typed.front() + (hint.empty() ? "'; " + help_of("fhd") : "': " + hint);
  }
  const auto parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const auto name = parsed.empty() ? std::string("fhd") : "fhd " + command.get_name();
  const auto left = command.remaining();
  // Searches in the order of the command line: CLI11 returns what it cannot use in its own order.
  const auto dashes = std::find(typed.begin(), typed.end(), "--");  // behind which no word is an option
  const auto unknown = std::find_if(typed.begin(), dashes, [&](const std::string& word) {
    return looks_like_option(word) && std::any_of(left.begin(), left.end(), [&](const std::string& each) {
             return word == each || word.starts_with(each + "=");
           });
  });
  if (unknown == dashes && !left.empty() && !parsed.empty()) return no_place_for(command, left.front());
  if (unknown == dashes) return reason + (has_remedy ? "" : "; " + help_of(name));
  const auto option = unknown->substr(0, unknown->find('='));
  std::vector<std::string> names;
  for (const auto* each : shown_options(command))
    names.insert(names.end(), each->get_lnames().begin(), each->get_lnames().end());
  const auto hint = did_you_mean(without_dashes(option), names, "--");
  return "unknown option " + option + (hint.empty() ? "; " + help_of(name) : ": " + hint);
}

}  // namespace fhd::app
