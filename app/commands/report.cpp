// fhd report: results as one page to look at and to pass on.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "io/files/atomic_file.hpp"
#include "io/page/report_page.hpp"

namespace fhd::app {
namespace {

struct ReportCommand {
  std::vector<std::string> results;
  std::string output;
  bool force = false;

  int run() const;
};

int ReportCommand::run() const {
  std::error_code status;
  const bool is_batch = results.size() == 1 && std::filesystem::is_directory(results.front(), status);
  if (is_batch) {
    if (!output.empty())
      throw UsageError(Error("-o with the folder of a batch", "", "the index is always FOLDER/index.html",
                             "leave out -o"));
    const auto pages = io::write_batch_pages(results.front(), true, force);
    print_out("wrote     {}\n", pages.index);
    for (const auto& failure : pages.failures) print_error(failure);
    return pages.failures.empty() ? 0 : 1;
  }
  const std::string path =
      output.empty() ? std::filesystem::path(results.front()).replace_extension(".html").string() : output;
  for (const auto& result : results)
    if (std::filesystem::equivalent(result, path, status))
      throw UsageError(Error("-o " + path, "a name other than the result's", "the result itself",
                             "choose another -o, such as report.html"));
  io::require_writable_folder(path);
  auto files = results;  // "gre" of 'recon -o gre' is gre.h5
  for (auto& file : files)
    if (!std::filesystem::exists(file, status) && std::filesystem::exists(file + ".h5", status))
      file += ".h5";
  io::write_report_page(files, path, force);
  print_out("wrote     {}\n", path);
  return 0;
}

}  // namespace

Run add_report(CLI::App& app) {
  const auto command = std::make_shared<ReportCommand>();
  app.add_option("RESULT", command->results,
                 "OUT.h5 of 'fhd recon', several of them, or the folder of 'fhd batch'")
      ->required();
  app.add_option("-o,--output", command->output, "the page [OUT.html; of a batch FOLDER/index.html]");
  app.add_flag("--force", command->force, "overwrite what is there under these names and is no page of fhd");
  return [command] { return command->run(); };
}

}  // namespace fhd::app
