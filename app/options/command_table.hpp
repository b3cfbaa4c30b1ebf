#pragma once
// The commands and their options, read from the parser: manual pages and completions of shells are made from it, so
// that no second table can differ.
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fhd::app {

/// Returns the program itself and its commands in their order, without hidden ones.
std::vector<const CLI::App*> shown_commands(const CLI::App& program);
/// Returns the options in the order of --help, without hidden ones.
std::vector<const CLI::Option*> shown_options(const CLI::App& command);
/// Returns "fhd", or "fhd-recon".
std::string page_name(const CLI::App& command);
/// Returns {"-o", "--output"}; nothing of a positional.
std::vector<std::string> flags_of(const CLI::Option& option);
/// Returns "FILE|auto", "N", "{cg,gridded}"; an empty text of a flag, which takes none.
std::string value_text(const CLI::Option& option);

/// The texts of the manual page of a command: what it does, and command lines with what each does.
struct CommandText {
  const char *command, *description;  ///< the program itself: ""
  std::vector<std::pair<const char*, const char*>> examples;
};
const std::vector<CommandText>& command_texts();

/// Returns the page fhd.1 or fhd-COMMAND.1 in man(7).
std::string manual_page(const CLI::App& command);

/// A script that makes a shell ask for completions(), and where the shell looks for it under share/.
struct CompletionScript {
  const char *shell, *folder, *file, *text;
};
const std::vector<CompletionScript>& completion_scripts();
/// Returns what may stand at the end of a command line: lines of a word, a tab and its meaning; /file and /folder stand
/// for the names that the shell knows.
std::string completions(const CLI::App& program, const std::string& line);

}  // namespace fhd::app
