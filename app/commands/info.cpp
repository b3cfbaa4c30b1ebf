// fhd info: prints what a scan file, or a Pulseq sequence, holds, what was inferred and why, what is missing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/batch/scans.hpp"
#include "app/commands/commands.hpp"
#include "app/options/table.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

struct InfoOptions {
  std::vector<std::string> inputs;
  bool json = false;
  RunOptions run;
};

/// Prints the facts of a scan by their names in JSON: numbers on one line, texts of a list on a line each.
void print_text(const nlohmann::ordered_json& facts) {
  constexpr std::size_t most_lines = 24;
  const auto line = [](std::string name, const nlohmann::ordered_json& value) {
    std::replace(name.begin(), name.end(), '_', ' ');
    std::string text;
    for (const auto& each : value)
      text += (text.empty() ? "" : ", ") + (each.is_string()    ? each.get<std::string>()
                                            : each.is_boolean() ? (each ? "yes" : "no")
                                                                : each.dump());
    print_out("  {:<22} {}\n", name, text);
  };
  for (const auto& [name, value] : facts.items()) {
    if (value.is_object()) {
      for (const auto& [own, fact] : value.items()) line(own, fact);
    } else if (!value.is_array() || (!value.empty() && value[0].is_number())) {
      line(name, value);
    } else if (!value.empty() && value[0].is_string()) {
      line(name, "");
      for (std::size_t i = 0; i < std::min(value.size(), most_lines); ++i)
        print_out("  - {}\n", value[i].get<std::string>());
      if (value.size() > most_lines) print_out("  and {} more: see --json\n", value.size() - most_lines);
    }
  }
}

nlohmann::ordered_json facts_of_sequence(const std::string& path) {
  const auto [facts, remarks] = io::pulseq::describe_sequence(path);
  nlohmann::ordered_json json{{"path", path}};
  for (const auto& [name, value] : facts) json[name] = value;
  json["inferred"] = remarks;
  return json;
}

/// Prints the facts of every scan; of several, each that cannot be read has a line of its own. Returns the exit status.
int print_facts(const InfoOptions& options) {
  const BatchList list = find_readable_scans(options.inputs);
  const bool is_one = options.inputs.size() == 1 && list.scans.size() == 1 && !list.scans.front().found;
  auto all = nlohmann::ordered_json::array();
  int status = 0;
  for (const auto& note : list.notes)
    options.json ? print_error("note: " + note) : print_out("note      {}\n", note);
  for (const auto& scan : list.scans) try {
      auto facts = io::pulseq::is_sequence(scan.path)
                       ? facts_of_sequence(scan.path)
                       : facts_of(io::open_scan(scan.path, options.run.read_options)->summary());
      options.json ? all.push_back(std::move(facts)) : print_text(facts);
    } catch (const Error& error) {
      if (is_one) throw;
      print_failure(error.what());
      status = 1;
    }
  if (options.json) print_json(is_one ? all.front() : all);
  return status;
}

}  // namespace

Run add_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  app.add_option(
         "SCAN", options->inputs,
         "scans: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directories, Siemens .dat, Pulseq sequences; "
         "or folders, patterns and @LIST as of 'fhd batch'")
      ->required();
  app.add_flag("--json", options->json, "print JSON: of several scans or a folder, a list");
  add_options(app, options->run, in_info);
  return [options] { return print_facts(*options); };
}

}  // namespace fhd::app
