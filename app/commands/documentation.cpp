// fhd options: what the options are, for manual pages and shells. Not among the commands that --help shows.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/command_table.hpp"
#include "app/options/checks.hpp"
#include "app/options/nearest_word.hpp"
#include "io/files/atomic_file.hpp"
#include "recon/domain/compatibility.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct DocumentationCommand {
  const CLI::App* program;
  std::string format = "man", command, folder;

  int run() const;
};

void write_in(const std::filesystem::path& folder, const char* place, const std::string& name,
              const std::string& content) {
  std::error_code status;
  std::filesystem::create_directories(folder / place, status);
  if (status)
    throw Error("--folder " + folder.string(), "a folder, or a place where one can be made",
                status.message());
  io::write_atomically((folder / place / name).string(), content.data(), content.size());
}

int DocumentationCommand::run() const {
  const auto all = documented_commands(*program);
  if (!command.empty() && (!folder.empty() || format != "man"))
    throw UsageError(Error("COMMAND with " + std::string(folder.empty() ? "--format " + format : "--folder"),
                           "", "one command has a manual page alone: the others are of all",
                           "leave out " + command));
  if (!folder.empty()) {
    for (const auto& each : all)
      write_in(folder, "man/man1", (each.name.empty() ? "fhd" : "fhd-" + each.name) + ".1",
               manual_page(each, all));
    write_in(folder, "bash-completion/completions", "fhd", bash_completion(all));
    write_in(folder, "zsh/site-functions", "_fhd", zsh_completion(all));
    write_in(folder, "fish/vendor_completions.d", "fhd.fish", fish_completion(all));
    return 0;
  }
  std::string text;
  if (format == "bash") text = bash_completion(all);
  if (format == "zsh") text = zsh_completion(all);
  if (format == "fish") text = fish_completion(all);
  if (format == "limits") text = limits_in_markdown();
  if (format == "man") {
    std::vector<std::string> names;
    for (const auto& each : all) {
      names.push_back(each.name);
      if (each.name == command) text = manual_page(each, all);
    }
    if (text.empty())
      throw UsageError(
          Error("COMMAND", "a command of fhd", "'" + command + "'", did_you_mean(command, names)));
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

Run add_documentation(CLI::App& app) {
  const auto options = std::make_shared<DocumentationCommand>();
  options->program = app.get_parent();
  app.group("");  // hidden
  app.add_option("COMMAND", options->command, "of its manual page [that of the program]");
  app.add_option("--format", options->format, "a manual page, the completion of a shell, or what does not go together")
      ->check(one_of({"man", "bash", "zsh", "fish", "limits"}))
      ->capture_default_str();
  app.add_option("--folder", options->folder,
                 "write all, in the folders in which they are looked for under share/")
      ->type_name("DIR");
  return [options] { return options->run(); };
}

}  // namespace fhd::app
