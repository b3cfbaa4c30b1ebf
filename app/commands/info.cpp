// fhd info: prints what a scan file, or a Pulseq sequence, holds, what was inferred and why, what is missing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/options/table.hpp"
#include "app/terminal/console.hpp"
#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {
namespace {

struct InfoOptions {
  std::string input;
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

}  // namespace

Run add_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  app.add_option("SCAN", options->input,
                 "scan: ISMRMRD or fhd HDF5, BART .cfl, IMPATIENT directory, Siemens .dat; or a Pulseq sequence")
      ->required();
  app.add_flag("--json", options->json, "print JSON");
  add_options(app, options->run, in_info);
  return [options] {
    const auto facts = io::pulseq::is_sequence(options->input)
                           ? facts_of_sequence(options->input)
                           : facts_of(io::open_scan(options->input, options->run.read_options)->summary());
    options->json ? print_json(facts) : print_text(facts);
    return 0;
  };
}

}  // namespace fhd::app
