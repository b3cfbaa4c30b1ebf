// Manual pages, in the macros of man(7).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

#include "app/commands/commands.hpp"
#include "app/options/command_table.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

/// Escapes what roff would take for something else; no line begins with a request.
std::string in_roff(const std::string& text) {
  constexpr std::string_view special = "\\-'`^~\"";
  constexpr const char* escapes[] = {"\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti", "\\(dq"};
  std::string escaped = text.starts_with('.') ? "\\&" : "";
  for (const char c : text)
    if (const auto at = special.find(c); at != std::string_view::npos)
      escaped += escapes[at];
    else
      escaped += c;
  return escaped;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Returns "\fB\-o\fR, \fB\-\-output\fR \fINAME\fR".
std::string tag_of(const CLI::Option& option) {
  if (!option.nonpositional()) return "\\fI" + in_roff(option.get_name(true)) + "\\fR";
  std::string tag;
  for (const auto& flag : flags_of(option)) tag += (tag.empty() ? "\\fB" : ", \\fB") + in_roff(flag) + "\\fR";
  const auto value = value_text(option);
  return value.empty() ? tag : tag + " \\fI" + in_roff(value) + "\\fR";
}

std::string entry_of(const CLI::Option& option) {
  std::string help = option.get_description();
  const auto value = value_text(option), standard = option.get_default_str();
  if (!option.nonpositional() && value.starts_with('{')) help = value + "; " + help;
  if (!standard.empty()) help += " [" + standard + "]";
  if (option.get_required() && option.nonpositional()) help += " (required)";
  return ".TP\n" + tag_of(option) + "\n" + in_roff(help) + "\n";
}

std::string synopsis_of(const CLI::App& command) {
  if (!command.get_parent()) return "\\fBfhd\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  std::string line = "\\fBfhd " + in_roff(command.get_name()) + "\\fR [\\fIOPTIONS\\fR]";
  for (const auto* option : shown_options(command)) {
    if (!option->nonpositional()) {
      const auto name = tag_of(*option) + (option->get_items_expected_max() > 1 ? "..." : "");
      line += option->get_required() ? " " + name : " [" + name + "]";
    } else if (option->get_required()) {
      line +=
          " \\fB" + in_roff(flags_of(*option).front()) + "\\fR \\fI" + in_roff(value_text(*option)) + "\\fR";
    }
  }
  return line + "\n";
}

/// Returns the description and the examples of a command.
std::string text_of(const CLI::App& command) {
  const auto name = command.get_parent() ? command.get_name() : std::string();
  std::string page;
  for (const auto& text : command_texts()) {
    if (text.command != name) continue;
    page += ".SH DESCRIPTION\n" + in_roff(text.description) + "\n.SH EXAMPLES\n";
    for (const auto& [line, meaning] : text.examples)
      page += ".TP\n\\fB" + in_roff(line) + "\\fR\n" + in_roff(meaning) + "\n";
  }
  return page;
}

/// Returns arguments and options, under one heading for each group.
std::string options_of(const CLI::App& command) {
  std::vector<std::pair<std::string, std::string>> groups;  // heading and entries
  for (const auto* option : shown_options(command)) {
    const auto name = option->nonpositional() ? option->get_group() : "Arguments";
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (group == groups.end())
      group = groups.insert(option->nonpositional() ? groups.end() : groups.begin(), {name, ""});
    group->second += entry_of(*option);
  }
  std::string text;
  for (const auto& [name, entries] : groups) text += ".SH " + in_roff(upper(name)) + "\n" + entries;
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& command) {
  const std::string version = program_version;
  const bool is_program = !command.get_parent();
  const auto all = shown_commands(is_program ? command : *command.get_parent());
  std::string page = fmt::format(
      ".\\\" Made from the options of the program: fhd options --format man\n"
      ".TH {} 1 \"\" \"fhd {}\" \"fhd\"\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
      in_roff(upper(page_name(command))), in_roff(version.substr(0, version.find(' '))),
      in_roff(page_name(command)),
      in_roff(is_program ? "exact reconstruction of non-Cartesian MRI scans" : command.get_description()),
      synopsis_of(command));
  page += text_of(command);
  if (is_program) page += ".SH COMMANDS\n";
  for (const auto* other : all)
    if (is_program && other != &command)
      page += ".TP\n\\fB" + in_roff(other->get_name()) + "\\fR\n" + in_roff(other->get_description()) + "\n";
  page += options_of(command) + ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : exit_statuses)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", in_roff(status), in_roff(meaning));
  if (const auto notes = command.get_footer(); !notes.empty()) page += ".SH NOTES\n" + in_roff(notes) + "\n";
  std::string others;
  for (const auto* other : all)
    if (other != &command)
      others += fmt::format("{}.BR {} (1)", others.empty() ? "" : ",\n", in_roff(page_name(*other)));
  return page + ".SH SEE ALSO\n" + others + "\n";
}

}  // namespace fhd::app
