// fhd check: the input doctor. Prints what scans hold, what was inferred, what is suspicious or missing, and what to do.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/terminal/console.hpp"
#include "app/options/options.hpp"
#include "app/options/recipe.hpp"
#include "app/run/scan_cost.hpp"
#include "io/result/message_json.hpp"
#include "io/scan/nifti_volume.hpp"
#include "validation/doctor/diagnosis.hpp"

namespace fhd::app {
namespace {

/// Options that a recipe may give for each scan.
struct OptionsOfScan {
  std::string prior;
  io::ReadOptions read_options;

  void add_to(CLI::App& app) {
    app.add_option("--prior", prior, "NIfTI image meant for fhd recon --prior: is it where the scan is?")
        ->type_name("FILE");
    add_read_options(app, read_options);
  }
};

struct Options {
  CLI::App* app;
  std::shared_ptr<std::string> recipe;
  std::vector<std::string> scans;
  bool strict = false, json = false;
  OptionsOfScan of_scan;
};

/// Returns the options of a scan, with what the recipe says of it; `options` get what it says of all scans.
OptionsOfScan options_of(const std::string& scan, const Options& options) {
  if (options.recipe->empty()) return options.of_scan;
  OptionsOfScan own = options.of_scan;
  CLI::App parser;
  own.add_to(parser);
  const auto recipe = recipe_of(*options.app, *options.recipe, scan);
  for (const auto& [name, entry] : recipe) {
    auto* option = parser.get_option_no_throw(name);
    if (option == nullptr && !entry.pattern.empty())
      throw UsageError(Error(entry.where, "what may differ between scans", name, "give it for all scans"));
    if (option == nullptr) option = options.app->get_option(name);  // --strict, of this scan and the next
    give(*option, entry);
  }
  return own;
}

std::size_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

using Counts = std::map<Severity, int>;

Counts count(const std::vector<Message>& findings) {
  Counts counts;
  for (const auto& finding : findings) ++counts[finding.severity];
  return counts;
}

bool is_usable(Counts counts, bool strict) {
  return counts[Severity::problem] == 0 && (!strict || counts[Severity::warning] == 0);
}

nlohmann::ordered_json as_json(const std::string& path, const std::vector<Message>& findings, bool strict) {
  auto counts = count(findings);
  return {{"path", path},
          {"usable", is_usable(counts, strict)},
          {"notes", counts[Severity::note]},
          {"warnings", counts[Severity::warning]},
          {"problems", counts[Severity::problem]},
          {"messages", findings}};
}

void print_text(const std::string& path, const std::vector<Message>& findings) {
  print_out("{}\n", path);
  for (const auto& finding : findings) {
    print_out("  {:<8} {}\n", name_of(finding.severity), finding.text);
    if (!finding.remedy.empty()) print_out("  {:<8}   -> {}\n", "", finding.remedy);
  }
  auto counts = count(findings);
  const auto plural = [&](Severity severity) {
    return fmt::format("{} {}{}", counts[severity], name_of(severity), counts[severity] == 1 ? "" : "s");
  };
  print_out("  {}: {}, {}, {}\n", counts[Severity::problem] > 0 ? "not usable" : "usable",
            plural(Severity::problem), plural(Severity::warning), plural(Severity::note));
}

int run(const Options& options) {
  DiagnosisSettings settings;
  settings.memory_bytes = machine_memory_bytes();
  settings.cost = [&](io::ScanFile& file) {
    const DefaultCost cost = default_cost(file);
    return ReconstructionCost{cost.bytes, cost.text, memory_text(static_cast<double>(settings.memory_bytes))};
  };
  bool usable = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& path : options.scans) {
    const auto own = options_of(path, options);
    settings.options = own.read_options;
    settings.prior.reset();
    if (!own.prior.empty()) settings.prior = io::read_nifti_volume(own.prior);
    const auto findings = diagnose(path, settings);
    usable = usable && is_usable(count(findings), options.strict);
    if (options.json)
      json.push_back(as_json(path, findings, options.strict));
    else
      print_text(path, findings);
  }
  if (options.json) print_json(json);
  return usable ? 0 : 1;
}

}  // namespace

Run add_check(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("SCAN", options->scans, "scans: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directories")
      ->required();
  options->app = &app;
  options->recipe = add_recipe_option(app);
  app.add_flag("--strict", options->strict, "warnings, too, give exit status 1");
  app.add_flag("--json", options->json, "print JSON: a list with one entry for each scan");
  options->of_scan.add_to(app);
  app.footer("Exit status: 0 usable, 1 a problem that would stop fhd recon, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace fhd::app
