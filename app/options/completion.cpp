// Completion for bash 4.3 or later, zsh and fish: the program itself says what may stand at the end of a command line.
#include <algorithm>
#include <iterator>
#include <sstream>

#include "app/options/command_table.hpp"

namespace fhd::app {
namespace {

/// Returns the option with this flag, or for an empty one the first positional; null: there is none.
const DocumentedOption* option_of(const DocumentedCommand& command, const std::string& flag) {
  const auto found =
      std::find_if(command.options.begin(), command.options.end(), [&](const DocumentedOption& option) {
        const auto flags = option.flags();
        return flag.empty() ? option.is_positional()
                            : std::find(flags.begin(), flags.end(), flag) != flags.end();
      });
  return found == command.options.end() ? nullptr : &*found;
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

std::string completions(const std::vector<DocumentedCommand>& all, const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::string current, offers;
  if (!words.empty() && line.back() != ' ') current = words.back(), words.pop_back();
  const auto offer = [&](const std::string& word, const std::string& meaning) {
    if (word.starts_with(current)) offers += word + (meaning.empty() ? "" : "\t" + meaning) + "\n";
  };
  const auto offer_values = [&](const DocumentedOption& option, const std::string& given) {
    for (const auto& word : option.words) offer(given + word, "");
    if (option.takes_file) offers += "/file\n";
    if (option.takes_folder) offers += "/folder\n";
  };
  const bool has_command = words.size() > 1;
  const auto command = std::find_if(all.begin(), all.end(), [&](const DocumentedCommand& each) {
    return each.name == (has_command ? words[1] : "");
  });
  if (command == all.end()) return "";
  const auto equals = current.starts_with("--") ? current.find('=') : std::string::npos;
  const bool is_joined = equals != std::string::npos;
  const auto flag = is_joined ? current.substr(0, equals) : words.size() > 2 ? words.back() : "";
  const auto* const option = flag.starts_with('-') ? option_of(*command, flag) : nullptr;
  const auto* const positional = option_of(*command, "");
  if (option && !option->is_flag()) {
    offer_values(*option, is_joined ? current.substr(0, equals + 1) : "");
  } else if (!has_command || current.starts_with('-')) {
    for (const auto& each : command->options)
      for (const auto& name : each.flags()) offer(name, each.help);
    for (const auto& each : all)
      if (!has_command && !each.name.empty()) offer(each.name, each.what);
  } else if (positional) {
    offer_values(*positional, "");
  }
  return offers;
}

}  // namespace fhd::app
