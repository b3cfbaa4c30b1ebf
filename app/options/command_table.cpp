#include "app/options/command_table.hpp"

#include <CLI/CLI.hpp>

namespace fhd::app {

std::vector<const CLI::App*> shown_commands(const CLI::App& program) {
  auto commands = program.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
  commands.insert(commands.begin(), &program);
  return commands;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* each) { return !each->get_group().empty(); });
}

std::string page_name(const CLI::App& command) {
  return command.get_parent() ? "fhd-" + command.get_name() : "fhd";
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const auto& name : option.get_snames()) flags.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string value_text(const CLI::Option& option) {
  if (option.get_type_size() <= 0) return {};
  const auto type = option.get_type_name();  // "TEXT:{cg,gridded}", "N:INT in [0 - 9]", "FILE|auto"
  const auto opening = type.find('{'), closing = type.find('}');
  if (opening == std::string::npos || closing == std::string::npos)
    return type.substr(0, type.find(":INT in "));
  return type.substr(opening, closing + 1 - opening);
}

}  // namespace fhd::app
