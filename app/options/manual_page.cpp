// Manual pages, in the macros of man(7).
#include <fmt/format.h>

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

std::string page_name(const DocumentedCommand& command) {
  return command.name.empty() ? "fhd" : "fhd-" + command.name;
}

/// Returns "\fB\-o\fR, \fB\-\-output\fR \fINAME\fR".
std::string tag_of(const DocumentedOption& option) {
  if (option.is_positional()) return "\\fI" + in_roff(option.positional_name) + "\\fR";
  std::string tag;
  for (const auto& flag : option.flags()) tag += (tag.empty() ? "\\fB" : ", \\fB") + in_roff(flag) + "\\fR";
  return option.is_flag() ? tag : tag + " \\fI" + in_roff(option.value) + "\\fR";
}

std::string entry_of(const DocumentedOption& option) {
  std::string help = option.help;
  if (option.is_positional() && !option.words.empty()) help = option.value + "; " + help;
  if (!option.default_value.empty()) help += " [" + option.default_value + "]";
  if (option.required && !option.is_positional()) help += " (required)";
  return ".TP\n" + tag_of(option) + "\n" + in_roff(help) + "\n";
}

std::string synopsis_of(const DocumentedCommand& command) {
  if (command.name.empty()) return "\\fBfhd\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  std::string line = "\\fBfhd " + in_roff(command.name) + "\\fR [\\fIOPTIONS\\fR]";
  for (const auto& option : command.options) {
    if (option.is_positional()) {
      const auto name = "\\fI" + in_roff(option.positional_name) + "\\fR" + (option.repeats ? "..." : "");
      line += option.required ? " " + name : " [" + name + "]";
    } else if (option.required) {
      line += " \\fB" + in_roff(option.flags().front()) + "\\fR \\fI" + in_roff(option.value) + "\\fR";
    }
  }
  return line + "\n";
}

/// Returns the options, under one heading for each group.
std::string options_of(const DocumentedCommand& command) {
  std::vector<std::string> groups;
  for (const auto& option : command.options)
    if (!option.is_positional() && std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  std::string text;
  for (const auto& group : groups) {
    text += ".SH " + in_roff(upper(group)) + "\n";
    for (const auto& option : command.options)
      if (!option.is_positional() && option.group == group) text += entry_of(option);
  }
  return text;
}

}  // namespace

std::string manual_page(const DocumentedCommand& command, const std::vector<DocumentedCommand>& all) {
  const std::string version = program_version;
  std::string page = fmt::format(
      ".\\\" Made from the options of the program: fhd options --format man\n"
      ".TH {} 1 \"\" \"fhd {}\" \"fhd\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
      in_roff(upper(page_name(command))), in_roff(version.substr(0, version.find(' '))),
      in_roff(page_name(command)),
      in_roff(command.name.empty() ? "exact reconstruction of non-Cartesian MRI scans" : command.what),
      synopsis_of(command));
  std::string arguments;
  for (const auto& option : command.options)
    if (option.is_positional()) arguments += entry_of(option);
  if (!arguments.empty()) page += ".SH ARGUMENTS\n" + arguments;
  if (command.name.empty()) {
    page += ".SH COMMANDS\n";
    for (const auto& other : all)
      if (!other.name.empty())
        page += ".TP\n\\fB" + in_roff(other.name) + "\\fR\n" + in_roff(other.what) + "\n";
  }
  page += options_of(command);
  page += ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : exit_statuses)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", in_roff(status), in_roff(meaning));
  if (!command.footer.empty()) page += ".SH NOTES\n" + in_roff(command.footer) + "\n";
  page += ".SH SEE ALSO\n";
  std::string others;
  for (const auto& other : all)
    if (other.name != command.name)
      others += fmt::format("{}.BR {} (1)", others.empty() ? "" : ",\n", in_roff(page_name(other)));
  return page + others + "\n";
}

}  // namespace fhd::app
