#include "app/options/command_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "app/options/values.hpp"

namespace fhd::app {
namespace {

/// Returns whether a value is a word, such as "auto" or "cycles/FOV"; "FILE", "N" and "NUMBER" stand for something.
bool is_word(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::islower(c) != 0; }) &&
         text.find_first_of("[].") == std::string::npos;
}

/// Reads the values from the type that CLI11 shows: "TEXT:{cg,gridded}", "N:INT in [0 - 9]", "FILE|auto".
void describe_value(const std::string& type, DocumentedOption& option) {
  const auto opening = type.find('{'), closing = type.find('}');
  if (opening != std::string::npos && closing != std::string::npos) {
    option.words = split_at(type.substr(opening + 1, closing - opening - 1), ',');
    option.value = type.substr(opening, closing + 1 - opening);
    return;
  }
  option.value = type.substr(0, type.find(":INT in "));
  for (const auto& piece : split_at(option.value, '|')) {
    if (is_word(piece)) option.words.push_back(piece);
    option.takes_file |= piece == "FILE" || piece == "TEXT" || piece == "NAME";
    option.takes_folder |= piece == "DIR";
  }
}

DocumentedOption documented(const CLI::Option& option) {
  DocumentedOption result;
  result.short_names = option.get_snames();
  result.long_names = option.get_lnames();
  result.positional_name = result.is_positional() ? option.get_name(true) : "";
  result.help = option.get_description();
  result.group = option.get_group();
  result.default_value = option.get_default_str();
  result.required = option.get_required();
  result.repeats = option.get_items_expected_max() > 1;
  if (option.get_type_size() > 0) describe_value(option.get_type_name(), result);
  return result;
}

DocumentedCommand documented(const CLI::App& app, const std::string& name) {
  DocumentedCommand command{name, app.get_description(), app.get_footer(), {}};
  for (const auto* option : app.get_options())
    if (!option->get_group().empty()) command.options.push_back(documented(*option));
  return command;
}

}  // namespace

std::vector<std::string> DocumentedOption::flags() const {
  std::vector<std::string> all;
  for (const auto& name : short_names) all.push_back("-" + name);
  for (const auto& name : long_names) all.push_back("--" + name);
  return all;
}

std::vector<DocumentedCommand> documented_commands(const CLI::App& program) {
  std::vector<DocumentedCommand> commands{documented(program, "")};
  for (const auto* command : program.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(documented(*command, command->get_name()));
  return commands;
}

}  // namespace fhd::app
