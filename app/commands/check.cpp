// fhd check: the input doctor. It prints what scans hold, what was inferred, what is suspicious or missing, and what to
// do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/batch/scans.hpp"
#include "app/commands/commands.hpp"
#include "app/options/recipe.hpp"
#include "app/run/corrections.hpp"
#include "app/run/scan_cost.hpp"
#include "app/run/series_maps.hpp"
#include "app/terminal/console.hpp"
#include "io/result/message_json.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {
namespace {

struct CheckCommand {
  CLI::App* app;
  std::string recipe;
  std::vector<std::string> scans;
  bool json = false;
  RunOptions options;
};

using Counts = std::map<Severity, int>;

Counts count(const std::vector<Message>& findings) {
  Counts counts;
  for (const auto& finding : findings) ++counts[finding.severity];
  return counts;
}

bool is_usable(Counts counts, bool strict) {
  return counts[Severity::problem] == 0 &&
         (!strict || (counts[Severity::warning] == 0 && counts[Severity::suspicion] == 0));
}

nlohmann::ordered_json as_json(const std::string& path, const std::vector<Message>& findings, bool strict) {
  auto counts = count(findings);
  return {{"path", path},
          {"usable", is_usable(counts, strict)},
          {"notes", counts[Severity::note]},
          {"warnings", counts[Severity::warning]},
          {"suspicions", counts[Severity::suspicion]},
          {"problems", counts[Severity::problem]},
          {"messages", findings}};
}

void print_text(const std::string& path, const std::vector<Message>& findings) {
  print_out("{}\n", path);
  for (const auto& finding : findings) {
    print_out("  {:<9} {}\n", name_of(finding.severity), finding.text);
    if (!finding.remedy.empty()) print_out("  {:<9}   -> {}\n", "", finding.remedy);
  }
  auto counts = count(findings);
  const auto plural = [&](Severity severity) {
    return fmt::format("{} {}{}", counts[severity], name_of(severity), counts[severity] == 1 ? "" : "s");
  };
  print_out("  {}: {}, {}, {}, {}\n", counts[Severity::problem] > 0 ? "not usable" : "usable",
            plural(Severity::problem), plural(Severity::suspicion), plural(Severity::warning),
            plural(Severity::note));
}

int run(const CheckCommand& command) {
  DiagnosisSettings settings;
  settings.memory_bytes = machine_memory_bytes();
  settings.cost = [&](io::ScanFile& file) { return default_cost(file, settings.memory_bytes); };
  settings.correct = [](io::ScanFile& file) {
    take_maps_from_series(file, MapsFrom::automatic, {});
    add_maxwell_terms(file, {});  // warns of them
  };
  bool usable = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const BatchList list = find_readable_scans(command.scans);
  for (const auto& note : list.notes)
    command.json ? print_error("note: " + note) : print_out("note      {}\n", note);
  for (const auto& scan : list.scans) {
    const auto& path = scan.path;
    RunOptions own = command.options;
    if (!command.recipe.empty()) apply_recipe(own, command.recipe, path, *command.app, in_check);
    settings.options = own.read_options;
    settings.prior.reset();
    if (!own.prior.empty()) settings.prior = io::read_nifti_volume(own.prior);
    const auto findings = diagnose(path, settings);
    usable = usable && is_usable(count(findings), own.strict);
    if (command.json)
      json.push_back(as_json(path, findings, own.strict));
    else
      print_text(path, findings);
  }
  if (command.json) print_json(json);
  return usable ? 0 : 1;
}

}  // namespace

Run add_check(CLI::App& app) {
  const auto command = std::make_shared<CheckCommand>();
  command->app = &app;
  app.add_option(
         "SCAN", command->scans,
         "scans: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directories, Siemens .dat; or folders, patterns "
         "and @LIST as of 'fhd batch'")
      ->required();
  add_recipe_option(app, command->recipe);
  app.add_flag("--json", command->json, "print JSON: a list with one entry for each scan");
  add_options(app, command->options, in_check);
  app.footer("Exit status: 0 usable, 1 a problem that would stop fhd recon, 2 wrong usage.");
  return [command] { return run(*command); };
}

}  // namespace fhd::app
