// fhd options: what the options are, for manual pages and shells. Not among the commands that --help shows.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/command_table.hpp"
#include "app/options/nearest_word.hpp"
#include "app/options/own_options.hpp"
#include "app/run/outputs.hpp"
#include "app/terminal/console.hpp"
#include "io/files/atomic_file.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct DocumentationCommand {
  const CLI::App* program;
  std::string format = "man", command, folder, line;

  int run() const;
};

void write_in(const std::filesystem::path& folder, const std::string& name, const std::string& content) {
  make_folder("--folder", folder.string());
  io::write_atomically((folder / name).string(), content.data(), content.size());
}

int DocumentationCommand::run() const {
  const auto all = shown_commands(*program);
  if (!line.empty()) {
    write_out(completions(*program, line));
    return 0;
  }
  if (!command.empty() && (!folder.empty() || format != "man"))
    throw UsageError(Error("COMMAND with " + std::string(folder.empty() ? "--format " + format : "--folder"),
                           "", "one command has a manual page alone: the others are of all",
                           "leave out " + command));
  if (!folder.empty()) {
    const std::filesystem::path place = folder;
    make_folder("--folder", folder);
    for (const auto* each : all) write_in(place / "man/man1", page_name(*each) + ".1", manual_page(*each));
    for (const auto& script : completion_scripts()) write_in(place / script.folder, script.file, script.text);
    return 0;
  }
  std::string text;
  for (const auto& script : completion_scripts())
    if (format == script.shell) text = script.text;
  if (format == "limits") text = limits_in_markdown();
  if (format == "man") {
    std::vector<std::string> names;
    for (const auto* each : all) {
      if (each != program) names.push_back(each->get_name());
      if (page_name(*each) == (command.empty() ? "fhd" : "fhd-" + command)) text = manual_page(*each);
    }
    if (text.empty())
      throw UsageError(
          Error("COMMAND", "a command of fhd", "'" + command + "'", did_you_mean(command, names)));
  }
  write_out(text);
  return 0;
}

}  // namespace

Run add_documentation(CLI::App& app) {
  const auto options = std::make_shared<DocumentationCommand>();
  options->program = app.get_parent();
  app.group("");  // hidden
  app.add_option("COMMAND", options->command, "of its manual page [that of the program]");
  add_choice(app, "--format", options->format, {"man", "bash", "zsh", "fish", "limits"},
             "a manual page, the completion of a shell, or what does not go together");
  app.add_option("--folder", options->folder,
                 "write all, in the folders in which they are looked for under share/")
      ->type_name("DIR");
  app.add_option("--complete", options->line, "what may stand at the end of this command line, for shells");
  return [options] { return options->run(); };
}

}  // namespace fhd::app
