// Completion for fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options/command_table.hpp"

namespace fhd::app {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += (c == '\'' || c == '\\' ? std::string("\\") : std::string()) + c;
  return quoted + "'";
}

std::string fish_line(const DocumentedCommand& command, const DocumentedOption& option) {
  const std::string where =
      command.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
  std::string line = "complete -c fhd -n " + fish_quoted(where);
  for (const auto& name : option.short_names) line += " -s " + name;
  for (const auto& name : option.long_names) line += " -l " + name;
  auto words = option.words;
  const bool has_paths = option.takes_file || option.takes_folder;
  if (option.takes_folder && !option.takes_file) words.push_back("(__fish_complete_directories)");
  if (option.is_positional())
    line += has_paths ? " -F" : " -f";
  else if (!option.is_flag())
    line += option.takes_file ? " -r -F" : " -x";
  if (!words.empty()) line += " -a " + fish_quoted(fmt::format("{}", fmt::join(words, " ")));
  return line + " -d " + fish_quoted(option.help) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<DocumentedCommand>& all) {
  std::string script = "# fish completion of fhd, made from its options: fhd options --format fish\n";
  for (const auto& command : all) {
    if (!command.name.empty())
      script += fmt::format("complete -c fhd -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                            fish_quoted(command.what));
    for (const auto& option : command.options) script += fish_line(command, option);
  }
  return script;
}

}  // namespace fhd::app
