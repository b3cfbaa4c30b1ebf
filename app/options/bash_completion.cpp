// Completion for bash 4.3 or later; the package bash-completion is not needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/options/command_table.hpp"

namespace fhd::app {
namespace {

/// Words that stand for the names of files and of folders.
constexpr const char *bash_file_mark = "/file", *bash_folder_mark = "/folder";

std::string bash_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string bash_values(const DocumentedOption& option) {
  auto words = option.words;
  if (option.takes_file) words.push_back(bash_file_mark);
  if (option.takes_folder) words.push_back(bash_folder_mark);
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns the lines of a `case` with the values that options and positionals of a command take.
std::string bash_cases(const DocumentedCommand& command) {
  std::string cases;
  for (const auto& option : command.options) {
    if (option.is_flag()) continue;
    std::vector<std::string> patterns;
    if (option.is_positional()) patterns.push_back(bash_quoted(command.name + " "));
    for (const auto& flag : option.flags()) patterns.push_back(bash_quoted(command.name + " " + flag));
    cases += fmt::format("    {}) echo {} ;;\n", fmt::join(patterns, "|"), bash_quoted(bash_values(option)));
  }
  return cases;
}

constexpr const char* bash_body = R"bash(
_fhd() {
  local line=${COMP_LINE:0:COMP_POINT} current= previous= command= values= given= reply
  local -a words replies=()
  COMPREPLY=()
  read -ra words <<< "$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  (( ${#words[@]} > 1 )) && command=${words[1]}
  (( ${#words[@]} > 2 )) && previous=${words[-1]}
  if [[ -z $command ]]; then
    values="$(_fhd_options '') $(_fhd_commands)"
  elif [[ $current == --*=* ]]; then
    given=${current%%=*}=
    values=$(_fhd_values "$command" "${current%%=*}") || return
  elif [[ $previous == -* ]] && values=$(_fhd_values "$command" "$previous"); then
    :
  elif [[ $current == -* ]]; then
    values=$(_fhd_options "$command")
  else
    values=$(_fhd_values "$command" '') || return
  fi
  for reply in $values; do
    case $reply in
      /file | /folder)
        local kind=-f
        [[ $reply == /folder ]] && kind=-d
        while IFS= read -r reply; do replies+=("$given$reply"); done < <(compgen "$kind" -- "${current#"$given"}")
        compopt -o filenames 2> /dev/null ;;
      "${current#"$given"}"*) replies+=("$given$reply") ;;
    esac
  done
  # bash puts in place only what is behind the last of these characters.
  local cut=
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && cut=${current%"${current##*=}"}
  [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && cut=${current%"${current##*:}"}
  for reply in "${replies[@]}"; do COMPREPLY+=("${reply#"$cut"}"); done
}
complete -o bashdefault -F _fhd fhd
)bash";

}  // namespace

std::string bash_completion(const std::vector<DocumentedCommand>& all) {
  std::string script = "# bash completion of fhd, made from its options: fhd options --format bash\n\n";
  std::vector<std::string> commands;
  std::string options, values;
  for (const auto& command : all) {
    if (!command.name.empty()) commands.push_back(command.name);
    std::vector<std::string> flags;
    for (const auto& option : command.options)
      for (const auto& flag : option.flags()) flags.push_back(flag);
    options += fmt::format("    {}) echo {} ;;\n", bash_quoted(command.name),
                           bash_quoted(fmt::format("{}", fmt::join(flags, " "))));
    values += bash_cases(command);
  }
  script += fmt::format("_fhd_commands() {{ echo {}; }}\n\n",
                        bash_quoted(fmt::format("{}", fmt::join(commands, " "))));
  script += "# COMMAND: its options.\n_fhd_options() {\n  case $1 in\n" + options + "  esac\n}\n\n";
  script += "# COMMAND OPTION: what it takes; fails for a flag. OPTION is empty for what needs none.\n";
  script += "_fhd_values() {\n  case \"$1 $2\" in\n" + values + "    *) return 1 ;;\n  esac\n}\n";
  return script + bash_body;
}

}  // namespace fhd::app
