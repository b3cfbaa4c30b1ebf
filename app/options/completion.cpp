// Completion for bash 4.3 or later, zsh and fish: the program itself says what may stand at the end of a command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "app/options/command_table.hpp"
#include "app/options/table.hpp"
#include "app/options/values.hpp"

namespace fhd::app {
namespace {

/// Returns the option with this flag, or for an empty one the first positional; null: there is none.
const CLI::Option* option_of(const CLI::App& command, const std::string& flag) {
  for (const auto* option : shown_options(command)) {
    const auto flags = flags_of(*option);
    if (flag.empty() ? flags.empty() : std::find(flags.begin(), flags.end(), flag) != flags.end())
      return option;
  }
  return nullptr;
}

/// Returns whether a value is a word, such as "auto" or "cycles/FOV"; "FILE", "N" and "NUMBER" stand for something.
bool is_word(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::islower(c) != 0; }) &&
         text.find_first_of("[].") == std::string::npos;
}

constexpr const char* bash_script = R"bash(# bash completion of fhd
_fhd() {
  local line=${COMP_LINE:0:COMP_POINT} current= given= cut= reply
  local -a replies=()
  [[ $line == *[[:space:]] ]] || current=${line##*[[:space:]]}
  [[ $current == --*=* ]] && given=${current%%=*}=
  while IFS=$'\t' read -r reply _; do
    case $reply in
      /file | /folder)
        local kind=-f
        [[ $reply == /folder ]] && kind=-d
        while IFS= read -r reply; do replies+=("$given$reply"); done < <(compgen "$kind" -- "${current#"$given"}")
        compopt -o filenames 2> /dev/null ;;
      *) replies+=("$reply") ;;
    esac
  done < <(fhd options --complete "$line" 2> /dev/null)
  # bash puts in place only what is behind the last of these characters.
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && cut=${current%"${current##*=}"}
  [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && cut=${current%"${current##*:}"}
  COMPREPLY=()
  for reply in "${replies[@]}"; do COMPREPLY+=("${reply#"$cut"}"); done
}
complete -o bashdefault -F _fhd fhd
)bash";

constexpr const char* zsh_script = R"zsh(#compdef fhd
local line="${(j: :)words[1,CURRENT]}" offer
local -a offers
compset -P '--*='
for offer in ${(f)"$(fhd options --complete $line 2> /dev/null)"}; do
  case $offer in
    /file) _files ;;
    /folder) _files -/ ;;
    *) offer=${offer#$IPREFIX}; offers+=("${${offer//:/\\:}/$'\t'/:}") ;;
  esac
done
(( $#offers )) && _describe fhd offers
)zsh";

constexpr const char* fish_script = R"fish(# fish completion of fhd
function __fhd_offers
  set -l given (string match -r '^--[^=]*=' -- (commandline -ct))
  set -l current (string replace -r '^--[^=]*=' '' -- (commandline -ct))
  for offer in (fhd options --complete (commandline -cp | string collect) 2> /dev/null)
    switch $offer
      case /file
        __fish_complete_path $current | string replace -r '^' -- "$given"
      case /folder
        __fish_complete_directories $current | string replace -r '^' -- "$given"
      case '*'
        echo $offer
    end
  end
end
complete -c fhd -f -a '(__fhd_offers)'
)fish";

}  // namespace

const std::vector<CompletionScript>& completion_scripts() {
  static const std::vector<CompletionScript> scripts{
      {"bash", "bash-completion/completions", "fhd", bash_script},
      {"zsh", "zsh/site-functions", "_fhd", zsh_script},
      {"fish", "fish/vendor_completions.d", "fhd.fish", fish_script}};
  return scripts;
}

std::string completions(const CLI::App& program, const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::string current, offers;
  if (!words.empty() && line.back() != ' ') current = words.back(), words.pop_back();
  const auto offer = [&](const std::string& word, const std::string& meaning) {
    if (word.starts_with(current)) offers += word + (meaning.empty() ? "" : "\t" + meaning) + "\n";
  };
  const auto offer_values = [&](const CLI::Option& option, const std::string& given) {
    const auto value = value_text(option);
    const bool is_choice = value.starts_with('{');
    for (const auto& piece :
         is_choice ? split_at(value.substr(1, value.size() - 2), ',') : split_at(value, '|')) {
      if (is_choice || is_word(piece)) offer(given + piece, "");
      if (piece == "FILE" || piece == "TEXT" || piece == "NAME") offers += "/file\n";
      if (piece == "DIR") offers += "/folder\n";
    }
    const auto* const row = flags_of(option).empty() ? nullptr : find_option(flags_of(option).back(), ~0U);
    if (row == nullptr || row->words.empty()) return;
    const auto last = current.rfind(',');  // of a list the last word is not complete
    const auto before = last == std::string::npos ? given : current.substr(0, last + 1);
    for (const auto& word : row->words) offer(before + word, "");
  };
  const bool has_command = words.size() > 1;
  const auto all = shown_commands(program);
  const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* each) {
    return has_command ? each->get_parent() && each->get_name() == words[1] : each == &program;
  });
  if (found == all.end()) return "";
  const CLI::App& command = **found;
  const auto equals = current.starts_with("--") ? current.find('=') : std::string::npos;
  const bool is_joined = equals != std::string::npos;
  const auto flag = is_joined ? current.substr(0, equals) : words.size() > 2 ? words.back() : "";
  const auto* const option = flag.starts_with('-') ? option_of(command, flag) : nullptr;
  const auto* const positional = option_of(command, "");
  if (option && !value_text(*option).empty()) {
    offer_values(*option, is_joined ? current.substr(0, equals + 1) : "");
  } else if (!has_command || current.starts_with('-')) {
    for (const auto* each : shown_options(command))
      for (const auto& name : flags_of(*each)) offer(name, each->get_description());
    for (const auto* each : all)
      if (!has_command && each != &program) offer(each->get_name(), each->get_description());
  } else if (positional) {
    offer_values(*positional, "");
  }
  return offers;
}

}  // namespace fhd::app
