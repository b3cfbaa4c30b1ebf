// Completion for zsh, by its function _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options/command_table.hpp"

namespace fhd::app {
namespace {

/// Escapes text inside a specification in single quotes, whose parts brackets and colons end.
std::string zsh_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'')
      escaped += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      escaped += std::string("\\") + c;
    else
      escaped += c;
  }
  return escaped;
}

/// Returns ":FILE:_files".
std::string zsh_value(const DocumentedOption& option) {
  const auto words = zsh_escaped(fmt::format("{}", fmt::join(option.words, " ")));
  const char* const paths = option.takes_file ? "_files" : option.takes_folder ? "_files -/" : "";
  std::string action = " ";  // one that begins with a space is called as it stands
  if (option.words.empty())
    action = *paths ? paths : " ";
  else if (!*paths)
    action = "(" + words + ")";
  else
    action = fmt::format(" _alternative \"words\\:word\\:({})\" \"files\\:file\\:{}\"", words, paths);
  return ":" + zsh_escaped(option.is_positional() ? option.positional_name : option.value) + ":" + action;
}

std::string zsh_specifications(const DocumentedOption& option) {
  if (option.is_positional()) return fmt::format("    '{}{}'", option.repeats ? "*" : "", zsh_value(option));
  const auto flags = option.flags();
  std::vector<std::string> specifications;
  for (const auto& flag : flags) {
    const std::string others = flags.size() > 1 ? fmt::format("({})", fmt::join(flags, " ")) : "";
    const char* const join = option.is_flag() ? "" : flag.starts_with("--") ? "=" : "+";
    specifications.push_back(fmt::format("    '{}{}{}[{}]{}'", others, flag, join, zsh_escaped(option.help),
                                         option.is_flag() ? "" : zsh_value(option)));
  }
  return fmt::format("{}", fmt::join(specifications, " \\\n"));
}

}  // namespace

std::string zsh_completion(const std::vector<DocumentedCommand>& all) {
  std::string script = "#compdef fhd\n# Made from the options of the program: fhd options --format zsh\n";
  std::string commands, top;
  for (const auto& command : all) {
    std::vector<std::string> specifications;
    for (const auto& option : command.options) specifications.push_back(zsh_specifications(option));
    if (command.name.empty()) {
      top = fmt::format("{}", fmt::join(specifications, " \\\n"));
      continue;
    }
    commands += fmt::format("    '{}:{}'\n", command.name, zsh_escaped(command.what));
    script += fmt::format("\n_fhd_{}() {{\n  _arguments -s \\\n{}\n}}\n", command.name,
                          fmt::join(specifications, " \\\n"));
  }
  script +=
      "\n_fhd_commands() {\n  local -a commands=(\n" + commands + "  )\n  _describe command commands\n}\n";
  return script + "\n_fhd() {\n  local curcontext=$curcontext state line\n  _arguments -C \\\n" + top +
         " \\\n    '1:command:_fhd_commands' \\\n    '*::argument:->of_command'\n"
         "  [[ $state == of_command ]] && (( $+functions[_fhd_$words[1]] )) && _fhd_$words[1]\n}\n\n_fhd "
         "\"$@\"\n";
}

}  // namespace fhd::app
