#pragma once
// The commands and their options, read from the parser: manual pages and completions of shells are made from it, so
// that no second table can differ.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fhd::app {

struct DocumentedOption {
  std::vector<std::string> short_names, long_names;  ///< "o"; "output". Both empty: a positional
  std::string positional_name;
  std::string value;                ///< "FILE|auto", "N", "{cg,gridded}"; empty: a flag, which takes none
  std::string default_value, help;  ///< of the option; empty where there is none
  std::string group;                ///< heading under which --help has it
  std::vector<std::string> words;   ///< values by name: those that there are, or those beside others
  bool takes_file = false, takes_folder = false;
  bool required = false, repeats = false;

  bool is_positional() const { return short_names.empty() && long_names.empty(); }
  bool is_flag() const { return !is_positional() && value.empty(); }
  /// Returns {"-o", "--output"}.
  std::vector<std::string> flags() const;
};

struct DocumentedCommand {
  std::string name, what, footer;
  std::vector<DocumentedOption> options;  ///< in the order of --help, without hidden ones
};

/// Returns the program itself, whose name is empty, and its commands in their order, without hidden ones.
std::vector<DocumentedCommand> documented_commands(const CLI::App& program);

/// Returns the page fhd.1 or fhd-COMMAND.1 in man(7). `all`: as documented_commands gives them.
std::string manual_page(const DocumentedCommand& command, const std::vector<DocumentedCommand>& all);

/// A script that makes a shell ask for completions(), and where the shell looks for it under share/.
struct CompletionScript {
  const char *shell, *folder, *file, *text;
};
const std::vector<CompletionScript>& completion_scripts();
/// Returns what may stand at the end of a command line: lines of a word, a tab and its meaning; /file and /folder stand
/// for the names that the shell knows.
std::string completions(const std::vector<DocumentedCommand>& all, const std::string& line);

}  // namespace fhd::app
